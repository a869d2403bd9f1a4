//! The packets between endpoints, of either transport.

mod header;
pub(crate) mod message;
pub(crate) mod stream;

pub(crate) use header::MARKED_END;
pub use header::{Header, Kind};

use incast_cc::Time;

/// A packet of a connection. Headers are not built: the carrier knows their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The connection's index at the endpoint that will receive the packet.
    pub connection: u32,
    /// The time at which the sender's NIC got the packet, by the sender's clock in nanoseconds
    /// modulo 2^32; for answers, the time at which they were made, before their turnaround.
    pub sent_ns: u32,
    /// The content.
    pub body: Body,
}

/// A time as packets carry it: nanoseconds modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
pub const fn clock_ns(time: Time) -> u32 {
    (time.as_ps() / 1_000) as u32
}

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Payload of a message.
    Data(message::Data),
    /// The acknowledgement of a complete segment of a message.
    Ack(message::Ack),
    /// A report of missing packets of a message.
    Nack(message::Nack),
    /// Payload of a stream.
    Segment(stream::Segment),
    /// An acknowledgement of a stream.
    SegmentAck(stream::Ack),
    /// A notice that payload arrived marked: the congestion notification packet (CNP) of DCQCN.
    Notification,
}

impl Packet {
    /// Payload in bytes; zero but for data.
    #[inline]
    pub const fn payload(&self) -> u32 {
        match &self.body {
            Body::Data(data) => data.payload,
            Body::Segment(segment) => segment.payload,
            Body::Ack(_) | Body::Nack(_) | Body::SegmentAck(_) | Body::Notification => 0,
        }
    }

    /// The payload that was not acknowledged when the packet left its sender: up to the end of its
    /// message, or of all that a stream has posted. `u32::MAX` if it is more, or has no end; zero
    /// but for data.
    #[inline]
    pub const fn remaining(&self) -> u32 {
        match &self.body {
            Body::Data(data) => data.remaining,
            Body::Segment(segment) => segment.remaining,
            Body::Ack(_) | Body::Nack(_) | Body::SegmentAck(_) | Body::Notification => 0,
        }
    }

    /// Whether switches may mark the packet instead of dropping it (ECN-capable transport).
    #[inline]
    pub const fn is_ect(&self) -> bool {
        match &self.body {
            Body::Data(_) => true,
            Body::Segment(segment) => segment.ect,
            Body::Ack(_) | Body::Nack(_) | Body::SegmentAck(_) | Body::Notification => false,
        }
    }
}

/// A packet in one of its two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The compact form.
    Compact(Header),
    /// The full form, of packets that have no compact one.
    Full(Packet),
}

impl Form {
    /// The compact form of a packet, if it has one; with `full` the full form.
    #[inline]
    pub(crate) fn of(packet: Packet, full: bool) -> Self {
        let header = if full { None } else { Header::of(&packet) };
        header.map_or(Self::Full(packet), Self::Compact)
    }

    /// The packet in its full form. Its sequence number is less than 2^31 from `near`.
    pub fn packet(&self, near: u64) -> Packet {
        match self {
            Self::Compact(header) => header.packet(near),
            Self::Full(packet) => *packet,
        }
    }

    /// Payload in bytes ([`Packet::payload`]).
    #[inline]
    pub const fn payload(&self) -> u32 {
        match self {
            Self::Compact(header) => header.payload as u32,
            Self::Full(packet) => packet.payload(),
        }
    }

    /// Whether switches may mark the packet ([`Packet::is_ect`]).
    #[inline]
    pub const fn is_ect(&self) -> bool {
        match self {
            Self::Compact(header) => header.has(Header::ECT),
            Self::Full(packet) => packet.is_ect(),
        }
    }

    /// Whether the receiver answers this very packet: a segment of a stream, or the last packet of a
    /// segment of a message.
    pub const fn is_answered(&self) -> bool {
        match self {
            Self::Compact(header) => match header.kind {
                Kind::Segment => true,
                Kind::Data => header.has(Header::ACK_REQUEST),
                Kind::Ack | Kind::SegmentAck | Kind::Notification => false,
            },
            Self::Full(packet) => match &packet.body {
                Body::Segment(_) => true,
                Body::Data(data) => data.ack_request,
                _ => false,
            },
        }
    }

    /// The connection's index at the receiver ([`Packet::connection`]).
    #[inline]
    pub const fn connection(&self) -> u32 {
        match self {
            Self::Compact(header) => header.connection,
            Self::Full(packet) => packet.connection,
        }
    }

    /// The time at which the NIC got the packet ([`Packet::sent_ns`]).
    #[inline]
    pub const fn sent_ns(&self) -> u32 {
        match self {
            Self::Compact(header) => header.sent_ns,
            Self::Full(packet) => packet.sent_ns,
        }
    }
}

/// The next packet of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) form: Form,
    /// The time of posting, in the first packet of a message.
    pub(crate) begins: Option<Time>,
    /// The time at which the packet after it may leave; [`None`] ends the burst.
    pub(crate) then: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_small() {
        // Packets are copied from queue to queue at every hop.
        assert!(size_of::<Packet>() <= 48, "{} bytes", size_of::<Packet>());
    }
}
