//! Connections that are opened at their first use and let go when they have finished, beside equal
//! ones that are open all the time: nobody can tell them apart, whatever comes late.

use std::collections::BTreeMap;

use incast_cc::parts::Random;
use incast_cc::registry::AnyAlgorithm;
use incast_cc::{AnyControl, Bytes, Span, Time};
use incast_transport::stream::{self, EcnEcho};
use incast_transport::{
    Address, Config, Endpoint, Event, Form, InitialTimeout, Opening, Operation, Outgoing, Report,
    Role, Terms, Transport,
};

const STEP: Span = Span::from_ns(250);
const DELAY: Span = Span::from_us(5);

/// Flows between two ends, each of one message: even ones write from end 0, odd ones read from end
/// 1. A read takes a connection for its answer and the one after it for the request.
#[derive(Clone, Copy, Debug)]
struct Case {
    transport: Transport,
    algorithm: &'static str,
    stream: stream::Config,
    flows: u32,
    seed: u64,
}

fn opening(case: Case, end: usize, connection: u32) -> Opening {
    let (is_read, is_request) = (!connection.is_multiple_of(3), connection % 3 == 2);
    let role = match (is_read, is_request, end) {
        (false, _, 0) | (true, false, 1) => Role::Sender,
        (false, ..) | (true, false, _) => Role::Receiver,
        (true, true, 0) => Role::Requester,
        (true, true, _) => Role::Responder { answers: connection - 1 },
    };
    let terms = Terms { transport: case.transport, once: true, ..Terms::default() };
    Opening { terms, role, peer: connection, address: Address::default(), seed: 0 }
}

struct World {
    ends: [Endpoint<AnyControl>; 2],
    nic_free: [Time; 2],
    random: Random,
    flying: BTreeMap<(Time, u64), (usize, Form, bool)>,
    sent: Vec<(Time, usize, Outgoing)>,
    heard: Vec<(Time, usize, Event)>,
    /// The most connections that were open at once.
    most_open: usize,
}

impl World {
    fn new(case: Case, recycles: bool) -> Self {
        let algorithm = AnyAlgorithm::named(case.algorithm).expect("it is registered");
        let ends = [0, 1].map(|end| {
            let config = Config {
                segment: Bytes::new(4_000),
                payload: Bytes::new(1_000),
                ack_jitter: Span::from_ns(300),
                rto_initial: InitialTimeout::Fixed(Span::from_us(200)),
                rto_min: Span::from_us(100),
                rto_max: Span::from_us(800),
                stream: case.stream,
                notification_interval: Some(Span::from_us(50)),
                ..Config::default()
            };
            let mut endpoint =
                Endpoint::new(config, Box::new(move |flow, _| algorithm.start(flow)));
            let connections = case.flows / 2 * 3;
            if recycles {
                let opener = move |connection| opening(case, end, connection);
                endpoint.expect(connections as usize, Box::new(opener));
            } else {
                for connection in 0..connections {
                    let Opening { terms, role, peer, .. } = opening(case, end, connection);
                    let terms = Terms { once: false, ..terms };
                    assert_eq!(endpoint.open_on(terms, role, peer), connection);
                }
            }
            endpoint
        });
        Self {
            ends,
            nic_free: [Time::ZERO; 2],
            random: Random::new(case.seed),
            flying: BTreeMap::new(),
            sent: Vec::new(),
            heard: Vec::new(),
            most_open: 0,
        }
    }

    fn fly(&mut self, now: Time, to: usize, packet: Form) {
        let number = self.sent.len() as u64 * 2;
        let fly = |world: &mut Self, late: Span, copy: u64| {
            let marked = world.random.below(4) == 0;
            world.flying.insert((now + DELAY + late, number + copy), (to, packet, marked));
        };
        if self.random.below(100) >= 8 {
            fly(self, Span::ZERO, 0);
        }
        if self.random.below(100) < 15 {
            // Long after the message has been delivered and acknowledged.
            let late = Span::from_ns(u64::from(self.random.below(1_500_000)));
            fly(self, late, 1);
        }
    }

    fn step(&mut self, now: Time) {
        while let Some(first) = self.flying.first_entry()
            && first.key().0 <= now
        {
            let (end, packet, marked) = first.remove();
            self.ends[end].handle(now, &packet, Report { marked, ..Report::default() });
        }
        for end in [0, 1] {
            if self.nic_free[end] <= now
                && let Some(sent) = self.ends[end].poll_transmit(now)
            {
                self.nic_free[end] = now + Span::from_ns(100 + u64::from(sent.form.payload()));
                self.fly(now, 1 - end, sent.form);
                self.sent.push((now, end, sent));
            }
            self.ends[end].on_timer(now);
            while let Some(event) = self.ends[end].poll_event() {
                self.heard.push((now, end, event));
            }
            self.most_open = self.most_open.max(self.ends[end].open_connections());
        }
    }

    fn run(mut self, case: Case) -> Self {
        let mut now = Time::ZERO;
        let mut posts = Random::new(!case.seed);
        for flow in 0..case.flows {
            let bytes = u64::from(posts.below(12_000)) + 1;
            let (connection, operation) = match flow % 2 {
                0 => (flow / 2 * 3, Operation::Write { bytes }),
                _ => (flow / 2 * 3 + 2, Operation::Read { bytes }),
            };
            self.ends[0].post(now, connection, operation);
            for _ in 0..posts.below(200) {
                self.step(now);
                now += STEP;
            }
        }
        // The last timeouts back off until an answer gives a sample.
        for _ in 0..400_000 {
            self.step(now);
            now += STEP;
        }
        assert!(self.flying.is_empty());
        self
    }
}

fn compare(case: Case) {
    let [recycled, kept] = [true, false].map(|recycles| World::new(case, recycles).run(case));
    let first_other = recycled.sent.iter().zip(&kept.sent).find(|(a, b)| a != b);
    assert!(first_other.is_none(), "{first_other:?}");
    assert_eq!(recycled.sent.len(), kept.sent.len());
    assert_eq!(recycled.heard, kept.heard);
    let mut late = 0;
    for (end, (a, b)) in recycled.ends.iter().zip(&kept.ends).enumerate() {
        for connection in 0..case.flows / 2 * 3 {
            let counts = |end: &Endpoint<AnyControl>| {
                let sent_again = end.retransmissions(connection);
                (sent_again, end.delivered_bytes(connection), end.duplicates(connection))
            };
            assert_eq!(counts(a), counts(b), "connection {connection} of end {end}");
            late += counts(a).2;
            assert!(a.sender(connection).is_none(), "{connection} of end {end} still sends");
        }
        // Connections that could not go at once go with the next one that does: the last ones may
        // be there yet.
        assert!(a.open_connections() < 12, "{} of end {end}", a.open_connections());
    }
    assert!(late > u64::from(case.flows), "{late} duplicates show something");
    assert!(recycled.most_open < case.flows as usize / 2, "{} at once", recycled.most_open);
}

#[test]
fn messages_cannot_be_told_from_those_of_connections_that_stay() {
    for (algorithm, seed) in [("line-rate", 1), ("timely", 2), ("dcqcn", 3), ("swift", 4)] {
        let stream = stream::Config::default();
        compare(Case { transport: Transport::Message, algorithm, stream, flows: 400, seed });
    }
}

#[test]
fn streams_cannot_be_told_from_those_of_connections_that_stay() {
    for (algorithm, seed) in [("newreno", 1), ("dctcp", 2), ("cubic", 3), ("bbr", 4)] {
        for (echo, handshake) in [(EcnEcho::Exact, false), (EcnEcho::Classic, true)] {
            let stream = stream::Config {
                mss: Bytes::new(1_000),
                delayed_ack_timeout: Span::from_us(60),
                ect: true,
                echo,
                handshake,
                sack: seed != 1,
                ..stream::Config::default()
            };
            compare(Case { transport: Transport::Stream, algorithm, stream, flows: 400, seed });
        }
    }
}
