//! Algorithms that choose the traffic class of each packet: what they are asked, and in which
//! order a NIC then sends. A packet of 1,460 B takes 1.2 us at 10 Gb/s.

use incast_cc::{Bytes, Place, Rate, Span, Time};
use incast_transport::{
    Body, Config, Endpoint, Form, Nic, Operation, Report, Role, Terms, Transport, message, stream,
};

use crate::common::plain::{Plain, window};

const MSS: u64 = 1_460;

/// Packet `n` of a message is `n` levels below the class of its traffic.
fn by_packet(place: &Place) -> u8 {
    u8::try_from(place.offset.get() / MSS).unwrap_or(u8::MAX)
}

/// Endpoints of a sender and its receiver, on a wire without delay.
struct Host {
    endpoint: Endpoint<Plain>,
    peer: Endpoint<Plain>,
    now: Time,
    /// The packets that have left: connection, class, and number in the connection.
    sent: Vec<(u32, u8, u64)>,
}

impl Host {
    /// Connections of traffic in these classes.
    fn new(config: Config, plain: &Plain, transport: Transport, classes: &[u8]) -> Self {
        let open = |role| {
            let plain = plain.clone();
            let mut endpoint = Endpoint::new(config, Box::new(move |_, _| plain.clone()));
            for (index, &class) in (0..).zip(classes) {
                let terms = Terms { class, transport, ..Terms::default() };
                assert_eq!(endpoint.open_on(terms, role, index), index);
            }
            endpoint
        };
        let (endpoint, peer) = (open(Role::Sender), open(Role::Receiver));
        Self { endpoint, peer, now: Time::ZERO, sent: Vec::new() }
    }

    fn post(&mut self, connection: u32, packets: u64) {
        self.endpoint.post(self.now, connection, Operation::Write { bytes: packets * MSS });
    }

    /// Sends all that may leave; `lost` says which packets get lost, by place in what was sent.
    fn run(&mut self, lost: &[usize], until: Time) {
        while self.now < until {
            if let Some(out) = self.endpoint.poll_transmit(self.now) {
                let number = match out.form.packet(0).body {
                    Body::Stream(stream::Body::Segment(segment)) => segment.sequence / MSS,
                    Body::Message(message::Body::Data(data)) => {
                        data.segment() + u64::from(data.index)
                    }
                    body => panic!("{body:?}"),
                };
                self.sent.push((out.connection, out.class, number));
                self.now += Rate::from_gbps(10).time_for(Bytes::new(MSS + 40));
                if !lost.contains(&(self.sent.len() - 1)) {
                    self.arrive(&out.form);
                }
            } else if let Some(at) = self.endpoint.next_timer(self.now) {
                self.now = at.max(self.now).min(until);
            } else {
                return;
            }
        }
    }

    fn arrive(&mut self, form: &Form) {
        self.peer.handle(self.now, form, Report::default());
        let later = self.now + Span::from_ms(1);
        while let Some(ack) = self.peer.poll_transmit(later) {
            self.endpoint.handle(self.now, &ack.form, Report::default());
        }
    }

    /// The connections and classes in the order in which packets have left.
    fn order(&self) -> Vec<(u32, u8)> {
        self.sent.iter().map(|&(connection, class, _)| (connection, class)).collect()
    }
}

fn config() -> Config {
    let mut config = Config { segment: Bytes::new(3 * MSS), ..Config::default() };
    config.stream.delayed_ack = 1;
    config
}

fn plain(level: fn(&Place) -> u8) -> Plain {
    Plain { level: Some(level), ..window(100 * MSS) }
}

const BOTH: [Transport; 2] = [Transport::Stream, Transport::Message];

#[test]
fn the_class_of_each_packet_is_its_level_below_that_of_the_traffic() {
    for transport in BOTH {
        let mut host = Host::new(config(), &plain(by_packet), transport, &[3]);
        host.post(0, 6);
        host.run(&[], Time::ZERO + Span::from_us(100));
        let classes: Vec<_> = host.order().iter().map(|&(_, class)| class).collect();
        assert_eq!(classes, [3, 2, 1, 0, 0, 0], "{transport:?}: none is below the lowest");
    }
}

#[test]
fn nics_send_packets_of_a_higher_level_first_whatever_their_connection() {
    // Two messages of four packets that wait together leave in step: p0 p0, p1 p1, and so on. A
    // third that comes after four of them goes through its first two packets before they go on.
    for transport in BOTH {
        let mut host = Host::new(config(), &plain(by_packet), transport, &[4, 4, 4]);
        host.post(0, 4);
        host.post(1, 4);
        host.run(&[], Time::ZERO + Span::from_ns(4_800));
        assert_eq!(host.order(), [(0, 4), (1, 4), (0, 3), (1, 3)], "{transport:?}");
        host.post(2, 4);
        host.run(&[], Time::ZERO + Span::from_us(100));
        let order = host.order();
        assert_eq!(order[4..6], [(2, 4), (2, 3)], "{transport:?}");
        let classes: Vec<_> = order[6..].iter().map(|&(_, class)| class).collect();
        assert_eq!(classes, [2, 2, 2, 1, 1, 1], "{transport:?}");
    }
}

#[test]
fn each_message_begins_at_the_top_and_waits_for_the_one_before_it() {
    let mut host = Host::new(config(), &plain(by_packet), Transport::Stream, &[3, 2]);
    host.post(0, 2);
    host.post(0, 2);
    host.post(1, 1);
    host.run(&[], Time::ZERO + Span::from_us(100));
    // The second packet of connection 0 is at level 2 of 3, where connection 1 begins.
    assert_eq!(host.order(), [(0, 3), (1, 2), (0, 2), (0, 3), (0, 2)]);
}

#[test]
fn a_retransmission_has_the_class_of_its_data() {
    // Packet 1 of six is lost: it is sent again in the class that it had, before what is new.
    let mut host = Host::new(config(), &plain(by_packet), Transport::Stream, &[7]);
    host.post(0, 6);
    host.run(&[1], Time::ZERO + Span::from_ms(50));
    let again: Vec<_> = host.sent.iter().filter(|sent| sent.2 == 1).map(|sent| sent.1).collect();
    assert_eq!(again, [6, 6]);
    assert_eq!(host.sent.len(), 7);
}

#[test]
fn an_algorithm_knows_how_much_of_the_message_is_left() {
    // Above two packets level 1: the window of one packet waits for each ACK.
    let by_rest = |place: &Place| {
        let few = |rest: Bytes| rest.get() <= 2 * MSS;
        u8::from(!place.remaining.is_some_and(few))
    };
    let plain = Plain { level: Some(by_rest), ..window(MSS) };
    let mut host = Host::new(config(), &plain, Transport::Stream, &[1]);
    host.post(0, 5);
    host.run(&[], Time::ZERO + Span::from_us(100));
    assert_eq!(host.order(), [(0, 0), (0, 0), (0, 0), (0, 1), (0, 1)]);
}

#[test]
fn weights_of_classes_count_what_leaves_in_each() {
    // Classes 0 and 1 share 1 to 3; a message of 40 packets begins in class 1 and goes on in class
    // 0, beside one that stays in class 1.
    let level = |place: &Place| u8::from(place.size == Some(Bytes::new(400 * MSS)));
    let mut config = Config { nic: Nic::Packets, ..config() };
    (config.weights[0], config.weights[1]) = (1, 3);
    let plain = Plain { level: Some(level), ..window(1_000 * MSS) };
    let mut host = Host::new(config, &plain, Transport::Stream, &[1, 1]);
    host.post(0, 400);
    host.post(1, 399);
    host.run(&[], Time::ZERO + Span::from_us(240));
    let low = host.sent.iter().filter(|sent| sent.1 == 0).count();
    assert_eq!(host.sent.len(), 200);
    assert!(low.abs_diff(50) <= 3, "{low} of 200 packets in the class with a quarter");
}
