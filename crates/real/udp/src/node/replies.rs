//! The replies to the calls of a peer: those that the peer does not have yet, and those that are not
//! sent since their callers do not wait for them.

use std::collections::{BTreeMap, VecDeque};

/// The most cancelled calls that are remembered. The replies to earlier ones are sent, and nobody
/// waits for them. A call may be among them whose reply the peer has got just before; nothing is
/// kept of answered calls.
const MOST: usize = 256;

/// The place of a reply: its lane, and its number there.
type Posted = (usize, u64);

/// The replies to a peer, by the numbers of its calls.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// The places of those that were posted and are not acknowledged, so that the end of a call
    /// takes no search among all that waits. The peer chooses the numbers.
    posted: BTreeMap<u64, Posted>,
    /// The calls that were cancelled before they were answered, the oldest first.
    cancelled: VecDeque<u64>,
}

impl Replies {
    /// Notes the place of the reply to a call.
    pub(super) fn post(&mut self, call: u64, place: Posted) {
        self.posted.insert(call, place);
    }

    /// Forgets a reply, which the peer has.
    pub(super) fn acknowledged(&mut self, call: u64) {
        self.posted.remove(&call);
    }

    /// Ends a call; returns the place of its reply, which is forgotten, or remembers the call.
    pub(super) fn cancel(&mut self, call: u64) -> Option<Posted> {
        let place = self.posted.remove(&call);
        if place.is_none() {
            if self.cancelled.len() == MOST {
                self.cancelled.pop_front();
            }
            self.cancelled.push_back(call);
        }
        place
    }

    /// Forgets a call that was cancelled, which is answered; returns whether it was.
    pub(super) fn was_cancelled(&mut self, call: u64) -> bool {
        let place = self.cancelled.iter().position(|&cancelled| cancelled == call);
        place.is_some_and(|place| self.cancelled.remove(place).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cancelled_call_is_told_once_and_the_oldest_are_forgotten() {
        let mut replies = Replies::default();
        assert!((0..MOST as u64 + 2).all(|call| replies.cancel(call).is_none()));
        assert!(!replies.was_cancelled(1), "forgotten");
        assert!(replies.was_cancelled(2) && replies.was_cancelled(MOST as u64 + 1));
        assert!(!replies.was_cancelled(2), "answered");
    }

    #[test]
    fn a_reply_is_found_until_the_peer_has_it_or_its_call_ends() {
        let mut replies = Replies::default();
        for call in 0..3 {
            replies.post(call, (1, call + 10));
        }
        replies.acknowledged(0);
        assert_eq!([0, 1].map(|call| replies.cancel(call)), [None, Some((1, 11))]);
        assert!(replies.was_cancelled(0) && !replies.was_cancelled(1));
        assert_eq!(replies.cancel(1), None, "withdrawn");
        assert_eq!(replies.posted.len(), 1);
    }
}
