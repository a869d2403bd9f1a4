//! A barrier by dissemination: in step k each rank tells the one 2^k places on that it has come,
//! and all that it has heard of (Hensgen, Finkel and Manber, "Two algorithms for barrier
//! synchronization", 1988).

use super::pen::{After, Block, Pen};

/// The steps of a barrier. Its messages are of one byte.
pub(super) fn write(pen: &mut Pen<'_>, data: Block) -> Vec<u32> {
    let (me, ranks) = (pen.me(), pen.ranks());
    let sign = Block { bytes: 1, ..data };
    let mut arrived = Vec::new();
    let mut distance = 1;
    while distance < ranks {
        pen.send((me + distance) % ranks, sign, After::All(&arrived));
        arrived.extend(pen.reduce((me + ranks - distance) % ranks, sign));
        distance *= 2;
    }
    arrived
}
