//! Integral TIMELY: TIMELY, and a set point for the queue.
//!
//! Within its thresholds TIMELY (see [`crate::timely`]) reacts only to the trend of the RTT. It is
//! a PID controller without the integral, and any level of the queue satisfies it. A course on
//! TIMELY asks what the integral would change; no source gives equations. Here each completion,
//! after TIMELY's own update, moves the rate by `ki` times the sum of all errors (RTT - target) /
//! target. The sum rests only where the RTT equals the target, at the value that takes away exactly
//! what TIMELY adds.
//!
//! Integers throughout, as in [`crate::timely`].

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, CongestionControl, Flow, Limits, Loss, Reads, Spurious};
use crate::param::{Configurable, Conflict, Info, Kind, Need, Param, Preset, SetError, Transport};
use crate::parameters;
use crate::parts::DelayGradient;
use crate::parts::integer::ONE_Q20;
use crate::timely::{Timely, TimelyControl};
use crate::units::{Bytes, Fraction, Span};

parameters! {
    /// The parameters that the integral adds to TIMELY's.
    pub struct Integral {
        /// The part of the rate that one completion takes away per unit of the accumulated error,
        /// which counts targets; at 0 this is TIMELY.
        pub ki: Fraction = Fraction::from_ratio(5, 10_000), in "0" to "1", source "this project";
        /// The RTT that the accumulated error is measured from, the set point.
        pub target: Span = Span::from_us(100), in "1ns" to "1s", source "this project";
        /// The accumulated error is kept within plus and minus this many targets (anti-windup).
        pub integral_limit: Fraction = Fraction::from_ratio(128, 1), in "0" to "4095",
            source "this project";
    }
}

/// Integral TIMELY's parameters: TIMELY's, by the same names, and the integral's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntegralTimely {
    /// TIMELY's parameters.
    pub timely: Timely,
    /// The parameters of the integral.
    pub integral: Integral,
}

impl Algorithm for IntegralTimely {
    type Control = IntegralTimelyControl;
    const NAME: &'static str = "integral-timely";

    fn start(&self, flow: &Flow) -> IntegralTimelyControl {
        IntegralTimelyControl {
            timely: self.timely.start(flow),
            sum_q20: 0,
            ki_q20: u64::from(self.integral.ki.bits()).min(ONE_Q20),
            target_ns: self.integral.target.as_ns().max(1),
            limit_q20: i64::from(self.integral.integral_limit.bits()),
        }
    }
}

/// The parameters of both tables, TIMELY's before the integral's.
const PARAMS: [Param; Timely::PARAMS.len() + Integral::PARAM_TABLE.len()] = {
    let own = Timely::PARAMS.len();
    let mut all = [Timely::PARAMS[0]; Timely::PARAMS.len() + Integral::PARAM_TABLE.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < own { Timely::PARAMS[i] } else { Integral::PARAM_TABLE[i - own] };
        i += 1;
    }
    all
};

impl Configurable for IntegralTimely {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate follows gradient and integral of the RTT: TIMELY with a set point",
        kind: Kind::Rate,
        signal: "RTT of each segment",
        needs: Timely::INFO.needs,
        transport: Transport::Message,
        source: "a discussion item of a course on TIMELY; the form is this project's",
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "default",
        source: "this project, over TIMELY's authors-snippet",
        values: &[],
    }];
    const PARAMS: &'static [Param] = &PARAMS;

    fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        match self.integral.set_by_name(name, text) {
            Err(SetError::Unknown) => self.timely.set(name, text),
            done => done,
        }
    }

    fn write(&self, name: &str, out: &mut dyn core::fmt::Write) -> core::fmt::Result {
        if Integral::PARAM_TABLE.iter().any(|param| param.name == name) {
            self.integral.write_by_name(name, out)
        } else {
            self.timely.write(name, out)
        }
    }

    fn burst_varies(&self) -> bool {
        self.timely.burst_varies()
    }

    fn needs(&self) -> &'static [Need] {
        self.timely.needs()
    }

    fn check(&self) -> Result<(), Conflict> {
        self.timely.check()?;
        let (name, target) = ("target", self.integral.target);
        if target < self.timely.t_low {
            return Err(Conflict { name, rule: "must not be below", other: "t_low" });
        }
        if target > self.timely.t_high {
            return Err(Conflict { name, rule: "must not be above", other: "t_high" });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        self.timely.cautions(path, emit);
        let effect = "the accumulated error takes of the rate with every completion";
        path.gain("ki", self.integral.ki, Fraction::from_ratio(1, 10_000), emit);
        path.rtt_below(("target", self.integral.target), (3, Span::from_secs(1)), effect, emit);
    }
}

/// A flow under Integral TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegralTimelyControl {
    timely: TimelyControl,
    /// The accumulated error in targets, times 2^20.
    sum_q20: i64,
    ki_q20: u64,
    target_ns: u64,
    limit_q20: i64,
}

impl IntegralTimelyControl {
    fn accumulate(&mut self, rtt_ns: u64) {
        let long = rtt_ns >= self.target_ns;
        // Anti-windup: the sum does not grow where it cannot move the rate any further.
        let (rate_bps, k) = (self.timely.state.rate_bps(), &self.timely.constants);
        if if long { rate_bps <= k.min_bps } else { rate_bps >= k.line_bps } {
            return;
        }
        // A sample adds at most one target: a single outlier must not dominate the sum.
        let off_ns = rtt_ns.abs_diff(self.target_ns);
        let error_q20 = ((off_ns << Fraction::BITS) / self.target_ns).min(ONE_Q20).cast_signed();
        let sum_q20 = self.sum_q20 + if long { error_q20 } else { -error_q20 };
        self.sum_q20 = sum_q20.clamp(-self.limit_q20, self.limit_q20);
    }

    fn apply(&mut self) {
        let part_q20 = (self.ki_q20 * self.sum_q20.unsigned_abs()) >> Fraction::BITS;
        let part_q20 = part_q20.min(ONE_Q20);
        let (state, k) = (&mut self.timely.state, &self.timely.constants);
        if self.sum_q20 > 0 {
            state.decrease(k, part_q20, ONE_Q20);
        } else {
            let step_bps = (state.rate_bps() * part_q20) >> Fraction::BITS;
            state.increase(k, step_bps, ONE_Q20);
        }
    }
}

impl CongestionControl for IntegralTimelyControl {
    fn reads(&self) -> Reads {
        self.timely.reads()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt_ns) = self.timely.completion(ack) {
            self.accumulate(rtt_ns.min(DelayGradient::MAX_RTT_NS));
            self.apply();
        }
        self.timely.bound(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.timely.on_loss(loss);
    }

    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.timely.on_spurious_loss(spurious);
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.timely.on_mss_change(mss);
    }

    fn limits(&self) -> Limits {
        self.timely.limits()
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.timely.gauges(emit);
        emit("integral_targets", self.sum_q20 as f64 / ONE_Q20 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate, Time};

    const START: u64 = 5_000_000_000;
    const DELTA: u64 = 10_000_000;

    fn flow(active_flows: u32) -> Flow {
        Flow { active_flows, ..Flow::new(Bytes::from_kb(16), Rate::from_gbps(10)) }
    }

    fn ack(now: Time, rtt: Span) -> Ack<'static> {
        Ack::new(now, Time::ZERO, Bytes::from_kb(16)).with_rtt(rtt)
    }

    fn with_ki(ki: Fraction) -> IntegralTimely {
        IntegralTimely {
            integral: Integral { ki, ..Integral::default() },
            ..IntegralTimely::default()
        }
    }

    /// Rate after samples 100 us apart.
    fn after(params: IntegralTimely, rtts_us: &[u64]) -> (u64, i64) {
        let mut control = params.start(&flow(1));
        for (i, &rtt) in rtts_us.iter().enumerate() {
            let now = Time::ZERO + Span::from_us(100 * (i as u64 + 1));
            control.on_ack(&ack(now, Span::from_us(rtt)));
        }
        (control.timely.state.rate_bps(), control.sum_q20)
    }

    #[test]
    fn without_gain_it_is_timely_bit_for_bit() {
        let (mut plain, mut integral) =
            (Timely::default().start(&flow(1)), with_ki(Fraction::ZERO).start(&flow(1)));
        let (mut now, mut draw) = (Time::ZERO, 1_u64);
        let mut seen = [false; 3];
        for _ in 0..20_000 {
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            now += Span::from_ns((draw >> 33) % 60_000);
            // All branches: below 50 us, in the band, above 1 ms; wandering and jumping.
            let rtt_us =
                [30, 60 + (draw >> 40) % 40, 900 + (draw >> 45) % 300][(draw >> 60) as usize % 3];
            seen[(draw >> 60) as usize % 3] = true;
            let ack = ack(now, Span::from_us(rtt_us));
            plain.on_ack(&ack);
            integral.on_ack(&ack);
            assert_eq!(integral.timely, plain);
            assert_eq!(integral.limits(), plain.limits());
        }
        assert_eq!(seen, [true; 3]);
    }

    #[test]
    fn moves_the_rate_by_ki_times_the_accumulated_error() {
        // Level at 150 us, half a target above it: the sums are 1/2 and 1; ki = 1/64.
        let params = with_ki(Fraction::from_ratio(1, 64));
        let first = START + DELTA - (START + DELTA) / 128;
        assert_eq!(after(params, &[150]).0, first);
        let second = first + DELTA;
        let (rate, sum_q20) = after(params, &[150, 150]);
        assert_eq!((rate, sum_q20), (second - ((second * (1 << 14)) >> 20), 1 << 20));
        // At 75 us the sum is -1/4: up by a 256th on top of TIMELY's step.
        let (rate, sum_q20) = after(params, &[75]);
        assert_eq!((rate, sum_q20), (START + DELTA + (START + DELTA) / 256, -(1 << 18)));
    }

    #[test]
    fn one_sample_adds_one_target_at_most_and_the_sum_is_limited() {
        let limited = |rtts_us: &[u64]| {
            let mut params = with_ki(Fraction::ZERO);
            params.integral.integral_limit = Fraction::from_ratio(3, 1);
            after(params, rtts_us).1
        };
        assert_eq!(limited(&[900]), 1 << 20);
        assert_eq!(limited(&[900; 10]), 3 << 20);
        assert_eq!(limited(&[900, 900, 900, 900, 50]), 5 << 19, "comes back at once");
    }

    #[test]
    fn error_that_can_move_the_rate_no_further_is_not_accumulated() {
        // Alone at line rate with an empty queue: no credit for the time when others come.
        let mut control = IntegralTimely::default().start(&flow(0));
        let mut now = Time::ZERO;
        for _ in 0..1_000 {
            now += Span::from_us(20);
            control.on_ack(&ack(now, Span::from_us(10)));
        }
        assert_eq!((control.timely.state.rate_bps(), control.sum_q20), (10_000_000_000, 0));
        control.on_ack(&ack(now, Span::from_us(200)));
        assert!(control.sum_q20 > 0);
    }

    #[test]
    fn target_outside_the_thresholds_is_a_conflict() {
        let mut params = IntegralTimely::default();
        params.set("target", "40us").unwrap();
        assert_eq!(params.check().unwrap_err().other, "t_low");
        params.set("t_low", "10us").unwrap();
        assert_eq!(params.check(), Ok(()));
        params.set("t_high", "30us").unwrap();
        assert_eq!(params.check().unwrap_err().other, "t_high");
    }

    /// Mean and mean deviation from 100 us of the RTT of ten equal flows on a fluid queue of 10
    /// Gb/s, over the second of two seconds.
    fn fluid(params: IntegralTimely) -> (f64, f64) {
        let (flows, capacity) = (10.0_f64, 10e9_f64);
        let mut control = params.start(&flow(9));
        let (mut queue_us, mut now) = (0.0_f64, Time::ZERO);
        let (mut sum, mut deviation, mut samples) = (0.0, 0.0, 0.0);
        while now < Time::ZERO + Span::from_secs(2) {
            let rate_bps = control.timely.state.rate_bps();
            let gap = Rate::from_bps(rate_bps).time_for(Bytes::from_kb(16));
            now += gap;
            let growth = (flows * rate_bps as f64 - capacity) / capacity;
            queue_us = (queue_us + growth * gap.as_us_f64()).max(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            control.on_ack(&ack(now, Span::from_ps((queue_us * 1e6) as u64)));
            if now > Time::ZERO + Span::from_secs(1) {
                sum += queue_us;
                deviation += (queue_us - 100.0).abs();
                samples += 1.0;
            }
        }
        (sum / samples, deviation / samples)
    }

    #[test]
    fn settles_at_the_target_where_timely_goes_to_its_upper_threshold() {
        let (mean_us, deviation_us) = fluid(IntegralTimely::default());
        let (timely_mean_us, timely_deviation_us) = fluid(with_ki(Fraction::ZERO));
        assert!((mean_us - 100.0).abs() < 2.0, "{mean_us} us");
        assert!(deviation_us < 10.0, "{deviation_us} us");
        // Nothing within the band tells TIMELY's fluid queue one level from another.
        assert!(timely_mean_us > 900.0, "{timely_mean_us} us");
        assert!(timely_deviation_us > 10.0 * deviation_us, "{timely_deviation_us} us");
    }
}
