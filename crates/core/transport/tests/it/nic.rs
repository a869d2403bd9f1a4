//! The order in which a NIC sends packets, and the time at which the RTT of a segment begins.
//!
//! Every time here follows by hand from 1.2 us for a packet of 1,460 B and 40 B of headers at 10
//! Gb/s.

use incast_cc::{Bytes, Limits, Rate, Span, Time};
use incast_transport::message::{Ack, Data};
use incast_transport::{
    Body, Config, Endpoint, Event, Nic, Operation, Packet, Report, Role, Terms, Transport, message,
};
use proptest::prelude::*;

use crate::common::kept;
use crate::common::plain::Plain;

const PACKET: Span = Span::from_ns(1_200);

fn ns(n: u64) -> Time {
    Time::ZERO + Span::from_ns(n)
}

/// A host whose connections have these amounts to send at time zero, and whose NIC is never idle
/// meanwhile.
struct Host {
    endpoint: Endpoint<Plain>,
    /// The packets that have left: connection, time of the first bit, data.
    sent: Vec<(u32, Time, Data)>,
    free_at: Time,
}

impl Host {
    fn new(config: Config, plain: &Plain, messages: &[(u8, u64)]) -> Self {
        let plain = plain.clone();
        let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
        for (index, &(class, bytes)) in (0..).zip(messages) {
            let terms = Terms { class, ..Terms::default() };
            assert_eq!(endpoint.open_on(terms, Role::Sender, index), index);
            endpoint.post(Time::ZERO, index, Operation::Write { bytes });
        }
        Self { endpoint, sent: Vec::new(), free_at: Time::ZERO }
    }

    /// Sends the packets that leave before `until`.
    fn run(&mut self, until: Time) {
        let mut now = self.free_at;
        while now < until {
            if let Some(out) = self.endpoint.poll_transmit(now) {
                let Body::Message(message::Body::Data(data)) = out.form.packet(0).body else {
                    panic!("{:?}", out.form)
                };
                self.sent.push((out.connection, now, data));
                now += Rate::from_gbps(10).time_for(Bytes::new(u64::from(data.payload) + 40));
                self.free_at = now;
            } else if let Some(at) = self.endpoint.next_timer(now) {
                now = at.max(now);
            } else {
                return;
            }
        }
    }

    /// The connections in the order in which their packets have left.
    fn order(&self) -> Vec<u32> {
        self.sent.iter().map(|&(connection, ..)| connection).collect()
    }

    /// The RTT without serialization of the first segment of `connection`, acknowledged at `now`.
    fn rtt(&mut self, connection: u32, now: Time) -> Span {
        let ack = Ack { segment: 0, ce_bytes: 0, attempt: 0 };
        let packet =
            Packet { connection, sent_ns: 0, body: Body::Message(message::Body::Ack(ack)) };
        self.endpoint.handle_packet(now, &packet, Report::default());
        loop {
            match self.endpoint.poll_event() {
                Some(Event::Sampled { connection: of, sample }) if of == connection => {
                    return sample.measured;
                }
                Some(_) => {}
                None => panic!("no sample"),
            }
        }
    }
}

fn config(nic: Nic) -> Config {
    // Three packets a segment.
    Config { nic, segment: Bytes::new(3 * 1_460), ..Config::default() }
}

fn line_rate() -> Plain {
    Plain::rate(Rate::from_gbps(10))
}

#[test]
fn packets_of_segments_that_wait_together_alternate_or_leave_back_to_back() {
    let messages = [(0, 3 * 1_460), (0, 6 * 1_460), (0, 3 * 1_460)];
    let order = |nic| {
        let mut host = Host::new(config(nic), &line_rate(), &messages);
        host.run(ns(50_000));
        host.order()
    };
    assert_eq!(order(Nic::Packets), [0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 1, 1]);
    assert_eq!(order(Nic::Segments), [0, 0, 0, 1, 1, 1, 2, 2, 2, 1, 1, 1]);
}

#[test]
fn packets_tell_what_of_their_message_is_not_acknowledged_when_they_leave() {
    let config = Config { full_packets: true, ..config(Nic::Packets) };
    let mut host = Host::new(config, &line_rate(), &[(0, 5 * 1_460)]);
    host.endpoint.post(Time::ZERO, 0, Operation::Write { bytes: 100 });
    host.run(ns(3_600));
    host.rtt(0, ns(3_600)); // the first segment, of three packets, is acknowledged
    host.run(ns(50_000));
    let told: Vec<_> = host.sent.iter().map(|(_, _, data)| data.remaining).collect();
    let [whole, rest] = [5 * 1_460, 2 * 1_460];
    // The second message waits for the first: what is left of that is before its end.
    assert_eq!(told, [whole, whole, whole, rest, rest, rest + 100]);
}

#[test]
fn an_rtt_begins_when_the_first_packet_leaves_where_segments_are_served_whole() {
    let messages = [(0, 3 * 1_460), (0, 3 * 1_460)];
    let measured = |nic| {
        let mut host = Host::new(config(nic), &line_rate(), &messages);
        host.run(ns(7_200));
        let left: Vec<_> = [0, 1]
            .map(|of| host.sent.iter().filter(|sent| sent.0 == of).map(|sent| sent.1).collect())
            .to_vec();
        // Each is answered 20 us after the last bit of its segment.
        let rtts = [0, 1].map(|of: usize| {
            let left: &Vec<Time> = &left[of];
            let answered = *left.last().unwrap() + PACKET + Span::from_us(20);
            host.rtt(u32::try_from(of).unwrap(), answered)
        });
        (left, rtts)
    };
    let times = |all: [u64; 3]| all.map(ns).to_vec();
    // Both were queued at time zero; 3.6 us of each RTT is serialization. Interleaved, the RTT of
    // the first segment contains the second packet of the other one, and so on: 6.0 - 3.6 and 7.2 -
    // 3.6 us more than 20.
    let (left, rtts) = measured(Nic::Packets);
    assert_eq!(left, [times([0, 2_400, 4_800]), times([1_200, 3_600, 6_000])]);
    assert_eq!(rtts, [22_400, 23_600].map(Span::from_ns));
    // Served whole, the other segment is in neither RTT.
    let (left, rtts) = measured(Nic::Segments);
    assert_eq!(left, [times([0, 1_200, 2_400]), times([3_600, 4_800, 6_000])]);
    assert_eq!(rtts, [20_000, 20_000].map(Span::from_ns));
}

#[test]
fn a_gap_that_an_algorithm_leaves_between_packets_is_open_to_others() {
    // A packet of 1,460 B each 4 us: 2.92 Gb/s.
    let mut limits = Limits::rate(Rate::from_gbps(10));
    limits.burst.rate = Rate::from_mbps(2_920);
    let messages = [(0, 3 * 1_460), (0, 3 * 1_460)];
    let mut host = Host::new(config(Nic::Segments), &Plain::new(limits), &messages);
    host.run(ns(20_000));
    let times: Vec<_> = host.sent.iter().map(|&(of, at, _)| (of, at)).collect();
    let expected = [(0, 0), (1, 1_200), (0, 4_000), (1, 5_200), (0, 8_000), (1, 9_200)]
        .map(|(of, at)| (of, ns(at)));
    assert_eq!(times, expected);
    // The gaps are part of the serialization: 4 + 4 + 1.2 us. The second one's wait of 1.2 us is
    // not.
    assert_eq!(host.rtt(0, ns(9_200 + 20_000)), Span::from_us(20));
    assert_eq!(host.rtt(1, ns(10_400 + 20_000)), Span::from_us(20));
}

#[test]
fn a_higher_class_goes_between_two_packets_of_a_segment() {
    let mut host = Host::new(config(Nic::Segments), &line_rate(), &[(0, 3 * 1_460), (1, 1)]);
    // The higher segment is posted anew while the lower one is under way.
    host.run(ns(1_300));
    host.endpoint.post(ns(1_300), 1, Operation::Write { bytes: 1_460 });
    host.run(ns(20_000));
    assert_eq!(host.order()[0], 1, "posted at the same time");
    let rest = &host.order()[1..];
    let at = rest.iter().position(|&of| of == 1).unwrap();
    assert!(0 < at && at < 3, "{rest:?}");
}

#[test]
fn a_segment_that_is_sent_again_is_timed_from_when_it_leaves_again() {
    // The first attempt leaves at once. The timeout of 16 ms sends the last packet again as a
    // probe, which finds 100 packets of the other connection queued before it.
    let config = Config { segment: Bytes::new(100 * 1_460), ..config(Nic::Segments) };
    let mut host = Host::new(config, &line_rate(), &[(0, 1_460)]);
    host.run(ns(1_200));
    let timeout = host.endpoint.next_timer(ns(1_200)).unwrap();
    let terms = Terms::default();
    host.endpoint.open_on(terms, Role::Sender, 1);
    let before = Time::ZERO + (timeout.since(Time::ZERO) - Span::from_us(1));
    host.endpoint.post(before, 1, Operation::Write { bytes: 100 * 1_460 });
    host.free_at = before;
    host.run(before + PACKET * 101 + Span::from_us(1));
    let again = host.sent.last().unwrap();
    assert_eq!((again.0, again.2.attempt), (0, 1));
    assert_eq!(again.1, before + PACKET * 100, "behind the other one's");
    let ack = Ack { segment: 0, ce_bytes: 0, attempt: 1 };
    let packet = Packet { connection: 0, sent_ns: 0, body: Body::Message(message::Body::Ack(ack)) };
    let answered = again.1 + PACKET + Span::from_us(20);
    host.endpoint.handle_packet(answered, &packet, Report::default());
    let rtt = std::iter::from_fn(|| host.endpoint.poll_event()).find_map(|event| match event {
        Event::Sampled { sample, .. } => Some(sample.measured),
        _ => None,
    });
    assert_eq!(rtt, Some(Span::from_us(20)));
}

#[test]
fn streams_alternate_whatever_the_setting() {
    let config = Config { nic: Nic::Segments, ..Config::default() };
    let plain = line_rate();
    let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
    for index in 0..2 {
        let terms = Terms { transport: Transport::Stream, ..Terms::default() };
        endpoint.open_on(terms, Role::Sender, index);
        endpoint.post(Time::ZERO, index, Operation::Write { bytes: 4 * 1_460 });
    }
    let (mut order, mut now) = (Vec::new(), Time::ZERO);
    while order.len() < 6 {
        match endpoint.poll_transmit(now) {
            Some(out) => {
                order.push(out.connection);
                now += PACKET;
            }
            None => now = endpoint.next_timer(now).unwrap(),
        }
    }
    assert_eq!(order, [0, 1, 0, 1, 0, 1]);
}

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/nic.txt");

proptest! {
    #![proptest_config(kept(FAILURES, 200))]

    /// No packet of another connection leaves between two of a segment, all that was posted leaves,
    /// and no connection has two segments while another one waits.
    #[test]
    fn segments_leave_whole_and_in_turn(
        sizes in prop::collection::vec(1_u64..40_000, 1..8), packets in 1_u64..12,
    ) {
        let messages: Vec<_> = sizes.iter().map(|&bytes| (0, bytes)).collect();
        let segment = Bytes::new(packets * 1_460);
        let config = Config { nic: Nic::Segments, segment, ..Config::default() };
        let mut host = Host::new(config, &line_rate(), &messages);
        host.run(Time::ZERO + Span::from_ms(10));
        let mut left = vec![0; sizes.len()];
        let mut turns: Vec<u32> = Vec::new();
        let mut rest: &[(u32, Time, Data)] = &host.sent;
        while let Some(&(of, at, first)) = rest.first() {
            let (segment, others) = rest.split_at(usize::from(first.count));
            for (&(connection, time, data), index) in segment.iter().zip(0_u8..) {
                prop_assert_eq!((connection, data.index), (of, index));
                prop_assert_eq!(time, at + PACKET * u64::from(index));
                left[of as usize] += u64::from(data.payload);
            }
            turns.push(of);
            rest = others;
        }
        prop_assert_eq!(&left, &sizes);
        // Segments of a connection come once in each round, until it has no more.
        let mut rounds = vec![0_u64; sizes.len()];
        for of in turns {
            let has = |of: usize| sizes[of].div_ceil(packets * 1_460);
            for other in 0..sizes.len() {
                let waits = rounds[other] < has(other);
                prop_assert!(!waits || rounds[of as usize] <= rounds[other]);
            }
            rounds[of as usize] += 1;
        }
    }
}
