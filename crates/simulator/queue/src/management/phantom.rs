//! A phantom queue (Alizadeh, Kabbani, Edsall, Prabhakar, Vahdat and Yasuda, "Less Is More: Trading
//! a Little Bandwidth for Ultra-Low Latency in the Data Center", 2012; HULL).
//!
//! Packets that leave are counted into a queue that does not exist and that drains at `gamma C`, a
//! little slower than the link's C. A packet is marked if this queue exceeds the threshold. Senders
//! thus keep `1 - gamma` of the link free, and the real queue plays no part:
//! ```text
//! v <- max(0, v - gamma C (t - t'));  mark if v > threshold;  v <- v + size
//! ```
//! A packet does not count itself: the paper's threshold, 1 KB at 1 Gb/s, is less than a packet,
//! and every packet would be marked.

use incast_cc::{Bytes, Rate, Time};
use incast_schema::quantity;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Law, Management, Response, Verdict};

/// A byte in the unit of the queue. A bit per second drains one unit in a picosecond, so nothing is
/// rounded.
const BYTE: u128 = 8_000_000_000_000;

/// A phantom queue: a counter of the bytes that would wait if the link were a little slower. It
/// marks packets that find more than the threshold in it, and drops none.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phantom {
    /// The rate at which the queue drains, as a fraction of the link's rate; 0.95 by default.
    #[serde(with = "quantity::Share")]
    pub drain: f64,
    /// Marks packets that find more than this in the phantom queue; by default 1 KB for each Gb/s
    /// of the link.
    #[serde(with = "quantity::OptionalSize")]
    pub threshold: Option<Bytes>,
}

impl Default for Phantom {
    fn default() -> Self {
        Self { drain: 0.95, threshold: None }
    }
}

impl Management for Phantom {
    type Law = PhantomLaw;

    const SUMMARY: &'static str = "HULL's phantom queue (Alizadeh and others 2012).";
    const EXAMPLE: &'static str = "kind = 'phantom'";

    const WHOLE_PORT: bool = true;

    fn response(&self) -> Response {
        Response { ecn: true, drop: false }
    }

    fn start(&self, rate: Rate, _: Pcg64Mcg) -> PhantomLaw {
        let mut law = PhantomLaw {
            gamma: self.drain,
            set_threshold: self.threshold,
            drain: Rate::ZERO,
            threshold: 0,
            queue: 0,
            last: Time::ZERO,
        };
        law.set_rate(Time::ZERO, rate);
        law
    }
}

/// The phantom queue of one port.
#[derive(Clone, Debug)]
pub struct PhantomLaw {
    gamma: f64,
    set_threshold: Option<Bytes>,
    drain: Rate,
    threshold: u128,
    /// The content of the queue at `last`.
    queue: u128,
    last: Time,
}

impl Law for PhantomLaw {
    fn on_dequeue(&mut self, now: Time, _: u64, _: Time, wire: u64, ect: bool) -> Verdict {
        self.advance(now);
        let marks = ect && self.queue > self.threshold;
        self.queue += u128::from(wire) * BYTE;
        if marks { Verdict::Mark } else { Verdict::Pass }
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.advance(now);
        self.drain = part(self.gamma, rate);
        // 1 KB for each Gb/s is 1 B for each Mb/s.
        let threshold = self.set_threshold.map_or(rate.as_bps() / 1_000_000, Bytes::get);
        self.threshold = u128::from(threshold) * BYTE;
    }
}

impl PhantomLaw {
    fn advance(&mut self, now: Time) {
        let drained = u128::from(self.drain.as_bps()) * u128::from(now.since(self.last).as_ps());
        self.queue = self.queue.saturating_sub(drained);
        self.last = now;
    }
}

fn part(gamma: f64, rate: Rate) -> Rate {
    let bps = (gamma * rate.as_bps() as f64).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of what is a u64"
    )]
    Rate::from_bps(bps as u64)
}

#[cfg(test)]
mod tests {
    use incast_cc::Span;

    use super::*;
    use crate::management::tests::{random, us};
    use Verdict::{Mark, Pass};

    /// The phantom queue of a link of 10 Gb/s, drained at 8 Gb/s: a byte in a nanosecond.
    fn phantom() -> PhantomLaw {
        let settings = Phantom { drain: 0.8, threshold: Some(Bytes::new(3_000)) };
        settings.start(Rate::from_gbps(10), random(1))
    }

    /// Lets a packet of `wire` bytes leave.
    fn leave(phantom: &mut PhantomLaw, now: Time, wire: u64, ect: bool) -> Verdict {
        phantom.on_dequeue(now, 0, now, wire, ect)
    }

    fn ns(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn marks_what_finds_more_than_the_threshold() {
        let mut phantom = phantom();
        // Packets of 1,500 B every 1,200 ns fill the link: each adds 300 B to the queue. The n-th
        // finds 300 n, from n = 0: the tenth finds 3,000, and the eleventh is marked.
        for n in 0..100 {
            let expected = if 300 * n > 3_000 { Mark } else { Pass };
            assert_eq!(leave(&mut phantom, ns(1_200 * n), 1_500, true), expected, "packet {n}");
        }
    }

    #[test]
    fn drains_at_its_part_of_the_rate() {
        let mut phantom = phantom();
        let packets = [(); 3].map(|()| leave(&mut phantom, ns(0), 1_500, true));
        assert_eq!(packets, [Pass, Pass, Pass]);
        // The queue holds 4,500 B; 1,499 ns later 3,001 B, and 4,501 B with this packet.
        assert_eq!(leave(&mut phantom, ns(1_499), 1_500, true), Mark);
        // The queue holds 3,000 B 1,501 ns later.
        assert_eq!(leave(&mut phantom, ns(3_000), 1_500, true), Pass);
    }

    #[test]
    fn at_its_own_rate_it_never_marks() {
        let mut phantom = phantom();
        for n in 0..10_000 {
            assert_eq!(leave(&mut phantom, ns(1_500 * n), 1_500, true), Pass);
        }
    }

    #[test]
    fn never_marks_what_may_not_be() {
        let mut phantom = phantom();
        assert!((0..100).all(|_| leave(&mut phantom, ns(0), 1_500, false) == Pass));
        assert_eq!(leave(&mut phantom, ns(0), 1_500, true), Mark);
    }

    #[test]
    fn threshold_is_a_kilobyte_for_each_gigabit() {
        let mut phantom = Phantom::default().start(Rate::from_gbps(10), random(1));
        let found: Vec<_> = (0..12).map(|_| leave(&mut phantom, us(0), 1_000, true)).collect();
        assert_eq!(found[..11], [Pass; 11]); // the eleventh finds 10,000 B
        assert_eq!(found[11], Mark);
    }

    #[test]
    fn a_new_rate_keeps_what_is_queued() {
        let mut phantom = phantom();
        (0..4).for_each(|_| _ = leave(&mut phantom, ns(0), 1_500, true));
        phantom.set_rate(ns(1_000), Rate::from_gbps(1)); // 5,000 B, a byte in 10 ns from here on
        assert_eq!(leave(&mut phantom.clone(), ns(1_000 + 19_999), 1_500, true), Mark);
        assert_eq!(leave(&mut phantom, ns(1_000 + 20_000), 1_500, true), Pass);
    }
}
