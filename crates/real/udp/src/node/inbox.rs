//! The messages that arrive on a lane, put together from their packets.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// The most messages of a lane that may have begun before the oldest one is whole.
const MOST_AHEAD: usize = 1 << 16;
/// The memory that counts for a message beside its bytes: its books here, and its event later. So
/// messages without bytes are bounded, too.
pub(crate) const BOOKS_BYTES: usize = 128;
/// The memory that counts for the place of a message among those of its lane, whether any of it has
/// come or not: a message may come long before those that were sent before it.
pub(super) const PLACE_BYTES: usize = size_of::<Arriving>();

/// The reason why a piece is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untaken {
    /// There is no memory for its message now. Its sender will send it again.
    NoMemory,
    /// The piece contradicts what came before, or what the peers have agreed on.
    Wrong,
}

/// The messages of a lane that are not whole, from the oldest one on.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    messages: VecDeque<Arriving>,
    /// The number of the first of them on the lane.
    first: u64,
    /// The memory of all of them.
    bytes: usize,
}

/// A message that is not delivered.
#[derive(Clone, Debug, Default)]
enum Arriving {
    /// Nothing of it has come.
    #[default]
    Nothing,
    /// Some of it has come.
    Some(Partial),
    /// Its sender has given it up.
    GivenUp,
}

/// A message of which some has come.
#[derive(Clone, Debug)]
struct Partial {
    /// The length of the message.
    length: usize,
    /// The bytes up to the end of the last piece. The memory is there from the first piece on. Pieces
    /// that come in order are appended, so nothing is cleared before it is written.
    bytes: BytesMut,
}

impl Partial {
    /// Takes in bytes at a place. [`None`] if they are not all within the message.
    fn write(&mut self, from: usize, payload: &[u8]) -> Option<()> {
        let end = from.checked_add(payload.len()).filter(|&end| end <= self.length)?;
        if from == self.bytes.len() {
            self.bytes.extend_from_slice(payload);
            return Some(());
        }
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        self.bytes.get_mut(from..end)?.copy_from_slice(payload);
        Some(())
    }

    /// The bytes. A part that did not come is zero.
    fn finish(mut self) -> Bytes {
        self.bytes.resize(self.length, 0);
        self.bytes.freeze()
    }
}

/// The outcome of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// The message is whole.
    Whole(Bytes),
    /// The sender has given the message up.
    GivenUp,
}

/// A piece of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// The message, by its number on the lane.
    pub(super) message: u64,
    pub(super) length: u32,
    pub(super) offset: u32,
    /// Whether the message is given up.
    pub(super) given_up: bool,
    pub(super) payload: &'a [u8],
}

impl Inbox {
    /// Takes in a piece. Where that needs memory `admit` is asked, with whether the message is the
    /// oldest one that is not whole: it needs no other to be delivered. `room` gives the memory of
    /// a message. Returns the bytes that are free again, since the message is given up.
    pub(super) fn take(
        &mut self,
        piece: Piece<'_>,
        admit: impl FnOnce(usize, bool) -> bool,
        room: impl FnOnce(usize) -> BytesMut,
    ) -> Result<usize, Untaken> {
        let Piece { message, length, offset, given_up, payload } = piece;
        let Some(place) = message.checked_sub(self.first) else {
            return Ok(0); // a copy of what was delivered
        };
        let place = usize::try_from(place).ok().filter(|&place| place < MOST_AHEAD);
        let place = place.ok_or(Untaken::NoMemory)?;
        let length = length as usize;
        let is_new = matches!(self.messages.get(place), None | Some(Arriving::Nothing));
        let mut needs = (place + 1).saturating_sub(self.messages.len()) * PLACE_BYTES;
        if is_new && !given_up {
            needs += length + BOOKS_BYTES;
        }
        if needs > 0 && !admit(needs, place == 0) {
            return Err(Untaken::NoMemory);
        }
        self.bytes += needs;
        if place >= self.messages.len() {
            self.messages.resize(place + 1, Arriving::Nothing);
        }
        let arriving = &mut self.messages[place];
        if given_up {
            let before = std::mem::replace(arriving, Arriving::GivenUp);
            self.bytes -= before.bytes();
            return Ok(before.bytes());
        }
        if is_new {
            *arriving = Arriving::Some(Partial { length, bytes: room(length) });
        }
        let Arriving::Some(partial) = arriving else { return Ok(0) };
        let is_as_long = partial.length == length;
        let written = if is_as_long { partial.write(offset as usize, payload) } else { None };
        written.ok_or(Untaken::Wrong)?;
        Ok(0)
    }

    /// The outcome of the oldest message, which ends; its [`PLACE_BYTES`] are free again. [`None`] if
    /// none of it has come: the peer breaks the rules.
    pub(super) fn deliver(&mut self) -> Option<Arrived> {
        self.first += 1;
        let oldest = self.messages.pop_front()?;
        self.bytes -= PLACE_BYTES + oldest.bytes();
        match oldest {
            Arriving::Nothing => None,
            Arriving::Some(partial) => Some(Arrived::Whole(partial.finish())),
            Arriving::GivenUp => Some(Arrived::GivenUp),
        }
    }

    /// The memory of all messages that are not whole.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Arriving {
    /// The memory that it takes.
    fn bytes(&self) -> usize {
        match self {
            Self::Some(partial) => partial.length + BOOKS_BYTES,
            Self::Nothing | Self::GivenUp => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(message: u64, length: u32, offset: u32, payload: &[u8]) -> Piece<'_> {
        Piece { message, length, offset, given_up: false, payload }
    }

    /// Takes a piece with memory for any message.
    fn take(inbox: &mut Inbox, piece: Piece<'_>) -> Result<usize, Untaken> {
        inbox.take(piece, |_, _| true, BytesMut::with_capacity)
    }

    /// Takes a piece that needs no memory.
    fn take_for_nothing(inbox: &mut Inbox, piece: Piece<'_>) -> Result<usize, Untaken> {
        let refuse = |bytes: usize, _: bool| panic!("it needs {bytes} B");
        inbox.take(piece, refuse, BytesMut::with_capacity)
    }

    #[test]
    fn pieces_in_any_order_make_the_message_and_copies_change_nothing() {
        let mut inbox = Inbox::default();
        let mut admitted = Vec::new();
        let mut take = |inbox: &mut Inbox, piece| {
            let admit = |bytes, oldest| {
                admitted.push((bytes, oldest));
                true
            };
            inbox.take(piece, admit, BytesMut::with_capacity)
        };
        for next in [piece(1, 3, 0, b"xyz"), piece(0, 6, 4, b"ef"), piece(0, 6, 0, b"abcd")] {
            assert_eq!(take(&mut inbox, next), Ok(0));
        }
        assert_eq!(take(&mut inbox, piece(0, 6, 4, b"ef")), Ok(0));
        assert_eq!(inbox.bytes(), 9 + 2 * (BOOKS_BYTES + PLACE_BYTES));
        assert_eq!(inbox.deliver(), Some(Arrived::Whole("abcdef".into())));
        assert_eq!(take(&mut inbox, piece(0, 6, 4, b"ef")), Ok(0), "delivered");
        assert_eq!(inbox.deliver(), Some(Arrived::Whole("xyz".into())));
        assert_eq!(inbox.deliver(), None);
        assert_eq!(admitted, [(3 + BOOKS_BYTES + 2 * PLACE_BYTES, false), (6 + BOOKS_BYTES, true)]);
    }

    #[test]
    fn contradictions_are_wrong_and_what_memory_lacks_may_come_again() {
        let mut inbox = Inbox::default();
        let refused =
            |inbox: &mut Inbox, piece| inbox.take(piece, |_, _| false, BytesMut::with_capacity);
        assert_eq!(refused(&mut inbox, piece(0, 4, 0, b"ab")), Err(Untaken::NoMemory));
        // A far place takes memory for all before it, in whatever state the message is.
        let far = piece(60_000, 4, 0, b"ab");
        for piece in [far, Piece { given_up: true, ..far }] {
            assert_eq!(refused(&mut inbox, piece), Err(Untaken::NoMemory));
        }
        assert_eq!((inbox.bytes(), inbox.messages.len()), (0, 0));
        assert_eq!(take(&mut inbox, piece(0, 4, 0, b"ab")), Ok(0));
        assert_eq!(take(&mut inbox, piece(0, 9, 2, b"cd")), Err(Untaken::Wrong));
        assert_eq!(take(&mut inbox, piece(0, 4, 3, b"cd")), Err(Untaken::Wrong));
        let beyond = piece(u64::MAX, 4, 0, b"ab");
        assert_eq!(take(&mut inbox, beyond), Err(Untaken::NoMemory));
        assert_eq!(inbox.bytes(), 4 + BOOKS_BYTES + PLACE_BYTES);
    }

    #[test]
    fn a_message_that_is_given_up_frees_its_memory_in_any_order() {
        let end = |message| Piece { given_up: true, ..piece(message, 6, 4, b"e") };
        let mut inbox = Inbox::default();
        assert_eq!(take(&mut inbox, piece(0, 6, 0, b"abcd")), Ok(0));
        assert_eq!(take_for_nothing(&mut inbox, end(0)), Ok(6 + BOOKS_BYTES));
        assert_eq!(take_for_nothing(&mut inbox, end(0)), Ok(0));
        // The end comes first.
        assert_eq!(take(&mut inbox, end(1)), Ok(0));
        for message in [0, 1] {
            let copy = piece(message, 6, 0, b"abcd");
            assert_eq!(take_for_nothing(&mut inbox, copy), Ok(0));
            assert_eq!(inbox.bytes(), 2 * PLACE_BYTES);
        }
        let arrived = [(); 2].map(|()| inbox.deliver());
        assert_eq!(arrived, [Some(Arrived::GivenUp), Some(Arrived::GivenUp)]);
        assert_eq!(inbox.deliver(), None);
    }
}
