//! The traces that a run keeps, by their names.

use incast_sim::TraceConfig;
use pyo3::PyResult;

use crate::errors::ParameterError;

/// The trace configuration with the traces of these names.
///
/// # Errors
/// A name belongs to no trace.
pub(crate) fn trace_config(names: &[String]) -> PyResult<TraceConfig> {
    let mut config = TraceConfig::default();
    for name in names {
        if !config.keep(name) {
            let known = TraceConfig::NAMES.join(", ");
            let message = format!("unknown trace {name:?}; there is {known}");
            return Err(ParameterError::new_err(message));
        }
    }
    Ok(config)
}
