//! RTTs by the stamps of a NIC or a kernel, in place of the times of calls.

use incast_cc::{Bytes, Rate, RttSample, Span, Time};
use incast_transport::message::{Ack, Nack, PacketSet};
use incast_transport::{Body, Clock, Config, Endpoint, Operation, Packet, Report, Role, message};

use crate::common::plain::Plain;

fn us(n: u64) -> Time {
    Time::ZERO + Span::from_us(n)
}

/// A sender of segments of two packets, of which all has left at time zero.
struct Host {
    endpoint: Endpoint<Plain>,
    plain: Plain,
}

impl Host {
    fn new() -> Self {
        let plain = Plain::rate(Rate::from_gbps(10));
        let start = plain.clone();
        let config = Config { segment: Bytes::new(2 * 1_460), ..Config::default() };
        let mut endpoint = Endpoint::new(config, Box::new(move |_, _| start.clone()));
        let connection = endpoint.open(Role::Sender, 0);
        endpoint.post(Time::ZERO, connection, Operation::Write { bytes: 3 * 2 * 1_460 });
        let mut host = Self { endpoint, plain };
        host.send_all(us(100));
        host
    }

    fn send_all(&mut self, until: Time) {
        let mut now = Time::ZERO;
        while now < until {
            while self.endpoint.poll_transmit(now).is_some() {}
            now = self.endpoint.next_timer(now).unwrap_or(until).max(now + Span::from_ns(1));
        }
    }

    /// The RTT that the algorithm gets of a body that comes at 500 us, by the carrier's clock.
    fn rtt_of(&mut self, body: Body, arrived: Option<Time>, peer: Span) -> Option<RttSample> {
        let report = Report { clock: Clock::Stamps { arrived, peer }, ..Report::default() };
        let packet = Packet { connection: 0, sent_ns: 0, body };
        self.endpoint.handle_packet(us(500), &packet, report);
        self.plain.told().acks.last().and_then(|ack| ack.rtt)
    }
}

const fn ack(segment: u64, attempt: u8) -> Body {
    Body::Message(message::Body::Ack(Ack { segment, ce_bytes: 0, attempt }))
}

#[test]
fn an_rtt_is_between_the_stamps_and_knows_the_turnaround_of_the_peer() {
    let mut host = Host::new();
    // Both packets of the first segment have stamps, the second one later: the first counts.
    host.endpoint.on_sent_at(0, 0, 0, us(7));
    host.endpoint.on_sent_at(0, 1, 0, us(8));
    let rtt = host.rtt_of(ack(0, 0), Some(us(57)), Span::from_us(30)).unwrap();
    assert_eq!((rtt.total, rtt.peer), (Span::from_us(50), Span::from_us(30)));
    // 2,920 B and two headers of 40 B at 10 Gb/s.
    assert_eq!(rtt.serialization, Span::from_ns(2_400));
    assert_eq!(rtt.network(), Span::from_ns(17_600));
}

#[test]
fn there_is_no_sample_where_a_stamp_is_missing() {
    for (sent, arrived) in [(None, Some(us(57))), (Some(us(7)), None), (Some(us(58)), Some(us(57)))]
    {
        let mut host = Host::new();
        if let Some(stamp) = sent {
            host.endpoint.on_sent_at(0, 0, 0, stamp);
        }
        let rtt = host.rtt_of(ack(0, 0), arrived, Span::ZERO);
        assert_eq!(rtt, None, "sent {sent:?}, arrived {arrived:?}");
        assert_eq!(host.plain.told().acks.len(), 1, "the data has arrived all the same");
        // The timeout knows the 500 us that the carrier took: 500 + 4 x 250.
        let sender = host.endpoint.sender(0).unwrap();
        assert_eq!(sender.rtt().srtt(), Span::from_us(500));
        assert_eq!(sender.rtt().min_rtt(), Span::MAX);
    }
}

#[test]
fn a_burst_that_is_sent_again_has_a_stamp_of_its_own() {
    let mut host = Host::new();
    host.endpoint.on_sent_at(0, 0, 0, us(7));
    let missing = PacketSet::only(0);
    let nack = Nack { base: 0, missing, attempt: 0, answers: false };
    let packet =
        Packet { connection: 0, sent_ns: 0, body: Body::Message(message::Body::Nack(nack)) };
    host.endpoint.handle_packet(us(200), &packet, Report::default());
    host.send_all(us(300));
    host.endpoint.on_sent_at(0, 0, 1, us(207));
    let rtt = host.rtt_of(ack(0, 1), Some(us(247)), Span::ZERO).unwrap();
    assert_eq!(rtt.total, Span::from_us(40));
}

#[test]
fn stamps_of_what_is_unknown_are_nothing() {
    let mut host = Host::new();
    for (sequence, attempt) in [(1_000, 0), (u64::MAX, 0), (0, 3)] {
        host.endpoint.on_sent_at(0, sequence, attempt, us(7));
    }
    assert_eq!(host.rtt_of(ack(0, 0), Some(us(57)), Span::ZERO), None);
}
