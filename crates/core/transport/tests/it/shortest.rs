//! A NIC that serves the shortest remaining first.
//!
//! Every order here follows by hand from 1.2 us for a packet of 1,460 B and 40 B of headers at 10
//! Gb/s.

use incast_cc::{Bytes, LossDetection, Rate, Span, Time};
use incast_transport::stream::{Ack, Block};
use incast_transport::{
    Body, Config, Endpoint, Nic, Operation, Packet, Report, Role, Terms, Transport, message, stream,
};
use proptest::prelude::*;

use crate::common::kept;
use crate::common::plain::{Plain, window};

const PACKET: u64 = 1_460;
/// Nothing is sent again.
const NEVER: LossDetection = LossDetection::Timeout { after: Span::from_secs(10), probe_after: 0 };

/// A host whose NIC is busy whenever there is something to send.
struct Host {
    endpoint: Endpoint<Plain>,
    now: Time,
}

impl Host {
    /// Connections of these classes; streams have any window, messages the line rate.
    fn new(transport: Transport, classes: &[u8]) -> Self {
        let mut config = Config { nic: Nic::Srpt, full_packets: true, ..Config::default() };
        config.segment = Bytes::new(3 * PACKET);
        let plain = match transport {
            Transport::Message => Plain::rate(Rate::from_gbps(10)),
            Transport::Stream => Plain { detection: NEVER, ..window(1_000_000_000) },
        };
        let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
        for (index, &class) in (0..).zip(classes) {
            let terms = Terms { class, transport, ..Terms::default() };
            endpoint.open_on(terms, Role::Sender, index);
        }
        Self { endpoint, now: Time::ZERO }
    }

    fn post(&mut self, connection: u32, packets: u64) {
        let bytes = packets * PACKET;
        self.endpoint.post(self.now, connection, Operation::Write { bytes });
        self.endpoint.on_timer(self.now);
    }

    /// Sends up to `count` packets, each when the one before it has left; their connections, and
    /// the packets that they say remain.
    fn send(&mut self, count: usize) -> Vec<(u32, u64)> {
        let mut sent = Vec::new();
        while sent.len() < count {
            let Some(out) = self.endpoint.poll_transmit(self.now) else { break };
            let remaining = match out.form.packet(0).body {
                Body::Stream(stream::Body::Segment(segment)) => segment.remaining,
                Body::Message(message::Body::Data(data)) => data.remaining,
                other => panic!("{other:?}"),
            };
            sent.push((out.connection, u64::from(remaining).div_ceil(PACKET)));
            self.now += Span::from_ns(1_200);
        }
        while self.endpoint.poll_event().is_some() {}
        sent
    }

    /// Sends `count` packets; their connections.
    fn order(&mut self, count: usize) -> Vec<u32> {
        self.send(count).into_iter().map(|(connection, _)| connection).collect()
    }

    /// Lets all of a stream before a packet be acknowledged.
    fn acknowledge(&mut self, connection: u32, packets: u64) {
        let ack = Ack {
            sequence: packets * PACKET,
            blocks: [Block::default(); 2],
            ce_bytes: 0,
            arrived_ns: 0,
            ece: false,
            duplicate: false,
            opens: false,
            echo: 0,
        };
        let packet = Packet { connection, sent_ns: 0, body: Body::Stream(stream::Body::Ack(ack)) };
        self.endpoint.handle_packet(self.now, &packet, Report::default());
    }
}

#[test]
fn the_stream_with_the_least_left_goes_first_and_a_shorter_one_at_the_next_packet() {
    let mut host = Host::new(Transport::Stream, &[0; 3]);
    host.post(0, 8);
    host.post(1, 3);
    assert_eq!(host.order(5), [1, 1, 1, 0, 0]);
    // Nothing is acknowledged: eight remain of the first, and two of one that comes now.
    host.post(2, 2);
    assert_eq!(host.order(3), [2, 2, 0]);
    host.post(2, 9);
    host.acknowledge(0, 2);
    // The last stream has posted eleven in all, of which none is acknowledged; the first has six.
    assert_eq!(host.order(5), [0, 0, 0, 0, 0]);
    assert_eq!(host.order(20), [2; 9]);
}

#[test]
fn what_is_acknowledged_does_not_remain() {
    let mut host = Host::new(Transport::Stream, &[0; 2]);
    host.post(0, 8);
    host.post(1, 6);
    assert_eq!(host.send(2), [(1, 6), (1, 6)]);
    // Neither of these two is acknowledged: six remain, for as long as any are to be sent.
    host.post(0, 1);
    assert_eq!(host.order(4), [1, 1, 1, 1]);
    assert_eq!(host.send(3), [(0, 9), (0, 9), (0, 9)]);
    host.post(1, 2);
    assert_eq!(host.order(1), [1], "eight, with what is not acknowledged");
    host.acknowledge(0, 3);
    assert_eq!(host.send(1), [(0, 6)]);
}

#[test]
fn of_equals_the_one_that_has_waited_longest_goes_on() {
    let mut host = Host::new(Transport::Stream, &[0; 3]);
    host.post(2, 3);
    host.now += Span::from_ns(10);
    host.post(0, 3);
    host.post(1, 3);
    assert_eq!(host.order(9), [2, 2, 2, 0, 0, 0, 1, 1, 1]);
}

#[test]
fn classes_come_before_sizes() {
    let mut host = Host::new(Transport::Stream, &[0, 1, 1]);
    host.post(0, 1);
    host.post(1, 4);
    host.post(2, 2);
    assert_eq!(host.order(7), [2, 2, 1, 1, 1, 1, 0]);
}

#[test]
fn a_message_goes_before_a_longer_one_between_two_packets_of_a_segment() {
    let mut host = Host::new(Transport::Message, &[0; 3]);
    host.post(0, 6);
    host.post(1, 4);
    // A segment of three packets; its last packet is due again at once, and four remain of it.
    assert_eq!(host.order(2), [1, 1]);
    host.post(2, 1);
    assert_eq!(host.order(3), [2, 1, 1]);
    assert_eq!(host.order(3), [0, 0, 0]);
    // The first segment of 0 is acknowledged: three of six remain. A message behind another of its
    // connection does not count before that has ended.
    let ack = message::Ack { segment: 0, ce_bytes: 0, attempt: 0 };
    let packet = Packet { connection: 0, sent_ns: 0, body: Body::Message(message::Body::Ack(ack)) };
    host.endpoint.handle_packet(host.now, &packet, Report::default());
    host.post(0, 50);
    host.post(2, 4);
    assert_eq!(host.order(3), [0, 0, 0]);
    // Now 53 of it remain, and five of the other, with the one that it has sent before.
    assert_eq!(host.order(4), [2, 2, 2, 2]);
}

/// What happens to a host at random.
#[derive(Clone, Debug)]
enum Step {
    Post(usize, u64),
    Acknowledge(usize, u64),
    Send(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..5_usize, 1..20_u64).prop_map(|(stream, packets)| Step::Post(stream, packets)),
        (0..5_usize, 1..12_u64).prop_map(|(stream, packets)| Step::Acknowledge(stream, packets)),
        (1..9_usize).prop_map(Step::Send),
    ];
    prop::collection::vec(step, 1..60)
}

/// A stream as the model has it, in packets.
#[derive(Clone, Copy, Debug, Default)]
struct Modelled {
    posted: u64,
    sent: u64,
    acknowledged: u64,
}

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/shortest.txt");

proptest! {
    #![proptest_config(kept(FAILURES, 200))]

    /// Each packet is of the highest class that has any, and there of a stream with the least left;
    /// the NIC rests only when all is sent.
    #[test]
    fn each_packet_is_of_a_stream_with_the_least_left(steps in steps()) {
        const CLASSES: [u8; 5] = [0, 0, 0, 1, 1];
        let mut host = Host::new(Transport::Stream, &CLASSES);
        let mut streams = [Modelled::default(); 5];
        for step in steps {
            match step {
                Step::Post(stream, packets) => {
                    streams[stream].posted += packets;
                    host.post(u32::try_from(stream).unwrap(), packets);
                }
                Step::Acknowledge(stream, packets) => {
                    let model = &mut streams[stream];
                    model.acknowledged = (model.acknowledged + packets).min(model.sent);
                    host.acknowledge(u32::try_from(stream).unwrap(), model.acknowledged);
                }
                Step::Send(count) => for _ in 0..count {
                    let waits = |of: &usize| streams[*of].posted > streams[*of].sent;
                    let left = |of: usize| streams[of].posted - streams[of].acknowledged;
                    let best = (0..5).filter(waits).map(|of| (7 - CLASSES[of], left(of))).min();
                    let sent = host.send(1);
                    let found = sent.first().map(|&(of, told)| (7 - CLASSES[of as usize], told));
                    prop_assert_eq!(found, best, "{:?} {:?}", sent, streams);
                    if let Some(&(of, _)) = sent.first() {
                        streams[of as usize].sent += 1;
                    }
                },
            }
        }
    }
}
