//! Trees: data is added up on the way to the root, and copied on the way from there. A chain is a
//! tree without branches.
//!
//! In a double tree the inner ranks of one tree are leaves of the other, so that no rank sends or
//! receives more than twice the data (Sanders, Speck and Träff, "Two-tree algorithms for full
//! bandwidth broadcast, reduction and scan", 2009).

use super::pen::{After, Block, Pen};
use super::{Algorithm, Collective, Operation};

/// The neighbours of a rank in a tree, by their places.
struct Neighbours {
    parent: Option<u32>,
    children: Vec<u32>,
}

/// The steps of a tree or a chain.
pub(super) fn write(pen: &mut Pen<'_>, collective: &Collective, data: Block) -> Vec<u32> {
    let ranks = pen.ranks();
    let passes_on = collective.operation == Operation::SendReceive;
    let root = if passes_on { 0 } else { collective.root };
    let number = (pen.me() + ranks - root) % ranks;
    let near = if collective.algorithm == Algorithm::Chain {
        let next = (number + 1 < ranks).then_some(number + 1);
        Neighbours { parent: number.checked_sub(1), children: next.into_iter().collect() }
    } else {
        Neighbours::in_binary_tree(number, ranks)
    };
    let near = near.called(|number| (number + root) % ranks);
    match collective.operation {
        Operation::AllReduce => up_and_down(pen, &near, data),
        Operation::Reduce => {
            let arrived = up(pen, &near, data);
            match near.parent {
                Some(parent) => vec![pen.acknowledged(parent)],
                None => last_of(&arrived),
            }
        }
        _ => down(pen, &near, data, &[]),
    }
}

/// The steps of two trees, each with half of the data.
pub(super) fn write_two(pen: &mut Pen<'_>, data: Block) -> Vec<u32> {
    let (me, ranks, all) = (pen.me(), pen.ranks(), pen.all());
    let first = Neighbours::in_binary_tree(me, ranks);
    // Leaves have odd numbers. In an even number of ranks the mirror image turns even ones to odd
    // ones, and in an odd number a step around the circle does.
    let second = if ranks.is_multiple_of(2) {
        Neighbours::in_binary_tree(ranks - 1 - me, ranks).called(|number| ranks - 1 - number)
    } else {
        let number = (me + ranks - 1) % ranks;
        Neighbours::in_binary_tree(number, ranks).called(|number| (number + 1) % ranks)
    };
    let mut ends = Vec::new();
    for (half, near) in (0..).zip([first, second]) {
        let mut pen = pen.within(all, me, half, &[]);
        ends.extend(up_and_down(&mut pen, &near, data.part(half, 2)));
    }
    ends
}

fn up_and_down(pen: &mut Pen<'_>, near: &Neighbours, data: Block) -> Vec<u32> {
    let arrived = up(pen, near, data);
    let ends = if near.parent.is_none() { last_of(&arrived) } else { Vec::new() };
    [ends, down(pen, near, data, &arrived)].concat()
}

/// Sends the sum of the children's data and its own to the parent. Returns the receives from each
/// child.
fn up(pen: &mut Pen<'_>, near: &Neighbours, data: Block) -> Vec<Vec<u32>> {
    let arrived: Vec<_> = near.children.iter().map(|&child| pen.reduce(child, data)).collect();
    if let Some(parent) = near.parent {
        pen.send(parent, data, After::Each(&arrived));
    }
    arrived
}

/// Sends the data of the parent to the children. The root sends its own after `arrived`.
fn down(pen: &mut Pen<'_>, near: &Neighbours, data: Block, arrived: &[Vec<u32>]) -> Vec<u32> {
    let from_parent = near.parent.map(|parent| pen.copy(parent, data));
    let after = from_parent.as_ref().map_or(arrived, std::slice::from_ref);
    for &child in &near.children {
        pen.send(child, data, After::Each(after));
    }
    if after.is_empty() {
        return near.children.iter().map(|&child| pen.acknowledged(child)).collect();
    }
    from_parent.as_ref().map_or_else(Vec::new, |steps| last_of(std::slice::from_ref(steps)))
}

/// The last message of each block.
fn last_of(blocks: &[Vec<u32>]) -> Vec<u32> {
    blocks.iter().filter_map(|steps| steps.last().copied()).collect()
}

impl Neighbours {
    /// The neighbours of a number in a binary tree with the root 0. Below the root's only child the
    /// numbers are in order: half of a subtree before its root, half after it. Odd ones are leaves.
    fn in_binary_tree(number: u32, ranks: u32) -> Self {
        let next = ranks.next_power_of_two();
        if number == 0 {
            return Self {
                parent: None,
                children: (ranks > 1).then_some(next / 2).into_iter().collect(),
            };
        }
        let bit = 1 << number.trailing_zeros();
        let above = (number ^ bit) | (bit << 1);
        let parent = if above < ranks { above } else { number ^ bit };
        // The half after it may have gaps at its end.
        let after = std::iter::successors(Some(bit >> 1), |half| Some(half >> 1));
        let after = after.take_while(|&half| half > 0).map(|half| number + half);
        let before = (bit > 1).then(|| number - (bit >> 1));
        let after = after.clone().find(|&child| child < ranks);
        Self { parent: Some(parent), children: before.into_iter().chain(after).collect() }
    }

    /// The places of the numbers.
    fn called(self, place: impl Fn(u32) -> u32) -> Self {
        Self {
            parent: self.parent.map(&place),
            children: self.children.into_iter().map(place).collect(),
        }
    }
}
