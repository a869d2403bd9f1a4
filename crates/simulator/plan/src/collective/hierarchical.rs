//! Hierarchical all-reduce: a reduce-scatter within each node, an all-reduce between nodes among
//! the ranks that have the same part, and an all-gather within each node. Each is a ring.

use super::Operation;
use super::pen::{Block, Pen};
use super::ring;

/// The steps of a rank in nodes of `size` consecutive ranks.
pub(super) fn write(pen: &mut Pen<'_>, size: u32, data: Block) -> Vec<u32> {
    let (me, all) = (pen.me(), pen.all());
    let (node, local) = (me / size, me % size);
    let inside = &all[(node * size) as usize..((node + 1) * size) as usize];
    let rail: Vec<_> = all.iter().copied().skip(local as usize).step_by(size as usize).collect();
    let own = data.part(local, size);
    let mut ends = Vec::new();
    for (ranks, me, operation, data) in [
        (inside, local, Operation::ReduceScatter, data),
        (&rail, node, Operation::AllReduce, own),
        (inside, local, Operation::AllGather, data),
    ] {
        let next = ring::write(&mut pen.within(ranks, me, 0, &ends), operation, data);
        if !next.is_empty() {
            ends = next;
        }
    }
    ends
}
