//! The proportional-integral controller (Hollot, Misra, Towsley and Gong, "On Designing Improved
//! Controllers for AQM Routers Supporting TCP Flows", 2001).
//!
//! Every interval T the probability moves by how far the queue is from its target, and was one
//! interval ago:
//! ```text
//! p(kT) = a (q(kT) - q_ref) - b (q((k-1)T) - q_ref) + p((k-1)T)
//! ```
//! within 0..1. The gains are per packet. Packets that come are chosen by p, each by itself.

use incast_cc::Time;
use rand_pcg::Pcg64Mcg;

use super::{Response, Sampling, Verdict, happens};
use incast_scenario as scenario;

#[derive(Clone, Debug)]
pub(crate) struct Pi {
    /// Gains per byte.
    a: f64,
    b: f64,
    target: f64,
    response: Response,
    sampling: Sampling,
    /// The queue since the last call.
    queued: u64,
    /// The queue at the last instant.
    before: u64,
    probability: f64,
    random: Pcg64Mcg,
}

impl Pi {
    pub(super) fn new(settings: &scenario::Pi, random: Pcg64Mcg) -> Self {
        let packet = settings.packet.get() as f64;
        Self {
            a: settings.a / packet,
            b: settings.b / packet,
            target: settings.target.get() as f64,
            response: Response { ecn: settings.ecn, drop: settings.drop },
            sampling: Sampling::new(settings.interval),
            queued: 0,
            before: 0,
            probability: 0.0,
            random,
        }
    }

    pub(super) fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        self.catch_up(now);
        let chosen = happens(self.probability, &mut self.random);
        let verdict = if chosen { self.response.to(ect) } else { Verdict::Pass };
        self.queued = if verdict == Verdict::Drop { queued } else { queued + wire };
        verdict
    }

    pub(super) fn on_dequeue(&mut self, now: Time, queued: u64) {
        self.catch_up(now);
        self.queued = queued;
    }

    fn catch_up(&mut self, now: Time) {
        while self.sampling.due(now) {
            if !self.sample() {
                self.sampling.skip(now);
            }
        }
    }

    /// Whether the next sample of the same queue would change anything.
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
    use incast_cc::{Bytes, Span};

    use super::*;
    use crate::network::aqm::tests::{near, random, trajectory, us};

    fn settings() -> scenario::Pi {
        scenario::Pi {
            a: 1.0 / 64.0,
            b: 1.0 / 128.0,
            packet: Bytes::new(1_000),
            target: Bytes::new(10_000),
            interval: Span::from_us(100),
            ..scenario::Pi::default()
        }
    }

    #[test]
    fn probability_follows_the_recurrence() {
        let mut pi = Pi::new(&settings(), random(1));
        // 30 packets, 20 above the target, from 50 us on; at first 10 below it.
        // 100 us: 20/64 + 10/128 = 50/128. Then each: 20/64 - 20/128 = 20/128.
        pi.on_dequeue(us(50), 30_000);
        for (at, expected) in
            [(99, 0.0), (100, 50.0), (199, 50.0), (200, 70.0), (400, 110.0), (500, 128.0)]
        {
            pi.on_dequeue(us(at), 30_000);
            near(pi.probability * 128.0, expected);
        }
        // Empty from 500 us on: -10/64 - 20/128 = -40/128, then each -10/64 + 10/128 = -10/128.
        pi.on_dequeue(us(500), 0);
        pi.on_dequeue(us(800), 0);
        near(pi.probability * 128.0, 128.0 - 40.0 - 2.0 * 10.0);
        pi.on_dequeue(us(60_000_000), 0);
        near(pi.probability, 0.0);
    }

    #[test]
    fn queue_on_target_leaves_the_probability() {
        let mut pi = Pi::new(&settings(), random(1));
        pi.on_dequeue(us(50), 30_000);
        pi.on_dequeue(us(150), 10_000);
        pi.on_dequeue(us(200), 10_000); // 50/128 - 20/128
        near(pi.probability * 128.0, 30.0);
        pi.on_dequeue(us(10_000_050), 10_000);
        near(pi.probability * 128.0, 30.0);
        pi.on_dequeue(us(10_000_099), 20_000);
        near(pi.probability * 128.0, 30.0);
        pi.on_dequeue(us(10_000_100), 20_000); // skipped instants keep the beat: + 10/64
        near(pi.probability * 128.0, 50.0);
    }

    #[test]
    fn a_queue_that_has_just_changed_is_not_at_rest() {
        // 8 packets after none: -2/64 + 10/128 keeps it at 1, then each -2/64 + 2/128 = -2/128.
        let mut pi = Pi { probability: 1.0, ..Pi::new(&settings(), random(1)) };
        pi.on_dequeue(us(50), 8_000);
        pi.on_dequeue(us(300), 8_000);
        near(pi.probability * 128.0, 128.0 - 2.0 * 2.0);
    }

    /// Sampling when the queue changes, and at every instant as well, come to the same.
    #[test]
    fn late_samples_are_those_of_a_timer() {
        let settings = scenario::Pi { interval: Span::from_us(7), ..settings() };
        let (mut lazy, mut eager) = (Pi::new(&settings, random(3)), Pi::new(&settings, random(3)));
        let (mut instant, mut queue, mut between) = (0, 0, 0);
        for (at, queued, _) in trajectory(2_000) {
            while instant + 7 <= at {
                instant += 7;
                eager.on_dequeue(us(instant), queue);
                between += 1;
            }
            lazy.on_dequeue(us(at), queued);
            eager.on_dequeue(us(at), queued);
            queue = queued;
            assert_eq!(lazy.probability.to_bits(), eager.probability.to_bits(), "at {at} us");
        }
        assert!(between > 2_000, "{between} instants");
    }

    #[test]
    fn chosen_are_as_many_as_the_probability_says() {
        // At rest on target with p = 30/128 (above); 10,000 packets: 2,344 with a deviation of 42.
        let mut pi = Pi::new(&settings(), random(5));
        pi.on_dequeue(us(50), 30_000);
        pi.on_dequeue(us(150), 10_000);
        let marks = (0..10_000)
            .filter(|_| {
                pi.on_dequeue(us(250), 10_000);
                pi.on_enqueue(us(250), 9_000, 1_000, true) == Verdict::Mark
            })
            .count();
        assert!(marks.abs_diff(2_344) < 4 * 42, "{marks}");
    }
}
