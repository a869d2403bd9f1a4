//! The calls of an endpoint, as the lines of a recording have them.

use incast_cc::{Span, Time};
use serde::{Deserialize, Serialize, Serializer};

use super::broken::Fault;
use crate::connection::Event;
use crate::packet::message::{self, Ack, Data, MAX_SEGMENT_PACKETS, Nack};
use crate::packet::{Body, Packet};
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
    Event(AppEvent),
}

/// A packet of messages, as it travels: its connection, when it was sent, and its content; [`None`]
/// is a notification.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Carried(u32, u32, Option<message::Body>);

impl From<&Packet> for Carried {
    fn from(&Packet { connection, sent_ns, body }: &Packet) -> Self {
        let body = match body {
            Body::Message(body) => Some(body),
            // The endpoints of nodes have no streams and no credit.
            Body::Notification | Body::Stream(_) | Body::Credit(_) => None,
        };
        Self(connection, sent_ns, body)
    }
}

impl Carried {
    /// The packet, if its numbers fit each other.
    pub(super) fn packet(&self) -> Result<Packet, Fault> {
        let &Self(connection, sent_ns, body) = self;
        match body {
            Some(message::Body::Data(data) | message::Body::Trimmed(data)) => {
                let Data { sequence, index, count, .. } = data;
                let fits = index < count && u32::from(count) <= MAX_SEGMENT_PACKETS;
                let first = sequence.checked_sub(index.into()).filter(|_| fits);
                first
                    .and_then(|first| first.checked_add(count.into()))
                    .ok_or("has a packet that does not fit its segment")?;
            }
            Some(message::Body::Nack(Nack { base, .. })) => {
                base.checked_add(MAX_SEGMENT_PACKETS.into())
                    .ok_or("has packets whose numbers are too high")?;
            }
            Some(message::Body::Ack(_)) | None => {}
        }
        let body = body.map_or(Body::Notification, Body::Message);
        Ok(Packet { connection, sent_ns, body })
    }
}

// Fields without their names, which would make recordings three times as long. Serde reads a struct
// from an array of its fields as from an object.
impl Serialize for Data {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let place = (self.sequence, self.payload, self.index, self.count, self.attempt);
        let (sequence, payload, index, count, attempt) = place;
        let (asks, ends) = (self.ack_request, self.ends_message);
        (sequence, payload, index, count, attempt, asks, ends, self.remaining).serialize(to)
    }
}

impl Serialize for Ack {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.segment, self.ce_bytes, self.attempt).serialize(to)
    }
}

impl Serialize for Nack {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.base, self.missing, self.attempt, self.answers).serialize(to)
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
pub(super) enum AppEvent {
    Delivered { connection: u32, message: u64 },
    Completed { connection: u32, message: u64 },
    Sampled { connection: u32, rtt: [Ps; 3], measured: Ps, rate_bps: u64 },
}

impl From<Event> for AppEvent {
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
        let fits = |body: &str| {
            let carried: Carried = serde_json::from_str(&format!("[0,5,{body}]")).unwrap();
            let packet = carried.packet();
            // What is read is written the same.
            let again = packet.as_ref().map(|packet| serde_json::to_string(&Carried::from(packet)));
            again.is_ok_and(|text| text.unwrap() == format!("[0,5,{body}]"))
        };
        let data = |place: &str| fits(&format!(r#"{{"data":[{place},0,true,false,7]}}"#));
        assert!(data("17,1380,3,41") && fits("null") && fits(r#"{"ack":[17,1,2]}"#));
        assert!(!data("17,1380,41,41") && !data("17,1380,0,129") && !data("2,1380,3,41"));
        assert!(!data("18446744073709551615,1380,0,41"));
        assert!(fits(r#"{"nack":[17,[1,0],0,true]}"#));
        assert!(!fits(r#"{"nack":[18446744073709551615,[1,0],0,true]}"#));
        assert!(Ps(LATEST).time().is_err());
    }
}
