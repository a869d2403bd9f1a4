//! The messages that a lane sends, with their bytes until the peer has them.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::message::HEAD_BYTES;

/// A message that is being sent.
#[derive(Debug)]
pub(super) struct Sending {
    /// The start of the message in all that the lane has posted.
    start: u64,
    head: [u8; HEAD_BYTES],
    body: Bytes,
    /// The thing to tell of when the peer has the message.
    pub(super) token: Token,
}

/// The thing that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A call of this node.
    Call(u64),
    /// A note of this node.
    Note(u64),
    /// A reply, of which nobody is told.
    Reply,
}

/// A place in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The message, by its number on the lane.
    pub(super) message: u64,
    /// The length of the message.
    pub(super) length: u32,
    /// The place in the message.
    pub(super) offset: u32,
}

/// The messages of a lane that are not acknowledged, in the order of posting.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    messages: VecDeque<Sending>,
    /// The number of the first of them on the lane.
    first: u64,
    /// All that was posted, in bytes.
    posted: u64,
    /// The message that was read last: the next packet is probably of it, too.
    recent: usize,
}

impl Sending {
    /// The length of the message with its head.
    pub(super) fn length(&self) -> u64 {
        (HEAD_BYTES + self.body.len()) as u64
    }
}

impl Outbox {
    /// Adds a message, and returns its length with the head.
    pub(super) fn post(&mut self, head: [u8; HEAD_BYTES], body: Bytes, token: Token) -> u64 {
        let sending = Sending { start: self.posted, head, body, token };
        let length = sending.length();
        self.posted += length;
        self.messages.push_back(sending);
        length
    }

    /// The bytes that are not acknowledged.
    pub(super) fn bytes(&self) -> u64 {
        self.posted - self.messages.front().map_or(self.posted, |sending| sending.start)
    }

    /// Forgets the oldest message, which the peer has.
    pub(super) fn acknowledged(&mut self) -> Option<Sending> {
        self.first += 1;
        self.recent = self.recent.saturating_sub(1);
        self.messages.pop_front()
    }

    /// Finds the message at a place in all that was posted, and `bytes` of it from there on. They
    /// are copied to `scratch` if the head is among them. [`None`] if the message is acknowledged,
    /// or ends before.
    pub(super) fn read<'a>(
        &'a mut self,
        at: u64,
        bytes: usize,
        scratch: &'a mut [u8],
    ) -> Option<(Place, &'a [u8])> {
        let holds =
            |sending: &Sending| sending.start <= at && at < sending.start + sending.length();
        if !self.messages.get(self.recent).is_some_and(holds) {
            self.recent =
                self.messages.partition_point(|sending| sending.start <= at).checked_sub(1)?;
        }
        let sending = self.messages.get(self.recent).filter(|sending| holds(sending))?;
        let offset = usize::try_from(at - sending.start).ok()?;
        let place = Place {
            message: self.first + self.recent as u64,
            length: u32::try_from(sending.length()).ok()?,
            offset: u32::try_from(offset).ok()?,
        };
        let from = offset.max(HEAD_BYTES) - HEAD_BYTES;
        if offset >= HEAD_BYTES {
            return Some((place, sending.body.get(from..from + bytes)?));
        }
        let scratch = scratch.get_mut(..bytes)?;
        let (head, body) = scratch.split_at_mut(bytes.min(HEAD_BYTES - offset));
        head.copy_from_slice(&sending.head[offset..offset + head.len()]);
        body.copy_from_slice(sending.body.get(..body.len())?);
        Some((place, scratch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_of_any_message_is_read_where_it_lies() {
        let mut outbox = Outbox::default();
        let lengths = [0_usize, 5, 300, 1, 0, 77];
        let mut all = Vec::new();
        let mut places = Vec::new();
        for (number, &length) in lengths.iter().enumerate() {
            let byte = u8::try_from(number).unwrap();
            let body: Vec<u8> =
                (0..length).map(|n| byte.wrapping_mul(31) ^ n.to_le_bytes()[0]).collect();
            all.extend([byte + 100; HEAD_BYTES]);
            all.extend(&body);
            let posted =
                outbox.post([byte + 100; HEAD_BYTES], body.into(), Token::Note(number as u64));
            assert_eq!(posted, (HEAD_BYTES + length) as u64);
            places.extend((0..posted).map(|offset| (number as u64, posted, offset)));
        }
        assert_eq!(outbox.bytes(), all.len() as u64);
        for at in (0..all.len()).chain((0..all.len()).rev()) {
            let (message, length, offset) = places[at];
            for bytes in [1, 7, 16, 40, usize::try_from(length - offset).unwrap()] {
                let mut scratch = [0; 400];
                let read = outbox.read(at as u64, bytes, &mut scratch);
                if offset + bytes as u64 > length {
                    assert_eq!(read, None, "{at} {bytes}");
                    continue;
                }
                let (place, read) = read.unwrap();
                assert_eq!(read, &all[at..at + bytes]);
                let told = (place.message, u64::from(place.length), u64::from(place.offset));
                assert_eq!(told, (message, length, offset));
            }
        }
        assert_eq!(outbox.acknowledged().map(|sending| sending.token), Some(Token::Note(0)));
        assert_eq!(outbox.read(3, 1, &mut [0]), None, "acknowledged");
        assert_eq!(outbox.read(16, 1, &mut [0]).map(|(place, _)| place.message), Some(1));
        assert_eq!(outbox.bytes(), all.len() as u64 - 16);
        assert_eq!(outbox.read(all.len() as u64, 1, &mut [0]), None, "not posted");
    }
}
