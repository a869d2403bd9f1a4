//! The plan of packets that have left ahead of their send times.

use incast_cc::Time;

use super::{Entry, PacingEngine, State, Turn};

/// The packets that have left ahead of their send times, each of which waited for the earliest: a
/// connection that sends before the last of them changes the order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// The last send time.
    until: Time,
    /// The class of the packets, if there are any.
    class: Option<u8>,
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

    /// Whether a packet of `class` may follow those of the plan.
    #[inline]
    pub(crate) fn may_plan(&self, class: u8) -> bool {
        self.plan.class.is_none_or(|of_plan| of_plan == class)
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
        (self.plan.until, self.plan.class) = (at, Some(self.places[first as usize].class));
        self.waiting.postpone_first(next);
    }

    /// Plans the packet of the connection that is ready and served next. It sends again at `next`.
    /// Returns the time since which the packet has waited.
    #[inline]
    pub(crate) fn plan_ready(&mut self, connection: u32, next: Time) -> Time {
        debug_assert_eq!(self.head(), Some(connection), "it is served next");
        let Entry { class, rank, since, .. } = self.places[connection as usize];
        (self.plan.until, self.plan.class) = (self.plan.until.max(since), Some(class));
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
