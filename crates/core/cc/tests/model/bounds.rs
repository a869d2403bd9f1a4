//! What an algorithm promises (`contract.rs`), checked after every call.

use incast_cc::{AnyAlgorithm, Bytes, CongestionControl, Flow, Limits, Pacing, Rate};

/// The promises for one flow.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) name: &'static str,
    line_rate: Rate,
    pub(crate) mss: Bytes,
    /// The most that a window may be: the peer's limit, or a packet where that is more.
    max_window: Bytes,
    /// The size of all bursts, where it does not vary.
    burst: Option<Bytes>,
}

impl Bounds {
    pub(crate) fn new(algorithm: &AnyAlgorithm, flow: &Flow) -> Self {
        let max_window = flow.max_window.max(flow.mss);
        let first = || algorithm.start(flow).limits().burst.bytes;
        let burst = (!algorithm.burst_varies()).then(first);
        Self { name: algorithm.name(), line_rate: flow.line_rate, mss: flow.mss, max_window, burst }
    }

    pub(crate) fn on_mss_change(&mut self, mss: Bytes) {
        self.burst = self.burst.map(|burst| if burst == self.mss { mss } else { burst });
        self.mss = mss;
        self.max_window = self.max_window.max(mss);
    }

    /// Checks limits and gauges.
    pub(crate) fn check(&self, control: &impl CongestionControl) {
        let name = self.name;
        self.check_limits(&control.limits());
        control.gauges(&mut |gauge, value| {
            assert!(value.is_finite(), "{name}: {gauge} is {value}");
        });
    }

    fn check_limits(&self, limits: &Limits) {
        let (name, cwnd) = (self.name, limits.cwnd);
        assert!(cwnd >= self.mss, "{name}: cwnd {cwnd} below one MSS of {}", self.mss);
        let within = cwnd == Bytes::MAX || cwnd <= self.max_window;
        assert!(within, "{name}: cwnd {cwnd} above {}", self.max_window);
        assert!(!limits.burst.bytes.is_zero() && !limits.burst.rate.is_zero(), "{name}: no burst");
        let burst = limits.burst.bytes;
        assert!(self.burst.is_none_or(|same| same == burst), "{name}: a burst of {burst}");
        match limits.pacing {
            Pacing::Rate(rate) => {
                let line_rate = self.line_rate;
                assert!(!rate.is_zero(), "{name}: rate zero never recovers");
                assert!(rate <= line_rate, "{name}: {rate} above line rate {line_rate}");
            }
            Pacing::Window { gain_percent } => assert!(gain_percent > 0, "{name}: no pacing gain"),
            Pacing::Unpaced => {}
        }
    }
}
