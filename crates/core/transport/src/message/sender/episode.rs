//! The repair of losses, from the first segment that loses something until all are complete.

use crate::rate::Transmission;

/// The repair that is going on: the segments that it concerns, and whether anything was really
/// lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Episode {
    /// Unacknowledged segments that have lost something.
    damaged: u32,
    /// Whether a timeout has declared losses, which ends a recovery episode and opens none.
    timed_out: bool,
    /// Whether anything was really lost: the receiver has missed a packet, or a segment was
    /// complete only when all of it had been sent again.
    genuine: bool,
    /// Data that was declared lost and has arrived nevertheless.
    arrived: Option<Transmission>,
}

impl Episode {
    /// Whether losses are being repaired.
    pub(super) fn is_open(self) -> bool {
        self.damaged > 0
    }

    /// Whether losses are being repaired that were detected, not timed out.
    pub(super) fn is_recovery(self) -> bool {
        self.damaged > 0 && !self.timed_out
    }

    /// Counts a segment that loses something for the first time.
    pub(super) fn damage(&mut self) {
        self.damaged += 1;
    }

    /// Notes that the receiver misses packets.
    pub(super) fn miss(&mut self) {
        self.genuine = self.is_open();
    }

    /// Notes that a timeout has declared everything lost that was out.
    pub(super) fn time_out(&mut self) {
        self.timed_out = self.is_open();
    }

    /// Takes back a segment that a false timeout had declared lost.
    pub(super) fn restore(&mut self) {
        self.damaged -= 1;
        self.close_if_over();
    }

    /// Counts a segment with losses as complete; `arrived` is the part of it that was declared lost
    /// and never sent again. Returns all such data if the segment was the last one and nothing was
    /// really lost in the whole episode. One real loss is enough for the reduction to stand.
    pub(super) fn repair(&mut self, arrived: Option<Transmission>) -> Option<Transmission> {
        self.damaged -= 1;
        match (arrived, &mut self.arrived) {
            (None, _) => self.genuine = true,
            (Some(sent), None) => self.arrived = Some(sent),
            (Some(sent), Some(all)) => all.join(sent),
        }
        let all = self.arrived.filter(|_| !self.genuine && self.damaged == 0);
        self.close_if_over();
        all
    }

    fn close_if_over(&mut self) {
        if self.damaged == 0 {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::Bytes;

    use super::*;

    fn sent(first: u64, end: u64) -> Transmission {
        let mut sent = Transmission::default();
        (sent.first, sent.end) = (Bytes::new(first), Bytes::new(end));
        sent.of(end - first)
    }

    fn damaged(segments: u32) -> Episode {
        let mut episode = Episode::default();
        (0..segments).for_each(|_| episode.damage());
        episode
    }

    #[test]
    fn an_episode_without_a_loss_is_told_at_its_end() {
        let mut episode = damaged(2);
        assert!(episode.repair(Some(sent(0, 10))).is_none() && episode.is_recovery());
        let all = episode.repair(Some(sent(20, 25))).unwrap();
        assert_eq!((all.first, all.end, all.bytes), (Bytes::ZERO, Bytes::new(25), Bytes::new(15)));
        assert!(!episode.is_open());
    }

    #[test]
    fn one_loss_makes_the_episode_genuine() {
        let mut episode = damaged(2);
        episode.repair(None);
        assert!(episode.repair(Some(sent(0, 10))).is_none(), "a segment was sent again");
        let mut episode = damaged(1);
        episode.miss();
        assert!(episode.repair(Some(sent(0, 10))).is_none(), "the receiver missed a packet");
        // The next episode is one of its own.
        episode.damage();
        assert!(episode.repair(Some(sent(20, 30))).is_some());
    }

    #[test]
    fn a_timeout_opens_no_recovery() {
        let mut episode = damaged(1);
        episode.time_out();
        assert!(episode.is_open() && !episode.is_recovery());
        episode.restore();
        assert!(!episode.is_open());
        episode.time_out();
        episode.damage();
        assert!(episode.is_recovery(), "nothing was out");
    }
}
