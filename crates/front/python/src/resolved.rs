//! The resolved plan of a scenario as dictionaries.

use incast_cc::{Bytes, Span};
use incast_sim::{Resolved, ResolvedHost, ResolvedQueue, ResolvedTraffic};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn to_dict<'py>(py: Python<'py>, plan: &Resolved) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("network", plan.network)?;
    let hosts: PyResult<Vec<_>> = plan.hosts.iter().map(|one| host(py, one)).collect();
    dict.set_item("hosts", hosts?)?;
    dict.set_item("burst_bytes", plan.burst.map(Bytes::get))?;
    dict.set_item("burst_time_us", plan.burst_time.map(Span::as_us_f64))?;
    dict.set_item("routing", plan.routing.clone())?;
    dict.set_item("paths", plan.paths)?;
    dict.set_item("own_links", plan.own_links)?;
    dict.set_item("receivers", plan.receivers)?;
    dict.set_item("islands", plan.islands)?;
    let all: PyResult<Vec<_>> = plan.traffic.iter().map(|one| traffic(py, one)).collect();
    dict.set_item("traffic", all?)?;
    dict.set_item("parameters", plan.parameters.clone())?;
    Ok(dict)
}

fn host<'py>(py: Python<'py>, host: &ResolvedHost) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &host.name)?;
    dict.set_item("rate_gbps", host.rate.as_gbps_f64())?;
    dict.set_item("delay_us", host.delay.as_us_f64())?;
    let queues = host.queues.iter();
    let queues: PyResult<Vec<_>> = queues.map(|one| queue(py, one)).collect();
    dict.set_item("queues", queues?)?;
    Ok(dict)
}

fn queue<'py>(py: Python<'py>, queue: &ResolvedQueue) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("limit_bytes", queue.limit.get())?;
    dict.set_item("ecn_threshold_bytes", queue.ecn_threshold.map(Bytes::get))?;
    dict.set_item("management", queue.management)?;
    dict.set_item("discipline", queue.discipline)?;
    dict.set_item("protected", queue.protected)?;
    Ok(dict)
}

fn traffic<'py>(py: Python<'py>, traffic: &ResolvedTraffic) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &traffic.name)?;
    dict.set_item("kind", traffic.kind)?;
    dict.set_item("class_number", traffic.class)?;
    dict.set_item("scheme", traffic.scheme.as_deref())?;
    dict.set_item("waits", traffic.waits)?;
    Ok(dict)
}
