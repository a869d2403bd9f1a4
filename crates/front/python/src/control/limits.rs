//! The answer of an algorithm in Python to how much may be sent.

use incast_cc::contract::{self, Burst, Pacing};
use incast_cc::{Bytes, Rate};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The limits on sending: a window, a rate, or both.
#[pyclass(module = "incast._core", frozen, eq)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits(contract::Limits);

#[pymethods]
impl Limits {
    /// Limits on sending.
    ///
    /// `cwnd` is the most payload in flight in bytes, at least one packet's; None is no window.
    /// `rate` is the pacing rate of payload in bits per second, at most the line rate; None is no
    /// pacing. `pacing_gain` paces a window in place of `rate`: the window times the gain over the
    /// smoothed RTT. `burst` is the most payload in bytes that leaves at once, and `burst_rate` the
    /// rate of its packets; None leaves both to the carrier.
    ///
    /// Raises `ValueError` where a value is not above zero, or rate and gain are both given.
    #[new]
    #[pyo3(signature = (*, cwnd = None, rate = None, pacing_gain = None, burst = None, burst_rate = None))]
    fn new(
        cwnd: Option<f64>,
        rate: Option<f64>,
        pacing_gain: Option<f64>,
        burst: Option<f64>,
        burst_rate: Option<f64>,
    ) -> PyResult<Self> {
        let above_zero = |name: &str, unit: &str, value: Option<f64>| match value {
            Some(value) if value.is_nan() || value <= 0.0 => Err(PyValueError::new_err(format!(
                "limits: {name} = {value}; expected {unit} above 0"
            ))),
            // Infinity is no limit.
            value => Ok(value.filter(|value| value.is_finite())),
        };
        if rate.is_some() && pacing_gain.is_some() {
            return Err(PyValueError::new_err(
                "limits: rate and pacing_gain; expected one of them",
            ));
        }
        let bytes = |value: Option<f64>| value.map_or(Bytes::MAX, |v| Bytes::new(whole(v)));
        let bits = |value: f64| Rate::from_bps(whole(value));
        let cwnd = bytes(above_zero("cwnd", "bytes", cwnd)?);
        let gain = above_zero("pacing_gain", "a number", pacing_gain)?;
        let pacing = match (above_zero("rate", "bits per second", rate)?, gain) {
            (Some(rate), _) => Pacing::Rate(bits(rate)),
            (None, Some(gain)) => Pacing::Window {
                gain_percent: u32::try_from(whole(gain * 100.0)).unwrap_or(u32::MAX),
            },
            (None, None) => Pacing::Unpaced,
        };
        let burst_rate = above_zero("burst_rate", "bits per second", burst_rate)?;
        let burst = Burst {
            bytes: bytes(above_zero("burst", "bytes", burst)?),
            rate: burst_rate.map_or(Rate::MAX, bits),
        };
        Ok(Self(contract::Limits { cwnd, pacing, burst }))
    }

    /// The most payload in flight in bytes; None is no window.
    #[getter]
    fn cwnd(&self) -> Option<u64> {
        (self.0.cwnd != Bytes::MAX).then(|| self.0.cwnd.get())
    }

    /// The pacing rate in bits per second; None without one.
    #[getter]
    fn rate(&self) -> Option<f64> {
        match self.0.pacing {
            Pacing::Rate(rate) => Some(rate.as_bps() as f64),
            Pacing::Unpaced | Pacing::Window { .. } => None,
        }
    }

    fn __repr__(&self) -> String {
        let word = |value: Option<String>| value.unwrap_or_else(|| "None".into());
        let cwnd = self.cwnd().map(|cwnd| cwnd.to_string());
        let rate = self.rate().map(|rate| rate.to_string());
        format!("Limits(cwnd={}, rate={})", word(cwnd), word(rate))
    }
}

/// A positive number, rounded down, and one at least; large ones are cut.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers above what the type holds become its greatest, and none is below zero"
)]
pub(super) const fn whole(value: f64) -> u64 {
    value.max(1.0) as u64
}

/// The limits in an answer, within what the contract promises of the flow.
pub(super) fn read(answer: &Bound<'_, PyAny>, flow: &contract::Flow) -> PyResult<contract::Limits> {
    let Ok(limits) = answer.cast::<Limits>() else {
        return Err(PyTypeError::new_err(format!(
            "limits() returned {}; expected incast.Limits",
            answer.repr()?
        )));
    };
    let mut limits = limits.get().0;
    if limits.cwnd != Bytes::MAX {
        limits.cwnd = limits.cwnd.min(flow.max_window).max(flow.mss);
    }
    if let Pacing::Rate(rate) = &mut limits.pacing {
        *rate = (*rate).min(flow.line_rate);
    }
    Ok(limits)
}
