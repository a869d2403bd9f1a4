//! Counting round trips without a timer.

use crate::units::Bytes;

/// A round ends when data that was sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCounter {
    /// The transmission that was next when the round started.
    started_at: Bytes,
    count: u64,
}

impl RoundCounter {
    /// Takes in an ACK for data that ends at `end` in transmission order, when `next` is next to be
    /// sent, and returns the number of rounds that have ended.
    pub fn on_ack(&mut self, end: Bytes, next: Bytes) -> u64 {
        if end > self.started_at {
            self.count += 1;
            self.started_at = next;
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_takes_one_window() {
        let mut round = RoundCounter::default();
        let mut ack = |end, next| round.on_ack(Bytes::new(end), Bytes::new(next));
        assert_eq!(ack(1, 20), 1);
        assert_eq!(ack(5, 25), 1, "sent in the first round");
        assert_eq!(ack(20, 39), 1, "the last one of it");
        assert_eq!(ack(21, 40), 2, "sent when the second round began");
    }
}
