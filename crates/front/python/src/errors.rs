//! A Python exception for each kind of error.

use incast_sim::scenario;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    incast._core,
    IncastError,
    PyException,
    "The base of every exception of this package."
);
create_exception!(
    incast._core,
    ScenarioError,
    IncastError,
    "A scenario that cannot be read or run; the message names file, line and column."
);
create_exception!(
    incast._core,
    ParameterError,
    IncastError,
    "An unknown algorithm, preset or parameter, or a value that it does not take."
);
create_exception!(
    incast._core,
    AlgorithmError,
    IncastError,
    "An algorithm of the user's own raised an exception, or returned what is no answer.\n\n\
    The exception is the cause of this one. The message names flow and simulated time."
);
#[cfg(target_os = "linux")]
create_exception!(
    incast._core,
    SecurityError,
    IncastError,
    "The ends of a connection do not fit: another secret, key, protection or version."
);

/// The Python exception for an error of the scenario.
#[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
pub(crate) fn raise(error: scenario::ScenarioError) -> PyErr {
    let message = error.to_string();
    match error {
        scenario::ScenarioError::Unreadable { .. } | scenario::ScenarioError::At { .. } => {
            ScenarioError::new_err(message)
        }
        scenario::ScenarioError::Assignment { .. } | scenario::ScenarioError::Scheme(_) => {
            ParameterError::new_err(message)
        }
    }
}
