//! The plan of packets that have left ahead of their send times.

use incast_cc::Time;

use super::{Entry, PacingEngine, State, Turn};

/// The packets that have left ahead of their send times, each of which waited for the earliest: a
/// connection that sends before the last of them changes the order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// The last send time.
    until: Time,
    /// Whether a connection sends earlier.
    is_broken: bool,
}

impl Plan {
    /// Notes that a connection has got a send time.
    #[inline]
    pub(super) fn note(&mut self, at: Time) {
        self.is_broken |= at <= self.until;
    }
}

impl PacingEngine {
    /// Begins a plan without packets.
    #[inline]
    pub(crate) fn begin_plan(&mut self) {
        self.plan = Plan::default();
    }

    /// Whether a packet that waits for the NIC from `at` to `start` is the next: until then, one of a
    /// higher class would overtake it.
    #[inline]
    pub(crate) fn may_plan(&self, at: Time, start: Time) -> bool {
        start == at || self.classes.is_power_of_two()
    }

    /// Whether a connection has got a send time before the last of the plan.
    #[inline]
    pub(crate) fn breaks_plan(&self) -> bool {
        self.plan.is_broken
    }

    /// The first connection that waits, and its send time; any number and [`Time::MAX`] where none
    /// does.
    #[inline]
    pub(crate) fn first_waiting(&self) -> (u32, Time) {
        (self.waiting.first(), self.waiting.earliest())
    }

    /// Plans the packet of the first connection that waits, whose send time is `at`. It sends again
    /// at `next`, which is later.
    #[inline]
    pub(crate) fn plan_first(&mut self, at: Time, next: Time) {
        let first = self.waiting.first();
        debug_assert!(self.occupied == 0 && self.places[first as usize].state == State::Waiting);
        debug_assert!(self.plan.until <= at && at < next);
        self.plan.until = at;
        self.waiting.postpone_first(next);
    }

    /// Plans the packet of the connection that is ready and served next. It sends again at `next`.
    /// Returns the time since which the packet has waited.
    #[inline]
    pub(crate) fn plan_ready(&mut self, connection: u32, next: Time) -> Time {
        debug_assert_eq!(self.head(), Some(connection), "it is served next");
        let Entry { class, rank, since, .. } = self.places[connection as usize];
        self.plan.until = self.plan.until.max(since);
        self.sent(class, 0, Turn::Ended);
        self.places[connection as usize].state = State::Waiting;
        self.waiting.add(connection, rank, next);
        since
    }

    /// Takes the last packet out of the plan, of a connection whose send time was `at`.
    pub(crate) fn take_from_plan(&mut self, now: Time, connection: u32, at: Time) {
        let Entry { state, rank, since, .. } = &mut self.places[connection as usize];
        debug_assert!(*state == State::Waiting, "it waits for its next packet");
        if at < now {
            *since = at;
            self.put_first(connection);
        } else {
            self.waiting.clear(connection);
            self.waiting.add(connection, *rank, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::Span;

    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Three connections of one class. Packets of the first two are planned for 10 and 12 us.
    fn planned() -> PacingEngine {
        let mut engine = PacingEngine::default();
        (0..3).for_each(|place| engine.put(place, place, 0));
        engine.schedule(0, Some(at(10)));
        engine.schedule(1, Some(at(12)));
        engine.begin_plan();
        for (place, now, next) in [(0, 10, 14), (1, 12, 20)] {
            assert_eq!(engine.first_waiting(), (place, at(now)));
            engine.plan_first(at(now), at(next));
        }
        assert_eq!(engine.first_waiting(), (0, at(14)));
        engine
    }

    #[test]
    fn only_an_earlier_send_time_breaks_a_plan() {
        let mut engine = planned();
        engine.schedule(2, Some(at(13)));
        assert!(!engine.breaks_plan(), "it comes after the last packet");
        engine.schedule(2, Some(at(11)));
        assert!(engine.breaks_plan());
        engine.begin_plan();
        assert!(!engine.breaks_plan());
    }

    #[test]
    fn packets_that_are_taken_back_wait_for_their_own_send_times() {
        let mut engine = planned();
        engine.schedule(2, Some(at(11)));
        for (place, send_time) in [(1, 12), (0, 10)] {
            engine.take_from_plan(at(9), place, at(send_time));
        }
        let released = [(); 4].map(|()| engine.release(at(12)));
        assert_eq!(released, [Some((0, at(10))), Some((2, at(11))), Some((1, at(12))), None]);
    }

    #[test]
    fn packets_that_waited_for_the_nic_are_ready_when_they_are_taken_back() {
        let mut engine = planned();
        for (place, send_time) in [(1, 12), (0, 10)] {
            engine.take_from_plan(at(13), place, at(send_time));
        }
        assert_eq!(engine.next_release(), Time::MAX);
        for (place, send_time) in [(0, 10), (1, 12)] {
            assert_eq!((engine.head(), engine.waits_since(0)), (Some(place), Some(at(send_time))));
            engine.sent(0, 0, Turn::Ended);
        }
    }

    #[test]
    fn a_packet_that_another_class_may_overtake_is_not_planned() {
        let mut engine = planned();
        assert!(engine.may_plan(at(1), at(2)));
        engine.put(3, 3, 1);
        assert!(engine.may_plan(at(2), at(2)) && !engine.may_plan(at(1), at(2)));
    }
}
