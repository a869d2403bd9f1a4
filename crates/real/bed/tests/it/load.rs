//! Loads of calls, and the server that answers them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_bed::load::{self, Ask, Load};
use incast_udp::security::Security;
use incast_udp::{Event, Host, Node, Options};

use crate::nodes::{features, node, options, turn_both};

#[test]
fn a_load_is_answered_and_measured() {
    let plain = || options(Security::Plain);
    let server = Host::answering(&plain(), 1, load::answers).unwrap();
    let mut client = Node::open(Options { listens: false, ..plain() }, features()).unwrap();
    let peer = client.connect(server.address(), None).unwrap();
    let load = Load {
        size: 2_000,
        reply: 5_000,
        rate: Some(500.0),
        in_flight: 64,
        duration: Duration::from_millis(600),
        warmup: Duration::from_millis(100),
        seed: 1,
    };
    let mut told = 0;
    let outcome = load::run(&mut client, &[peer], &load, |_, _| {
        told += 1;
        true
    })
    .unwrap();
    let calls = outcome.answered.len();
    assert!((150..350).contains(&calls), "{calls} of 250");
    assert!(told >= 3 && outcome.failed == 0 && outcome.gone.is_none());
    assert!(!outcome.samples.is_empty());
    assert!(outcome.answered.iter().all(|call| call.at >= load.warmup));
    // Other calls are the application's.
    client.call(peer, "no load".into(), None).unwrap();
    client.turn(Some(Instant::now() + Duration::from_millis(20)), None).unwrap();
    let got = server.accept(Duration::from_secs(20)).unwrap().unwrap();
    assert_eq!(got.body(), "no load");
}

/// The most memory that this process has had.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn a_load_that_asks_for_more_than_its_caller_takes_is_refused_before_memory_is_taken() {
    let mut wide = options(Security::Plain);
    wide.memory.outgoing = 1 << 30;
    let mut server = Node::open(wide, features()).unwrap();
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    turn_both(&mut client, &mut server, |at_client, _, event| {
        at_client && matches!(event, Event::Opened { .. })
    });
    client.call(peer, Ask { reply: u32::MAX }.body(8), None).unwrap();
    let before = peak_bytes();
    let mut why = Bytes::new();
    turn_both(&mut client, &mut server, |at_client, node, event| {
        match event {
            Event::Called { call, body, .. } if !at_client => {
                load::answer(node, call, &body).unwrap();
            }
            Event::Refused { reason, .. } => why = reason,
            _ => {}
        }
        !why.is_empty()
    });
    let said = "a message of 4294967295 B is too long: the peer takes up to 67108864 B";
    assert_eq!(why, said);
    // Four gigabytes of zeros would show, whatever else runs in this process.
    let more = peak_bytes() - before;
    assert!(more < 2 << 30, "{more} B");
}

#[test]
fn a_load_whose_reply_is_longer_than_messages_of_the_server_is_refused() {
    let mut server = node(Security::Plain);
    let mut big = options(Security::Plain);
    big.memory = big.memory.for_messages(2_000_000_000);
    let mut other = Node::open(big, features()).unwrap();
    let peer = other.connect(server.address().unwrap(), None).unwrap();
    other.call(peer, Ask { reply: 1_000_000_000 }.body(8), None).unwrap();
    let mut told = None;
    turn_both(&mut other, &mut server, |at_client, node, event| {
        match event {
            Event::Called { call, body, .. } => {
                load::answer(node, call, &body).unwrap();
            }
            Event::Refused { reason, .. } if at_client => told = Some(reason),
            _ => {}
        }
        told.is_some()
    });
    let told = String::from_utf8(told.unwrap().to_vec()).unwrap();
    assert!(told.contains("1000000000 B is too long: the peer takes up to 67108864 B"), "{told}");
}
