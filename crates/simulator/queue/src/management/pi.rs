//! The proportional-integral controller (Hollot, Misra, Towsley and Gong, "On Designing Improved
//! Controllers for AQM Routers Supporting TCP Flows", 2001).
//!
//! Every interval T the probability changes with the distance of the queue from its target, now and
//! one interval ago:
//! ```text
//! p(kT) = a (q(kT) - q_ref) - b (q((k-1)T) - q_ref) + p((k-1)T)
//! ```
//! within 0..1. The gains are per packet. Arriving packets are chosen with probability p,
//! independently.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_schema::quantity;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Law, Management, Response, Sampling, Verdict, Wrong, default_packet, happens};

/// The proportional-integral controller: at regular instants it changes the probability so that the
/// queue approaches the target.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pi {
    /// Gain, per packet, on how far the queue is above the target now. The default is the paper's,
    /// for 15 Mb/s.
    #[serde(with = "quantity::Gain")]
    pub a: f64,
    /// Gain, per packet, on how far the queue was above the target one interval ago; below `a`.
    #[serde(with = "quantity::Gain")]
    pub b: f64,
    /// The size of the packet that the gains are for; 500 B by default.
    #[serde(with = "quantity::Packet")]
    pub packet: Bytes,
    /// The target length of the queue; by default 100 KB, which are 200 such packets.
    #[serde(with = "quantity::Size")]
    pub target: Bytes,
    /// The time between two changes of the probability; 6.25 ms by default (160 Hz).
    #[serde(with = "quantity::Duration")]
    pub interval: Span,
    /// Marks packets that say that they may be marked, instead of dropping them.
    pub ecn: bool,
    /// Drops packets that may not be marked; if off they pass.
    pub drop: bool,
}

impl Default for Pi {
    fn default() -> Self {
        Self {
            a: 1.822e-5,
            b: 1.816e-5,
            packet: default_packet(),
            target: Bytes::from_kb(100),
            interval: Span::from_us(6_250),
            ecn: true,
            drop: true,
        }
    }
}

impl Management for Pi {
    type Law = PiLaw;

    const SUMMARY: &'static str =
        "The proportional-integral controller (Hollot, Misra, Towsley and Gong 2001).";
    const EXAMPLE: &'static str =
        "kind = 'pi'\ninterval = '10us'\na = 0.02\nb = 0.01\ntarget = '20KB'";

    fn response(&self) -> Response {
        Response { ecn: self.ecn, drop: self.drop }
    }

    fn check(&self) -> Result<(), Wrong> {
        let Self { a, b, .. } = self;
        if a <= b {
            let message = format!(
                "with a = {a} not above b = {b} the queue comes to rest anywhere; make b smaller"
            );
            return Err(("b", message));
        }
        Ok(())
    }

    fn start(&self, _: Rate, random: Pcg64Mcg) -> PiLaw {
        let packet = self.packet.get() as f64;
        PiLaw {
            a: self.a / packet,
            b: self.b / packet,
            target: self.target.get() as f64,
            response: self.response(),
            sampling: Sampling::new(self.interval),
            queued: 0,
            before: 0,
            probability: 0.0,
            random,
        }
    }
}

/// The state of the proportional-integral controller at one queue.
#[derive(Clone, Debug)]
pub struct PiLaw {
    /// Gains per byte.
    a: f64,
    b: f64,
    target: f64,
    response: Response,
    sampling: Sampling,
    /// The length of the queue since the last call.
    queued: u64,
    /// The length of the queue at the last instant.
    before: u64,
    probability: f64,
    random: Pcg64Mcg,
}

impl Law for PiLaw {
    fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        self.catch_up(now);
        let chosen = happens(self.probability, &mut self.random);
        let verdict = if chosen { self.response.to(ect) } else { Verdict::Pass };
        self.queued = if verdict == Verdict::Drop { queued } else { queued + wire };
        verdict
    }

    fn on_dequeue(&mut self, now: Time, queued: u64, _: Time, _: u64, _: bool) -> Verdict {
        self.on_purge(now, queued);
        Verdict::Pass
    }

    fn on_purge(&mut self, now: Time, queued: u64) {
        self.catch_up(now);
        self.queued = queued;
    }
}

impl PiLaw {
    fn catch_up(&mut self, now: Time) {
        while self.sampling.due(now) {
            if !self.sample() {
                self.sampling.skip(now);
            }
        }
    }

    /// Takes a sample. Returns whether another sample of the same queue would change anything.
    fn sample(&mut self) -> bool {
        let Self { a, b, target, queued, before, probability, .. } = *self;
        let moved = a * (queued as f64 - target) - b * (before as f64 - target);
        self.probability = (probability + moved).clamp(0.0, 1.0);
        self.before = queued;
        self.probability.to_bits() != probability.to_bits() || queued != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::tests::{RATE, near, random, trajectory, us};

    fn settings() -> Pi {
        Pi {
            a: 1.0 / 64.0,
            b: 1.0 / 128.0,
            packet: Bytes::new(1_000),
            target: Bytes::new(10_000),
            interval: Span::from_us(100),
            ..Pi::default()
        }
    }

    #[test]
    fn probability_follows_the_recurrence() {
        let mut pi = settings().start(RATE, random(1));
        // 30 packets from 50 us on, 20 above the target; before that 10 below it. At 100 us: 20/64
        // + 10/128 = 50/128. Then at each instant: 20/64 - 20/128 = 20/128.
        pi.on_purge(us(50), 30_000);
        for (at, expected) in
            [(99, 0.0), (100, 50.0), (199, 50.0), (200, 70.0), (400, 110.0), (500, 128.0)]
        {
            pi.on_purge(us(at), 30_000);
            near(pi.probability * 128.0, expected);
        }
        // Empty from 500 us on: -10/64 - 20/128 = -40/128, then each time -10/64 + 10/128 =
        // -10/128.
        pi.on_purge(us(500), 0);
        pi.on_purge(us(800), 0);
        near(pi.probability * 128.0, 128.0 - 40.0 - 2.0 * 10.0);
        pi.on_purge(us(60_000_000), 0);
        near(pi.probability, 0.0);
    }

    #[test]
    fn queue_on_target_leaves_the_probability() {
        let mut pi = settings().start(RATE, random(1));
        pi.on_purge(us(50), 30_000);
        pi.on_purge(us(150), 10_000);
        pi.on_purge(us(200), 10_000); // 50/128 - 20/128
        near(pi.probability * 128.0, 30.0);
        pi.on_purge(us(10_000_050), 10_000);
        near(pi.probability * 128.0, 30.0);
        pi.on_purge(us(10_000_099), 20_000);
        near(pi.probability * 128.0, 30.0);
        pi.on_purge(us(10_000_100), 20_000); // skipped instants keep the beat: + 10/64
        near(pi.probability * 128.0, 50.0);
    }

    #[test]
    fn a_queue_that_has_just_changed_is_not_at_rest() {
        // 8 packets after none: -2/64 + 10/128 keeps the probability at 1, then each time -2/64 +
        // 2/128 = -2/128.
        let mut pi = PiLaw { probability: 1.0, ..settings().start(RATE, random(1)) };
        pi.on_purge(us(50), 8_000);
        pi.on_purge(us(300), 8_000);
        near(pi.probability * 128.0, 128.0 - 2.0 * 2.0);
    }

    /// Sampling only when the queue changes gives the same as sampling at every instant.
    #[test]
    fn late_samples_are_those_of_a_timer() {
        let settings = Pi { interval: Span::from_us(7), ..settings() };
        let (mut lazy, mut eager) =
            (settings.start(RATE, random(3)), settings.start(RATE, random(3)));
        let (mut instant, mut queue, mut between) = (0, 0, 0);
        for (at, queued, _) in trajectory(2_000) {
            while instant + 7 <= at {
                instant += 7;
                eager.on_purge(us(instant), queue);
                between += 1;
            }
            lazy.on_purge(us(at), queued);
            eager.on_purge(us(at), queued);
            queue = queued;
            assert_eq!(lazy.probability.to_bits(), eager.probability.to_bits(), "at {at} us");
        }
        assert!(between > 2_000, "{between} instants");
    }

    #[test]
    fn chosen_are_as_many_as_the_probability_says() {
        // At rest on target with p = 30/128 (above). Of 10,000 packets: 2,344 with a deviation of
        // 42.
        let mut pi = settings().start(RATE, random(5));
        pi.on_purge(us(50), 30_000);
        pi.on_purge(us(150), 10_000);
        let marks = (0..10_000)
            .filter(|_| {
                pi.on_purge(us(250), 10_000);
                pi.on_enqueue(us(250), 9_000, 1_000, true) == Verdict::Mark
            })
            .count();
        assert!(marks.abs_diff(2_344) < 4 * 42, "{marks}");
    }
}
