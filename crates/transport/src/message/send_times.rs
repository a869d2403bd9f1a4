//! The earliest of many send times, each in a place of its own.

use incast_cc::Time;

/// A tournament over the send times of all connections: every inner node names the earlier of its
/// two children, the lower index winning ties. Changing one time replays the matches on its way up,
/// log2(n) of them; nothing is allocated and nothing goes stale.
#[derive(Clone, Debug, Default)]
pub(super) struct SendTimes {
    /// One per connection, and [`Time::MAX`] for places that are not taken: a power of two of them.
    times: Vec<Time>,
    /// The winner below each inner node; the root is node 1.
    winners: Vec<u32>,
}

impl SendTimes {
    /// Makes room for connection `index`.
    pub(super) fn reserve(&mut self, index: u32) {
        if (index as usize) < self.times.len() {
            return;
        }
        let places = (index as usize + 1).next_power_of_two().max(2);
        self.times.resize(places, Time::MAX);
        self.winners = vec![0; places];
        for node in (1..places).rev() {
            self.winners[node] = self.match_below(node);
        }
    }

    /// The send time of `index` is `time`; [`Time::MAX`] is none.
    #[inline]
    pub(super) fn set(&mut self, index: u32, time: Time) {
        self.times[index as usize] = time;
        // Leaves follow the inner nodes: this one's parent is half its number.
        let mut node = index as usize + self.times.len();
        while node > 1 {
            node /= 2;
            let winner = self.match_below(node);
            let before = std::mem::replace(&mut self.winners[node], winner);
            if before != index && winner != index {
                return; // it lost before and loses now: nothing changes further up
            }
        }
    }

    /// The connection with the earliest send time, if there is one.
    #[inline]
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        let &index = self.winners.get(1)?;
        let time = self.times[index as usize];
        (time < Time::MAX).then_some((time, index))
    }

    /// The earlier of the two children of an inner node.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "connections are numbered in 32 bits")]
    fn match_below(&self, node: usize) -> u32 {
        let (left, leaves) = (node * 2, self.times.len());
        let (left, right) = if left >= leaves {
            ((left - leaves) as u32, (left + 1 - leaves) as u32)
        } else {
            (self.winners[left], self.winners[left + 1])
        };
        let left_wins = self.times[left as usize] <= self.times[right as usize];
        if left_wins { left } else { right }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Span;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_first_of_nothing() {
        let mut times = SendTimes::default();
        assert_eq!(times.first(), None);
        times.reserve(0);
        assert_eq!(times.first(), None);
        times.set(0, Time::ZERO);
        assert_eq!(times.first(), Some((Time::ZERO, 0)));
    }

    proptest! {
        #[test]
        fn first_is_the_least_time_and_then_the_least_index(
            changes in prop::collection::vec((0_u32..40, prop::option::of(0_u64..20)), 1..200),
        ) {
            let (mut times, mut plain) = (SendTimes::default(), vec![Time::MAX; 40]);
            for (index, at) in changes {
                let at = at.map_or(Time::MAX, |at| Time::ZERO + Span::from_ns(at));
                times.reserve(index);
                times.set(index, at);
                plain[index as usize] = at;
                let least = (0_u32..).zip(&plain).map(|(index, &at)| (at, index)).min();
                prop_assert_eq!(times.first(), least.filter(|(at, _)| *at < Time::MAX));
            }
        }
    }
}
