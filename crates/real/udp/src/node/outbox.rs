//! The messages that a lane sends, with their bytes until the peer has them.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::message::HEAD_BYTES;

/// A message that is being sent.
#[derive(Debug)]
pub(super) struct Sending {
    /// The number of the message among all that were posted.
    number: u64,
    /// The start of the message in all that the lane sends; [`UNKNOWN`] before any of it is read,
    /// since messages before it may still be withdrawn.
    start: u64,
    head: [u8; HEAD_BYTES],
    /// The body, without the `gone` first bytes.
    body: Bytes,
    gone: usize,
    /// The length of the message with its head, as the peer is told.
    told: u64,
    /// The length that is sent: less in a message that is given up.
    length: u64,
    /// Whether the message is given up.
    given_up: bool,
    /// The thing to tell of when the peer has the message.
    pub(super) token: Token,
}

/// The memory that counts for a message beside its bytes: here, in the transport, and among the
/// replies of a peer.
pub(super) const SENDING_BYTES: u64 = 256;
/// The start of a message of which nothing was read.
const UNKNOWN: u64 = u64::MAX;

/// The thing that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A call of this node.
    Call(u64),
    /// A note of this node.
    Note(u64),
    /// A reply or a refusal, by the number that the caller has given its call.
    Reply(u64),
    /// A message of which nobody is told: the end of a call, or one that is given up.
    Nobody,
}

/// A place in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The message, by its number on the wire: those that were withdrawn whole have none.
    pub(super) message: u64,
    /// The length of the message.
    pub(super) length: u32,
    /// The place in the message.
    pub(super) offset: u32,
    /// Whether the message is given up and ends with what was read.
    pub(super) given_up: bool,
}

/// The messages of a lane that are not acknowledged, in the order of posting.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    messages: VecDeque<Sending>,
    /// The number on the wire of the first of them.
    first: u64,
    /// The number of messages that were posted.
    posted: u64,
    /// The bytes that are not acknowledged.
    bytes: u64,
    /// The number of messages from the first on whose start is known.
    known: usize,
    /// The end of the last of them.
    known_to: u64,
    /// The message that was read last: the next packet is probably of it, too, or of the next one.
    recent: usize,
}

impl Sending {
    /// The bytes of the message that are sent, with its head.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl Outbox {
    /// Adds a message, and returns its number.
    pub(super) fn post(&mut self, head: [u8; HEAD_BYTES], body: Bytes, token: Token) -> u64 {
        let (number, length) = (self.posted, (HEAD_BYTES + body.len()) as u64);
        self.messages.push_back(Sending {
            number,
            start: UNKNOWN,
            head,
            body,
            gone: 0,
            told: length,
            length,
            given_up: false,
            token,
        });
        (self.posted, self.bytes) = (self.posted + 1, self.bytes + length);
        number
    }

    /// The bytes that are not acknowledged.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory of all messages: of empty ones, too.
    pub(super) fn memory(&self) -> u64 {
        self.bytes + self.messages.len() as u64 * SENDING_BYTES
    }

    /// The lengths of all messages.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u64> {
        self.messages.iter().map(Sending::length)
    }

    /// Forgets the oldest message, which the peer has.
    pub(super) fn acknowledged(&mut self) -> Option<Sending> {
        self.know(0);
        let sending = self.messages.pop_front()?;
        self.first += 1;
        self.known -= 1;
        self.recent = self.recent.saturating_sub(1);
        self.bytes -= sending.length;
        Some(sending)
    }

    /// The place of a message, by its number; [`None`] if it is acknowledged or withdrawn.
    pub(super) fn place(&self, number: u64) -> Option<usize> {
        self.messages.binary_search_by_key(&number, |sending| sending.number).ok()
    }

    /// The length of the message at a place, and the number of messages behind it.
    pub(super) fn length_and_later(&self, place: usize) -> (u64, usize) {
        (self.messages[place].length, self.messages.len() - place - 1)
    }

    /// Takes the last `bytes` of the message at a place out, which are not sent. If those are not
    /// all, the message is given up: it ends there. Nothing before `from` in all that the lane
    /// sends is read again.
    pub(super) fn withdraw(&mut self, place: usize, bytes: u64, from: u64) {
        self.bytes -= bytes;
        if self.messages[place].length == bytes {
            debug_assert!(place >= self.known, "none of it was read");
            self.messages.remove(place);
            return;
        }
        // All before a message that has begun has left.
        self.know(place);
        debug_assert_eq!(place + 1, self.known, "nothing behind it was read");
        self.known_to -= bytes;
        let sending = &mut self.messages[place];
        sending.length -= bytes;
        (sending.given_up, sending.token) = (true, Token::Nobody);
        // A part of a body keeps all of it in memory, so the part is copied.
        let place_of = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let end = place_of(sending.length).saturating_sub(HEAD_BYTES);
        let gone = place_of(from.saturating_sub(sending.start)).saturating_sub(HEAD_BYTES).min(end);
        if let Some(rest) = sending.body.get(gone..end) {
            (sending.body, sending.gone) = (Bytes::copy_from_slice(rest), gone);
        }
    }

    /// Makes sure that the start of a message is known.
    fn know(&mut self, place: usize) {
        while self.known <= place {
            let Some(sending) = self.messages.get_mut(self.known) else { return };
            sending.start = self.known_to;
            self.known_to += sending.length;
            self.known += 1;
        }
    }

    /// Finds the message at a place in all that the lane sends, and `bytes` of it from there on.
    /// They are copied to `scratch` if the head is among them. [`None`] if the message is acknowledged,
    /// or ends before.
    pub(super) fn read<'a>(
        &'a mut self,
        at: u64,
        bytes: usize,
        scratch: &'a mut [u8],
    ) -> Option<(Place, &'a [u8])> {
        while at >= self.known_to && self.known < self.messages.len() {
            self.know(self.known);
        }
        let holds = |sending: &Sending| sending.start <= at && at - sending.start < sending.length;
        let mut near = [self.recent, self.recent + 1].into_iter();
        self.recent = match near.find(|&place| self.messages.get(place).is_some_and(holds)) {
            Some(place) => place,
            None => self.messages.partition_point(|sending| sending.start <= at).checked_sub(1)?,
        };
        let sending = self.messages.get(self.recent).filter(|sending| holds(sending))?;
        let offset = at - sending.start;
        let place = Place {
            message: self.first + self.recent as u64,
            length: u32::try_from(sending.told).ok()?,
            offset: u32::try_from(offset).ok()?,
            given_up: sending.given_up && offset + bytes as u64 == sending.length,
        };
        let offset = usize::try_from(offset).ok()?;
        if offset >= HEAD_BYTES {
            let from = (offset - HEAD_BYTES).checked_sub(sending.gone)?;
            return Some((place, sending.body.get(from..from + bytes)?));
        }
        let scratch = scratch.get_mut(..bytes)?;
        let (head, body) = scratch.split_at_mut(bytes.min(HEAD_BYTES - offset));
        head.copy_from_slice(&sending.head[offset..offset + head.len()]);
        if !body.is_empty() {
            let rest = sending.body.get(..body.len()).filter(|_| sending.gone == 0)?;
            body.copy_from_slice(rest);
        }
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
            let posted = (HEAD_BYTES + length) as u64;
            let of = outbox.post([byte + 100; HEAD_BYTES], body.into(), Token::Note(number as u64));
            assert_eq!((of, outbox.lengths().last()), (number as u64, Some(posted)));
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
    /// Bytes of a body, different for each message.
    fn body(number: u8) -> Bytes {
        vec![number; 100].into()
    }

    #[test]
    fn messages_that_have_not_begun_are_withdrawn_and_the_next_take_their_places() {
        let mut outbox = Outbox::default();
        for number in 0..5 {
            outbox.post([number; HEAD_BYTES], body(number), Token::Note(number.into()));
        }
        let mut scratch = [0; 200];
        assert_eq!(outbox.read(0, 116, &mut scratch).map(|(place, _)| place.message), Some(0));
        for (number, later) in [(2, 2), (1, 2)] {
            let place = outbox.place(number).unwrap();
            assert_eq!(outbox.length_and_later(place), (116, later));
            outbox.withdraw(place, 116, 0);
            assert_eq!(outbox.place(number), None);
        }
        assert_eq!(outbox.bytes(), 3 * 116);
        for (at, message, byte) in [(0, 0, 0), (116, 1, 3), (232, 2, 4)] {
            let (place, read) = outbox.read(at, 116, &mut scratch).unwrap();
            assert_eq!((place.message, place.offset, place.given_up), (message, 0, false));
            assert_eq!(read, [byte; 116]);
        }
        assert_eq!(outbox.acknowledged().map(|sending| sending.token), Some(Token::Note(0)));
        assert_eq!(outbox.acknowledged().map(|sending| sending.token), Some(Token::Note(3)));
        assert_eq!((outbox.bytes(), outbox.place(4)), (116, Some(0)));
    }

    #[test]
    fn a_message_that_has_begun_ends_early_and_keeps_what_may_be_sent_again() {
        let mut outbox = Outbox::default();
        outbox.post([7; HEAD_BYTES], body(7), Token::Note(0));
        let long: Vec<u8> = (0..=255).collect();
        outbox.post([8; HEAD_BYTES], long.clone().into(), Token::Note(1));
        outbox.post([9; HEAD_BYTES], body(9), Token::Note(2));
        // 100 B of the second have left, of which the peer has 40, and one is to end it.
        let mut scratch = [0; 300];
        assert!(outbox.read(116, 100, &mut scratch).is_some());
        outbox.withdraw(1, 272 - 101, 116 + 40);
        assert_eq!(outbox.bytes(), 116 + 101 + 116);
        assert_eq!(outbox.messages[1].body.len(), 101 - 40, "the rest is free");
        let (place, read) = outbox.read(116 + 40, 60, &mut scratch).unwrap();
        assert_eq!((place.length, place.offset, place.given_up), (272, 40, false));
        assert_eq!(read, &long[24..84]);
        let (place, read) = outbox.read(116 + 100, 1, &mut scratch).unwrap();
        assert_eq!((place.message, place.length, place.offset), (1, 272, 100));
        assert_eq!((place.given_up, read), (true, &long[84..85]));
        assert_eq!(outbox.read(116, 40, &mut scratch), None, "the peer has it");
        let (place, _) = outbox.read(116 + 101, 116, &mut scratch).unwrap();
        assert_eq!((place.message, place.offset, place.given_up), (2, 0, false));
        outbox.acknowledged();
        assert_eq!(outbox.acknowledged().map(|sending| sending.token), Some(Token::Nobody));
        assert_eq!(outbox.bytes(), 116);
        // A message may end with its head.
        outbox.withdraw(0, 100, 217);
        assert_eq!(outbox.read(217, 16, &mut scratch).map(|(place, _)| place.given_up), Some(true));
    }
}
