//! Memory of long messages, which is used again.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// The least length of a message whose memory is kept. The system's allocator keeps shorter pieces,
/// and maps longer ones anew, page by page: an eighth of a receiver's CPU time went there with
/// messages of 1 MB.
const LEAST: usize = 128 << 10;
/// The greatest length of a message whose memory is kept.
const MOST: usize = 4 << 20;
/// The most messages whose memory is kept.
const KEPT: usize = 8;

/// The memory of long messages that were delivered. It is free once the application has dropped
/// them.
#[derive(Debug, Default)]
pub(super) struct SpareBuffers {
    kept: VecDeque<Bytes>,
}

impl SpareBuffers {
    /// Empty memory with room for a message of a length.
    pub(super) fn memory(&mut self, length: usize) -> BytesMut {
        let fits = |kept: &Bytes| kept.len() >= length && kept.is_unique();
        let place = if length < LEAST { None } else { self.kept.iter().position(fits) };
        let kept = place.and_then(|place| self.kept.remove(place)?.try_into_mut().ok());
        let Some(mut memory) = kept else { return BytesMut::with_capacity(length) };
        memory.clear();
        memory
    }

    /// Keeps the memory of a message that is delivered.
    pub(super) fn keep(&mut self, message: &Bytes) {
        if (LEAST..=MOST).contains(&message.len()) {
            self.kept.truncate(KEPT - 1);
            self.kept.push_front(message.clone());
        }
    }

    /// Frees the memory that was kept longest.
    pub(super) fn shrink(&mut self) {
        self.kept.pop_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(memory: BytesMut, length: usize, byte: u8) -> Bytes {
        let mut memory = memory;
        memory.resize(length, byte);
        memory.freeze()
    }

    #[test]
    fn memory_is_used_again_when_nobody_holds_its_message() {
        let mut spare = SpareBuffers::default();
        let first = message(spare.memory(LEAST), LEAST, 1);
        let place = first.as_ptr();
        spare.keep(&first);
        let body = first.slice(16..);
        drop(first);
        assert_ne!(spare.memory(LEAST).as_ptr(), place, "the body is in use");
        assert_eq!(body[0], 1);
        drop(body);
        assert_ne!(spare.memory(LEAST + 1).as_ptr(), place, "too short");
        let again = spare.memory(LEAST);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        assert!(again.capacity() >= LEAST);
    }

    #[test]
    fn few_messages_are_kept_and_neither_short_nor_very_long_ones() {
        let mut spare = SpareBuffers::default();
        for length in [LEAST - 1, MOST + 1] {
            spare.keep(&message(BytesMut::new(), length, 0));
        }
        assert!(spare.kept.is_empty());
        for byte in 0..20 {
            spare.keep(&message(BytesMut::new(), LEAST, byte));
        }
        let kept: Vec<u8> = spare.kept.iter().map(|kept| kept[0]).collect();
        assert_eq!(kept, [19, 18, 17, 16, 15, 14, 13, 12]);
        spare.shrink();
        assert_eq!(spare.kept.len(), KEPT - 1);
    }
}
