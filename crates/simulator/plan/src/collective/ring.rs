//! A ring: each rank sends blocks to its successor. All but the first leave when they have come
//! from the predecessor.
//!
//! A reduce-scatter takes N - 1 steps, an all-gather as many, and an all-reduce both (Patarasuk and
//! Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). To send
//! one's data to the next rank takes one step.

use super::Operation;
use super::pen::{After, Block, Pen};

/// The steps of a ring. Each rank sends a block in each.
pub(super) fn write(pen: &mut Pen<'_>, operation: Operation, data: Block) -> Vec<u32> {
    let (me, ranks) = (pen.me(), pen.ranks());
    if ranks < 2 {
        return Vec::new();
    }
    let (next, before) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let steps = match operation {
        Operation::ReduceScatter => 0..ranks - 1,
        Operation::AllGather => ranks - 1..2 * (ranks - 1),
        Operation::SendReceive => {
            pen.send(next, data, After::All(&[]));
            return pen
                .copy(before, data.returned_by(before))
                .last()
                .copied()
                .into_iter()
                .collect();
        }
        _ => 0..2 * (ranks - 1),
    };
    // In the first half rank n begins with the block before its own, and gets its own at last. In
    // the second it begins with its own.
    let block = |step: u32| data.part((me + 2 * ranks - 1 - step) % ranks, ranks);
    let mut arrived = Vec::new();
    for step in steps {
        pen.send(next, block(step), After::Each(&arrived));
        let coming = block(step + 1);
        let reduces = step < ranks - 1;
        arrived = vec![if reduces { pen.reduce(before, coming) } else { pen.copy(before, coming) }];
    }
    arrived.iter().filter_map(|steps| steps.last().copied()).collect()
}
