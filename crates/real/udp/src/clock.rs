//! The clocks of a node: one for its transport, and the system's for timestamps.

use std::time::{Duration, Instant};

use incast_cc::{Span, Time};

use crate::socket::Stamp;

/// A duration on a node's clock.
pub(crate) fn span(time: Duration) -> Span {
    // Times count picoseconds in 64 bits.
    Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4_000))
}

/// The clocks of a node. Both count from the same instant, the start of the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// The start by the system's clock, in nanoseconds since 1970.
    start_ns: u64,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), start_ns: Stamp::now().ns }
    }

    /// A clock that started so long ago.
    #[cfg(test)]
    pub(crate) fn started_before(time: Duration) -> Self {
        let ns = u64::try_from(time.as_nanos()).unwrap();
        Self { start: Instant::now().checked_sub(time).unwrap(), start_ns: Stamp::now().ns - ns }
    }

    /// The time since the start. It never goes back.
    pub(crate) fn now(&self) -> Time {
        let elapsed = self.start.elapsed();
        Time::ZERO + Span::from_ns(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX / 1_000))
    }

    /// The instant from which times count.
    pub(crate) const fn start(&self) -> Instant {
        self.start
    }

    /// The instant of a time.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.since(Time::ZERO).as_ns())
    }

    /// The time of a stamp; [`None`] for stamps from before the start (the system's clock was set
    /// back).
    pub(crate) fn stamped(&self, stamp: Stamp) -> Option<Time> {
        let since = stamp.ns.checked_sub(self.start_ns)?;
        // Times count picoseconds in 64 bits, half a year.
        let fits = since < u64::MAX / 1_000;
        fits.then(|| Time::ZERO + Span::from_ns(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_and_times_count_from_the_same_instant() {
        let clock = Clock::new();
        let stamp = Stamp::now();
        let (stamped, now) = (clock.stamped(stamp).unwrap(), clock.now());
        let apart = if stamped > now { stamped.since(now) } else { now.since(stamped) };
        assert!(apart < Span::from_ms(50), "{apart:?}");
        assert_eq!(clock.stamped(Stamp { ns: 5 }), None);
    }
}
