//! No congestion control: a constant rate, line rate unless told otherwise.
//!
//! This algorithm runs when only PFC protects the network, and in the closed-form tests.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, CongestionControl, Flow, Limits, Loss, Reads};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::units::{Fraction, Rate};
use crate::{configurable_by_name, parameters};

parameters! {
    /// Line rate's one parameter.
    pub struct LineRate {
        /// Share of the NIC's line rate at which each flow sends.
        pub share: Fraction = Fraction::ONE, in "0.000001" to "1", source "this project";
    }
}

impl Algorithm for LineRate {
    type Control = FixedRate;
    const NAME: &'static str = "line-rate";

    fn start(&self, flow: &Flow) -> FixedRate {
        let bps =
            (u128::from(flow.line_rate.as_bps()) * u128::from(self.share.bits())) >> Fraction::BITS;
        FixedRate { rate: Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)) }
    }
}

impl Configurable for LineRate {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate is line rate: no congestion control",
        kind: Kind::Fixed,
        signal: "none",
        needs: &[Need::Lossless],
        transport: Transport::Message,
        source: "the PFC baseline of TIMELY, SIGCOMM 2015",
    };
    const PRESETS: &'static [Preset] =
        &[Preset { name: "default", source: "this project", values: &[] }];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.starts_at_line_rate(emit);
    }
}

/// A flow at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRate {
    rate: Rate,
}

impl CongestionControl for FixedRate {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn limits(&self) -> Limits {
        Limits::rate(self.rate)
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", self.rate.as_gbps_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use crate::{LossCause, Time};

    #[test]
    fn nothing_changes_the_rate() {
        let half = LineRate { share: Fraction::from_ratio(1, 2) };
        let mut control = half.start(&Flow::new(Bytes::from_kb(64), Rate::from_gbps(10)));
        control.on_loss(&Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Timeout));
        assert_eq!(control.limits(), Limits::rate(Rate::from_gbps(5)));
    }
}
