//! Messages that applications have posted and senders have not sent yet.

use std::collections::VecDeque;

use incast_cc::{Bytes, Time};

use crate::connection::ENDLESS;
use crate::packet::DueBy;

/// A message as it is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    /// The size, or [`ENDLESS`].
    pub(crate) bytes: u64,
    /// The deadline.
    pub(crate) deadline: Option<Time>,
    /// The bytes that it asks the peer for; zero for none.
    pub(crate) read: u64,
    /// The deadline of what it asks for.
    pub(crate) due: DueBy,
}

impl Posted {
    /// A message of `bytes` that asks for nothing and has no deadline.
    pub(crate) const fn of(bytes: u64) -> Self {
        Self { bytes, deadline: None, read: 0, due: DueBy::NONE }
    }
}

/// The messages of one connection that are not sent completely, in the order of posting.
#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    queue: VecDeque<Message>,
    /// The total payload posted; [`None`] once a message has no end.
    posted: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    remaining: u64,
    read: u64,
    due: DueBy,
    /// The time of posting, until the first byte is cut off.
    untouched_since: Option<Time>,
}

/// A part of a message that is sent as one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: u32,
    pub(crate) ends_message: bool,
    /// The bytes that the message asks the peer for; zero for none.
    pub(crate) read: u64,
    /// The deadline of what it asks for.
    pub(crate) due: DueBy,
    /// The rest of the message behind the part, [`ENDLESS`] where it has no end.
    pub(crate) rest: u64,
    /// The time of posting, in the first part of a message.
    pub(crate) begins: Option<Time>,
}

/// Payload of a message that was taken back before it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Withdrawn {
    pub(crate) bytes: Bytes,
    /// Whether nothing of the message has left.
    pub(crate) is_whole: bool,
}

impl Backlog {
    pub(crate) const fn new() -> Self {
        Self { queue: VecDeque::new(), posted: Some(Bytes::ZERO) }
    }

    /// Queues a message of `bytes`, or [`ENDLESS`]. Returns its size, if it has one.
    pub(crate) fn post(&mut self, now: Time, posted: &Posted) -> Option<Bytes> {
        let &Posted { bytes, read, due, .. } = posted;
        let size = (bytes != ENDLESS).then_some(Bytes::new(bytes));
        self.posted = self.posted.zip(size).map(|(posted, size)| posted + size);
        let untouched_since = Some(now);
        self.queue.push_back(Message { remaining: bytes, read, due, untouched_since });
        size
    }

    /// Takes the unsent payload of a message back, which was posted before the last `after` ones:
    /// of one that has begun, all but a byte that ends it. [`None`] if it has left, or has no end.
    pub(crate) fn withdraw(&mut self, after: usize) -> Option<Withdrawn> {
        let place = self.queue.len().checked_sub(after)?.checked_sub(1)?;
        let posted = self.posted?;
        let message = self.queue.get_mut(place)?;
        let is_whole = message.untouched_since.is_some();
        let kept = u64::from(!is_whole);
        let bytes = Bytes::new(message.remaining - kept);
        message.remaining = kept;
        self.posted = Some(posted - bytes);
        if is_whole {
            self.queue.remove(place);
        }
        Some(Withdrawn { bytes, is_whole })
    }

    /// The end, in all payload posted, of the unsent message that was posted before the last
    /// `after` ones.
    pub(crate) fn end(&self, after: usize) -> Option<Bytes> {
        let place = self.queue.len().checked_sub(after)?;
        let later: u64 = self.queue.range(place..).map(|message| message.remaining).sum();
        self.posted.map(|posted| posted - Bytes::new(later))
    }

    /// The total payload posted; [`None`] once a message has no end.
    pub(crate) const fn posted(&self) -> Option<Bytes> {
        self.posted
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The unsent payload of the first message; zero where there is none.
    #[inline]
    pub(crate) fn remaining(&self) -> u64 {
        self.queue.front().map_or(0, |message| message.remaining)
    }

    /// The payload that can be cut off the first message so that it neither begins nor ends there,
    /// and asks the peer for nothing.
    #[inline]
    pub(crate) fn inner(&self) -> u64 {
        match self.queue.front() {
            Some(&Message { remaining, read: 0, untouched_since: None, .. }) => remaining - 1,
            _ => 0,
        }
    }

    /// Cuts `bytes` off the first message, at most its [inner](Self::inner) part.
    #[inline]
    pub(crate) fn cut_inner(&mut self, bytes: u64) {
        if let Some(message) = self.queue.front_mut()
            && message.remaining != ENDLESS
        {
            message.remaining -= bytes;
        }
    }

    /// Cuts up to `most` bytes off the first message.
    pub(crate) fn cut(&mut self, most: u32) -> Option<Piece> {
        let message = self.queue.front_mut()?;
        let bytes = u32::try_from(message.remaining).map_or(most, |remaining| remaining.min(most));
        if message.remaining != ENDLESS {
            message.remaining -= u64::from(bytes);
        }
        let Message { remaining: rest, read, due, .. } = *message;
        let ends_message = rest == 0;
        let begins = message.untouched_since.take();
        if ends_message {
            self.queue.pop_front();
        }
        Some(Piece { bytes, ends_message, read, due, rest, begins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_within_its_bounds_and_begins_once() {
        let mut messages = Backlog::new();
        let posted_at = Time::from_ps(7);
        messages.post(posted_at, &Posted { read: 9, ..Posted::of(2_500) });
        messages.post(posted_at, &Posted::of(10));
        let cut = |messages: &mut Backlog| {
            let piece = messages.cut(1_000).unwrap();
            (piece.bytes, piece.begins.is_some(), piece.ends_message, piece.read)
        };
        assert_eq!(cut(&mut messages), (1_000, true, false, 9));
        assert_eq!(cut(&mut messages), (1_000, false, false, 9));
        assert_eq!(cut(&mut messages), (500, false, true, 9));
        assert_eq!(cut(&mut messages), (10, true, true, 0));
        assert!(messages.is_empty() && messages.cut(1_000).is_none());
        assert_eq!(messages.posted(), Some(Bytes::new(2_510)));
    }

    #[test]
    fn a_message_is_taken_back_whole_or_but_for_a_byte_that_ends_it() {
        let mut messages = Backlog::new();
        for n in 1..=4 {
            messages.post(Time::ZERO, &Posted::of(n * 1_000));
        }
        assert_eq!(messages.cut(300).map(|piece| piece.rest), Some(700));
        let ends = [3, 2, 1, 0].map(|after| messages.end(after).map(Bytes::get));
        assert_eq!(ends, [Some(1_000), Some(3_000), Some(6_000), Some(10_000)]);
        let of = |bytes, is_whole| Some(Withdrawn { bytes: Bytes::new(bytes), is_whole });
        assert_eq!(messages.withdraw(1), of(3_000, true));
        assert_eq!(messages.withdraw(2), of(699, false));
        assert_eq!(messages.withdraw(2), of(0, false), "nothing more");
        assert_eq!(messages.withdraw(3), None, "there are three");
        assert_eq!(messages.withdraw(usize::MAX), None);
        assert_eq!(messages.posted(), Some(Bytes::new(6_301)));
        let ends = |piece: Piece| (piece.bytes, piece.ends_message);
        assert_eq!(messages.cut(5_000).map(ends), Some((1, true)));
        assert_eq!(messages.cut(5_000).map(ends), Some((2_000, true)));
        assert_eq!(messages.withdraw(1), None, "it has left");
        assert_eq!(messages.withdraw(0), of(4_000, true));
        assert!(messages.is_empty());
    }

    #[test]
    fn a_message_without_end_stays() {
        let mut messages = Backlog::new();
        assert_eq!(messages.post(Time::ZERO, &Posted::of(ENDLESS)), None);
        assert_eq!(messages.withdraw(0), None);
        (0..10).for_each(|_| assert_eq!(messages.cut(64_000).unwrap().bytes, 64_000));
        assert_eq!((messages.remaining(), messages.posted()), (ENDLESS, None));
    }
}
