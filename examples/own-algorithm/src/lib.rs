//! An algorithm in a crate of its own: a rate that follows the RTT, up by a step below a target,
//! down in proportion above it.

use incast_cc::param::{Configurable, Info, Kind, Preset, Transport};
use incast_cc::{
    Ack, Algorithm, Bytes, CongestionControl, Flow, Fraction, Limits, Loss, Rate, Span,
    configurable_by_name, parameters,
};
use pyo3::prelude::*;

parameters! {
    /// The parameters, with their defaults.
    pub struct DelayTarget {
        /// The RTT to aim at.
        pub target: Span = Span::from_us(60), in "1us" to "1s", source "this crate";
        /// The step that an RTT below the target adds to the rate.
        pub step: Rate = Rate::from_mbps(20), in "1bps" to "1Tbps", source "this crate";
        /// The strength of the decrease.
        pub beta: Fraction = Fraction::from_ratio(1, 2), in "0" to "1", source "this crate";
    }
}

impl Algorithm for DelayTarget {
    type Control = DelayTargetControl;
    const NAME: &'static str = "delay-target";

    fn start(&self, flow: &Flow) -> DelayTargetControl {
        let line = flow.line_rate;
        let share = line.as_bps() / (u64::from(flow.active_flows) + 1);
        DelayTargetControl { of: *self, line, rate: Rate::from_bps(share.max(1)) }
    }
}

impl Configurable for DelayTarget {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "The rate rises below a target RTT, and falls above it",
        kind: Kind::Rate,
        signal: "RTT",
        needs: &[],
        transport: Transport::Message,
        source: "this crate",
    };
    const PRESETS: &'static [Preset] = &[];

    configurable_by_name!();
}

/// A flow.
#[derive(Clone, Debug)]
pub struct DelayTargetControl {
    of: DelayTarget,
    line: Rate,
    rate: Rate,
}

impl CongestionControl for DelayTargetControl {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.network()) else { return };
        let rate = self.rate.as_bps();
        let next = if rtt < self.of.target {
            rate.saturating_add(self.of.step.as_bps())
        } else {
            let excess = 1.0 - self.of.target.as_secs_f64() / rtt.as_secs_f64();
            (rate as f64 * (1.0 - self.of.beta.as_f64() * excess)) as u64
        };
        let least = self.of.step.as_bps().min(self.line.as_bps());
        self.rate = Rate::from_bps(next.clamp(least, self.line.as_bps()));
    }

    fn on_loss(&mut self, _: &Loss) {}

    fn limits(&self) -> Limits {
        Limits::rate(self.rate)
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", self.rate.as_gbps_f64());
    }
}

incast_native::export_algorithm!(DelayTarget);

/// The module of Python: its function is the entry point in pyproject.toml.
#[pymodule]
mod own_algorithm {
    use super::{incast_algorithm, pyfunction};

    /// The address of the table of the algorithm.
    #[pyfunction]
    fn table() -> usize {
        incast_algorithm() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Time;

    #[test]
    fn the_rate_rises_below_the_target_and_falls_above_it() {
        let mut flow =
            DelayTarget::default().start(&Flow::new(Bytes::from_kb(64), Rate::from_gbps(10)));
        let ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::from_kb(64));
        flow.on_ack(&ack.with_rtt(Span::from_us(120)));
        assert_eq!(flow.rate, Rate::from_mbps(7_500));
        flow.on_ack(&ack.with_rtt(Span::from_us(59)));
        assert_eq!(flow.rate, Rate::from_mbps(7_520));
    }
}
