//! The packets of messages: data, acknowledgements, reports of missing packets.

use serde::{Deserialize, Serialize};

use super::DueBy;
use super::header::{Compact, Header, Kind, MARKED_END, beside};
use super::wire::Wire;

/// The most packets of one segment, so that a set of them fits 128 bits.
pub const MAX_SEGMENT_PACKETS: u32 = 128;

/// The content of a packet of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Payload.
    Data(Data),
    /// The acknowledgement of a complete segment.
    Ack(Ack),
    /// A report of missing packets.
    Nack(Nack),
    /// The header of a packet whose payload a switch has cut off.
    Trimmed(Data),
}

/// A packet with payload. Sequence numbers count packets over the life of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Data {
    /// Sequence number.
    pub sequence: u64,
    /// Payload in bytes.
    pub payload: u32,
    /// The index in the segment, from 0.
    pub index: u8,
    /// The number of packets in the segment, at most [`MAX_SEGMENT_PACKETS`].
    pub count: u8,
    /// The number of times that the segment was sent before.
    pub attempt: u8,
    /// Whether this is the last packet of the attempt, which the receiver answers in any case.
    pub ack_request: bool,
    /// Whether the segment is the last of its message.
    pub ends_message: bool,
    /// The bytes that the message asks to be sent back (RDMA read); zero for none.
    #[serde(skip)]
    pub read: u64,
    /// The deadline of what is sent back.
    #[serde(skip)]
    pub due: DueBy,
    /// The payload of the message, and of those before it on the connection, that was not
    /// acknowledged when the packet left; `u32::MAX` if it is more, or has no end.
    pub remaining: u32,
}

impl Data {
    /// The sequence number of the segment's first packet, which names the segment.
    pub const fn segment(&self) -> u64 {
        self.sequence - self.index as u64
    }

    /// The parts of the compact form; [`None`] if the message asks for data to be sent back.
    fn compact(&self) -> Option<Compact> {
        (self.read == 0).then_some(Compact {
            rest: u32::from_le_bytes([self.index, self.count, self.attempt, 0]),
            payload: u16::try_from(self.payload).ok()?,
            kind: Kind::Data,
            flags: Header::data_flags(self.ends_message, self.ack_request),
        })
    }
}

/// The acknowledgement of a complete segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Ack {
    /// The sequence number of the segment's first packet.
    pub segment: u64,
    /// Payload that arrived with a congestion mark since the last ACK of the connection.
    pub ce_bytes: u32,
    /// The attempt of the packet that is answered, so that the RTT of a segment that was sent again
    /// is as certain as that of any other.
    pub attempt: u8,
}

/// A report of missing packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Nack {
    /// The sequence number of the first bit of `missing`.
    pub base: u64,
    /// The missing packets. Go-back-N tells none: all packets from `base` on are to be sent again.
    pub missing: PacketSet,
    /// The attempt that the report is about; a report about an older one is stale.
    pub attempt: u8,
    /// Whether this answers the last packet of the attempt, and so tells its RTT. Otherwise a later
    /// packet has shown the gap.
    pub answers: bool,
}

impl Wire for Body {
    fn sequence(&self) -> u64 {
        match self {
            Self::Data(data) | Self::Trimmed(data) => data.sequence,
            Self::Ack(ack) => ack.segment,
            Self::Nack(nack) => nack.base,
        }
    }

    fn payload(&self) -> u32 {
        if let Self::Data(data) = self { data.payload } else { 0 }
    }

    fn remaining(&self) -> u32 {
        if let Self::Data(data) | Self::Trimmed(data) = self { data.remaining } else { 0 }
    }

    fn is_ect(&self) -> bool {
        matches!(self, Self::Data(_))
    }

    fn is_data(&self) -> bool {
        matches!(self, Self::Data(_) | Self::Trimmed(_))
    }

    fn is_answered(&self) -> bool {
        matches!(self, Self::Data(data) if data.ack_request)
    }

    fn is_quiet(&self) -> bool {
        matches!(self, Self::Data(data) if data.attempt == 0 && !data.ack_request)
    }

    fn echoes(&self) -> bool {
        matches!(self, Self::Ack(_))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Data(_) => "data",
            Self::Ack(_) => "ack",
            Self::Nack(_) => "nack",
            Self::Trimmed(_) => "trimmed",
        }
    }

    fn trimmed(&self) -> Option<Self> {
        let Self::Data(data) = self else { return None };
        Some(Self::Trimmed(Data { payload: 0, ..*data }))
    }

    fn compact(&self, _sent_ns: u32) -> Option<Compact> {
        match self {
            Self::Data(data) => data.compact(),
            Self::Trimmed(data) => {
                let whole = data.compact()?;
                let flags = whole.flags & !Header::ECT;
                Some(Compact { kind: Kind::Trimmed, payload: 0, flags, ..whole })
            }
            Self::Ack(ack) => {
                let rest = beside(ack.ce_bytes, ack.attempt)?;
                Some(Compact { rest, payload: 0, kind: Kind::Ack, flags: 0 })
            }
            Self::Nack(_) => None,
        }
    }

    #[inline]
    fn of(header: &Header, near: u64) -> Self {
        let sequence = header.sequence_near(near);
        let [index, count, attempt, highest] = header.rest.to_le_bytes();
        if header.kind == Kind::Ack {
            let ce_bytes = header.rest % MARKED_END;
            return Self::Ack(Ack { segment: sequence, ce_bytes, attempt: highest });
        }
        debug_assert!(matches!(header.kind, Kind::Data | Kind::Trimmed), "{header:?}");
        let data = Data {
            sequence,
            payload: u32::from(header.payload),
            index,
            count,
            attempt,
            ack_request: header.has(Header::ACK_REQUEST),
            ends_message: header.has(Header::ENDS_MESSAGE),
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
        };
        if header.kind == Kind::Trimmed { Self::Trimmed(data) } else { Self::Data(data) }
    }
}

/// A set of up to [`MAX_SEGMENT_PACKETS`] packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketSet([u64; 2]);

impl PacketSet {
    /// The empty set.
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

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0[0] == 0 && self.0[1] == 0
    }

    /// Whether two packets or more are in the set.
    pub(crate) const fn has_several(self) -> bool {
        let [low, high] = self.0;
        let rest = low & low.wrapping_sub(1);
        rest != 0 || high & high.wrapping_sub(1) != 0 || low != 0 && high != 0
    }

    /// The number of packets in the set.
    pub const fn len(self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones()
    }

    /// Whether the packet at `index` is in the set.
    pub const fn contains(self, index: u32) -> bool {
        self.0[index as usize / 64 % 2] >> (index % 64) & 1 == 1
    }

    /// The lowest index in the set.
    pub const fn lowest(self) -> Option<u32> {
        if self.0[0] != 0 {
            Some(self.0[0].trailing_zeros())
        } else if self.0[1] != 0 {
            Some(64 + self.0[1].trailing_zeros())
        } else {
            None
        }
    }

    /// The number of packets before the first one that is not in the set.
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

    /// The packets that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// The packets of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }

    /// The packets of this set, which starts at sequence number `from`, as a set of the `count`
    /// packets from `to` on.
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
