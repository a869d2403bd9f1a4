//! Recursive halving and doubling: pairs exchange halves of the data, then quarters and so on, and
//! back (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
//! MPICH", 2005).
//!
//! The number of ranks is a power of two. Of other numbers of ranks, the first ones form couples:
//! the second of a couple hands its data to the first, which takes part for both, and gets the
//! result.

use super::Operation;
use super::pen::{After, Block, Pen};

/// The ranks that take part, numbered from 0.
#[derive(Clone, Copy)]
struct Couples {
    /// The number of couples.
    count: u32,
    /// The number of ranks that take part, a power of two.
    taking_part: u32,
}

impl Couples {
    /// The place of a rank that takes part.
    const fn place(self, number: u32) -> u32 {
        if number < self.count { 2 * number } else { number + self.count }
    }
}

/// The steps of the operations: halving, doubling, or both.
pub(super) fn write(pen: &mut Pen<'_>, operation: Operation, data: Block) -> Vec<u32> {
    let (me, ranks) = (pen.me(), pen.ranks());
    let taking_part = 1 << ranks.ilog2();
    let couples = Couples { count: ranks - taking_part, taking_part };
    // The blocks of a reduce-scatter and of an all-gather are those of all ranks. A rank that takes
    // part for two has two of them.
    let all_reduce = operation == Operation::AllReduce;
    let parts = if all_reduce { taking_part } else { ranks };
    let first = |number| if all_reduce { number } else { couples.place(number) };
    let range = |(start, end): (u32, u32)| data.parts((first(start), first(end)), parts);
    let all = range((0, taking_part));
    let given = if operation == Operation::AllGather { data.part(me | 1, parts) } else { all };
    let returned =
        if operation == Operation::ReduceScatter { data.part(me | 1, parts) } else { all };
    let in_couple = me < 2 * couples.count;
    if in_couple && me % 2 == 1 {
        pen.send(me - 1, given, After::All(&[]));
        return pen.copy(me - 1, returned).last().copied().into_iter().collect();
    }
    let mut arrived = Vec::new();
    if in_couple {
        let gather = operation == Operation::AllGather;
        let steps = if gather { pen.copy(me + 1, given) } else { pen.reduce(me + 1, given) };
        arrived.extend(steps.last());
    }
    let number = if in_couple { me / 2 } else { me - couples.count };
    if operation != Operation::AllGather {
        halve(pen, (couples, number), range, &mut arrived);
    }
    if operation != Operation::ReduceScatter {
        double(pen, (couples, number), range, &mut arrived);
    }
    if in_couple {
        pen.send(me + 1, returned, After::All(&arrived));
    }
    arrived
}

/// Exchanges half of what is left with a rank of the other half, until one's own block is left.
fn halve(
    pen: &mut Pen<'_>,
    (couples, number): (Couples, u32),
    range: impl Fn((u32, u32)) -> Block,
    arrived: &mut Vec<u32>,
) {
    let mut half = couples.taking_part / 2;
    while half > 0 {
        let partner = couples.place(number ^ half);
        let [own, other] = [number, number ^ half].map(|number| number / half * half);
        pen.send(partner, range((other, other + half)), After::All(arrived));
        arrived.extend(pen.reduce(partner, range((own, own + half))).last());
        half /= 2;
    }
}

/// Exchanges what there is with the rank that has as much beside it, until it is all.
fn double(
    pen: &mut Pen<'_>,
    (couples, number): (Couples, u32),
    range: impl Fn((u32, u32)) -> Block,
    arrived: &mut Vec<u32>,
) {
    let mut half = 1;
    while half < couples.taking_part {
        let partner = couples.place(number ^ half);
        let [own, other] = [number, number ^ half].map(|number| number / half * half);
        pen.send(partner, range((own, own + half)), After::All(arrived));
        arrived.extend(pen.copy(partner, range((other, other + half))).last());
        half *= 2;
    }
}
