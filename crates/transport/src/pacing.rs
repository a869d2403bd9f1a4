//! The pacing engine: one scheduler for all connections of a host.
//!
//! Connections whose send time has come are served round robin, packet by packet, within the traffic
//! class whose turn it is ([`Scheduler`]): the highest, but for those that share by weight. The others
//! wait, ordered by send time.

use std::collections::VecDeque;

use incast_cc::Time;

use crate::connection::CLASSES;
use crate::scheduler::Scheduler;
use crate::send_times::SendTimes;

/// The scheduler. Connections are named by their index.
#[derive(Clone, Debug, Default)]
pub struct PacingEngine {
    /// Where each connection is, and its traffic class.
    places: Vec<(Place, u8)>,
    /// Send time has come, in the order of service, by class.
    ready: [VecDeque<u32>; CLASSES as usize],
    /// One bit per class that has any of them.
    occupied: u8,
    scheduler: Scheduler,
    /// The most bytes of a packet on the wire.
    largest: u64,
    /// Send time is to come.
    waiting: SendTimes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nothing to send.
    #[default]
    Idle,
    Ready,
    Waiting,
}

impl PacingEngine {
    /// For classes with these weights, from the lowest, and packets of up to `largest` bytes.
    pub fn sharing(weights: &[Option<u32>], largest: u64) -> Self {
        Self { scheduler: Scheduler::new(weights, largest), largest, ..Self::default() }
    }

    /// Makes room for one more connection, of traffic class `class`.
    #[expect(clippy::cast_possible_truncation, reason = "connections are numbered in 32 bits")]
    pub fn add(&mut self, class: u8) {
        self.waiting.reserve(self.places.len() as u32);
        self.places.push((Place::Idle, class));
    }

    /// Makes room for so many connections more, and for no others.
    pub fn reserve(&mut self, connections: usize) {
        self.places.reserve_exact(connections);
    }

    /// `connection` may send at `send_time`; [`None`] takes it out. A connection that is being
    /// served stays where it is.
    #[inline]
    pub fn schedule(&mut self, connection: u32, send_time: Option<Time>) {
        let (place, _) = &mut self.places[connection as usize];
        match (*place, send_time) {
            (Place::Ready, _) | (Place::Idle, None) => {}
            (Place::Waiting, None) => {
                *place = Place::Idle;
                self.waiting.set(connection, Time::MAX);
            }
            (_, Some(time)) => {
                *place = Place::Waiting;
                self.waiting.set(connection, time);
            }
        }
    }

    /// The earliest connection whose send time has come, now to be served; call until [`None`].
    #[inline]
    pub fn release(&mut self, now: Time) -> Option<u32> {
        if self.waiting.earliest() > now || now == Time::MAX {
            return None;
        }
        let connection = self.waiting.first();
        self.waiting.set(connection, Time::MAX);
        self.put_back(connection);
        Some(connection)
    }

    /// The connection to serve, of the class whose turn it is of those in the mask `open`. It is idle until
    /// it is scheduled or put back. [`sent`](Self::sent) must follow.
    #[inline]
    pub fn serve(&mut self, open: u8) -> Option<u32> {
        let sendable = self.occupied & open;
        if sendable == 0 {
            return None;
        }
        let class = self.scheduler.next(sendable, |_| self.largest);
        let ready = &mut self.ready[class as usize % CLASSES as usize];
        let connection = ready.pop_front()?;
        if ready.is_empty() {
            self.occupied &= !(1 << class);
        }
        self.places[connection as usize].0 = Place::Idle;
        Some(connection)
    }

    /// What was served, of `class`, was a packet of so many bytes on the wire, or none at all.
    #[inline]
    pub fn sent(&mut self, class: u8, bytes: u64) {
        self.scheduler.give_back(class, self.largest.saturating_sub(bytes));
    }

    /// Puts a connection that was served, and may send on, behind all others.
    #[inline]
    pub fn put_back(&mut self, connection: u32) {
        let (place, class) = &mut self.places[connection as usize];
        *place = Place::Ready;
        self.occupied |= 1 << *class;
        self.ready[*class as usize % CLASSES as usize].push_back(connection);
    }

    /// Whether a connection of a class in the mask `open` waits to be served.
    #[inline]
    pub fn has_ready(&self, open: u8) -> bool {
        self.occupied & open != 0
    }

    /// The connection that will be served next unless something happens before; some connection where none
    /// will.
    #[inline]
    pub(crate) fn probably_next(&self) -> u32 {
        let highest = self.occupied.checked_ilog2();
        let ready = highest.and_then(|class| self.ready[class as usize].front());
        ready.copied().unwrap_or_else(|| self.waiting.first())
    }

    /// When the next send time comes; [`Time::MAX`] when none does.
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
        (0..connections).for_each(|_| engine.add(0));
        engine
    }

    #[test]
    fn elapsed_send_times_are_served_round_robin() {
        let mut engine = engine(3);
        engine.schedule(1, Some(at(5)));
        engine.schedule(0, Some(at(7)));
        engine.schedule(2, Some(at(5)));
        assert_eq!(engine.release(at(4)), None);
        assert_eq!([engine.release(at(7)), engine.release(at(7))], [Some(1), Some(2)]);
        assert_eq!([engine.release(at(7)), engine.release(at(7))], [Some(0), None]);
        let order: Vec<_> = (0..6)
            .map(|_| {
                let connection = engine.serve(ALL).unwrap();
                engine.put_back(connection);
                connection
            })
            .collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn higher_classes_come_first_unless_they_are_held_back() {
        let mut engine = PacingEngine::default();
        for class in [0, 2, 1, 2] {
            engine.add(class);
        }
        (0..4).for_each(|connection| engine.put_back(connection));
        assert_eq!(engine.serve(0b011), Some(2), "class 2 is held back");
        assert!(engine.has_ready(0b100) && !engine.has_ready(0b010));
        let order: Vec<_> = std::iter::from_fn(|| engine.serve(ALL)).collect();
        assert_eq!(order, [1, 3, 0]);
    }

    #[test]
    fn classes_with_weights_share_by_bytes() {
        // Class 0 has a quarter with one connection, class 1 the rest with two; its packets are shorter.
        let mut engine = PacingEngine::sharing(&[Some(1), Some(3)], 1_500);
        for class in [0, 1, 1] {
            engine.add(class);
        }
        (0..3).for_each(|connection| engine.put_back(connection));
        let mut bytes = [0_u64; 3];
        while bytes.iter().sum::<u64>() < 4_000_000 {
            let connection = engine.serve(ALL).unwrap();
            let (class, size) = if connection == 0 { (0, 1_500) } else { (1, 100) };
            engine.sent(class, size);
            engine.put_back(connection);
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
        assert_eq!(engine.release(at(80)), Some(0));
        engine.schedule(0, None);
        assert_eq!(engine.serve(ALL), Some(0), "being served is not interrupted");
        assert!(!engine.has_ready(ALL) && engine.next_release() == Time::MAX);
    }
}
