//! A priority queue of send times, at most one for each place.

use incast_cc::Time;

/// The send times of places. The earliest few are sorted. The others are the leaves of a tree,
/// whose inner nodes have the least time below them: a change of a leaf goes up as far as it makes
/// a difference. Nothing is allocated and nothing goes stale. Of equal times that of the lowest
/// rank comes first.
///
/// As a rule few connections of a host wait at once, and the tree is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct SendTimes {
    /// The earliest times, the earliest of all last. Those in the tree are later.
    near: [Leaf; NEAR],
    /// The number of times in `near`; zero only if the tree is empty, too.
    count: usize,
    /// The tree: the root is node 1, the children of node n are 2n and 2n + 1, and place i is leaf
    /// `leaves + i`.
    tree: Vec<Leaf>,
    /// The number of leaves, a power of two.
    leaves: usize,
}

/// The number of times that are kept out of the tree.
const NEAR: usize = 8;

/// A time, a rank and a place, from the highest bit, so that one comparison orders them.
type Leaf = u128;

const NEVER: Leaf = Leaf::MAX;

#[inline]
fn leaf(time: Time, rank: u32, place: u32) -> Leaf {
    u128::from(time.as_ps()) << 64 | u128::from(rank) << 32 | u128::from(place)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lowest quarter")]
const fn place_of(leaf: Leaf) -> u32 {
    leaf as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the second quarter")]
const fn rank_of(leaf: Leaf) -> u32 {
    (leaf >> 32) as u32
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

    /// Adds the send time of `place`, which has none, with a rank that no other place has.
    #[inline]
    pub(super) fn add(&mut self, place: u32, rank: u32, time: Time) {
        let leaf = leaf(time, rank, place);
        if self.count > 0 && leaf > self.near[0] && (self.count == NEAR || self.tree[1] != NEVER) {
            return self.put(place, leaf);
        }
        if self.count == NEAR {
            self.put(place_of(self.near[0]), self.near[0]);
            self.remove(0);
        }
        self.insert(leaf);
    }

    /// Removes the send time of `place`, if it has one.
    pub(super) fn clear(&mut self, place: u32) {
        let near = self.near[..self.count].iter().position(|&leaf| place_of(leaf) == place);
        match near {
            Some(at) => self.remove(at),
            None => self.put(place, NEVER),
        }
        if self.count == 0 {
            self.refill();
        }
    }

    /// Removes the earliest send time and returns its place; any number when there is none.
    #[inline]
    pub(super) fn take_first(&mut self) -> u32 {
        let first = self.first();
        self.count = self.count.saturating_sub(1);
        if self.count == 0 {
            self.refill();
        }
        first
    }

    /// Gives the first place a later time.
    #[inline]
    pub(super) fn postpone_first(&mut self, time: Time) {
        let near = &mut self.near[..self.count];
        let Some((first, others)) = near.split_last_mut() else { return };
        let (rank, place) = (rank_of(*first), place_of(*first));
        let leaf = leaf(time, rank, place);
        if self.tree[1] != NEVER && others.first().is_none_or(|&last| last < leaf) {
            // A time of the tree may be earlier.
            self.take_first();
            return self.add(place, rank, time);
        }
        let mut at = near.len() - 1;
        while at > 0 && near[at - 1] < leaf {
            near[at] = near[at - 1];
            at -= 1;
        }
        near[at] = leaf;
    }

    #[inline]
    fn insert(&mut self, leaf: Leaf) {
        let mut at = self.count;
        while at > 0 && self.near[at - 1] < leaf {
            self.near[at] = self.near[at - 1];
            at -= 1;
        }
        self.near[at] = leaf;
        self.count += 1;
    }

    fn remove(&mut self, at: usize) {
        self.near.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }

    #[inline]
    fn refill(&mut self) {
        while self.tree[1] != NEVER && self.count < NEAR / 2 {
            let leaf = self.tree[1];
            self.put(place_of(leaf), NEVER);
            self.insert(leaf);
        }
    }

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

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The earliest send time, [`Time::MAX`] when there is none.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.near[..self.count]
            .last()
            .map_or(Time::MAX, |first| Time::from_ps((first >> 64) as u64))
    }

    /// The place of the earliest send time; any number when there is none.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.near[..self.count].last().map_or(0, |&first| place_of(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Span;
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    #[test]
    fn nothing_is_first_of_nothing() {
        let mut times = SendTimes::default();
        assert_eq!(times.earliest(), Time::MAX);
        times.reserve(0);
        assert_eq!(times.earliest(), Time::MAX);
        times.add(0, 7, Time::ZERO);
        assert_eq!((times.earliest(), times.first()), (Time::ZERO, 0));
    }

    /// Failing cases are kept, and tried first from then on.
    fn config() -> ProptestConfig {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/send-times.txt");
        ProptestConfig {
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn first_is_the_least_time_and_then_the_least_rank(
            changes in prop::collection::vec((0_u32..40, prop::option::of(0_u64..20)), 1..200),
            postponed in prop::collection::vec(1_u64..20, 0..20),
            taken in 0_usize..40,
        ) {
            // Ranks in the opposite order of places.
            let rank = |place: u32| 1_000 - place * 3;
            let (mut times, mut plain) = (SendTimes::default(), vec![Time::MAX; 40]);
            for (place, at) in changes {
                let at = at.map(|at| Time::ZERO + Span::from_ns(at));
                times.reserve(place);
                times.clear(place);
                if let Some(at) = at {
                    times.add(place, rank(place), at);
                }
                plain[place as usize] = at.unwrap_or(Time::MAX);
                let all = (0_u32..).zip(&plain).map(|(place, &at)| (at, rank(place), place));
                let (at, _, first) = all.min().unwrap();
                prop_assert_eq!(times.earliest(), at);
                prop_assert!(at == Time::MAX || times.first() == first);
            }
            for later in postponed {
                let all = (0_u32..).zip(&plain).map(|(place, &at)| (at, rank(place), place));
                let (at, _, first) = all.min().unwrap();
                prop_assert_eq!(times.earliest(), at);
                if at < Time::MAX {
                    prop_assert_eq!(times.first(), first);
                    plain[first as usize] = at + Span::from_ns(later);
                    times.postpone_first(plain[first as usize]);
                }
            }
            for _ in 0..taken {
                let all = (0_u32..).zip(&plain).map(|(place, &at)| (at, rank(place), place));
                let (at, _, first) = all.min().unwrap();
                prop_assert_eq!(times.earliest(), at);
                prop_assert!(at == Time::MAX || times.take_first() == first);
                plain[first as usize] = Time::MAX;
            }
        }
    }
}
