//! The calls that a peer has cancelled before they were answered.

use std::collections::VecDeque;

/// The most calls that are remembered. The replies to earlier ones are sent, and nobody waits for
/// them.
const MOST: usize = 256;

/// The numbers of cancelled calls, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Cancelled(VecDeque<u64>);

impl Cancelled {
    /// Remembers a call.
    pub(super) fn add(&mut self, call: u64) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    /// Forgets a call, which is answered; returns whether it was cancelled.
    pub(super) fn take(&mut self, call: u64) -> bool {
        let place = self.0.iter().position(|&cancelled| cancelled == call);
        place.is_some_and(|place| self.0.remove(place).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_taken_once_and_the_oldest_are_forgotten() {
        let mut cancelled = Cancelled::default();
        (0..MOST as u64 + 2).for_each(|call| cancelled.add(call));
        assert!(!cancelled.take(1), "forgotten");
        assert!(cancelled.take(2) && cancelled.take(MOST as u64 + 1));
        assert!(!cancelled.take(2), "answered");
    }
}
