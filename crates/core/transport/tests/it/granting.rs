//! The granting engine, with a toy of a policy: credit of one packet in turn, one every 3 us.

use std::collections::BTreeMap;

use incast_cc::grants::{Arrival, Grant, Grants};
use incast_cc::{Bytes, Span, Time};
use incast_transport::{Body, Config, Endpoint, Operation, Packet, Report, Role, Terms};

use crate::common::plain::{Plain, window};

const EVERY: Span = Span::from_us(3);

/// A policy that gives each flow in turn one packet, as long as it has something left to send.
#[derive(Default)]
struct Turns {
    demand: BTreeMap<u32, Bytes>,
    last: Option<u32>,
    from: Time,
}

impl Grants for Turns {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) {
        if self.demand.is_empty() {
            self.from = self.from.max(now);
        }
        self.demand.insert(arrival.flow, arrival.demand);
        self.demand.retain(|_, demand| !demand.is_zero());
    }

    fn on_end(&mut self, flow: u32) {
        self.demand.remove(&flow);
    }

    fn next_at(&self) -> Option<Time> {
        (!self.demand.is_empty()).then_some(self.from)
    }

    fn grant(&mut self, now: Time) -> Option<Grant> {
        let after = self.last.map_or(0, |last| last + 1);
        let (&flow, demand) = match self.demand.range_mut(after..).next() {
            None => self.demand.iter_mut().next()?,
            found => found?,
        };
        let bytes = (*demand).min(Bytes::new(1_460));
        *demand -= bytes;
        self.last = Some(flow);
        self.from = now.max(self.from) + EVERY;
        self.demand.retain(|_, demand| !demand.is_zero());
        Some(Grant { flow, bytes })
    }
}

fn endpoint() -> Endpoint<Plain> {
    let config = Config { full_packets: true, ..Config::default() };
    Endpoint::new(config, Box::new(|_, _| window(1 << 30)))
}

/// The first packets of two senders with this much to send, and a host that grants.
fn arrived(sizes: [u64; 2]) -> (Endpoint<Plain>, [Packet; 2]) {
    let mut host = endpoint();
    host.grant_by(Box::new(Turns::default()));
    let firsts = sizes.map(|bytes| {
        let mut sender = endpoint();
        let connection = host.open_on(Terms::default(), Role::Receiver, 7);
        sender.open_on(Terms::default(), Role::Sender, connection);
        sender.post(Time::ZERO, 0, Operation::Write { bytes });
        sender.poll_transmit(Time::ZERO).unwrap().form.packet(0)
    });
    (host, firsts)
}

/// The packets that leave until a time, each with its time and the credit that it gives, if any.
fn leave(host: &mut Endpoint<Plain>, until: Time) -> Vec<(u64, u32, Option<u32>)> {
    let (mut now, mut left) = (Time::ZERO, Vec::new());
    loop {
        while let Some(out) = host.poll_transmit(now) {
            let credit = match out.form.packet(0).body {
                Body::Credit(bytes) => Some(bytes),
                _ => None,
            };
            left.push((now.as_ps() / 1_000, out.connection, credit));
        }
        match host.next_timer(now) {
            Some(at) if at <= until => now = at.max(now),
            _ => return left,
        }
    }
}

#[test]
fn a_receiver_that_grants_speaks_first_paced_over_all_its_senders() {
    // 1,460 B of each have come: 2,920 B and 1,000 B are left to grant.
    let (mut host, firsts) = arrived([4_380, 2_460]);
    for packet in &firsts {
        host.handle_packet(Time::ZERO, packet, Report::default());
    }
    let left = leave(&mut host, Time::ZERO + Span::from_us(100));
    let full = Some(1_460);
    assert_eq!(left, [(0, 0, full), (3_000, 1, Some(1_000)), (6_000, 0, full)]);
}

#[test]
fn credit_that_waits_for_its_time_holds_no_answer_up() {
    let (mut host, [first, small]) = arrived([4_380, 1_000]);
    host.handle_packet(Time::ZERO, &first, Report::default());
    host.handle_packet(Time::ZERO, &small, Report::default()); // whole: it is acknowledged after 1 us
    let left = leave(&mut host, Time::ZERO + Span::from_us(100));
    assert_eq!(left, [(0, 0, Some(1_460)), (1_000, 1, None), (3_000, 0, Some(1_460))]);
}

#[test]
fn a_closed_connection_gets_no_credit() {
    let (mut host, firsts) = arrived([1_000_000, 4_380]);
    for packet in &firsts {
        host.handle_packet(Time::ZERO, packet, Report::default());
    }
    host.close(0);
    let left = leave(&mut host, Time::ZERO + Span::from_us(100));
    assert!(!left.is_empty() && left.iter().all(|&(_, connection, _)| connection == 1), "{left:?}");
}

#[test]
fn a_sender_whose_transport_heeds_no_credit_goes_on_as_before() {
    let (_, [first, _]) = arrived([100_000, 1_000]);
    let run = |credit: bool| {
        let mut sender = endpoint();
        sender.open_on(Terms::default(), Role::Sender, 0);
        sender.post(Time::ZERO, 0, Operation::Write { bytes: 100_000 });
        let mut sent = Vec::new();
        while let Some(out) = sender.poll_transmit(Time::ZERO) {
            if credit {
                let packet = Packet { connection: 0, body: Body::Credit(1_460), ..first };
                sender.handle_packet(Time::ZERO, &packet, Report::default());
            }
            sent.push(out);
        }
        sent
    };
    assert_eq!(run(true), run(false));
}
