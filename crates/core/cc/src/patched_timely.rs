//! Patched TIMELY: between the thresholds, gradient and absolute delay together.
//!
//! Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
//! TIMELY", CoNEXT 2016. TIMELY as published has no fixed point. If a gradient of zero holds the
//! rate instead, it has infinitely many: any split of the bottleneck is one. The patch weighs an
//! increase against a decrease, by a weight that follows the gradient. The decrease grows with the
//! distance of the RTT from `t_low`. There is one fixed point: every flow at C/N, and a queue of
//! `q' (1 + N delta / (beta C))` with `q' = C * t_low`.
//!
//! Integers throughout, as in [`crate::timely`].

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, CongestionControl, Flow, Limits, Loss, Pacing, Reads};
use crate::param::{BurstRate, Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::parts::DelayGradient;
use crate::parts::integer::{self, ONE_Q20};
use crate::units::{Bytes, Fraction, Rate, Span};
use crate::{Burst, configurable_by_name, parameters};

parameters! {
    /// Patched TIMELY's parameters.
    pub struct PatchedTimely {
        /// Weight of the newest RTT difference in the EWMA filter.
        pub alpha: Fraction = Fraction::from_ratio(875, 1000), in "0.000001" to "1",
            source "Zhu et al., CoNEXT 2016, model parameters";
        /// Multiplicative decrease factor, within the band and above `t_high`.
        pub beta: Fraction = Fraction::from_ratio(8, 1000), in "0.000001" to "1",
            source "Zhu et al., CoNEXT 2016, section 4";
        /// Additive increase step, for a NIC of the rate `delta_reference`.
        pub delta: Rate = Rate::from_mbps(10), in "1bps" to "1Tbps",
            source "Zhu et al., CoNEXT 2016, model parameters";
        /// Line rate that `delta` and `min_rate` are given for; at 0bps they are taken as they
        /// stand.
        pub delta_reference: Rate = Rate::from_gbps(10), source "this project";
        /// RTT below which the rate rises; also the reference of the error.
        pub t_low: Span = Span::from_us(50), in "1ns" to "1s",
            source "Zhu et al., CoNEXT 2016, model parameters";
        /// Above this RTT the rate falls whatever the gradient.
        pub t_high: Span = Span::from_us(500), in "1ns" to "1s",
            source "Zhu et al., CoNEXT 2016, model parameters";
        /// The fixed minimum network RTT that makes the gradient dimensionless.
        pub min_rtt: Span = Span::from_us(20), in "1ns" to "1s",
            source "Zhu et al., CoNEXT 2016, model parameters";
        /// The rate never falls below, for a NIC of the rate `delta_reference`.
        pub min_rate: Rate = Rate::from_mbps(10), in "1bps" to "1Tbps", source "this project";
        /// Rate at which the packets of one segment leave; not part of the control law.
        pub burst_rate: BurstRate = BurstRate::LINE, in "1Mbps" to "line-rate",
            source "TIMELY, SIGCOMM 2015, section 5";
    }
}

impl Algorithm for PatchedTimely {
    type Control = PatchedTimelyControl;
    const NAME: &'static str = "patched-timely";

    fn start(&self, flow: &Flow) -> PatchedTimelyControl {
        PatchedTimelyControl::new(self, flow)
    }
}

impl Configurable for PatchedTimely {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate follows gradient and level of the RTT: TIMELY with one fixed point",
        kind: Kind::Rate,
        signal: "RTT of each segment",
        needs: &[Need::Lossless],
        transport: Transport::Message,
        source: "Zhu et al., CoNEXT 2016",
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "zhu",
        source: "Zhu et al., CoNEXT 2016; they send 16 KB segments",
        values: &[],
    }];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        if self.t_low > self.t_high {
            return Err(Conflict { name: "t_low", rule: "must not be above", other: "t_high" });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let effect = "the rate falls with every completion until delta makes up for it";
        let line_bps = integer::line_bps(path.line_rate);
        // A level RTT adds and takes by the same weight: R = delta / (beta error).
        let delta_bps = integer::scaled(self.delta, self.delta_reference, line_bps);
        // At half of their shares, others load the port by `others`, and a segment waits for them
        // as by Pollaczek and Khinchine.
        let others = (path.flows.max(1) - 1) as f64 / path.flows.max(1) as f64 / 2.0;
        let wait = path.segment_time().as_secs_f64() * others / (1.0 - others) / 2.0;
        let over = path.network_rtt.saturating_sub(self.t_low).as_secs_f64() + wait;
        let error = over / self.t_low.as_secs_f64();
        let settles = Rate::from_bps_f64(delta_bps as f64 / (self.beta.as_f64() * error));
        path.thresholds(self.t_low, self.t_high, (settles, effect), emit);
        let floor = integer::scaled(self.min_rate, self.delta_reference, line_bps);
        path.least_rate("min_rate", Rate::from_bps(floor), emit);
    }
}

/// A flow under Patched TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchedTimelyControl {
    rate_bps: u64,
    gradient: DelayGradient,
    alpha: Fraction,
    beta_q20: u64,
    delta_bps: u64,
    t_low_ns: u64,
    t_high_ns: u64,
    min_rtt_ns: u64,
    min_bps: u64,
    line_bps: u64,
    burst_rate: Rate,
}

impl PatchedTimelyControl {
    fn new(params: &PatchedTimely, flow: &Flow) -> Self {
        let line_bps = integer::line_bps(flow.line_rate);
        let scaled = |rate| integer::scaled(rate, params.delta_reference, line_bps);
        let min_bps = scaled(params.min_rate);
        Self {
            rate_bps: (line_bps / (u64::from(flow.active_flows) + 1)).max(min_bps),
            gradient: DelayGradient::default(),
            alpha: params.alpha.min(Fraction::ONE),
            beta_q20: u64::from(params.beta.bits()).min(ONE_Q20),
            delta_bps: scaled(params.delta),
            t_low_ns: params.t_low.as_ns().max(1),
            t_high_ns: params.t_high.as_ns(),
            min_rtt_ns: params.min_rtt.as_ns().clamp(1, DelayGradient::MAX_RTT_NS),
            min_bps,
            line_bps,
            burst_rate: params.burst_rate.0,
        }
    }

    fn on_completion(&mut self, rtt_ns: u64) {
        let rtt_ns = rtt_ns.min(DelayGradient::MAX_RTT_NS);
        self.gradient.add(self.alpha, rtt_ns);
        let (increase_bps, cut_q20) = if rtt_ns < self.t_low_ns {
            (self.delta_bps, 0)
        } else if rtt_ns > self.t_high_ns {
            (0, integer::cut_above_q20(self.beta_q20, rtt_ns, self.t_high_ns))
        } else {
            let weight_q20 = self.weight_q20();
            // (RTT - RTT_ref) / RTT_ref with RTT_ref = t_low: below 2^31 * 2^20.
            let error_q20 = ((rtt_ns - self.t_low_ns) << Fraction::BITS) / self.t_low_ns;
            let weighted_beta_q20 = (self.beta_q20 * weight_q20) >> Fraction::BITS;
            // An error beyond 2^20 only caps the cut, and keeps the product within 64 bits.
            let cut_q20 = (weighted_beta_q20 * error_q20.min(1 << 40)) >> Fraction::BITS;
            let increase_bps = (self.delta_bps * (ONE_Q20 - weight_q20)) >> Fraction::BITS;
            (increase_bps, cut_q20.min(ONE_Q20))
        };
        self.rate_bps -= (self.rate_bps * cut_q20) >> Fraction::BITS;
        self.rate_bps = (self.rate_bps + increase_bps).clamp(self.min_bps, self.line_bps);
    }

    /// w(g) = 2g + 1/2, clipped to 0 and 1.
    fn weight_q20(&self) -> u64 {
        let gradient_q20 =
            ((self.gradient.magnitude_q8() << (Fraction::BITS - 8)) / self.min_rtt_ns).min(ONE_Q20);
        let half_q20 = ONE_Q20 / 2;
        if self.gradient.is_positive() {
            (half_q20 + 2 * gradient_q20).min(ONE_Q20)
        } else {
            half_q20.saturating_sub(2 * gradient_q20)
        }
    }
}

impl CongestionControl for PatchedTimelyControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            self.on_completion(rtt.network().as_ns());
        }
    }

    /// No answer to loss, as in TIMELY.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn limits(&self) -> Limits {
        Limits {
            cwnd: Bytes::MAX,
            pacing: Pacing::Rate(Rate::from_bps(self.rate_bps)),
            burst: Burst { bytes: Bytes::MAX, rate: self.burst_rate },
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", Rate::from_bps(self.rate_bps).as_gbps_f64());
        emit("gradient", self.gradient.gradient(self.min_rtt_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;

    fn flow() -> Flow {
        Flow { active_flows: 1, ..Flow::new(Bytes::from_kb(16), Rate::from_gbps(10)) }
    }

    fn after(rtts_us: &[u64]) -> u64 {
        let mut control = PatchedTimely::default().start(&flow());
        for (i, &rtt) in rtts_us.iter().enumerate() {
            let now = Time::ZERO + Span::from_us(100 * (i as u64 + 1));
            control.on_ack(&Ack::new(now, Time::ZERO, Bytes::ZERO).with_rtt(Span::from_us(rtt)));
        }
        control.rate_bps
    }

    #[test]
    fn below_t_low_adds_delta() {
        assert_eq!(after(&[40]), 5_010_000_000);
    }

    #[test]
    fn level_rtt_weighs_both_sides_by_half() {
        // g = 0, so w = 1/2; err = (100 - 50)/50 = 1:
        // R = 5e9 (1 - 0.008 * 0.5) + 10e6 * 0.5 = 4.985e9, but 0.008 is 8,389/2^20 and half of it
        // is cut to 4,194/2^20.
        let cut = 5_000_000_000_u64 * 4_194 / (1 << 20);
        assert_eq!(after(&[100]), 5_000_000_000 - cut + 5_000_000);
    }

    #[test]
    fn steep_rise_only_decreases_and_steep_fall_only_increases() {
        // +100 us over 20 us is a gradient of 4.4: w = 1, err = (200 - 50)/50 = 3.
        let before = after(&[100]);
        assert_eq!(after(&[100, 200]), before - before * (3 * 8_389) / (1 << 20));
        // -100 us: w = 0, a whole delta.
        let before = after(&[200]);
        assert_eq!(after(&[200, 100]), before + 10_000_000);
    }

    #[test]
    fn above_t_high_falls_by_beta_times_the_excess() {
        // 1 - 500/1000 = 1/2; beta/2 = 4,194/2^20 after truncation.
        assert_eq!(after(&[1_000]), 5_000_000_000 - 5_000_000_000 * 4_194 / (1 << 20));
    }

    #[test]
    fn settles_at_the_fixed_point_of_the_patch() {
        // One flow of N on a fluid queue of its share: q* = q' + N delta q' / (beta C), as an RTT
        // t_low (1 + N delta / (beta C)), N = 10 at 10 Gb/s: 50 us * (1 + 10 * 10e6 / (0.008 *
        // 10e9)).
        let (flows, capacity) = (10.0_f64, 10e9_f64);
        let expected_us = 50.0 * (1.0 + flows * 10e6 / (0.008 * capacity));
        let flow = Flow { active_flows: 9, ..flow() };
        let mut control = PatchedTimely::default().start(&flow);
        let (mut queue_us, mut now) = (0.0_f64, Time::ZERO);
        for _ in 0..200_000 {
            // The same for all ten: the queue grows by (sum R - C) / C over a segment's gap.
            let gap = Rate::from_bps(control.rate_bps).time_for(Bytes::from_kb(16));
            now += gap;
            let growth = (flows * control.rate_bps as f64 - capacity) / capacity;
            queue_us = (queue_us + growth * gap.as_us_f64()).max(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let rtt = Span::from_ps((queue_us * 1e6) as u64);
            control.on_ack(&Ack::new(now, now, Bytes::from_kb(16)).with_rtt(rtt));
        }
        assert!((queue_us / expected_us - 1.0).abs() < 0.02, "{queue_us} us, not {expected_us}");
        let share = control.rate_bps as f64 / (capacity / flows);
        assert!((share - 1.0).abs() < 0.01, "{share} of C/N");
    }
}
