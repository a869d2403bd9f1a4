//! The place of each packet's payload in all payload posted, for carriers that have bytes.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::message::{Nack, PacketSet};
use incast_transport::{Body, Config, Endpoint, Operation, Packet, Report, Role, message};

use crate::common::plain::Plain;

#[test]
fn packets_carry_all_payload_posted_once_and_the_same_again_when_they_are_repeated() {
    let plain = Plain::rate(Rate::from_gbps(10));
    let config = Config { segment: Bytes::new(4 * 1_460), ..Config::default() };
    let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
    let connection = endpoint.open(Role::Sender, 0);
    // Segments of four packets and less, with short ends: 10,000 = 6 x 1,460 + 1,240.
    let messages = [10_000, 1, 1_460, 5 * 1_460];
    for bytes in messages {
        endpoint.post(Time::ZERO, connection, Operation::Write { bytes });
    }
    let mut now = Time::ZERO;
    let mut sent = Vec::new();
    let mut send = |endpoint: &mut Endpoint<Plain>, until: Time| {
        let mut left = Vec::new();
        while now < until {
            while let Some(out) = endpoint.poll_transmit(now) {
                let Body::Message(message::Body::Data(data)) = out.form.packet(0).body else {
                    panic!("{:?}", out.form)
                };
                let at = endpoint.payload_at(connection, data.sequence).unwrap();
                left.push((data.sequence, at, u64::from(data.payload)));
            }
            let next = endpoint.next_timer(now).unwrap_or(until).min(until);
            now = next.max(now + Span::from_ns(1));
        }
        left
    };
    sent.extend(send(&mut endpoint, Time::ZERO + Span::from_us(100)));
    let mut end = 0;
    for &(_, at, payload) in &sent {
        assert_eq!(at, end);
        end += payload;
    }
    assert_eq!(end, messages.iter().sum::<u64>());
    // The second segment lacks its first and its last packet: 5,840 on, and 8,760 to 10,000.
    let mut missing = PacketSet::only(0);
    missing.insert(2);
    let nack = Nack { base: 4, missing, attempt: 0, answers: false };
    let packet =
        Packet { connection: 0, sent_ns: 0, body: Body::Message(message::Body::Nack(nack)) };
    endpoint.handle_packet(Time::ZERO + Span::from_us(100), &packet, Report::default());
    let again = send(&mut endpoint, Time::ZERO + Span::from_us(200));
    assert_eq!(again, [(4, 5_840, 1_460), (6, 8_760, 1_240)]);
    assert_eq!(endpoint.payload_at(connection, 1_000), None);
}
