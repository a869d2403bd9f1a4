//! Recordings of an endpoint: everything that a carrier told it, and everything that it said.
//!
//! A [`RecordedEndpoint`] is an [`Endpoint`] of messages that may keep a recording. The recording
//! is lines of JSON. The first has the settings, and the last says how many calls there are.
//! Between them is a line for each call that mattered: what the carrier said, with its time, and
//! what the endpoint answered: segments with their place in the payload, the next send time, the
//! rate and the window after each ACK. Times are in picoseconds. [`replay`] makes the same calls on
//! a new endpoint, far from any socket, and compares each line.
//!
//! ```
//! use incast_cc::{AnyAlgorithm, Time};
//! use incast_transport::Config;
//! use incast_transport::recording::{RecordedEndpoint, replay};
//!
//! let timely = AnyAlgorithm::named("timely").unwrap();
//! let mut endpoint = RecordedEndpoint::new(Config::default(), timely);
//! endpoint.record(1 << 20);
//! let connection = endpoint.open_sender(0, 0);
//! endpoint.post(Time::ZERO, connection, 5_000);
//! endpoint.on_timer(Time::ZERO);
//! while endpoint.poll_data(Time::ZERO, u8::MAX).is_some() {}
//! let text = endpoint.take_recording().unwrap();
//!
//! let replayed = replay(&text).unwrap();
//! assert_eq!((replayed.sends, replayed.payload), (4, 5_000));
//! assert!(replayed.difference.is_none());
//! let other = replay(&text.replace("\"bytes\":5000", "\"bytes\":5001")).unwrap();
//! assert!(other.difference.is_some());
//! ```

mod broken;
mod call;
mod head;
mod lines;
mod replay;

use std::ops::Deref;

use incast_cc::line_rate::LineRate;
use incast_cc::{Algorithm, AnyAlgorithm, AnyControl, Time};

use self::call::{AppEvent, Call, Limits, Ps, Sent, Stamps, Then};
use self::lines::Lines;
use crate::config::Config;
use crate::connection::{Event, Operation, Purpose, Role, Terms};
use crate::endpoint::{Endpoint, News, Outgoing};
use crate::message::OutgoingBurst;
use crate::packet::{Body, Packet, message};
use crate::rate::Report;
use crate::signal::Signal;

pub use self::broken::BrokenRecording;
pub use self::replay::{Difference, Replayed, replay};

/// An endpoint of messages that may keep a recording. It is an [`Endpoint`] for all that changes
/// nothing; the calls that change it are those below, so that none is missing in a recording.
pub struct RecordedEndpoint {
    endpoint: Endpoint<AnyControl>,
    config: Config,
    algorithm: AnyAlgorithm,
    /// The number of connections that were opened.
    opened: u64,
    recorder: Option<Box<Recorder>>,
}

/// A recording that is being made.
struct Recorder {
    head: String,
    lines: Lines,
}

impl RecordedEndpoint {
    /// An endpoint without connections, which records nothing. Its signal is the RTT as measured,
    /// and its streams, of which it has none, have the default settings.
    ///
    /// # Panics
    /// When [`Config::check`] fails.
    pub fn new(config: Config, algorithm: AnyAlgorithm) -> Self {
        let stream = crate::config::stream::Config::default();
        let config = Config { signal: Signal::Rtt, stream, ..config };
        let endpoint = Endpoint::new(
            config,
            Box::new(move |flow, purpose| match purpose {
                Purpose::Data => algorithm.start(flow),
                Purpose::Requests => AnyControl::LineRate(LineRate::default().start(flow)),
            }),
        );
        Self { endpoint, config, algorithm, opened: 0, recorder: None }
    }

    /// Begins a recording of at most `bytes`. One that has grown so long ends there: what comes
    /// later is not in it.
    ///
    /// # Panics
    /// When a connection was opened before: a recording has all from the start.
    pub fn record(&mut self, bytes: usize) {
        assert!(self.opened == 0, "a recording begins before the first connection");
        let head = head::write(&self.config, &self.algorithm);
        let lines = Lines::new(bytes.saturating_sub(head.len()));
        self.recorder = Some(Box::new(Recorder { head, lines }));
    }

    /// Ends the recording and returns it; [`None`] if there was none.
    pub fn take_recording(&mut self) -> Option<String> {
        let Recorder { mut head, lines } = *self.recorder.take()?;
        lines.end(&mut head);
        Some(head)
    }

    /// Opens a connection that sends, in a traffic class, and returns its index. The peer has it as
    /// `peer`.
    pub fn open_sender(&mut self, class: u8, peer: u32) -> u32 {
        self.open(class, Role::Sender, peer)
    }

    /// Opens a connection that receives, whose sender has it as `peer`, and returns its index.
    pub fn open_receiver(&mut self, class: u8, peer: u32) -> u32 {
        self.open(class, Role::Receiver, peer)
    }

    fn open(&mut self, class: u8, role: Role, peer: u32) -> u32 {
        self.opened += 1;
        let connection = self.endpoint.open_on(Terms { class, ..Terms::default() }, role, peer);
        if let Some(recorder) = &mut self.recorder {
            let sends = role == Role::Sender;
            recorder.lines.add(&Call::Open { sends, class, peer, connection });
        }
        connection
    }

    /// Closes a connection ([`Endpoint::close`]).
    ///
    /// # Panics
    /// When the connection is not open.
    pub fn close(&mut self, connection: u32) {
        self.endpoint.close(connection);
        if let Some(recorder) = &mut self.recorder {
            recorder.lines.add(&Call::Close { connection });
        }
    }

    /// Starts sending a message of `bytes` ([`Endpoint::post`]).
    ///
    /// # Panics
    /// When the connection is not one that sends.
    #[inline]
    pub fn post(&mut self, now: Time, connection: u32, bytes: u64) {
        self.endpoint.post(now, connection, Operation::Write { bytes });
        if let Some(recorder) = &mut self.recorder {
            let next = self.endpoint.next_timer(now).map(Ps::from);
            recorder.lines.add(&Call::Post { at: now.into(), connection, bytes, next });
        }
    }

    /// Takes the unsent payload of a message back ([`Endpoint::withdraw`]).
    pub fn withdraw(&mut self, now: Time, connection: u32, after: usize) -> Option<u64> {
        let bytes = self.endpoint.withdraw(now, connection, after)?;
        if let Some(recorder) = &mut self.recorder {
            let next = self.endpoint.next_timer(now).map(Ps::from);
            let at = now.into();
            recorder.lines.add(&Call::Withdraw { at, connection, after, bytes, next });
        }
        Some(bytes)
    }

    /// Releases what is due ([`Endpoint::on_timer`]).
    #[inline]
    pub fn on_timer(&mut self, now: Time) {
        if self.recorder.is_none() {
            return self.endpoint.on_timer(now);
        }
        let is_due = self.endpoint.next_timer(now).is_some_and(|at| at <= now);
        self.endpoint.on_timer(now);
        // A call before anything is due changes nothing.
        if is_due && let Some(recorder) = &mut self.recorder {
            let next = self.endpoint.next_timer(now).map(Ps::from);
            recorder.lines.add(&Call::Timer { at: now.into(), next });
        }
    }

    /// The next packet of data that may leave now ([`Endpoint::poll_data`]).
    #[inline]
    pub fn poll_data(&mut self, now: Time, classes: u8) -> Option<Outgoing> {
        // Without data a poll changes nothing.
        if self.recorder.is_none() || !self.endpoint.has_data(classes) {
            return self.endpoint.poll_data(now, classes);
        }
        let out = self.endpoint.poll_data(now, classes);
        let Some(recorder) = &mut self.recorder else { return out };
        let data = out.as_ref().map(|out| {
            let packet = out.form.packet(0);
            let place = self.endpoint.payload_at(out.connection, packet.body.sequence());
            Sent(out.connection, out.class, (&packet).into(), place, out.begins.map(Ps::from))
        });
        let next = self.endpoint.next_timer(now).map(Ps::from);
        recorder.lines.add(&Call::Send { at: now.into(), classes, data, next });
        out
    }

    /// The packets of a segment that may leave now ([`Endpoint::poll_burst`]); while they are
    /// recorded, one at a time.
    #[inline]
    pub fn poll_burst(&mut self, now: Time, classes: u8) -> Option<OutgoingBurst> {
        if self.recorder.is_none() {
            self.endpoint.poll_burst(now, classes)
        } else {
            self.poll_alone(now, classes)
        }
    }

    #[cold]
    fn poll_alone(&mut self, now: Time, classes: u8) -> Option<OutgoingBurst> {
        let out = self.poll_data(now, classes)?;
        let Packet { connection: peer, sent_ns, body } = out.form.packet(0);
        let Body::Message(message::Body::Data(data)) = body else { return None };
        let place = self.endpoint.payload_at(out.connection, data.sequence)?;
        let ends = (out.connection, peer, sent_ns);
        Some(OutgoingBurst::alone(ends, place, &data, self.endpoint.config()))
    }

    /// The next answer that may leave now ([`Endpoint::poll_reply`]).
    #[inline]
    pub fn poll_reply(&mut self, now: Time, classes: u8) -> Option<Outgoing> {
        let out = self.endpoint.poll_reply(now, classes);
        // Without an answer a poll changes nothing.
        if let Some(recorder) = &mut self.recorder
            && let Some(out) = &out
        {
            let &Outgoing { connection, class, .. } = out;
            let packet = (&out.form.packet(0)).into();
            recorder.lines.add(&Call::Answer {
                at: now.into(),
                classes,
                connection,
                class,
                packet,
            });
        }
        out
    }

    /// Takes in a packet of messages that has arrived ([`Endpoint::handle_packet`]), without
    /// telemetry.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet, report: Report<'_>) -> News {
        let news = self.endpoint.handle_packet(now, packet, report);
        if self.recorder.is_some() {
            self.note_packet(now, packet, report);
        }
        news
    }

    #[cold]
    fn note_packet(&mut self, now: Time, packet: &Packet, report: Report<'_>) {
        let Some(recorder) = &mut self.recorder else { return };
        let then = (!packet.body.is_data()).then(|| Then {
            next: self.endpoint.next_timer(now).map(Ps::from),
            limits: self.endpoint.sender(packet.connection).map(|sender| Limits {
                rate_bps: sender.pacing_rate().as_bps(),
                window: sender.rate().limits().cwnd.get(),
                srtt: sender.rtt().srtt().into(),
            }),
        });
        let (stamps, marked) = (Stamps::of(report.clock), report.marked);
        let (at, packet) = (now.into(), packet.into());
        recorder.lines.add(&Call::Packet { at, packet, marked, stamps, then });
    }

    /// Notes the stamp of a packet that has left ([`Endpoint::on_sent_at`]).
    #[inline]
    pub fn on_sent_at(&mut self, connection: u32, sequence: u64, attempt: u8, stamp: Time) {
        self.endpoint.on_sent_at(connection, sequence, attempt, stamp);
        if let Some(recorder) = &mut self.recorder {
            let at = stamp.into();
            recorder.lines.add(&Call::Stamp { at, connection, sequence, attempt });
        }
    }

    /// The next event for the application ([`Endpoint::poll_event`]).
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.endpoint.poll_event();
        if let Some(recorder) = &mut self.recorder
            && let Some(event) = &event
        {
            recorder.lines.add(&Call::Event(AppEvent::from(*event)));
        }
        event
    }
}

impl Deref for RecordedEndpoint {
    type Target = Endpoint<AnyControl>;

    fn deref(&self) -> &Self::Target {
        &self.endpoint
    }
}
