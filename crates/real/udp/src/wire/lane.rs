//! The lanes of a connection.

/// The number of a lane: a connection of the transport to the peer, at both ends the same. A node
/// has two, that of short messages and that of long ones; the format has room for four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneNumber(u8);

impl LaneNumber {
    const BITS: u32 = 2;
    /// The number of lanes that the format has room for.
    pub const COUNT: u8 = 1 << Self::BITS;

    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT as usize] = [Self(0), Self(1), Self(2), Self(3)];

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The lane in the two lowest bits.
    pub(super) const fn from_bits(bits: u8) -> Self {
        Self(bits % Self::COUNT)
    }

    /// The two bits of the lane at a place.
    pub(super) const fn shifted(self, place: u32) -> u8 {
        self.0 << place
    }
}
