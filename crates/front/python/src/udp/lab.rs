//! The traffic of a test bed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use incast_bed::cable::{Cable, Cables};
use incast_bed::lab::{self, Flow, Place, Plan, Request};
use incast_cc::Rate;
use incast_udp::Options;
use incast_udp::security::Security;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{raise, resolve, seconds};
use crate::errors::ParameterError;
use crate::scenario::Scenario;

/// Cables with a delay between devices of a network namespace, until they are closed.
#[pyclass(module = "incast._core")]
pub(crate) struct UdpCables {
    cables: Option<Cables>,
}

#[pymethods]
impl UdpCables {
    #[new]
    fn new(namespace: PathBuf, cpu: usize, cables: Vec<(String, String, f64)>) -> PyResult<Self> {
        let cable = |(a, b, delay_us): (String, String, f64)| -> PyResult<Cable> {
            Ok(Cable { ends: [a, b], delay: seconds(delay_us / 1e6, "the delay")? })
        };
        let cables = cables.into_iter().map(cable).collect::<PyResult<_>>()?;
        let named = namespace.display().to_string();
        let laid = Cables::lay(namespace, cpu, cables);
        let laid = laid.map_err(|error| raise(format!("{named}: no cables: {error}")))?;
        Ok(Self { cables: Some(laid) })
    }

    /// Ends the cables.
    fn close(&mut self, py: Python<'_>) {
        let cables = self.cables.take();
        py.detach(|| drop(cables));
    }
}

/// A host: its name, the file of its namespace, its address, its CPU, its rate such as `1Gbps`.
type Host = (String, PathBuf, String, usize, String);

/// Carries traffic between hosts of this machine, each in a network namespace of its own.
///
/// Those of one CPU share a thread. Hosts are their names, namespaces, addresses, CPUs and rates;
/// flows the numbers of sending and receiving hosts; requests their times in seconds, clients,
/// servers, and the bytes of each answer. `progress` gets the seconds some times a second; it ends
/// the traffic where it raises.
#[pyfunction]
#[pyo3(signature = (
    scenario, scheme, hosts, flows, requests, *, duration_s, measured_s, interval_s, progress = None,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts them by value")]
pub(crate) fn udp_lab<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    scheme: &str,
    hosts: Vec<Host>,
    flows: Vec<(usize, usize)>,
    requests: Vec<(f64, usize, Vec<usize>, u32)>,
    duration_s: f64,
    measured_s: (f64, f64),
    interval_s: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let algorithm = scenario
        .document
        .scenario()
        .scheme(scheme)
        .map_err(|error| ParameterError::new_err(error.to_string()))?
        .algorithm;
    let place = |(name, namespace, address, cpu, rate): Host| -> PyResult<Place> {
        let address: SocketAddr = resolve(&address)?;
        let mut options = Options::at(address, Security::Plain);
        options.algorithm = algorithm;
        options.line_rate = rate
            .parse::<Rate>()
            .map_err(|error| ParameterError::new_err(format!("line rate {rate:?}: {error}")))?;
        Ok(Place { name, namespace, cpu, options })
    };
    let time = |value| seconds(value, "a time");
    let request = |(at, client, servers, bytes)| -> PyResult<Request> {
        Ok(Request { at: time(at)?, client, servers, bytes })
    };
    let plan = Plan {
        hosts: hosts.into_iter().map(place).collect::<PyResult<_>>()?,
        flows: flows.into_iter().map(|(from, to)| Flow { from, to }).collect(),
        requests: requests.into_iter().map(request).collect::<PyResult<_>>()?,
        duration: time(duration_s)?,
        measured: (time(measured_s.0)?, time(measured_s.1)?),
        interval: time(interval_s)?,
    };
    let mut stopped = None;
    let outcome = py.detach(|| {
        lab::run(&plan, |passed| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(()) };
                progress.call1(py, (passed.as_secs_f64(),)).map(|_| ())
            });
            told.map_err(|error| stopped = Some(error)).is_ok()
        })
    });
    if let Some(error) = stopped {
        return Err(error);
    }
    let outcome = outcome.map_err(raise)?;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let dict = PyDict::new(py);
    let flows = outcome.flows;
    dict.set_item("measured_bytes", flows.iter().map(|one| one.measured).collect::<Vec<_>>())?;
    dict.set_item(
        "flow_retransmissions",
        flows.iter().map(|one| one.retransmissions).collect::<Vec<_>>(),
    )?;
    dict.set_item("series_bytes", flows.into_iter().map(|one| one.series).collect::<Vec<_>>())?;
    let answered: Vec<_> = outcome.answered.into_iter().map(|(one, at)| (one, us(at))).collect();
    dict.set_item("answered", answered)?;
    let samples = &outcome.samples;
    dict.set_item("sample_at_us", samples.iter().map(|one| us(one.at)).collect::<Vec<_>>())?;
    let rtts: Vec<_> = samples.iter().map(|one| one.rtt.as_us_f64()).collect();
    dict.set_item("rtt_us", rtts)?;
    dict.set_item("sample_flow", samples.iter().map(|one| one.flow).collect::<Vec<_>>())?;
    dict.set_item("retransmissions", outcome.retransmissions)?;
    Ok(dict)
}
