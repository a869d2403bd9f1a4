//! Reading and writing numbers in network byte order, with every length checked.

use super::WireError;

/// The highest of numbers that count up. They travel in 48 bits.
pub const MOST_COUNT: u64 = (1 << 48) - 1;

/// The part of a datagram that is still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(
        &mut self,
        bytes: usize,
        field: &'static str,
    ) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(WireError::Short { field })?;
        self.0 = rest;
        Ok(taken)
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(WireError::Short { field })?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, WireError> {
        self.array(field).map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, WireError> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// A number that counts up.
    pub(super) fn count(&mut self, field: &'static str) -> Result<u64, WireError> {
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&self.array::<6>(field)?);
        Ok(u64::from_be_bytes(bytes))
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.array(field).map(u64::from_be_bytes)
    }
}

/// The room of a datagram that is still to be written.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    room: &'a mut [u8],
    used: usize,
}

impl<'a> Writer<'a> {
    /// A writer of exactly `bytes` bytes.
    pub(super) fn new(room: &'a mut [u8], bytes: usize) -> Result<Self, WireError> {
        let left = room.len();
        let room = room.get_mut(..bytes).ok_or(WireError::Room { bytes, room: left })?;
        Ok(Self { room, used: 0 })
    }

    /// The number of bytes written, which are all that were asked for.
    pub(super) fn end(self) -> usize {
        debug_assert_eq!(self.used, self.room.len());
        self.used
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.room[self.used..][..bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.put(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Writes a number that counts up, of at most [`MOST_COUNT`].
    pub(super) fn count(&mut self, value: u64) -> &mut Self {
        debug_assert!(value <= MOST_COUNT, "{value} does not travel");
        let [_, _, bytes @ ..] = value.to_be_bytes();
        self.put(&bytes)
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.put(&value.to_be_bytes())
    }
}

/// Checks that a number travels.
pub(super) const fn counted(field: &'static str, number: u64) -> Result<(), WireError> {
    if number <= MOST_COUNT { Ok(()) } else { Err(value(field, number)) }
}

/// The fault of a field with a value that it cannot have.
pub(super) const fn value(field: &'static str, value: u64) -> WireError {
    WireError::Value { field, value }
}
