//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", 1993).
//!
//! The average of the queue moves with each packet that comes,
//! ```text
//! avg <- (1 - w) avg + w q                                              (section 4)
//! ```
//! after `m = idle time / s` small packets that could have been sent while the link was idle,
//! ```text
//! avg <- (1 - w)^m avg                                                  (section 11)
//! ```
//! The probability is that of
//! ```text
//! p_b = max_p (avg - min) / (max - min)            min < avg <= max     (section 4)
//! p_b = max_p + (1 - max_p) (avg - max) / max      max < avg <= 2 max   (gentle; Floyd 2000)
//! p_b = 0 below and 1 above
//! p_a = p_b / (1 - count p_b)                                           (section 7)
//! ```
//! with `count` the packets that went by since the last that was chosen; the space between two of them
//! is then uniform from 1 to `1 / p_b` instead of geometric.
//!
//! Differences from the paper: a packet counts itself to `q`, as for the switch's other thresholds; the
//! packet that ends an idle time is a sample too, as in ns-2 and ns-3, so that `w = 1` is the queue
//! itself; `count` is what section 7 reckons with, while the listing of section 4 is ahead of it by one
//! after each mark. `p_b` is not weighted by the packet's size. With `w = 1` packets are chosen
//! independently of each other, by `p_b`, as switches do that mark for DCQCN.

use incast_cc::{Bytes, Rate, Span, Time};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::{Response, Verdict, happens};
use crate::scenario;

#[derive(Clone, Debug)]
pub(crate) struct Red {
    min: f64,
    max: f64,
    max_probability: f64,
    gentle: bool,
    weight: f64,
    small_packet: Bytes,
    response: Response,
    rate: Rate,
    /// Average of the queue in bytes.
    average: f64,
    /// Since when the link has been idle; may lie ahead while the last packet is sent.
    idle_since: Option<Time>,
    /// Packets since the last that was chosen.
    count: u64,
    random: Pcg64Mcg,
}

impl Red {
    pub(super) fn new(settings: &scenario::Red, rate: Rate, seed: u64) -> Self {
        let scenario::Red { max_probability, gentle, weight, small_packet, .. } = *settings;
        Self {
            min: settings.min.get() as f64,
            max: settings.max.get() as f64,
            max_probability,
            gentle,
            weight,
            small_packet,
            response: Response { ecn: settings.ecn, drop: settings.drop },
            rate,
            average: 0.0,
            idle_since: None,
            count: 0,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    pub(super) fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        self.sample(now, queued + wire);
        let probability = self.probability();
        let chosen = if self.weight < 1.0 {
            happens(spaced(probability, self.count), &mut self.random)
        } else {
            happens(probability, &mut self.random)
        };
        // Below `min` no packets are counted: the next to be chosen is not overdue after a lull.
        self.count = if chosen || probability <= 0.0 { 0 } else { self.count + 1 };
        if chosen { self.response.to(ect) } else { Verdict::Pass }
    }

    pub(super) fn on_dequeue(&mut self, now: Time, queued: u64, wire: u64) -> Verdict {
        if queued == 0 {
            // The packet itself keeps the link busy.
            self.idle_since = Some(now + self.rate.time_for(Bytes::new(wire)));
        }
        Verdict::Pass
    }

    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn sample(&mut self, now: Time, queue: u64) {
        if let Some(since) = self.idle_since.take() {
            let idle = now.since(since);
            if idle > Span::ZERO && self.average > 0.0 {
                let packet = self.rate.time_for(self.small_packet);
                let packets = idle.as_ps() as f64 / packet.as_ps() as f64;
                self.average *= libm::pow(1.0 - self.weight, packets);
            }
        }
        self.average += self.weight * (queue as f64 - self.average);
    }

    /// `p_b`.
    fn probability(&self) -> f64 {
        let Self { average, min, max, max_probability, gentle, .. } = *self;
        if average <= min {
            0.0
        } else if average <= max {
            max_probability * (average - min) / (max - min)
        } else if gentle && average <= 2.0 * max {
            max_probability + (1.0 - max_probability) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// `p_a`.
fn spaced(probability: f64, count: u64) -> f64 {
    let rest = 1.0 - count as f64 * probability;
    if rest > probability { probability / rest } else { 1.0 }
}
