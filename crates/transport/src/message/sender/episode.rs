//! The repair of losses, from the first segment that loses something until none is incomplete.

use crate::rate::Transmission;

/// Segments that have lost something and are not acknowledged, and whether anything was lost indeed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Episode {
    damaged: u32,
    /// Whether a timeout has declared them lost: it ends a recovery episode, and opens none.
    timed_out: bool,
    /// Whether the receiver has missed a packet, or a segment was complete only when all of it had been sent again.
    genuine: bool,
    /// The data that was declared lost and has arrived nevertheless.
    arrived: Option<Transmission>,
}

impl Episode {
    /// Whether losses are being repaired.
    pub(super) fn is_open(self) -> bool {
        self.damaged > 0
    }

    /// Whether losses that were detected, not timed out, are being repaired.
    pub(super) fn is_recovery(self) -> bool {
        self.damaged > 0 && !self.timed_out
    }

    /// A segment loses something for the first time.
    pub(super) fn damage(&mut self) {
        self.damaged += 1;
    }

    /// The receiver misses packets.
    pub(super) fn miss(&mut self) {
        self.genuine = self.is_open();
    }

    /// A timeout has declared lost whatever was out.
    pub(super) fn time_out(&mut self) {
        self.timed_out = self.is_open();
    }

    /// A timeout was false, and a segment that it had declared lost is out again.
    pub(super) fn restore(&mut self) {
        self.damaged -= 1;
        self.close_if_over();
    }

    /// A segment that had lost something is complete; `arrived` is what was declared lost of it and never sent
    /// again. Returns all such data if the segment was the last one and nothing was lost in the whole episode:
    /// a reduction for what did get lost stands, whatever else was declared lost with it.
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
