//! The rules for reading the books of a switch, as types.
//!
//! A busy port puts waiting packets on its link ahead of time. Until such a packet starts it counts
//! as waiting, and the books learn of its start only when somebody asks. So:
//!
//! * [`Instant`] says what time it is and how far the order of that instant has got. It cannot be
//!   made without a [`Turn`].
//! * `Ports` hands out a port for [`Current`] alone, the proof that its books were brought up to
//!   date in this instant. `Switch::catch_up` makes it. It cannot be kept for another instant.
//! * [`AllCurrent`] is the proof for all ports, which the shared buffer asks for before it decides
//!   to the byte.
//! * [`NeedsEvent`] comes from taking packets back from a link. It is met by an event of the port.

use std::marker::PhantomData;

use incast_cc::Time;

/// The events of a switch at one instant, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// Events of the switch as a whole: before those of all ports.
    Whole,
    /// The event of a port, by its number: ports follow each other.
    Port(u16),
    /// Arrivals: after all ports.
    Arrivals,
}

/// The time of an event, and how far the order of that instant has got.
#[derive(Debug)]
pub(crate) struct Instant {
    /// The time.
    pub(crate) now: Time,
    /// Ports below this number have had their turn.
    turn: usize,
}

impl Instant {
    #[inline]
    pub(crate) const fn new(now: Time, turn: Turn) -> Self {
        let turn = match turn {
            Turn::Whole => 0,
            Turn::Port(port) => port as usize + 1,
            Turn::Arrivals => usize::MAX,
        };
        Self { now, turn }
    }

    /// The time before which packets on the link of a port have started.
    #[inline]
    pub(crate) fn until(&self, port: u16) -> Time {
        let has_had_its_turn = (port as usize) < self.turn;
        Time::from_ps(self.now.as_ps() + u64::from(has_had_its_turn))
    }

    /// States that the books of a port are up to date. Only `Switch::catch_up` may.
    #[expect(clippy::unused_self, reason = "the proof cannot outlive the instant")]
    #[inline]
    pub(crate) const fn vouch(&self, port: u16) -> Current<'_> {
        Current { port, instant: PhantomData }
    }

    /// States the same of all ports. Only `Switch::catch_up_all` may.
    #[expect(clippy::unused_self, reason = "the proof cannot outlive the instant")]
    #[inline]
    pub(crate) const fn vouch_for_all(&self) -> AllCurrent<'_> {
        AllCurrent { instant: PhantomData }
    }
}

/// A port whose books are up to date at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current<'i> {
    port: u16,
    instant: PhantomData<&'i Instant>,
}

impl Current<'_> {
    /// The port's number.
    #[inline]
    pub(crate) const fn number(self) -> u16 {
        self.port
    }
}

/// The proof that the books of all ports, and so those of the buffer, are up to date at this
/// instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllCurrent<'i> {
    instant: PhantomData<&'i Instant>,
}

#[cfg(test)]
impl AllCurrent<'static> {
    /// For tests of a buffer without ports.
    pub(crate) const WITHOUT_PORTS: Self = Self { instant: PhantomData };
}

/// The need of an event, which packets have that were taken back from a link: without one they stay
/// until something else comes.
#[must_use = "what was taken back stays until the port has an event: call `send` or `wait`"]
#[derive(Debug)]
pub(crate) struct NeedsEvent(());

impl NeedsEvent {
    /// For `Port::take_back` alone.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(())
    }

    /// The port has been asked for the event.
    #[inline]
    pub(crate) const fn met_by(self, event: HasEvent) {
        let (Self(()), HasEvent(())) = (self, event);
    }

    /// The run is over: no event follows.
    #[inline]
    pub(crate) const fn ends(self) {
        let Self(()) = self;
    }
}

/// The statement that a port has an event if there is anything to do. For `Switch::wait` alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HasEvent(pub(crate) ());
