//! The pacing engine: one scheduler for all connections of a host.
//!
//! Connections whose send time has come are ready. They are served round robin within the traffic
//! class whose turn it is ([`Scheduler`]): the highest one, except that classes with weights share.
//! A turn is a packet, or as long as the carrier says ([`Turn`]). The other connections wait in the
//! order of their send times. Equal times are ordered by rank, a number that the host gives each
//! connection, since places are used again.

mod plan;

use std::collections::VecDeque;

use incast_cc::Time;

use crate::connection::CLASSES;
use crate::scheduler::Scheduler;
use crate::send_times::SendTimes;
use plan::Plan;

/// The scheduler of a host's connections, which it knows by their places.
#[derive(Clone, Debug, Default)]
pub struct PacingEngine {
    places: Vec<Entry>,
    /// Ready connections in the order of service, by class.
    ready: [VecDeque<u32>; CLASSES as usize],
    /// A bit for each class that has ready connections.
    occupied: u8,
    /// A bit for each class that has had a connection.
    classes: u8,
    scheduler: Scheduler,
    /// The largest size of a packet on the wire, in bytes.
    largest: u64,
    /// Connections whose send time is to come.
    waiting: SendTimes,
    plan: Plan,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    state: State,
    /// Traffic class.
    class: u8,
    rank: u32,
    /// The time since which the next packet waits, where that decides about the turn.
    since: Time,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing to send.
    #[default]
    Idle,
    /// The send time has come.
    Ready,
    /// The send time is to come.
    Waiting,
}

/// The next turn of a connection that has just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The connection sends next, too, unless another class does.
    Kept,
    /// The connection sends on when it has waited longest; its next packet waits since this time.
    Queued(Time),
    /// The connection sends on, behind all others.
    Passed,
    /// The connection is idle until it is scheduled.
    Ended,
}

impl PacingEngine {
    /// An engine for classes with these weights, from the lowest, and packets of up to `largest`
    /// bytes.
    pub fn sharing(weights: &[Option<u32>], largest: u64) -> Self {
        Self { scheduler: Scheduler::new(weights, largest), largest, ..Self::default() }
    }

    /// Puts a connection of a traffic class at a place that is free. Of equal send times that of
    /// the lowest `rank` comes first.
    ///
    /// # Panics
    /// When the connection that was there still has something to send, or places before it have not
    /// been used.
    pub fn put(&mut self, place: u32, rank: u32, class: u8) {
        assert!(place as usize <= self.places.len(), "places are filled one after the other");
        if place as usize == self.places.len() {
            self.waiting.reserve(place);
            self.places.push(Entry::default());
        }
        assert!(self.is_idle(place), "place {place} is taken");
        self.classes |= 1 << class;
        let since = Time::ZERO;
        self.places[place as usize] = Entry { state: State::Idle, class, rank, since };
    }

    /// Whether a connection has nothing to send: it is neither waiting nor ready.
    pub fn is_idle(&self, connection: u32) -> bool {
        self.places[connection as usize].state == State::Idle
    }

    /// Lets `connection` send at `send_time`; [`None`] takes it out. A connection that is ready
    /// stays so.
    #[inline]
    pub fn schedule(&mut self, connection: u32, send_time: Option<Time>) {
        let Entry { state, rank, .. } = &mut self.places[connection as usize];
        match (*state, send_time) {
            (State::Ready, _) | (State::Idle, None) => {}
            (State::Waiting, None) => {
                *state = State::Idle;
                self.plan.note(Time::ZERO);
                self.waiting.clear(connection);
            }
            (State::Waiting, Some(time)) => {
                self.plan.note(time);
                self.waiting.clear(connection);
                self.waiting.add(connection, *rank, time);
            }
            (State::Idle, Some(time)) => {
                *state = State::Waiting;
                self.plan.note(time);
                self.waiting.add(connection, *rank, time);
            }
        }
    }

    /// Lets `connection` send now, as [`schedule`](Self::schedule) and [`release`](Self::release)
    /// would. Returns whether that can be: it is idle or ready, and nobody else's send time has come.
    #[inline]
    pub(crate) fn release_at_once(&mut self, now: Time, connection: u32) -> bool {
        let Entry { state, since, .. } = &mut self.places[connection as usize];
        match state {
            State::Ready => true,
            State::Idle if self.waiting.earliest() > now => {
                *since = now;
                self.plan.note(now);
                self.put_back(connection);
                true
            }
            State::Idle | State::Waiting => false,
        }
    }

    /// Makes the earliest connection ready whose send time has come, and returns it with that time;
    /// call until [`None`].
    #[inline]
    pub fn release(&mut self, now: Time) -> Option<(u32, Time)> {
        let send_time = self.waiting.earliest();
        if send_time > now || now == Time::MAX {
            return None;
        }
        let connection = self.waiting.take_first();
        self.places[connection as usize].since = now;
        self.put_back(connection);
        Some((connection, send_time))
    }

    /// The connection to serve, of the class whose turn it is among those in the mask `open`.
    /// [`sent`](Self::sent) must follow.
    #[inline]
    pub fn serve(&mut self, open: u8) -> Option<u32> {
        let sendable = self.occupied & open;
        if sendable == 0 {
            return None;
        }
        let class = self.scheduler.next(sendable, |_| self.largest);
        self.ready[class as usize % CLASSES as usize].front().copied()
    }

    /// Notes that the connection just served, of `class`, has sent `bytes` on the wire: a packet,
    /// or nothing.
    #[inline]
    pub fn sent(&mut self, class: u8, bytes: u64, turn: Turn) {
        self.scheduler.give_back(class, self.largest.saturating_sub(bytes));
        let ready = &mut self.ready[class as usize % CLASSES as usize];
        if turn == Turn::Kept || turn == Turn::Passed && ready.len() == 1 {
            return;
        }
        let Some(connection) = ready.pop_front() else { return };
        if turn == Turn::Passed {
            return ready.push_back(connection);
        }
        if let Turn::Queued(since) = turn {
            // Before others that wait since the same instant: a connection has given the NIC its
            // packets one after the other.
            let place = ready.partition_point(|&other| self.places[other as usize].since < since);
            self.places[connection as usize].since = since;
            return ready.insert(place, connection);
        }
        if ready.is_empty() {
            self.occupied &= !(1 << class);
        }
        self.places[connection as usize].state = State::Idle;
    }

    /// The traffic class of a connection.
    pub(crate) fn class(&self, connection: u32) -> u8 {
        self.places[connection as usize].class
    }

    /// Gives a connection another traffic class, where it is the last if it is ready.
    pub(crate) fn change(&mut self, connection: u32, class: u8) {
        let Entry { state, class: old, .. } = &mut self.places[connection as usize];
        let before = std::mem::replace(old, class);
        self.classes |= 1 << class;
        if before == class || *state != State::Ready {
            return;
        }
        let ready = &mut self.ready[before as usize % CLASSES as usize];
        ready.retain(|&other| other != connection);
        if ready.is_empty() {
            self.occupied &= !(1 << before);
        }
        self.put_back(connection);
    }

    /// Puts the ready connection of `class` with the least of `remaining` before the others, and
    /// returns it. Of equals it is that which has been ready longest.
    ///
    /// # Panics
    /// When none is ready.
    pub(crate) fn put_least_first(&mut self, class: u8, remaining: impl Fn(u32) -> u32) -> u32 {
        let ready = &mut self.ready[class as usize % CLASSES as usize];
        if ready.len() > 1 {
            let key = |&place: &u32| (remaining(place), self.places[place as usize].since);
            let least = (0..ready.len()).min_by_key(|&place| key(&ready[place]));
            if let Some(connection) = least.and_then(|place| ready.remove(place)) {
                ready.push_front(connection);
            }
        }
        ready[0]
    }

    /// Makes a connection ready, before all others of its class.
    pub(crate) fn put_first(&mut self, connection: u32) {
        let Entry { state, class, .. } = &mut self.places[connection as usize];
        match std::mem::replace(state, State::Ready) {
            State::Ready => return,
            State::Waiting => self.waiting.clear(connection),
            State::Idle => {}
        }
        self.occupied |= 1 << *class;
        self.ready[*class as usize % CLASSES as usize].push_front(connection);
    }

    /// The connection that is served next in a NIC without weights; [`None`] if none is ready.
    #[inline]
    pub(crate) fn head(&self) -> Option<u32> {
        let class = self.occupied.checked_ilog2()?;
        self.ready[class as usize].front().copied()
    }

    /// The only connection that waits to be served; [`None`] if there are several, or none.
    #[inline]
    pub(crate) fn only_ready(&self) -> Option<u32> {
        let class = self.occupied.checked_ilog2()?;
        let ready = &self.ready[class as usize];
        let only = self.occupied == 1 << class && ready.len() == 1;
        if only { ready.front().copied() } else { None }
    }

    /// Makes a connection ready, behind all others.
    #[inline]
    fn put_back(&mut self, connection: u32) {
        let Entry { state, class, .. } = &mut self.places[connection as usize];
        *state = State::Ready;
        self.occupied |= 1 << *class;
        self.ready[*class as usize % CLASSES as usize].push_back(connection);
    }

    /// The time since which the next packet of `class` has waited, where [`Turn::Queued`] tells it.
    #[inline]
    pub fn waits_since(&self, class: u8) -> Option<Time> {
        let first = *self.ready[class as usize % CLASSES as usize].front()?;
        Some(self.places[first as usize].since)
    }

    /// Whether a connection of a class in the mask `open` waits to be served.
    #[inline]
    pub fn has_ready(&self, open: u8) -> bool {
        self.occupied & open != 0
    }

    /// The connection that will be served next unless something happens before; any number where
    /// there is none.
    #[inline]
    pub(crate) fn probably_next(&self) -> u32 {
        let highest = self.occupied.checked_ilog2();
        let ready = highest.and_then(|class| self.ready[class as usize].front());
        ready.copied().unwrap_or_else(|| self.waiting.first())
    }

    /// Whether a connection waits for its send time.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next send time; [`Time::MAX`] when there is none.
    #[inline]
    pub fn next_release(&self) -> Time {
        self.waiting.earliest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Span;

    const ALL: u8 = u8::MAX;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn engine(connections: u32) -> PacingEngine {
        let mut engine = PacingEngine::default();
        (0..connections).for_each(|place| engine.put(place, place, 0));
        engine
    }

    #[test]
    fn elapsed_send_times_are_served_round_robin() {
        let mut engine = engine(3);
        engine.schedule(1, Some(at(5)));
        engine.schedule(0, Some(at(7)));
        engine.schedule(2, Some(at(5)));
        assert_eq!(engine.release(at(4)), None);
        assert_eq!([(); 2].map(|()| engine.release(at(7))), [Some((1, at(5))), Some((2, at(5)))]);
        assert_eq!([(); 2].map(|()| engine.release(at(7))), [Some((0, at(7))), None]);
        let order: Vec<_> = (0..6)
            .map(|_| {
                let connection = engine.serve(ALL).unwrap();
                engine.sent(0, 0, Turn::Passed);
                connection
            })
            .collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_connection_that_keeps_its_turn_is_served_until_it_passes_it() {
        let mut engine = PacingEngine::default();
        for (place, class) in (0..).zip([0, 0, 1]) {
            engine.put(place, place, class);
        }
        (0..2).for_each(|connection| engine.put_back(connection));
        let mut turn = |expected, class, turn| {
            assert_eq!(engine.serve(ALL), Some(expected));
            engine.sent(class, 0, turn);
        };
        turn(0, 0, Turn::Kept);
        turn(0, 0, Turn::Kept);
        turn(0, 0, Turn::Passed);
        turn(1, 0, Turn::Kept);
        engine.put_back(2); // of a higher class: between two packets
        assert_eq!(engine.serve(ALL), Some(2));
        engine.sent(1, 0, Turn::Ended);
        for (connection, turn) in [(1, Turn::Ended), (0, Turn::Kept), (0, Turn::Ended)] {
            assert_eq!(engine.serve(ALL), Some(connection));
            engine.sent(0, 0, turn);
        }
        assert_eq!(engine.serve(ALL), None);
    }

    #[test]
    fn equal_send_times_are_served_in_the_order_of_ranks_and_places_are_used_again() {
        let mut engine = PacingEngine::default();
        for (place, rank) in [(0, 30), (1, 20), (2, 10)] {
            engine.put(place, rank, 0);
        }
        (0..3).for_each(|place| engine.schedule(place, Some(at(5))));
        let released = [(); 3].map(|()| engine.release(at(5)).unwrap().0);
        assert_eq!(released, [2, 1, 0]);
        assert!(!engine.is_idle(1));
        while engine.serve(ALL).is_some() {
            engine.sent(0, 0, Turn::Ended);
        }
        assert!(engine.is_idle(1));
        engine.put(1, 40, 0);
        (0..2).for_each(|place| engine.schedule(place, Some(at(7))));
        let released = [(); 2].map(|()| engine.release(at(7)).unwrap().0);
        assert_eq!(released, [0, 1]);
    }

    #[test]
    fn higher_classes_come_first_unless_they_are_held_back() {
        let mut engine = PacingEngine::default();
        for (place, class) in (0..).zip([0, 2, 1, 2]) {
            engine.put(place, place, class);
        }
        (0..4).for_each(|connection| engine.put_back(connection));
        assert_eq!(engine.serve(0b011), Some(2), "class 2 is held back");
        engine.sent(1, 0, Turn::Ended);
        assert!(engine.has_ready(0b100) && !engine.has_ready(0b010));
        for (connection, class) in [(1, 2), (3, 2), (0, 0)] {
            assert_eq!(engine.serve(ALL), Some(connection));
            engine.sent(class, 0, Turn::Ended);
        }
        assert_eq!(engine.serve(ALL), None);
    }

    #[test]
    fn classes_with_weights_share_by_bytes() {
        // Class 0 has a quarter with one connection, class 1 the rest with two; its packets are
        // shorter.
        let mut engine = PacingEngine::sharing(&[Some(1), Some(3)], 1_500);
        for (place, class) in (0..).zip([0, 1, 1]) {
            engine.put(place, place, class);
        }
        (0..3).for_each(|connection| engine.put_back(connection));
        let mut bytes = [0_u64; 3];
        while bytes.iter().sum::<u64>() < 4_000_000 {
            let connection = engine.serve(ALL).unwrap();
            let (class, size) = if connection == 0 { (0, 1_500) } else { (1, 100) };
            engine.sent(class, size, Turn::Passed);
            bytes[connection as usize] += size;
        }
        for (bytes, share) in bytes.into_iter().zip([1_000_000, 1_500_000, 1_500_000]) {
            assert!(bytes.abs_diff(share) <= 6_000, "{bytes} of {share} B");
        }
    }

    #[test]
    fn a_new_send_time_replaces_the_old_one() {
        let mut engine = engine(1);
        engine.schedule(0, Some(at(50)));
        engine.schedule(0, Some(at(20)));
        assert_eq!(engine.next_release(), at(20));
        engine.schedule(0, Some(at(80)));
        assert_eq!(engine.next_release(), at(80));
        assert_eq!(engine.release(at(60)), None);
        assert_eq!(engine.release(at(80)), Some((0, at(80))));
        engine.schedule(0, None);
        assert_eq!(engine.serve(ALL), Some(0), "being served is not interrupted");
        engine.sent(0, 0, Turn::Ended);
        assert!(!engine.has_ready(ALL) && engine.next_release() == Time::MAX);
    }
}
