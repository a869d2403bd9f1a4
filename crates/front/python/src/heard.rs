//! Work that takes seconds and can be interrupted with Ctrl-C.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// The time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// Does the work in a thread of its own. If a signal's handler raises an exception, that is
/// returned at once; the work then continues to its end, and its result is dropped.
pub(crate) fn heard<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if cfg!(target_os = "emscripten") {
        return Ok(py.detach(work)); // a browser starts no threads, and nobody presses Ctrl-C
    }
    let (send, receive) = channel();
    let worker = thread::spawn(move || {
        let _ = send.send(work()); // nobody may be waiting any more
    });
    let receive = Mutex::new(receive);
    loop {
        let wait = || receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
        match py.detach(wait) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("it sends before it ends"),
            },
        }
    }
}

/// The exception that a signal's handler has raised while the core was asked to go on.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Whether the work should continue, because no handler has raised an exception.
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
    pub(crate) fn nothing(&self) -> bool {
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }
        }
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
