//! The receiving half of a connection: completeness of segments, reports, delivery.

use std::collections::VecDeque;

use incast_cc::Time;

use crate::config::{Config, Recovery};
use crate::connection::Delivered;
use crate::directory::Remains;
use crate::half::Receiving;
use crate::packet::message::{Ack, Body, Data, MAX_SEGMENT_PACKETS, Nack, PacketSet};
use crate::packet::{DueBy, Header, MARKED_END};

/// The packets of one connection that have arrived.
///
/// While packets arrive in order, as they always do in a network with one path and PFC, only three
/// counters are touched. Segments get a record of their own once a packet is missing.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The first sequence number that has not arrived.
    next: u64,
    /// The segment that contains `next`, or that ends there.
    current: Extent,
    /// Segments that are incomplete or lie beyond a gap, in order; empty while packets arrive in
    /// order.
    ahead: VecDeque<Partial>,
    ce_bytes: u32,
    delivered_bytes: u64,
    duplicates: u64,
    /// Go-back-N: the value of `next` from which a gap may be reported again.
    reported: u64,
}

/// The range of a segment, and the message that it ends.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    first: u64,
    count: u8,
    ends_message: bool,
    read: u64,
    due: DueBy,
}

impl Extent {
    const fn of(data: &Data) -> Self {
        Self {
            first: data.segment(),
            count: data.count,
            ends_message: data.ends_message,
            read: data.read,
            due: data.due,
        }
    }

    const fn end(&self) -> u64 {
        self.first + self.count as u64
    }

    const fn message(&self) -> Option<Delivered> {
        let Self { read, due, .. } = *self;
        if self.ends_message { Some(Delivered { read, due }) } else { None }
    }
}

#[derive(Clone, Copy, Debug)]
struct Partial {
    extent: Extent,
    received: PacketSet,
    /// Whether the first attempt's gaps have been reported.
    reported: bool,
}

impl Partial {
    fn missing(&self) -> PacketSet {
        PacketSet::first(u32::from(self.extent.count)).without(self.received)
    }
}

impl Receiving for Receiver {
    type Body = Body;

    const DELAYS: bool = false;

    fn new(_delayed_ack: u32) -> Self {
        Self::default()
    }

    /// A receiver whose only message has been delivered: every packet has arrived before.
    fn revived(_delayed_ack: u32, remains: &Remains) -> Self {
        Self {
            next: u64::MAX,
            ce_bytes: remains.noted,
            delivered_bytes: remains.delivered_bytes,
            duplicates: u64::from(remains.duplicates),
            ..Self::default()
        }
    }

    fn remains(&self) -> Option<Remains> {
        let duplicates = self.duplicates.try_into().ok()?;
        self.ahead.is_empty().then_some(Remains {
            delivered_bytes: self.delivered_bytes,
            noted: self.ce_bytes,
            duplicates,
            ..Remains::default()
        })
    }

    #[inline]
    fn take(
        &mut self,
        _now: Time,
        (body, marked): (&Body, bool),
        config: &Config,
        reply: impl FnMut(Body),
        deliver: impl FnMut(Delivered),
    ) {
        match body {
            Body::Data(data) => self.handle(data, marked, config.recovery, reply, deliver),
            Body::Trimmed(data) => self.handle_trimmed(data, config.recovery, reply),
            Body::Ack(_) | Body::Nack(_) => {} // for the other half
        }
    }

    /// The sequence number that comes next, if nothing is lost. One whose only message has been
    /// delivered expects none; all its packets are below 2^32.
    fn expects(&self) -> u64 {
        if self.next == u64::MAX { 1 << 31 } else { self.next }
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

impl Receiver {
    /// Takes in a packet that is the next one and not the last of its segment or of its attempt, as
    /// [`handle`](Self::handle) would. Returns whether it is.
    #[inline]
    pub(crate) fn take_plain(&mut self, header: &Header, marked: bool) -> bool {
        let (index, count) = header.place();
        let is_last = index + 1 >= count || header.has(Header::ACK_REQUEST);
        let is_plain = !is_last && self.is_next(header);
        if is_plain {
            self.take_next(header, marked);
        }
        is_plain
    }

    /// Takes in a packet that is the next one and the last of its segment, but not of its message,
    /// as [`handle`](Self::handle) would. Returns the ACK, without the peer's index; [`None`] leaves
    /// the packet to that.
    #[inline]
    pub(crate) fn take_last(&mut self, now: Time, header: &Header, marked: bool) -> Option<Header> {
        let (index, count) = header.place();
        let is_last = index + 1 == count && !header.has(Header::ENDS_MESSAGE);
        if !is_last || !self.is_next(header) || self.ce_bytes >= MARKED_END / 2 {
            return None;
        }
        self.take_next(header, marked);
        let ce_bytes = std::mem::take(&mut self.ce_bytes);
        Some(Header::message_ack(self.current.first, now, ce_bytes, header.attempt()))
    }

    /// Whether a packet is the next one, and none is missing.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    fn is_next(&self, header: &Header) -> bool {
        let is_next = header.sequence == self.next as u32 && self.next != u64::MAX;
        is_next && self.ahead.is_empty()
    }

    /// Counts the next packet.
    #[inline]
    fn take_next(&mut self, header: &Header, marked: bool) {
        let (index, count) = header.place();
        if marked {
            self.ce_bytes = self.ce_bytes.saturating_add(u32::from(header.payload));
        }
        let first = self.next - u64::from(index);
        let ends_message = header.has(Header::ENDS_MESSAGE);
        self.current = Extent { first, count, ends_message, read: 0, due: DueBy::NONE };
        self.next += 1;
        self.delivered_bytes += u64::from(header.payload);
    }

    /// Takes in a packet. `reply` gets the answers, `deliver` the messages that are now complete.
    #[inline]
    pub(crate) fn handle(
        &mut self,
        data: &Data,
        marked: bool,
        recovery: Recovery,
        reply: impl FnMut(Body),
        mut deliver: impl FnMut(Delivered),
    ) {
        if marked {
            self.ce_bytes = self.ce_bytes.saturating_add(data.payload);
        }
        // The last packet of an attempt with others of its segment behind it: switches have cut
        // these, and their headers leave no record.
        let lacks = data.ack_request && data.index + 1 < data.count;
        let in_order = data.sequence == self.next && self.ahead.is_empty();
        if !in_order || lacks && recovery == Recovery::Selective {
            return match recovery {
                Recovery::Selective => self.handle_out_of_order(data, reply, deliver),
                Recovery::GoBackN => self.go_back(data, reply),
            };
        }
        self.next += 1;
        self.delivered_bytes += u64::from(data.payload);
        self.current = Extent::of(data);
        if data.index + 1 == data.count {
            self.acknowledge(data, reply);
            if let Some(message) = self.current.message() {
                deliver(message);
            }
        }
    }

    /// Answers `data`, whose segment is complete.
    fn acknowledge(&mut self, data: &Data, mut reply: impl FnMut(Body)) {
        let (segment, attempt) = (data.segment(), data.attempt);
        reply(Body::Ack(Ack { segment, ce_bytes: self.ce_bytes, attempt }));
        self.ce_bytes = 0;
    }

    /// Go-back-N: drops a packet out of order, and asks once for the packet that is due.
    #[cold]
    fn go_back(&mut self, data: &Data, mut reply: impl FnMut(Body)) {
        if data.sequence < self.next {
            self.duplicates += 1;
            if data.ack_request && Extent::of(data).end() <= self.next {
                self.acknowledge(data, reply);
            }
        } else if self.reported <= self.next {
            self.reported = self.next + 1;
            let (base, missing, attempt) = (self.next, PacketSet::EMPTY, data.attempt);
            reply(Body::Nack(Nack { base, missing, attempt, answers: false }));
        }
    }

    /// Takes in the header of a packet whose payload a switch has cut off, and asks for that packet
    /// at once. The header may have overtaken data that waits in the switch. So it tells of no
    /// other packet, and leaves no record: later reports of the packet are about an attempt that is
    /// over.
    #[cold]
    fn handle_trimmed(&mut self, data: &Data, recovery: Recovery, mut reply: impl FnMut(Body)) {
        if recovery == Recovery::GoBackN {
            if data.sequence <= self.next {
                self.go_back(data, reply);
            }
            return;
        }
        let (extent, attempt) = (Extent::of(data), data.attempt);
        let received = match self.place(&extent) {
            Ok(place) => self.ahead[place].received,
            Err(_) => self.received_before(&extent),
        };
        let missing = PacketSet::first(u32::from(data.count)).without(received);
        let own = u32::from(data.index);
        if missing.is_empty() {
            if data.ack_request {
                self.acknowledge(data, reply);
            }
        } else if missing.contains(own) || data.ack_request {
            // A packet that had arrived asks what has not: the sender sends it after a silence.
            let missing = if missing.contains(own) { PacketSet::only(own) } else { missing };
            reply(Body::Nack(Nack { base: extent.first, missing, attempt, answers: false }));
        }
    }

    #[cold]
    fn handle_out_of_order(
        &mut self,
        data: &Data,
        mut reply: impl FnMut(Body),
        mut deliver: impl FnMut(Delivered),
    ) {
        let extent = Extent::of(data);
        if extent.end() <= self.next {
            // The ACK may have been lost: answer once per attempt.
            self.duplicates += 1;
            if data.ack_request {
                self.acknowledge(data, reply);
            }
            return;
        }
        self.report_gaps_before(&extent, &mut reply);
        let place = self.place_of(extent);
        let partial = &mut self.ahead[place];
        let duplicate = partial.received.contains(u32::from(data.index));
        if duplicate {
            self.duplicates += 1;
        } else {
            partial.received.insert(u32::from(data.index));
            self.delivered_bytes += u64::from(data.payload);
        }
        let missing = partial.missing();
        if missing.is_empty() {
            if !duplicate || data.ack_request {
                self.acknowledge(data, &mut reply);
            }
        } else if data.ack_request {
            partial.reported = true;
            let (base, attempt) = (extent.first, data.attempt);
            reply(Body::Nack(Nack { base, missing, attempt, answers: true }));
        }
        self.advance(&mut deliver);
    }

    /// The end of the highest known segment.
    fn horizon(&self) -> u64 {
        self.ahead.back().map_or(self.current.end(), |partial| partial.extent.end()).max(self.next)
    }

    /// Reports the packets between the highest known segment and `extent` as lost, since packets of
    /// a connection do not overtake each other.
    fn report_gaps_before(&mut self, extent: &Extent, reply: &mut impl FnMut(Body)) {
        let horizon = self.horizon();
        if extent.first < horizon {
            return;
        }
        // The rest of the segment that was being received.
        if self.ahead.is_empty() && self.next < self.current.end() {
            let current = self.current;
            self.place_of(current);
        }
        if let Some(last) = self.ahead.back_mut()
            && !last.reported
            && !last.missing().is_empty()
        {
            last.reported = true;
            let (base, missing) = (last.extent.first, last.missing());
            reply(Body::Nack(Nack { base, missing, attempt: 0, answers: false }));
        }
        // Whole segments, of which only the range together is known.
        let mut base = horizon;
        while base < extent.first {
            let count = (extent.first - base).min(u64::from(MAX_SEGMENT_PACKETS));
            #[expect(clippy::cast_possible_truncation, reason = "at most MAX_SEGMENT_PACKETS")]
            let missing = PacketSet::first(count as u32);
            reply(Body::Nack(Nack { base, missing, attempt: 0, answers: false }));
            base += count;
        }
    }

    /// The index in `ahead` of the record of a segment, which is made if there is none.
    fn place_of(&mut self, extent: Extent) -> usize {
        self.place(&extent).unwrap_or_else(|place| {
            let received = self.received_before(&extent);
            self.ahead.insert(place, Partial { extent, received, reported: false });
            place
        })
    }

    /// The index in `ahead` of the record of a segment, or that at which it belongs.
    fn place(&self, extent: &Extent) -> Result<usize, usize> {
        self.ahead.binary_search_by_key(&extent.first, |partial| partial.extent.first)
    }

    /// The packets that have arrived of a segment without a record.
    fn received_before(&self, extent: &Extent) -> PacketSet {
        let before = self.next.saturating_sub(extent.first);
        #[expect(clippy::cast_possible_truncation, reason = "at most MAX_SEGMENT_PACKETS")]
        PacketSet::first(before.min(u64::from(extent.count)) as u32)
    }

    fn advance(&mut self, deliver: &mut impl FnMut(Delivered)) {
        while let Some(partial) = self.ahead.front() {
            if partial.extent.first > self.next {
                return;
            }
            self.next = partial.extent.first + u64::from(partial.received.leading_run());
            if !partial.missing().is_empty() {
                return;
            }
            self.current = partial.extent;
            self.ahead.pop_front();
            if let Some(message) = self.current.message() {
                deliver(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of segments of three; every second segment ends a message.
    fn data(sequence: u64) -> Data {
        Data {
            sequence,
            payload: 100,
            index: (sequence % 3) as u8,
            count: 3,
            attempt: 0,
            ack_request: sequence % 3 == 2,
            ends_message: sequence / 3 % 2 == 1,
            read: 0,
            due: DueBy::NONE,
            remaining: 100,
        }
    }

    #[derive(Default)]
    struct Run {
        receiver: Receiver,
        recovery: Recovery,
        messages: u32,
    }

    impl Run {
        fn get(&mut self, data: Data) -> Vec<Body> {
            let mut replies = Vec::new();
            let messages = &mut self.messages;
            let push = |body| replies.push(body);
            self.receiver.handle(&data, false, self.recovery, push, |_| *messages += 1);
            replies
        }

        /// A switch has cut the packet to its header.
        fn get_cut(&mut self, data: Data) -> Vec<Body> {
            let (mut replies, config) =
                (Vec::new(), Config { recovery: self.recovery, ..Config::default() });
            let (trimmed, push) =
                (Body::Trimmed(Data { payload: 0, ..data }), |body| replies.push(body));
            self.receiver.take(Time::ZERO, (&trimmed, false), &config, push, |_| unreachable!());
            replies
        }
    }

    /// The ACK of a first attempt.
    fn ack(segment: u64) -> Body {
        ack_of(segment, 0)
    }

    fn ack_of(segment: u64, attempt: u8) -> Body {
        Body::Ack(Ack { segment, ce_bytes: 0, attempt })
    }

    fn nack(base: u64, missing: &[u32], attempt: u8) -> Body {
        let mut set = PacketSet::EMPTY;
        for &index in missing {
            set.insert(index);
        }
        Body::Nack(Nack { base, missing: set, attempt, answers: false })
    }

    /// The answer to the last packet of a first attempt.
    fn answer(base: u64, missing: &[u32]) -> Body {
        let Body::Nack(nack) = nack(base, missing, 0) else { unreachable!("it makes one") };
        Body::Nack(Nack { answers: true, ..nack })
    }

    #[test]
    fn one_ack_per_segment_in_order() {
        let mut run = Run::default();
        let replies: Vec<_> = (0..12).flat_map(|n| run.get(data(n))).collect();
        assert_eq!(replies, [ack(0), ack(3), ack(6), ack(9)]);
        assert_eq!((run.messages, run.receiver.delivered_bytes()), (2, 1_200));
    }

    #[test]
    fn hole_is_reported_with_the_last_packet_and_filled_once() {
        let mut run = Run::default();
        assert_eq!(run.get(data(0)), []);
        assert_eq!(run.get(data(2)), [answer(0, &[1])]);
        assert_eq!(run.get(data(3)), []);
        let again = Data { attempt: 1, ack_request: true, ..data(1) };
        assert_eq!(run.get(again), [ack_of(0, 1)]);
        assert_eq!(run.get(again), [ack_of(0, 1)], "a duplicate is acknowledged again");
        assert_eq!((run.receiver.duplicates(), run.receiver.delivered_bytes()), (1, 400));
        assert_eq!(run.get(data(4)), []);
        assert_eq!(run.get(data(5)), [ack(3)]);
        assert_eq!(run.messages, 1, "exactly once");
    }

    #[test]
    fn a_packet_that_was_cut_is_asked_for_at_once_and_alone() {
        let mut run = Run::default();
        assert_eq!(run.get(data(0)), []);
        // It has overtaken the packets before it, which are not missing.
        assert_eq!(run.get_cut(data(4)), [nack(3, &[1], 0)]);
        assert_eq!(run.get_cut(data(5)), [nack(3, &[2], 0)]);
        assert_eq!(run.get(data(1)), []);
        assert_eq!(run.get(data(2)), [ack(0)]);
        assert_eq!(run.get(data(3)), []);
        let again = |n: u64, last| Data { attempt: 1, ack_request: last, ..data(n) };
        assert_eq!(run.get(again(4, false)), []);
        assert_eq!(run.get_cut(again(5, true)), [nack(3, &[2], 1)], "cut again");
        assert_eq!(run.get(Data { attempt: 2, ..data(5) }), [ack_of(3, 2)]);
        assert_eq!((run.messages, run.receiver.delivered_bytes()), (1, 600));
    }

    #[test]
    fn the_last_packet_of_an_attempt_reports_those_behind_it_that_were_cut() {
        let mut run = Run::default();
        run.get(data(0));
        run.get_cut(data(1));
        run.get_cut(data(2));
        let again = Data { attempt: 1, ack_request: true, ..data(1) };
        let rest =
            Body::Nack(Nack { base: 0, missing: PacketSet::only(2), attempt: 1, answers: true });
        assert_eq!(run.get(again), [rest]);
        assert_eq!(run.get(Data { attempt: 2, ..data(2) }), [ack_of(0, 2)]);
    }

    #[test]
    fn the_header_of_a_packet_that_has_arrived_asks_only_what_the_packet_asks() {
        let mut run = Run::default();
        (0..3).for_each(|n| drop(run.get(data(n))));
        let probe = |n| Data { attempt: 1, ack_request: true, ..data(n) };
        assert_eq!(run.get_cut(data(1)), []);
        assert_eq!(run.get_cut(probe(2)), [ack_of(0, 1)], "the ACK was lost");
        assert_eq!(run.get(data(3)), []);
        assert_eq!(run.get(data(5)), [answer(3, &[1])]);
        assert_eq!(run.get_cut(probe(5)), [nack(3, &[1], 1)], "the report was lost");
        assert_eq!(run.receiver.duplicates(), 0);
    }

    #[test]
    fn going_back_n_the_packet_that_is_due_is_asked_for_once_when_it_was_cut() {
        let mut run = Run { recovery: Recovery::GoBackN, ..Run::default() };
        run.get(data(0));
        assert_eq!(run.get_cut(data(2)), [], "the one before it may be on its way");
        assert_eq!(run.get_cut(data(1)), [nack(1, &[], 0)]);
        assert_eq!(run.get_cut(data(1)), []);
        assert_eq!(run.get(data(2)), []);
    }

    #[test]
    fn lost_tail_is_reported_by_the_next_segment() {
        let mut run = Run::default();
        run.get(data(0));
        assert_eq!(run.get(data(3)), [nack(0, &[1, 2], 0)]);
        assert_eq!(run.get(data(4)), []);
        assert_eq!(run.get(data(5)), [ack(3)]);
        assert_eq!(run.messages, 0, "messages are delivered in order");
        run.get(Data { attempt: 1, ..data(1) });
        assert_eq!(run.get(Data { attempt: 1, ..data(2) }), [ack_of(0, 1)]);
        assert_eq!(run.messages, 1);
    }

    #[test]
    fn lost_whole_segments_are_reported_by_a_later_one() {
        let mut run = Run::default();
        (0..3).for_each(|n| drop(run.get(data(n))));
        assert_eq!(run.get(data(10)), [nack(3, &[0, 1, 2, 3, 4, 5], 0)]);
        assert_eq!(run.get(data(11)), [answer(9, &[0])]);
        for n in 3..9 {
            run.get(Data { attempt: 1, ..data(n) });
        }
        assert_eq!(run.messages, 1);
        assert_eq!(run.get(Data { attempt: 1, ack_request: true, ..data(9) }), [ack_of(9, 1)]);
        assert_eq!((run.messages, run.receiver.delivered_bytes()), (2, 1_200));
    }

    #[test]
    fn marks_are_counted_in_bytes() {
        let mut receiver = Receiver::default();
        let mut replies = Vec::new();
        for n in 0..3 {
            let push = |body| replies.push(body);
            receiver.handle(&data(n), n > 0, Recovery::Selective, push, |_| {});
        }
        assert_eq!(replies, [Body::Ack(Ack { segment: 0, ce_bytes: 200, attempt: 0 })]);
    }

    #[test]
    fn going_back_n_drops_what_is_out_of_order_and_asks_once() {
        let mut run = Run { recovery: Recovery::GoBackN, ..Run::default() };
        let due = |base, attempt| nack(base, &[], attempt);
        run.get(data(0));
        assert_eq!(run.get(data(2)), [due(1, 0)]);
        assert_eq!((run.get(data(3)), run.get(data(4))), (vec![], vec![]), "it was said");
        let again = |n| Data { attempt: 1, ..data(n) };
        assert_eq!((run.get(again(1)), run.get(again(2))), (vec![], vec![ack_of(0, 1)]));
        assert_eq!(run.receiver.delivered_bytes(), 300, "the first copy of 2 was dropped");
        assert_eq!(run.get(again(4)), [due(3, 1)], "another gap");
        assert_eq!(run.get(data(2)), [ack(0)], "a duplicate is acknowledged again");
        assert_eq!(run.receiver.duplicates(), 1);
    }
}
