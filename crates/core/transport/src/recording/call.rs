//! The calls of an endpoint, as the lines of a recording have them.

use incast_cc::{Span, Time};
use serde::{Deserialize, Serialize};

use super::broken::Fault;
use crate::connection::Event;
use crate::packet::message::{self, Ack, Data, MAX_SEGMENT_PACKETS, Nack, PacketSet};
use crate::packet::{Body, DueBy, Packet};
use crate::rate::Clock;

/// The latest time of a recording: half a year, with room for the timeouts behind it.
const LATEST: u64 = u64::MAX / 4;

/// A time or a span in picoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Ps(u64);

impl From<Time> for Ps {
    fn from(time: Time) -> Self {
        Self(time.as_ps())
    }
}

impl From<Span> for Ps {
    fn from(span: Span) -> Self {
        Self(span.as_ps())
    }
}

impl Ps {
    pub(super) fn span(self) -> Result<Span, Fault> {
        let fits = self.0 < LATEST;
        if fits { Ok(Span::from_ps(self.0)) } else { Err("has a time beyond half a year") }
    }

    pub(super) fn time(self) -> Result<Time, Fault> {
        Ok(Time::ZERO + self.span()?)
    }
}

/// A call of an endpoint: what the carrier said, and what the endpoint answered. `next` is the
/// endpoint's next timer after the call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Call {
    Open { sends: bool, class: u8, peer: u32, connection: u32 },
    Close { connection: u32 },
    Post { at: Ps, connection: u32, bytes: u64, next: Option<Ps> },
    Withdraw { at: Ps, connection: u32, after: usize, bytes: u64, next: Option<Ps> },
    Timer { at: Ps, next: Option<Ps> },
    Send { at: Ps, classes: u8, data: Option<Sent>, next: Option<Ps> },
    Answer { at: Ps, classes: u8, connection: u32, class: u8, packet: Carried },
    Packet { at: Ps, packet: Carried, marked: bool, stamps: Option<Stamps>, then: Option<Then> },
    Stamp { at: Ps, connection: u32, sequence: u64, attempt: u8 },
    Event(Told),
}

/// A packet of messages, as it travels: its connection, when it was sent, and its fields in order.
/// Their names would make recordings twice as long, and slow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Carried {
    /// Sequence, payload, index with count and attempt, whether it asks for an ACK, whether it
    /// ends its message, the payload that remains.
    Data(u32, u32, u64, u32, [u8; 3], bool, bool, u32),
    /// Segment, marked bytes, attempt.
    Ack(u32, u32, u64, u32, u8),
    /// Base, missing packets, attempt, whether it answers.
    Nack(u32, u32, u64, [u64; 2], u8, bool),
    Notification(u32, u32),
}

impl From<&Packet> for Carried {
    fn from(&Packet { connection, sent_ns, body }: &Packet) -> Self {
        match body {
            Body::Message(message::Body::Data(data)) => {
                let Data { sequence, payload, ack_request, ends_message, remaining, .. } = data;
                let place = [data.index, data.count, data.attempt];
                let (asks, ends) = (ack_request, ends_message);
                Self::Data(connection, sent_ns, sequence, payload, place, asks, ends, remaining)
            }
            Body::Message(message::Body::Ack(Ack { segment, ce_bytes, attempt })) => {
                Self::Ack(connection, sent_ns, segment, ce_bytes, attempt)
            }
            Body::Message(message::Body::Nack(Nack { base, missing, attempt, answers })) => {
                Self::Nack(connection, sent_ns, base, missing.halves(), attempt, answers)
            }
            // The endpoints of nodes have no streams and no credit.
            Body::Notification | Body::Stream(_) | Body::Credit(_) => {
                Self::Notification(connection, sent_ns)
            }
        }
    }
}

impl Carried {
    /// The packet, if its numbers fit each other.
    pub(super) fn packet(&self) -> Result<Packet, Fault> {
        let (connection, sent_ns, body) = match *self {
            Self::Data(connection, sent_ns, sequence, payload, place, asks, ends, remaining) => {
                let [index, count, attempt] = place;
                let fits = index < count && u32::from(count) <= MAX_SEGMENT_PACKETS;
                let first = sequence.checked_sub(index.into()).filter(|_| fits);
                if first.and_then(|first| first.checked_add(count.into())).is_none() {
                    return Err("has a packet that does not fit its segment");
                }
                let (read, due, ack_request, ends_message) = (0, DueBy::NONE, asks, ends);
                let body = message::Body::Data(Data {
                    sequence,
                    payload,
                    index,
                    count,
                    attempt,
                    ack_request,
                    ends_message,
                    read,
                    due,
                    remaining,
                });
                (connection, sent_ns, Body::Message(body))
            }
            Self::Ack(connection, sent_ns, segment, ce_bytes, attempt) => {
                let ack = Ack { segment, ce_bytes, attempt };
                (connection, sent_ns, Body::Message(message::Body::Ack(ack)))
            }
            Self::Nack(connection, sent_ns, base, missing, attempt, answers) => {
                if base.checked_add(MAX_SEGMENT_PACKETS.into()).is_none() {
                    return Err("has packets whose numbers are too high");
                }
                let nack = Nack { base, missing: PacketSet::of(missing), attempt, answers };
                (connection, sent_ns, Body::Message(message::Body::Nack(nack)))
            }
            Self::Notification(connection, sent_ns) => (connection, sent_ns, Body::Notification),
        };
        Ok(Packet { connection, sent_ns, body })
    }
}

/// A packet of data that leaves: its connection and class, the place of its payload among all of
/// the connection, when its message was posted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent(
    pub(super) u32,
    pub(super) u8,
    pub(super) Carried,
    pub(super) Option<u64>,
    pub(super) Option<Ps>,
);

/// The stamps of an ACK that came.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stamps {
    arrived: Option<Ps>,
    peer: Ps,
}

impl Stamps {
    pub(super) fn of(clock: Clock) -> Option<Self> {
        match clock {
            Clock::Calls => None,
            Clock::Stamps { arrived, peer } => {
                Some(Self { arrived: arrived.map(Ps::from), peer: peer.into() })
            }
        }
    }

    pub(super) fn clock(&self) -> Result<Clock, Fault> {
        let arrived = self.arrived.map(Ps::time).transpose()?;
        Ok(Clock::Stamps { arrived, peer: self.peer.span()? })
    }
}

/// The state after an ACK, a report of loss or a notification.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Then {
    pub(super) next: Option<Ps>,
    pub(super) limits: Option<Limits>,
}

/// The limits of a sender.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    pub(super) rate_bps: u64,
    pub(super) window: u64,
    pub(super) srtt: Ps,
}

/// An event for the application.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told {
    Delivered { connection: u32, message: u64 },
    Completed { connection: u32, message: u64 },
    Sampled { connection: u32, rtt: [Ps; 3], measured: Ps, rate_bps: u64 },
}

impl From<Event> for Told {
    fn from(event: Event) -> Self {
        match event {
            Event::Delivered { connection, message } => Self::Delivered { connection, message },
            Event::Completed { connection, message } => Self::Completed { connection, message },
            Event::Sampled { connection, sample } => Self::Sampled {
                connection,
                rtt: [sample.rtt.total, sample.rtt.serialization, sample.rtt.peer].map(Ps::from),
                measured: sample.measured.into(),
                rate_bps: sample.rate.as_bps(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_do_not_fit_are_refused() {
        let fits = |packet: Carried| packet.packet().is_ok();
        let data =
            |sequence, place| fits(Carried::Data(0, 5, sequence, 1_380, place, true, true, 0));
        assert!(data(17, [3, 41, 0]) && fits(Carried::Notification(0, 5)));
        assert!(!data(17, [41, 41, 0]) && !data(17, [0, 129, 0]));
        assert!(!data(2, [3, 41, 0]) && !data(u64::MAX, [0, 41, 0]));
        assert!(!fits(Carried::Nack(0, 5, u64::MAX, [1, 0], 0, true)));
        assert!(Ps(LATEST).time().is_err());
    }
}
