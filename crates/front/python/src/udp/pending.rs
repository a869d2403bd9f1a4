//! Results that are still to come, for threads that wait and for event loops.

use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use incast_udp::{Failure, Host, Peer, Pending, Request, within};
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{UdpPeer, UdpRequest, failed, raise, seconds};

/// A result that is still to come.
#[pyclass(frozen, module = "incast._core")]
pub(crate) struct UdpPending {
    kind: Mutex<Kind>,
}

enum Kind {
    Connecting(Pending<Peer>),
    Call(Pending<Bytes>),
    Note(Pending<()>),
    Accepting(Accepting),
    Over,
}

/// The next message of any peer of a host.
type Accepting = Pin<Box<dyn Future<Output = Result<Request, Failure>> + Send>>;

/// The value of a result.
enum Value {
    Peer(Peer),
    Reply(Bytes),
    Request(Request),
    Done,
}

impl<'py> IntoPyObject<'py> for Value {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::Peer(peer) => Bound::new(py, UdpPeer { peer })?.into_any(),
            Self::Reply(body) => PyBytes::new(py, &body).into_any(),
            Self::Request(request) => Bound::new(py, UdpRequest::new(request))?.into_any(),
            Self::Done => py.None().into_bound(py),
        })
    }
}

impl UdpPending {
    pub(super) fn connecting(pending: Pending<Peer>) -> Self {
        Self { kind: Mutex::new(Kind::Connecting(pending)) }
    }

    pub(super) fn call(pending: Pending<Bytes>) -> Self {
        Self { kind: Mutex::new(Kind::Call(pending)) }
    }

    pub(super) fn note(pending: Pending<()>) -> Self {
        Self { kind: Mutex::new(Kind::Note(pending)) }
    }

    pub(super) fn accepting(host: Arc<Host>) -> Self {
        let next = Box::pin(async move { host.accepted().await });
        Self { kind: Mutex::new(Kind::Accepting(next)) }
    }

    /// The result if it is there; otherwise the waker of `context` is woken when it is.
    fn poll(&self, context: &mut Context<'_>) -> Option<Result<Value, Failure>> {
        fn poll<F: Future + Unpin>(
            pending: &mut F,
            context: &mut Context<'_>,
        ) -> Option<F::Output> {
            match Pin::new(pending).poll(context) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            }
        }
        let mut kind = lock(&self.kind);
        let result = match &mut *kind {
            Kind::Connecting(pending) => poll(pending, context).map(|one| one.map(Value::Peer)),
            Kind::Call(pending) => poll(pending, context).map(|one| one.map(Value::Reply)),
            Kind::Note(pending) => poll(pending, context).map(|one| one.map(|()| Value::Done)),
            Kind::Accepting(next) => poll(next, context).map(|one| one.map(Value::Request)),
            Kind::Over => Some(Err(over())),
        };
        end(&mut kind, result)
    }

    /// The result, if it comes in time.
    fn wait_within(&self, timeout: Duration) -> Option<Result<Value, Failure>> {
        within(timeout, |context| self.poll(context).map_or(Poll::Pending, Poll::Ready))
    }
}

fn over() -> Failure {
    Failure::Stopped("its result was taken".to_owned())
}

/// Notes that a result was taken.
fn end<T>(kind: &mut Kind, result: Option<T>) -> Option<T> {
    if result.is_some() {
        *kind = Kind::Over;
    }
    result
}

#[pymethods]
impl UdpPending {
    /// Waits for the result, up to a time.
    #[pyo3(signature = (timeout_s = None))]
    fn wait<'py>(&self, py: Python<'py>, timeout_s: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        // Ctrl-C is heard between two waits.
        const STEP: Duration = Duration::from_millis(50);
        let timeout = timeout_s.map(|time| seconds(time, "the time")).transpose()?;
        let mut left = timeout.unwrap_or(Duration::MAX);
        loop {
            let step = left.min(STEP);
            if let Some(result) = py.detach(|| self.wait_within(step)) {
                return result.map_err(failed)?.into_pyobject(py);
            }
            left = left.saturating_sub(step);
            if left.is_zero() {
                let message = format!("nothing came within {} s", timeout_s.unwrap_or(0.0));
                return Err(PyTimeoutError::new_err(message));
            }
            py.check_signals()?;
        }
    }

    /// The result in a tuple if it is there; otherwise a notice of this number will come.
    fn poll_with<'py>(
        &self,
        py: Python<'py>,
        notices: &UdpNotices,
        number: u64,
    ) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        let waker = notices.waker(number);
        match self.poll(&mut Context::from_waker(&waker)) {
            None => Ok(None),
            Some(result) => Ok(Some((result.map_err(failed)?.into_pyobject(py)?,))),
        }
    }

    /// Stops waiting: a call or a note is cancelled.
    fn cancel(&self) {
        match std::mem::replace(&mut *lock(&self.kind), Kind::Over) {
            Kind::Call(pending) => pending.cancel(),
            Kind::Note(pending) => pending.cancel(),
            Kind::Connecting(_) | Kind::Accepting(_) | Kind::Over => {}
        }
    }
}

/// The notices by which an event loop hears of results.
///
/// A descriptor becomes readable, and there are the numbers of those that are to be polled.
#[pyclass(frozen, module = "incast._core")]
pub(crate) struct UdpNotices {
    shared: Arc<Shared>,
    calls: UnixDatagram,
}

struct Shared {
    numbers: Mutex<Vec<u64>>,
    calls: UnixDatagram,
}

struct Notice {
    shared: Arc<Shared>,
    number: u64,
}

impl Wake for Notice {
    fn wake(self: Arc<Self>) {
        let mut numbers = lock(&self.shared.numbers);
        numbers.push(self.number);
        if numbers.len() == 1 {
            // A socket that is full has calls that were not read.
            self.shared.calls.send(&[0]).ok();
        }
    }
}

impl UdpNotices {
    fn waker(&self, number: u64) -> Waker {
        Waker::from(Arc::new(Notice { shared: Arc::clone(&self.shared), number }))
    }
}

#[pymethods]
impl UdpNotices {
    #[new]
    fn new() -> PyResult<Self> {
        let pair = || -> io::Result<_> {
            let (here, there) = UnixDatagram::pair()?;
            here.set_nonblocking(true)?;
            there.set_nonblocking(true)?;
            Ok((here, there))
        };
        let (here, there) = pair().map_err(raise)?;
        let shared = Arc::new(Shared { numbers: Mutex::default(), calls: there });
        Ok(Self { shared, calls: here })
    }

    /// The descriptor that becomes readable.
    fn fileno(&self) -> i32 {
        self.calls.as_raw_fd()
    }

    /// The numbers of the results that are to be polled.
    fn take(&self) -> Vec<u64> {
        while self.calls.recv(&mut [0]).is_ok() {}
        std::mem::take(&mut *lock(&self.shared.numbers))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
