//! The messages that arrive on a lane, put together from their packets.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// The most messages of a lane that may have begun before the oldest one is whole.
const MOST_AHEAD: usize = 1 << 16;
/// The memory that counts for a message beside its bytes: its books here, and its event later. So
/// messages without bytes are bounded, too.
pub(super) const BOOKS_BYTES: usize = 128;

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
    messages: VecDeque<Option<Partial>>,
    /// The number of the first of them on the lane.
    first: u64,
}

/// A message that is not whole.
#[derive(Clone, Debug)]
struct Partial {
    /// The length of the message.
    length: usize,
    /// The bytes from its start to the end of the last piece. The memory is there from the first
    /// piece on. Pieces that come in order are appended, so nothing is cleared before it is written.
    bytes: BytesMut,
}

impl Partial {
    /// A message of a length, of which nothing has come, in empty memory.
    const fn new(length: usize, bytes: BytesMut) -> Self {
        Self { length, bytes }
    }

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

/// A piece of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// The message, by its number on the lane.
    pub(super) message: u64,
    pub(super) length: u32,
    pub(super) offset: u32,
    pub(super) payload: &'a [u8],
}

impl Inbox {
    /// Takes in a piece. For the first one of a message `admit` is asked for its memory, with
    /// whether the message is the oldest one that is not whole: it needs no other to be delivered.
    pub(super) fn take(
        &mut self,
        piece: Piece<'_>,
        admit: impl FnOnce(usize, bool) -> Option<BytesMut>,
    ) -> Result<(), Untaken> {
        let Piece { message, length, offset, payload } = piece;
        let Some(place) = message.checked_sub(self.first) else {
            return Ok(()); // a copy of what was delivered
        };
        let place = usize::try_from(place).ok().filter(|&place| place < MOST_AHEAD);
        let place = place.ok_or(Untaken::NoMemory)?;
        if place >= self.messages.len() {
            self.messages.resize(place + 1, None);
        }
        let length = length as usize;
        let partial = match &mut self.messages[place] {
            Some(partial) => partial,
            empty => {
                let memory = admit(length + BOOKS_BYTES, place == 0);
                empty.insert(Partial::new(length, memory.ok_or(Untaken::NoMemory)?))
            }
        };
        let is_as_long = partial.length == length;
        let written = if is_as_long { partial.write(offset as usize, payload) } else { None };
        written.ok_or(Untaken::Wrong)
    }

    /// The oldest message, which is whole. [`None`] if none of it has come: the peer breaks the
    /// rules.
    pub(super) fn deliver(&mut self) -> Option<Bytes> {
        self.first += 1;
        self.messages.pop_front().flatten().map(Partial::finish)
    }

    /// The memory of all messages that are not whole.
    pub(super) fn bytes(&self) -> usize {
        self.messages.iter().flatten().map(|partial| partial.length + BOOKS_BYTES).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(message: u64, length: u32, offset: u32, payload: &[u8]) -> Piece<'_> {
        Piece { message, length, offset, payload }
    }

    /// Memory for any message.
    #[expect(clippy::unnecessary_wraps, reason = "as a node answers that has room")]
    fn room(_bytes: usize, _oldest: bool) -> Option<BytesMut> {
        Some(BytesMut::new())
    }

    #[test]
    fn pieces_in_any_order_make_the_message_and_copies_change_nothing() {
        let mut inbox = Inbox::default();
        let mut admitted = Vec::new();
        let mut take = |inbox: &mut Inbox, piece| {
            inbox.take(piece, |bytes, oldest| {
                admitted.push((bytes, oldest));
                Some(BytesMut::new())
            })
        };
        for next in [piece(1, 3, 0, b"xyz"), piece(0, 6, 4, b"ef"), piece(0, 6, 0, b"abcd")] {
            assert_eq!(take(&mut inbox, next), Ok(()));
        }
        assert_eq!(take(&mut inbox, piece(0, 6, 4, b"ef")), Ok(()));
        assert_eq!(inbox.bytes(), 9 + 2 * BOOKS_BYTES);
        assert_eq!(inbox.deliver().as_deref(), Some(&b"abcdef"[..]));
        assert_eq!(take(&mut inbox, piece(0, 6, 4, b"ef")), Ok(()), "delivered");
        assert_eq!(inbox.deliver().as_deref(), Some(&b"xyz"[..]));
        assert_eq!(inbox.deliver(), None);
        assert_eq!(admitted, [(3 + BOOKS_BYTES, false), (6 + BOOKS_BYTES, true)]);
    }

    #[test]
    fn contradictions_are_wrong_and_what_memory_lacks_may_come_again() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.take(piece(0, 4, 0, b"ab"), |_, _| None), Err(Untaken::NoMemory));
        assert_eq!(inbox.take(piece(0, 4, 0, b"ab"), room), Ok(()));
        assert_eq!(inbox.take(piece(0, 9, 2, b"cd"), room), Err(Untaken::Wrong));
        assert_eq!(inbox.take(piece(0, 4, 3, b"cd"), room), Err(Untaken::Wrong));
        let far = piece(u64::MAX, 4, 0, b"ab");
        assert_eq!(inbox.take(far, room), Err(Untaken::NoMemory));
        assert_eq!(inbox.bytes(), 4 + BOOKS_BYTES);
    }
}
