//! What travels between endpoints, whatever the transport.

use incast_cc::Time;

use crate::{message, stream};

/// One packet of a connection. Headers are not built: the carrier knows their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The connection's index at the endpoint that will receive the packet.
    pub connection: u32,
    /// When it was given to the sender's NIC, by the sender's clock: nanoseconds modulo 2^32. Answers say when
    /// they were made, before their turnaround.
    pub sent_ns: u32,
    /// What it says.
    pub body: Body,
}

/// A time as packets carry it: nanoseconds modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
pub const fn clock_ns(time: Time) -> u32 {
    (time.as_ps() / 1_000) as u32
}

/// The kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Payload of a message.
    Data(message::Data),
    /// A segment of a message is complete.
    Ack(message::Ack),
    /// Packets of a message are missing.
    Nack(message::Nack),
    /// Payload of a stream.
    Segment(stream::Segment),
    /// What has arrived of a stream.
    SegmentAck(stream::Ack),
    /// Payload arrived marked: the congestion notification packet (CNP) of DCQCN.
    Notification,
}

impl Packet {
    /// Payload in bytes; data alone has any.
    #[inline]
    pub const fn payload(&self) -> u32 {
        match &self.body {
            Body::Data(data) => data.payload,
            Body::Segment(segment) => segment.payload,
            Body::Ack(_) | Body::Nack(_) | Body::SegmentAck(_) | Body::Notification => 0,
        }
    }

    /// Whether switches may mark it instead of dropping it (ECN-capable transport).
    #[inline]
    pub const fn is_ect(&self) -> bool {
        match &self.body {
            Body::Data(_) => true,
            Body::Segment(segment) => segment.ect,
            Body::Ack(_) | Body::Nack(_) | Body::SegmentAck(_) | Body::Notification => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_small() {
        // Copied from queue to queue at every hop.
        assert!(size_of::<Packet>() <= 48, "{} bytes", size_of::<Packet>());
    }
}
