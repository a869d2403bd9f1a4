//! The lateness of sends: the time from a send time of the pacing engine until the send left.

use incast_cc::{Span, Time};

/// The parts of each octave of a histogram: its quantiles are right to 1/32.
const PARTS: usize = 32;
/// The octaves of a histogram, from 32 ns to more than a minute.
const OCTAVES: usize = 32;

/// A histogram of the lateness of sends. A send counts whose time the node has waited for; of
/// several that were due at once the earliest does. The time at which it left is the kernel's stamp;
/// where it gives none, nothing counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    counts: Box<[u64]>,
    count: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; PARTS * OCTAVES].into(), count: 0 }
    }
}

impl Lateness {
    /// The number of sends.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The lateness that a part of the sends, between 0 and 1, does not exceed; [`None`] without
    /// sends. It is the upper end of a bucket.
    pub fn quantile(&self, part: f64) -> Option<Span> {
        let mut left = (self.count as f64 * part).ceil().max(1.0);
        let bucket = self.counts.iter().position(|&count| {
            left -= count as f64;
            left <= 0.0
        })?;
        Some(Span::from_ns(upper_ns(bucket)))
    }

    pub(super) fn add(&mut self, late: Span) {
        let bucket = bucket(late.as_ns()).min(self.counts.len() - 1);
        self.counts[bucket] += 1;
        self.count += 1;
    }
}

/// The bucket of a time: below 32 ns one for each, above 32 to each octave.
fn bucket(ns: u64) -> usize {
    let octave = (ns >> PARTS.ilog2()).checked_ilog2().map_or(0, |octave| octave as usize + 1);
    // Below 64: it has no more than six bits.
    let part = usize::try_from(ns >> octave.saturating_sub(1)).unwrap_or(0);
    if octave == 0 { part } else { octave * PARTS + part - PARTS }
}

/// The longest time in a bucket.
const fn upper_ns(bucket: usize) -> u64 {
    let (octave, part) = (bucket / PARTS, (bucket % PARTS) as u64);
    if octave == 0 { part } else { ((part + PARTS as u64 + 1) << (octave - 1)) - 1 }
}

/// The send time that a node waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// The last look. A send time from before it was not waited for: the data came later.
    looked_at: Time,
    /// The send time that has come, until something is sent.
    due: Option<Time>,
}

impl Awaited {
    /// Looks at the next send time, before the transport does.
    pub(super) fn look(&mut self, now: Time, next: Time) {
        if next <= now && next > self.looked_at {
            self.due.get_or_insert(next);
        }
        self.looked_at = now;
    }

    /// The send time of what is sent now, once.
    pub(super) const fn take(&mut self) -> Option<Time> {
        self.due.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_32nd() {
        assert_eq!(Lateness::default().quantile(0.5), None);
        for ns in [0, 1, 31, 32, 33, 63, 64, 65, 1_000, 52_000, 1_000_000, 3_000_000_000_u64] {
            let mut lateness = Lateness::default();
            lateness.add(Span::from_ns(ns));
            let told = lateness.quantile(0.99).unwrap().as_ns();
            assert!(told >= ns && told <= ns + ns / 32, "{ns} {told}");
        }
        let mut lateness = Lateness::default();
        // 98 sends in time, one late by 10 us, one by 1 ms: the 99th of 100 is that of 10 us.
        (0..98).for_each(|_| lateness.add(Span::ZERO));
        lateness.add(Span::from_us(10));
        lateness.add(Span::from_ms(1));
        assert_eq!(lateness.count(), 100);
        assert_eq!(lateness.quantile(0.5), Some(Span::ZERO));
        // 10,000 ns lie in 9,984 to 10,239: 39 * 256 to 40 * 256 - 1.
        assert_eq!(lateness.quantile(0.99), Some(Span::from_ns(10_239)));
        assert!(lateness.quantile(1.0).unwrap() >= Span::from_ms(1));
    }

    #[test]
    fn the_longest_times_share_the_last_bucket() {
        let mut lateness = Lateness::default();
        lateness.add(Span::from_secs(10_000));
        assert!(lateness.quantile(0.5).unwrap() > Span::from_secs(60));
    }

    #[test]
    fn a_send_time_counts_once_and_only_if_it_was_waited_for() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut awaited = Awaited::default();
        awaited.look(at(10), at(20));
        assert_eq!(awaited.take(), None, "not due");
        awaited.look(at(25), at(20));
        awaited.look(at(26), at(23));
        assert_eq!((awaited.take(), awaited.take()), (Some(at(20)), None));
        // Data that came at 40 may leave from 39 on: nobody has waited for that time.
        awaited.look(at(40), Time::MAX);
        awaited.look(at(41), at(39));
        assert_eq!(awaited.take(), None);
    }
}
