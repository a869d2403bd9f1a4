//! Connections that come and go while another peer sends: nothing is left of them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use incast_udp::security::Security;
use incast_udp::{Event, Gone, Node, PeerId};

use crate::nodes::{body, node};
use crate::{alone, resident};

/// Takes what there is, and returns whether anything was.
fn poll(node: &mut Node, mut sees: impl FnMut(&mut Node, Event)) {
    node.turn(None, None).unwrap();
    while let Some(event) = node.poll_event() {
        sees(node, event);
    }
}

#[test]
fn a_thousand_connections_under_load_leave_nothing_behind() {
    let _turn = alone();
    let [mut server, mut busy, mut guest] = [(); 3].map(|()| node(Security::Plain));
    let address = server.address().unwrap();
    let steady = busy.connect(address, None).unwrap();
    let (mut sent, mut arrived, mut of_busy) = (0, 0, None);
    let (mut after_some, mut ids) = (0, HashSet::new());
    for round in 0..1_000_u64 {
        let peer = guest.connect(address, None).unwrap();
        assert!(ids.insert(peer), "no two peers have one name");
        let number = 1_000_000 + round;
        // Some close before they are open, some in the middle of a message, some at the far end.
        let way = round % 4;
        let bytes = if way == 1 { 500_000 } else { 3_000 };
        let note = guest.note(peer, body(number, bytes)).unwrap();
        if way == 0 {
            guest.close(peer);
        }
        let (mut is_gone, mut failed, mut left): (bool, bool, Option<PeerId>) = Default::default();
        let end = Instant::now() + Duration::from_secs(10);
        let mut began = Instant::now();
        while !is_gone || way != 0 && left.is_none() {
            assert!(Instant::now() < end, "round {round}: {is_gone} {left:?}");
            poll(&mut guest, |guest, event| match event {
                Event::Gone { peer: gone, why } => {
                    let closed = matches!(why, Gone::Closed(_) | Gone::ClosedHere(_));
                    assert!(gone == peer && closed, "{why:?}");
                    is_gone = true;
                }
                Event::Opened { .. } => began = Instant::now(),
                Event::Delivered { note: of } => {
                    assert_eq!(of, note);
                    guest.close(peer);
                }
                Event::Failed { call, .. } => {
                    assert!(call == note && !failed);
                    failed = true;
                }
                event => panic!("{event:?}"),
            });
            if way == 1 && !is_gone && guest.statistics(peer).is_some_and(|peer| peer.is_open) {
                let middle = Duration::from_micros(100 + round % 7 * 100);
                if began.elapsed() > middle {
                    guest.close(peer);
                }
            }
            poll(&mut server, |server, event| match event {
                Event::Noted { peer, body: got, .. } if of_busy == Some(peer) => {
                    assert!(got == body(arrived, 20_000));
                    arrived += 1;
                }
                Event::Noted { peer, body: got, .. } => {
                    assert!(got == body(number, bytes));
                    if way == 3 {
                        server.close(peer);
                        left = Some(peer);
                    }
                }
                Event::Opened { peer, .. } if of_busy.is_none() => of_busy = Some(peer),
                Event::Opened { .. } => {}
                Event::Gone { peer, .. } => left = Some(peer),
                event => panic!("{event:?}"),
            });
            if of_busy.is_none() || sent < arrived + 10 {
                busy.note(steady, body(sent, 20_000)).unwrap();
                sent += 1;
            }
            poll(&mut busy, |_, event| {
                let is_news = matches!(event, Event::Opened { .. } | Event::Delivered { .. });
                assert!(is_news, "{event:?}");
            });
        }
        if round == 200 {
            after_some = resident();
        }
    }
    let end = Instant::now() + Duration::from_secs(20);
    while arrived < sent {
        assert!(Instant::now() < end, "{arrived} of {sent}");
        poll(&mut server, |_, event| {
            if let Event::Noted { body: got, .. } = event {
                assert!(got == body(arrived, 20_000));
                arrived += 1;
            }
        });
        poll(&mut busy, |_, _| {});
    }
    // A close may be lost: whoever has not heard of it finds out in time.
    assert!(server.peers().count() <= 3, "{}", server.peers().count());
    assert_eq!(guest.peers().count(), 0);
    // Slots are used again: names count them from zero.
    let slots = ids.iter().map(|id| id.as_u64() >> 32).max().unwrap();
    assert!(slots < 4, "{slots}");
    let connections = server.transport_connections();
    assert!(connections <= 4 * (1 + server.peers().count()), "{connections}");
    let grown = resident().saturating_sub(after_some);
    assert!(grown < 8 << 20, "{grown} B for 800 connections");
}
