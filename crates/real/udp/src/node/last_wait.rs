//! The last wait of a node, by which it goes on looking at its socket before it sleeps.
//!
//! A sleep costs the time in which the machine wakes a thread up, tens of microseconds, at either
//! end of a call. So a node to which a short message came after a short wait expects that the next
//! one does, too, and looks for as long as it spins before a send time
//! ([`Waiting::Sleep`](crate::Waiting)). After a longer wait, and while nothing but long messages
//! and their acknowledgements come, it sleeps at once.

use std::time::Duration;

use incast_cc::Time;

use crate::clock::span;

/// The wait of a node, from its last send or arrival until something comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastWait {
    /// The begin of the wait; [`None`] while there is something to do.
    since: Option<Time>,
    /// The begin of the last wait, until something has come of what ended it.
    before: Option<Time>,
    /// Whether the last wait was as short as a node lingers, and a short message ended it.
    was_short: bool,
}

impl LastWait {
    /// Takes note that something was sent: a wait begins anew.
    pub(super) const fn sent(&mut self) {
        self.since = None;
    }

    /// Takes note that something has come.
    pub(super) const fn came(&mut self) {
        self.before = self.since.take();
        self.was_short = false;
    }

    /// Takes note that a short message is among what has come, at the time of its stamp: until then
    /// the node has waited for it, and from then on for a processor.
    pub(super) fn came_short(&mut self, at: Time, most: Duration) {
        if let Some(since) = self.before.take() {
            self.was_short = at.max(since).since(since) <= span(most);
        }
    }

    /// Whether a node that has nothing to do goes on looking.
    pub(super) fn goes_on(&mut self, now: Time, most: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        self.was_short && now.since(since) < span(most)
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::Span;

    use super::*;

    #[test]
    fn a_node_lingers_after_a_short_wait_and_sleeps_at_once_after_a_long_one() {
        let most = Duration::from_micros(60);
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut wait = LastWait::default();
        let comes = |wait: &mut LastWait, time| {
            wait.came();
            wait.came_short(time, most);
        };
        assert!(!wait.goes_on(at(0), most), "nothing is known");
        comes(&mut wait, at(50));
        assert!(wait.goes_on(at(51), most));
        assert!(wait.goes_on(at(110), most));
        assert!(!wait.goes_on(at(111), most), "for 60 us");
        comes(&mut wait, at(300));
        assert!(!wait.goes_on(at(301), most), "that was long");
        // An answer soon after a send is a short wait, however long nothing came before.
        wait.sent();
        assert!(!wait.goes_on(at(5_000), most));
        comes(&mut wait, at(5_020));
        assert!(wait.goes_on(at(5_030), most));
        assert!(!wait.goes_on(at(5_040), Duration::ZERO), "a node that never spins");
        wait.came();
        assert!(!wait.goes_on(at(5_050), most), "no short message came");
    }
}
