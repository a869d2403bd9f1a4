//! PIE: a proportional-integral controller of the queueing delay (RFC 8033).
//!
//! Every `T_UPDATE` the probability changes (section 4.2) by
//! ```text
//! p = alpha (qdelay - QDELAY_REF) + beta (qdelay - qdelay_old)
//! ```
//! scaled down while the probability is small: by 1/2048 below 0.000001, 1/512 below 0.00001, 1/128
//! below 0.0001, 1/32 below 0.001, 1/8 below 0.01, 1/2 below 0.1; above that it rises by at most
//! 0.02 (section 5.5). The probability decays by the factor 0.98 while there is no delay. Arriving
//! packets are chosen with this probability, independently, except in these cases:
//!
//! * `qdelay_old` is below half the target and the probability below 0.2 (section 4.1);
//! * no more than two packets are queued (section 4.1);
//! * a burst is allowed for (section 4.4): the allowance is `MAX_BURST`, less `T_UPDATE` at each
//!   update. It is `MAX_BURST` again when the probability is zero and both delays are below half
//!   the target.
//!
//! Packets that may be marked are marked up to a certain probability (section 5.1).
//!
//! The delay is that of the last packet that left, or zero if it left the queue empty. This is the
//! variant of section 4.2 with timestamps, so there is no estimate of the departure rate (section
//! 5.2). Derandomisation (section 5.4) and turning PIE on and off (section 5.3) are left out. The
//! probability does not depend on the packet's size.

use incast_cc::{Rate, Span, Time};
use incast_schema::quantity;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Law, Management, Response, Sampling, Verdict, happens};

/// PIE: like `pi`, but it controls the time that packets wait.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pie {
    /// The target wait; 15 ms by default.
    #[serde(with = "quantity::Duration")]
    pub target: Span,
    /// Gain, per second, on how far the wait is above the target.
    #[serde(with = "quantity::Gain")]
    pub a: f64,
    /// Gain, per second, on how much the wait grew since the last interval.
    #[serde(with = "quantity::Gain")]
    pub b: f64,
    /// The time between two changes of the probability; 15 ms by default.
    #[serde(with = "quantity::Duration")]
    pub interval: Span,
    /// The longest burst after a quiet time that is left alone; 150 ms by default.
    #[serde(with = "quantity::Time")]
    pub burst: Span,
    /// Marks packets that say that they may be marked, instead of dropping them.
    pub ecn: bool,
    /// Marks up to this probability; above it such packets are dropped like the others.
    #[serde(with = "quantity::Probability")]
    pub ecn_limit: f64,
    /// Drops packets that may not be marked; if off they pass.
    pub drop: bool,
}

impl Default for Pie {
    fn default() -> Self {
        Self {
            target: Span::from_ms(15),
            a: 0.125,
            b: 1.25,
            interval: Span::from_ms(15),
            burst: Span::from_ms(150),
            ecn: true,
            ecn_limit: 0.1,
            drop: true,
        }
    }
}

impl Management for Pie {
    type Law = PieLaw;

    const SUMMARY: &'static str = "The PI controller on delay that tunes itself (RFC 8033).";
    const EXAMPLE: &'static str =
        "kind = 'pie'\ninterval = '10us'\ntarget = '15us'\nburst = '0us'\na = 1e3\nb = 1e4";

    fn response(&self) -> Response {
        Response { ecn: self.ecn, drop: self.drop }
    }

    fn start(&self, _: Rate, random: Pcg64Mcg) -> PieLaw {
        PieLaw {
            a: self.a,
            b: self.b,
            target: self.target,
            burst: self.burst,
            response: self.response(),
            ecn_limit: self.ecn_limit,
            sampling: Sampling::new(self.interval),
            delay: Span::ZERO,
            delay_before: Span::ZERO,
            burst_left: self.burst,
            probability: 0.0,
            largest_packet: 0,
            random,
        }
    }
}

/// The state of PIE at one queue.
#[derive(Clone, Debug)]
pub struct PieLaw {
    a: f64,
    b: f64,
    target: Span,
    burst: Span,
    response: Response,
    ecn_limit: f64,
    sampling: Sampling,
    /// The wait of the last packet that left.
    delay: Span,
    /// The wait at the last instant.
    delay_before: Span,
    burst_left: Span,
    probability: f64,
    largest_packet: u64,
    random: Pcg64Mcg,
}

impl Law for PieLaw {
    fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        self.catch_up(now);
        self.largest_packet = self.largest_packet.max(wire);
        let calm = self.delay_before < self.target / 2 && self.probability < 0.2;
        if !self.burst_left.is_zero() || calm || queued <= 2 * self.largest_packet {
            return Verdict::Pass;
        }
        if !happens(self.probability, &mut self.random) {
            return Verdict::Pass;
        }
        // Where packets are not dropped, marking goes on above the limit.
        self.response.to(ect && (self.probability < self.ecn_limit || !self.response.drop))
    }

    fn on_dequeue(
        &mut self,
        now: Time,
        queued: u64,
        enqueued_at: Time,
        _: u64,
        _: bool,
    ) -> Verdict {
        self.catch_up(now);
        self.delay = if queued == 0 { Span::ZERO } else { now.since(enqueued_at) };
        Verdict::Pass
    }

    fn sees_waits(&self) -> bool {
        true
    }

    fn on_purge(&mut self, now: Time, queued: u64) {
        self.catch_up(now);
        if queued == 0 {
            self.delay = Span::ZERO;
        }
    }
}

impl PieLaw {
    fn catch_up(&mut self, now: Time) {
        while self.sampling.due(now) {
            if !self.sample() {
                self.sampling.skip(now);
            }
        }
    }

    /// Takes a sample. Returns whether another sample of the same delay would change anything.
    fn sample(&mut self) -> bool {
        let before = (self.probability.to_bits(), self.delay_before, self.burst_left);
        let [delay, old, target] =
            [self.delay, self.delay_before, self.target].map(Span::as_secs_f64);
        let mut moved = self.a * (delay - target) + self.b * (delay - old);
        moved *= scale(self.probability);
        if self.probability >= 0.1 {
            moved = moved.min(0.02);
        }
        let mut probability = self.probability + moved;
        if self.delay.is_zero() && self.delay_before.is_zero() {
            probability *= 0.98;
        }
        self.probability = probability.clamp(0.0, 1.0);
        self.burst_left = self.burst_left.saturating_sub(self.sampling.interval);
        let half = self.target / 2;
        if self.probability <= 0.0 && self.delay < half && self.delay_before < half {
            self.burst_left = self.burst;
        }
        self.delay_before = self.delay;
        before != (self.probability.to_bits(), self.delay_before, self.burst_left)
    }
}

fn scale(probability: f64) -> f64 {
    const SCALES: [(f64, f64); 6] = [
        (0.000_001, 2_048.0),
        (0.000_01, 512.0),
        (0.000_1, 128.0),
        (0.001, 32.0),
        (0.01, 8.0),
        (0.1, 2.0),
    ];
    let found = SCALES.iter().find(|&&(below, _)| probability < below);
    found.map_or(1.0, |&(_, divisor)| 1.0 / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::tests::{RATE, near, random, trajectory, us};

    const MS: u64 = 1_000;

    fn settings() -> Pie {
        Pie { burst: Span::ZERO, ..Pie::default() }
    }

    /// Lets a packet leave that has waited `waited` us, and that leaves others behind.
    fn leave(pie: &mut PieLaw, at: u64, waited: u64) {
        pie.on_dequeue(us(at), 100_000, us(at - waited), 1_500, true);
    }

    #[test]
    fn probability_moves_by_the_formula() {
        let interval = Span::from_ms(100);
        let mut pie = Pie { interval, ..settings() }.start(RATE, random(1));
        // Target 15 ms, delay first 40 ms, then 55 ms, gains 0.125 and 1.25: 0.125 * 0.025 + 1.25 *
        // 0.040 = 0.053125, by 1/2048 since the probability is 0.
        leave(&mut pie, 50 * MS, 40 * MS);
        leave(&mut pie, 100 * MS, 40 * MS);
        let first = 0.053_125 / 2_048.0; // 0.0000259
        near(pie.probability, first);
        leave(&mut pie, 150 * MS, 55 * MS);
        leave(&mut pie, 200 * MS, 55 * MS);
        let second = first + (0.125 * 0.040 + 1.25 * 0.015) / 128.0; // 0.0002115
        near(pie.probability, second);
        leave(&mut pie, 300 * MS, 55 * MS);
        let third = second + 0.125 * 0.040 / 32.0;
        near(pie.probability, third); // 0.0003678
    }

    #[test]
    fn steps_scale_with_the_probability() {
        for (probability, divisor) in [
            (0.0, 2_048.0),
            (0.000_000_9, 2_048.0),
            (0.000_001, 512.0),
            (0.000_009, 512.0),
            (0.000_01, 128.0),
            (0.000_09, 128.0),
            (0.000_1, 32.0),
            (0.000_9, 32.0),
            (0.001, 8.0),
            (0.009, 8.0),
            (0.01, 2.0),
            (0.09, 2.0),
            (0.1, 1.0),
            (1.0, 1.0),
        ] {
            near(scale(probability) * divisor, 1.0);
        }
    }

    #[test]
    fn high_probabilities_rise_by_two_percent_at_most_and_fall_freely() {
        let mut pie = PieLaw { probability: 0.5, ..settings().start(RATE, random(1)) };
        pie.delay = Span::from_ms(215); // 0.125 * 0.2 + 1.25 * 0.215 is far above 0.02
        pie.catch_up(us(15 * MS));
        near(pie.probability, 0.52);
        pie.delay = Span::from_ms(15); // 1.25 * (0.015 - 0.215)
        pie.catch_up(us(30 * MS));
        near(pie.probability, 0.52 - 0.25);
    }

    #[test]
    fn probability_decays_without_delay_and_reaches_zero() {
        let mut pie = PieLaw { probability: 0.5, ..settings().start(RATE, random(1)) };
        pie.catch_up(us(15 * MS));
        near(pie.probability, (0.5 - 0.125 * 0.015) * 0.98);
        pie.catch_up(us(30 * MS));
        near(pie.probability, ((0.5 - 0.125 * 0.015) * 0.98 - 0.125 * 0.015) * 0.98);
        pie.catch_up(us(1_000_000 * MS));
        near(pie.probability, 0.0);
    }

    #[test]
    fn bursts_pass_until_the_allowance_is_used_up() {
        let settings = Pie { burst: Span::from_ms(30), ..settings() };
        let mut pie = settings.start(RATE, random(1));
        pie.catch_up(us(30 * MS)); // quiet: the allowance stays whole
        leave(&mut pie, 40 * MS, 40 * MS);
        pie.probability = 1.0;
        let verdict = |pie: &mut PieLaw, at: u64| pie.on_enqueue(us(at), 100_000, 1_500, false);
        assert_eq!(verdict(&mut pie, 45 * MS), Verdict::Pass); // 15 ms left
        assert_eq!(verdict(&mut pie, 60 * MS - 1), Verdict::Pass);
        assert_eq!(verdict(&mut pie, 60 * MS), Verdict::Drop);
    }

    #[test]
    fn an_allowance_runs_out_while_all_else_is_at_rest() {
        let settings = Pie { burst: Span::from_ms(60), ..settings() };
        let mut pie = settings.start(RATE, random(1));
        (pie.probability, pie.delay, pie.delay_before) = (1.0, pie.burst, pie.burst);
        pie.catch_up(us(46 * MS));
        assert_eq!(pie.burst_left, Span::from_ms(15)); // of 60 ms, after 15, 30 and 45 ms
    }

    #[test]
    fn two_packets_and_calm_queues_are_left_alone() {
        let mut pie = settings().start(RATE, random(1));
        (pie.probability, pie.delay_before) = (1.0, Span::from_ms(15));
        assert_eq!(pie.on_enqueue(us(1), 3_000, 1_500, false), Verdict::Pass);
        assert_eq!(pie.on_enqueue(us(1), 3_001, 1_500, false), Verdict::Drop);
        pie.delay_before = Span::from_ms(7);
        assert_eq!(pie.on_enqueue(us(1), 9_000, 1_500, false), Verdict::Drop, "p is not below 0.2");
        pie.probability = 0.199;
        let verdicts = (0..1_000).map(|_| pie.on_enqueue(us(1), 9_000, 1_500, false));
        assert!(verdicts.into_iter().all(|verdict| verdict == Verdict::Pass));
    }

    #[test]
    fn marks_up_to_the_limit_and_drops_above() {
        let first = |probability, drop| {
            let mut pie = Pie { drop, ..settings() }.start(RATE, random(1));
            (pie.probability, pie.delay_before) = (probability, Span::from_ms(15));
            let mut verdicts = (0..1_000).map(|_| pie.on_enqueue(us(1), 9_000, 1_500, true));
            verdicts.find(|&verdict| verdict != Verdict::Pass)
        };
        assert_eq!(first(0.099, true), Some(Verdict::Mark));
        assert_eq!(first(0.1, true), Some(Verdict::Drop));
        assert_eq!(first(0.1, false), Some(Verdict::Mark));
    }

    #[test]
    fn late_samples_are_those_of_a_timer() {
        let settings = Pie { interval: Span::from_us(7), target: Span::from_us(10), ..settings() };
        let settings = Pie { burst: Span::from_us(50), a: 125.0, b: 1_250.0, ..settings };
        let (mut lazy, mut eager) =
            (settings.start(RATE, random(3)), settings.start(RATE, random(3)));
        let (mut instant, mut between, mut moving) = (0, 0, 0);
        for (at, queued, waited) in trajectory(2_000) {
            while instant + 7 <= at {
                instant += 7;
                eager.catch_up(us(instant)); // a call that does not change the queue
                between += 1;
            }
            let enqueued_at = us(at.saturating_sub(waited));
            lazy.on_dequeue(us(at), queued, enqueued_at, 1_500, true);
            eager.on_dequeue(us(at), queued, enqueued_at, 1_500, true);
            let state =
                |pie: &PieLaw| (pie.probability.to_bits(), pie.delay_before, pie.burst_left);
            assert_eq!(state(&lazy), state(&eager), "at {at} us");
            moving += u32::from(lazy.probability > 0.0);
        }
        assert!(between > 2_000 && moving > 1_000, "{between} instants, {moving} in motion");
    }
}
