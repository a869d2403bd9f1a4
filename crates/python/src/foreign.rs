//! Files of other simulators.

use incast_sim::foreign::{Kind, Options, import};
use pyo3::prelude::*;

use crate::errors::ScenarioError;

/// The scenario, the files that belong to it, and the notes.
type Imported = (String, Vec<(String, String)>, Vec<String>);

#[pyfunction]
#[pyo3(signature = (files, formats = vec![]))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn import_files(
    files: Vec<(String, String)>,
    formats: Vec<String>,
) -> PyResult<Imported> {
    let kind = |name: &String| {
        Kind::named(name).ok_or_else(|| {
            let known: Vec<_> = Kind::NAMES.iter().map(|(name, _)| *name).collect();
            let message = format!("unknown format {name:?}; expected one of {}", known.join(", "));
            ScenarioError::new_err(message)
        })
    };
    let kinds = formats.iter().map(kind).collect::<PyResult<_>>()?;
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let imported = import(&files, &Options { kinds, title: None })
        .map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok((imported.scenario_toml, imported.files, imported.notes))
}
