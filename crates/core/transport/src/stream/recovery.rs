//! Losses and their repair: RACK (RFC 8985), duplicate ACKs (RFC 6582), proportional rate reduction
//! (RFC 9937), and episodes.

use incast_cc::{Bytes, Span, Time};

use crate::rate::Transmission;

/// The number of recoveries after which the reordering window is back to its least.
const RECOVERIES_TO_PERSIST: u8 = 16;

/// Recent acknowledgement (RACK): the newest transmission that has arrived, and the reordering
/// seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    /// The end of that transmission in transmission order, which tells apart what clocks do not.
    pub(super) end: Bytes,
    /// The RTT of that transmission.
    pub(super) rtt: Span,
    /// The time at which the oldest segment that may be lost is lost.
    pub(super) alarm: Option<Time>,
    /// The end in the stream of the highest segment that has arrived.
    highest: u64,
    /// Whether a segment has arrived after one that follows it in the stream.
    reordering: bool,
    /// The number of round trips in which the receiver has reported a duplicate: the window was too
    /// short.
    duplicates: u32,
    /// The number of recoveries until that is forgotten.
    persists: u8,
    /// The end of the round trip: duplicates reported before this is acknowledged count once.
    round_until: u64,
}

impl Rack {
    /// Notes that a transmission has arrived that was sent at `sent_at` and ends at `end`.
    pub(super) fn deliver(&mut self, now: Time, sent_at: Time, end: Bytes) {
        if end > self.end {
            self.end = end;
            self.rtt = now.since(sent_at);
        }
    }

    /// The end of the highest segment that has arrived. It is read before an ACK, whose segments
    /// may be looked at in any order.
    pub(super) const fn highest(&self) -> u64 {
        self.highest
    }

    /// Notes that a segment which ends at `end` has arrived after one that ends at `highest`
    /// (section 6.2, step 3).
    #[inline]
    pub(super) fn note_order(&mut self, end: u64, highest: u64, sent_again: bool) {
        self.reordering |= !sent_again && end < highest;
        self.highest = self.highest.max(end);
    }

    /// Notes that the receiver has got something twice that was no probe (section 6.2, step 4). All
    /// data below `acknowledged` is acknowledged, and `next` will be sent next.
    pub(super) fn note_duplicate(&mut self, acknowledged: u64, next: u64) {
        if acknowledged >= self.round_until {
            self.round_until = next;
            self.duplicates = self.duplicates.saturating_add(1);
            self.persists = RECOVERIES_TO_PERSIST;
        }
    }

    /// Notes that losses have been repaired.
    pub(super) fn end_recovery(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.duplicates = 0;
        }
    }

    /// The reordering window: the time by which a segment may arrive later than its successors
    /// (section 6.2, step 4). `certain` if three of them have arrived, or losses are being repaired
    /// anyway.
    pub(super) fn reordering_window(&self, certain: bool, min_rtt: Span, srtt: Span) -> Span {
        if certain && !self.reordering || min_rtt == Span::MAX {
            return Span::ZERO;
        }
        (min_rtt / 4 * (1 + u64::from(self.duplicates).min(1 << 16))).min(srtt)
    }
}

/// Proportional rate reduction (RFC 9937), as far as it holds back: in recovery a window that ACKs
/// clock sends no more than in proportion to what arrives. Without it, a sender that finds many
/// losses at once sends a burst into a queue that is still full. The window itself holds too: while
/// more is in flight than the loss has left, data that the RFC would send waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The payload in flight when recovery began (`RecoverFS`).
    flight: u64,
    /// The payload that has arrived since then.
    delivered: u64,
    /// The payload that was sent since then.
    sent: u64,
    /// The payload that may be sent before the next ACK.
    allowance: u64,
}

impl Reduction {
    /// The state when recovery begins, with `flight` bytes in flight.
    pub(super) fn begin(flight: u64) -> Self {
        Self { flight: flight.max(1), ..Self::default() }
    }

    /// Takes in an ACK of `arrived` bytes; `window` is what the loss has left. `safe` is allowed on
    /// top if the ACK moved the cumulative acknowledgement and told of no loss.
    pub(super) fn on_ack(&mut self, arrived: u64, in_flight: u64, window: u64, safe: Option<u64>) {
        self.delivered += arrived;
        self.allowance = if in_flight > window {
            let share = u128::from(self.delivered) * u128::from(window);
            let share = share.div_ceil(u128::from(self.flight));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(arrived) + safe.unwrap_or(0);
            limit.min(window - in_flight)
        };
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }

    /// The payload that may be sent before the next ACK.
    pub(super) const fn allowance(&self) -> u64 {
        self.allowance
    }
}

/// The repair that is going on, with the sequence number whose acknowledgement ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    None,
    /// Fast recovery: ends when all data is acknowledged that had been sent when it began.
    Recovery {
        until: u64,
    },
    /// The repair after a timeout.
    Timeout {
        until: u64,
    },
}

impl Repair {
    pub(super) const fn is_recovery(self) -> bool {
        matches!(self, Self::Recovery { .. })
    }

    /// Whether the repair covers the segment that starts at `sequence`: new data sent after the
    /// repair began is not covered.
    pub(super) const fn covers(self, sequence: u64) -> bool {
        match self {
            Self::None => false,
            Self::Recovery { until } | Self::Timeout { until } => sequence < until,
        }
    }

    pub(super) const fn ends_at(self, acknowledged: u64) -> bool {
        match self {
            Self::None => false,
            Self::Recovery { until } | Self::Timeout { until } => acknowledged >= until,
        }
    }
}

/// The last silence that ended with a timeout, or with several in a row. An ACK may show that they
/// were spurious: it answers data sent before the first of them (Eifel detection, RFC 3522).
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// The epoch of segments that are sent after the silence: a count of silences, modulo 256.
    pub(super) epoch: u8,
    /// Whether no ACK has decided yet if the timeouts were spurious.
    pub(super) open: bool,
    /// The loss episode of the first timeout.
    pub(super) episode: u32,
    /// The start of data sent after that timeout, in transmission order.
    pub(super) from: Bytes,
    /// The first segment that was declared lost, with its transmission before the timeout; it is
    /// sent again first. [`None`] if an answer to it would be ambiguous.
    pub(super) first: Option<(u64, Transmission)>,
}

impl Silence {
    /// The start of data sent after the silence, if an ACK that echoes `epoch` answers data sent
    /// before.
    pub(super) const fn follows(&self, epoch: u8) -> Option<Bytes> {
        if precedes(epoch, self.epoch) { Some(self.from) } else { None }
    }
}

/// Whether `one` was before `other`, both counted modulo 256.
const fn precedes(one: u8, other: u8) -> bool {
    let behind = other.wrapping_sub(one);
    behind != 0 && behind < 128
}

/// A loss episode: the segments that it has declared lost, and those of them that arrived before
/// they were sent again. An algorithm takes an episode back as a whole, so it is spurious only if
/// all of them did.
#[derive(Clone, Debug, Default)]
pub(super) struct Episode {
    number: u32,
    lost: u32,
    /// The segments that were not really lost; empty once one was.
    refuted: Vec<Transmission>,
    confirmed: bool,
}

impl Episode {
    pub(super) fn open(&mut self) {
        self.number = self.number.wrapping_add(1).max(1);
        (self.lost, self.confirmed) = (0, false);
        self.refuted.clear();
    }

    /// The number of the present episode.
    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// Closes an episode that was spurious as a whole: arrivals of its segments are no news.
    pub(super) fn close(&mut self) {
        (self.lost, self.confirmed) = (0, true);
        self.refuted.clear();
    }

    pub(super) const fn has_losses(&self) -> bool {
        self.lost > 0
    }

    /// Counts a segment that is declared lost; `before` is the episode that did so last. Returns
    /// the present one.
    pub(super) fn lose(&mut self, before: u32) -> u32 {
        self.lost += u32::from(before != self.number);
        self.number
    }

    /// Notes the arrival of a segment that was declared lost in `episode`; `falsely` if its last
    /// transmission, `sent`, is not the one that has arrived. Returns the losses to be taken back.
    pub(super) fn arrive(
        &mut self,
        episode: u32,
        sent: Transmission,
        falsely: bool,
    ) -> Vec<Transmission> {
        if episode != self.number || self.confirmed {
            return Vec::new();
        }
        if !falsely {
            self.confirmed = true;
            self.refuted.clear();
            return Vec::new();
        }
        self.refuted.push(sent);
        if self.refuted.len() < self.lost as usize {
            return Vec::new();
        }
        self.lost = 0;
        std::mem::take(&mut self.refuted)
    }
}

/// Payload, and the part of it that is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) bytes: u64,
    pub(super) flying: u64,
}

/// The credits of duplicate ACKs, without SACK: each tells that a segment has arrived, but not
/// which.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credits {
    /// The number of duplicate ACKs since the last progress.
    pub(super) acks: u32,
    /// The payload in flight that they have taken off the books.
    pub(super) flying: u64,
    /// The payload that they have counted as delivered and no ACK has covered.
    pub(super) counted: u64,
}

impl Credits {
    /// Whether there are none.
    pub(super) const fn are_settled(&self) -> bool {
        self.acks == 0 && self.flying == 0 && self.counted == 0
    }

    /// Settles the credits with an ACK that covers `covered`, and returns the part of it that is
    /// news. Duplicate ACKs did not tell of the `first` segment covered, since it was missing.
    /// Credits for more than lies `beyond` the segment that is missing now are taken back.
    pub(super) fn settle(&mut self, covered: Payload, first: Payload, beyond: Payload) -> Payload {
        let before = *self;
        let keep = |credit: u64, covered: u64, first: u64, beyond: u64| {
            // Where segments differ in size, a part of the excess cannot be taken back.
            credit.saturating_sub(covered - first).min(beyond).max(credit.saturating_sub(covered))
        };
        self.acks = 0;
        self.counted = keep(before.counted, covered.bytes, first.bytes, beyond.bytes);
        self.flying = keep(before.flying, covered.flying, first.flying, beyond.flying);
        Payload {
            bytes: covered.bytes - (before.counted - self.counted),
            flying: covered.flying - (before.flying - self.flying),
        }
    }

    /// Takes in a duplicate ACK, which tells of a segment of at most `payload`, `beyond` the one
    /// that is missing. Returns the credit.
    pub(super) fn give(&mut self, payload: u64, beyond: Payload) -> u64 {
        let uncounted = beyond.bytes.saturating_sub(self.counted);
        let credit = payload.min(uncounted).min(beyond.flying.saturating_sub(self.flying));
        self.flying += credit;
        self.counted += credit;
        credit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    #[test]
    fn a_window_comes_down_in_proportion_to_what_arrives() {
        // 100 segments of 1 KB in flight, of which a loss leaves 50: one may be sent for each two
        // that arrive.
        let mut reduction = Reduction::begin(100_000);
        let mut in_flight = 100_000;
        for pair in 1..=48 {
            in_flight -= 2_000;
            reduction.on_ack(2_000, in_flight, 50_000, None);
            assert_eq!(reduction.allowance(), 1_000, "pair {pair}");
            reduction.on_sent(1_000);
            in_flight += 1_000;
        }
        assert_eq!(in_flight, 52_000);
    }

    #[test]
    fn what_is_lost_at_once_is_not_sent_again_at_once() {
        // Of 100 segments 80 are found lost with one ACK: no burst of 30, but what has arrived, and
        // a segment more where the ACK is a good sign.
        let mut reduction = Reduction::begin(100_000);
        reduction.on_ack(2_000, 18_000, 50_000, None);
        assert_eq!(reduction.allowance(), 2_000);
        reduction.on_sent(2_000);
        reduction.on_ack(2_000, 18_000, 50_000, Some(1_000));
        assert_eq!(reduction.allowance(), 3_000);
    }

    const RTT: Span = Span::from_us(100);

    #[test]
    fn the_reordering_window_grows_once_per_round_trip_and_is_forgotten() {
        let mut rack = Rack::default();
        let window = |rack: &Rack, certain| rack.reordering_window(certain, RTT, RTT);
        assert_eq!((window(&rack, true), window(&rack, false)), (Span::ZERO, RTT / 4));
        rack.note_order(1_000, 2_000, true);
        assert_eq!(window(&rack, true), Span::ZERO, "what was sent again tells of no order");
        rack.note_order(1_000, 2_000, false);
        assert_eq!(window(&rack, true), RTT / 4);
        rack.note_duplicate(1_000, 5_000);
        rack.note_duplicate(4_999, 9_000);
        assert_eq!(window(&rack, true), RTT / 2, "one round trip");
        rack.note_duplicate(5_000, 9_000);
        assert_eq!(window(&rack, true), RTT * 3 / 4);
        (0..9).for_each(|n| rack.note_duplicate(10_000 + n, 10_000 + n));
        assert_eq!(window(&rack, true), RTT, "the smoothed RTT at most");
        (0..15).for_each(|_| rack.end_recovery());
        assert_eq!(window(&rack, true), RTT);
        rack.end_recovery();
        assert_eq!(window(&rack, true), RTT / 4, "after sixteen recoveries");
    }

    #[test]
    fn a_repair_covers_what_was_sent_before_it() {
        for repair in [Repair::Recovery { until: 5_000 }, Repair::Timeout { until: 5_000 }] {
            assert!(repair.covers(4_999) && !repair.covers(5_000));
            assert!(!repair.ends_at(4_999) && repair.ends_at(5_000));
        }
        assert!(!Repair::None.covers(0) && !Repair::None.ends_at(u64::MAX));
    }

    /// Failing cases are kept, and tried first from then on.
    fn config() -> ProptestConfig {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/recovery.txt");
        ProptestConfig {
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        /// Duplicate ACKs are never credited with more than is out, whatever the size of segments,
        /// and each byte is news once.
        #[test]
        fn credits_are_settled_in_the_end(
            sizes in prop::collection::vec(1_u64..2_000, 1..40),
            steps in prop::collection::vec((0_u32..8, 1_usize..6), 0..40),
        ) {
            let all = |bytes| Payload { bytes, flying: bytes };
            let mut credits = Credits::default();
            let total: u64 = sizes.iter().sum();
            let (mut left, mut news, mut flew) = (sizes.as_slice(), 0, 0);
            for (duplicates, covered) in steps.into_iter().chain([(0, sizes.len())]) {
                let Some(&first) = left.first() else { break };
                for _ in 0..duplicates {
                    let credit = credits.give(first, all(left[1..].iter().sum()));
                    news += credit;
                    flew += credit;
                }
                let (acked, rest) = left.split_at(covered.min(left.len()));
                let (covered, beyond) = (acked.iter().sum(), rest.iter().skip(1).sum());
                let told = credits.settle(all(covered), all(first), all(beyond));
                (left, news, flew) = (rest, news + told.bytes, flew + told.flying);
                let out: u64 = left.iter().sum();
                prop_assert_eq!(news, total - out + credits.counted);
                prop_assert_eq!(flew, total - out + credits.flying);
                prop_assert!(credits.counted <= out && credits.flying <= out);
            }
            prop_assert_eq!((news, flew), (total, total));
        }
    }
}
