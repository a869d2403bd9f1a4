//! RCP: the rate is the fair rate of the busiest port on the way, which the ports compute.
//!
//! Dukkipati, Kobayashi, Zhang-Shen and `McKeown`, "Processor Sharing Flows in the Internet",
//! `IWQoS` 2005. Each port keeps one rate for all its flows, and each packet brings back the least
//! of its way. The sender does nothing but obey. `docs/algorithms/rcp.md` has the law of the ports,
//! the sources of its constants, and the departures.

use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Flow, Limits, Loss, LossCause, Pacing, Reads,
};
use crate::feedback::{FairRate, Feedback, Leaving};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::units::{Bytes, Rate, Span};
use crate::{configurable_by_name, parameters};

parameters! {
    /// RCP's one parameter. The default is the preset `iwqos05`.
    pub struct Rcp {
        /// The rate of a flow never falls below.
        pub min_rate: Rate = Rate::from_bps(1_000), in "1bps" to "1Tbps", source "this project";
    }
}

impl Algorithm for Rcp {
    type Control = RcpControl;
    const NAME: &'static str = "rcp";

    fn start(&self, flow: &Flow) -> RcpControl {
        RcpControl {
            mss: flow.mss,
            line_rate: flow.line_rate,
            min_rate: self.min_rate.min(flow.line_rate),
            rate: None,
            rtt: Span::ZERO,
        }
    }
}

impl Configurable for Rcp {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate is the fair rate that the busiest port on the way tells",
        kind: Kind::Telemetry,
        signal: "fair rates of switches",
        needs: &[Need::Feedback("rcp"), Need::EachAcknowledged],
        transport: Transport::Stream,
        source: "Dukkipati et al., IWQoS 2005",
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "iwqos05",
        source: "Dukkipati et al., IWQoS 2005; the ports have the other constants",
        values: &[],
    }];
    configurable_by_name!();
}

/// A flow under RCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RcpControl {
    mss: Bytes,
    line_rate: Rate,
    min_rate: Rate,
    /// The rate of the last answer; none before the first.
    rate: Option<Rate>,
    /// The smoothed round trip time, zero before the first sample.
    rtt: Span,
}

impl CongestionControl for RcpControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn request(&mut self, _leaving: &Leaving) -> Option<Feedback> {
        Some(Feedback::FairRate(FairRate::new(self.rtt)))
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.rtt = ack.srtt;
        if let Some(Feedback::FairRate(answer)) = ack.feedback
            && answer.rate < Rate::MAX
        {
            self.rate = Some(answer.rate.max(self.min_rate).min(self.line_rate));
        }
    }

    /// Only silence is answered: the next packet asks anew.
    fn on_loss(&mut self, loss: &Loss) {
        if loss.cause != LossCause::Detected {
            self.rate = None;
        }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    fn limits(&self) -> Limits {
        let burst = Burst { bytes: self.mss, rate: Rate::MAX };
        match self.rate {
            // A packet asks, and the others wait for the answer.
            None => Limits { cwnd: self.mss, pacing: Pacing::Unpaced, burst },
            Some(rate) => Limits { cwnd: Bytes::MAX, pacing: Pacing::Rate(rate), burst },
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", self.rate.unwrap_or(Rate::ZERO).as_gbps_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;

    fn start() -> RcpControl {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(1));
        flow.mss = Bytes::new(1_000);
        Rcp::default().start(&flow)
    }

    fn answer(control: &mut RcpControl, rate: Rate) {
        let feedback = Feedback::FairRate(FairRate { rate, rtt: Span::ZERO });
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(1_000));
        (ack.srtt, ack.feedback) = (Span::from_us(100), Some(&feedback));
        control.on_ack(&ack);
    }

    #[test]
    fn a_packet_asks_and_the_answer_is_the_rate() {
        let mut control = start();
        assert_eq!(control.limits().cwnd, Bytes::new(1_000));
        answer(&mut control, Rate::from_mbps(300));
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_mbps(300)));
        answer(&mut control, Rate::from_gbps(40));
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_gbps(1)), "its own link");
        answer(&mut control, Rate::ZERO);
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_bps(1_000)), "its floor");
    }

    #[test]
    fn packets_tell_the_round_trip_time() {
        let mut control = start();
        let header = |control: &mut RcpControl| control.request(&Leaving::new(Time::ZERO));
        assert_eq!(header(&mut control), Some(Feedback::FairRate(FairRate::new(Span::ZERO))));
        answer(&mut control, Rate::from_mbps(300));
        let told = FairRate::new(Span::from_us(100));
        assert_eq!(header(&mut control), Some(Feedback::FairRate(told)));
    }

    #[test]
    fn an_answer_that_no_port_gave_is_none() {
        let mut control = start();
        answer(&mut control, Rate::MAX);
        assert_eq!(control.limits().cwnd, Bytes::new(1_000));
    }

    #[test]
    fn silence_is_answered_with_one_packet() {
        let mut control = start();
        answer(&mut control, Rate::from_mbps(300));
        let loss = |cause| Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1_000), cause);
        control.on_loss(&loss(LossCause::Detected));
        assert_eq!(control.limits().cwnd, Bytes::MAX);
        control.on_loss(&loss(LossCause::Timeout));
        assert_eq!(control.limits().cwnd, Bytes::new(1_000));
    }
}
