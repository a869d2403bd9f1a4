//! Collectives without a network: the data that each rank ends with.

#![expect(clippy::cast_possible_truncation, reason = "few ranks")]

mod closed_forms;
mod executor;

use super::pen::{Block, RESULT};
use super::{Algorithm, Collective, Group, Operation, write};
use crate::part::{Part, Script};
use executor::{Program, Value, run};

const ALL: [Operation; 9] = [
    Operation::AllReduce,
    Operation::AllGather,
    Operation::ReduceScatter,
    Operation::Broadcast,
    Operation::Reduce,
    Operation::AllToAll,
    Operation::AllToAllV,
    Operation::Barrier,
    Operation::SendReceive,
];

/// All operations by all of their algorithms.
fn all() -> impl Iterator<Item = Collective> {
    let of = |operation: Operation| {
        let usual = Collective::usual(operation);
        operation.algorithms().iter().map(move |&algorithm| Collective { algorithm, ..usual })
    };
    ALL.into_iter().flat_map(of)
}

/// The sizes of nodes that the hierarchical algorithm can have.
fn nodes(collective: Collective, ranks: u32) -> impl Iterator<Item = Collective> {
    let most = if collective.algorithm == Algorithm::Hierarchical { ranks } else { 1 };
    let divides = move |node: &u32| ranks.is_multiple_of(*node);
    (1..=most).filter(divides).map(move |node| Collective { node, ..collective })
}

/// A size that all algorithms divide without a rest.
fn even_size(collective: &Collective, ranks: u32) -> u64 {
    let odd = ranks >> ranks.trailing_zeros();
    u64::from(collective.channels * 2 * odd * (1 << ranks.ilog2()))
}

/// The script of a rank. Its first two steps are those that the collective waits for.
fn script(collective: &Collective, ranks: &[u32], me: usize, bytes: u64) -> (Script, Vec<u32>) {
    let mut script = Script::default();
    let after = [0, 0].map(|_| script.compute(incast_cc::Span::from_us(1), &[]));
    let group = Group { ranks, me, lane: 3 };
    let ends = write(&mut script, collective, &group, bytes, &after);
    (script, ends)
}

/// The parts of a rank's data, one in each channel, that belong to a place.
fn own(collective: &Collective, (place, ranks): (u64, u64), bytes: u64) -> Vec<Block> {
    let (channels, width) =
        (u64::from(collective.channels), bytes / u64::from(collective.channels));
    let part = width / ranks;
    (0..channels).map(|channel| Block { at: channel * width + place * part, bytes: part }).collect()
}

/// The data that a rank has at first: its own values, in the blocks that it has.
fn first_data(collective: &Collective, me: (u64, u64), bytes: u64) -> Vec<(u64, Value)> {
    let blocks = match collective.operation {
        Operation::AllGather => own(collective, me, bytes),
        _ => vec![Block { at: 0, bytes }],
    };
    let places = blocks.into_iter().flat_map(|block| block.at..block.at + block.bytes);
    places.map(|at| (at, Value { at, ranks: 1 << me.0 })).collect()
}

/// The data that the operation promises a rank.
fn promised(collective: &Collective, (me, ranks): (u64, u64), bytes: u64) -> Vec<(u64, Value)> {
    let sum = (1_u128 << ranks) - 1;
    let from_all = |at| (at, Value { at, ranks: sum });
    let from = |rank: u64| move |at| (at, Value { at, ranks: 1 << rank });
    let (all, root) = (0..bytes, u64::from(collective.root));
    let channels = u64::from(collective.channels);
    match collective.operation {
        Operation::AllReduce => all.map(from_all).collect(),
        Operation::ReduceScatter => own(collective, (me, ranks), bytes)
            .into_iter()
            .flat_map(|block| (block.at..block.at + block.bytes).map(from_all))
            .collect(),
        Operation::AllGather => (0..ranks)
            .flat_map(|rank| {
                own(collective, (rank, ranks), bytes)
                    .into_iter()
                    .flat_map(move |block| (block.at..block.at + block.bytes).map(from(rank)))
            })
            .collect(),
        Operation::Broadcast => all.map(from(root)).collect(),
        Operation::Reduce if me == root => all.map(from_all).collect(),
        Operation::Reduce => Vec::new(),
        Operation::Barrier => {
            (0..channels).map(|channel| from_all(channel * (bytes / channels))).collect()
        }
        Operation::SendReceive if collective.algorithm == Algorithm::Chain => {
            all.map(from(0)).collect()
        }
        Operation::SendReceive if ranks == 1 => Vec::new(),
        Operation::SendReceive => {
            let before = (me + ranks - 1) % ranks;
            all.map(|at| in_return(before, at)).collect()
        }
        Operation::AllToAll | Operation::AllToAllV => {
            let width = bytes / channels;
            let part = |channel: u64| {
                let [first, end] =
                    [me, me + 1].map(|place| part_of(collective, place, ranks, width));
                channel * width + first..channel * width + end
            };
            let others = (0..ranks).filter(|&rank| rank != me);
            others
                .flat_map(|rank| (0..channels).flat_map(part).map(move |at| in_return(rank, at)))
                .collect()
        }
    }
}

/// The value that comes from a rank in return for the one at `at`.
const fn in_return(rank: u64, at: u64) -> (u64, Value) {
    (RESULT + (rank << 40) + at, Value { at, ranks: 1 << rank })
}

/// The start of the part of a place in an all-to-all, found one by one. Halves are rounded up.
#[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
fn part_of(collective: &Collective, place: u64, ranks: u64, bytes: u64) -> u64 {
    let skewed = collective.operation == Operation::AllToAllV;
    let skew = if skewed { collective.skew } else { 0.0 };
    let sum = |places: u64| (0..places).map(|n| ((n + 1) as f64).powf(-skew)).sum::<f64>();
    (bytes as f64 * sum(place) / sum(ranks) + 0.5).floor() as u64
}

fn keeps_its_promise(collective: &Collective, ranks: u32, seed: u64) {
    let bytes = even_size(collective, ranks);
    // Ranks of the job that are not in order, and not all.
    let numbers: Vec<_> = (0..ranks).map(|place| 2 * (ranks - place)).collect();
    let programs = (0..u64::from(ranks)).zip(&numbers).map(|(place, &rank)| {
        let me = (place, u64::from(ranks));
        let (script, ends) = script(collective, &numbers, usize::try_from(place).unwrap(), bytes);
        let meanings = script.meanings.clone();
        let data = first_data(collective, me, bytes).into_iter().collect();
        let promised = promised(collective, me, bytes);
        Program { rank, part: script.finish(&[]), meanings, ends, data, promised }
    });
    let overlaps = collective.operation == Operation::Barrier;
    run(programs.collect(), overlaps, seed).unwrap_or_else(|fault| {
        panic!("{collective:?} of {ranks} ranks, seed {seed}: {fault}");
    });
}

#[test]
fn every_rank_ends_with_what_the_operation_promises() {
    for ranks in (1..=17).chain([32, 64]) {
        for collective in all() {
            let cut = |chunk| Collective { chunk, skew: 0.7, ..collective };
            let several = Collective { channels: 2, window: Some(2), ..cut(Some(3)) };
            let last = ranks - 1;
            for (seed, collective) in (0..).zip([cut(None), Collective { root: last, ..several }]) {
                nodes(collective, ranks).for_each(|one| keeps_its_promise(&one, ranks, seed));
            }
        }
    }
}

#[test]
fn any_order_of_messages_and_steps_leads_to_the_same_data() {
    for seed in 2..12 {
        for ranks in [3, 6, 8] {
            for collective in all() {
                let channels = 1 + u32::try_from(seed % 3).unwrap();
                let collective = Collective { chunk: Some(seed), channels, ..collective };
                nodes(collective, ranks).for_each(|one| keeps_its_promise(&one, ranks, seed));
            }
        }
    }
}

#[test]
fn collectives_follow_each_other_on_the_same_lane() {
    // A reduce-scatter and an all-gather are an all-reduce, by whatever algorithms.
    let algorithms = [
        (Algorithm::Ring, Algorithm::Ring),
        (Algorithm::Ring, Algorithm::Doubling),
        (Algorithm::Halving, Algorithm::Ring),
        (Algorithm::Halving, Algorithm::Doubling),
    ];
    for (ranks, (scatter, gather)) in [4, 5, 7, 8].into_iter().zip(algorithms) {
        let of = |operation, algorithm| Collective {
            algorithm,
            chunk: Some(4),
            ..Collective::usual(operation)
        };
        let scatter = of(Operation::ReduceScatter, scatter);
        let gather = of(Operation::AllGather, gather);
        let all_reduce = Collective::usual(Operation::AllReduce);
        let bytes = even_size(&all_reduce, ranks);
        let numbers: Vec<_> = (0..ranks).collect();
        let programs = numbers.iter().map(|&rank| {
            let me = (u64::from(rank), u64::from(ranks));
            let (mut script, ends) = script(&scatter, &numbers, rank as usize, bytes);
            let group = Group { ranks: &numbers, me: rank as usize, lane: 3 };
            let ends = write(&mut script, &gather, &group, bytes, &ends);
            let meanings = script.meanings.clone();
            let data = first_data(&all_reduce, me, bytes).into_iter().collect();
            let promised = promised(&all_reduce, me, bytes);
            Program { rank, part: script.finish(&[]), meanings, ends, data, promised }
        });
        run(programs.collect(), false, 1).unwrap();
    }
}

#[test]
fn ranks_with_equal_steps_share_them() {
    let shared = |collective: &Collective, ranks: u32| {
        let numbers: Vec<_> = (0..ranks).collect();
        let mut parts: Vec<Part> = Vec::new();
        for me in 0..ranks as usize {
            parts.push(script(collective, &numbers, me, 1 << 20).0.finish(&parts));
        }
        let mut steps: Vec<_> =
            parts.iter().map(|part| std::sync::Arc::as_ptr(&part.steps)).collect();
        steps.sort_unstable();
        steps.dedup();
        steps.len()
    };
    let of =
        |operation, algorithm| Collective { algorithm, node: 8, ..Collective::usual(operation) };
    assert_eq!(shared(&of(Operation::AllReduce, Algorithm::Ring), 64), 1);
    assert_eq!(shared(&of(Operation::AllReduce, Algorithm::Hierarchical), 64), 1);
    assert_eq!(shared(&of(Operation::AllReduce, Algorithm::HalvingDoubling), 64), 1);
    assert_eq!(shared(&of(Operation::AllReduce, Algorithm::HalvingDoubling), 48), 3);
    assert_eq!(shared(&of(Operation::AllToAll, Algorithm::Direct), 64), 1);
    // In a tree: the root, leaves, and ranks with two children.
    assert_eq!(shared(&of(Operation::AllReduce, Algorithm::Tree), 64), 3);
}
