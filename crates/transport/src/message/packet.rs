//! What travels of messages: data, acknowledgements, reports of missing packets.

/// The most packets of one segment, so that a set of them fits 128 bits.
pub const MAX_SEGMENT_PACKETS: u32 = 128;

/// Payload. A packet's sequence number counts packets over the life of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Sequence number.
    pub sequence: u64,
    /// Payload in bytes.
    pub payload: u32,
    /// Place in its segment, from 0.
    pub index: u8,
    /// Packets of its segment, at most [`MAX_SEGMENT_PACKETS`].
    pub count: u8,
    /// How often the segment had been sent before.
    pub attempt: u8,
    /// The last packet of this attempt: the receiver answers it in any case.
    pub ack_request: bool,
    /// The last segment of its message.
    pub ends_message: bool,
    /// Not zero: the message asks for that many bytes to be sent back (RDMA read).
    pub read: u64,
}

impl Data {
    /// Sequence number of the segment's first packet: the segment's name.
    pub const fn segment(&self) -> u64 {
        self.sequence - self.index as u64
    }
}

/// A segment is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Sequence number of its first packet.
    pub segment: u64,
    /// Payload that arrived with a congestion mark since the last ACK of the connection.
    pub ce_bytes: u32,
    /// The attempt of the packet that is answered, so that the RTT of a segment that was sent again is
    /// as certain as that of any other.
    pub attempt: u8,
}

/// Packets are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The sequence number that the first bit stands for.
    pub base: u64,
    /// The packets from there on that are missing. Going back N tells none: all is to be sent again
    /// from `base` on.
    pub missing: PacketSet,
    /// The attempt that the report is about; a report about an older one is stale.
    pub attempt: u8,
    /// Whether this answers the last packet of the attempt, and so tells its RTT. Else the packets were
    /// missed when something later arrived.
    pub answers: bool,
}

/// A set of up to [`MAX_SEGMENT_PACKETS`] packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketSet([u64; 2]);

impl PacketSet {
    /// No packet.
    pub const EMPTY: Self = Self([0; 2]);

    /// The first `count` packets.
    pub const fn first(count: u32) -> Self {
        Self::from_bits(if count >= MAX_SEGMENT_PACKETS { u128::MAX } else { (1 << count) - 1 })
    }

    /// The packet at `index` alone.
    pub const fn only(index: u32) -> Self {
        Self::from_bits(1 << index)
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the two halves apart")]
    const fn from_bits(bits: u128) -> Self {
        Self([bits as u64, (bits >> 64) as u64])
    }

    const fn bits(self) -> u128 {
        (self.0[1] as u128) << 64 | self.0[0] as u128
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0[0] == 0 && self.0[1] == 0
    }

    /// How many there are.
    pub const fn len(self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones()
    }

    /// Whether the packet at `index` is in it.
    pub const fn contains(self, index: u32) -> bool {
        self.0[index as usize / 64 % 2] >> (index % 64) & 1 == 1
    }

    /// The first one.
    pub const fn lowest(self) -> Option<u32> {
        if self.0[0] != 0 {
            Some(self.0[0].trailing_zeros())
        } else if self.0[1] != 0 {
            Some(64 + self.0[1].trailing_zeros())
        } else {
            None
        }
    }

    /// How many there are before the first that is not in it.
    pub const fn leading_run(self) -> u32 {
        self.bits().trailing_ones()
    }

    /// Adds the packet at `index`.
    pub const fn insert(&mut self, index: u32) {
        self.0[index as usize / 64 % 2] |= 1 << (index % 64);
    }

    /// Takes out the packet at `index`.
    pub const fn remove(&mut self, index: u32) {
        self.0[index as usize / 64 % 2] &= !(1 << (index % 64));
    }

    /// Those of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Those of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }

    /// The part of a set that starts at sequence number `from` that lies in the `count` packets from
    /// `to` on.
    #[must_use]
    pub const fn window(self, from: u64, to: u64, count: u32) -> Self {
        let bits = if to >= from {
            let shift = to - from;
            if shift >= 128 { 0 } else { self.bits() >> shift }
        } else {
            let shift = from - to;
            if shift >= 128 { 0 } else { self.bits() << shift }
        };
        Self::from_bits(bits & Self::first(count).bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_packets() {
        let mut set = PacketSet::first(128);
        assert_eq!((set.len(), set.lowest(), set.leading_run()), (128, Some(0), 128));
        set.remove(0);
        set.remove(70);
        assert_eq!((set.len(), set.lowest(), set.contains(70)), (126, Some(1), false));
        assert_eq!(PacketSet::first(70).without(PacketSet::first(69)), PacketSet::only(69));
        assert_eq!(PacketSet::only(100).lowest(), Some(100));
        assert!(PacketSet::first(0).is_empty());
    }

    #[test]
    fn windows_move_sets_between_segments() {
        let set = PacketSet::only(5).union(PacketSet::only(50)); // sequence numbers 105 and 150
        assert_eq!(set.window(100, 100, 44), PacketSet::only(5));
        assert_eq!(set.window(100, 144, 44), PacketSet::only(6));
        assert_eq!(set.window(100, 56, 50), PacketSet::only(49));
        assert_eq!(set.window(100, 300, 44), PacketSet::EMPTY);
        assert_eq!(set.window(300, 100, 44), PacketSet::EMPTY);
    }
}
