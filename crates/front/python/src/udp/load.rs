//! Loads of calls, for measurements.

use std::time::Duration;

use incast_bed::bare::{Caller, Echo, Stamps};
use incast_bed::load::{self, Load};
use incast_udp::security::{PeerKey, SecurityError};
use incast_udp::socket::Features;
use incast_udp::{Gone, Host, Lack, Node, NodeError, Statistics, Waiting, place};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{UdpOptions, raise, resolve, seconds};

/// Makes the calls of a load, and returns what became of them.
///
/// `progress` gets the seconds and the number of replies some times a second; it ends the load
/// where it returns false. With several `peers` there are so many connections to the server, which
/// have equal parts of the calls. With `record_bytes` there is a recording of at most so many
/// bytes.
#[pyfunction]
#[pyo3(signature = (
    options, address, *, key = None, size = 64_000, reply = 0, rate = None, in_flight = 1,
    peers = 1, duration_s = 1.0, warmup_s = 0.0, seed = 1, record_bytes = None, progress = None,
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
    peers: usize,
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
        let peers = (0..peers.max(1))
            .map(|_| load::connect(&mut node, to, key, goes_on).map_err(|Failed(error)| error))
            .collect::<PyResult<Vec<_>>>()?;
        let takes = node.statistics(peers[0]).map_or(0, |peer| peer.takes);
        if load.size > takes {
            return Err(raise(format!(
                "a call of {} B is too long: {to} takes up to {takes} B; choose a lower --size",
                load.size
            )));
        }
        let outcome = load::run(&mut node, &peers, &load, |at, replies| {
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
        let all: Vec<_> = peers.iter().filter_map(|&peer| node.statistics(peer)).collect();
        let mut warnings: Vec<_> = features.missing().map(str::to_owned).collect();
        let of_path = all.iter().find(|state| state.lacks_stamps == Some(Lack::Path));
        warnings.extend(of_path.and_then(Statistics::warning));
        node.close_all();
        Ok((outcome.map_err(raise)?, all, warnings, node.take_recording()))
    });
    let (outcome, peers, warnings, recording) = outcome?;
    let retransmissions: u64 = peers.iter().map(|state| state.retransmissions).sum();
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
    dict.set_item("replies_in_all", outcome.replies_in_all)?;
    dict.set_item("elapsed_s", outcome.elapsed.as_secs_f64())?;
    dict.set_item("cpu_s", outcome.cpu.as_secs_f64())?;
    dict.set_item("data_bytes", outcome.data_bytes)?;
    let lateness = &outcome.lateness;
    dict.set_item("paced_sends", lateness.count())?;
    for (name, part) in [("late_p50_us", 0.5), ("late_p99_us", 0.99), ("late_most_us", 1.0)] {
        dict.set_item(name, lateness.quantile(part).map(incast_cc::Span::as_us_f64))?;
    }
    dict.set_item("interrupted", interrupted)?;
    dict.set_item("gone", outcome.gone.map(|why| why.to_string()))?;
    dict.set_item("retransmissions", retransmissions)?;
    dict.set_item("warnings", warnings)?;
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

/// The kinds of measurement with a bare socket, and whether they take timestamps.
fn stamps(kind: &str) -> PyResult<Stamps> {
    match kind {
        "calls" | "stream" => Ok(Stamps::Off),
        "rtts" | "written" => Ok(Stamps::On),
        _ => Err(raise(format!("{kind:?} is measured with no bare socket"))),
    }
}

/// Opens a bare socket, which is to answer one address; returns its port.
pub(super) fn echo(
    host: &Host,
    here: &str,
    there: &str,
    kind: &str,
    spin: bool,
) -> PyResult<(u16, Echo)> {
    let ip = |text: &str| resolve(text).map(|address| address.ip());
    let (waiting, stamps) = (waiting(spin), stamps(kind)?);
    let echo = Echo::open(ip(here)?, ip(there)?, waiting, host.features(), stamps);
    let echo = echo.map_err(raise)?;
    Ok((echo.port().map_err(raise)?, echo))
}

/// Measures a bare socket's echo, as `udp_load` measures a server, and ends it.
///
/// Of `calls` of a size, with some in flight, and of `rtts` there are the times in microseconds; of
/// a `stream`, and of a stream that is `written` by hand, the bytes that came.
#[pyfunction]
pub(crate) fn udp_bare<'py>(
    py: Python<'py>,
    address: &str,
    kind: &str,
    size: usize,
    in_flight: usize,
    spin: bool,
    time_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let (to, time) = (resolve(address)?, seconds(time_s, "the time")?);
    let stamps = stamps(kind)?;
    let (measured, cpu) = py.detach(|| {
        let features = Features::probe().map_err(raise)?;
        let mut caller = Caller::open(to, waiting(spin), features, stamps).map_err(raise)?;
        let before = place::cpu_time();
        let measured = match kind {
            "calls" => caller.calls(size, in_flight, time).map(Measured::Times),
            "rtts" => caller.rtts(time).map(Measured::Times),
            "written" => caller.written(time).map(|stream| Measured::Bytes(stream.bytes)),
            _ => caller.stream(time).map(Measured::Bytes),
        };
        let cpu = place::cpu_time().saturating_sub(before);
        caller.end().map_err(raise)?;
        Ok::<_, PyErr>((measured.map_err(raise)?, cpu))
    })?;
    let dict = PyDict::new(py);
    dict.set_item("cpu_s", cpu.as_secs_f64())?;
    match measured {
        Measured::Bytes(bytes) => dict.set_item("bytes", bytes)?,
        Measured::Times(times) => {
            let us: Vec<_> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
            dict.set_item("times_us", us)?;
        }
    }
    Ok(dict)
}

enum Measured {
    Bytes(u64),
    Times(Vec<Duration>),
}

fn waiting(spin: bool) -> Waiting {
    if spin { Waiting::Spin } else { Waiting::Sleep { spin: Duration::ZERO } }
}
