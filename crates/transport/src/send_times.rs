//! The earliest of many send times, each in a place of its own.

use incast_cc::Time;

/// The send times of all connections as the leaves of a tree, whose inner nodes have the least time
/// below them. Changing one time goes up as far as it makes a difference; nothing is allocated and
/// nothing goes stale. Of equal times that of the lowest rank comes first.
#[derive(Clone, Debug, Default)]
pub(super) struct SendTimes {
    /// The root is node 1, the children of node n are 2n and 2n + 1, and place i is leaf `leaves + i`.
    tree: Vec<Leaf>,
    /// A power of two.
    leaves: usize,
}

/// From the highest bit: a time, whose it is, and where it is: compared at once.
type Leaf = u128;

const NEVER: Leaf = Leaf::MAX;

#[inline]
fn leaf(time: Time, rank: u32, place: u32) -> Leaf {
    u128::from(time.as_ps()) << 64 | u128::from(rank) << 32 | u128::from(place)
}

impl SendTimes {
    /// Makes room for `place`.
    pub(super) fn reserve(&mut self, place: u32) {
        if (place as usize) < self.leaves {
            return;
        }
        let leaves = (place as usize + 1).next_power_of_two().max(2);
        let mut tree = vec![NEVER; leaves * 2];
        tree[leaves..leaves + self.leaves].copy_from_slice(&self.tree[self.leaves..]);
        for node in (1..leaves).rev() {
            tree[node] = tree[node * 2].min(tree[node * 2 + 1]);
        }
        (self.tree, self.leaves) = (tree, leaves);
    }

    /// The send time of what is at `place` and has this rank, which no other has.
    #[inline]
    pub(super) fn set(&mut self, place: u32, rank: u32, time: Time) {
        self.put(place, leaf(time, rank, place));
    }

    /// What is at `place` has no send time.
    #[inline]
    pub(super) fn clear(&mut self, place: u32) {
        self.put(place, NEVER);
    }

    #[inline]
    fn put(&mut self, place: u32, leaf: Leaf) {
        let tree = &mut self.tree[..self.leaves * 2];
        let mut node = self.leaves + place as usize;
        tree[node] = leaf;
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
        self.tree.get(1).map_or(Time::MAX, |first| Time::from_ps((first >> 64) as u64))
    }

    /// The place of the earliest send time, that of the lowest rank of several; some number when there
    /// is none.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest quarter")]
    pub(super) fn first(&self) -> u32 {
        self.tree.get(1).map_or(0, |&first| first as u32)
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
        times.set(0, 7, Time::ZERO);
        assert_eq!((times.earliest(), times.first()), (Time::ZERO, 0));
    }

    proptest! {
        #[test]
        fn first_is_the_least_time_and_then_the_least_rank(
            changes in prop::collection::vec((0_u32..40, prop::option::of(0_u64..20)), 1..200),
        ) {
            // Ranks that run against the places.
            let rank = |place: u32| 1_000 - place * 3;
            let (mut times, mut plain) = (SendTimes::default(), vec![Time::MAX; 40]);
            for (place, at) in changes {
                let at = at.map(|at| Time::ZERO + Span::from_ns(at));
                times.reserve(place);
                match at {
                    Some(at) => times.set(place, rank(place), at),
                    None => times.clear(place),
                }
                plain[place as usize] = at.unwrap_or(Time::MAX);
                let all = (0_u32..).zip(&plain).map(|(place, &at)| (at, rank(place), place));
                let (at, _, first) = all.min().unwrap();
                prop_assert_eq!(times.earliest(), at);
                prop_assert!(at == Time::MAX || times.first() == first);
            }
        }
    }
}
