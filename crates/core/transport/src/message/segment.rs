//! Segments that have been sent and are not forgotten yet.

use incast_cc::{Bytes, Span, Time};

use crate::config::{Config, Recovery};
use crate::packet::DueBy;
use crate::packet::message::PacketSet;
use crate::rate::Transmission;

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Sent, or being sent.
    Out,
    /// Waiting to be sent again.
    Queued,
    /// Acknowledged.
    Acked,
}

/// The time at which a burst left, and the time that it takes on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) at: Time,
    /// The carrier's stamp of it; [`Time::MAX`] where there is none.
    pub(super) stamp: Time,
    pub(super) serialization: Span,
}

/// The record of a segment that was sent, and of the bursts in which it left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) first: u64,
    /// The start of the payload in all payload posted.
    pub(super) start: u64,
    pub(super) bytes: u32,
    /// The payload in flight.
    pub(super) flying: u32,
    /// The payload that was declared lost and has not been sent again.
    pub(super) lost: u32,
    pub(super) count: u8,
    pub(super) attempt: u8,
    pub(super) fate: Fate,
    /// Whether any of it was ever declared lost.
    pub(super) damaged: bool,
    pub(super) ends_message: bool,
    pub(super) read: u64,
    pub(super) due: DueBy,
    /// The end of the message in all payload posted.
    pub(super) message_end: u64,
    /// The last burst, with the start of the first one in transmission order.
    pub(super) sent: Transmission,
    /// The time that the last burst takes on the wire.
    pub(super) serialization: Span,
    /// The carrier's stamp of the last burst; [`Time::MAX`] where there is none.
    pub(super) stamp: Time,
    /// The first burst.
    pub(super) first_burst: Departure,
    /// The packets that were reported missing and have not been sent again.
    pub(super) missing: PacketSet,
}

impl Segment {
    /// The packets to send again: those that are known to be missing. Where none is known, the last
    /// one is sent as a probe; a receiver that drops packets out of order needs all of them.
    pub(super) fn repeated(&self, recovery: Recovery) -> PacketSet {
        let count = u32::from(self.count);
        match recovery {
            _ if !self.missing.is_empty() => self.missing,
            Recovery::Selective => PacketSet::only(count - 1),
            Recovery::GoBackN => PacketSet::first(count),
        }
    }

    /// The payload of some of the packets.
    #[expect(clippy::cast_possible_truncation, reason = "a payload is below an MTU")]
    pub(super) fn payload_of(&self, packets: PacketSet, config: &Config) -> u32 {
        payload_of(packets, self.count, self.bytes, config.payload.get() as u32)
    }

    /// The departure of the burst of `attempt`; those of the first and of the last attempt are
    /// kept.
    pub(super) fn burst(&self, attempt: u8) -> Option<Departure> {
        match attempt {
            last if last == self.attempt => {
                let (at, stamp) = (self.sent.sent_at, self.stamp);
                Some(Departure { at, stamp, serialization: self.serialization })
            }
            0 => Some(self.first_burst),
            _ => None,
        }
    }

    /// The last transmission, for `bytes` of it.
    pub(super) const fn transmission(&self, bytes: u32) -> Transmission {
        self.sent.of(bytes as u64)
    }

    /// Whether some of it is in flight that was sent before data that ends at `end` in transmission
    /// order.
    pub(super) fn is_overtaken(&self, end: Bytes) -> bool {
        self.fate == Fate::Out && self.flying > 0 && self.sent.end < end
    }

    /// Whether all of it counts as lost, without a report of the receiver.
    pub(super) const fn is_given_up(&self) -> bool {
        matches!(self.fate, Fate::Queued) && self.flying == 0 && self.missing.is_empty()
    }
}

/// The payload of some packets of a segment that has `count` of them and `bytes` of payload; all
/// but its last have `full`.
#[inline]
pub(super) fn payload_of(packets: PacketSet, count: u8, bytes: u32, full: u32) -> u32 {
    let last = u32::from(count) - 1;
    if packets.contains(last) {
        full * (packets.len() - 1) + (bytes - full * last)
    } else {
        full * packets.len()
    }
}

/// The size of a burst of `packets` with a payload of `bytes`, for the RTT measurement.
pub(super) fn burst_size(packets: u32, bytes: u32, config: &Config) -> crate::rtt::BurstSize {
    let others = u64::from(packets) - 1;
    let spaced = (config.payload * others).min(Bytes::new(u64::from(bytes)));
    crate::rtt::BurstSize {
        spaced_payload: spaced,
        spaced_wire: spaced + config.header * others,
        last_wire: Bytes::new(u64::from(bytes)).saturating_sub(spaced) + config.header,
    }
}
