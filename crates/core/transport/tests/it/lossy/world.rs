//! Two hosts, and the wire between them that loses, delays, duplicates and reorders packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::parts::Random;
use incast_cc::registry::AnyAlgorithm;
use incast_cc::{AnyControl, Bytes, Rate, Span, Time};
use incast_transport::{
    Body, Config, Endpoint, Event, Form, InitialTimeout, Nic, Packet, Purpose, Recovery, Report,
    Role, Sender, Starter, Terms, Transport, message, stream,
};

use crate::common::audit::{Audited, Carrier};

/// A number from zero to below `bound`, which may be longer than the 32 bits of [`Random::below`].
fn below(random: &mut Random, bound: u64) -> u64 {
    random.bits() % bound
}

/// The treatment of packets by the wire, both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub(crate) delay: Span,
    /// The most that is added to the delay, at random.
    pub(crate) jitter: Span,
    /// Packets lost, in percent.
    pub(crate) lost: u64,
    /// Packets duplicated, in percent.
    pub(crate) duplicated: u64,
    /// Packets marked, in percent.
    pub(crate) marked: u64,
    /// Whether packets may overtake each other; the protocol expects that they do not, but must
    /// survive it.
    pub(crate) reorders: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) wire: Wire,
    pub(crate) segment_packets: u64,
    /// The payload missing from the last packet of a segment.
    pub(crate) odd: u64,
    pub(crate) rate: Rate,
    pub(crate) algorithm: AnyAlgorithm,
    pub(crate) writes: Vec<u64>,
    pub(crate) reads: Vec<u64>,
    /// The time from one post to the next.
    pub(crate) every: Span,
    pub(crate) seed: u64,
    pub(crate) transport: Transport,
    pub(crate) recovery: Recovery,
    pub(crate) stream: stream::Config,
    /// Whether all packets travel in the full form.
    pub(crate) full_packets: bool,
}

pub(crate) const PAYLOAD: u64 = 1_000;
const HEADER: u64 = 40;
const ACK: u64 = 64;
pub(crate) const RTO_MIN: Span = Span::from_us(500);
pub(crate) const RTO_MAX: Span = Span::from_ms(20);

/// An end, and the events that its application has heard of.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint<Audited<AnyControl>>,
    pub(crate) nic_free: Time,
    last_arrival: Time,
    pub(crate) delivered: Vec<Vec<u64>>,
    pub(crate) completed: Vec<Vec<u64>>,
}

impl Host {
    fn new(case: &Case) -> Self {
        let config = Config {
            segment: Bytes::new(case.segment_packets * PAYLOAD - case.odd),
            payload: Bytes::new(PAYLOAD),
            header: Bytes::new(HEADER),
            recovery: case.recovery,
            nic: [Nic::Packets, Nic::Segments, Nic::Packets, Nic::Srpt]
                [usize::try_from(case.seed % 4).unwrap()],
            line_rate: case.rate,
            ack_turnaround: Span::from_us(1),
            rto_initial: InitialTimeout::Fixed(RTO_MIN),
            rto_min: RTO_MIN,
            rto_max: RTO_MAX,
            stream: case.stream,
            full_packets: case.full_packets,
            oldest_first: case.seed % 3 == 1,
            notification_interval: Some(Span::from_us(50)),
            ..Config::default()
        };
        let algorithm = case.algorithm;
        let carrier = match case.transport {
            Transport::Message => Carrier::Message,
            Transport::Stream => {
                Carrier::Stream { sack: case.stream.sack, probes: case.stream.tail_loss_probe }
            }
        };
        let line_rate = AnyAlgorithm::named("line-rate").expect("it is registered");
        let start: Starter<_> = Box::new(move |flow, purpose| match purpose {
            Purpose::Data => Audited::new(algorithm.start(flow), carrier),
            Purpose::Requests => Audited::new(line_rate.start(flow), carrier),
        });
        Self {
            endpoint: Endpoint::new(config, start),
            nic_free: Time::ZERO,
            last_arrival: Time::ZERO,
            delivered: vec![Vec::new(); 3],
            completed: vec![Vec::new(); 3],
        }
    }

    fn hear(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Delivered { connection, message } => {
                    self.delivered[connection as usize].push(message);
                }
                Event::Completed { connection, message } => {
                    self.completed[connection as usize].push(message);
                }
                Event::Sampled { sample, .. } => {
                    assert!(!sample.rate.is_zero());
                    assert!(sample.rtt.total >= sample.rtt.serialization, "{sample:?}");
                }
            }
        }
    }
}

/// Connections, the same on both sides: host 0 writes to host 1 on the first, asks it for reads on
/// the second, and gets the answers on the third.
pub(crate) const WRITE: u32 = 0;
pub(crate) const REQUEST: u32 = 1;
pub(crate) const ANSWER: u32 = 2;

pub(crate) struct World {
    pub(crate) case: Case,
    pub(crate) hosts: [Host; 2],
    random: Random,
    pub(crate) now: Time,
    /// Packets in flight: arrival, order of sending, host, mark. The packet itself is in `packets`.
    flying: BinaryHeap<Reverse<(Time, usize, usize, bool)>>,
    packets: Vec<Form>,
    /// What was sent: the time, the host, the packet.
    pub(crate) sent: Vec<(Time, usize, Packet)>,
}

impl World {
    pub(crate) fn new(case: &Case) -> Self {
        let mut hosts = [Host::new(case), Host::new(case)];
        let [a, b] = &mut hosts;
        let terms = Terms { transport: case.transport, ..Terms::default() };
        let open = |host: &mut Host, role, index| {
            assert_eq!(host.endpoint.open_on(terms, role, index), index);
        };
        open(a, Role::Sender, WRITE);
        open(b, Role::Receiver, WRITE);
        open(a, Role::Requester, REQUEST);
        open(b, Role::Responder { answers: ANSWER }, REQUEST);
        open(a, Role::Receiver, ANSWER);
        open(b, Role::Sender, ANSWER);
        Self {
            case: case.clone(),
            hosts,
            random: Random::new(case.seed),
            now: Time::ZERO,
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Sends everything that one host may send now.
    fn send(&mut self, from: usize) {
        let Wire { delay, jitter, lost, duplicated, marked, reorders } = self.case.wire;
        let host = &mut self.hosts[from];
        while host.nic_free <= self.now
            && let Some(out) = host.endpoint.poll_transmit(self.now)
        {
            let packet = out.form.packet(0);
            self.sent.push((self.now, from, packet));
            let wire = match packet.body {
                Body::Message(message::Body::Data(data)) => {
                    assert!((1..=PAYLOAD).contains(&u64::from(data.payload)), "{data:?}");
                    u64::from(data.payload) + HEADER
                }
                Body::Stream(stream::Body::Segment(segment)) => {
                    let least = u64::from(!segment.opens);
                    assert!((least..=PAYLOAD).contains(&u64::from(segment.payload)), "{segment:?}");
                    u64::from(segment.payload) + HEADER
                }
                _ => ACK,
            };
            host.nic_free = self.now + self.case.rate.time_for(Bytes::new(wire));
            let mut form = out.form;
            let mut cut = false;
            if below(&mut self.random, 100) < lost {
                // A switch that trims leaves the header of every second packet.
                let trims = self.case.seed % 5 == 2 && below(&mut self.random, 2) == 0;
                let Some(header) = form.trimmed().filter(|_| trims) else { continue };
                (form, cut) = (header, true);
            }
            let copies = if below(&mut self.random, 100) < duplicated { 2 } else { 1 };
            for _ in 0..copies {
                let late = Span::from_ps(below(&mut self.random, jitter.as_ps() + 1));
                let mut arrives = host.nic_free + delay + late;
                if !reorders && !cut {
                    arrives = arrives.max(host.last_arrival);
                    host.last_arrival = arrives;
                }
                let mark = below(&mut self.random, 100) < marked && form.is_ect();
                self.flying.push(Reverse((arrives, self.packets.len(), 1 - from, mark)));
                self.packets.push(form);
            }
        }
    }

    /// The next moment at which something happens.
    fn next(&mut self) -> Option<Time> {
        let mut next = self.flying.peek().map(|&Reverse((at, ..))| at);
        let mut earlier = |at: Option<Time>| next = next.into_iter().chain(at).min();
        for host in &mut self.hosts {
            earlier(host.endpoint.next_timer(self.now));
            let waits =
                host.endpoint.has_data(u8::MAX) || host.endpoint.has_reply(self.now, u8::MAX);
            earlier(waits.then_some(host.nic_free));
        }
        next
    }

    /// Whether all has been acknowledged, and nothing is on its way.
    fn rests(&self) -> bool {
        let idle = |connection| {
            let sender = |host: &Host| host.endpoint.sender(connection).is_none_or(Sender::is_idle);
            self.hosts.iter().all(sender)
        };
        let quiet = |host: &Host| {
            !host.endpoint.has_data(u8::MAX) && !host.endpoint.has_reply(Time::MAX, u8::MAX)
        };
        self.flying.is_empty()
            && [WRITE, REQUEST, ANSWER].into_iter().all(idle)
            && self.hosts.iter().all(quiet)
    }

    /// Goes on until nothing happens any more, or until `end`; whether it has come to rest.
    pub(crate) fn run(&mut self, end: Time) -> bool {
        loop {
            for host in 0..2 {
                self.hosts[host].endpoint.on_timer(self.now);
                self.hosts[host].hear();
                self.send(host);
            }
            if self.rests() {
                return true;
            }
            let next = self.next().expect("what is not at rest waits for something");
            if next >= end {
                self.now = end;
                return false;
            }
            assert!(next >= self.now, "time goes back from {} to {next}", self.now);
            self.now = next;
            while let Some(&Reverse((at, packet, host, mark))) = self.flying.peek()
                && at <= self.now
            {
                self.flying.pop();
                let packet = self.packets[packet];
                self.hosts[host].endpoint.handle(
                    self.now,
                    &packet,
                    Report { marked: mark, ..Report::default() },
                );
                self.hosts[host].hear();
            }
        }
    }
}
