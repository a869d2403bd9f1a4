//! Two endpoints on a wire whose behaviour a test decides.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Flow, Limits, Rate, Span, Time};
use incast_transport::message::Data;
use incast_transport::stream::{Ack, Segment};
use incast_transport::{
    Body, Config, Endpoint, Event, Form, Operation, Packet, Purpose, Report, Role, Terms,
    Transport, message, stream,
};

use super::audit::{Audited, Carrier};
use super::plain::Plain;

/// Connections, the same at both ends: end 0 writes to end 1 on the first, asks it for reads on the
/// second, and gets the answers on the third.
pub(crate) const WRITE: u32 = 0;
pub(crate) const REQUEST: u32 = 1;
pub(crate) const ANSWER: u32 = 2;

/// The size of headers, and of a whole ACK.
const HEADER: u64 = 40;

/// The wire's treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    Marked,
    /// A switch cuts the packet to its header, which overtakes what waits at the bottleneck.
    Trimmed,
    /// The packet arrives this much later, and may be overtaken.
    Late(Span),
}

/// The wire, the same in both directions but for the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// The rate of both NICs.
    pub(crate) rate: Rate,
    /// The time from the last bit's departure to the arrival.
    pub(crate) delay: Span,
    /// A slower link, with a queue without limit in front of it, that packets of end 0 pass.
    pub(crate) bottleneck: Option<Rate>,
}

/// 10 Gb/s and 50 us: the ACK of a lone segment of 1,460 B arrives 1.2 + 50 + 0.032 + 50 = 101.232
/// us after it was sent.
impl Default for Wire {
    fn default() -> Self {
        Self { rate: Rate::from_gbps(10), delay: Span::from_us(50), bottleneck: None }
    }
}

/// A packet that has left a NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    /// The time at which the first bit left.
    pub(crate) at: Time,
    pub(crate) from: usize,
    pub(crate) packet: Packet,
    pub(crate) fate: Fate,
}

impl Traced {
    /// The segment, if it is one.
    pub(crate) fn segment(&self) -> Option<&Segment> {
        if let Body::Stream(stream::Body::Segment(segment)) = &self.packet.body {
            Some(segment)
        } else {
            None
        }
    }

    /// The packet of a message, if it is one.
    pub(crate) fn data(&self) -> Option<&Data> {
        if let Body::Message(message::Body::Data(data)) = &self.packet.body {
            Some(data)
        } else {
            None
        }
    }

    /// The ACK of a stream, if it is one.
    pub(crate) fn ack(&self) -> Option<&Ack> {
        if let Body::Stream(stream::Body::Ack(ack)) = &self.packet.body { Some(ack) } else { None }
    }
}

pub(crate) struct Net {
    pub(crate) ends: [Endpoint<Audited<Plain>>; 2],
    pub(crate) wire: Wire,
    pub(crate) now: Time,
    /// The packets sent, in the order of time.
    pub(crate) log: Vec<Traced>,
    /// Messages that the applications at both ends heard of: connection, number, time.
    pub(crate) delivered: [Vec<(u32, u64, Time)>; 2],
    pub(crate) completed: [Vec<(u32, u64, Time)>; 2],
    /// The number of turns that the loop of [`run`](Self::run) has taken.
    pub(crate) turns: u64,
    free_at: [Time; 2],
    bottleneck_free: Time,
    travelling: BTreeMap<(Time, usize), (usize, Form, bool)>,
}

impl Net {
    /// Streams (or messages) whose data `plain` controls.
    pub(crate) fn new(transport: Transport, config: Config, wire: Wire, plain: &Plain) -> Self {
        let stream = &config.stream;
        let carrier = match transport {
            Transport::Message => Carrier::Message,
            Transport::Stream => {
                Carrier::Stream { sack: stream.sack, probes: stream.tail_loss_probe }
            }
        };
        let end = |roles: [Role; 3]| {
            let data = plain.clone();
            let requests = Plain::new(Limits::rate(wire.rate));
            let start = move |flow: &Flow, purpose| {
                let inner = match purpose {
                    Purpose::Data => data.start(flow),
                    Purpose::Requests => requests.clone(),
                };
                Audited::new(inner, carrier)
            };
            let mut endpoint = Endpoint::new(config, Box::new(start));
            for (index, role) in (0..).zip(roles) {
                let terms = Terms { transport, ..Terms::default() };
                assert_eq!(endpoint.open_on(terms, role, index), index);
            }
            endpoint
        };
        Self {
            ends: [
                end([Role::Sender, Role::Requester, Role::Receiver]),
                end([Role::Receiver, Role::Responder { answers: ANSWER }, Role::Sender]),
            ],
            wire,
            now: Time::ZERO,
            log: Vec::new(),
            delivered: [Vec::new(), Vec::new()],
            completed: [Vec::new(), Vec::new()],
            turns: 0,
            free_at: [Time::ZERO; 2],
            bottleneck_free: Time::ZERO,
            travelling: BTreeMap::new(),
        }
    }

    /// Lets end 0 write.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.ends[0].post(self.now, WRITE, Operation::Write { bytes });
    }

    /// Runs until `until`; `fate` decides on each packet, whose own fate is not known yet.
    pub(crate) fn run(&mut self, until: Time, mut fate: impl FnMut(&Traced) -> Fate) {
        loop {
            let mut next = until;
            for from in 0..2 {
                self.send(from, &mut fate);
                self.hear(from);
                let end = &mut self.ends[from];
                if end.has_data(u8::MAX) || end.has_reply(self.now, u8::MAX) {
                    next = next.min(self.free_at[from].max(self.now));
                }
                next = next.min(end.next_timer(self.now).unwrap_or(Time::MAX));
            }
            if let Some((&(arrives, _), _)) = self.travelling.first_key_value() {
                next = next.min(arrives);
            }
            assert!(next >= self.now, "time goes back from {} to {next}", self.now);
            self.now = next;
            self.turns += 1;
            if next >= until {
                return;
            }
            while let Some(first) = self.travelling.first_entry()
                && first.key().0 <= next
            {
                let (to, form, marked) = first.remove();
                self.ends[to].handle(next, &form, Report { marked, ..Report::default() });
                self.hear(to);
            }
        }
    }

    /// Runs until `until` and loses the packets for which `lost` says so.
    pub(crate) fn run_losing(&mut self, until: Time, mut lost: impl FnMut(&Traced) -> bool) {
        self.run(until, |packet| if lost(packet) { Fate::Lost } else { Fate::Arrives });
    }

    /// Runs until nothing is left to do, at most for 100 s.
    pub(crate) fn finish(&mut self, fate: impl FnMut(&Traced) -> Fate) {
        self.run(self.now + Span::from_secs(100), fate);
        let idle = |end: usize, connection| {
            self.ends[end].sender(connection).is_none_or(incast_transport::Sender::is_idle)
        };
        assert!(idle(0, WRITE) && idle(0, REQUEST) && idle(1, ANSWER), "it has come to rest");
        assert!(self.travelling.is_empty());
    }

    fn send(&mut self, from: usize, fate: &mut impl FnMut(&Traced) -> Fate) {
        self.ends[from].on_timer(self.now);
        if self.free_at[from] > self.now {
            return;
        }
        let Some(out) = self.ends[from].poll_transmit(self.now) else { return };
        let bytes = Bytes::new(u64::from(out.form.payload()) + HEADER);
        self.free_at[from] = self.now + self.wire.rate.time_for(bytes);
        let (mut form, packet) = (out.form, out.form.packet(0));
        let mut sent = Traced { at: self.now, from, packet, fate: Fate::Arrives };
        sent.fate = fate(&sent);
        self.log.push(sent);
        if sent.fate == Fate::Lost {
            return;
        }
        let mut leaves = self.free_at[from];
        if sent.fate == Fate::Trimmed {
            form = form.trimmed().expect("data of messages");
        } else if from == 0
            && let Some(rate) = self.wire.bottleneck
        {
            leaves = leaves.max(self.bottleneck_free) + rate.time_for(bytes);
            self.bottleneck_free = leaves;
        }
        let late = if let Fate::Late(late) = sent.fate { late } else { Span::ZERO };
        let marked = sent.fate == Fate::Marked && packet.is_ect();
        let arrives = leaves + self.wire.delay + late;
        self.travelling.insert((arrives, self.log.len()), (1 - from, form, marked));
    }

    fn hear(&mut self, end: usize) {
        while let Some(event) = self.ends[end].poll_event() {
            match event {
                Event::Delivered { connection, message } => {
                    self.delivered[end].push((connection, message, self.now));
                }
                Event::Completed { connection, message } => {
                    self.completed[end].push((connection, message, self.now));
                }
                Event::Sampled { sample, .. } => {
                    assert!(!sample.rate.is_zero());
                    assert!(sample.rtt.total >= sample.rtt.serialization, "{sample:?}");
                }
            }
        }
    }

    /// The segments that end 0 has sent, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (Time, &Segment)> {
        self.log.iter().filter(|sent| sent.from == 0).filter_map(|s| Some((s.at, s.segment()?)))
    }

    /// The ACKs that end 1 has sent, in order.
    pub(crate) fn acks(&self) -> impl Iterator<Item = (Time, &Ack)> {
        self.log.iter().filter(|sent| sent.from == 1).filter_map(|s| Some((s.at, s.ack()?)))
    }

    /// The time at which the application at end 1 had its first write, whole.
    pub(crate) fn delivered_at(&self) -> Time {
        self.delivered[1].first().expect("the write is delivered").2
    }

    /// Segments and packets that end 0 has sent again.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.ends[0].sender(WRITE).expect("it has written").retransmissions()
    }
}
