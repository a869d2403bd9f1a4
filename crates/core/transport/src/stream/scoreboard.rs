//! The scoreboard of a stream: each segment that is sent and not acknowledged.

use std::collections::VecDeque;
use std::ops::Range;

use super::ranges::Ranges;
use crate::packet::DueBy;
use crate::rate::Transmission;
use incast_cc::Bytes;

/// A segment that was sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) sequence: u64,
    pub(super) payload: u32,
    pub(super) ends_message: bool,
    pub(super) read: u64,
    pub(super) due: DueBy,
    /// The last transmission, with the start of the first one.
    pub(super) sent: Transmission,
    pub(super) fate: Fate,
    /// Whether the segment was sent more than once, so that its RTT is ambiguous.
    pub(super) sent_again: bool,
    /// The episode that declared it lost last; 0 is none.
    pub(super) episode: u32,
}

impl Record {
    pub(super) const fn end(&self) -> u64 {
        self.sequence + self.payload as u64
    }
}

/// A run of segments that one ACK has taken out: the first ones of the stream, all in flight and
/// sent once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    /// Their transmissions, joined.
    pub(super) sent: Transmission,
    /// The number of messages that end in them.
    pub(super) messages: u32,
    /// The payload of the first segment.
    pub(super) first: u32,
    /// The payload of the last segment.
    pub(super) last: u32,
    /// The end of the last segment in the stream.
    pub(super) end: u64,
}

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// In flight.
    Flying,
    /// Arrived beyond a gap.
    Sacked,
    /// Declared lost and not sent again yet.
    Lost,
}

/// The segments that are out, in the order of the stream, each with a number that stays the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    records: VecDeque<Record>,
    /// The number of the first segment.
    base: u64,
    /// Numbers in transmission order, with the ends of their transmissions; empty while that is the
    /// order of the stream. An entry whose record was sent again, arrived or was lost since is
    /// stale. The first entry never is.
    order: VecDeque<(u64, Bytes)>,
    /// The number from which on no segment was sent again, arrived or was lost.
    in_order_from: u64,
    arrived: Ranges,
    /// The number of segments that are [`Fate::Sacked`].
    sacked: u32,
    /// A number that no lost segment is below.
    lost_from: u64,
    /// The number of segments that are [`Fate::Lost`].
    lost: u32,
    /// The payload of segments that are [`Fate::Flying`].
    flying_bytes: u64,
}

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The number of segments that have arrived beyond a gap.
    pub(super) const fn sacked(&self) -> u32 {
        self.sacked
    }

    /// The number of segments that are lost and have not been sent again.
    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }

    /// The payload in flight.
    pub(super) const fn flying_bytes(&self) -> u64 {
        self.flying_bytes
    }

    pub(super) fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    /// The number of the next segment.
    #[inline]
    fn end(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    /// Whether all segments are in flight and were sent in the order of the stream.
    #[inline]
    pub(super) const fn is_in_order(&self) -> bool {
        self.in_order_from <= self.base
    }

    /// All segments that are out, in the order of the stream.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// Takes out all segments, which are [in order](Self::is_in_order).
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Record> + use<> {
        debug_assert!(self.is_in_order() && self.order.is_empty());
        (self.base, self.flying_bytes) = (self.end(), 0);
        self.lost_from = self.base;
        self.arrived.clear();
        std::mem::take(&mut self.records).into_iter()
    }

    /// Prepares for a change after which the present segments are no longer in order.
    fn disorder(&mut self) {
        if self.is_in_order() {
            let ends = self.records.iter().map(|record| record.sent.end);
            self.order.extend((self.base..).zip(ends));
        }
        self.in_order_from = self.end();
    }

    #[inline]
    fn get(&self, number: u64) -> Option<&Record> {
        self.records.get(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Record> {
        self.records.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    /// Adds a segment that has been sent.
    #[inline]
    pub(super) fn push(&mut self, record: Record) {
        if !self.is_in_order() {
            self.order.push_back((self.end(), record.sent.end));
        }
        self.flying_bytes += u64::from(record.payload);
        self.records.push_back(record);
    }

    /// Takes out the segments that end at `sequence` or before, if all are in flight and were sent
    /// in the order of the stream. That is nearly always so, and then there is nothing to be found
    /// out about each.
    #[inline]
    pub(super) fn pop_in_order(&mut self, sequence: u64) -> Option<Acknowledged> {
        let front = self.records.front().filter(|record| record.end() <= sequence)?;
        if !self.is_in_order() {
            return None;
        }
        let (start, first, first_sent) = (front.sequence, front.payload, front.sent.first);
        let (mut count, mut messages) = (0, 0);
        while let Some(record) = self.records.get(count)
            && record.end() <= sequence
        {
            messages += u32::from(record.ends_message);
            count += 1;
        }
        let last = &self.records[count - 1];
        let (end, payload) = (last.end(), last.payload);
        let mut sent = last.sent.of(end - start);
        sent.first = first_sent;
        for _ in 0..count {
            self.records.pop_front();
        }
        self.base += count as u64;
        self.lost_from = self.lost_from.max(self.base);
        self.flying_bytes -= end - start;
        if !self.arrived.is_empty() {
            self.arrived.remove_below(end);
        }
        if self.records.is_empty() {
            self.arrived.clear();
        }
        Some(Acknowledged { sent, messages, first, last: payload, end })
    }

    /// Takes out the first segment if it ends at `sequence` or before.
    #[expect(clippy::inline_always, reason = "a record is long, and little of it is looked at")]
    #[inline(always)]
    pub(super) fn pop_below(&mut self, sequence: u64) -> Option<Record> {
        let record = *self.records.front().filter(|record| record.end() <= sequence)?;
        self.records.pop_front();
        self.base += 1;
        self.lost_from = self.lost_from.max(self.base);
        match record.fate {
            Fate::Sacked => self.sacked -= 1,
            Fate::Lost => self.lost -= 1,
            Fate::Flying => self.flying_bytes -= u64::from(record.payload),
        }
        if !self.arrived.is_empty() {
            self.arrived.remove_below(record.end());
        }
        if self.records.is_empty() {
            self.arrived.clear();
        }
        if !self.order.is_empty() {
            self.drop_stale();
        }
        Some(record)
    }

    /// Adds a range that has arrived, and returns the numbers of the segments in the part of it
    /// that is new.
    pub(super) fn sack(&mut self, range: Range<u64>) -> Range<u64> {
        let Some(first) = self.records.front() else { return 0..0 };
        let start = range.start.max(first.sequence);
        if start >= range.end || self.arrived.containing(start).is_some_and(|r| r.end >= range.end)
        {
            return 0..0;
        }
        let mut news = range.end..start;
        self.arrived.insert(start..range.end, |gap| {
            news = news.start.min(gap.start)..news.end.max(gap.end);
        });
        let number = |place: usize| self.base + place as u64;
        let from = self.records.partition_point(|record| record.sequence < news.start);
        let to = self.records.partition_point(|record| record.end() <= news.end);
        number(from)..number(to.max(from))
    }

    /// Marks a segment that has arrived beyond a gap, and returns it as it was, if that is news.
    pub(super) fn mark_sacked(&mut self, number: u64) -> Option<Record> {
        self.get(number).filter(|record| record.fate != Fate::Sacked)?;
        self.disorder();
        let record = self.get_mut(number)?;
        let before = *record;
        record.fate = Fate::Sacked;
        self.sacked += 1;
        match before.fate {
            Fate::Lost => self.lost -= 1,
            _ => self.flying_bytes -= u64::from(before.payload),
        }
        self.drop_stale();
        Some(before)
    }

    /// The segment in flight that was sent first, with its transmission.
    #[inline]
    pub(super) fn oldest_flying(&self) -> Option<(u64, &Transmission)> {
        if self.is_in_order() {
            return self.records.front().map(|record| (self.base, &record.sent));
        }
        let &(number, _) = self.order.front()?;
        self.get(number).map(|record| (number, &record.sent))
    }

    #[cold]
    fn drop_stale(&mut self) {
        if self.is_in_order() {
            self.order.clear();
        }
        while let Some(&(number, end)) = self.order.front()
            && !self
                .get(number)
                .is_some_and(|record| record.fate == Fate::Flying && record.sent.end == end)
        {
            self.order.pop_front();
        }
    }

    /// The segment in flight that is first in the stream, with its transmission.
    pub(super) fn first_flying(&self) -> Option<(u64, Transmission)> {
        let place = self.records.iter().position(|record| record.fate == Fate::Flying)?;
        Some((self.base + place as u64, self.records[place].sent))
    }

    /// Declares a segment in flight lost, and returns it.
    pub(super) fn lose(&mut self, number: u64) -> Option<&mut Record> {
        self.get(number).filter(|record| record.fate == Fate::Flying)?;
        self.disorder();
        let record = self.get_mut(number)?;
        record.fate = Fate::Lost;
        self.flying_bytes -= u64::from(record.payload);
        self.lost += 1;
        self.lost_from = self.lost_from.min(number);
        self.drop_stale();
        self.get_mut(number)
    }

    /// The lost segment that is first in the stream.
    #[inline]
    pub(super) fn first_lost(&self) -> Option<&Record> {
        if self.lost == 0 { None } else { self.find_lost() }
    }

    #[cold]
    fn find_lost(&self) -> Option<&Record> {
        let from = usize::try_from(self.lost_from - self.base).ok()?;
        self.records.range(from..).find(|record| record.fate == Fate::Lost)
    }

    /// Notes that the segment of [`first_lost`](Self::first_lost), which there must be, has been
    /// sent again. Returns it.
    pub(super) fn send_again(&mut self, sent: Transmission) -> Record {
        let mut number = self.lost_from;
        while self.get(number).is_some_and(|record| record.fate != Fate::Lost) {
            number += 1;
        }
        self.lost_from = number + 1;
        self.lost -= 1;
        self.disorder();
        self.order.push_back((number, sent.end));
        let record = self.get_mut(number).unwrap_or_else(|| unreachable!("a segment is lost"));
        (record.fate, record.sent, record.sent_again) = (Fate::Flying, sent, true);
        let record = *record;
        self.flying_bytes += u64::from(record.payload);
        record
    }

    /// Takes back what `episode` and later ones have declared lost: segments that were not sent
    /// again are in flight again. Returns all such segments that are out, joined, and the payload
    /// of them that is in flight again; [`None`] if there are none.
    #[cold]
    pub(super) fn revive(&mut self, episode: u32) -> Option<(Transmission, Bytes)> {
        let (mut all, mut returned) = (None, 0);
        let concerns =
            |record: &&mut Record| record.episode >= episode && record.fate != Fate::Sacked;
        for record in self.records.iter_mut().filter(concerns) {
            record.episode = 0;
            let sent = record.sent.of(u64::from(record.payload));
            match &mut all {
                None => all = Some(sent),
                Some(all) => all.join(sent),
            }
            if record.fate == Fate::Lost {
                record.fate = Fate::Flying;
                returned += u64::from(record.payload);
                self.lost -= 1;
            }
        }
        self.flying_bytes += returned;
        self.list_anew();
        all.map(|all| (all, Bytes::new(returned)))
    }

    /// Restores the segment that starts at `sequence` to the state before it was sent again.
    #[cold]
    pub(super) fn restore(&mut self, sequence: u64, sent: Transmission) {
        let place = self.records.partition_point(|record| record.sequence < sequence);
        if let Some(record) = self.records.get_mut(place)
            && record.sequence == sequence
            && record.fate == Fate::Flying
        {
            (record.sent, record.sent_again) = (sent, false);
            self.list_anew();
        }
    }

    /// Lists all segments in flight in transmission order.
    fn list_anew(&mut self) {
        let flying = (self.base..).zip(&self.records).filter(|(_, r)| r.fate == Fate::Flying);
        self.order = flying.map(|(number, record)| (number, record.sent.end)).collect();
        self.order.make_contiguous().sort_unstable_by_key(|&(_, end)| end);
        self.in_order_from = self.end();
    }

    /// The last segment, to be sent once more without a record of that.
    pub(super) fn copy_last(&mut self) -> Option<Record> {
        self.records.back().filter(|record| record.fate == Fate::Flying)?;
        self.disorder();
        let record = self.records.back_mut()?;
        record.sent_again = true;
        Some(*record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Terms;
    use crate::rate::RateComputation;
    use incast_cc::line_rate::LineRate;
    use incast_cc::{Algorithm, Flow, Rate, Time};

    const PAYLOAD: u64 = 1_000;

    /// A scoreboard, and the engine that numbers transmissions.
    struct Sending(Scoreboard, RateComputation<<LineRate as Algorithm>::Control>);

    impl Sending {
        fn of(segments: u64) -> Self {
            let flow = Flow::new(Bytes::new(PAYLOAD), Rate::from_gbps(10));
            let rate = RateComputation::new(
                LineRate::default().start(&flow),
                Time::ZERO,
                None,
                &Terms::default(),
            );
            let mut sending = Self(Scoreboard::default(), rate);
            (0..segments).for_each(|number| sending.send(number));
            sending
        }

        fn transmit(&mut self) -> Transmission {
            self.1.on_sent(Time::ZERO, Bytes::new(PAYLOAD), false, false)
        }

        fn send(&mut self, number: u64) {
            let sent = self.transmit();
            self.0.push(Record {
                sequence: number * PAYLOAD,
                payload: 1_000,
                ends_message: false,
                read: 0,
                due: DueBy::NONE,
                sent,
                fate: Fate::Flying,
                sent_again: false,
                episode: 0,
            });
        }

        fn oldest(&self) -> Option<u64> {
            self.0.oldest_flying().map(|(number, _)| number)
        }
    }

    #[test]
    fn nothing_is_kept_of_what_was_acknowledged() {
        let mut sending = Sending::of(3);
        for number in 0..10_000 {
            sending.send(number + 3);
            assert!(sending.0.pop_below((number + 1) * PAYLOAD).is_some());
        }
        assert_eq!((sending.0.records.len(), sending.0.order.len()), (3, 0));
        assert_eq!(sending.0.flying_bytes(), 3 * PAYLOAD);
    }

    #[test]
    fn the_order_is_kept_until_what_was_out_at_a_loss_has_arrived() {
        let mut sending = Sending::of(3);
        sending.0.lose(1);
        let again = sending.transmit();
        sending.0.send_again(again);
        sending.send(3);
        assert_eq!(sending.0.order.len(), 5, "0, 1 as it was, 2, 1, 3");
        sending.0.pop_below(PAYLOAD);
        assert_eq!(sending.oldest(), Some(2));
        sending.0.pop_below(2 * PAYLOAD);
        assert_eq!((sending.oldest(), sending.0.order.is_empty()), (Some(2), false));
        sending.0.pop_below(3 * PAYLOAD);
        assert_eq!((sending.oldest(), sending.0.order.is_empty()), (Some(3), true));
        sending.send(4);
        sending.0.pop_below(4 * PAYLOAD);
        assert_eq!((sending.oldest(), sending.0.order.is_empty()), (Some(4), true));
    }

    #[test]
    fn the_oldest_is_the_one_sent_first_though_not_first_in_the_stream() {
        let mut sending = Sending::of(4);
        assert_eq!(sending.oldest(), Some(0));
        sending.0.lose(0);
        sending.0.lose(1);
        assert_eq!((sending.oldest(), sending.0.lost()), (Some(2), 2));
        let again = sending.transmit();
        assert_eq!(sending.0.send_again(again).sequence, 0);
        sending.0.mark_sacked(2);
        assert_eq!(sending.oldest(), Some(3), "0 was sent after it");
        sending.0.mark_sacked(3);
        assert_eq!((sending.oldest(), sending.0.sacked()), (Some(0), 2));
        assert_eq!(sending.0.first_lost().map(|record| record.sequence), Some(PAYLOAD));
    }

    #[test]
    fn segments_in_order_are_taken_out_at_once_as_they_would_be_one_by_one() {
        let (mut sending, mut single) = (Sending::of(5), Sending::of(5));
        let run = sending.0.pop_in_order(3 * PAYLOAD + 1).unwrap();
        let mut sent = single.0.pop_below(PAYLOAD).unwrap().sent;
        for number in 2..=3 {
            sent.join(single.0.pop_below(number * PAYLOAD).unwrap().sent);
        }
        assert_eq!((run.sent, run.end, run.first, run.last), (sent, 3 * PAYLOAD, 1_000, 1_000));
        let left = |sending: &Sending| (sending.oldest(), sending.0.flying_bytes());
        assert_eq!(left(&sending), left(&single));
        assert!(sending.0.pop_in_order(3 * PAYLOAD).is_none(), "nothing more");
        sending.0.copy_last();
        assert!(sending.0.pop_in_order(5 * PAYLOAD).is_none(), "one of them was sent again");
    }

    #[test]
    fn a_range_is_news_once() {
        let mut sending = Sending::of(10);
        assert_eq!(sending.0.sack(2_000..4_000), 2..4);
        assert_eq!(sending.0.sack(2_000..4_000), 0..0);
        assert_eq!(sending.0.sack(2_000..5_000), 4..5);
        assert_eq!(sending.0.sack(6_000..6_500), 6..6, "a segment arrives whole");
        sending.0.pop_below(1_000);
        assert_eq!(sending.0.sack(0..2_000), 1..2, "what lies below is known");
    }
}
