//! Messages between hosts over UDP.

mod lab;
mod load;
mod pending;
mod replay;
mod settings;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use incast_bed::bare::Answering;
use incast_cc::Rate;
use incast_cc::registry::NAMES;
use incast_sim::scenario::suggestion;
use incast_udp::security::{Identity, PeerKey, Secret};
use incast_udp::settings::{SettingError, resolve as address_of, time};
use incast_udp::{Failure, Gone, Host, Options, Peer, Priority, Request, Statistics, Terms};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{IncastError, ParameterError, SecurityError};

pub(crate) use self::lab::{UdpCables, udp_lab};
pub(crate) use self::load::{udp_bare, udp_load};
pub(crate) use self::pending::{UdpNotices, UdpPending};
pub(crate) use self::replay::udp_replay;
pub(crate) use self::settings::udp_settings;

/// An error that a user reads.
fn raise(error: impl std::fmt::Display) -> PyErr {
    IncastError::new_err(error.to_string())
}

/// The settings of hosts, checked when they are made.
#[pyclass(frozen, module = "incast._core")]
pub(crate) struct UdpOptions {
    options: Options,
    threads: usize,
    answers_loads: bool,
}

#[pymethods]
impl UdpOptions {
    #[new]
    #[pyo3(signature = (address, *, answers_loads = false, **settings))]
    fn new(
        address: &str,
        answers_loads: bool,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = settings::given(settings)?;
        let options = settings.options(address).map_err(wrong)?;
        Ok(Self { options, threads: settings.threads, answers_loads })
    }
}

/// A duration in seconds that a user has given.
fn seconds(value: f64, name: &'static str) -> PyResult<Duration> {
    time(name, value).map_err(raise)
}

/// A setting that is wrong, for Python.
fn wrong(error: SettingError) -> PyErr {
    use SettingError::{Conflict, NoAlgorithm, NoValue, Preset, Rate, Value};
    match error {
        NoAlgorithm(name) => {
            let near = suggestion(&name, NAMES);
            ParameterError::new_err(format!("no algorithm is called {name:?}{near}"))
        }
        Preset { .. } | NoValue(_) | Value { .. } | Conflict { .. } | Rate { .. } => {
            ParameterError::new_err(error.to_string())
        }
        _ => raise(error),
    }
}

/// The address of a text such as `host:7000`.
fn resolve(text: &str) -> PyResult<SocketAddr> {
    address_of(text).map_err(wrong)
}

/// A host that sends and receives messages on threads of its own.
#[pyclass(frozen, module = "incast._core")]
pub(crate) struct UdpHost {
    host: Arc<Host>,
    bare: Answering,
}

#[pymethods]
impl UdpHost {
    #[new]
    fn new(py: Python<'_>, options: &UdpOptions) -> PyResult<Self> {
        let UdpOptions { options, threads, answers_loads } = options;
        let host = py.detach(|| match answers_loads {
            true => Host::answering(options, *threads, incast_bed::load::answers),
            false => Host::open(options, *threads),
        });
        Ok(Self { host: Arc::new(host.map_err(raise)?), bare: Answering::default() })
    }

    /// The address of the host, with its port.
    #[getter]
    fn address(&self) -> String {
        self.host.address().to_string()
    }

    /// A sentence for each feature of the kernel that is missing, which says what is lost.
    #[getter]
    fn missing_features(&self) -> Vec<&'static str> {
        self.host.features().missing().collect()
    }

    /// Connects to a host, which has the public key `key` if keys protect connections.
    #[pyo3(signature = (address, key = None))]
    fn connect(&self, address: &str, key: Option<&str>) -> PyResult<UdpPending> {
        let key = key.map(str::parse::<PeerKey>).transpose().map_err(raise)?;
        Ok(UdpPending::connecting(self.host.connect(resolve(address)?, key)))
    }

    /// The next message of any peer, or None if there is none within a time.
    fn accept(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<UdpRequest>> {
        let timeout = seconds(timeout_s, "the time")?;
        let request = py.detach(|| self.host.accept(timeout)).map_err(raise)?;
        Ok(request.map(UdpRequest::new))
    }

    /// The next request, which is still to come; for an event loop, which polls it.
    fn accepting(&self) -> UdpPending {
        UdpPending::accepting(Arc::clone(&self.host))
    }

    /// Opens a bare socket at an address, which answers another one for some seconds at most.
    ///
    /// Returns its port; None if another one answers. It has a thread of its own.
    fn bare(
        &self,
        here: &str,
        there: &str,
        kind: &str,
        spin: bool,
        most_s: f64,
    ) -> PyResult<Option<u16>> {
        let most = seconds(most_s, "the time")?;
        let (port, echo) = load::echo(&self.host, here, there, kind, spin)?;
        let answers = self.bare.start(&self.host, echo, most).map_err(raise)?;
        Ok(answers.then_some(port))
    }

    /// The state of each peer whose connection is open.
    fn peers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (peers, _) = py.detach(|| self.host.statistics());
        peers.iter().map(|peer| to_dict(py, peer)).collect()
    }

    /// The hosts refused or dropped since the last call: the address of each, and the reason.
    fn rejected(&self) -> Vec<(String, String)> {
        let all = self.host.rejected();
        all.into_iter().map(|(address, why)| (address.to_string(), why.to_string())).collect()
    }

    /// Counts of the host's datagrams since it was opened.
    fn counters(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let (_, counters) = py.detach(|| self.host.statistics());
        let dict = PyDict::new(py);
        dict.set_item("datagrams", counters.datagrams)?;
        dict.set_item("unknown", counters.unknown)?;
        dict.set_item("refused", counters.refused)?;
        dict.set_item("postponed", counters.postponed)?;
        dict.set_item("no_memory", counters.no_memory)?;
        dict.set_item("unsent", counters.unsent)?;
        dict.set_item("data_bytes", counters.data_bytes)?;
        Ok(dict.into())
    }
}

/// A peer of a host.
#[pyclass(frozen, module = "incast._core")]
#[derive(Clone)]
pub(crate) struct UdpPeer {
    peer: Peer,
}

#[pymethods]
impl UdpPeer {
    /// The address of the peer.
    #[getter]
    fn address(&self) -> String {
        self.peer.address().to_string()
    }

    /// Calls the peer; the reply is the result. Priorities are `by-size`, `high` and `low`.
    #[pyo3(signature = (body, patience_s = None, priority = "by-size"))]
    fn call(&self, body: &[u8], patience_s: Option<f64>, priority: &str) -> PyResult<UdpPending> {
        let patience = patience_s.map(|time| seconds(time, "the patience")).transpose()?;
        let terms = Terms { patience, priority: priority_of(priority)? };
        Ok(UdpPending::call(self.peer.call_with(body.to_vec(), terms)))
    }

    /// Sends a message that wants no reply; the result tells that the peer has it.
    #[pyo3(signature = (body, patience_s = None, priority = "by-size"))]
    fn note(&self, body: &[u8], patience_s: Option<f64>, priority: &str) -> PyResult<UdpPending> {
        let patience = patience_s.map(|time| seconds(time, "the patience")).transpose()?;
        let terms = Terms { patience, priority: priority_of(priority)? };
        Ok(UdpPending::note(self.peer.note_with(body.to_vec(), terms)))
    }

    /// The state of the connection; None if the peer is gone.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let statistics = py.detach(|| self.peer.statistics());
        statistics.map(|statistics| to_dict(py, &statistics)).transpose()
    }

    /// Ends the connection. What is under way fails.
    fn close(&self) {
        self.peer.close();
    }
}

/// The priority of a message by its name.
fn priority_of(name: &str) -> PyResult<Priority> {
    match name {
        "by-size" => Ok(Priority::BySize),
        "high" => Ok(Priority::High),
        "low" => Ok(Priority::Low),
        _ => {
            let message = format!("priority {name:?}: expected by-size, high or low");
            Err(ParameterError::new_err(message))
        }
    }
}

/// A message of a peer.
#[pyclass(module = "incast._core")]
pub(crate) struct UdpRequest {
    /// The message, until it is answered.
    request: Option<Request>,
    peer: Peer,
}

impl UdpRequest {
    fn new(request: Request) -> Self {
        Self { peer: request.peer().clone(), request: Some(request) }
    }
}

#[pymethods]
impl UdpRequest {
    /// The body of the message.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.there()?.body()))
    }

    /// The sender.
    #[getter]
    fn peer(&self) -> UdpPeer {
        UdpPeer { peer: self.peer.clone() }
    }

    /// Whether the message is a call, which wants a reply.
    #[getter]
    fn wants_reply(&self) -> bool {
        matches!(self.request, Some(Request::Call(_)))
    }

    /// The seconds that the sender waits, counted from the sending; None if not bounded.
    #[getter]
    fn timeout_s(&self) -> PyResult<Option<f64>> {
        Ok(self.there()?.patience().map(|time| time.as_secs_f64()))
    }

    /// Replies to the call.
    fn reply(&mut self, body: &[u8]) -> PyResult<()> {
        self.take_call()?.reply(body.to_vec());
        Ok(())
    }

    /// Refuses the call, for a reason that the caller reads.
    fn refuse(&mut self, reason: &str) -> PyResult<()> {
        self.take_call()?.refuse(reason);
        Ok(())
    }
}

impl UdpRequest {
    fn there(&self) -> PyResult<&Request> {
        self.request.as_ref().ok_or_else(|| raise("the call was answered already"))
    }

    fn take_call(&mut self) -> PyResult<incast_udp::Call> {
        match self.request.take() {
            Some(Request::Call(call)) => Ok(call),
            Some(note @ Request::Note(_)) => {
                self.request = Some(note);
                Err(raise("a note wants no reply"))
            }
            None => Err(raise("the call was answered already")),
        }
    }
}

fn to_dict<'py>(py: Python<'py>, statistics: &Statistics) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let us = |span: incast_cc::Span| span.as_us_f64();
    dict.set_item("address", statistics.address.to_string())?;
    dict.set_item("key", statistics.key.map(|key| key.to_string()))?;
    dict.set_item("is_open", statistics.is_open)?;
    dict.set_item("rtt_us", statistics.least_rtt.map(|_| us(statistics.rtt)))?;
    dict.set_item("least_rtt_us", statistics.least_rtt.map(us))?;
    dict.set_item("rate_gbps", statistics.rate.map(Rate::as_gbps_f64))?;
    dict.set_item("received_bytes", statistics.received)?;
    dict.set_item("messages", statistics.messages)?;
    dict.set_item("waiting_bytes", statistics.waiting)?;
    dict.set_item("retransmissions", statistics.retransmissions)?;
    dict.set_item("datagram_bytes", statistics.datagram)?;
    dict.set_item("warning", statistics.warning())?;
    Ok(dict)
}

/// Makes a key pair, or a secret that all hosts share, in a new file; returns the public key.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts a path by value")]
pub(crate) fn udp_make_key(path: PathBuf, shared: bool) -> PyResult<Option<String>> {
    if shared {
        Secret::generate().and_then(|secret| secret.write(&path)).map_err(raise)?;
        return Ok(None);
    }
    let identity = Identity::generate().map_err(raise)?;
    identity.write(&path).map_err(raise)?;
    Ok(Some(identity.public().to_string()))
}

/// The public key of a key pair's file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts a path by value")]
pub(crate) fn udp_public_key(path: PathBuf) -> PyResult<String> {
    Ok(Identity::read(&path).map_err(raise)?.public().to_string())
}

/// An error of a call, for Python.
fn failed(error: Failure) -> PyErr {
    match error {
        Failure::Security(_) | Failure::Gone(Gone::Security(_)) => {
            SecurityError::new_err(error.to_string())
        }
        Failure::TimedOut(_) | Failure::Undelivered(_) | Failure::Unsent(_) => {
            pyo3::exceptions::PyTimeoutError::new_err(error.to_string())
        }
        other => raise(other),
    }
}
