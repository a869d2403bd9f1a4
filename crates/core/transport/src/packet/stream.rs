//! The packets of a stream: segments and their acknowledgements.

use super::DueBy;
use super::header::{Compact, Header, Kind, MARKED_END, beside, flag};
use super::wire::Wire;

/// The content of a packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Payload, or a request to open the connection.
    Segment(Segment),
    /// An acknowledgement.
    Ack(Ack),
}

/// A part of the stream that belongs to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a header")]
pub struct Segment {
    /// The start in the stream, in bytes from its beginning.
    pub sequence: u64,
    /// The bytes that the message which ends here asks to be sent back; zero for none.
    pub read: u64,
    /// The deadline of what is sent back.
    pub due: DueBy,
    /// The payload that was posted and not acknowledged when the segment left; `u32::MAX` if it is
    /// more, or has no end.
    pub remaining: u32,
    /// Payload in bytes.
    pub payload: u32,
    /// Whether this is the last segment of its message. A message starts a segment of its own.
    pub ends_message: bool,
    /// Whether switches may mark the segment (ECN-capable transport).
    pub ect: bool,
    /// Whether the sender has reduced its window, in answer to a classic ECN echo (RFC 3168).
    pub cwr: bool,
    /// Whether this opens the connection, without payload (SYN).
    pub opens: bool,
    /// The sender's count of silences that ended with a timeout, modulo 256; in a SYN, the number
    /// of SYNs before. ACKs echo it. So it tells data sent before a timeout from data sent after
    /// it, which is what TCP's timestamps are asked for (RFC 7323, RFC 3522).
    pub epoch: u8,
}

impl Segment {
    /// The end in the stream.
    pub const fn end(&self) -> u64 {
        self.sequence + self.payload as u64
    }
}

/// A range of the stream that has arrived beyond a gap (RFC 2018), relative to the acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The distance of its start from the acknowledgement.
    pub start: u32,
    /// The length; zero is no block.
    pub length: u32,
}

/// The number of SACK blocks of one acknowledgement: the block that grew last, then the one that
/// did before it. TCP has room for three or four; with an ACK for every segment beyond a gap two
/// say the same, unless many ACKs in a row are lost.
pub const SACK_BLOCKS: usize = 2;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The end of the data that has arrived in order: the cumulative acknowledgement.
    pub sequence: u64,
    /// The ranges that have arrived beyond gaps; empty without SACK.
    pub blocks: [Block; SACK_BLOCKS],
    /// The payload that arrived marked since the last ACK.
    pub ce_bytes: u32,
    /// The time at which the newest segment arrived, by the receiver's clock in nanoseconds modulo
    /// 2^32. The ACK was held from then until it was made ([`Packet::sent_ns`](crate::Packet)).
    pub arrived_ns: u32,
    /// The classic ECN echo: a mark has arrived and the sender has not answered it yet (RFC 3168).
    pub ece: bool,
    /// Whether a segment that brought nothing new has arrived since the last ACK: a duplicate (RFC
    /// 2883).
    pub duplicate: bool,
    /// Whether this answers the segment that opens the connection (SYN-ACK).
    pub opens: bool,
    /// The [`epoch`](Segment::epoch) of the first segment since the last ACK, unless that lies
    /// beyond a gap (as RFC 7323, section 4.3, chooses the timestamp to echo).
    pub echo: u8,
}

impl Wire for Body {
    fn sequence(&self) -> u64 {
        match self {
            Self::Segment(segment) => segment.sequence,
            Self::Ack(ack) => ack.sequence,
        }
    }

    fn payload(&self) -> u32 {
        if let Self::Segment(segment) = self { segment.payload } else { 0 }
    }

    fn remaining(&self) -> u32 {
        if let Self::Segment(segment) = self { segment.remaining } else { 0 }
    }

    fn is_ect(&self) -> bool {
        matches!(self, Self::Segment(segment) if segment.ect)
    }

    fn is_data(&self) -> bool {
        matches!(self, Self::Segment(_))
    }

    fn is_answered(&self) -> bool {
        self.is_data()
    }

    fn is_quiet(&self) -> bool {
        false
    }

    fn echoes(&self) -> bool {
        matches!(self, Self::Ack(_))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Segment(_) => "data",
            Self::Ack(_) => "ack",
        }
    }

    fn compact(&self, sent_ns: u32) -> Option<Compact> {
        match self {
            Self::Segment(segment) => {
                let rare = segment.read != 0 || segment.cwr || segment.opens;
                let ends = flag(segment.ends_message, Header::ENDS_MESSAGE);
                (!rare).then_some(Compact {
                    rest: u32::from(segment.epoch) << 24,
                    payload: u16::try_from(segment.payload).ok()?,
                    kind: Kind::Segment,
                    flags: ends | flag(segment.ect, Header::ECT),
                })
            }
            Self::Ack(ack) => {
                let blocks = ack.blocks[0].length | ack.blocks[1].length;
                let held = ack.arrived_ns != sent_ns;
                let rare = blocks != 0 || held || ack.duplicate || ack.opens;
                (!rare).then_some(Compact {
                    rest: beside(ack.ce_bytes, ack.echo)?,
                    payload: 0,
                    kind: Kind::SegmentAck,
                    flags: flag(ack.ece, Header::ECE),
                })
            }
        }
    }

    #[inline]
    fn of(header: &Header, near: u64) -> Self {
        let sequence = header.sequence_near(near);
        if header.kind == Kind::SegmentAck {
            return Self::Ack(Ack {
                sequence,
                blocks: [Block::default(); SACK_BLOCKS],
                ce_bytes: header.rest % MARKED_END,
                arrived_ns: header.sent_ns,
                ece: header.has(Header::ECE),
                duplicate: false,
                opens: false,
                echo: header.highest(),
            });
        }
        debug_assert!(header.kind == Kind::Segment, "{header:?}");
        Self::Segment(Segment {
            sequence,
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
            payload: u32::from(header.payload),
            ends_message: header.has(Header::ENDS_MESSAGE),
            ect: header.has(Header::ECT),
            cwr: false,
            opens: false,
            epoch: header.highest(),
        })
    }
}
