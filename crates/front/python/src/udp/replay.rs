//! Recordings of nodes, replayed.

use std::path::PathBuf;

use incast_udp::recording::{BrokenRecording, replay};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::raise;

/// Makes the calls of a recording again, and returns what was compared.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts a path by value")]
pub(crate) fn udp_replay(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let replayed = py.detach(|| {
        let shown = path.display();
        let bytes =
            std::fs::read(&path).map_err(|error| raise(format!("cannot read {shown}: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| BrokenRecording::Foreign);
        text.and_then(|text| replay(&text)).map_err(|error| {
            raise(format!("{shown} cannot be replayed: {error}; record again with --record"))
        })
    })?;
    let dict = PyDict::new(py);
    dict.set_item("algorithm", replayed.algorithm)?;
    dict.set_item("calls", replayed.calls)?;
    dict.set_item("connections", replayed.connections)?;
    dict.set_item("sends", replayed.sends)?;
    dict.set_item("payload_bytes", replayed.payload)?;
    dict.set_item("again", replayed.again)?;
    dict.set_item("arrivals", replayed.arrivals)?;
    dict.set_item("rates", replayed.rates)?;
    dict.set_item("samples", replayed.samples)?;
    dict.set_item("lasted_s", replayed.lasted.as_secs_f64())?;
    dict.set_item("full", replayed.is_full)?;
    dict.set_item("equal", replayed.difference.is_none())?;
    dict.set_item("difference", replayed.difference.map(|difference| difference.to_string()))?;
    Ok(dict)
}
