//! Nodes that talk to each other over the loopback device.

use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_cc::timely::Timely;
use incast_cc::{AnyAlgorithm, Rate, Span};
use incast_udp::security::{Identity, Secret, Security, SecurityError};
use incast_udp::{Event, Gone, Node, Priority, Reach, Refused, Terms};

use crate::connect::{MODES, protection};
use crate::nodes::{body, features, local, node, options, turn_both, until};

#[test]
fn calls_and_notes_of_all_lengths_arrive_under_each_protection() {
    for (here, there, key) in MODES.map(protection) {
        let mode = here.mode();
        let (mut client, mut server) = (node(here), node(there));
        let peer = client.connect(server.address().unwrap(), key).unwrap();
        let lengths = [0, 1, 1_300, 1_500, 8_192, 8_193, 100_000, 3_000_000];
        let mut calls = Vec::new();
        for (number, &length) in lengths.iter().enumerate() {
            calls.push(client.call(peer, body(number as u64, length), None).unwrap());
            client.note(peer, body(100 + number as u64, length)).unwrap();
        }
        let (mut notes, mut replies, mut delivered) = (Vec::new(), 0, 0);
        turn_both(&mut client, &mut server, |at_client, node, event| {
            match (at_client, event) {
                (false, Event::Called { call, body: got, patience: None }) => {
                    let reversed: Vec<u8> = got.iter().rev().copied().collect();
                    node.reply(call, reversed.into()).unwrap();
                }
                (false, Event::Noted { body, .. }) => notes.push(body),
                (true, Event::Replied { call, body: got }) => {
                    let number = calls.iter().position(|&of| of == call).unwrap();
                    let mut sent = body(number as u64, lengths[number]).to_vec();
                    sent.reverse();
                    assert_eq!(got, sent, "{mode:?} {number}");
                    replies += 1;
                }
                (true, Event::Delivered { .. }) => delivered += 1,
                (_, Event::Opened { .. }) => {}
                (at_client, event) => panic!("{mode:?} {at_client} {event:?}"),
            }
            replies == lengths.len() && delivered == lengths.len()
        });
        let mut expected: Vec<_> =
            lengths.iter().zip(100..).map(|(&length, number)| body(number, length)).collect();
        // Short messages do not wait behind long ones.
        notes.sort();
        expected.sort();
        assert!(notes == expected, "{mode:?}");
        let statistics = client.statistics(peer).unwrap();
        assert!(statistics.is_open && statistics.key == key && statistics.waiting == 0);
        assert!(statistics.least_rtt.is_some(), "{statistics:?}");
    }
}

#[test]
fn a_call_ends_in_time_or_when_it_is_cancelled_and_the_server_hears_of_both() {
    let (mut client, mut server) = (node(Security::Plain), node(Security::Plain));
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let patience = Duration::from_millis(60);
    let began = Instant::now();
    let timed = client.call(peer, Bytes::from_static(b"slow"), Some(patience)).unwrap();
    let mut called = Vec::new();
    let mut cancelled = Vec::new();
    let (mut over, mut second) = (None, None);
    turn_both(&mut client, &mut server, |at_client, node, event| {
        match (at_client, event) {
            (false, Event::Called { call, patience: told, .. }) => {
                assert_eq!(told.is_some(), called.is_empty());
                called.push(call);
            }
            (false, Event::Cancelled { call }) => cancelled.push(call),
            (true, Event::TimedOut { call, reach }) => {
                assert_eq!(reach, Reach::Peer);
                over = Some((call, began.elapsed()));
                second = Some(node.call(peer, Bytes::from_static(b"regretted"), None).unwrap());
            }
            (_, Event::Opened { .. }) => {}
            (_, event) => panic!("{event:?}"),
        }
        called.len() == 2 && cancelled.len() == 1
    });
    let second = second.unwrap();
    assert_eq!((client.cancel(second), client.cancel(second)), (Some(Reach::Peer), None));
    turn_both(&mut client, &mut server, |at_client, _, event| match event {
        Event::Cancelled { call } if !at_client => {
            cancelled.push(call);
            true
        }
        event => panic!("{event:?}"),
    });
    let (call, after) = over.unwrap();
    assert_eq!((call, called), (timed, cancelled.clone()));
    assert!(after >= patience && after < patience * 20, "{after:?}");
    // A reply that comes too late is nobody's.
    server.reply(cancelled[0], Bytes::from_static(b"late")).unwrap();
    let end = Instant::now() + Duration::from_millis(100);
    until(&mut client, &mut server, end, |_, _, event| panic!("{event:?}"));
}

#[test]
fn priorities_go_before_sizes() {
    let fast = || {
        let mut options = options(Security::Plain);
        // At line rate from the start: no lane waits for its own congestion control.
        options.algorithm = AnyAlgorithm::Timely(Timely::default());
        Node::open(options, features()).unwrap()
    };
    let (mut client, mut server) = (fast(), fast());
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.note(peer, body(0, 10)).unwrap();
    turn_both(&mut client, &mut server, |_, _, event| matches!(event, Event::Noted { .. }));
    // Far more than leaves at once, and what would be short.
    client.note(peer, body(1, 8_000_000)).unwrap();
    client.note_with(peer, body(2, 20), Priority::Low).unwrap();
    client.note_with(peer, body(3, 30_000), Priority::High).unwrap();
    let low = Terms { priority: Priority::Low, patience: Some(Duration::from_secs(50)) };
    let low = client.call(peer, body(4, 40), low).unwrap();
    let high = client.call(peer, body(5, 50_000), Priority::High).unwrap();
    let (mut arrived, mut replied) = (Vec::new(), Vec::new());
    turn_both(&mut client, &mut server, |_, node, event| {
        match event {
            Event::Noted { body, .. } => arrived.push(body.len()),
            Event::Called { call, body, .. } => {
                arrived.push(body.len());
                node.reply(call, crate::nodes::body(6, 100)).unwrap();
            }
            Event::Replied { call, .. } => replied.push(call),
            _ => {}
        }
        replied.len() == 2
    });
    assert_eq!(arrived[0], 30_000, "before a longer one that was posted first: {arrived:?}");
    let (of_high, of_low): (Vec<_>, Vec<_>) =
        arrived.into_iter().partition(|bytes| [30_000, 50_000].contains(bytes));
    assert_eq!(of_high, [30_000, 50_000]);
    // Short ones that are low wait behind a long one.
    assert_eq!(of_low[..3], [8_000_000, 20, 40]);
    assert!(replied.contains(&low) && replied.contains(&high), "{replied:?}");
}

#[test]
fn without_timestamps_rtts_are_those_of_user_space() {
    let without =
        incast_udp::socket::Features { send_stamps: false, receive_stamps: false, ..features() };
    let mut server = Node::open(options(Security::Plain), without).unwrap();
    let mut client = Node::open(options(Security::Plain), without).unwrap();
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.keep_samples();
    for number in 0..10 {
        client.note(peer, body(number, 10_000)).unwrap();
        turn_both(&mut client, &mut server, |_, _, event| matches!(event, Event::Noted { .. }));
    }
    let samples = client.take_samples();
    assert!(!samples.is_empty());
    for sample in samples {
        assert!(sample.rtt > Span::from_us(1) && sample.rtt < Span::from_secs(10), "{sample:?}");
    }
    let state = client.statistics(peer).unwrap();
    assert_eq!(state.lacks_stamps, Some(incast_udp::Lack::Kernel));
    assert!(state.warning().unwrap().contains("the kernel gives no timestamps"), "{state:?}");
}

#[test]
fn a_message_that_cannot_be_sent_is_refused_with_the_bound() {
    let mut small = options(Security::Plain);
    small.memory.message = 10_000;
    let mut big = options(Security::Plain);
    big.memory.outgoing = 50_000;
    let mut server = Node::open(small, features()).unwrap();
    let mut client = Node::open(big, features()).unwrap();
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    turn_both(&mut client, &mut server, |at_client, _, event| {
        at_client && matches!(event, Event::Opened { .. })
    });
    let error = client.call(peer, body(1, 10_001), None).unwrap_err();
    assert_eq!(error, Refused::TooLong { bytes: 10_001, most: 10_000 });
    for number in 0..4 {
        client.note(peer, body(number, 10_000)).unwrap();
    }
    let error = client.note(peer, body(5, 10_000)).unwrap_err();
    assert_eq!(error, Refused::Full { waiting: 4 * 10_272, most: 50_000 });
    let mut delivered = 0;
    turn_both(&mut client, &mut server, |at_client, _, _| {
        delivered += usize::from(at_client);
        delivered == 4
    });
    client.note(peer, body(5, 10_000)).unwrap();
    client.close(peer);
    assert_eq!(client.note(peer, Bytes::new()).unwrap_err(), Refused::Gone);
}

#[test]
fn what_waits_for_all_peers_together_is_bounded() {
    let mut big = options(Security::Plain);
    big.memory.outgoing_in_all = 50_000;
    let mut client = Node::open(big, features()).unwrap();
    // Peers whose connections are not open yet: what is posted waits.
    let [first, second] = [(); 2].map(|()| client.connect(local(), None).unwrap());
    for (number, peer) in (0..).zip([first, second, first, second]) {
        client.note(peer, body(number, 10_000)).unwrap();
    }
    // Each message has a head of 16 B, and books of 256 B.
    let error = client.note(second, body(5, 10_000)).unwrap_err();
    assert_eq!(error, Refused::FullInAll { waiting: 4 * 10_272, most: 50_000 });
    client.close(first);
    client.note(second, body(5, 10_000)).unwrap();
    client.note(second, body(6, 10_000)).unwrap();
    let error = client.note(second, body(7, 10_000)).unwrap_err();
    assert_eq!(error, Refused::FullInAll { waiting: 4 * 10_272, most: 50_000 });

    // What the peer has no longer waits.
    let mut narrow = options(Security::Plain);
    narrow.memory.outgoing_in_all = 15_000;
    let (mut client, mut server) = (Node::open(narrow, features()).unwrap(), node(Security::Plain));
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    for number in 0..5 {
        client.note(peer, body(number, 10_000)).unwrap();
        turn_both(&mut client, &mut server, |at_client, _, event| {
            at_client && matches!(event, Event::Delivered { .. })
        });
    }
}

#[test]
fn a_server_that_does_not_take_its_messages_holds_bounded_memory_and_loses_none() {
    let mut narrow = options(Security::Plain);
    (narrow.memory.message, narrow.memory.incoming) = (100_000, 400_000);
    let mut server = Node::open(narrow, features()).unwrap();
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    for number in 0..40 {
        client.note(peer, body(number, 100_000)).unwrap();
    }
    // The server runs, and its application takes nothing.
    let end = Instant::now() + Duration::from_secs(60);
    while server.counters().no_memory == 0 && Instant::now() < end {
        client.turn(Some(Instant::now() + Duration::from_millis(1)), None).unwrap();
        server.turn(None, None).unwrap();
        while client.poll_event().is_some() {}
    }
    assert!(server.counters().no_memory > 0, "{:?}", server.counters());
    let mut got = Vec::new();
    turn_both(&mut client, &mut server, |at_client, _, event| {
        if let (false, Event::Noted { body, .. }) = (at_client, event) {
            got.push(body);
        }
        got.len() == 40
    });
    for (number, message) in got.iter().enumerate() {
        assert!(*message == body(number as u64, 100_000), "{number}");
    }
}

#[test]
fn peers_that_vanish_restart_or_close_are_told_apart() {
    let mut impatient = options(Security::Plain);
    impatient.patience = Duration::from_millis(2_500);
    let mut client = Node::open(impatient, features()).unwrap();
    let mut server = node(Security::Plain);
    let address = server.address().unwrap();
    let opens = |client: &mut Node, server: &mut Node| {
        let peer = client.connect(address, None).unwrap();
        let call = client.call(peer, Bytes::from_static(b"hold"), None).unwrap();
        turn_both(client, server, |at_client, _, event| {
            !at_client && matches!(event, Event::Called { .. })
        });
        (peer, call)
    };
    let fails = |client: &mut Node, within: Duration| {
        let end = Instant::now() + within;
        let mut failed = None;
        while Instant::now() < end {
            client.turn(Some(Instant::now() + Duration::from_millis(20)), None).unwrap();
            while let Some(event) = client.poll_event() {
                match event {
                    Event::Failed { call, why } => failed = Some((call, why)),
                    Event::Gone { why, .. } => {
                        let (call, reason) = failed.unwrap();
                        assert_eq!(reason, why);
                        return (call, why);
                    }
                    Event::Opened { .. } => {}
                    event => panic!("{event:?}"),
                }
            }
        }
        panic!("nothing was noticed in {within:?}");
    };

    // The peer closes.
    let (_, call) = opens(&mut client, &mut server);
    let of_server = server.peers().next().unwrap();
    server.close(of_server);
    assert_eq!(fails(&mut client, Duration::from_secs(2)), (call, Gone::Closed(address)));

    // The peer is started anew at the same address.
    let (peer, call) = opens(&mut client, &mut server);
    drop(server);
    let mut again = options(Security::Plain);
    again.address = address;
    let mut server = Node::open(again, features()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                server.turn(Some(Instant::now() + Duration::from_millis(20)), None).unwrap();
            }
        });
        let gone = fails(&mut client, Duration::from_secs(10));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(gone, (call, Gone::Restarted(address)));
    });
    assert_eq!(client.statistics(peer), None);

    // The peer vanishes.
    let (_, call) = opens(&mut client, &mut server);
    drop(server);
    let began = Instant::now();
    assert_eq!(fails(&mut client, Duration::from_secs(20)), (call, Gone::Silent(address)));
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());

    // Nobody has ever been there.
    let nobody = local();
    let peer = client.connect(nobody, None).unwrap();
    let call = client.call(peer, Bytes::new(), None).unwrap();
    assert_eq!(fails(&mut client, Duration::from_secs(20)), (call, Gone::NoAnswer(nobody)));
}

#[test]
fn ends_that_do_not_fit_say_why() {
    let (alice, bob) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let keys = |own: &Identity, peers: Vec<_>| Security::Keys { identity: own.clone(), peers };
    let secret = || Security::Secret(Secret::generate().unwrap());
    let bobs = Some(bob.public());
    let cases = [
        (secret(), secret(), None, "secret"),
        (Security::Plain, secret(), None, "checksum"),
        (keys(&alice, vec![]), keys(&bob, vec![]), bobs, "does not list"),
        (keys(&alice, vec![]), keys(&alice, vec![]), bobs, "does not have the public key"),
    ];
    for (here, there, key, words) in cases {
        let (mut client, mut server) = (node(here), node(there));
        let address = server.address().unwrap();
        client.connect(address, key).unwrap();
        let (mut gone, mut rejected) = (None, None);
        turn_both(&mut client, &mut server, |_, _, event| {
            match event {
                Event::Gone { why, .. } => gone = Some(why),
                Event::Rejected { why, .. } => rejected = Some(why),
                event => panic!("{event:?}"),
            }
            gone.is_some() && rejected.is_some()
        });
        let Some(Gone::Security(error)) = gone else { panic!("{gone:?}") };
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
    let mut client = node(keys(&alice, vec![]));
    let nobody = local();
    assert_eq!(client.connect(nobody, None).unwrap_err(), SecurityError::NoKey { peer: nobody });
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let mut narrow = options(Security::Plain);
    narrow.mtu = 1_000;
    let error = Node::open(narrow, features()).err().unwrap().to_string();
    assert!(error.contains("1000 B") && error.contains("1280 B"), "{error}");
    let mut hpcc = options(Security::Plain);
    hpcc.algorithm = AnyAlgorithm::named("hpcc").unwrap();
    let error = Node::open(hpcc, features()).err().unwrap().to_string();
    assert!(error.contains("hpcc needs") && error.contains("INT"), "{error}");
    let first = node(Security::Plain);
    let mut taken = options(Security::Plain);
    taken.address = first.address().unwrap();
    let error = Node::open(taken, features()).err().unwrap().to_string();
    assert!(error.contains("is taken"), "{error}");
}

/// Sends a long note, and returns the median RTT and the time that the note took.
fn median_rtt(line_rate: Rate, nic_rate: Option<Rate>, bytes: usize) -> (Duration, Duration) {
    let mut sends = options(Security::Plain);
    (sends.line_rate, sends.nic_rate) = (line_rate, nic_rate);
    sends.algorithm = AnyAlgorithm::named("line-rate").unwrap();
    let mut client = Node::open(sends, features()).unwrap();
    let mut server = node(Security::Plain);
    client.keep_samples();
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.note(peer, body(1, bytes)).unwrap();
    let begin = Instant::now();
    turn_both(&mut client, &mut server, |first, _, event| {
        first && matches!(event, Event::Delivered { .. })
    });
    let took = begin.elapsed();
    let mut rtts: Vec<_> = client.take_samples().iter().map(|sample| sample.rtt).collect();
    rtts.sort_unstable();
    (Duration::from_nanos(rtts[rtts.len() / 2].as_ns()), took)
}

#[test]
fn the_rate_of_a_nic_is_its_segments_time_and_the_line_rate_is_the_most_that_is_sent() {
    if !features().send_stamps {
        return;
    }
    let fast = Rate::from_gbps(40);
    let (virtual_link, _) = median_rtt(fast, None, 5_000_000);
    assert!(virtual_link > Duration::ZERO);
    // 60 KB take 4.8 ms of 100 Mb/s, more than the loopback device does.
    let (nic, _) = median_rtt(fast, Some(Rate::from_mbps(100)), 500_000);
    assert_eq!(nic, Duration::ZERO, "on a virtual link it is {virtual_link:?}");
    // 40 ms of 100 Mb/s, whatever the NIC could.
    let (_, took) = median_rtt(Rate::from_mbps(100), Some(fast), 500_000);
    assert!(took > Duration::from_millis(30), "{took:?}");
}
