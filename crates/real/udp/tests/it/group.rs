//! Nodes that one thread drives in turn.

use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_cc::Rate;
use incast_udp::security::Security;
use incast_udp::socket::Features;
use incast_udp::{Event, Group, Node, Options};

fn options() -> Options {
    let mut options = Options::at("127.0.0.1:0".parse().unwrap(), Security::Plain);
    options.line_rate = Rate::from_gbps(1);
    options
}

/// Two clients call a server, and all three sleep together.
#[test]
fn a_group_answers_its_own_calls_and_sleeps_until_its_deadline() {
    let features = Features::probe().unwrap();
    let nodes = (0..3).map(|_| Node::open(options(), features).unwrap()).collect();
    let mut group = Group::new(nodes);
    assert_eq!((group.len(), group.is_empty()), (3, false));
    let server = group.node(0).address().unwrap();
    let peers = [1, 2].map(|client| group.node(client).connect(server, None).unwrap());
    for (client, peer) in (1..).zip(peers) {
        for size in [10, 300_000] {
            group.node(client).call(peer, Bytes::from(vec![7; size]), None).unwrap();
        }
    }
    let (mut replied, ends) = ([0; 3], Instant::now() + Duration::from_secs(20));
    while replied != [0, 2, 2] {
        assert!(Instant::now() < ends, "{replied:?}");
        group.turn(ends).unwrap();
        while let Some((number, event)) = group.poll_event() {
            match event {
                Event::Called { call, body, .. } => group.node(number).reply(call, body).unwrap(),
                Event::Replied { body, .. } => {
                    assert!(body.iter().all(|&byte| byte == 7));
                    replied[number] += 1;
                }
                Event::Opened { .. } => {}
                other => panic!("{number}: {other:?}"),
            }
        }
    }
    let began = Instant::now();
    group.turn(began + Duration::from_millis(50)).unwrap();
    assert!(group.poll_event().is_none() && began.elapsed() >= Duration::from_millis(50));
}
