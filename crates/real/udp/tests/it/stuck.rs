//! Peers that hold memory, keep their connections alive and do not go on: they go while memory is
//! scarce, and nobody else does.

use std::time::{Duration, Instant};

use incast_udp::security::Security;
use incast_udp::socket::Features;
use incast_udp::wire::{Close, Frame, Probe};
use incast_udp::{Event, Gone, Host, Node, Request};

use crate::forger::Forger;
use crate::frames::{beginning, first_of, part, whole};
use crate::nodes::{body, features, node, options, until};

/// The time after which a peer is stuck here, that of silence.
const PATIENCE: Duration = Duration::from_secs(1);
/// The head of a call without a bound.
const CALL: [u8; 16] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// A server in which two messages of 90 KB are more than half of the memory. It asks no peer for the
/// longest datagram of its path, since the forgers would not answer.
fn narrow() -> Node {
    let mut narrow = options(Security::Plain);
    narrow.patience = PATIENCE;
    (narrow.memory.message, narrow.memory.incoming_in_all) = (100_000, 210_000);
    narrow.memory.outgoing_in_all = 100_000;
    Node::open(narrow, Features { whole_datagrams: false, ..features() }).unwrap()
}

/// A forger on another host than the honest peers.
fn stranger(server: &mut Node) -> Forger {
    Forger::connect_from("127.0.0.2:0", server)
}

/// Lets a server and its peers go on until `sees` returns true, which gets the events; returns
/// whether it did within ten times the patience. The forgers say that they are there.
fn until_seen(
    client: &mut Node,
    server: &mut Node,
    forgers: &mut [Forger],
    mut sees: impl FnMut(bool, &mut Node, Event) -> bool,
) -> bool {
    let end = Instant::now() + 10 * PATIENCE;
    while Instant::now() < end {
        for forger in &mut *forgers {
            forger.send(&[Frame::Probe(Probe { id: 1 })]);
        }
        let soon = Instant::now() + Duration::from_millis(50);
        if until(client, server, soon, &mut sees) {
            return true;
        }
    }
    false
}

/// Whether a forger was told that it is stuck.
fn is_told(forger: &mut Forger) -> bool {
    let mut told = false;
    forger.receive(|frame| told |= matches!(frame, Frame::Close(Close::Stuck)));
    told
}

#[test]
fn messages_that_never_end_make_room_for_those_that_do() {
    let mut server = narrow();
    let mut forgers: Vec<_> = (0..2).map(|_| stranger(&mut server)).collect();
    forgers[0].send(&[beginning(0, 90_000)]);
    forgers[1].send(&[beginning(0, 95_000)]);
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.call(peer, body(1, 80_000), None).unwrap();
    let mut gone = Vec::new();
    let answered = until_seen(&mut client, &mut server, &mut forgers, |_, node, event| {
        match event {
            Event::Called { call, body, .. } => node.reply(call, body).unwrap(),
            Event::Gone { why, .. } => gone.push(why),
            Event::Replied { .. } => return true,
            _ => {}
        }
        false
    });
    assert!(answered, "{:?}", server.counters());
    // The one that holds more goes first.
    assert_eq!(gone.first(), Some(&Gone::Stuck(forgers[1].socket.local_addr().unwrap())));
    assert!(is_told(&mut forgers[1]));
}

#[test]
fn a_source_that_was_stuck_comes_back_and_leaves_half_of_the_memory_to_others() {
    let mut server = narrow();
    let mut client = node(Security::Plain);
    let mut forgers: Vec<_> = (0..2).map(|_| stranger(&mut server)).collect();
    let mut gone = 0;
    let hold = |forgers: &mut [Forger]| {
        for forger in forgers {
            forger.send(&[beginning(0, 90_000)]);
        }
    };
    hold(&mut forgers);
    assert!(until_seen(&mut client, &mut server, &mut forgers, |_, _, event| {
        gone += usize::from(matches!(event, Event::Gone { why: Gone::Stuck(_), .. }));
        gone == 1
    }));
    // All begin anew, and there are more of them than before.
    forgers = (0..4).map(|_| stranger(&mut server)).collect();
    hold(&mut forgers);
    hold(&mut forgers);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.note(peer, body(1, 90_000)).unwrap();
    assert!(until_seen(&mut client, &mut server, &mut forgers, |_, _, event| {
        assert!(!matches!(event, Event::Gone { why: Gone::Stuck(_), .. }), "it waited for others");
        matches!(event, Event::Noted { .. })
    }));
}

#[test]
fn replies_that_are_not_taken_make_room_for_those_that_are() {
    let mut server = narrow();
    let mut forgers: Vec<_> = (0..2).map(|_| stranger(&mut server)).collect();
    for forger in &mut forgers {
        forger.send(&[whole(1, 0, &CALL)]);
    }
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let (mut asked, mut gone) = (0, Vec::new());
    let answered = until_seen(&mut client, &mut server, &mut forgers, |at_client, node, event| {
        match event {
            Event::Called { call, .. } => {
                asked += 1;
                let reply = node.reply(call, body(1, 40_000));
                reply.or_else(|full| node.refuse(call, full.to_string().into())).unwrap();
            }
            Event::Gone { why, .. } => gone.push(why),
            _ => {}
        }
        // A caller that is refused asks again.
        if at_client && asked >= 2 && matches!(event, Event::Opened { .. } | Event::Refused { .. })
        {
            node.call(peer, body(2, 10), None).unwrap();
        }
        matches!(event, Event::Replied { .. })
    });
    assert!(answered, "{asked} calls");
    let [Gone::Stuck(address)] = gone[..] else { panic!("{gone:?}") };
    let of = |forger: &Forger| forger.socket.local_addr().unwrap() == address;
    assert!(forgers.iter_mut().all(|forger| is_told(forger) == of(forger)));
}

#[test]
fn a_host_tells_of_peers_that_were_stuck() {
    let mut narrow = options(Security::Plain);
    narrow.memory.outgoing = 1;
    let host = Host::with_features(&narrow, 1, features()).unwrap();
    let mut forger = Forger::connect_to(host.address(), "127.0.0.1:0", || {});
    let (mut told, mut number, end) = (Vec::new(), 0, Instant::now() + Duration::from_secs(60));
    while told.is_empty() {
        assert!(Instant::now() < end, "{number} calls");
        // It asks and takes no answer, not even that there is no room for one.
        forger.send(&[whole(1, number, &CALL)]);
        number += 1;
        if let Some(Request::Call(call)) = host.accept(Duration::from_millis(1)).unwrap() {
            call.reply("here");
        }
        told = host.rejected();
    }
    let address = forger.socket.local_addr().unwrap();
    assert_eq!(told, [(address, Gone::Stuck(address))]);
    assert!(told[0].1.to_string().starts_with(&format!("{address} held memory here")));
}

#[test]
fn a_byte_now_and_then_is_no_progress_and_nobody_goes_while_there_is_memory() {
    let mut server = narrow();
    let mut forgers: Vec<_> = (0..3).map(|_| Forger::connect(&mut server)).collect();
    let (mut client, began) = (node(Security::Plain), Instant::now());
    let (mut gone, mut index) = (Vec::new(), 0);
    forgers[2].send(&[beginning(0, 20_000)]);
    while began.elapsed() < 3 * PATIENCE {
        forgers[0].send(&[part(0, 80_000, index, &[7; 800])]);
        forgers[1].send(&[part(0, 95_000, index, &[7; 8])]);
        forgers[2].send(&[Frame::Probe(Probe { id: 1 })]);
        index = (index + 1).min(99);
        until(&mut client, &mut server, Instant::now() + PATIENCE / 20, |_, _, event| {
            gone.extend(if let Event::Gone { why, .. } = event { Some(why) } else { None });
            false
        });
    }
    assert_eq!(gone, [Gone::Stuck(forgers[1].socket.local_addr().unwrap())]);
}

#[test]
fn a_peer_for_whose_oldest_message_others_leave_no_room_is_not_stuck() {
    let mut server = narrow();
    let mut forger = Forger::connect(&mut server);
    // Behind a message that is still to come.
    forger.send(&[first_of(1, 30_000)]);
    // The application takes none of the messages of another peer.
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    client.note(peer, body(1, 99_000)).unwrap();
    client.note(peer, body(2, 60_000)).unwrap();
    let (began, mut notes) = (Instant::now(), Vec::new());
    while notes.len() < 2 || began.elapsed() < 3 * PATIENCE {
        assert!(began.elapsed() < 20 * PATIENCE, "{notes:?}");
        if notes.len() == 2 {
            forger.send(&[first_of(0, 90_000)]);
        }
        for _ in 0..20 {
            let soon = Instant::now() + PATIENCE / 1_000;
            client.turn(Some(soon), None).unwrap();
            server.turn(Some(soon), None).unwrap();
            while let Some(event) = server.poll_kept_event() {
                assert!(!matches!(event, Event::Gone { .. }), "{event:?}");
                notes.extend(event.message());
            }
        }
    }
    assert!(server.counters().no_memory > 10, "{:?}", server.counters());
    let [first, second] = notes[..] else { panic!("{notes:?}") };
    server.free(first.0, first.1);
    server.free(second.0, second.1);
    // There is room now, and no more comes of it.
    forger.send(&[first_of(0, 90_000)]);
    let mut gone = Vec::new();
    let (began, forged) = (Instant::now(), std::slice::from_mut(&mut forger));
    until_seen(&mut client, &mut server, forged, |_, _, event| {
        gone.extend(if let Event::Gone { why, .. } = event { Some(why) } else { None });
        !gone.is_empty()
    });
    assert_eq!(gone, [Gone::Stuck(forger.socket.local_addr().unwrap())]);
    assert!(began.elapsed() >= PATIENCE / 2, "{:?}", began.elapsed());
}
