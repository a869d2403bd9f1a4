//! `CoDel` (RFC 8289), after its pseudocode in section 5.
//!
//! When every packet that left during an interval had waited for the target or longer, and more
//! than one packet was queued, the next packet is chosen. From then on, until a packet has waited
//! less, packets are chosen at
//! ```text
//! drop_next <- drop_next + INTERVAL / sqrt(count)                     (control law, section 5.1)
//! ```
//! with `count` the number chosen so far. If this starts again within 16 intervals, it continues
//! from the `count` that it had reached last time.
//!
//! The pseudocode takes packets from the queue until one may pass. Here each packet that would
//! leave is judged by itself, and the caller takes the next one after a drop. A packet that is
//! marked counts like a dropped one.

use incast_cc::{Rate, Span, Time};
use incast_schema::quantity;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Law, Management, Passing, Response, Verdict};

/// The number of intervals within which choosing continues from its last `count`.
const RECENT: u64 = 16;

/// `CoDel`: once packets have waited longer than the target for an interval, it marks or drops one,
/// and then others ever faster until packets wait less.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Codel {
    /// The acceptable standing delay; 5 ms by default.
    #[serde(with = "quantity::Duration")]
    pub target: Span,
    /// The time for which packets may wait longer than the target: about the longest round trip;
    /// 100 ms by default.
    #[serde(with = "quantity::Duration")]
    pub interval: Span,
    /// Marks packets that say that they may be marked, instead of dropping them.
    pub ecn: bool,
    /// Drops packets that may not be marked; if off they pass.
    pub drop: bool,
}

impl Default for Codel {
    fn default() -> Self {
        Self { target: Span::from_ms(5), interval: Span::from_ms(100), ecn: true, drop: true }
    }
}

impl Management for Codel {
    type Law = CodelLaw;

    const SUMMARY: &'static str = "Controlled delay (RFC 8289).";
    const EXAMPLE: &'static str = "kind = 'codel'\ninterval = '100us'\ntarget = '10us'";

    fn response(&self) -> Response {
        Response { ecn: self.ecn, drop: self.drop }
    }

    fn start(&self, _: Rate, _: Pcg64Mcg) -> CodelLaw {
        CodelLaw {
            target: self.target,
            interval: self.interval,
            response: self.response(),
            largest_packet: 0,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            chose: false,
            count: 0,
            last_count: 0,
        }
    }
}

/// The state of `CoDel` at one queue.
#[derive(Clone, Debug)]
pub struct CodelLaw {
    target: Span,
    interval: Span,
    response: Response,
    largest_packet: u64,
    /// The time at which packets will have waited too long for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Whether the last packet was chosen. If the next one has waited too long too, the control law
    /// goes on.
    chose: bool,
    count: u64,
    last_count: u64,
}

impl Law for CodelLaw {
    fn on_dequeue(
        &mut self,
        now: Time,
        queued: u64,
        enqueued_at: Time,
        wire: u64,
        ect: bool,
    ) -> Verdict {
        self.largest_packet = self.largest_packet.max(wire);
        if !self.waited_too_long(now, queued, now.since(enqueued_at)) {
            self.dropping = false;
            return Verdict::Pass;
        }
        if !self.dropping {
            self.start_choosing(now);
            return self.response.to(ect);
        }
        if self.chose {
            self.chose = false;
            self.drop_next = self.control_law(self.drop_next);
        }
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count += 1;
        self.chose = true;
        self.response.to(ect)
    }

    fn passing(&self) -> Passing {
        Passing { at_arrival: u64::MAX, ..Passing::NONE }
    }

    fn sees_waits(&self) -> bool {
        true
    }

    fn on_purge(&mut self, _: Time, queued: u64) {
        if queued == 0 {
            (self.first_above, self.dropping) = (None, false);
        }
    }
}

impl CodelLaw {
    /// Whether a packet has waited too long: `ok_to_drop` of the pseudocode.
    fn waited_too_long(&mut self, now: Time, queued: u64, waited: Span) -> bool {
        if waited < self.target || queued <= self.largest_packet {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + self.interval)
    }

    fn start_choosing(&mut self, now: Time) {
        self.dropping = true;
        self.chose = false;
        let gained = self.count - self.last_count;
        let recent = now.since(self.drop_next) < self.interval * RECENT;
        self.count = if gained > 1 && recent { gained } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }

    fn control_law(&self, from: Time) -> Time {
        let gap = self.interval.as_ps() as f64 / (self.count as f64).sqrt();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "no more than the interval"
        )]
        let gap = gap as u64;
        from + Span::from_ps(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::tests::{RATE, random, us};

    const TARGET: u64 = 50;
    const INTERVAL: u64 = 1_000;

    fn codel() -> CodelLaw {
        let settings = Codel {
            target: Span::from_us(TARGET),
            interval: Span::from_us(INTERVAL),
            ..Codel::default()
        };
        settings.start(RATE, random(1))
    }

    /// The times at which the verdict was not `Pass`, while packets of 1,500 B leave every
    /// microsecond of `times` after waiting for `waited` us.
    fn chosen(codel: &mut CodelLaw, times: std::ops::Range<u64>, waited: u64) -> Vec<u64> {
        let judge = |&at: &u64| {
            codel.on_dequeue(us(at), 15_000, us(at - waited), 1_500, false) != Verdict::Pass
        };
        times.filter(judge).collect()
    }

    #[test]
    fn below_the_target_nothing_is_dropped() {
        assert!(chosen(&mut codel(), 100..1_000_000, TARGET - 1).is_empty());
    }

    #[test]
    fn at_the_target_drops_after_an_interval_by_the_control_law() {
        // The first drop is at 100 + 1,000 us, the next ones follow after 1,000 / sqrt(count), each
        // on the next whole microsecond: 1,100 + 1,000 = 2,100; + 707.1 = 2,807.1; + 577.4 =
        // 3,384.5; + 500 = 3,884.5.
        let times = chosen(&mut codel(), 100..4_000, TARGET);
        assert_eq!(times, [1_100, 2_100, 2_808, 3_385, 3_885]);
    }

    #[test]
    fn one_short_wait_starts_the_interval_again() {
        let mut codel = codel();
        assert!(chosen(&mut codel, 100..900, 70).is_empty());
        assert!(chosen(&mut codel, 900..901, 20).is_empty());
        assert_eq!(chosen(&mut codel, 901..2_000, 70), [1_901]);
    }

    #[test]
    fn one_queued_packet_counts_as_none() {
        let mut codel = codel();
        for at in 1_000..10_000 {
            let verdict = codel.on_dequeue(us(at), 1_500, us(at - 500), 1_500, false);
            assert_eq!(verdict, Verdict::Pass);
        }
    }

    #[test]
    fn several_are_dropped_at_once_when_overdue() {
        let mut codel = codel();
        assert_eq!(chosen(&mut codel, 100..1_200, 70), [1_100]);
        // No packet leaves until 3,000. By then 2,100 and 2,807.1 are due, 3,384.5 is not.
        let verdicts = [(); 3].map(|()| codel.on_dequeue(us(3_000), 15_000, us(100), 1_500, false));
        assert_eq!(verdicts, [Verdict::Drop, Verdict::Drop, Verdict::Pass]);
    }

    #[test]
    fn starts_again_from_the_count_it_had_gained() {
        let mut recent = codel();
        assert_eq!(chosen(&mut recent, 100..4_000, 70).len(), 5);
        let mut late = recent.clone();
        // The count has grown by 5 - 1 = 4, so the gap after the first drop is 1,000 / sqrt(4).
        chosen(&mut recent, 4_000..4_001, 20);
        assert_eq!(chosen(&mut recent, 5_000..6_600, 70), [6_000, 6_500]);
        // The count is forgotten 16 intervals after the next drop was due.
        chosen(&mut late, 4_000..4_001, 20);
        assert_eq!(chosen(&mut late, 20_000..22_100, 70), [21_000, 22_000]);
    }

    #[test]
    fn marks_instead_where_packets_may_be_marked() {
        let mut codel = codel();
        let verdicts: Vec<_> = (100..1_102)
            .map(|at| codel.on_dequeue(us(at), 15_000, us(at - 70), 1_500, true))
            .collect();
        assert_eq!(verdicts[1_000], Verdict::Mark);
        assert_eq!(verdicts.iter().filter(|&&verdict| verdict != Verdict::Pass).count(), 1);
    }
}
