//! The times at which a node looks at its peers by itself.

use incast_cc::{Span, Time};

/// The times of the next looks; all are due at first.
#[derive(Debug)]
pub(super) struct Timers {
    /// The time of the next look at silent peers, handshakes and calls whose time is over.
    look: Time,
    /// The time of the next look at the progress of peers.
    progress: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { look: Time::ZERO, progress: Time::ZERO }
    }
}

impl Timers {
    /// The time of the next look at silent peers.
    pub(super) const fn next_look(&self) -> Time {
        self.look
    }

    /// Makes sure that the next look at silent peers is no later than a time.
    pub(super) fn look_by(&mut self, at: Time) {
        self.look = self.look.min(at);
    }

    /// Whether a look at silent peers is due; the next one is after `between`.
    pub(super) fn take_look(&mut self, now: Time, between: Span) -> bool {
        take(&mut self.look, now, between)
    }

    /// Whether a look at the progress of peers is due; the next one is after `between`.
    pub(super) fn take_progress(&mut self, now: Time, between: Span) -> bool {
        take(&mut self.progress, now, between)
    }
}

fn take(at: &mut Time, now: Time, between: Span) -> bool {
    let is_due = now >= *at;
    if is_due {
        *at = now + between;
    }
    is_due
}
