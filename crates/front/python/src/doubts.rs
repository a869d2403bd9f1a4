//! Doubts about runs that have ended.

use incast_sim::doubts::{End, LOOKED_AT, Measured, Point, of_run, sentences};
use incast_table::arrow;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::table::{Table, stream};

/// A table of a run: one of the core, or an Arrow stream with its name.
enum Given<'py> {
    OfCore(PyRef<'py, Table>),
    Read(incast_sim::Table),
}

/// The numbers by which a run that has come to its end is doubted, as a JSON text.
///
/// `tables` are those in `doubted_tables` that the run has, with their names. One that is not of
/// the core has `__arrow_c_stream__`, whose columns are numbers of 64 bits or text. `text` is that
/// of the scenario.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[pyo3(signature = (tables, text, *, dropped, simulated_s, duration_s, warmup_s, cooldown_s, drain_s))]
pub(crate) fn run_doubts(
    py: Python<'_>,
    tables: Vec<(String, Bound<'_, PyAny>)>,
    text: &str,
    dropped: bool,
    simulated_s: Option<f64>,
    duration_s: f64,
    warmup_s: f64,
    cooldown_s: f64,
    drain_s: Option<f64>,
) -> PyResult<String> {
    let scenario = Measured { duration_s, warmup_s, cooldown_s, drain_s, text };
    let given = tables.into_iter().filter_map(|(name, table)| given(&name, &table).transpose());
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let tables: Vec<_> = given
        .iter()
        .map(|one| match one {
            Given::OfCore(table) => table.get(),
            Given::Read(table) => table,
        })
        .collect();
    let doubts = py.detach(|| of_run(&tables, End { dropped, simulated_s }, &scenario));
    serde_json::to_string(&doubts).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn given<'py>(name: &str, table: &Bound<'py, PyAny>) -> PyResult<Option<Given<'py>>> {
    if let Ok(table) = table.cast::<Table>() {
        return Ok(Some(Given::OfCore(table.borrow())));
    }
    let Some((name, columns)) = LOOKED_AT.into_iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let read = arrow::table(name, columns, stream(table)?);
    read.map(|table| Some(Given::Read(table)))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A sentence for each cause of doubt.
///
/// `points` is a JSON list of pairs: the name of a point, and a list of pairs of a scheme and the
/// doubts of each of its seeds. Raises `ValueError` when it is none.
#[pyfunction]
pub(crate) fn doubt_sentences(points: &str) -> PyResult<Vec<String>> {
    let points: Vec<Point> =
        serde_json::from_str(points).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(sentences(&points))
}
