//! Connections that are closed while they are in use, since their peers are gone.

use incast_cc::{Rate, Span, Time};
use incast_transport::message::Ack;
use incast_transport::{Body, Config, Endpoint, Event, Operation, Packet, Report, Role, message};

use crate::common::plain::Plain;

fn us(n: u64) -> Time {
    Time::ZERO + Span::from_us(n)
}

fn endpoint() -> Endpoint<Plain> {
    let plain = Plain::rate(Rate::from_gbps(1));
    Endpoint::new(Config::default(), Box::new(move |_, _| plain.clone()))
}

/// The connections, by their numbers at the peer, whose packets leave until a time.
fn sends(endpoint: &mut Endpoint<Plain>, from: Time, until: Time) -> Vec<u32> {
    let mut now = from;
    let mut peers = Vec::new();
    while now < until {
        while let Some(out) = endpoint.poll_transmit(now) {
            peers.push(out.form.connection());
        }
        let next = endpoint.next_timer(now).unwrap_or(until).min(until);
        now = next.max(now + Span::from_ns(1));
    }
    peers
}

#[test]
fn a_closed_connection_sends_nothing_and_the_others_go_on() {
    let mut endpoint = endpoint();
    let all = [70, 71, 72].map(|peer| endpoint.open(Role::Sender, peer));
    for connection in all {
        endpoint.post(us(0), connection, Operation::Write { bytes: 200_000 });
    }
    // Three packets have left, one of each: all three wait in the NIC, in the middle of a segment.
    endpoint.on_timer(us(0));
    for peer in [70, 71, 72] {
        assert_eq!(endpoint.poll_transmit(us(0)).map(|out| out.form.connection()), Some(peer));
    }
    endpoint.close(all[1]);
    let peers = sends(&mut endpoint, us(0), us(10_000));
    assert!(!peers.contains(&71), "{peers:?}");
    let of = |peer| peers.iter().filter(|&&to| to == peer).count();
    assert!(of(70) > 100 && of(70) == of(72), "{} and {}", of(70), of(72));
    assert_eq!(endpoint.open_connections(), 2);
}

#[test]
fn an_index_is_used_again_and_knows_nothing_of_its_first_life() {
    let mut endpoint = endpoint();
    let first = endpoint.open(Role::Sender, 70);
    endpoint.post(us(0), first, Operation::Write { bytes: 64_000 });
    assert_eq!(sends(&mut endpoint, us(0), us(1_000)).len(), 44);
    endpoint.close(first);
    // Neither its timeout, nor an ACK that comes late, does anything.
    let ack = Body::Message(message::Body::Ack(Ack { segment: 0, ce_bytes: 0, attempt: 0 }));
    let late = Packet { connection: first, sent_ns: 0, body: ack };
    endpoint.handle_packet(us(1_000), &late, Report::default());
    assert_eq!(sends(&mut endpoint, us(1_000), us(500_000)).len(), 0);
    assert_eq!(endpoint.awaits(first), None);

    let second = endpoint.open(Role::Sender, 80);
    assert_eq!(second, first);
    endpoint.post(us(500_000), second, Operation::Write { bytes: 1_000 });
    assert_eq!(sends(&mut endpoint, us(500_000), us(500_100)), [80]);
    endpoint.handle_packet(us(500_200), &late, Report::default());
    let events: Vec<_> = std::iter::from_fn(|| endpoint.poll_event()).collect();
    let done = |event: &&Event| matches!(event, Event::Completed { connection: 0, message: 0 });
    assert_eq!(events.iter().filter(done).count(), 1, "{events:?}");
}

#[test]
fn what_a_closed_connection_would_have_told_is_forgotten() {
    let mut here = endpoint();
    let mut there = endpoint();
    let (kept, closed) = (here.open(Role::Receiver, 0), here.open(Role::Receiver, 1));
    for peer in [kept, closed] {
        let connection = there.open(Role::Sender, peer);
        there.post(us(0), connection, Operation::Write { bytes: 500 });
    }
    there.on_timer(us(0));
    while let Some(out) = there.poll_transmit(us(0)) {
        here.handle_packet(us(5), &out.form.packet(0), Report::default());
    }
    assert_eq!((here.awaits(kept), here.awaits(closed)), (Some(1), Some(1)));
    here.close(closed);
    let events: Vec<_> = std::iter::from_fn(|| here.poll_event()).collect();
    assert_eq!(events, [Event::Delivered { connection: kept, message: 0 }]);
    assert_eq!(sends(&mut here, us(5), us(100)), [0], "one ACK");
}
