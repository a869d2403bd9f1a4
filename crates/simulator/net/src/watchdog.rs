//! The PFC watchdog of a switch: finds classes of egress ports that a pause has held for too long.
//!
//! A class is held while the far end pauses it and it has something to send. The watchdog looks at
//! regular instants: four times within its patience, so that it sees an overdue hold at most a
//! quarter of its patience late.

use incast_cc::{Span, Time};

/// The watchdog of one switch, and its reports.
#[derive(Debug)]
pub(crate) struct Watchdog {
    after: Span,
    /// Whether the watchdog frees a held class by dropping its packets.
    pub(crate) drops: bool,
    pub(crate) reports: Vec<Held>,
}

/// A class of a port that was held too long. Each pause is reported once.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The moment of the report.
    pub at: Time,
    /// The number of the port.
    pub port: u16,
    /// The number of the class, from 0 for the lowest.
    pub class: u8,
    /// The moment since which a pause has held the class.
    pub since: Time,
    /// The bytes that waited.
    pub bytes: u64,
    /// Whether the watchdog dropped them.
    pub dropped: bool,
}

impl Watchdog {
    pub(crate) const fn new(after: Span, drops: bool) -> Self {
        Self { after, drops, reports: Vec::new() }
    }

    /// The time between two looks.
    pub(crate) fn period(&self) -> Span {
        (self.after / 4).max(Span::from_ps(1))
    }

    /// Whether a hold since `since` is too long.
    pub(crate) fn is_overdue(&self, now: Time, since: Time) -> bool {
        now.since(since) >= self.after
    }
}
