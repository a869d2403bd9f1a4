//! What a node bears from peers that break the rules, from floods, and from settings at their
//! limits.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_cc::{AnyAlgorithm, Rate};
use incast_udp::security::{Security, SecurityError};
use incast_udp::socket::{SendBatch, Socket, Transmit};
use incast_udp::wire::{ConnectionId, Frame, Header, Kind, Probe};
use incast_udp::{Event, Gone, Node, Priority, Reach, Refused, Terms};

use crate::forger::Forger;
use crate::frames::{beginning, whole};
use crate::nodes::{body, features, node, options, turn_both, until};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// Runs a node for a time, and returns what it told.
fn events(node: &mut Node, time: Duration) -> Vec<Event> {
    let end = Instant::now() + time;
    let mut all = Vec::new();
    while Instant::now() < end {
        node.turn(Some(end), None).unwrap();
        all.extend(std::iter::from_fn(|| node.poll_event()));
    }
    all
}

#[test]
fn the_memory_of_messages_that_are_no_messages_is_given_back() {
    let mut narrow = options(Security::Plain);
    (narrow.memory.message, narrow.memory.incoming_in_all) = (20_000, 41_000);
    let mut server = Node::open(narrow, features()).unwrap();
    for _ in 0..30 {
        let mut forger = Forger::connect(&mut server);
        // A kind of messages that there is not.
        forger.send(&[whole(0, 0, &[9; 1_200])]);
        let told = events(&mut server, Duration::from_millis(5));
        assert!(
            told.iter().any(|event| matches!(event, Event::Gone { why: Gone::Protocol(_), .. }))
        );
    }
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.note(peer, body(1, 20_000)).unwrap();
    let arrived =
        until(&mut client, &mut server, soon(), |_, _, event| matches!(event, Event::Noted { .. }));
    assert!(arrived, "{:?}", server.counters());
}

#[test]
fn messages_without_bytes_take_bounded_memory_until_they_are_taken() {
    let mut narrow = options(Security::Plain);
    narrow.memory.incoming = 200_000;
    let mut server = Node::open(narrow, features()).unwrap();
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let mut calls = Vec::new();
    for _ in 0..5_000 {
        client.note(peer, Bytes::new()).unwrap();
        calls.push(client.call(peer, Bytes::new(), None).unwrap());
    }
    let end = Instant::now() + Duration::from_millis(500);
    while Instant::now() < end {
        client.turn(Some(Instant::now() + Duration::from_millis(1)), None).unwrap();
        server.turn(None, None).unwrap();
        while client.poll_event().is_some() {}
    }
    let mut told = std::iter::from_fn(|| server.poll_event()).count();
    assert!((600..2_500).contains(&told), "{told}");
    // Of calls that have left the server hears twice, of others never.
    let reached = calls.into_iter().filter(|&call| client.cancel(call) == Some(Reach::Peer));
    let all = 5_001 + 2 * reached.count();
    assert!(all > 5_500, "{all}");
    let arrived = until(&mut client, &mut server, soon(), |at_client, _, _| {
        told += usize::from(!at_client);
        told == all
    });
    assert!(arrived, "{told} {:?} {:?}", client.statistics(peer), server.counters());
}

#[test]
fn the_time_that_a_caller_waits_is_told_up_to_an_hour() {
    let (mut client, mut server) = (node(Security::Plain), node(Security::Plain));
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let hour = Duration::from_secs(3_600);
    let call = |node: &mut Node, patience| node.call(peer, Bytes::new(), Some(patience)).unwrap();
    for patience in [hour, hour * 2, Duration::MAX] {
        call(&mut client, patience);
    }
    // Whose time is over at once does not leave.
    let nobody = call(&mut client, Duration::ZERO);
    let (mut told, mut over) = (Vec::new(), Vec::new());
    turn_both(&mut client, &mut server, |_, _, event| {
        match event {
            Event::Called { patience, .. } => told.push(patience),
            Event::TimedOut { call, reach } => over.push((call, reach)),
            _ => {}
        }
        told.len() == 3
    });
    assert_eq!((told, over), (vec![Some(hour), None, None], vec![(nobody, Reach::Nobody)]));
}

#[test]
fn what_is_cancelled_before_it_has_left_frees_its_memory_and_is_never_seen() {
    let mut narrow = options(Security::Plain);
    narrow.memory.outgoing = 1_000_000;
    let (mut client, mut server) = (Node::open(narrow, features()).unwrap(), node(Security::Plain));
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    // Before the connection is open, and after.
    for round in 0..2 {
        let post = |client: &mut Node, number| client.call(peer, body(number, 100_000), None);
        let calls: Vec<_> = (0..9).map(|number| post(&mut client, number).unwrap()).collect();
        client.note(peer, body(9, 10_000)).unwrap();
        // With a head of 16 B and books of 256 B each.
        let waiting = 9 * 100_272 + 10_272;
        assert_eq!(post(&mut client, 10), Err(Refused::Full { waiting, most: 1_000_000 }));
        for &call in calls.iter().rev() {
            assert_eq!((client.cancel(call), client.cancel(call)), (Some(Reach::Nobody), None));
        }
        assert_eq!(client.statistics(peer).unwrap().waiting, 10_016, "round {round}");
        client.note(peer, body(11, 900_000)).unwrap();
        let (mut noted, mut delivered) = (Vec::new(), 0);
        turn_both(&mut client, &mut server, |_, _, event| {
            match event {
                Event::Noted { body, .. } => noted.push(body.len()),
                Event::Delivered { .. } => delivered += 1,
                Event::Opened { .. } => {}
                event => panic!("{event:?}"),
            }
            delivered == 2
        });
        assert_eq!(noted, [10_000, 900_000]);
    }
}

/// A node that sends at a fixed rate.
fn at_rate(rate: Rate) -> Node {
    let mut options = options(Security::Plain);
    options.algorithm = AnyAlgorithm::named("line-rate").unwrap();
    options.line_rate = rate;
    Node::open(options, features()).unwrap()
}

#[test]
fn a_message_that_is_cancelled_half_way_frees_memory_at_both_ends() {
    let mut narrow = options(Security::Plain);
    (narrow.memory.message, narrow.memory.incoming) = (10_000_000, 12_000_000);
    let mut server = Node::open(narrow, features()).unwrap();
    // 10 MB take 0.8 s.
    let mut client = at_rate(Rate::from_mbps(100));
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    for round in 0..4 {
        let call = client.call(peer, body(round, 10_000_000), None).unwrap();
        let note = client.note(peer, body(round, 20_000)).unwrap();
        let end = Instant::now() + Duration::from_millis(60);
        until(&mut client, &mut server, end, |_, _, event| {
            assert!(matches!(event, Event::Opened { .. }), "{event:?}");
            false
        });
        let waits = |client: &Node| client.statistics(peer).unwrap().waiting;
        assert_eq!(waits(&client), 10_000_016 + 20_016);
        assert_eq!(client.cancel(call), Some(Reach::Nobody));
        assert!(waits(&client) < 6_000_000, "{} B", waits(&client));
        let mut noted = 0;
        turn_both(&mut client, &mut server, |_, _, event| {
            match event {
                Event::Noted { body: got, .. } => {
                    assert!(got == body(round, 20_000));
                    noted += 1;
                }
                Event::Delivered { note: of } => assert_eq!(of, note),
                event => panic!("{event:?}"),
            }
            noted == 1
        });
        let end = Instant::now() + Duration::from_millis(20);
        until(&mut client, &mut server, end, |_, _, event| {
            assert!(matches!(event, Event::Delivered { .. }), "{event:?}");
            false
        });
        assert_eq!(waits(&client), 0);
    }
}

#[test]
fn a_note_tells_its_time_and_does_not_leave_after_it() {
    let (mut client, mut server) = (at_rate(Rate::from_mbps(100)), node(Security::Plain));
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let within = |ms| Terms { patience: Some(Duration::from_millis(ms)), ..Priority::Low.into() };
    // The first takes 80 ms, so that the second waits too long, and the third does not.
    let first = client.note(peer, body(1, 1_000_000)).unwrap();
    let second = client.note_with(peer, body(2, 20), within(20)).unwrap();
    let third = client.note_with(peer, body(3, 30), within(20_000)).unwrap();
    let (mut noted, mut ended) = (Vec::new(), Vec::new());
    turn_both(&mut client, &mut server, |_, _, event| {
        match event {
            Event::Noted { body, patience, .. } => noted.push((body.len(), patience)),
            Event::Delivered { note } => ended.push((note, None)),
            Event::TimedOut { call, reach } => ended.push((call, Some(reach))),
            Event::Opened { .. } => {}
            event => panic!("{event:?}"),
        }
        ended.len() == 3
    });
    assert_eq!(noted, [(1_000_000, None), (30, Some(Duration::from_secs(20)))]);
    assert_eq!(ended, [(second, Some(Reach::Nobody)), (first, None), (third, None)]);

    // One that has left and is not acknowledged in time may still arrive.
    let note = client.note_with(peer, body(4, 40), within(30)).unwrap();
    let mut told = Vec::new();
    while told.is_empty() {
        client.turn(Some(Instant::now() + Duration::from_millis(5)), None).unwrap();
        told.extend(std::iter::from_fn(|| client.poll_event()));
    }
    assert_eq!(told, [Event::TimedOut { call: note, reach: Reach::Peer }]);
    turn_both(&mut client, &mut server, |_, _, event| match event {
        Event::Noted { body, .. } => body.len() == 40,
        event => panic!("{event:?}"),
    });
    let end = Instant::now() + Duration::from_millis(50);
    until(&mut client, &mut server, end, |_, _, event| panic!("nothing more: {event:?}"));
}

#[test]
fn a_server_with_all_its_peers_says_so() {
    let mut small = options(Security::Plain);
    small.peers = 1;
    let mut server = Node::open(small, features()).unwrap();
    let address = server.address().unwrap();
    let (mut first, mut second) = (node(Security::Plain), node(Security::Plain));
    let peer = first.connect(address, None).unwrap();
    let opens = |event| matches!(event, Event::Opened { .. });
    turn_both(&mut first, &mut server, |at_client, _, event| !at_client && opens(event));
    second.connect(address, None).unwrap();
    let (mut refused, mut told) = (false, false);
    turn_both(&mut second, &mut server, |_, _, event| {
        match event {
            Event::Gone { why, .. } => {
                assert_eq!(why, Gone::Overload(address));
                told = true;
            }
            Event::Rejected { why: SecurityError::Full { .. }, .. } => refused = true,
            event => panic!("{event:?}"),
        }
        told && refused
    });
    // There is room again.
    first.close(peer);
    turn_both(&mut first, &mut server, |at_client, _, event| {
        !at_client && matches!(event, Event::Gone { .. })
    });
    second.connect(address, None).unwrap();
    turn_both(&mut second, &mut server, |at_client, _, event| !at_client && opens(event));
}

/// Datagrams of no connection, just long enough that each is answered, as fast as a thread sends them.
#[test]
fn a_flood_keeps_nobody_waiting() {
    let mut server = node(Security::Plain);
    let to = server.address().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let floods = || {
            let at = incast_udp::socket::Options::at("127.0.0.1:0".parse().unwrap());
            let mut socket = Socket::open(&at, features()).unwrap();
            let mut out = SendBatch::new(16, 16 * 1_920);
            let mut datagrams = [0; 1_920];
            for place in datagrams.chunks_mut(30) {
                let to = ConnectionId(77);
                Header { kind: Kind::Sealed, to, number: 1 }.encode(place).unwrap();
            }
            while !over.load(Ordering::Relaxed) {
                for _ in 0..16 {
                    let transmit = Transmit { segment: Some(30), ..Transmit::to(to) };
                    out.push(transmit, &datagrams).unwrap();
                }
                while !out.is_empty() {
                    drop(socket.send(&mut out));
                }
            }
        };
        scope.spawn(floods);
        let mut longest = Duration::ZERO;
        for turn in 0..200 {
            let wait = Duration::from_millis(turn % 3);
            let began = Instant::now();
            server.turn((turn % 2 == 0).then_some(began + wait), None).unwrap();
            longest = longest.max(began.elapsed());
        }
        over.store(true, Ordering::Relaxed);
        assert!(longest < Duration::from_millis(500), "{longest:?}");
    });
    assert!(server.counters().unknown > 10_000, "{:?}", server.counters());
}

#[test]
fn a_datagram_of_probes_has_one_answer() {
    let mut server = node(Security::Plain);
    let mut forger = Forger::connect(&mut server);
    events(&mut server, Duration::from_millis(50));
    forger.receive(|_| {});
    forger.send(&vec![Frame::Probe(Probe { id: 7 }); 200]);
    events(&mut server, Duration::from_millis(50));
    let mut answers = Vec::new();
    forger.receive(|frame| {
        if let Frame::ProbeAnswer(answer) = frame {
            answers.push((answer.id, usize::from(answer.bytes)));
        }
    });
    assert_eq!(answers, [(7, 200 * 5 + forger.session.overhead())]);
}

#[test]
fn an_address_to_which_nothing_can_be_sent_fails_by_itself() {
    let (mut client, mut server) = (node(Security::Plain), node(Security::Plain));
    let good = client.connect(server.address().unwrap(), None).unwrap();
    let bad = ["[::1]:7000", "255.255.255.255:7000", "127.0.0.1:0"].map(|to| to.parse().unwrap());
    let peers = bad.map(|to| client.connect(to, None).unwrap());
    let mut gone = Vec::new();
    turn_both(&mut client, &mut server, |at_client, _, event| {
        if let (true, Event::Gone { peer, why }) = (at_client, event) {
            gone.push((peer, why));
        }
        gone.len() == 3
    });
    for (peer, to) in peers.into_iter().zip(bad) {
        assert!(gone.contains(&(peer, Gone::Unreachable(to))), "{gone:?}");
    }
    assert!(client.statistics(good).unwrap().is_open);
}

#[test]
fn an_idle_connection_stays_with_any_patience() {
    let impatient = || {
        let mut options = options(Security::Plain);
        options.patience = Duration::from_millis(300);
        Node::open(options, features()).unwrap()
    };
    let (mut client, mut server) = (impatient(), impatient());
    client.connect(server.address().unwrap(), None).unwrap();
    let end = Instant::now() + Duration::from_millis(1_500);
    until(&mut client, &mut server, end, |_, _, event| {
        assert!(matches!(event, Event::Opened { .. }), "{event:?}");
        false
    });
    // Who has never been heard is not told of.
    let forger = Forger::connect(&mut server);
    drop(client);
    let told = events(&mut server, Duration::from_millis(800));
    assert!(matches!(told[..], [Event::Gone { why: Gone::Silent(_), .. }]), "{told:?}");
    assert_eq!(server.peers().count(), 0);
    drop(forger);
}

#[test]
fn messages_arrive_at_any_mtu() {
    for mtu in [1_280, 2_100, 9_000, 65_535] {
        let wide = || {
            let mut options = options(Security::Plain);
            options.mtu = mtu;
            Node::open(options, features()).unwrap()
        };
        let (mut client, mut server) = (wide(), wide());
        let peer = client.connect(server.address().unwrap(), None).unwrap();
        for (number, length) in (0..).zip([0, 3_000, 100_000]) {
            client.note(peer, body(number, length)).unwrap();
        }
        let mut count = 0;
        let arrived = until(&mut client, &mut server, soon(), |_, _, event| {
            count += usize::from(matches!(event, Event::Noted { .. }));
            count == 3
        });
        assert!(arrived, "MTU {mtu}: {count} of 3");
    }
}

/// A peer whose datagrams come from elsewhere is asked there, and gets nothing else there before it
/// has answered.
#[test]
fn an_address_proves_itself_before_a_peer_has_moved() {
    // At line rate much leaves before anything is acknowledged.
    let mut fast = options(Security::Plain);
    fast.algorithm = AnyAlgorithm::named("line-rate").unwrap();
    let mut server = Node::open(fast, features()).unwrap();
    let mut forger = Forger::connect(&mut server);
    forger.send(&[Frame::Probe(Probe { id: 1 })]);
    let told = events(&mut server, Duration::from_millis(50));
    let [Event::Opened { peer, address }] = told[..] else { panic!("{told:?}") };
    forger.receive(|_| {});

    let elsewhere = UdpSocket::bind("127.0.0.1:0").unwrap();
    elsewhere.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let from_there = std::mem::replace(&mut forger.socket, elsewhere);
    server.note(peer, body(1, 1_000_000)).unwrap();
    forger.send(&[Frame::Probe(Probe { id: 2 })]);
    events(&mut server, Duration::from_millis(50));
    let mut asked = Vec::new();
    let (datagrams, bytes) = forger.receive(|frame| match frame {
        Frame::Probe(probe) => asked.push(probe.id),
        frame => panic!("{frame:?}"),
    });
    assert!(datagrams == 1 && bytes <= 3 * (5 + forger.session.overhead()), "{datagrams} {bytes}");
    assert_eq!(server.statistics(peer).unwrap().address, address);

    // The rest has gone where the peer was.
    let mut room = vec![0; 65_536];
    let mut elsewhere = 0;
    while let Ok((bytes, _)) = from_there.recv_from(&mut room) {
        elsewhere += bytes;
    }
    assert!(elsewhere > 50_000, "{elsewhere} B");
    let answer = |id| {
        let turnaround = incast_udp::wire::Turnaround::UNKNOWN;
        Frame::ProbeAnswer(incast_udp::wire::ProbeAnswer { id, bytes: 41, turnaround })
    };
    forger.send(&[answer(asked[0].wrapping_add(1))]);
    events(&mut server, Duration::from_millis(20));
    assert_eq!(server.statistics(peer).unwrap().address, address, "a wrong answer");
    forger.send(&[answer(asked[0])]);
    events(&mut server, Duration::from_millis(20));
    let moved = server.statistics(peer).unwrap().address;
    assert_eq!(moved, forger.socket.local_addr().unwrap());
}

/// A peer asks again and again and takes no answer, not even a refusal.
#[test]
fn a_peer_that_takes_no_answers_is_closed_and_others_are_answered() {
    let mut narrow = options(Security::Plain);
    (narrow.memory.outgoing, narrow.memory.outgoing_in_all) = (40_000, 60_000);
    let mut server = Node::open(narrow, features()).unwrap();
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let mut calls = Vec::new();
    client.call(peer, Bytes::new(), None).unwrap();
    turn_both(&mut client, &mut server, |_, _, event| {
        calls.extend(if let Event::Called { call, .. } = event { Some(call) } else { None });
        calls.len() == 1
    });
    // Refusals in place of replies are bounded: nothing is acknowledged here, since nobody turns.
    let call = calls[0];
    server.reply(call, body(1, 39_000)).unwrap();
    let mut refused = 0;
    while server.statistics(call.peer()).is_some() {
        assert!(refused < 10_000, "{refused} refusals wait");
        server.refuse(call, Bytes::from_static(b"no room")).unwrap_or_default();
        refused += 1;
    }
    assert!(refused > 1_000, "{refused}");
    // Both ends hear why.
    let at_server = server.poll_event();
    assert!(matches!(at_server, Some(Event::Gone { why: Gone::Stuck(_), .. })), "{at_server:?}");
    let at_client = events(&mut client, Duration::from_millis(50));
    let is_told = |event: &Event| matches!(event, Event::Gone { why: Gone::Dropped(_), .. });
    assert!(at_client.iter().any(is_told), "{at_client:?}");
}

/// Memory that others hold takes no room from peers that hold little.
#[test]
fn messages_that_never_end_leave_room_for_short_ones_of_others() {
    let mut narrow = options(Security::Plain);
    (narrow.memory.message, narrow.memory.incoming_in_all) = (100_000, 210_000);
    let mut server = Node::open(narrow, features()).unwrap();
    let mut forgers: Vec<_> = (0..4).map(|_| Forger::connect(&mut server)).collect();
    for forger in &mut forgers {
        // The first bytes of a message of which no more will come.
        forger.send(&[beginning(0, 90_000)]);
        events(&mut server, Duration::from_millis(2));
    }
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.call(peer, body(1, 5_000), None).unwrap();
    let answered = until(&mut client, &mut server, soon(), |at_client, node, event| match event {
        Event::Called { call, body, .. } => {
            node.reply(call, body).unwrap();
            false
        }
        event => at_client && matches!(event, Event::Replied { .. }),
    });
    assert!(answered, "{:?}", server.counters());
}

/// A caller that takes messages of one byte hears the beginning of a reason.
#[test]
fn a_reason_is_no_longer_than_the_caller_takes() {
    let mut narrow = options(Security::Plain);
    narrow.memory.message = 1;
    let mut client = Node::open(narrow, features()).unwrap();
    let mut server = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.call(peer, Bytes::from_static(b"?"), None).unwrap();
    let mut told = None;
    turn_both(&mut client, &mut server, |_, node, event| {
        match event {
            Event::Called { call, .. } => {
                node.refuse(call, Bytes::from_static(b"because")).unwrap();
            }
            Event::Refused { reason, .. } => told = Some(reason),
            _ => {}
        }
        told.is_some()
    });
    assert_eq!(told.unwrap(), Bytes::from_static(b"b"));
}
