//! The levels of packets: where each packet stands in its message, for algorithms that choose its
//! traffic class by that.

use std::collections::VecDeque;

use incast_cc::{Bytes, Place, Time};

use crate::backlog::Withdrawn;

/// The messages of a flow whose algorithm chooses the class of each packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// The messages that are not acknowledged, and some that are, in the order of posting.
    messages: VecDeque<Posted>,
}

/// A message that was posted.
#[derive(Clone, Copy, Debug)]
struct Posted {
    /// The start in all payload posted.
    start: u64,
    size: Option<Bytes>,
    deadline: Option<Time>,
}

impl Levels {
    /// Notes a message that starts at `start` in all payload posted. All payload before
    /// `acknowledged` is acknowledged.
    pub(crate) fn post(
        &mut self,
        start: u64,
        size: Option<Bytes>,
        deadline: Option<Time>,
        acknowledged: u64,
    ) {
        self.messages.push_back(Posted { start, size, deadline });
        while self.messages.get(1).is_some_and(|second| second.start <= acknowledged) {
            self.messages.pop_front();
        }
    }

    /// Notes that payload of a message was taken back, which was posted before the last `after`
    /// ones.
    pub(crate) fn withdraw(&mut self, after: usize, withdrawn: &Withdrawn) {
        let Some(place) = self.messages.len().checked_sub(after + 1) else { return };
        let &Withdrawn { bytes, is_whole } = withdrawn;
        self.messages.range_mut(place + 1..).for_each(|later| later.start -= bytes.get());
        if is_whole {
            self.messages.remove(place);
        } else {
            let message = &mut self.messages[place];
            message.size = message.size.map(|size| size - bytes);
        }
    }

    /// The place of a packet that starts at `start` in all payload posted. All payload before
    /// `acknowledged` is acknowledged.
    pub(crate) fn place(&self, start: u64, acknowledged: u64) -> Place {
        let later = self.messages.partition_point(|message| message.start <= start);
        // A packet that waited to be sent again may be of a message that is acknowledged, and
        // forgotten. It counts as the first one that is known.
        let Some(message) = self.messages.get(later.saturating_sub(1)) else {
            unreachable!("a packet of a message that was not posted")
        };
        let offset = start.saturating_sub(message.start);
        let mut place = Place::new(Bytes::new(offset), message.size);
        place.start = Bytes::new(start);
        let arrived = Bytes::new(acknowledged.saturating_sub(message.start));
        place.remaining = message.size.map(|size| size.saturating_sub(arrived));
        place.deadline = message.deadline;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stands_in_the_message_that_it_is_of() {
        let (mut levels, due) = (Levels::default(), Time::from_ps(7));
        levels.post(0, Some(Bytes::new(5_000)), None, 0);
        levels.post(5_000, Some(Bytes::new(2_000)), Some(due), 0);
        levels.post(7_000, None, None, 0);
        let place = |start, acknowledged| {
            let Place { offset, size, remaining, deadline, .. } = levels.place(start, acknowledged);
            (offset.get(), size.map(Bytes::get), remaining.map(Bytes::get), deadline)
        };
        assert_eq!(place(4_000, 1_000), (4_000, Some(5_000), Some(4_000), None));
        assert_eq!(place(5_000, 1_000), (0, Some(2_000), Some(2_000), Some(due)));
        assert_eq!(place(6_000, 5_500), (1_000, Some(2_000), Some(1_500), Some(due)));
        assert_eq!(place(9_000, 7_500), (2_000, None, None, None));
        levels.withdraw(1, &Withdrawn { bytes: Bytes::new(500), is_whole: false });
        levels.withdraw(2, &Withdrawn { bytes: Bytes::new(5_000), is_whole: true });
        let place = |start| {
            let Place { offset, size, .. } = levels.place(start, 0);
            (offset.get(), size.map(Bytes::get))
        };
        assert_eq!((place(1_499), place(1_500)), ((1_499, Some(1_500)), (0, None)));
    }

    #[test]
    fn a_packet_of_a_message_that_is_forgotten_stands_at_the_beginning_of_the_next() {
        let mut levels = Levels::default();
        levels.post(0, Some(Bytes::new(5_000)), None, 0);
        levels.post(5_000, Some(Bytes::new(2_000)), None, 5_000);
        assert_eq!(levels.place(4_000, 5_000).offset, Bytes::ZERO);
    }

    #[test]
    fn what_is_acknowledged_is_forgotten_when_more_is_posted() {
        let mut levels = Levels::default();
        for message in 0..100 {
            let acknowledged = message * 1_000_u64.saturating_sub(2);
            levels.post(message * 1_000, Some(Bytes::from_kb(1)), None, acknowledged);
            assert!(levels.messages.len() <= 2, "{levels:?}");
        }
    }
}
