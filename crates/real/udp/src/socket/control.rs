//! Control messages (`cmsg`) in the kernel's form, written and read as plain bytes.
//!
//! Each has a header of length, level and type, and starts at a multiple of a word.

/// The bytes of room for the control messages of a datagram.
pub(super) const ROOM: usize = 256;
const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

/// The control messages of a send or a receive.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Control {
    pub(super) bytes: [u8; ROOM],
    pub(super) length: usize,
}

impl Control {
    /// No control message, with room for some.
    pub(super) const EMPTY: Self = Self { bytes: [0; ROOM], length: 0 };

    /// Adds a message. The room is enough for all messages that a send may have.
    pub(super) fn push(&mut self, level: i32, kind: i32, value: &[u8]) {
        let (start, length) = (self.length, HEADER + value.len());
        let to = &mut self.bytes[start..start + length.next_multiple_of(WORD)];
        to[..WORD].copy_from_slice(&length.to_ne_bytes());
        to[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        to[WORD + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
        to[HEADER..length].copy_from_slice(value);
        self.length += to.len();
    }

    /// The messages, each as level, type and value. A message that is cut short ends the list.
    pub(super) fn messages(&self) -> Messages<'_> {
        Messages(&self.bytes[..self.length.min(ROOM)])
    }
}

/// The messages of a [`Control`].
pub(super) struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = (i32, i32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from_ne_bytes(self.0.get(..WORD)?.try_into().ok()?);
        let level = int(self.0.get(WORD..)?)?;
        let kind = int(self.0.get(WORD + 4..)?)?;
        let value = self.0.get(HEADER..length)?;
        self.0 = self.0.get(length.next_multiple_of(WORD)..).unwrap_or_default();
        Some((level, kind, value))
    }
}

/// The `int` at the start of a value.
pub(super) fn int(value: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(value.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_in_order() {
        let mut control = Control::EMPTY;
        control.push(1, 2, &7_i32.to_ne_bytes());
        control.push(3, 4, &9_u16.to_ne_bytes());
        control.push(5, 6, &[1; 48]);
        let got: Vec<_> =
            control.messages().map(|(level, kind, v)| (level, kind, v.len())).collect();
        assert_eq!(got, [(1, 2, 4), (3, 4, 2), (5, 6, 48)]);
        assert_eq!(control.messages().next().and_then(|(.., value)| int(value)), Some(7));
    }

    #[test]
    fn a_message_cut_short_or_of_a_false_length_ends_the_list() {
        let mut control = Control::EMPTY;
        control.push(1, 2, &7_i32.to_ne_bytes());
        control.push(1, 2, &8_i32.to_ne_bytes());
        control.length -= 5;
        assert_eq!(control.messages().count(), 1);
        for false_length in [0, 1, 15, 1_000, usize::MAX - 20] {
            control.bytes[..WORD].copy_from_slice(&false_length.to_ne_bytes());
            assert_eq!(control.messages().count(), 0, "{false_length}");
        }
        control.length = usize::MAX;
        assert_eq!(control.messages().count(), 0);
    }
}
