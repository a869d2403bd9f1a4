//! Recovery: at most one reaction per window of data.

use crate::contract::Loss;
use crate::units::Bytes;

/// Lets one congestion signal per window through: signals about data sent before the last reaction
/// tell of the same congestion and are ignored. Counts in transmission order, which does not tie as
/// clocks do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryGate {
    /// The transmission that was next at the last reaction.
    reacted_at: Bytes,
}

impl RecoveryGate {
    /// Whether a signal about data that ends at `end`, when `next` is next to be sent, is the first
    /// of its window.
    pub fn enter(&mut self, end: Bytes, next: Bytes) -> bool {
        let first = self.is_over(end);
        if first {
            self.reacted_at = next;
        }
        first
    }

    /// [`enter`](Self::enter) for a loss.
    pub fn enter_loss(&mut self, loss: &Loss) -> bool {
        self.enter(loss.end, loss.next)
    }

    /// Takes all that was sent before `next` for answered.
    pub fn close(&mut self, next: Bytes) {
        self.reacted_at = self.reacted_at.max(next);
    }

    /// Whether data that ends at `end` was sent after the last reaction.
    pub fn is_over(&self, end: Bytes) -> bool {
        end > self.reacted_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossCause, Time};

    #[test]
    fn one_reaction_per_window() {
        let loss = |end, next| {
            let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1), LossCause::Detected);
            (loss.end, loss.next) = (Bytes::new(end), Bytes::new(next));
            loss
        };
        let mut gate = RecoveryGate::default();
        assert!(gate.enter_loss(&loss(10, 100)));
        assert!(!gate.enter_loss(&loss(20, 110)), "sent before the reaction");
        assert!(!gate.enter_loss(&loss(100, 120)), "the last byte before the reaction");
        assert!(gate.is_over(Bytes::new(101)) && !gate.is_over(Bytes::new(100)));
        assert!(gate.enter_loss(&loss(101, 200)));
    }
}
