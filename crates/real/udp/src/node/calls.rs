//! Calls, replies and notes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use bytes::Bytes;
use incast_cc::Time;
use incast_transport::Sender;

use super::names::{CallId, Incoming, PeerId, Reach};
use super::outbox::{SENDING_BYTES, Token};
use super::peers::{LONG, SHORT};
use super::{Gone, Node, Refused, head};
use crate::clock::span;
use crate::message::{HEAD_BYTES, Kind, Priority, Terms};

/// Stale deadlines allowed beyond twice the number of open calls before a sweep.
const FEW: usize = 64;
/// The bytes of a reason for which there is room beyond the bounds.
const SHORT_REASON: usize = 1_000;

/// A call or a note that is under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: Kind,
    lane: usize,
    priority: Priority,
    /// The number of its message on the lane.
    message: u64,
    /// The end of its time; [`Time::MAX`] without one.
    until: Time,
}

/// The calls and notes of this node that are under way.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: BTreeMap<CallId, Open>,
    deadlines: BinaryHeap<Reverse<(Time, CallId)>>,
}

impl Calls {
    /// A name for a call or a note.
    fn name(&mut self, peer: PeerId) -> CallId {
        self.last += 1;
        CallId { peer, number: self.last }
    }

    /// Ends a call or note; returns whether it was under way.
    fn end(&mut self, call: CallId) -> bool {
        self.open.remove(&call).is_some()
    }

    /// Ends a call; returns whether it was under way.
    pub(super) fn end_call(&mut self, call: CallId) -> bool {
        self.open.get(&call).is_some_and(|open| open.kind == Kind::Call) && self.end(call)
    }

    /// The calls and notes to a peer that are under way, in the order in which they began.
    pub(super) fn of(&self, peer: PeerId) -> impl Iterator<Item = CallId> {
        let (first, last) = (CallId { peer, number: 0 }, CallId { peer, number: u64::MAX });
        self.open.range(first..=last).map(|(&call, _)| call)
    }

    /// Takes a call whose time is over.
    pub(super) fn overdue(&mut self, now: Time) -> Option<CallId> {
        while let Some(&Reverse((at, call))) = self.deadlines.peek() {
            if at > now {
                return None;
            }
            self.deadlines.pop();
            if self.open.contains_key(&call) {
                return Some(call);
            }
        }
        None
    }

    /// Notes a call or a note that begins.
    fn begin(&mut self, call: CallId, open: Open) {
        self.open.insert(call, open);
        if open.until == Time::MAX {
            return;
        }
        // Most calls end long before their time.
        if self.deadlines.len() > 2 * self.open.len() + FEW {
            let bounded = self.open.iter().filter(|(_, open)| open.until < Time::MAX);
            self.deadlines = bounded.map(|(&call, open)| Reverse((open.until, call))).collect();
        } else {
            self.deadlines.push(Reverse((open.until, call)));
        }
    }

    /// Forgets all deadlines, when no call is open.
    pub(super) fn forget_deadlines(&mut self) {
        debug_assert!(self.open.is_empty(), "its deadline would be lost");
        self.deadlines.clear();
    }

    /// The next deadline; [`Time::MAX`] without one.
    pub(super) fn next_deadline(&self) -> Time {
        self.deadlines.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }
}

impl Node {
    /// Calls a peer. [`Event::Replied`](super::Event::Replied) brings the reply, or another event
    /// says why there is none; with a patience after that time at the latest. The terms may be a
    /// [`Priority`], or [`None`].
    ///
    /// # Errors
    ///
    /// If the peer is gone, the message too long, or too much waits already.
    pub fn call(
        &mut self,
        peer: PeerId,
        body: Bytes,
        terms: impl Into<Terms>,
    ) -> Result<CallId, Refused> {
        self.begin_call(Kind::Call, peer, body, terms.into())
    }

    /// Sends a message that wants no reply. [`Event::Delivered`](super::Event::Delivered) tells that
    /// the peer has it.
    ///
    /// # Errors
    ///
    /// If the peer is gone, the message too long, or too much waits already.
    pub fn note(&mut self, peer: PeerId, body: Bytes) -> Result<CallId, Refused> {
        self.note_with(peer, body, Priority::BySize)
    }

    /// Sends a message that wants no reply, on terms. With a patience there is news after that time
    /// at the latest, and the message does not leave later. The terms may be a [`Priority`], or
    /// [`None`].
    ///
    /// # Errors
    ///
    /// As [`note`](Self::note).
    pub fn note_with(
        &mut self,
        peer: PeerId,
        body: Bytes,
        terms: impl Into<Terms>,
    ) -> Result<CallId, Refused> {
        self.begin_call(Kind::Note, peer, body, terms.into())
    }

    /// Sends a call or a note.
    fn begin_call(
        &mut self,
        kind: Kind,
        peer: PeerId,
        body: Bytes,
        terms: Terms,
    ) -> Result<CallId, Refused> {
        let Terms { patience, priority } = terms;
        self.check(peer, body.len())?;
        let call = self.calls.name(peer);
        let (now, lane) = (self.clock.now(), self.lane(priority, &body));
        let until = patience.map_or(Time::MAX, |patience| now + span(patience));
        self.timers.look_by(until);
        let (number, token) = match kind {
            Kind::Note => (0, Token::Note(call.number)),
            _ => (call.number, Token::Call(call.number)),
        };
        let head = head(kind, priority, number, patience);
        if let Some(message) = self.post(now, peer, lane, head, body, token) {
            self.calls.begin(call, Open { kind, lane, priority, message, until });
        }
        Ok(call)
    }

    /// Replies to a call, with the priority that it has. What has not left of the reply to a call
    /// that was [cancelled](super::Event::Cancelled) does not leave, whether it was posted before or
    /// is posted then.
    ///
    /// # Errors
    ///
    /// If the caller is gone, the message too long, or too much waits already.
    pub fn reply(&mut self, call: Incoming, body: Bytes) -> Result<(), Refused> {
        self.check(call.peer, body.len())?;
        self.answer(call, Kind::Reply, body);
        Ok(())
    }

    /// Refuses a call, for a reason in the words of the application. There is room for a reason of
    /// up to 1 KB where there is none for a reply, so that a caller hears why it gets none. A peer
    /// that takes thousands of such refusals and acknowledges none is closed.
    ///
    /// # Errors
    ///
    /// If the caller is gone, or the reason too long for it or for what waits already.
    pub fn refuse(&mut self, call: Incoming, reason: Bytes) -> Result<(), Refused> {
        // A caller that takes less than that hears the beginning.
        let takes = self.peers.get(call.peer).map_or(0, |peer| peer.takes);
        let is_short = reason.len() <= SHORT_REASON;
        let reason = if is_short { reason.slice(..reason.len().min(takes)) } else { reason };
        match self.check(call.peer, reason.len()) {
            Err(Refused::Full { .. } | Refused::FullInAll { .. }) if is_short => {
                let peer = self.peers.get_mut(call.peer);
                if peer.is_some_and(|peer| self.memory.is_beyond(peer)) {
                    self.drop_stuck(call.peer);
                    return Ok(());
                }
            }
            checked => checked?,
        }
        self.answer(call, Kind::Refusal, reason);
        Ok(())
    }

    fn answer(&mut self, call: Incoming, kind: Kind, body: Bytes) {
        if self.peers.get_mut(call.peer).is_some_and(|peer| peer.replies.was_cancelled(call.number))
        {
            return;
        }
        let (now, lane) = (self.clock.now(), self.lane(call.priority, &body));
        let head = head(kind, call.priority, call.number, None);
        let message = self.post(now, call.peer, lane, head, body, Token::Reply(call.number));
        if let (Some(message), Some(peer)) = (message, self.peers.get_mut(call.peer)) {
            peer.replies.post(call.number, (lane, message));
        }
    }

    /// Takes the reply to a call back whose caller does not wait for it any more, or remembers not
    /// to send it.
    pub(super) fn withdraw_reply(&mut self, id: PeerId, call: u64) {
        let now = self.clock.now();
        let Some(peer) = self.peers.get_mut(id) else { return };
        if let Some((lane, message)) = peer.replies.cancel(call) {
            self.withdraw(now, id, lane, message);
        }
    }

    /// Ends a call or a note, of which there is no more news. What has not left of it never will,
    /// and takes no memory any more. If all of a call has left, the peer is told, behind the call;
    /// what it has done already stays done. Returns who may have got the message; [`None`] if it
    /// was not under way.
    pub fn cancel(&mut self, call: CallId) -> Option<Reach> {
        let now = self.clock.now();
        self.give_up(now, call)
    }

    /// Ends a call or a note before it is answered or acknowledged, and tells the peer.
    pub(super) fn give_up(&mut self, now: Time, call: CallId) -> Option<Reach> {
        let Open { kind, lane, priority, message, .. } = self.calls.open.remove(&call)?;
        let reach = self.withdraw(now, call.peer, lane, message);
        if reach == Reach::Peer && kind == Kind::Call {
            // On the lane of the call: on the other one it could come before the call.
            let head = head(Kind::Cancel, priority, call.number, None);
            self.post(now, call.peer, lane, head, Bytes::new(), Token::Nobody);
        }
        Some(reach)
    }

    /// Takes the calls and notes back that are longer than a peer takes, before its connection is
    /// open.
    pub(super) fn take_long_back(&mut self, now: Time, id: PeerId, most: usize) {
        let Some(peer) = self.peers.get(id) else { return };
        let length = |call: CallId| {
            let Open { lane, message, .. } = self.calls.open.get(&call)?;
            let outbox = &peer.lanes[*lane].outbox;
            let (length, _) = outbox.length_and_later(outbox.place(*message)?);
            Some((call, usize::try_from(length).ok()?.saturating_sub(HEAD_BYTES)))
        };
        let all = self.calls.of(id).filter_map(length);
        let long: Vec<_> = all.filter(|&(_, bytes)| bytes > most).collect();
        for (call, bytes) in long {
            self.give_up(now, call);
            self.events.push_back(super::Event::TooLong { call, bytes, most });
        }
    }

    /// Takes a message back, unless all of it has left.
    fn withdraw(&mut self, now: Time, peer: PeerId, lane: usize, message: u64) -> Reach {
        let Some(peer) = self.peers.get_mut(peer) else { return Reach::Peer };
        let is_open = peer.is_open();
        let lane = &mut peer.lanes[lane];
        let Some(place) = lane.outbox.place(message) else { return Reach::Peer };
        let (length, later) = lane.outbox.length_and_later(place);
        let (withdrawn, from) = if is_open {
            self.timing.look(now, &self.endpoint);
            let withdrawn = self.endpoint.withdraw(now, lane.sends, later);
            let from = self.endpoint.sender(lane.sends).and_then(Sender::oldest_payload);
            (withdrawn, from.unwrap_or_default())
        } else {
            (Some(length), 0)
        };
        let Some(bytes) = withdrawn else { return Reach::Peer };
        let before = lane.outbox.memory();
        lane.outbox.withdraw(place, bytes, from);
        self.memory.free_leaving(before - lane.outbox.memory());
        Reach::Nobody
    }

    /// The lane of a message.
    fn lane(&self, priority: Priority, body: &Bytes) -> usize {
        let high = match priority {
            Priority::BySize => body.len() <= self.options.short,
            Priority::High => true,
            Priority::Low => false,
        };
        if high { SHORT } else { LONG }
    }

    /// The longest message that this node takes, in bytes.
    pub const fn longest(&self) -> usize {
        self.memory.longest()
    }

    /// Finds out whether a message of so many bytes would be taken for sending now.
    ///
    /// # Errors
    ///
    /// If the peer is gone or takes no message of this length, or too much waits already.
    pub fn check(&mut self, peer: PeerId, bytes: usize) -> Result<(), Refused> {
        let peer = self.peers.get_mut(peer).ok_or(Refused::Gone)?;
        self.memory.check(peer, bytes)
    }

    /// Posts a message, and returns its number on the lane.
    fn post(
        &mut self,
        now: Time,
        peer: PeerId,
        lane: usize,
        head: [u8; HEAD_BYTES],
        body: Bytes,
        token: Token,
    ) -> Option<u64> {
        let peer = self.peers.get_mut(peer)?;
        let is_open = peer.is_open();
        let lane = &mut peer.lanes[lane];
        let bytes = (HEAD_BYTES + body.len()) as u64;
        let number = lane.outbox.post(head, body, token);
        self.memory.post(bytes + SENDING_BYTES);
        // What is posted before the connection is open waits in the outbox.
        if is_open {
            self.timing.look(now, &self.endpoint);
            self.endpoint.post(now, lane.sends, bytes);
        }
        Some(number)
    }

    /// Tells of a note that the peer has, and forgets a reply.
    pub(super) fn tell_acknowledged(&mut self, peer: PeerId, token: Token) {
        match token {
            Token::Note(number) => {
                let note = CallId { peer, number };
                if self.calls.end(note) {
                    self.events.push_back(super::Event::Delivered { note });
                }
            }
            Token::Reply(call) => {
                if let Some(peer) = self.peers.get_mut(peer) {
                    peer.replies.acknowledged(call);
                }
            }
            Token::Call(_) | Token::Nobody => {}
        }
    }

    /// Fails all calls and notes to a peer that is gone.
    pub(super) fn fail_calls(&mut self, peer: PeerId, why: Gone) {
        let calls: Vec<_> = self.calls.of(peer).collect();
        for call in calls {
            self.calls.end(call);
            self.events.push_back(super::Event::Failed { call, why });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::node::Event;
    use crate::node::testing::node;

    /// A client and a server, and a call that the server has got.
    struct World {
        client: Node,
        server: Node,
        call: CallId,
        called: Incoming,
    }

    impl World {
        fn new() -> Self {
            let (mut client, server) = (node(), node());
            let peer = client.connect(server.address().unwrap(), None).unwrap();
            let call = client.call(peer, Bytes::from_static(b"all of it"), None).unwrap();
            let called = Incoming { peer, number: 0, priority: Priority::BySize };
            let mut world = Self { client, server, call, called };
            let Event::Called { call, .. } =
                world.until(|event| matches!(event, Event::Called { .. }))
            else {
                unreachable!("that was asked for");
            };
            world.called = call;
            world
        }

        /// Takes turns until the server has such an event.
        fn until(&mut self, is_wanted: impl Fn(&Event) -> bool) -> Event {
            let end = Instant::now() + Duration::from_secs(20);
            loop {
                assert!(Instant::now() < end, "no such event");
                self.client.turn(Some(Instant::now() + Duration::from_micros(100)), None).unwrap();
                self.server.turn(None, None).unwrap();
                while let Some(event) = self.client.poll_event() {
                    assert!(!matches!(event, Event::Replied { .. }), "the call was cancelled");
                }
                let mut events = std::iter::from_fn(|| self.server.poll_event());
                if let Some(event) = events.find(&is_wanted) {
                    return event;
                }
            }
        }

        /// Cancels the call, and has the server hear of it.
        fn cancel(&mut self) {
            assert_eq!(self.client.cancel(self.call), Some(Reach::Peer));
            self.until(|event| matches!(event, Event::Cancelled { .. }));
        }

        /// Checks that the connection still works: a reply to another call comes.
        fn goes_on(mut self) {
            let next = self.client.call(self.call.peer, Bytes::from_static(b"more"), None).unwrap();
            let Event::Called { call, .. } =
                self.until(|event| matches!(event, Event::Called { .. }))
            else {
                unreachable!("that was asked for");
            };
            // A call of a low number that was not cancelled is answered.
            self.server.reply(call, Bytes::from_static(b"here")).unwrap();
            let end = Instant::now() + Duration::from_secs(20);
            loop {
                assert!(Instant::now() < end, "no reply");
                self.server.turn(None, None).unwrap();
                self.client.turn(Some(Instant::now() + Duration::from_micros(100)), None).unwrap();
                match self.client.poll_event() {
                    Some(Event::Replied { call, body }) => {
                        return assert_eq!((call, &body[..]), (next, &b"here"[..]));
                    }
                    other => assert_eq!(other.map(|event| event.message().is_some()), None),
                }
            }
        }
    }

    #[test]
    fn deadlines_of_calls_that_are_over_take_bounded_memory() {
        let mut calls = Calls::default();
        let peer = node().connect("127.0.0.1:1".parse().unwrap(), None).unwrap();
        let open = |until| Open {
            kind: Kind::Call,
            lane: SHORT,
            priority: Priority::BySize,
            message: 0,
            until: Time::ZERO + incast_cc::Span::from_ms(until),
        };
        let waits = calls.name(peer);
        calls.begin(waits, open(60_000));
        for _ in 0..10_000 {
            let call = calls.name(peer);
            calls.begin(call, open(90_000));
            assert!(calls.end_call(call));
        }
        assert!(calls.deadlines.len() < 100, "{}", calls.deadlines.len());
        let next = Time::ZERO + incast_cc::Span::from_ms(60_000);
        assert_eq!(calls.next_deadline(), next);
        assert_eq!(calls.overdue(next), Some(waits));
        assert_eq!(calls.overdue(next), None);
    }

    #[test]
    fn a_reply_whose_caller_has_gone_does_not_leave() {
        let mut world = World::new();
        world.cancel();
        world.server.reply(world.called, vec![7; 1 << 20].into()).unwrap();
        assert_eq!(world.server.memory.leaving(), 0);
        world.goes_on();
    }

    #[test]
    fn what_has_not_left_of_a_reply_is_taken_back_when_its_caller_goes() {
        let mut world = World::new();
        // A rate that begins low has sent little of it when the end of the call comes.
        let bytes = 16 << 20;
        world.server.reply(world.called, vec![7; bytes].into()).unwrap();
        world.server.turn(None, None).unwrap();
        world.cancel();
        let waits = world.server.memory.leaving();
        assert!(waits < bytes as u64 / 2, "{waits} B wait");
        world.goes_on();
    }
}
