//! Calls that end while a part of their request or their reply has left: the rest is taken back.

use std::time::{Duration, Instant};

use incast_udp::security::Security;
use incast_udp::{CallId, Event, Incoming, Node, PeerId, Priority, Reach, Terms};

use crate::nodes::{body, node, turn_both};

/// A message of which little leaves before it is taken back.
const LONG: usize = 16 << 20;
/// The time for a call that ends before it is answered.
const PATIENCE: Duration = Duration::from_millis(300);

/// A client and a server with an open connection.
struct World {
    client: Node,
    server: Node,
    peer: PeerId,
}

impl World {
    fn new() -> Self {
        let (mut client, mut server) = (node(Security::Plain), node(Security::Plain));
        let peer = client.connect(server.address().unwrap(), None).unwrap();
        client.note(peer, body(0, 10)).unwrap();
        turn_both(&mut client, &mut server, |_, _, event| matches!(event, Event::Delivered { .. }));
        Self { client, server, peer }
    }

    /// Takes turns until the server has `count` calls; returns them.
    fn called(&mut self, count: usize) -> Vec<Incoming> {
        let mut calls = Vec::new();
        turn_both(&mut self.client, &mut self.server, |at_client, _, event| {
            match event {
                Event::Called { call, .. } if !at_client => calls.push(call),
                event => panic!("{event:?}"),
            }
            calls.len() == count
        });
        calls
    }

    /// Waits until the time of a call is over, in which little leaves: nobody takes a turn.
    fn times_out(&mut self, call: CallId) -> Reach {
        std::thread::sleep(PATIENCE);
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            self.client.turn(None, None).unwrap();
            match self.client.poll_event() {
                Some(Event::TimedOut { call: over, reach }) if over == call => return reach,
                None => {}
                event => panic!("{event:?}"),
            }
        }
        panic!("{call:?} has not ended");
    }

    /// Takes turns until the server hears of the end of a call.
    fn hears_of_the_end(&mut self, of: Incoming) {
        turn_both(&mut self.client, &mut self.server, |at_client, _, event| match event {
            Event::Cancelled { call } if !at_client => call == of,
            event => panic!("{event:?}"),
        });
    }

    /// The bytes that the server has to send, or to hear of.
    fn waits_at_server(&self) -> u64 {
        let peer = self.server.peers().next().unwrap();
        self.server.statistics(peer).unwrap().waiting
    }

    /// Checks that the connection works: another call is answered, and nothing else comes.
    fn goes_on(mut self) {
        let next = self.client.call(self.peer, body(1, 1_000), None).unwrap();
        turn_both(&mut self.client, &mut self.server, |_, node, event| match event {
            Event::Called { call, body: got, .. } => {
                assert_eq!(got, body(1, 1_000));
                node.reply(call, body(2, 1_000)).unwrap();
                false
            }
            Event::Replied { call, body: got } => (call, got) == (next, body(2, 1_000)),
            event => panic!("{event:?}"),
        });
    }
}

#[test]
fn what_has_not_left_of_a_call_does_not_leave_when_its_time_is_over() {
    let mut world = World::new();
    let call = world.client.call(world.peer, body(3, LONG), Some(PATIENCE)).unwrap();
    // Some of it leaves at once.
    world.client.turn(None, None).unwrap();
    assert_eq!(world.times_out(call), Reach::Nobody);
    let waits = world.client.statistics(world.peer).unwrap().waiting;
    assert!(waits > 0 && waits < LONG as u64 / 2, "{waits} B wait");
    world.goes_on();
}

#[test]
fn what_has_not_left_of_a_reply_does_not_leave_when_the_time_of_its_call_is_over() {
    let mut world = World::new();
    let call = world.client.call(world.peer, body(3, 100), Some(PATIENCE)).unwrap();
    let called = world.called(1)[0];
    world.server.reply(called, body(4, LONG)).unwrap();
    world.server.turn(None, None).unwrap();
    assert_eq!(world.times_out(call), Reach::Peer);
    world.hears_of_the_end(called);
    let waits = world.waits_at_server();
    assert!(waits < LONG as u64 / 2, "{waits} B wait");
    world.goes_on();
}

#[test]
fn a_reply_is_taken_back_from_before_thousands_of_others() {
    const COUNT: usize = 5_000;
    let mut world = World::new();
    let terms = Terms { priority: Priority::Low, patience: None };
    let calls: Vec<_> =
        (0..=COUNT).map(|_| world.client.call(world.peer, body(3, 100), terms).unwrap()).collect();
    let called = world.called(1 + COUNT);
    // Low replies are on one lane, in the order of posting.
    world.server.reply(called[0], body(4, LONG)).unwrap();
    for &call in &called[1..] {
        world.server.reply(call, body(5, 10)).unwrap();
    }
    world.server.turn(None, None).unwrap();
    assert_eq!(world.client.cancel(calls[0]), Some(Reach::Peer));
    world.hears_of_the_end(called[0]);
    let waits = world.waits_at_server();
    assert!(waits < LONG as u64 / 2, "{waits} B wait");
    let mut replied = Vec::new();
    turn_both(&mut world.client, &mut world.server, |_, _, event| {
        match event {
            Event::Replied { call, .. } => replied.push(call),
            event => panic!("{event:?}"),
        }
        replied.len() == COUNT
    });
    assert!(replied == calls[1..], "the others come, in their order");
    world.goes_on();
}
