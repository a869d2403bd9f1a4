//! The order of a rank's nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::RankGraph;

/// The nodes that wait for each node: the first entry of each, and all entries.
pub(super) fn followers(rank: &RankGraph) -> (Vec<u32>, Vec<u32>) {
    let count = rank.nodes.len();
    let mut first = vec![0_u32; count + 1];
    let edges = || {
        let of = |node: u32| rank.before(node).map(move |before| (before.node, node));
        (0..).take(count).flat_map(of)
    };
    for (before, _) in edges() {
        first[before as usize + 1] += 1;
    }
    for place in 1..=count {
        first[place] += first[place - 1];
    }
    let mut next = first.clone();
    let mut all = vec![0; first[count] as usize];
    for (before, node) in edges() {
        let place = &mut next[before as usize];
        all[*place as usize] = node;
        *place += 1;
    }
    (first, all)
}

/// The number of nodes that each node waits for.
pub(super) fn needs(rank: &RankGraph) -> Vec<u32> {
    rank.first.windows(2).map(|ends| ends[1] - ends[0]).collect()
}

/// The nodes, each after those that it waits for, in the order of the file where it allows that.
/// [`None`] if they wait for each other.
pub(super) fn order(rank: &RankGraph) -> Option<Vec<u32>> {
    let mut numbers = (0..).take(rank.nodes.len());
    if numbers.clone().all(|node| rank.before(node).all(|before| before.node < node)) {
        return Some(numbers.collect());
    }
    let (first, followers) = followers(rank);
    let mut needs = needs(rank);
    let free = numbers.by_ref().filter(|&node| needs[node as usize] == 0).map(Reverse);
    let mut ready: BinaryHeap<_> = free.collect();
    let mut order = Vec::with_capacity(rank.nodes.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &follower in
            &followers[first[node as usize] as usize..first[node as usize + 1] as usize]
        {
            let left = &mut needs[follower as usize];
            *left -= 1;
            if *left == 0 {
                ready.push(Reverse(follower));
            }
        }
    }
    (order.len() == rank.nodes.len()).then_some(order)
}
