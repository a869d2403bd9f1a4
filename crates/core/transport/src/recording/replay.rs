//! The calls of a recording, made again.

use std::fmt;

use incast_cc::{Span, Time};

use super::broken::{BrokenRecording, Fault};
use super::call::{AppEvent, Call, Carried, Ps, Stamps};
use super::lines::Last;
use super::{RecordedEndpoint, head};
use crate::connection::CLASSES;
use crate::packet::{Body, message};
use crate::rate::{Clock, Report};

/// The most packets that one may be ahead of the oldest that is missing: nodes refuse more.
const MOST_AHEAD: u64 = 1 << 20;

/// The first line of a recording that a replay does not make again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the line, from 1.
    pub line: u64,
    /// The line as it was recorded.
    pub recorded: String,
    /// The line of the replay; [`None`] if the endpoint had nothing to say.
    pub replayed: Option<String>,
}

/// The outcome of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The calls that were made again with an equal outcome.
    pub calls: u64,
    /// The connections that were opened, those that receive among them.
    pub connections: u64,
    /// The packets of data that were sent.
    pub sends: u64,
    /// Their payload in bytes.
    pub payload: u64,
    /// The packets of data that were sent a second time or later.
    pub again: u64,
    /// The packets of data that came.
    pub arrivals: u64,
    /// The ACKs, reports of loss and notifications that came, after each of which the rate and the
    /// window are compared.
    pub rates: u64,
    /// The RTT samples.
    pub samples: u64,
    /// The time from the first call to the last.
    pub lasted: Span,
    /// Whether the recording has grown as long as it may, so that later calls are not in it.
    pub is_full: bool,
    /// The first difference, where the replay ends; [`None`] if everything is equal.
    pub difference: Option<Difference>,
}

/// Makes the calls of a recording on a new endpoint, and compares what it says, line by line.
///
/// # Errors
/// The text is no recording, or cannot be one that was made.
pub fn replay(text: &str) -> Result<Replayed, BrokenRecording> {
    let (config, algorithm, body) = head::read(text)?;
    let whole = body.strip_suffix('\n').ok_or(BrokenRecording::CutShort)?;
    let (calls, last) = whole.rsplit_once('\n').unwrap_or(("", whole));
    let last: Last = serde_json::from_str(last).map_err(|_| BrokenRecording::CutShort)?;
    let mut endpoint = RecordedEndpoint::new(config, algorithm);
    endpoint.record(usize::MAX);
    let mut replay = Replay { endpoint, roles: Vec::new(), from: None, until: Time::ZERO };
    let mut replayed =
        Replayed { algorithm: algorithm.name(), is_full: last.full, ..Replayed::default() };
    for (line, number) in calls.lines().zip(2..) {
        let fault = |fault| BrokenRecording::Line { number, fault };
        let call = serde_json::from_str(line).map_err(|_| fault("is no call"))?;
        replay.call(&call, &mut replayed).map_err(fault)?;
        let again = replay.endpoint.recorder.as_mut().and_then(|recorder| recorder.lines.take());
        let again = again.map(|text| text.trim_end().to_owned());
        if again.as_deref() != Some(line) {
            let recorded = line.to_owned();
            replayed.difference = Some(Difference { line: number, recorded, replayed: again });
            break;
        }
        replayed.calls += 1;
    }
    let found = calls.lines().count() as u64;
    if found != last.calls {
        return Err(BrokenRecording::Count { found, said: last.calls });
    }
    replayed.lasted = replay.until.since(replay.from.unwrap_or(Time::ZERO));
    Ok(replayed)
}

/// A replay that is under way.
struct Replay {
    endpoint: RecordedEndpoint,
    /// Whether each connection sends, by index; [`None`] for those that are not open.
    roles: Vec<Option<bool>>,
    from: Option<Time>,
    until: Time,
}

impl Replay {
    /// Makes a call again.
    fn call(&mut self, call: &Call, replayed: &mut Replayed) -> Result<(), Fault> {
        match *call {
            Call::Open { sends, class, peer, .. } => {
                if class >= CLASSES {
                    return Err("has a traffic class that there is not");
                }
                let connection = if sends {
                    self.endpoint.open_sender(class, peer)
                } else {
                    self.endpoint.open_receiver(class, peer)
                };
                let place = connection as usize;
                self.roles.resize(self.roles.len().max(place + 1), None);
                self.roles[place] = Some(sends);
                replayed.connections += 1;
            }
            Call::Close { connection } => {
                self.role(connection).ok_or("closes a connection that is not open")?;
                self.roles[connection as usize] = None;
                self.endpoint.close(connection);
            }
            Call::Post { at, connection, bytes, .. } => {
                let now = self.now(at)?;
                if self.role(connection) != Some(true) {
                    return Err("posts on a connection that does not send");
                }
                self.endpoint.post(now, connection, bytes);
            }
            Call::Withdraw { at, connection, after, .. } => {
                let now = self.now(at)?;
                if self.role(connection) != Some(true) {
                    return Err("takes back on a connection that does not send");
                }
                self.endpoint.withdraw(now, connection, after);
            }
            Call::Timer { at, .. } => {
                let now = self.now(at)?;
                self.endpoint.on_timer(now);
            }
            Call::Send { at, classes, .. } => {
                let now = self.now(at)?;
                let out = self.endpoint.poll_data(now, classes);
                if let Some(Body::Message(message::Body::Data(data))) =
                    out.map(|out| out.form.packet(0).body)
                {
                    replayed.sends += 1;
                    replayed.payload += u64::from(data.payload);
                    replayed.again += u64::from(data.attempt > 0);
                }
            }
            Call::Answer { at, classes, .. } => {
                let now = self.now(at)?;
                self.endpoint.poll_reply(now, classes);
            }
            Call::Packet { at, ref packet, marked, ref stamps, .. } => {
                let now = self.now(at)?;
                let clock = stamps.as_ref().map_or(Ok(Clock::Calls), Stamps::clock)?;
                let report = Report { marked, clock, ..Report::default() };
                self.packet(now, packet, report, replayed)?;
            }
            Call::Stamp { at, connection, sequence, attempt } => {
                self.known(connection)?;
                self.endpoint.on_sent_at(connection, sequence, attempt, at.time()?);
            }
            Call::Event(_) => {
                let event = self.endpoint.poll_event().map(AppEvent::from);
                replayed.samples += u64::from(matches!(event, Some(AppEvent::Sampled { .. })));
            }
        }
        Ok(())
    }

    fn packet(
        &mut self,
        now: Time,
        carried: &Carried,
        report: Report<'_>,
        replayed: &mut Replayed,
    ) -> Result<(), Fault> {
        let packet = carried.packet()?;
        self.known(packet.connection)?;
        let is_data = packet.body.is_data();
        // A receiver is told of data, a sender of all else.
        if self.role(packet.connection).is_some_and(|sends| sends == is_data) {
            return Err("has a packet for the other end of its connection");
        }
        if let (true, Some(next)) = (is_data, self.endpoint.awaits(packet.connection))
            && packet.body.sequence() >= next.saturating_add(MOST_AHEAD)
        {
            return Err("has a packet that is too far ahead");
        }
        *(if is_data { &mut replayed.arrivals } else { &mut replayed.rates }) += 1;
        self.endpoint.handle_packet(now, &packet, report);
        Ok(())
    }

    /// The time of a call.
    fn now(&mut self, at: Ps) -> Result<Time, Fault> {
        let now = at.time()?;
        self.from.get_or_insert(now);
        self.until = self.until.max(now);
        Ok(now)
    }

    /// Refuses a connection that was never opened. One that is closed may still get packets.
    fn known(&self, connection: u32) -> Result<(), Fault> {
        let known = (connection as usize) < self.roles.len();
        if known { Ok(()) } else { Err("names a connection that was never opened") }
    }

    /// Whether a connection sends; [`None`] if it is not open.
    fn role(&self, connection: u32) -> Option<bool> {
        *self.roles.get(connection as usize)?
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = self.replayed.as_deref().unwrap_or("(nothing)");
        write!(f, "line {}:\n  recorded {}\n  replayed {again}", self.line, self.recorded)
    }
}
