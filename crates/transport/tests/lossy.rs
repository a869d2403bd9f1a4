//! Two endpoints on a wire that loses, delays, duplicates and reorders: everything arrives exactly
//! once and in order, and both ends come to rest.

mod common;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use common::audit::{Audited, Carrier};
use incast_cc::parts::Random;
use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{AnyControl, Bytes, Rate, Span, Time};
use incast_transport::stream::{self, EcnEcho};
use incast_transport::{
    Body, Config, Endpoint, Event, InitialTimeout, Nic, Operation, Packet, Purpose, Recovery,
    Report, Role, Sender, Starter, Terms, Transport,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// A number from zero to below `bound`, which may be longer than the 32 bits of [`Random::below`].
fn below(random: &mut Random, bound: u64) -> u64 {
    random.bits() % bound
}

/// What the wire does to packets, both ways.
#[derive(Clone, Copy, Debug)]
struct Wire {
    delay: Span,
    /// Up to this much more, at random.
    jitter: Span,
    /// Of a hundred packets.
    lost: u64,
    duplicated: u64,
    marked: u64,
    /// Whether packets may overtake each other; the protocol expects that they do not, but must
    /// survive it.
    reorders: bool,
}

#[derive(Clone, Debug)]
struct Case {
    wire: Wire,
    segment_packets: u64,
    /// Less than this is cut from the last packet of a segment.
    odd: u64,
    rate: Rate,
    algorithm: AnyAlgorithm,
    writes: Vec<u64>,
    reads: Vec<u64>,
    /// From one post to the next.
    every: Span,
    seed: u64,
    transport: Transport,
    recovery: Recovery,
    stream: stream::Config,
}

const PAYLOAD: u64 = 1_000;
const HEADER: u64 = 40;
const ACK: u64 = 64;
const RTO_MIN: Span = Span::from_us(500);
const RTO_MAX: Span = Span::from_ms(20);

/// One end, and what its application has heard.
struct Host {
    endpoint: Endpoint<Audited<AnyControl>>,
    nic_free: Time,
    last_arrival: Time,
    delivered: Vec<Vec<u64>>,
    completed: Vec<Vec<u64>>,
}

impl Host {
    fn new(case: &Case) -> Self {
        let config = Config {
            segment: Bytes::new(case.segment_packets * PAYLOAD - case.odd),
            payload: Bytes::new(PAYLOAD),
            header: Bytes::new(HEADER),
            recovery: case.recovery,
            nic: if case.seed.is_multiple_of(2) { Nic::Packets } else { Nic::Segments },
            line_rate: case.rate,
            ack_turnaround: Span::from_us(1),
            rto_initial: InitialTimeout::Fixed(RTO_MIN),
            rto_min: RTO_MIN,
            rto_max: RTO_MAX,
            stream: case.stream,
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
const WRITE: u32 = 0;
const REQUEST: u32 = 1;
const ANSWER: u32 = 2;

struct World {
    case: Case,
    hosts: [Host; 2],
    random: Random,
    now: Time,
    /// Arrival, order of sending, host, mark; the packet is kept apart.
    flying: BinaryHeap<Reverse<(Time, usize, usize, bool)>>,
    packets: Vec<Packet>,
}

impl World {
    fn new(case: &Case) -> Self {
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
        }
    }

    /// Sends what may be sent now from one host.
    fn send(&mut self, from: usize) {
        let Wire { delay, jitter, lost, duplicated, marked, reorders } = self.case.wire;
        let host = &mut self.hosts[from];
        while host.nic_free <= self.now
            && let Some(out) = host.endpoint.poll_transmit(self.now)
        {
            let wire = match out.packet.body {
                Body::Data(data) => {
                    assert!((1..=PAYLOAD).contains(&u64::from(data.payload)), "{data:?}");
                    u64::from(data.payload) + HEADER
                }
                Body::Segment(segment) => {
                    let least = u64::from(!segment.opens);
                    assert!((least..=PAYLOAD).contains(&u64::from(segment.payload)), "{segment:?}");
                    u64::from(segment.payload) + HEADER
                }
                Body::Ack(_) | Body::Nack(_) | Body::SegmentAck(_) | Body::Notification => ACK,
            };
            host.nic_free = self.now + self.case.rate.time_for(Bytes::new(wire));
            if below(&mut self.random, 100) < lost {
                continue;
            }
            let copies = if below(&mut self.random, 100) < duplicated { 2 } else { 1 };
            for _ in 0..copies {
                let late = Span::from_ps(below(&mut self.random, jitter.as_ps() + 1));
                let mut arrives = host.nic_free + delay + late;
                if !reorders {
                    arrives = arrives.max(host.last_arrival);
                    host.last_arrival = arrives;
                }
                let mark = below(&mut self.random, 100) < marked && out.packet.is_ect();
                self.flying.push(Reverse((arrives, self.packets.len(), 1 - from, mark)));
                self.packets.push(out.packet);
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
    fn run(&mut self, end: Time) -> bool {
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

fn numbered(messages: &[u64]) -> Vec<u64> {
    (0..messages.len() as u64).collect()
}

/// Runs a case to rest, and checks all that must be true then.
fn check(case: &Case) {
    let mut world = World::new(case);
    let posts = case.writes.len().max(case.reads.len());
    for post in 0..posts {
        let a = &mut world.hosts[0].endpoint;
        if let Some(&bytes) = case.writes.get(post) {
            a.post(world.now, WRITE, Operation::Write { bytes });
        }
        if let Some(&bytes) = case.reads.get(post) {
            a.post(world.now, REQUEST, Operation::Read { bytes });
        }
        world.run(world.now + case.every);
    }
    // Bounded: what the slowest rate of any algorithm takes for all of it, five times over since up
    // to 64 % of the exchanges fail, and for every segment some hundred timeouts at their longest.
    let bytes: u64 = case.writes.iter().chain(&case.reads).sum();
    let segments = bytes / (case.segment_packets * PAYLOAD - case.odd) + 2 * posts as u64;
    // Swift sends a thousandth of a packet per RTT, of up to 4 ms here: 2 kb/s.
    let slowest = Rate::from_bps(2_000);
    let end = world.now + slowest.time_for(Bytes::new(bytes)) * 5 + RTO_MAX * 100 * segments;
    assert!(world.run(end), "no rest after {end}");

    let [a, b] = &world.hosts;
    assert_eq!(b.delivered[WRITE as usize], numbered(&case.writes), "once each, in order");
    assert_eq!(a.completed[WRITE as usize], numbered(&case.writes));
    assert_eq!(a.delivered[ANSWER as usize], numbered(&case.reads), "once each, in order");
    assert_eq!(b.completed[ANSWER as usize], numbered(&case.reads));
    assert_eq!(a.completed[REQUEST as usize], numbered(&case.reads));
    assert!(b.delivered[REQUEST as usize].is_empty(), "a request is not for the application");
    let received = |host: &Host, connection| host.endpoint.delivered_bytes(connection);
    assert_eq!(received(b, WRITE), case.writes.iter().sum::<u64>());
    assert_eq!(received(a, ANSWER), case.reads.iter().sum::<u64>());
    for (host, connection) in [(a, WRITE), (a, REQUEST), (b, ANSWER)] {
        let Some(sender) = host.endpoint.sender(connection) else { continue };
        assert!(sender.is_idle(), "connection {connection} has something left");
        assert_eq!(sender.rate().in_flight(), Bytes::ZERO, "connection {connection}");
        let posted = match connection {
            WRITE => case.writes.iter().sum(),
            ANSWER => case.reads.iter().sum(),
            _ => 32 * case.reads.len() as u64,
        };
        let delivered = sender.rate().control().delivered;
        assert_eq!(delivered, Bytes::new(posted), "what the algorithm heard of {connection}");
        // A stream may probe for a tail that its delayed ACK keeps it waiting for.
        let messages = case.transport == Transport::Message;
        let clean = case.wire.lost == 0 && !case.wire.reorders && messages;
        if clean && case.wire.jitter < RTO_MIN / 4 {
            assert_eq!(sender.retransmissions(), 0, "nothing was lost on {connection}");
        }
    }
}

fn algorithm() -> impl Strategy<Value = AnyAlgorithm> {
    (0..NAMES.len(), any::<prop::sample::Index>()).prop_map(|(name, preset)| {
        let mut algorithm = AnyAlgorithm::named(NAMES[name]).expect("it is registered");
        let presets = algorithm.presets();
        let preset = presets[preset.index(presets.len())].name;
        algorithm.apply_preset(preset).expect("it is a preset");
        algorithm
    })
}

fn wire(reorders: bool) -> impl Strategy<Value = Wire> {
    let lost = prop_oneof![1 => Just(0), 4 => 0_u64..=40];
    let duplicated = prop_oneof![1 => Just(0), 1 => 0_u64..=30];
    // Now and then longer than the timeout, so that it is wrong.
    let jitter = prop_oneof![4 => 0_u64..100, 1 => 0_u64..2_000];
    (1_u64..100, jitter, lost, duplicated, 0_u64..=100).prop_map(
        move |(delay, jitter, lost, duplicated, marked)| Wire {
            delay: Span::from_us(delay),
            jitter: Span::from_us(jitter),
            lost,
            duplicated,
            marked,
            reorders,
        },
    )
}

fn stream() -> impl Strategy<Value = stream::Config> {
    let buffer = prop_oneof![1 => Just(PAYLOAD), 4 => PAYLOAD..300_000].prop_map(Bytes::new);
    let buffer = prop::option::weighted(0.8, buffer);
    let switches = prop::array::uniform7(any::<bool>());
    let tso = prop_oneof![Just(PAYLOAD), Just(16_000)].prop_map(Bytes::new);
    let queue = prop_oneof![Just(u64::MAX), 0..2_u64, Just(10_000)].prop_map(Bytes::new);
    let pace = prop_oneof![Just(None), Just(Some(120))];
    (switches, 1_u32..4, 1_u64..2_000, buffer.clone(), buffer, tso, queue, pace).prop_map(
        |(switches, delayed_ack, timeout, send_buffer, receive_buffer, tso, queue, pace)| {
            let [sack, tail_loss_probe, ect, exact, handshake, rate_reduction, ack_delay] =
                switches;
            stream::Config {
                mss: Bytes::new(PAYLOAD),
                sack,
                tail_loss_probe,
                rate_reduction,
                delayed_ack,
                delayed_ack_timeout: Span::from_us(timeout),
                ack_delay,
                handshake,
                initial_window: Bytes::from_kb(10),
                slow_start_limit: u32::MAX,
                send_buffer,
                receive_buffer,
                tso,
                small_queue: queue,
                pace_windows_percent: pace,
                ect,
                echo: if exact { EcnEcho::Exact } else { EcnEcho::Classic },
            }
        },
    )
}

fn case(reorders: bool, transport: Transport) -> impl Strategy<Value = Case> {
    let packets = prop_oneof![2 => Just(1_u64), 1 => Just(128), 5 => 1_u64..=128];
    let message = prop_oneof![1 => Just(1_u64), 3 => 1_u64..5_000, 3 => 1_u64..300_000];
    let messages = || prop::collection::vec(message.clone(), 0..6);
    (
        wire(reorders),
        packets,
        0..=PAYLOAD * 9 / 10, // segments of 100 B and more: with less a case takes seconds
        prop_oneof![Just(1_000), Just(10_000), Just(100_000)].prop_map(Rate::from_mbps),
        algorithm(),
        messages(),
        messages(),
        (0_u64..300).prop_map(Span::from_us),
        any::<u64>(),
        stream(),
    )
        .prop_map(
            move |(
                wire,
                segment_packets,
                odd,
                rate,
                algorithm,
                writes,
                reads,
                every,
                seed,
                stream,
            )| {
                Case {
                    wire,
                    segment_packets,
                    odd,
                    rate,
                    algorithm,
                    writes,
                    reads,
                    every,
                    seed,
                    transport,
                    recovery: Recovery::Selective,
                    stream,
                }
            },
        )
}

/// Failing cases are kept, and tried first from then on.
fn config() -> ProptestConfig {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/lossy.txt");
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
        ..ProptestConfig::with_cases(400)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn messages_arrive_exactly_once_and_in_order_over_a_lossy_wire(
        case in case(false, Transport::Message),
    ) {
        check(&case);
    }

    #[test]
    fn messages_arrive_exactly_once_and_in_order_when_packets_overtake(
        case in case(true, Transport::Message),
    ) {
        check(&case);
    }

    #[test]
    fn going_back_n_delivers_exactly_once_and_in_order(
        case in any::<bool>().prop_flat_map(|reorders| case(reorders, Transport::Message)),
    ) {
        // A receiver that keeps nothing out of order gets a few packets from each attempt, and each loss
        // sends all again that is out: the square of the segments.
        let wire = Wire { lost: case.wire.lost.min(10), ..case.wire };
        let few = |messages: &[u64]| messages.iter().map(|&bytes| bytes.min(20_000)).collect();
        let (writes, reads) = (few(&case.writes), few(&case.reads));
        check(&Case { recovery: Recovery::GoBackN, wire, writes, reads, ..case });
    }

    #[test]
    fn streams_arrive_exactly_once_and_in_order_over_a_lossy_wire(
        case in case(false, Transport::Stream),
    ) {
        check(&case);
    }

    #[test]
    fn streams_arrive_exactly_once_and_in_order_when_packets_overtake(
        case in case(true, Transport::Stream),
    ) {
        check(&case);
    }
}

/// One write of `bytes` at 10 Gb/s in segments of ten packets, over a wire of 10 us.
fn plain(bytes: u64) -> Case {
    Case {
        wire: Wire {
            delay: Span::from_us(10),
            jitter: Span::ZERO,
            lost: 0,
            duplicated: 0,
            marked: 0,
            reorders: false,
        },
        segment_packets: 10,
        odd: 0,
        rate: Rate::from_gbps(10),
        algorithm: AnyAlgorithm::named("line-rate").expect("it is registered"),
        writes: vec![bytes],
        reads: vec![],
        every: Span::ZERO,
        seed: 1,
        transport: Transport::Message,
        recovery: Recovery::Selective,
        stream: stream::Config::default(),
    }
}

/// Posts one message, lets the wire swallow everything until `until`, then repairs it.
fn cut_off(world: &mut World, until: Time) {
    world.case.wire.lost = 100;
    assert!(!world.run(until), "it does not give up");
    world.case.wire.lost = 0;
}

#[test]
fn silence_is_answered_by_one_probe_at_a_time_that_backs_off() {
    let mut world = World::new(&plain(100_000));
    world.hosts[0].endpoint.post(Time::ZERO, WRITE, Operation::Write { bytes: 100_000 });
    // 104 us of packets, then silence. Probes after 0.5, 1, 2, 4, 8, 16 ms, then every 20 ms: at
    // about 0.6, 1.6, 3.6, 7.6, 15.6, 31.6, 51.6, 71.6, 91.6 ms.
    cut_off(&mut world, Time::ZERO + Span::from_ms(100));
    let sender = world.hosts[0].endpoint.sender(WRITE).expect("it has posted");
    assert_eq!(sender.retransmissions(), 9);
    assert_eq!(sender.rate().in_flight(), Bytes::new(1_000), "the last probe");
    // The wire works again: the next probe at 111.6 ms is answered and the rest follows at once.
    assert!(world.run(Time::ZERO + Span::from_ms(200)));
    assert_eq!(world.hosts[1].delivered[WRITE as usize], [0]);
}

#[test]
fn timeout_after_a_long_silence_is_short_again() {
    let mut world = World::new(&plain(10_000));
    let post = |world: &mut World| {
        world.hosts[0].endpoint.post(world.now, WRITE, Operation::Write { bytes: 10_000 });
    };
    post(&mut world);
    cut_off(&mut world, Time::ZERO + Span::from_ms(100));
    // Runs until the message is delivered and acknowledged, at about 111.6 ms.
    while world.hosts[0].completed[WRITE as usize].is_empty() {
        world.run(world.now + Span::from_us(10));
        assert!(world.now < Time::ZERO + Span::from_ms(120), "the probe of 111.6 ms was answered");
    }
    // The peer has answered, so the back-off is over. The next message is lost for 200 us, and sent
    // again after the least timeout of 0.5 ms: not when the timeout of before would have come.
    let posted = world.now;
    post(&mut world);
    cut_off(&mut world, posted + Span::from_us(200));
    while world.hosts[1].delivered[WRITE as usize].len() < 2 {
        world.run(world.now + Span::from_us(10));
        let waited = world.now.since(posted);
        assert!(waited < Span::from_ms(2), "still not delivered after {waited}");
    }
}

#[test]
fn what_was_falsely_declared_lost_is_in_delivered() {
    // Thirty segments arrive, but the ACKs come in bunches, some after the timeout of 0.5 ms, which
    // declares all lost. The contract: data acknowledged after that brings `on_spurious_loss`, and
    // is in `delivered`.
    let mut case = plain(300_000);
    case.wire.jitter = Span::from_ms(2);
    let mut world = World::new(&case);
    world.hosts[0].endpoint.post(Time::ZERO, WRITE, Operation::Write { bytes: 300_000 });
    assert!(world.run(Time::ZERO + Span::from_ms(100)));
    let sender = world.hosts[0].endpoint.sender(WRITE).expect("it has posted");
    assert!(sender.retransmissions() > 0, "there was a timeout");
    assert_eq!(sender.rate().control().delivered, Bytes::new(300_000));
}

#[test]
fn one_lost_packet_costs_one_packet_and_one_round_trip() {
    // Each packet of one segment in turn is lost, the last one apart (nothing tells that it is gone
    // but a timeout).
    for victim in 0..10 {
        let mut world = World::new(&plain(10_000));
        world.hosts[0].endpoint.post(Time::ZERO, WRITE, Operation::Write { bytes: 10_000 });
        let mut sent = 0;
        // As `World::send`, but for the victim.
        while world.hosts[1].delivered[WRITE as usize].is_empty() {
            world.case.wire.lost = 0;
            if sent == victim {
                world.case.wire.lost = 100;
            }
            let before = world.hosts[0].nic_free;
            world.run(world.now + Span::from_ns(832)); // one packet of 1,040 B
            sent += u64::from(world.hosts[0].nic_free > before);
            assert!(world.now < Time::ZERO + Span::from_ms(5));
        }
        let sender = world.hosts[0].endpoint.sender(WRITE).expect("it has posted");
        assert_eq!(sender.retransmissions(), 1, "victim {victim}");
        // 8.32 us, 10 us; report: 1 us, 51.2 ns, 10 us; again: 832 ns, 10 us. And one step above.
        let took = world.now.since(Time::ZERO);
        let bound = if victim == 9 { RTO_MIN + Span::from_us(60) } else { Span::from_ns(41_036) };
        assert!(took <= bound, "victim {victim}: {took}");
    }
}
