//! Calls, replies and notes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use bytes::Bytes;
use incast_cc::Time;

use super::names::{CallId, Incoming, PeerId};
use super::opening::span;
use super::outbox::Token;
use super::peers::{LONG, SHORT};
use super::{Gone, Node, head};
use crate::message::{HEAD_BYTES, Kind, Priority, Terms};

/// The reason why a message is not taken for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The peer is gone.
    #[error("the peer is gone; connect again")]
    Gone,
    /// The peer does not receive messages of this length.
    #[error("a message of {bytes} B is too long: the peer takes up to {most} B")]
    TooLong {
        /// The length of the message.
        bytes: usize,
        /// The most that the peer takes.
        most: usize,
    },
    /// Too much waits to be sent to the peer already.
    #[error("{waiting} B wait for this peer, and {most} B may; post again when some have left")]
    Full {
        /// The bytes that wait.
        waiting: u64,
        /// The most that may wait.
        most: usize,
    },
    /// Too much waits to be sent to all peers together already.
    #[error(
        "{waiting} B wait for all peers together, and {most} B may; post again when some have left"
    )]
    FullInAll {
        /// The bytes that wait.
        waiting: u64,
        /// The most that may wait.
        most: usize,
    },
}

/// The calls and notes of this node that are under way.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    /// The lane and the priority of each call; [`None`] for notes, which want no reply.
    open: BTreeMap<CallId, Option<(usize, Priority)>>,
    deadlines: BinaryHeap<Reverse<(Time, CallId)>>,
}

impl Calls {
    fn begin(&mut self, peer: PeerId, lane: Option<(usize, Priority)>) -> CallId {
        self.last += 1;
        let call = CallId { peer, number: self.last };
        self.open.insert(call, lane);
        call
    }

    /// Ends a call or note; returns whether it was under way.
    fn end(&mut self, call: CallId) -> bool {
        self.open.remove(&call).is_some()
    }

    /// Ends a call; returns whether it was under way.
    pub(super) fn end_call(&mut self, call: CallId) -> bool {
        matches!(self.open.get(&call), Some(Some(_))) && self.end(call)
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
        let Terms { patience, priority } = terms.into();
        self.check(peer, body.len())?;
        let lane = self.lane(priority, &body);
        let call = self.calls.begin(peer, Some((lane, priority)));
        let now = self.clock.now();
        if let Some(patience) = patience {
            let until = now + span(patience);
            self.calls.deadlines.push(Reverse((until, call)));
            self.look_at = self.look_at.min(until);
        }
        let head = head(Kind::Call, priority, call.number, patience);
        self.post(now, peer, lane, head, body, Token::Call(call.number));
        Ok(call)
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

    /// Sends a message that wants no reply, at a place among others.
    ///
    /// # Errors
    ///
    /// As [`note`](Self::note).
    pub fn note_with(
        &mut self,
        peer: PeerId,
        body: Bytes,
        priority: Priority,
    ) -> Result<CallId, Refused> {
        self.check(peer, body.len())?;
        let note = self.calls.begin(peer, None);
        let (now, lane) = (self.clock.now(), self.lane(priority, &body));
        let head = head(Kind::Note, priority, 0, None);
        self.post(now, peer, lane, head, body, Token::Note(note.number));
        Ok(note)
    }

    /// Replies to a call, with the priority that it has.
    ///
    /// # Errors
    ///
    /// If the caller is gone, the message too long, or too much waits already.
    pub fn reply(&mut self, call: Incoming, body: Bytes) -> Result<(), Refused> {
        self.answer(call, Kind::Reply, body)
    }

    /// Refuses a call, for a reason in the words of the application.
    ///
    /// # Errors
    ///
    /// If the caller is gone, the reason too long, or too much waits already.
    pub fn refuse(&mut self, call: Incoming, reason: Bytes) -> Result<(), Refused> {
        self.answer(call, Kind::Refusal, reason)
    }

    fn answer(&mut self, call: Incoming, kind: Kind, body: Bytes) -> Result<(), Refused> {
        self.check(call.peer, body.len())?;
        let (now, lane) = (self.clock.now(), self.lane(call.priority, &body));
        let head = head(kind, call.priority, call.number, None);
        self.post(now, call.peer, lane, head, body, Token::Reply);
        Ok(())
    }

    /// Stops waiting for a call. The peer is told, after the call itself; what it has done already
    /// stays done. Of a note there is no more news, and the peer gets it. Returns whether the call
    /// or note was under way.
    pub fn cancel(&mut self, call: CallId) -> bool {
        let now = self.clock.now();
        self.give_up(now, call)
    }

    /// Ends a call before its reply, and tells the peer.
    pub(super) fn give_up(&mut self, now: Time, call: CallId) -> bool {
        let Some(lane) = self.calls.open.remove(&call) else { return false };
        if let Some((lane, priority)) = lane {
            // On the lane of the call: on the other one it could come before the call.
            let head = head(Kind::Cancel, priority, call.number, None);
            self.post(now, call.peer, lane, head, Bytes::new(), Token::Reply);
        }
        true
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

    /// Whether a message may be posted.
    fn check(&self, peer: PeerId, bytes: usize) -> Result<(), Refused> {
        let peer = self.peers.get(peer).ok_or(Refused::Gone)?;
        let most = peer.takes;
        if bytes > most {
            return Err(Refused::TooLong { bytes, most });
        }
        let (waiting, most) = (peer.outgoing(), self.options.memory.outgoing);
        // A message of any length that the peer takes can be sent alone.
        if waiting > 0 && waiting + bytes as u64 > most as u64 {
            return Err(Refused::Full { waiting, most });
        }
        let (waiting, most) = (self.outgoing, self.options.memory.outgoing_in_all);
        if waiting > 0 && waiting + bytes as u64 > most as u64 {
            return Err(Refused::FullInAll { waiting, most });
        }
        Ok(())
    }

    fn post(
        &mut self,
        now: Time,
        peer: PeerId,
        lane: usize,
        head: [u8; HEAD_BYTES],
        body: Bytes,
        token: Token,
    ) {
        let Some(peer) = self.peers.get_mut(peer) else { return };
        let is_open = peer.is_open();
        let lane = &mut peer.lanes[lane];
        let bytes = lane.outbox.post(head, body, token);
        self.outgoing += bytes;
        if is_open {
            self.awaited.look(now, self.endpoint.next_send_time());
            self.endpoint.post(now, lane.sends, bytes);
        } else {
            lane.early.push(bytes);
        }
    }

    /// Tells of a message that the peer has.
    pub(super) fn tell_acknowledged(&mut self, peer: PeerId, token: Token) {
        let Token::Note(number) = token else { return };
        let note = CallId { peer, number };
        if self.calls.end(note) {
            self.events.push_back(super::Event::Delivered { note });
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
