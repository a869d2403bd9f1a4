//! The PFC watchdog of a switch: finds classes of egress ports that a pause has held for too long.
//!
//! A class counts as held while the far end pauses it and it has something to send. The watchdog looks at
//! regular instants, so it sees a hold at the latest a quarter of its patience after that is over.

use incast_cc::{Span, Time};

/// The watchdog of one switch, and what it has seen.
#[derive(Debug)]
pub(crate) struct Watchdog {
    after: Span,
    /// Whether it frees what is held, by dropping it.
    pub(crate) drops: bool,
    pub(crate) reports: Vec<Held>,
}

/// A class of a port that was held too long; each pause is reported once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) at: Time,
    pub(crate) port: u16,
    pub(crate) class: u8,
    pub(crate) since: Time,
    pub(crate) bytes: u64,
    /// Whether the watchdog dropped them.
    pub(crate) dropped: bool,
}

impl Watchdog {
    pub(crate) const fn new(after: Span, drops: bool) -> Self {
        Self { after, drops, reports: Vec::new() }
    }

    /// From one look to the next.
    pub(crate) fn period(&self) -> Span {
        (self.after / 4).max(Span::from_ps(1))
    }

    /// Whether something held since then is held too long.
    pub(crate) fn is_overdue(&self, now: Time, since: Time) -> bool {
        now.since(since) >= self.after
    }
}
