//! The pacing engine: one scheduler for all connections of a host.
//!
//! Connections whose send time has come are served round robin, packet by packet; the others wait,
//! ordered by send time.

use std::collections::VecDeque;

use incast_cc::Time;

use crate::send_times::SendTimes;

/// The scheduler. Connections are named by their index.
#[derive(Clone, Debug, Default)]
pub struct PacingEngine {
    /// Where each connection is.
    places: Vec<Place>,
    /// Send time has come, in the order of service.
    ready: VecDeque<u32>,
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
    /// Makes room for one more connection.
    #[expect(clippy::cast_possible_truncation, reason = "connections are numbered in 32 bits")]
    pub fn add(&mut self) {
        self.waiting.reserve(self.places.len() as u32);
        self.places.push(Place::Idle);
    }

    /// `connection` may send at `send_time`; [`None`] takes it out. A connection that is being
    /// served stays where it is.
    #[inline]
    pub fn schedule(&mut self, connection: u32, send_time: Option<Time>) {
        let place = &mut self.places[connection as usize];
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

    /// The connection to serve. It is idle until it is scheduled or put back.
    #[inline]
    pub fn serve(&mut self) -> Option<u32> {
        let connection = self.ready.pop_front()?;
        self.places[connection as usize] = Place::Idle;
        Some(connection)
    }

    /// Puts a connection that was served, and may send on, behind all others.
    #[inline]
    pub fn put_back(&mut self, connection: u32) {
        self.places[connection as usize] = Place::Ready;
        self.ready.push_back(connection);
    }

    /// Whether a connection waits to be served.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
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

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn engine(connections: u32) -> PacingEngine {
        let mut engine = PacingEngine::default();
        (0..connections).for_each(|_| engine.add());
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
                let connection = engine.serve().unwrap();
                engine.put_back(connection);
                connection
            })
            .collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0]);
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
        assert_eq!(engine.serve(), Some(0), "being served is not interrupted");
        assert!(!engine.has_ready() && engine.next_release() == Time::MAX);
    }
}
