//! Files of other simulators.

use std::path::PathBuf;

use incast_cc::{Rate, Span};
use incast_sim::foreign::{Format, HpccResults, JobFormat, JobOptions, Kind, Options, import};
use incast_sim::scenario::AskedJob;
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

/// Whether a file that begins with these bytes may be the trace of a job.
#[pyfunction]
pub(crate) fn is_job(head: &[u8]) -> bool {
    incast_sim::foreign::is_job(head)
}

/// Makes a scenario of the trace of a job.
///
/// `path` is one file, or has `{rank}` in place of the number where each rank has one. `rate_bps`
/// and `delay_ps` are of links around one switch, which `topology` takes the place of, a file of
/// htsim: its path and its text. Paths count from `folder`. Returns the scenario as TOML and notes.
/// Raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (
    path, *, format = None, groups = None, size = None, rate_bps = None, delay_ps = None,
    topology = None, scheme = None, folder = PathBuf::new()
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts tuples by value")]
pub(crate) fn import_job(
    path: &str,
    format: Option<&str>,
    groups: Option<&str>,
    size: Option<u64>,
    rate_bps: Option<u64>,
    delay_ps: Option<u64>,
    topology: Option<(String, String)>,
    scheme: Option<&str>,
    folder: PathBuf,
) -> PyResult<(String, Vec<String>)> {
    let named = |name: &str| JobFormat::named(name).ok_or_else(|| unknown(name));
    let format = format.map(named).transpose()?;
    let asked = AskedJob { path, format, groups, size };
    let usual = JobOptions::default();
    let options = JobOptions {
        folder: &folder,
        rate: rate_bps.map_or(usual.rate, Rate::from_bps),
        delay: delay_ps.map_or(usual.delay, Span::from_ps),
        topology: topology.as_ref().map(|(path, text)| (path.as_str(), text.as_str())),
        scheme: scheme.unwrap_or(usual.scheme),
    };
    incast_sim::foreign::import_job(&asked, &options)
        .map_err(|error| ScenarioError::new_err(error.to_string()))
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
    let kinds = kinds.chain(JobFormat::NAMES.iter().map(|(name, _)| *name));
    let known: Vec<_> = kinds.chain(HpccResults::NAMES.iter().map(|(name, _)| *name)).collect();
    let message = format!("unknown format {name:?}; expected one of {}", known.join(", "));
    ScenarioError::new_err(message)
}
