//! Files of other simulators.

use incast_sim::foreign::{Format, HpccResults, Kind, Options, import};
use pyo3::prelude::*;

use crate::errors::ScenarioError;
use crate::table::Table;

/// An imported scenario: its text, the files that belong to it, and the notes.
type Imported = (String, Vec<(String, String)>, Vec<String>);

/// Makes a scenario from files of HPCC's simulator or of htsim, each a name and a text.
///
/// `formats` says what each file is, in their order; without, their texts do. `simulator` says
/// whose they are where a text may be of two. Returns the scenario as TOML, files to be stored
/// beside it (name and text), and notes on what was not taken over. Raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (files, formats = vec![], simulator = None))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn import_files(
    files: Vec<(String, String)>,
    formats: Vec<String>,
    simulator: Option<&str>,
) -> PyResult<Imported> {
    let kind = |name: &String| {
        Kind::named(name).ok_or_else(|| match HpccResults::named(name) {
            Some(_) => ScenarioError::new_err(format!(
                "format {name}: no scenario is made of results; import them alone, as a table"
            )),
            None => unknown(name),
        })
    };
    let kinds = formats.iter().map(kind).collect::<PyResult<_>>()?;
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let named = |name: &str| {
        Format::named(name).ok_or_else(|| {
            let names: Vec<_> = Format::NAMES.iter().map(|(name, _)| *name).collect();
            ScenarioError::new_err(format!(
                "unknown simulator {name:?}; expected {}",
                names.join(", ")
            ))
        })
    };
    let format = simulator.map(named).transpose()?;
    let imported = import(&files, &Options { kinds, format, title: None })
        .map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok((imported.scenario_toml, imported.files, imported.notes))
}

/// The table in a file of results of HPCC's simulator; `file` names it in errors.
///
/// Without a kind, `hpcc-fct` or `hpcc-pfc`, the first line tells. None if it is of no such file,
/// or the kind is one of files for scenarios. Raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (file, text, kind = None))]
pub(crate) fn read_results(file: &str, text: &str, kind: Option<&str>) -> PyResult<Option<Table>> {
    let results = match kind {
        None => HpccResults::of(text),
        Some(name) if Kind::named(name).is_some() => None,
        Some(name) => Some(HpccResults::named(name).ok_or_else(|| unknown(name))?),
    };
    let table = results.map(|results| results.table(file, text)).transpose();
    Ok(table.map_err(|error| ScenarioError::new_err(error.to_string()))?.map(Table::from))
}

fn unknown(name: &str) -> PyErr {
    let kinds = Kind::NAMES.iter().map(|(name, _)| *name);
    let known: Vec<_> = kinds.chain(HpccResults::NAMES.iter().map(|(name, _)| *name)).collect();
    let message = format!("unknown format {name:?}; expected one of {}", known.join(", "));
    ScenarioError::new_err(message)
}
