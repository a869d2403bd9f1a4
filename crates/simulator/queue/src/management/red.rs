//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", 1993).
//!
//! The average of the queue changes with each packet that comes,
//! ```text
//! avg <- (1 - w) avg + w q                                              (section 4)
//! ```
//! and, after `m = idle time / s` small packets that could have been sent while the link was idle,
//! ```text
//! avg <- (1 - w)^m avg                                                  (section 11)
//! ```
//! The probability of a packet to be chosen is
//! ```text
//! p_b = max_p (avg - min) / (max - min)            min < avg <= max     (section 4)
//! p_b = max_p + (1 - max_p) (avg - max) / max      max < avg <= 2 max   (gentle; Floyd 2000)
//! p_b = 0 below and 1 above
//! p_a = p_b / (1 - count p_b)                                           (section 7)
//! ```
//! with `count` the number of packets since the last chosen one. The distance between two chosen
//! packets is then uniform from 1 to `1 / p_b` instead of geometric.
//!
//! The paper judges a packet as it comes. Shared-memory switches of datacenters judge it as it
//! leaves, by the queue that is left without it: so do the fluid model of DCQCN (Zhu and others,
//! CoNEXT 2016, section 3) and HPCC's simulator (`SwitchNode::SwitchNotifyDequeue`, which takes the
//! packet off its queue and then asks `SwitchMmu::ShouldSendCN`). A mark then tells of the present
//! queue, not of the one a queueing delay ago. With `at = "departure"` this is done here. Such a RED
//! drops nothing: a switch that has sent a packet through its buffer has no reason to drop it.
//!
//! Differences from the paper:
//!
//! * A packet counts itself to `q` as it comes, as for the switch's other thresholds.
//! * The packet that ends an idle time is a sample too, as in ns-2 and ns-3, so that `w = 1` is the
//!   queue itself.
//! * `count` is as in section 7; the listing of section 4 is ahead by one after each mark.
//! * `p_b` is not weighted by the packet's size.
//! * With `w = 1` packets are chosen independently of each other, by `p_b`, as in switches that
//!   mark for DCQCN.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_schema::quantity;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Law, Management, Moment, Passing, Response, Verdict, Wrong, happens};

/// Random early detection: the probability grows with the average queue. A packet that comes counts
/// itself to the queue, as it does for `ecn_threshold`. DCQCN's marking is `gentle = false`,
/// `weight = 1`, `drop = false` and `at = "departure"`, with Kmin, Kmax and Pmax as `min`, `max` and
/// `max_probability`. With `min` equal to `max` this is the same as `ecn_threshold`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Up to this average no packet is marked or dropped.
    #[serde(with = "quantity::Size")]
    pub min: Bytes,
    /// Above this average every packet is marked or dropped, or with `gentle` a growing share of
    /// packets, up to all at twice this average.
    #[serde(with = "quantity::Size")]
    pub max: Bytes,
    /// The rate of the links that `min` and `max` are for; at links of another rate both are larger
    /// or smaller in proportion. By default they are for links of all rates.
    #[serde(default, with = "quantity::OptionalRate")]
    pub rate: Option<Rate>,
    /// The probability at `max`; 0.02 by default.
    #[serde(default = "default_max_probability", with = "quantity::Probability")]
    pub max_probability: f64,
    /// Lets the probability grow on above `max`, to 1 at twice `max`; on by default.
    #[serde(default = "super::yes")]
    pub gentle: bool,
    /// Weight of each sample in the average; 0.002 by default. With 1 the average is the current
    /// queue, and each packet is judged by itself; otherwise marks or drops are spaced evenly.
    #[serde(default = "default_weight", with = "quantity::Probability")]
    pub weight: f64,
    /// While the link is idle the average decays as if packets of this size went by; 500 B by
    /// default.
    #[serde(default = "super::default_packet", with = "quantity::Packet")]
    pub small_packet: Bytes,
    /// Marks packets that say that they may be marked, instead of dropping them; on by default.
    #[serde(default = "super::yes")]
    pub ecn: bool,
    /// Drops packets that may not be marked; on by default. If off they pass.
    #[serde(default = "super::yes")]
    pub drop: bool,
    /// The moment at which packets are judged: as they come, which is the default, or as they leave,
    /// by the queue that they leave behind. At departure nothing is dropped, so `drop` must be off.
    #[serde(default)]
    pub at: Moment,
}

const fn default_max_probability() -> f64 {
    0.02
}

const fn default_weight() -> f64 {
    0.002
}

impl Management for Red {
    type Law = RedLaw;

    const SUMMARY: &'static str =
        "Random early detection (Floyd and Jacobson 1993), and the marking of DCTCP and DCQCN.";
    const EXAMPLE: &'static str = "kind = 'red'\nmin = '10KB'\nmax = '40KB'\nmax_probability = 0.5";

    fn response(&self) -> Response {
        Response { ecn: self.ecn, drop: self.drop }
    }

    fn check(&self) -> Result<(), Wrong> {
        let Self { min, max, .. } = self;
        if min > max {
            return Err(("min", format!("min = {min} is above max = {max}; make it smaller")));
        }
        if self.at == Moment::Departure && self.drop {
            let message = "at = \"departure\" only marks, since what leaves is not dropped; set \
                           drop = false, or at = \"arrival\"";
            return Err(("at", message.into()));
        }
        Ok(())
    }

    fn start(&self, rate: Rate, random: Pcg64Mcg) -> RedLaw {
        let Self { max_probability, gentle, weight, small_packet, .. } = *self;
        let [min, max] = self.thresholds(rate);
        RedLaw {
            set: self.rate.is_some().then(|| Box::new(self.clone())),
            min,
            max,
            max_probability,
            gentle,
            weight,
            small_packet,
            response: self.response(),
            at: self.at,
            rate,
            average: 0.0,
            idle_since: Time::ZERO,
            count: 0,
            random,
        }
    }
}

impl Red {
    /// The thresholds onto a link of `rate`, in bytes.
    fn thresholds(&self, rate: Rate) -> [f64; 2] {
        let own = self.rate.unwrap_or(rate);
        let scale = rate.as_bps() as f64 / own.as_bps() as f64;
        [self.min, self.max].map(|bytes| bytes.get() as f64 * scale)
    }
}

/// The state of random early detection at one queue.
#[derive(Clone, Debug)]
pub struct RedLaw {
    /// The settings, if the thresholds follow the rate of the link.
    set: Option<Box<Red>>,
    min: f64,
    max: f64,
    max_probability: f64,
    gentle: bool,
    weight: f64,
    small_packet: Bytes,
    response: Response,
    at: Moment,
    rate: Rate,
    /// The average of the queue in bytes.
    average: f64,
    /// The time since which the link has been idle, while the queue is empty. It lies ahead while
    /// the last packet is sent.
    idle_since: Time,
    /// Packets since the last chosen one.
    count: u64,
    random: Pcg64Mcg,
}

impl Law for RedLaw {
    fn on_enqueue(&mut self, now: Time, queued: u64, wire: u64, ect: bool) -> Verdict {
        if queued == 0 {
            self.age(now.since(self.idle_since));
            self.idle_since = self.idle_since.max(now); // if it is dropped, the queue stays empty
        }
        if self.at == Moment::Arrival { self.judge(queued + wire, ect) } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, now: Time, queued: u64, _: Time, wire: u64, ect: bool) -> Verdict {
        if queued == 0 {
            // The packet itself keeps the link busy.
            self.idle_since = now + self.rate.time_for(Bytes::new(wire));
        }
        if self.at == Moment::Departure { self.judge(queued, ect) } else { Verdict::Pass }
    }

    /// With a weight of 1 the law remembers nothing but its random numbers, of which each packet
    /// takes one, and up to `min` no packet is chosen.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn passing(&self) -> Passing {
        if self.weight < 1.0 {
            return Passing::NONE;
        }
        let (never, below) = (u64::MAX, (self.min as u64).saturating_add(1));
        match self.at {
            Moment::Arrival => Passing { at_arrival: below, at_departure: never },
            Moment::Departure => Passing { at_arrival: never, at_departure: below },
        }
    }

    fn on_passed(&mut self, packets: u64) {
        self.random.advance(packets.into());
    }

    fn on_purge(&mut self, now: Time, queued: u64) {
        if queued == 0 {
            self.idle_since = self.idle_since.max(now);
        }
    }

    fn set_rate(&mut self, _: Time, rate: Rate) {
        self.rate = rate;
        if let Some(set) = &self.set {
            [self.min, self.max] = set.thresholds(rate);
        }
    }
}

impl RedLaw {
    /// Takes a sample of the queue, and judges a packet by the average.
    fn judge(&mut self, queue: u64, ect: bool) -> Verdict {
        self.average += self.weight * (queue as f64 - self.average);
        let probability = self.probability();
        let chosen = if self.weight < 1.0 {
            happens(spaced(probability, self.count), &mut self.random)
        } else {
            happens(probability, &mut self.random)
        };
        // Packets below `min` are not counted, so that a chosen packet is not overdue after a lull.
        self.count = if chosen || probability <= 0.0 { 0 } else { self.count + 1 };
        if chosen { self.response.to(ect) } else { Verdict::Pass }
    }

    fn age(&mut self, idle: Span) {
        // Mostly there is nothing to do, and powers are slow.
        if !idle.is_zero() && self.average > 0.0 {
            let packet = self.rate.time_for(self.small_packet);
            let packets = idle.as_ps() as f64 / packet.as_ps() as f64;
            self.average *= libm::pow(1.0 - self.weight, packets);
        }
    }

    /// The probability before spacing: `p_b`.
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

/// The probability after spacing: `p_a`.
fn spaced(probability: f64, count: u64) -> f64 {
    let rest = 1.0 - count as f64 * probability;
    if rest > probability { probability / rest } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::tests::{RATE, near, random, us};
    use Verdict::{Drop, Mark, Pass};

    fn settings() -> Red {
        Red {
            min: Bytes::new(10_000),
            max: Bytes::new(30_000),
            rate: None,
            max_probability: 0.1,
            gentle: true,
            weight: 0.25,
            small_packet: Bytes::new(500),
            ecn: true,
            drop: true,
            at: Moment::Arrival,
        }
    }

    fn red(settings: &Red) -> RedLaw {
        settings.start(RATE, random(1))
    }

    /// Lets a packet of `wire` bytes leave, with `queued` bytes left.
    fn leave(red: &mut RedLaw, now: Time, queued: u64, wire: u64) {
        assert_eq!(red.on_dequeue(now, queued, now, wire, true), Pass);
    }

    /// DCQCN's marking: Kmin 10 KB, Kmax 30 KB, Pmax 0.1.
    fn dcqcn() -> Red {
        Red { gentle: false, weight: 1.0, ..settings() }
    }

    #[test]
    fn probability_grows_linearly_and_then_gently() {
        let gentle = red(&settings());
        let abrupt = red(&dcqcn());
        for (average, expected, without) in [
            (0.0, 0.0, 0.0),
            (10_000.0, 0.0, 0.0),
            (15_000.0, 0.025, 0.025), // a quarter of the way, a quarter of 0.1
            (20_000.0, 0.05, 0.05),
            (30_000.0, 0.1, 0.1),
            (40_000.0, 0.4, 1.0), // 0.1 + 0.9 / 3
            (45_000.0, 0.55, 1.0),
            (60_000.0, 1.0, 1.0),
            (90_000.0, 1.0, 1.0),
        ] {
            near(RedLaw { average, ..gentle.clone() }.probability(), expected);
            near(RedLaw { average, ..abrupt.clone() }.probability(), without);
        }
    }

    #[test]
    fn thresholds_follow_the_rate_of_the_link() {
        let set = Red { rate: Some(RATE), ..settings() };
        let check = |law: &RedLaw, [min, max]: [f64; 2]| {
            near(law.min, min);
            near(law.max, max);
        };
        let mut law = set.start(RATE, random(1));
        check(&law, [10_000.0, 30_000.0]);
        law.set_rate(us(0), Rate::from_bps(RATE.as_bps() * 4));
        check(&law, [40_000.0, 120_000.0]);
        let slow = Rate::from_bps(RATE.as_bps() / 10);
        check(&set.start(slow, random(1)), [1_000.0, 3_000.0]);
        check(&settings().start(slow, random(1)), [10_000.0, 30_000.0]);
    }

    #[test]
    fn average_moves_by_its_weight() {
        let mut red = red(&settings());
        for expected in [2_000.0, 3_500.0, 4_625.0] {
            red.on_enqueue(us(0), 7_000, 1_000, true); // a quarter of the way to 8,000
            near(red.average, expected);
        }
    }

    #[test]
    fn average_decays_while_the_link_idles() {
        let mut red = RedLaw { average: 6_400.0, ..red(&settings()) };
        // 1,250 B take 10 us, so the link is idle from 110 us on. A packet of 500 B takes 4 us:
        // three fit until 122 us, 6,400 * 0.75^3 = 2,700. The packet that comes then counts 1,500:
        // + 0.25 * -1,200.
        leave(&mut red, us(100), 0, 1_250);
        let mut early = red.clone();
        red.on_enqueue(us(122), 0, 1_500, true);
        near(red.average, 2_400.0);
        // A packet that comes while the last one is sent finds an empty queue, but the link was not
        // idle.
        early.on_enqueue(us(109), 0, 1_500, true);
        near(early.average, 6_400.0 + 0.25 * (1_500.0 - 6_400.0));
        // Half a packet's time is half a step.
        early.average = 6_400.0;
        leave(&mut early, us(110), 0, 1_250);
        early.on_enqueue(us(122), 0, 0, true);
        near(early.average, 6_400.0 * 0.75_f64.sqrt() * 0.75);
    }

    #[test]
    fn idle_time_counts_once_if_the_packet_that_ends_it_is_dropped() {
        let settings = Red { gentle: false, ..settings() };
        let mut red = RedLaw { average: 90_000.0, ..red(&settings) };
        leave(&mut red, us(0), 0, 0);
        assert_eq!(red.on_enqueue(us(4), 0, 1_000, false), Drop);
        near(red.average, 67_500.0 * 0.75 + 250.0); // above 30,000: dropped
        let before = red.average;
        red.on_enqueue(us(4), 0, 1_000, false);
        near(red.average, before * 0.75 + 250.0);
    }

    #[test]
    fn a_step_marks_exactly_what_exceeds_it() {
        let threshold = Bytes::new(30_000);
        let mut red = red(&Red { min: threshold, max: threshold, ..dcqcn() });
        for (queued, expected) in
            [(0, Pass), (29_000, Pass), (29_001, Mark), (60_000, Mark), (28_999, Pass), (0, Pass)]
        {
            assert_eq!(red.on_enqueue(us(0), queued, 1_000, true), expected, "{queued} B");
        }
        // A weight of 1 has no memory, although the link was not idle.
        leave(&mut red, us(1), 0, 1_000);
        assert_eq!(red.on_enqueue(us(1), 0, 1_000, true), Pass);
    }

    #[test]
    fn dcqcn_marks_by_the_queue_and_all_above_the_maximum() {
        // 20 KB: half of 0.1. Of 40,000 packets 2,000, with a deviation of 44.
        let mut red = red(&dcqcn());
        let marks = |red: &mut RedLaw, queued| {
            (0..40_000).filter(|_| red.on_enqueue(us(0), queued, 1_000, true) == Mark).count()
        };
        assert!(marks(&mut red, 19_000).abs_diff(2_000) < 4 * 44);
        assert_eq!(marks(&mut red, 9_000), 0);
        assert_eq!(marks(&mut red, 29_001), 40_000);
    }

    #[test]
    fn spaces_between_marks_are_uniform() {
        // An average of 30,000 is a probability of 1/10: spaces of 1..10 packets, all equally
        // likely.
        let mut red = RedLaw { average: 30_000.0, ..red(&settings()) };
        let (mut spaces, mut since) = ([0_u32; 11], 0);
        for _ in 0..110_000 {
            since += 1;
            if red.on_enqueue(us(0), 29_000, 1_000, true) == Mark {
                spaces[since] += 1;
                since = 0;
            }
        }
        // The mean space is 5.5: 20,000 spaces, 2,000 of each with a deviation of 42.
        assert_eq!(spaces[0], 0);
        for (space, &count) in spaces.iter().enumerate().skip(1) {
            assert!(count.abs_diff(2_000) < 4 * 42 + 20, "{count} of {space} packets");
        }
    }

    #[test]
    fn packets_below_the_minimum_do_not_count() {
        let mut red = red(&settings());
        (0..1_000).for_each(|_| _ = red.on_enqueue(us(0), 5_000, 1_000, true));
        assert_eq!(red.count, 0);
        let mut busy = RedLaw { average: 10_001.0, ..red };
        assert_eq!(busy.on_enqueue(us(0), 9_002, 1_000, true), Pass); // p = 0.1 * 1.25 / 20,000
        assert_eq!(busy.count, 1);
    }

    #[test]
    fn spacing_raises_the_probability_with_the_count() {
        for (count, expected) in [(0, 0.1), (1, 1.0 / 9.0), (5, 0.2), (8, 0.5), (9, 1.0), (50, 1.0)]
        {
            near(spaced(0.1, count), expected);
        }
    }

    /// The law at departure.
    fn departing(settings: &Red) -> RedLaw {
        let settings = Red { drop: false, at: Moment::Departure, ..settings.clone() };
        assert_eq!(settings.check(), Ok(()));
        settings.start(RATE, random(1))
    }

    #[test]
    fn at_departure_a_step_marks_by_what_is_left() {
        let threshold = Bytes::new(30_000);
        let mut red = departing(&Red { min: threshold, max: threshold, ..dcqcn() });
        for (left, expected) in
            [(0, Pass), (30_000, Pass), (30_001, Mark), (60_000, Mark), (29_999, Pass), (0, Pass)]
        {
            // The queue that a packet finds is of no account, and neither is the packet itself.
            assert_eq!(red.on_enqueue(us(0), 90_000, 1_000, true), Pass);
            assert_eq!(red.on_dequeue(us(9), left, us(0), 1_000, true), expected, "{left} B");
            assert_eq!(red.on_dequeue(us(9), left, us(0), 1_000, false), Pass, "{left} B");
        }
    }

    #[test]
    fn at_departure_the_average_moves_as_packets_leave() {
        let mut red = departing(&settings());
        for expected in [2_000.0, 3_500.0, 4_625.0] {
            red.on_enqueue(us(0), 50_000, 1_000, true);
            red.on_dequeue(us(0), 8_000, us(0), 1_000, true); // a quarter of the way to 8,000
            near(red.average, expected);
        }
        // The last of 1,250 B keeps the link busy until 110 us. The average falls by its own sample,
        // then by three small packets of 4 us, then by the packet that comes to the idle link and
        // leaves nothing behind.
        red.on_dequeue(us(100), 0, us(0), 1_250, true);
        near(red.average, 4_625.0 * 0.75);
        red.on_enqueue(us(122), 0, 1_500, true);
        near(red.average, 4_625.0 * 0.75_f64.powi(4));
        red.on_dequeue(us(122), 0, us(122), 1_500, true);
        near(red.average, 4_625.0 * 0.75_f64.powi(5));
    }

    #[test]
    fn at_departure_dcqcn_marks_by_what_is_left() {
        // 20 KB left: half of 0.1. Of 40,000 packets 2,000, with a deviation of 44.
        let mut red = departing(&dcqcn());
        let marks = |red: &mut RedLaw, left| {
            let leave = |_: &i32| red.on_dequeue(us(0), left, us(0), 1_000, true) == Mark;
            (0..40_000).filter(leave).count()
        };
        assert!(marks(&mut red, 20_000).abs_diff(2_000) < 4 * 44);
        assert_eq!(marks(&mut red, 10_000), 0);
        assert_eq!(marks(&mut red, 30_001), 40_000);
    }

    #[test]
    fn at_departure_nothing_is_dropped() {
        let dropping = Red { at: Moment::Departure, ..settings() };
        let (field, message) = dropping.check().unwrap_err();
        assert_eq!(field, "at");
        assert!(message.contains("set drop = false"), "{message}");
    }

    #[test]
    fn packets_are_marked_or_dropped_or_pass_as_set() {
        let verdicts = |ecn, drop| {
            let mut red = red(&Red { ecn, drop, ..dcqcn() });
            [true, false].map(|ect| red.on_enqueue(us(0), 50_000, 1_000, ect))
        };
        assert_eq!(verdicts(true, true), [Mark, Drop]);
        assert_eq!(verdicts(true, false), [Mark, Pass]);
        assert_eq!(verdicts(false, true), [Drop, Drop]);
    }
}
