//! The earliest of many send times, each in a place of its own.

use incast_cc::Time;

/// The send times of all connections as the leaves of a tree, whose inner nodes have the least time
/// below them. Changing one time goes up as far as it makes a difference; nothing is allocated and
/// nothing goes stale.
#[derive(Clone, Debug, Default)]
pub(super) struct SendTimes {
    /// The root is node 1, the children of node n are 2n and 2n + 1, and connection i is leaf
    /// `leaves + i`. Places that are not taken have [`Time::MAX`].
    tree: Vec<Time>,
    /// A power of two.
    leaves: usize,
}

impl SendTimes {
    /// Makes room for connection `index`.
    pub(super) fn reserve(&mut self, index: u32) {
        if (index as usize) < self.leaves {
            return;
        }
        let leaves = (index as usize + 1).next_power_of_two().max(2);
        let mut tree = vec![Time::MAX; leaves * 2];
        tree[leaves..leaves + self.leaves].copy_from_slice(&self.tree[self.leaves..]);
        for node in (1..leaves).rev() {
            tree[node] = tree[node * 2].min(tree[node * 2 + 1]);
        }
        (self.tree, self.leaves) = (tree, leaves);
    }

    /// The send time of `index` is `time`; [`Time::MAX`] is none.
    #[inline]
    pub(super) fn set(&mut self, index: u32, time: Time) {
        let tree = &mut self.tree[..self.leaves * 2];
        let mut node = self.leaves + index as usize;
        tree[node] = time;
        while node > 1 {
            let least = tree[node].min(tree[node ^ 1]);
            node /= 2;
            if tree[node] == least {
                return;
            }
            tree[node] = least;
        }
    }

    /// The earliest send time, [`Time::MAX`] when there is none.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.tree.get(1).copied().unwrap_or(Time::MAX)
    }

    /// The connection with the earliest send time, the lowest of several; some connection when there
    /// is none.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "connections are numbered in 32 bits")]
    pub(super) fn first(&self) -> u32 {
        let (earliest, mut node) = (self.earliest(), 1);
        while node < self.leaves {
            node = node * 2 + usize::from(self.tree[node * 2] != earliest);
        }
        (node - self.leaves) as u32
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
        assert_eq!(times.earliest(), Time::MAX);
        times.reserve(0);
        assert_eq!(times.earliest(), Time::MAX);
        times.set(0, Time::ZERO);
        assert_eq!((times.earliest(), times.first()), (Time::ZERO, 0));
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
                let (at, first) = (0_u32..).zip(&plain).map(|(i, &at)| (at, i)).min().unwrap();
                prop_assert_eq!(times.earliest(), at);
                prop_assert!(at == Time::MAX || times.first() == first);
            }
        }
    }
}
