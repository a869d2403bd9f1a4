//! A segment that has been sent and not forgotten yet.

use incast_cc::{Bytes, Span, Time};

use super::packet::PacketSet;
use crate::config::{Config, Recovery};
use crate::rate::Transmission;

/// Where a segment stands.
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
    pub(super) serialization: Span,
}

/// A segment that has been sent: what is known of it, and of the bursts that it left in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) first: u64,
    pub(super) bytes: u32,
    /// How much of it is in flight.
    pub(super) flying: u32,
    /// How much was declared lost and has not been sent again.
    pub(super) lost: u32,
    pub(super) count: u8,
    pub(super) attempt: u8,
    pub(super) fate: Fate,
    /// Whether it has ever lost something.
    pub(super) damaged: bool,
    pub(super) ends_message: bool,
    pub(super) read: u64,
    /// Its last burst; in transmission order it starts where the first one did.
    pub(super) sent: Transmission,
    /// The time that its last burst takes on the wire.
    pub(super) serialization: Span,
    pub(super) first_burst: Departure,
    /// Reported missing and not sent again yet.
    pub(super) missing: PacketSet,
}

impl Segment {
    /// The packets to send again: those that are known to be missing. Where none is known, the last one
    /// asks as a probe; a receiver that drops what is out of order needs all of them.
    pub(super) fn repeated(&self, recovery: Recovery) -> PacketSet {
        let count = u32::from(self.count);
        match recovery {
            _ if !self.missing.is_empty() => self.missing,
            Recovery::Selective => PacketSet::only(count - 1),
            Recovery::GoBackN => PacketSet::first(count),
        }
    }

    /// The payload of `packets` of it.
    #[expect(clippy::cast_possible_truncation, reason = "a payload is below an MTU")]
    pub(super) fn payload_of(&self, packets: PacketSet, config: &Config) -> u32 {
        let full = config.payload.get() as u32;
        let last = u32::from(self.count) - 1;
        if packets.contains(last) {
            full * (packets.len() - 1) + (self.bytes - full * last)
        } else {
            full * packets.len()
        }
    }

    /// When the burst of `attempt` left and how long it took on the wire, where that is remembered: the
    /// first one and the last one are.
    pub(super) fn burst(&self, attempt: u8) -> Option<Departure> {
        match attempt {
            last if last == self.attempt => {
                Some(Departure { at: self.sent.sent_at, serialization: self.serialization })
            }
            0 => Some(self.first_burst),
            _ => None,
        }
    }

    /// What it left with, for `bytes` of it.
    pub(super) const fn transmission(&self, bytes: u32) -> Transmission {
        self.sent.of(bytes as u64)
    }

    /// Everything of it counts as lost, and nothing of that is known from the receiver.
    pub(super) const fn is_given_up(&self) -> bool {
        matches!(self.fate, Fate::Queued) && self.flying == 0 && self.missing.is_empty()
    }
}

/// The packets of a burst as the RTT measurement wants them: `packets` of a segment of `bytes`.
pub(super) fn burst_size(packets: u32, bytes: u32, config: &Config) -> crate::rtt::BurstSize {
    let others = u64::from(packets) - 1;
    let spaced = (config.payload * others).min(Bytes::new(u64::from(bytes)));
    crate::rtt::BurstSize {
        spaced_payload: spaced,
        spaced_wire: spaced + config.header * others,
        last_wire: Bytes::new(u64::from(bytes)).saturating_sub(spaced) + config.header,
    }
}
