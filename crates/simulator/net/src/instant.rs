//! The rules for reading the books of a switch, as types.
//!
//! A busy port puts waiting packets on its link ahead of time. Until its transmission starts, such
//! a packet counts as waiting. The books learn of its start only when somebody asks. So:
//!
//! * [`Instant`] says what time it is, and how far the order of events at that instant has got. It
//!   cannot be made without a [`Turn`].
//! * `Ports` gives access to a port only for a [`Current`], the proof that the port's books were
//!   brought up to date at this instant. `Switch::catch_up` makes it. It cannot be kept for another
//!   instant.
//! * [`AllCurrent`] is the proof for all ports. The shared buffer asks for it before it decides to
//!   the byte.
//! * [`NeedsEvent`] comes from taking packets back from a link. Only an event of the port settles
//!   it.

use std::marker::PhantomData;

use incast_cc::Time;

/// The events of a switch at one instant, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// Events of the switch as a whole: they come before all ports.
    Whole,
    /// The event of a port, by its number: ports follow each other.
    Port(u16),
    /// Arrivals: they come after all ports.
    Arrivals,
}

/// The time of an event, and how far the order of events at that instant has got.
#[derive(Debug)]
pub(crate) struct Instant {
    /// The time.
    pub(crate) now: Time,
    /// The ports that have had their turn: all below this number.
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

    /// States that the books of a port are up to date. For `Switch::catch_up` alone.
    #[expect(clippy::unused_self, reason = "the proof cannot outlive the instant")]
    #[inline]
    pub(crate) const fn vouch(&self, port: u16) -> Current<'_> {
        Current { port, instant: PhantomData }
    }

    /// States that the books of all ports are up to date. For `Switch::catch_up_all` alone.
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

/// The proof that the books of all ports, and so of the buffer, are up to date at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllCurrent<'i> {
    instant: PhantomData<&'i Instant>,
}

#[cfg(test)]
impl AllCurrent<'static> {
    /// The proof for a buffer without ports, in tests.
    pub(crate) const WITHOUT_PORTS: Self = Self { instant: PhantomData };
}

/// The need for an event, after packets were taken back from a link: without an event they would
/// stay until something else comes.
#[must_use = "what was taken back stays until the port has an event: call `send` or `wait`"]
#[derive(Debug)]
pub(crate) struct NeedsEvent(());

impl NeedsEvent {
    /// The need for an event. For `Port::take_back` alone.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(())
    }

    /// Settles the need: the port has been asked for its event.
    #[inline]
    pub(crate) const fn met_by(self, event: HasEvent) {
        let (Self(()), HasEvent(())) = (self, event);
    }

    /// Drops the need at the end of the run, where no event follows.
    #[inline]
    pub(crate) const fn ends(self) {
        let Self(()) = self;
    }
}

/// The statement that a port has an event if there is anything to do. For `Switch::wait` alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HasEvent(pub(crate) ());
