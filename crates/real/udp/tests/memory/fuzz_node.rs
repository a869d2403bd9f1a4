//! A node whose peer sends what it likes: frames with a sound checksum, so that they reach the
//! transport, with numbers near those that count, and damage. The node goes on, in bounded memory
//! and time, and another peer of it notices nothing.
//!
//! `INCAST_FUZZ_DATAGRAMS=24000000 cargo test --release -p incast-udp --test memory fuzz_node`
//! tries as many; by default it is 60,000.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use incast_transport::DueBy;
use incast_transport::message::{Ack, Data as Packet, Nack as Report, PacketSet};
use incast_udp::security::Security;
use incast_udp::wire::{
    Close, Completion, Completions, Data, Frame, LaneNumber, MOST_COUNT, Nack, Probe, ProbeAnswer,
    Turnaround,
};
use incast_udp::{Counters, Event, Node, PeerId};

use crate::damage::{Random, damage, fuzz};
use crate::forger::Forger;
use crate::nodes::{body, features, node, options};
use crate::{alone, resident};

/// The datagrams between two turns of the nodes.
const TOGETHER: usize = 24;

/// The server, its honest peer, and the one that is not.
struct Target {
    server: Node,
    client: Node,
    /// The honest peer, at the client and at the server.
    honest: [Option<PeerId>; 2],
    forger: Forger,
    /// The forger's peer at the server.
    forged: Option<PeerId>,
    /// The frames that the forger has received last.
    seen: VecDeque<Packet>,
    /// Sequence numbers at which the forger goes on, on each lane.
    next: [u64; 2],
    messages: [u64; 2],
    sent: u64,
    arrived: u64,
    replies: u64,
    broken: u64,
    /// Whether the honest peer asks for nothing more.
    ends: bool,
    name: &'static str,
    /// The longest turn of the server.
    longest: Duration,
}

fn bits<T: TryFrom<u64>>(random: &mut Random, mask: u64) -> T {
    T::try_from(random.number() & mask).ok().unwrap()
}

impl Target {
    fn new(name: &'static str) -> Self {
        let mut options = options(Security::Plain);
        options.algorithm = AnyAlgorithm::named(name).unwrap();
        (options.memory.message, options.memory.incoming) = (1 << 20, 4 << 20);
        options.memory.outgoing = 1 << 20;
        let mut server = Node::open(options, features()).unwrap();
        let mut client = node(Security::Plain);
        let honest = client.connect(server.address().unwrap(), None).unwrap();
        let mut at_server = None;
        crate::nodes::turn_both(&mut client, &mut server, |at_client, _, event| {
            if let (false, Event::Opened { peer, .. }) = (at_client, event) {
                at_server = Some(peer);
            }
            at_server.is_some()
        });
        let forger = Forger::connect(&mut server);
        Self {
            server,
            client,
            honest: [Some(honest), at_server],
            forger,
            forged: None,
            seen: VecDeque::new(),
            next: [0; 2],
            messages: [0; 2],
            sent: 0,
            arrived: 0,
            replies: 0,
            broken: 0,
            ends: false,
            name,
            longest: Duration::ZERO,
        }
    }

    /// A sequence number: the next one, one near it, or any.
    fn sequence(&mut self, random: &mut Random, lane: usize) -> u64 {
        match random.below(40) {
            0 => random.count(),
            1..4 => self.next[lane].saturating_add(random.bits() % 200_000),
            4..12 => (self.next[lane] + random.bits() % 300).saturating_sub(20),
            _ => {
                self.next[lane] += 1;
                self.next[lane] - 1
            }
        }
    }

    /// Data of messages whose lengths follow from their numbers, mostly.
    fn data<'a>(&mut self, random: &mut Random, payload: &'a [u8]) -> Frame<'a> {
        let lane = random.below(2);
        let sequence = self.sequence(random, lane);
        let ends_message = random.below(8) == 0;
        let message = match random.below(20) {
            0 => random.count(),
            1..4 => self.messages[lane] + random.bits() % 80_000,
            _ => self.messages[lane],
        };
        self.messages[lane] += u64::from(ends_message);
        let known = Random(message).bits();
        let length = match random.below(200) {
            0 => bits(random, u64::from(u32::MAX)),
            _ if known.is_multiple_of(30) => 900_000,
            _ => (known % 5_000) as u32,
        };
        let offset = random.below(length as usize + 1);
        let whole = random.below(3) == 0 && length as usize <= payload.len();
        let offset = if whole { 0 } else { offset };
        let most = (length as usize - offset).min(payload.len());
        let bytes = if whole { length as usize } else { random.below(most + 1) };
        let count = if whole { 1 } else { 1 + random.below(128) };
        let index = random.below(count.min(usize::try_from(sequence).unwrap_or(count).max(1)));
        Frame::Data(Data {
            lane: LaneNumber::ALL[lane],
            sent_ns: bits(random, u64::from(u32::MAX)),
            packet: Packet {
                sequence,
                payload: bytes.try_into().unwrap(),
                index: index.try_into().unwrap(),
                count: count.try_into().unwrap(),
                attempt: bits(random, 3),
                ack_request: random.below(2) == 0,
                ends_message,
                read: 0,
                due: DueBy::NONE,
                remaining: 0,
            },
            message,
            length,
            offset: offset.try_into().unwrap(),
            given_up: ends_message && random.below(4) == 0,
            timed: random.below(2) == 0,
            payload: &payload[..bytes],
        })
    }

    /// The first number and the attempt of a segment: one that came, or any.
    fn segment(&self, random: &mut Random) -> (u64, u8) {
        let attempt = bits(random, 255);
        match self.seen.len() {
            0 => (random.count(), attempt),
            _ if random.below(4) == 0 => (random.number() % 3_000, attempt),
            count => {
                let data = self.seen[random.below(count)];
                (data.segment(), if random.below(4) == 0 { attempt } else { data.attempt })
            }
        }
    }

    fn turnaround(random: &mut Random) -> Turnaround {
        match random.below(3) {
            0 => Turnaround::UNKNOWN,
            _ => Turnaround::of(incast_cc::Span::from_ns(random.number())),
        }
    }

    fn frame<'a>(&mut self, random: &mut Random, payload: &'a [u8]) -> Frame<'a> {
        let lane = LaneNumber::ALL[random.below(2)];
        let sent_ns = bits(random, u64::from(u32::MAX));
        match random.below(60) {
            0..30 => self.data(random, payload),
            30..42 => {
                let mut completions = Completions::new();
                for _ in 0..=random.below(32) {
                    let (segment, attempt) = self.segment(random);
                    let ce_bytes = bits(random, u64::from(u32::MAX));
                    let ack = Ack { segment, ce_bytes, attempt };
                    let turnaround = Self::turnaround(random);
                    assert!(completions.push(Completion { ack, turnaround }));
                }
                Frame::Ack { lane, sent_ns, completions }
            }
            42..52 => {
                let (base, attempt) = self.segment(random);
                let base = base.saturating_sub(random.bits() % 4).min(MOST_COUNT - 200);
                let mut missing = PacketSet::EMPTY;
                (0..random.below(130)).for_each(|_| missing.insert(bits(random, 127)));
                let report = Report { base, missing, attempt, answers: random.below(2) == 0 };
                let turnaround = Self::turnaround(random);
                Frame::Nack(Nack { lane, sent_ns, report, turnaround })
            }
            52..54 => Frame::Notification { lane, sent_ns },
            54..56 => Frame::Probe(Probe { id: sent_ns }),
            56..59 => {
                let (bytes, turnaround) = (bits(random, 0xffff), Self::turnaround(random));
                Frame::ProbeAnswer(ProbeAnswer { id: bits(random, 7), bytes, turnaround })
            }
            _ if random.below(200) == 0 => Frame::Close(Close::Done),
            _ => Frame::Notification { lane, sent_ns },
        }
    }

    /// A datagram of the forger.
    fn datagram(&mut self, random: &mut Random, payload: &[u8]) -> Vec<u8> {
        let mut content = Vec::new();
        for _ in 0..=random.below(5) {
            let frame = self.frame(random, payload);
            let mut room = vec![0; frame.bytes()];
            // What cannot be written cannot be sent either.
            if frame.encode(&mut room).is_ok() {
                content.extend(room);
            }
        }
        if random.below(300) == 0 {
            damage(random, &mut content, payload);
        }
        let mut datagram = self.forger.seal(&content);
        match random.below(40) {
            0 => damage(random, &mut datagram, payload),
            1 => datagram.iter_mut().for_each(|byte| *byte = random.bits().to_be_bytes()[0]),
            _ => {}
        }
        datagram
    }

    /// Takes a turn with each node, and connects again if the connection was broken off.
    fn turn(&mut self, random: &mut Random) {
        let began = Instant::now();
        self.server.turn(None, None).unwrap();
        self.longest = self.longest.max(began.elapsed());
        let mut is_gone = false;
        while let Some(event) = self.server.poll_event() {
            match event {
                Event::Opened { peer, .. } => self.forged = Some(peer),
                Event::Called { call, body, .. } if Some(call.peer()) == self.honest[1] => {
                    self.server.reply(call, body).unwrap();
                }
                Event::Called { call, body, .. } => {
                    let _ = self.server.reply(call, body);
                }
                Event::Gone { peer, .. } => {
                    assert_ne!(Some(peer), self.honest[1], "an honest peer");
                    is_gone |= self.forged == Some(peer);
                }
                Event::Noted { peer, body, .. } if Some(peer) == self.honest[1] => {
                    assert!(body == crate::nodes::body(self.arrived, 3_000), "{}", self.arrived);
                    self.arrived += 1;
                }
                _ => {}
            }
        }
        if is_gone {
            self.broken += 1;
            (self.forged, self.next, self.messages) = (None, [0; 2], [0; 2]);
            self.seen.clear();
            self.forger = Forger::connect(&mut self.server);
        }
        // Something for the forger to answer.
        if let Some(peer) = self.forged
            && random.below(4) == 0
        {
            let bytes = if random.below(20) == 0 { 100_000 } else { random.below(3_000) };
            let _ = self.server.note(peer, body(1, bytes));
        }
        let seen = &mut self.seen;
        self.forger.receive(|frame| {
            if let Frame::Data(data) = frame {
                seen.push_back(data.packet);
                seen.truncate(200);
            }
        });
        if seen.len() > 100 {
            seen.drain(..50);
        }
        if !self.ends && self.sent < self.arrived + 8 {
            let peer = self.honest[0].unwrap();
            self.client.note(peer, body(self.sent, 3_000)).unwrap();
            self.client.call(peer, Bytes::from_static(b"honest"), None).unwrap();
            self.sent += 1;
        }
        self.client.turn(None, None).unwrap();
        while let Some(event) = self.client.poll_event() {
            match event {
                Event::Replied { body, .. } => {
                    assert_eq!(body, "honest");
                    self.replies += 1;
                }
                Event::Delivered { .. } => {}
                event => panic!("{event:?}"),
            }
        }
    }

    /// Checks that the honest peer gets all that it has asked for.
    fn end(&mut self, random: &mut Random) -> Counters {
        let end = Instant::now() + Duration::from_secs(20);
        let sent = self.sent;
        self.ends = true;
        while self.arrived < sent || self.replies < sent {
            self.turn(random);
            let statistics = || self.server.statistics(self.honest[1].unwrap());
            assert!(
                Instant::now() < end,
                "{}: {} and {} of {sent} {:?}",
                self.name,
                self.arrived,
                self.replies,
                statistics()
            );
        }
        // In a test build, on a machine that does other things.
        assert!(self.longest < Duration::from_secs(2), "{:?}", self.longest);
        self.server.counters()
    }
}

#[test]
fn a_peer_that_breaks_all_rules_harms_nobody_else() {
    let _turn = alone();
    let needs = |name: &&str| {
        let needs = AnyAlgorithm::named(name).unwrap().needs();
        !needs.iter().any(|need| need.is_of_switches())
    };
    let mut names = NAMES.iter().copied().filter(needs).cycle();
    let mut next = || Target::new(names.next().unwrap());
    let mut target = next();
    let payload = body(3, 1_200);
    let (before, mut since, mut totals) = (resident(), 0, [0; 6]);
    let mut longest = Duration::ZERO;
    let mut ends = |target: &mut Target, random: &mut Random| {
        let Counters { datagrams, unknown, refused, no_memory, .. } = target.end(random);
        let counts = [datagrams, unknown, refused, no_memory, target.broken, target.sent];
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
        longest = longest.max(target.longest);
        (totals, longest)
    };
    let to = |target: &Target| target.server.address().unwrap();
    fuzz(60_000, |random| {
        let datagram = target.datagram(random, &payload);
        // A full buffer loses it.
        drop(target.forger.socket.send_to(&datagram, to(&target)));
        since += 1;
        if since % TOGETHER == 0 {
            target.turn(random);
        }
        if since == 4_000 {
            ends(&mut target, random);
            target = next();
            since = 0;
        }
    });
    let (totals, longest) = ends(&mut target, &mut Random(1));
    let grown = resident().saturating_sub(before);
    let words = "datagrams, of no connection, refused, without memory; connections broken off, \
                 honest messages";
    eprintln!("{totals:?}: {words}; {} MB more, turns up to {longest:?}", grown >> 20);
    assert!(totals.iter().all(|&count| count > 0), "{totals:?}");
    assert!(grown < 400 << 20, "{} MB", grown >> 20);
}
