//! Loads of calls, for measurements.

use std::time::Duration;

use incast_udp::bare::{Caller, Echo};
use incast_udp::load::{self, Load};
use incast_udp::security::{PeerKey, SecurityError};
use incast_udp::socket::Features;
use incast_udp::{Gone, Node, NodeError, Waiting};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{UdpOptions, raise, resolve, seconds};

/// Makes the calls of a load, and returns what became of them.
///
/// `progress` gets the seconds and the number of replies some times a second; it ends the load
/// where it returns false. With `record_bytes` there is a recording of at most so many bytes.
#[pyfunction]
#[pyo3(signature = (
    options, address, *, key = None, size = 64_000, reply = 0, rate = None, in_flight = 1,
    duration_s = 1.0, warmup_s = 0.0, seed = 1, record_bytes = None, progress = None,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[expect(clippy::needless_pass_by_value, reason = "used without the GIL, so not borrowed")]
pub(crate) fn udp_load<'py>(
    py: Python<'py>,
    options: &UdpOptions,
    address: &str,
    key: Option<&str>,
    size: usize,
    reply: u32,
    rate: Option<f64>,
    in_flight: usize,
    duration_s: f64,
    warmup_s: f64,
    seed: u64,
    record_bytes: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let to = resolve(address)?;
    let key = key.map(str::parse::<PeerKey>).transpose().map_err(raise)?;
    let duration = seconds(duration_s, "the duration")?;
    let warmup = seconds(warmup_s, "the warm-up")?;
    let load = Load { size, reply, rate, in_flight, duration, warmup, seed };
    let options = options.options.clone();
    let mut stopped = None;
    let outcome = py.detach(|| {
        let features = Features::probe().map_err(|error| raise(NodeError::from(error)))?;
        let mut node = Node::open(options, features).map_err(raise)?;
        if let Some(bytes) = record_bytes {
            node.record(bytes);
        }
        // The load begins when the connection is open.
        let goes_on = || {
            #[expect(clippy::redundant_closure_for_method_calls, reason = "of one lifetime alone")]
            Python::attach(|py| py.check_signals()).map_err(Failed)
        };
        let peer = load::connect(&mut node, to, key, goes_on).map_err(|Failed(error)| error)?;
        let takes = node.statistics(peer).map_or(0, |peer| peer.takes);
        if load.size > takes {
            return Err(raise(format!(
                "a call of {} B is too long: {to} takes up to {takes} B; choose a lower --size",
                load.size
            )));
        }
        let outcome = load::run(&mut node, peer, &load, |at, replies| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(true) };
                progress.call1(py, (at.as_secs_f64(), replies))?.bind(py).is_truthy()
            });
            told.unwrap_or_else(|error| {
                stopped = Some(error);
                false
            })
        });
        let statistics = node.statistics(peer);
        node.close_all();
        Ok((outcome.map_err(raise)?, statistics, node.take_recording()))
    });
    let (outcome, statistics, recording) = outcome?;
    // An interrupted load keeps what it has measured.
    let interrupted = match stopped {
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => true,
        Some(error) => return Err(error),
        None => false,
    };
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let dict = PyDict::new(py);
    let answered = &outcome.answered;
    dict.set_item("at_us", answered.iter().map(|call| us(call.at)).collect::<Vec<_>>())?;
    dict.set_item("latency_us", answered.iter().map(|call| us(call.latency)).collect::<Vec<_>>())?;
    let samples = &outcome.samples;
    dict.set_item("sample_at_us", samples.iter().map(|one| us(one.at)).collect::<Vec<_>>())?;
    let rtts: Vec<_> = samples.iter().map(|one| one.rtt.as_us_f64()).collect();
    dict.set_item("rtt_us", rtts)?;
    let rates: Vec<_> = samples.iter().map(|one| one.rate.as_gbps_f64()).collect();
    dict.set_item("rate_gbps", rates)?;
    dict.set_item("failed", outcome.failed)?;
    dict.set_item("unfinished", outcome.unfinished)?;
    dict.set_item("replies", outcome.replies)?;
    dict.set_item("elapsed_s", outcome.elapsed.as_secs_f64())?;
    dict.set_item("interrupted", interrupted)?;
    dict.set_item("gone", outcome.gone.map(|why| why.to_string()))?;
    let retransmissions = statistics.map(|statistics| statistics.retransmissions);
    dict.set_item("retransmissions", retransmissions)?;
    dict.set_item("recording", recording)?;
    Ok(dict)
}

/// An error for Python.
struct Failed(PyErr);

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self(raise(error))
    }
}

impl From<Gone> for Failed {
    fn from(why: Gone) -> Self {
        Self(raise(why))
    }
}

impl From<SecurityError> for Failed {
    fn from(error: SecurityError) -> Self {
        Self(raise(error))
    }
}

/// Opens a bare socket, which answers one host for some seconds; returns its port.
#[pyfunction]
pub(crate) fn udp_bare_echo(here: &str, host: &str, spin: bool, time_s: f64) -> PyResult<u16> {
    let ip = |text: &str| resolve(text).map(|address| address.ip());
    let features = Features::probe().map_err(raise)?;
    let echo = Echo::open(ip(here)?, ip(host)?, waiting(spin), features).map_err(raise)?;
    let (port, time) = (echo.port().map_err(raise)?, seconds(time_s, "the time")?);
    let ends = load::Ends::within(time);
    let thread = std::thread::Builder::new().name("incast-bare".to_owned());
    // An error of the socket ends the echo: those who ask it get no answer.
    thread.spawn(move || echo.run(|| !ends.is_over())).map_err(raise)?;
    Ok(port)
}

/// Measures a bare socket's echo, as `udp_load` measures a server.
///
/// Returns the times in microseconds of datagrams of a size, with some in flight; or the bytes that
/// came in `time_s` if none are.
#[pyfunction]
pub(crate) fn udp_bare<'py>(
    py: Python<'py>,
    address: &str,
    size: usize,
    in_flight: usize,
    spin: bool,
    time_s: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let (to, time) = (resolve(address)?, seconds(time_s, "the time")?);
    let measured = py.detach(|| {
        let features = Features::probe().map_err(raise)?;
        let mut caller = Caller::open(to, waiting(spin), features).map_err(raise)?;
        if in_flight == 0 {
            return caller.stream(time).map(Measured::Bytes).map_err(raise);
        }
        caller.calls(size, in_flight, time).map(Measured::Times).map_err(raise)
    });
    match measured? {
        Measured::Bytes(bytes) => Ok(bytes.into_pyobject(py)?.into_any()),
        Measured::Times(times) => {
            let us: Vec<_> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
            us.into_pyobject(py)
        }
    }
}

enum Measured {
    Bytes(u64),
    Times(Vec<Duration>),
}

fn waiting(spin: bool) -> Waiting {
    if spin { Waiting::Spin } else { Waiting::Sleep { spin: Duration::ZERO } }
}
