//! Packets of a burst that leave together are those that leave one by one.

use incast_cc::{AnyAlgorithm, AnyControl, Bytes, Rate, Span, Time};
use incast_transport::{
    Body, Config, Endpoint, Nic, Operation, Packet, Report, Role, Serialization, message,
    message::Data,
};
use proptest::prelude::*;

use crate::common::{kept, plain};

/// A packet that has left: its connection, its place in all payload, and itself.
type Left = (u32, u64, Data);

/// A host whose carrier has the payload.
fn config(line_rate: Rate, serialization: Serialization) -> Config {
    Config {
        segment: Bytes::new(20 * 1_400),
        payload: Bytes::new(1_400),
        nic: Nic::Segments,
        full_packets: true,
        line_rate,
        serialization,
        ..Config::default()
    }
}

fn end(algorithm: &'static str) -> Endpoint<AnyControl> {
    let config = config(Rate::from_gbps(10), Serialization::LineRate);
    let algorithm = AnyAlgorithm::named(algorithm).unwrap();
    Endpoint::new(config, Box::new(move |flow, _| algorithm.start(flow)))
}

/// The packets of one call to the endpoint, one by one.
fn one_by_one(end: &mut Endpoint<AnyControl>, now: Time) -> Vec<Left> {
    let mut left = Vec::new();
    while let Some(out) = end.poll_data(now, u8::MAX) {
        let Body::Message(message::Body::Data(data)) = out.form.packet(0).body else {
            panic!("{:?}", out.form)
        };
        let place = end.payload_at(out.connection, data.sequence).unwrap();
        left.push((out.connection, place, Data { remaining: 0, ..data }));
    }
    left
}

fn together(end: &mut Endpoint<AnyControl>, now: Time) -> Vec<Left> {
    let bursts = std::iter::from_fn(|| end.poll_burst(now, u8::MAX));
    let packets = bursts.flat_map(|burst| {
        let payload: u64 = burst.packets().map(|(_, data)| u64::from(data.payload)).sum();
        assert_eq!(payload, burst.payload());
        burst.packets().map(move |(place, data)| (burst.connection, place, data))
    });
    packets.collect()
}

proptest! {
    #![proptest_config(kept("tests/proptest-regressions/together.txt", 64))]

    #[test]
    fn bursts_are_what_packets_are(
        algorithm in prop::sample::select(&["timely", "swift", "newreno", "line-rate"][..]),
        steps in prop::collection::vec((0..2_u32, 1..90_000_u64, 0..100_u64, any::<u64>()), 1..60),
    ) {
        let (mut single, mut whole) = (end(algorithm), end(algorithm));
        let mut receives = end(algorithm);
        for connection in 0..2 {
            for sends in [&mut single, &mut whole] {
                prop_assert_eq!(sends.open(Role::Sender, connection), connection);
            }
            prop_assert_eq!(receives.open(Role::Receiver, connection), connection);
        }
        let mut now = Time::ZERO;
        for (connection, bytes, us, mut lost) in steps {
            for sends in [&mut single, &mut whole] {
                sends.post(now, connection, Operation::Write { bytes });
            }
            now += Span::from_us(us);
            single.on_timer(now);
            whole.on_timer(now);
            let left = one_by_one(&mut single, now);
            prop_assert_eq!(&left, &together(&mut whole, now));
            prop_assert_eq!(single.next_timer(now), whole.next_timer(now));
            // Some packets are lost on the way.
            for (connection, _, data) in left {
                lost = lost.rotate_left(1);
                if lost & 7 != 7 {
                    let packet = Packet { connection, sent_ns: 0, body: Body::Message(message::Body::Data(data)) };
                    receives.handle_packet(now, &packet, Report::default());
                }
            }
            now += Span::from_us(10);
            while let Some(answer) = receives.poll_reply(now, u8::MAX) {
                for sends in [&mut single, &mut whole] {
                    sends.handle(now, &answer.form, Report::default());
                }
            }
            prop_assert_eq!(single.next_timer(now), whole.next_timer(now));
        }
    }
}

#[test]
fn no_connection_sends_above_the_most_of_a_rate() {
    let (line_rate, cap) = (Rate::from_gbps(10), Rate::from_gbps(1));
    for rate_cap in [Rate::MAX, cap] {
        let plain = plain::window(1 << 30);
        let config = Config { rate_cap, ..config(line_rate, Serialization::Nothing) };
        let mut end = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
        end.open(Role::Sender, 0);
        end.post(Time::ZERO, 0, Operation::Write { bytes: 10_000_000 });
        let mut payload = 0;
        for us in 0..10_000 {
            let now = Time::ZERO + Span::from_us(us);
            end.on_timer(now);
            while let Some(burst) = end.poll_burst(now, u8::MAX) {
                payload += burst.payload();
                end.on_timer(now);
            }
        }
        // 1.25 MB in 10 ms, and the segment that has just left.
        if rate_cap == cap {
            assert!((1_250_000..=1_278_000).contains(&payload), "{payload}");
        } else {
            assert_eq!(payload, 10_000_000, "the NIC is the carrier's");
        }
    }
}
