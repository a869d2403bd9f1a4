//! The packets of a burst that leave together, for a carrier that has their payload.

use incast_cc::{CongestionControl, Span, Time};

use super::Sender;
use crate::config::{Config, Nic};
use crate::message::segment::payload_of;
use crate::packet::message::{Data, PacketSet};
use crate::packet::{DueBy, clock_ns};

/// Packets of one segment that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingBurst {
    /// The connection's index here.
    pub connection: u32,
    /// The connection's index at the peer.
    pub peer: u32,
    /// The time of sending ([`Packet::sent_ns`](crate::Packet)).
    pub sent_ns: u32,
    /// The sequence number of the segment's first packet, which need not be among these.
    pub segment: u64,
    /// The attempt.
    pub attempt: u8,
    /// The place of the segment's payload in all payload that was posted on the connection.
    pub start: u64,
    /// The packets that leave, by their indices in the segment.
    pub indices: PacketSet,
    /// The number of packets of the segment.
    count: u8,
    /// The payload of the segment, and of each packet but its last, in bytes.
    bytes: u32,
    full: u32,
    ends_message: bool,
    /// Whether the last of the packets asks for an ACK.
    asks: bool,
}

impl OutgoingBurst {
    /// The payload of all of the packets in bytes.
    pub fn payload(&self) -> u64 {
        payload_of(self.indices, self.count, self.bytes, self.full).into()
    }

    /// The packets, each with the place of its payload in all payload that was posted. What
    /// simulated peers and switches alone read in a packet is zero.
    pub fn packets(&self) -> impl Iterator<Item = (u64, Data)> + use<> {
        let burst = *self;
        let mut rest = self.indices;
        std::iter::from_fn(move || {
            let index = rest.lowest()?;
            rest.remove(index);
            Some(burst.packet(index, rest.is_empty()))
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "below MAX_SEGMENT_PACKETS")]
    fn packet(&self, index: u32, last: bool) -> (u64, Data) {
        let before = self.full * index;
        let ends = index + 1 == u32::from(self.count);
        let data = Data {
            sequence: self.segment + u64::from(index),
            payload: if ends { self.bytes - before } else { self.full },
            index: index as u8,
            count: self.count,
            attempt: self.attempt,
            ack_request: self.asks && last,
            ends_message: self.ends_message,
            read: 0,
            due: DueBy::NONE,
            remaining: 0,
        };
        (self.start + u64::from(before), data)
    }

    /// A packet that leaves alone, whose payload has a place in all that was posted.
    pub(crate) fn alone(
        (connection, peer, sent_ns): (u32, u32, u32),
        place: u64,
        data: &Data,
        config: &Config,
    ) -> Self {
        let full = config.payload.get();
        let before = full * u64::from(data.index);
        #[expect(clippy::cast_possible_truncation, reason = "Config::check bounds the segment")]
        Self {
            connection,
            peer,
            sent_ns,
            segment: data.segment(),
            attempt: data.attempt,
            start: place - before,
            indices: PacketSet::only(data.index.into()),
            count: data.count,
            bytes: before as u32 + data.payload,
            full: full as u32,
            ends_message: data.ends_message,
            asks: data.ack_request,
        }
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The packets of the burst that may leave now, and the time of its next one, if there is one:
    /// all, unless the algorithm spaces them. [`None`] when the burst was acknowledged in the
    /// meantime.
    pub(crate) fn take_together(
        &mut self,
        now: Time,
        (connection, peer): (u32, u32),
        config: &Config,
    ) -> Option<(OutgoingBurst, Option<Time>)> {
        debug_assert!(config.nic == Nic::Segments, "packets of a segment do not wait for others");
        self.leave_queue(now);
        let start = self.segments[self.find(self.burst.as_ref()?.segment)?].start;
        let burst = self.burst.as_mut()?;
        let lowest = burst.packets.lowest()?;
        let indices = if burst.gap == Span::ZERO { burst.packets } else { PacketSet::only(lowest) };
        burst.packets = burst.packets.without(indices);
        burst.next_at = now + burst.gap;
        burst.begins = None;
        let (taken, asks) = (*burst, burst.packets.is_empty());
        let together = OutgoingBurst {
            connection,
            peer,
            sent_ns: clock_ns(now),
            segment: taken.segment,
            attempt: taken.attempt,
            start,
            indices,
            count: taken.count,
            bytes: taken.bytes,
            #[expect(clippy::cast_possible_truncation, reason = "an MTU")]
            full: config.payload.get() as u32,
            ends_message: taken.ends_message,
            asks,
        };
        if !asks {
            return Some((together, Some(taken.next_at)));
        }
        self.end_burst(now);
        Some((together, None))
    }
}
