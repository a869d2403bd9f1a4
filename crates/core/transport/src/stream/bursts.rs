//! The bursts of a stream in order: all that is out while nothing unusual has happened.

use std::collections::VecDeque;

use incast_cc::{Bytes, Time};

use super::scoreboard::{Fate, Record};
use crate::packet::DueBy;
use crate::rate::{Books, Transmission};

/// The segments that the NIC got at one event, all in flight, sent once and in the order of the
/// stream. All are full but perhaps the last, and a message ends with the last or not at all.
///
/// The record of a segment follows from its burst: a burst fills one cache line, whatever its
/// length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// The first byte that is not acknowledged.
    start: u64,
    /// The end in the stream.
    end: u64,
    pub(super) sent_at: Time,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    lost: Bytes,
    /// The payload in flight with any segment of the burst, less the segment's end in the stream,
    /// modulo 2^32.
    in_flight: u32,
    /// The payload of the last segment.
    last: u16,
    ends_message: bool,
    app_limited: bool,
}

impl Burst {
    /// The transmission of the segment that ends at `end`, with `bytes` before that end. Positions
    /// in transmission order lie `shift` above those in the stream.
    #[inline]
    pub(super) fn transmission(&self, end: u64, bytes: u64, shift: u64) -> Transmission {
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
        let in_flight = (end as u32).wrapping_add(self.in_flight);
        Transmission {
            sent_at: self.sent_at,
            bytes: Bytes::new(bytes),
            first: Bytes::new(end - bytes + shift),
            end: Bytes::new(end + shift),
            in_flight: Bytes::new(u64::from(in_flight)),
            books: self.books(),
        }
    }

    const fn books(&self) -> Books {
        Books {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            app_limited: self.app_limited,
        }
    }

    /// The segment that starts at `sequence`: its payload, and whether it ends a message.
    #[inline]
    fn segment_at(&self, sequence: u64, full: u64) -> (u64, bool) {
        let payload = full.min(self.end - sequence);
        (payload, self.ends_message && sequence + payload == self.end)
    }
}

/// Segments that leave the NIC one after the other, and are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    /// The start of the first.
    pub(super) sequence: u64,
    /// The payload of each.
    pub(super) payload: u64,
    /// The number of segments.
    pub(super) count: u32,
    pub(super) ends_message: bool,
    /// The time at which the NIC got them.
    pub(super) since: Time,
}

/// The news of an ACK: the newest burst that it covers, and what else there is to tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered {
    pub(super) newest: Burst,
    /// The payload of the newest segment.
    pub(super) payload: u64,
    /// The number of messages that end in what is covered.
    pub(super) messages: u32,
}

/// The bursts that are out. The NIC still has a part of the last ones.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    queue: VecDeque<Burst>,
    /// The number of bursts, from the last one on, that have not left the NIC completely.
    leaving: usize,
    /// The first byte that has not left the NIC.
    left: u64,
    /// The payload of a full segment.
    full: u64,
}

impl Bursts {
    /// No bursts, of a stream whose full segments have this payload.
    pub(super) fn new(full: u32) -> Self {
        Self { queue: VecDeque::new(), leaving: 0, left: 0, full: u64::from(full) }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The first byte that has not left the NIC.
    #[inline]
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// Whether the first segment that is out has left the NIC.
    #[inline]
    pub(super) fn has_left(&self) -> bool {
        self.queue.front().is_some_and(|front| self.left > front.start)
    }

    /// Whether fewer than `segments` are out.
    pub(super) fn are_fewer_than(&self, segments: u64) -> bool {
        let mut out = 0;
        self.queue.iter().all(|burst| {
            out += (burst.end - burst.start).div_ceil(self.full);
            out < segments
        })
    }

    /// Opens a burst with `bytes` of full segments, and the books that all of it shares. If there
    /// are none, [`extend`](Self::extend) must follow.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "bounded when the stream starts")]
    pub(super) fn open(
        &mut self,
        now: Time,
        start: u64,
        bytes: u64,
        in_flight: u64,
        books: &Books,
    ) {
        let Books { delivered, delivered_at, first_sent_at, lost, app_limited } = *books;
        self.leaving += 1;
        self.queue.push_back(Burst {
            start,
            end: start + bytes,
            sent_at: now,
            delivered,
            delivered_at,
            first_sent_at,
            lost,
            in_flight: (in_flight.wrapping_sub(start)) as u32,
            last: self.full as u16,
            ends_message: false,
            app_limited,
        });
    }

    /// Adds a segment to the open burst; returns whether it stays open.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "bounded when the stream starts")]
    pub(super) fn extend(&mut self, payload: u64, ends_message: bool) -> bool {
        let Some(burst) = self.queue.back_mut() else { return false };
        burst.end += payload;
        (burst.last, burst.ends_message) = (payload as u16, ends_message);
        payload == self.full && !ends_message
    }

    /// Adds `bytes` of full segments to the open burst, which end no message.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "bounded when the stream starts")]
    pub(super) fn extend_by(&mut self, bytes: u64) {
        if let Some(burst) = self.queue.back_mut() {
            burst.end += bytes;
            (burst.last, burst.ends_message) = (self.full as u16, false);
        }
    }

    /// Takes the next segments out of the NIC: `most` of them, or as many as are alike.
    #[expect(clippy::inline_always, reason = "in the way of every segment that leaves")]
    #[inline(always)]
    pub(super) fn leave(&mut self, most: u32) -> Option<Leaving> {
        let place = self.queue.len() - self.leaving;
        let burst = self.queue.get(place)?;
        let (sequence, end) = (self.left, burst.end);
        let (payload, ends_message) = burst.segment_at(sequence, self.full);
        self.left += payload;
        let mut count = 1;
        let last = if burst.ends_message { end - u64::from(burst.last) } else { end };
        while count < most && self.left + payload <= last {
            self.left += payload;
            count += 1;
        }
        self.leaving -= usize::from(self.left == end);
        Some(Leaving { sequence, payload, count, ends_message, since: burst.sent_at })
    }

    /// Puts the last `bytes` that have left back into the NIC.
    pub(super) fn put_back(&mut self, bytes: u64) {
        self.left -= bytes;
        let left = self.left;
        self.leaving = self.queue.iter().rev().take_while(|burst| burst.end > left).count();
    }

    /// The time since which the first segment in the NIC waits.
    pub(super) fn waits_since(&self) -> Option<Time> {
        self.queue.get(self.queue.len() - self.leaving).map(|burst| burst.sent_at)
    }

    /// Takes out what lies below `sequence`, which is out and has left the NIC.
    #[inline]
    pub(super) fn acknowledge(&mut self, sequence: u64) -> Covered {
        debug_assert!(sequence <= self.left, "{sequence} has not left");
        let mut messages = 0;
        loop {
            let front = self.queue.front_mut();
            let front = front.unwrap_or_else(|| unreachable!("the ACK is about data that is out"));
            let newest = *front;
            if sequence < newest.end {
                front.start = sequence;
                return Covered { newest, payload: self.full, messages };
            }
            messages += u32::from(newest.ends_message);
            self.queue.pop_front();
            if sequence == newest.end {
                return Covered { newest, payload: u64::from(newest.last), messages };
            }
        }
    }

    /// Takes all out, as records of single segments.
    pub(super) fn take_records(&mut self, shift: u64) -> impl Iterator<Item = Record> + use<> {
        let (full, bursts) = (self.full, std::mem::take(&mut self.queue));
        self.leaving = 0;
        bursts.into_iter().flat_map(move |burst| {
            let mut sequence = burst.start;
            std::iter::from_fn(move || {
                let (payload, ends_message) = burst.segment_at(sequence, full);
                if payload == 0 {
                    return None;
                }
                let start = sequence;
                sequence += payload;
                Some(Record {
                    sequence: start,
                    #[expect(clippy::cast_possible_truncation, reason = "at most an MSS")]
                    payload: payload as u32,
                    ends_message,
                    read: 0,
                    due: DueBy::NONE,
                    sent: burst.transmission(sequence, payload, shift),
                    fate: Fate::Flying,
                    sent_again: false,
                    episode: 0,
                })
            })
        })
    }

    /// Puts back what records say; data from `left` on is in the NIC.
    pub(super) fn put_records(&mut self, records: impl Iterator<Item = Record>, left: u64) {
        debug_assert!(self.queue.is_empty());
        self.left = left;
        for Record { sequence, payload, ends_message, sent, .. } in records {
            let payload = u64::from(payload);
            let before = sent.in_flight.get().wrapping_sub(payload);
            #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
            let in_flight = before.wrapping_sub(sequence) as u32;
            let joins = self.queue.back().is_some_and(|back| {
                let books = back.books() == sent.books && back.in_flight == in_flight;
                let open = !back.ends_message && u64::from(back.last) == self.full;
                books && open && back.sent_at == sent.sent_at
            });
            if !joins {
                self.open(sent.sent_at, sequence, 0, before, &sent.books);
            }
            self.extend(payload, ends_message);
        }
        self.put_back(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_fills_a_cache_line() {
        assert_eq!(size_of::<Burst>(), 64);
    }

    fn at(us: u64) -> Time {
        Time::ZERO + incast_cc::Span::from_us(us)
    }

    /// Segments of 1,000 B: three at 1 us, of which the third ends a message with 200 B; two at 2
    /// us.
    fn two_bursts() -> Bursts {
        let mut bursts = Bursts::new(1_000);
        bursts.open(at(1), 0, 0, 0, &Books::default());
        assert!(bursts.extend(1_000, false) && bursts.extend(1_000, false));
        assert!(!bursts.extend(200, true), "a message ends");
        let books = Books { delivered: Bytes::new(7), delivered_at: at(2), ..Books::default() };
        bursts.open(at(2), 2_200, 0, 2_200, &books);
        assert!(bursts.extend(1_000, false) && bursts.extend(1_000, false));
        bursts
    }

    #[test]
    fn segments_leave_in_order_and_can_be_put_back() {
        let mut bursts = two_bursts();
        let leaving = |bursts: &mut Bursts| -> Vec<_> {
            std::iter::from_fn(|| bursts.leave(1))
                .map(|s| (s.sequence, s.payload, s.ends_message, s.since))
                .collect()
        };
        let all = leaving(&mut bursts);
        let message = (2_000, 200, true, at(1));
        assert_eq!((all.len(), all[2]), (5, message));
        assert_eq!((all[4], bursts.left()), ((3_200, 1_000, false, at(2)), 4_200));
        bursts.put_back(2_200);
        assert_eq!((bursts.left(), bursts.waits_since()), (2_000, Some(at(1))));
        assert_eq!(leaving(&mut bursts), all[2..]);
        assert_eq!((bursts.leave(1), bursts.waits_since()), (None, None));
    }

    #[test]
    fn segments_that_are_alike_leave_together() {
        let mut bursts = two_bursts();
        let leaving = |bursts: &mut Bursts, most| {
            let left = bursts.leave(most).unwrap();
            (left.sequence, left.payload, left.count, left.ends_message)
        };
        assert_eq!(leaving(&mut bursts, 9), (0, 1_000, 2, false));
        assert_eq!(leaving(&mut bursts, 9), (2_000, 200, 1, true), "it ends a message");
        assert_eq!(leaving(&mut bursts, 9), (2_200, 1_000, 2, false));
        bursts.put_back(4_200);
        assert_eq!(leaving(&mut bursts, 1), (0, 1_000, 1, false));
    }

    #[test]
    fn an_ack_covers_whole_bursts_and_parts() {
        let mut bursts = two_bursts();
        while bursts.leave(2).is_some() {}
        assert!(!bursts.are_fewer_than(5) && bursts.are_fewer_than(6));
        let covered = bursts.acknowledge(1_000);
        assert_eq!((covered.payload, covered.messages, covered.newest.sent_at), (1_000, 0, at(1)));
        let covered = bursts.acknowledge(2_200);
        assert_eq!((covered.payload, covered.messages), (200, 1));
        let sent = covered.newest.transmission(2_200, 1_200, 50);
        assert_eq!((sent.first, sent.end), (Bytes::new(1_050), Bytes::new(2_250)));
        assert_eq!(sent.in_flight, Bytes::new(2_200));
        let covered = bursts.acknowledge(4_200);
        assert_eq!((covered.payload, covered.messages, covered.newest.sent_at), (1_000, 0, at(2)));
        assert!(bursts.is_empty());
    }

    #[test]
    fn records_make_the_same_bursts() {
        let mut bursts = two_bursts();
        bursts.leave(1);
        let before = format!("{bursts:?}");
        let records: Vec<_> = bursts.take_records(9).collect();
        assert_eq!(records.len(), 5);
        let last = &records[4];
        assert_eq!((last.sequence, last.sent.end), (3_200, Bytes::new(4_209)));
        assert_eq!(
            (last.sent.in_flight, last.sent.books.delivered),
            (Bytes::new(4_200), Bytes::new(7))
        );
        bursts.put_records(records.into_iter(), 1_000);
        assert_eq!(format!("{bursts:?}"), before);
    }
}
