//! Failures of algorithms that are written in Python.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use incast_cc::Time;
use incast_sim::Simulation;
use pyo3::prelude::*;

use crate::errors::AlgorithmError;

/// An exception in a method of a flow's algorithm.
struct Failure {
    algorithm: &'static str,
    /// The seed of the flow, by which the simulation knows it.
    seed: u64,
    at: Time,
    method: &'static str,
    error: PyErr,
}

/// The exceptions that no run has raised yet: runs may go in several threads at once.
static FAILURES: Mutex<Vec<Failure>> = Mutex::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);

/// Keeps an exception until the run is looked at.
pub(super) fn keep(
    algorithm: &'static str,
    seed: u64,
    at: Time,
    method: &'static str,
    error: PyErr,
) {
    let failure = Failure { algorithm, seed, at, method, error };
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    ANY.store(true, Ordering::Release);
}

/// The first exception in an algorithm of this run, as an `AlgorithmError` that names flow and
/// simulated time, and has the exception as its cause. All exceptions of the run are forgotten.
pub(crate) fn failure(py: Python<'_>, simulation: &Simulation) -> Option<PyErr> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    // A flow of another run may have the same seed where the scenario is the same.
    let algorithm = simulation.algorithm();
    let mut found = Vec::new();
    {
        let mut failures = FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
        for failure in std::mem::take(&mut *failures) {
            let ours = failure.algorithm == algorithm;
            match simulation.flow_of_seed(failure.seed).filter(|_| ours) {
                Some(flow) => found.push((failure.at, flow, failure)),
                None => failures.push(failure),
            }
        }
        ANY.store(!failures.is_empty(), Ordering::Release);
    }
    let (at, flow, failure) = found.into_iter().min_by_key(|&(at, flow, _)| (at, flow))?;
    let Failure { method, error, .. } = failure;
    let micros = at.as_secs_f64() * 1e6;
    let place = place(py, &error).unwrap_or_default();
    let what = error.get_type(py).name().map_or_else(|_| "error".into(), |name| name.to_string());
    let text = error.value(py).to_string();
    let colon = if text.is_empty() { "" } else { ": " };
    let raised = AlgorithmError::new_err(format!(
        "flow {flow} at {micros:.3} us, in {method}(){place}: {what}{colon}{text}"
    ));
    raised.set_cause(py, Some(error));
    Some(raised)
}

/// File and line of the innermost frame of an exception, such as ` (my_control.py:12)`.
fn place(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut frame = error.traceback(py)?.into_any();
    while let Some(inner) = frame.getattr("tb_next").ok().filter(|inner| !inner.is_none()) {
        frame = inner;
    }
    let line: u32 = frame.getattr("tb_lineno").ok()?.extract().ok()?;
    let code = frame.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
    let name = Path::new(&file).file_name()?.to_string_lossy();
    Some(format!(" ({name}:{line})"))
}
