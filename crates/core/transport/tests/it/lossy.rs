//! Two endpoints on a wire that loses, delays, duplicates and reorders: everything arrives exactly
//! once and in order, and both ends come to rest.

mod cases;
mod world;

use cases::{case, plain};
use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::{Body, Operation, Recovery, Transport, message, stream};
use proptest::prelude::*;

use crate::common::kept;
use world::{ANSWER, Case, Host, PAYLOAD, REQUEST, RTO_MAX, RTO_MIN, WRITE, Wire, World};

fn numbered(messages: &[u64]) -> Vec<u64> {
    (0..messages.len() as u64).collect()
}

/// Runs a case to rest, and checks all that must be true then. Returns the world at rest.
fn check(case: &Case) -> World {
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
    // A bound: the time that the slowest rate of any algorithm takes for all of it, five times over
    // since up to 64 % of the exchanges fail, and for every segment some hundred of the longest
    // timeouts.
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
        // A stream may probe for a tail whose ACK is delayed.
        let messages = case.transport == Transport::Message;
        let clean = case.wire.lost == 0 && !case.wire.reorders && messages;
        if clean && case.wire.jitter < RTO_MIN / 4 {
            assert_eq!(sender.retransmissions(), 0, "nothing was lost on {connection}");
        }
    }
    world
}

/// Runs a case with both speeds of senders and both forms of packets: the same packets leave at the
/// same times.
fn check_both(case: &Case) {
    let stream = stream::Config { record_all: true, ..case.stream };
    let slow = check(&Case { stream, full_packets: true, ..case.clone() });
    let fast = check(case);
    let form = |world: &World, number: usize| {
        let (at, host, mut packet) = world.sent[number];
        // The compact form does not tell what remains.
        match &mut packet.body {
            Body::Message(message::Body::Data(data)) => data.remaining = 0,
            Body::Stream(stream::Body::Segment(segment)) => segment.remaining = 0,
            _ => {}
        }
        (at, host, packet)
    };
    for number in 0..fast.sent.len().min(slow.sent.len()) {
        assert_eq!(form(&fast, number), form(&slow, number), "packet {number}");
    }
    assert_eq!(fast.sent.len(), slow.sent.len());
}

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/lossy.txt");

proptest! {
    #![proptest_config(kept(FAILURES, 400))]

    #[test]
    fn messages_arrive_exactly_once_and_in_order_over_a_lossy_wire(
        case in case(false, Transport::Message),
    ) {
        check_both(&case);
    }

    #[test]
    fn messages_arrive_exactly_once_and_in_order_when_packets_overtake(
        case in case(true, Transport::Message),
    ) {
        check_both(&case);
    }

    #[test]
    fn going_back_n_delivers_exactly_once_and_in_order(
        case in any::<bool>().prop_flat_map(|reorders| case(reorders, Transport::Message)),
    ) {
        // A receiver that keeps nothing out of order gets a few packets from each attempt, and each
        // loss sends everything again that is out: the square of the segments.
        let wire = Wire { lost: case.wire.lost.min(10), ..case.wire };
        let few = |messages: &[u64]| messages.iter().map(|&bytes| bytes.min(20_000)).collect();
        let (writes, reads) = (few(&case.writes), few(&case.reads));
        check_both(&Case { recovery: Recovery::GoBackN, wire, writes, reads, ..case });
    }

    #[test]
    fn streams_arrive_exactly_once_and_in_order_over_a_lossy_wire(
        case in case(false, Transport::Stream),
    ) {
        check_both(&case);
    }

    #[test]
    fn streams_arrive_exactly_once_and_in_order_when_packets_overtake(
        case in case(true, Transport::Stream),
    ) {
        check_both(&case);
    }
}

/// Loses everything on the wire until `until`, then repairs the wire.
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
    // again after the least timeout of 0.5 ms, not after the timeout of before.
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
