//! Bounds of what waits: calls that do not fit are refused, and their callers hear why.

use std::future::Future as _;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use incast_udp::security::Security;
use incast_udp::{Event, Failure, Host, Node, NodeError, PeerId, Refused};

use crate::forger::Forger;
use crate::frames::first_of;
use crate::nodes::{body, features, node, options, turn_both};

/// A client and a server whose answers may take so many bytes, with a connection that is open.
fn pair(most: usize) -> (Node, Node, PeerId) {
    let mut narrow = options(Security::Plain);
    narrow.memory.outgoing = most;
    let mut server = Node::open(narrow, features()).unwrap();
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    turn_both(&mut client, &mut server, |at_client, _, event| {
        at_client && matches!(event, Event::Opened { .. })
    });
    (client, server, peer)
}

#[test]
fn a_caller_hears_that_there_is_no_room_for_its_reply() {
    let (mut client, mut server, peer) = pair(50_000);
    for _ in 0..2 {
        client.call(peer, Bytes::new(), None).unwrap();
    }
    let mut called = Vec::new();
    turn_both(&mut client, &mut server, |_, _, event| {
        called.extend(if let Event::Called { call, .. } = event { Some(call) } else { None });
        called.len() == 2
    });
    server.reply(called[0], body(1, 60_000)).unwrap();
    let full = server.reply(called[1], Bytes::new()).unwrap_err();
    assert_eq!(full, Refused::Full { waiting: 60_272, most: 50_000 });
    let long = server.refuse(called[1], body(2, 1_001)).unwrap_err();
    assert_eq!(long, full);
    server.refuse(called[1], full.to_string().into()).unwrap();
    let mut heard = (false, false);
    turn_both(&mut client, &mut server, |at_client, _, event| {
        match event {
            Event::Replied { body, .. } => heard.0 = body.len() == 60_000,
            Event::Refused { reason, .. } => {
                heard.1 = at_client && reason.starts_with(b"60272 B wait for this peer");
            }
            _ => {}
        }
        heard == (true, true)
    });
}

#[test]
fn what_was_posted_before_a_connection_is_open_and_is_too_long_fails_alone() {
    let mut small = options(Security::Plain);
    small.memory.message = 10_000;
    let mut server = Node::open(small, features()).unwrap();
    let mut client = node(Security::Plain);
    let peer = client.connect(server.address().unwrap(), None).unwrap();
    let long = [20_000, 10_001].map(|bytes| client.note(peer, body(1, bytes)).unwrap());
    let call = client.call(peer, body(3, 20_000), None).unwrap();
    client.note(peer, body(2, 10_000)).unwrap();
    let (mut told, mut noted) = (Vec::new(), None);
    turn_both(&mut client, &mut server, |_, _, event| {
        match event {
            Event::TooLong { call, bytes, most } => told.push((call, bytes, most)),
            Event::Noted { body, .. } => noted = Some(body),
            Event::Gone { why, .. } => panic!("{why}"),
            _ => {}
        }
        told.len() == 3 && noted.is_some()
    });
    assert_eq!(noted.unwrap(), body(2, 10_000));
    told.sort_unstable();
    let [first, second] = long;
    let expected = [(first, 20_000, 10_000), (second, 10_001, 10_000), (call, 20_000, 10_000)];
    assert_eq!(told, expected);

    let host = Host::with_features(&options(Security::Plain), 1, features()).unwrap();
    let pending = host.connect(server.address().unwrap(), None);
    thread::scope(|scope| {
        let stop = scope.spawn(move || pending.wait().unwrap().call(body(1, 20_000)).wait());
        while !stop.is_finished() {
            server.turn(Some(Instant::now() + Duration::from_millis(1)), None).unwrap();
            while server.poll_event().is_some() {}
        }
        let failure = stop.join().unwrap().unwrap_err();
        assert_eq!(failure, Failure::Refused(Refused::TooLong { bytes: 20_000, most: 10_000 }));
    });
}

#[test]
fn memory_without_room_for_a_message_is_refused_with_the_bound() {
    let opens = |message, in_all| {
        let mut options = options(Security::Plain);
        (options.memory.message, options.memory.incoming_in_all) = (message, in_all);
        Node::open(options, features()).map(|_| ())
    };
    let error = opens(usize::MAX, usize::MAX).unwrap_err();
    assert!(matches!(error, NodeError::LongMessage { bytes: usize::MAX }), "{error}");
    let error = opens(10_000, 20_000).unwrap_err();
    assert!(error.to_string().contains("no room for two of 10000 B"), "{error}");
    opens(10_000, 21_000).unwrap();
}

#[test]
fn messages_behind_a_long_one_never_stand_in_its_way() {
    // Half of the memory is for those behind; the rest has no room for the long one.
    let mut narrow = options(Security::Plain);
    (narrow.memory.message, narrow.memory.incoming) = (300_000, 310_000);
    let mut server = Node::open(narrow, features()).unwrap();
    let mut forger = Forger::connect(&mut server);
    for message in 1..11 {
        forger.send(&[first_of(message, 15_000)]);
    }
    let taken = |server: &mut Node| {
        let end = Instant::now() + Duration::from_millis(30);
        while Instant::now() < end {
            server.turn(Some(Instant::now() + Duration::from_millis(1)), None).unwrap();
        }
        server.counters().no_memory
    };
    assert_eq!(taken(&mut server), 0);
    forger.send(&[first_of(0, 300_000)]);
    assert_eq!(taken(&mut server), 0, "the oldest is taken in");
}

/// A host on the loopback device.
fn host() -> Host {
    Host::with_features(&options(Security::Plain), 1, features()).unwrap()
}

#[test]
fn threads_that_wait_for_messages_keep_their_own_times() {
    let server = host();
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            barrier.wait();
            server.accept(Duration::from_secs(60)).unwrap()
        });
        barrier.wait();
        let began = Instant::now();
        assert!(server.accept(Duration::from_millis(100)).unwrap().is_none());
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let client = host();
        let peer = client.connect(server.address(), None).wait().unwrap();
        peer.note("one").wait().unwrap();
        assert_eq!(waits.join().unwrap().unwrap().body(), "one");
    });
}

/// A waker that counts.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn one_who_waits_for_messages_is_woken_although_another_has_stopped() {
    let server = host();
    let [counts, stops] = [(); 2].map(|()| Arc::new(Counts::default()));
    let wakers = [&counts, &stops].map(|counts| Waker::from(Arc::clone(counts)));
    let mut waits = pin!(server.accepted());
    assert!(waits.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
    let mut other = Box::pin(server.accepted());
    assert!(other.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
    drop(other);
    let client = host();
    client.connect(server.address(), None).wait().unwrap().note("one").wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while counts.0.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < end, "nobody was woken");
        thread::sleep(Duration::from_millis(1));
    }
    assert!(waits.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_ready());
}

#[test]
fn what_is_posted_faster_than_it_leaves_is_refused() {
    let mut narrow = options(Security::Plain);
    narrow.memory.outgoing_in_all = 100_000;
    let host = Host::with_features(&narrow, 1, features()).unwrap();
    let server = self::host();
    let peer = host.connect(server.address(), None).wait().unwrap();
    let message = body(1, 10_000);
    let notes: Vec<_> = (0..2_000).map(|_| peer.note(message.clone())).collect();
    let failed: Vec<_> = notes.into_iter().filter_map(|note| note.wait().err()).collect();
    assert!(failed.len() > 100, "{}", failed.len());
    for failure in failed {
        let full = Failure::Refused(Refused::FullInAll { waiting: 0, most: 100_000 });
        assert_eq!(std::mem::discriminant(&failure), std::mem::discriminant(&full), "{failure}");
    }
    peer.note("there is room again").wait().unwrap();
}
