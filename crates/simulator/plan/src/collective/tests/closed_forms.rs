//! The bytes that ranks send, by the closed forms of the algorithms.

use super::{all, nodes, part_of, script};
use crate::collective::{Algorithm, Amount, Collective, Operation};
use crate::steps::Step;

/// The bytes that each rank sends.
fn sent(collective: &Collective, ranks: u32, bytes: u64) -> Vec<u64> {
    let numbers: Vec<_> = (0..ranks).collect();
    let of = |me| {
        let part = script(collective, &numbers, me, bytes).0.finish(&[]);
        let sent = part.steps.all().iter().map(|step| match step {
            Step::Send { bytes, .. } => *bytes,
            Step::Await { .. } | Step::Compute(_) | Step::Claim { .. } => 0,
        });
        sent.sum::<u64>()
    };
    (0..ranks as usize).map(of).collect()
}

#[test]
fn ranks_send_the_bytes_of_the_closed_form() {
    for (ranks, bytes) in [(2, 1), (3, 1_000), (7, 99_999), (8, 1 << 20), (12, 5), (64, 123_456)] {
        for collective in all() {
            for channels in [1, 3] {
                let collective = Collective { channels, chunk: Some(777), skew: 1.1, ..collective };
                for collective in nodes(collective, ranks) {
                    let sent = sent(&collective, ranks, bytes);
                    let form = closed_form(&collective, u64::from(ranks), bytes);
                    assert_eq!(sent, form, "{collective:?} of {ranks} ranks, {bytes} B");
                }
            }
        }
    }
}

/// The bytes that each rank sends, by the closed form of the algorithm.
fn closed_form(collective: &Collective, ranks: u64, bytes: u64) -> Vec<u64> {
    let channels = u64::from(collective.channels);
    let data = bytes.div_ceil(channels);
    let all = |each: u64| vec![channels * each; ranks as usize];
    let ring = |ranks: u64, bytes: u64| (ranks - 1) * bytes.div_ceil(ranks);
    let by_degree = |each: u64, ranks: u64, edges: fn(&[u64], u64) -> u64| {
        let degrees = tree_degrees(ranks);
        (0..ranks).map(|me| channels * each * edges(&degrees, me)).collect::<Vec<_>>()
    };
    let power = 1_u64 << ranks.ilog2();
    match (collective.operation, collective.algorithm) {
        (Operation::AllReduce, Algorithm::Ring) => all(2 * ring(ranks, data)),
        (Operation::AllGather | Operation::ReduceScatter, Algorithm::Ring) => {
            all(ring(ranks, data))
        }
        (Operation::SendReceive, Algorithm::Ring) => all(data),
        // A rank sends to all its neighbours.
        (Operation::AllReduce, Algorithm::Tree) => {
            by_degree(data, ranks, |degrees, me| degrees[me as usize])
        }
        (Operation::AllReduce, Algorithm::DoubleTree) => {
            let half = data.div_ceil(2);
            let second = |me: u64| {
                if ranks.is_multiple_of(2) { ranks - 1 - me } else { (me + ranks - 1) % ranks }
            };
            let degrees = tree_degrees(ranks);
            let degree = |me: u64| degrees[me as usize];
            let sent: Vec<_> =
                (0..ranks).map(|me| channels * half * (degree(me) + degree(second(me)))).collect();
            assert!(sent.iter().all(|&sent| sent <= 4 * channels * half), "twice the data");
            sent
        }
        (Operation::AllReduce, Algorithm::HalvingDoubling) => {
            let (part, pairs) = (data.div_ceil(power), ranks - power);
            let inner = 2 * (power - 1) * part;
            let of = |me: u64| match (me < 2 * pairs, me % 2) {
                (true, 0) => inner + power * part,
                (true, _) => power * part,
                (false, _) => inner,
            };
            (0..ranks).map(|me| channels * of(me)).collect()
        }
        (Operation::AllReduce, Algorithm::Hierarchical) => {
            let node = u64::from(collective.node);
            all(2 * ring(node, data) + 2 * ring(ranks / node, data.div_ceil(node)))
        }
        (Operation::ReduceScatter | Operation::AllGather, _) => {
            // A rank that takes part for two has two blocks; the other one of them gives its data.
            let (part, pairs) = (data.div_ceil(ranks), ranks - power);
            let scatters = collective.operation == Operation::ReduceScatter;
            let blocks = |number: u64| if number < pairs { 2 } else { 1 };
            let of = |me: u64| {
                if me < 2 * pairs && me % 2 == 1 {
                    return if scatters { ranks } else { 1 };
                }
                let number = if me < 2 * pairs { me / 2 } else { me - pairs };
                let within = |from: u64, count: u64| (from..from + count).map(blocks).sum::<u64>();
                let mut sent = 0;
                let mut half = 1;
                while half < power {
                    let side = if scatters { number ^ half } else { number };
                    sent += within(side / half * half, half);
                    half *= 2;
                }
                let back = if scatters { 1 } else { ranks };
                sent + if me < 2 * pairs { back } else { 0 }
            };
            (0..ranks).map(|me| channels * part * of(me)).collect()
        }
        (Operation::Broadcast, Algorithm::Tree) => {
            by_degree(data, ranks, |degrees, me| degrees[me as usize] - u64::from(me > 0))
        }
        (Operation::Reduce, _) => by_degree(data, ranks, |_, me| u64::from(me > 0)),
        (_, Algorithm::Chain) => {
            (0..ranks).map(|me| channels * data * u64::from(me + 1 < ranks)).collect()
        }
        (Operation::AllToAll, _) => all(ring(ranks, data)),
        (Operation::AllToAllV, _) => {
            let bound = |place| part_of(collective, place, ranks, data);
            (0..ranks).map(|me| channels * (data - (bound(me + 1) - bound(me)))).collect()
        }
        (Operation::Barrier, _) => all(u64::from((ranks - 1).ilog2() + 1)),
        other => unreachable!("{other:?}"),
    }
}

/// The number of neighbours of each rank in the binary tree: a number is the middle between its
/// neighbours below, and the highest number that is not below it.
fn tree_degrees(ranks: u64) -> Vec<u64> {
    let mut degrees = vec![0; ranks as usize];
    for number in 1..ranks {
        // The parent has the lowest bit that is set one place higher.
        let bit = number & number.wrapping_neg();
        let above = (number - bit) | (2 * bit);
        let parent = if above < ranks { above } else { number - bit };
        degrees[number as usize] += 1;
        degrees[parent as usize] += 1;
    }
    degrees
}

#[test]
fn amounts_are_those_of_the_steps() {
    for (ranks, bytes) in [(2, 1), (5, 99_999), (8, 1 << 20), (12, 30_000), (32, 123_456)] {
        for collective in all() {
            let several = Collective { channels: 3, chunk: Some(777), skew: 0.0, ..collective };
            for collective in [collective, several].into_iter().flat_map(|one| nodes(one, ranks)) {
                let numbers: Vec<_> = (0..ranks).collect();
                let mut counted = Amount::default();
                for me in 0..ranks as usize {
                    let part = script(&collective, &numbers, me, bytes).0.finish(&[]);
                    counted.connections += part.to.len() as u64;
                    let sends = part.steps.all().iter().filter_map(|step| match step {
                        Step::Send { bytes, .. } => Some(*bytes),
                        _ => None,
                    });
                    counted.messages += sends.clone().count() as u64;
                    counted.bytes += sends.sum::<u64>();
                }
                let told = collective.amount(u64::from(ranks), bytes);
                let halves = matches!(
                    collective.algorithm,
                    Algorithm::HalvingDoubling | Algorithm::Halving | Algorithm::Doubling
                ) && collective.operation != Operation::Barrier;
                let case = format!("{collective:?} of {ranks} ranks, {bytes} B");
                if halves || collective.operation == Operation::AllToAllV {
                    let near = |told: u64, counted: u64| {
                        told >= counted / 2 && told <= 2 * counted + u64::from(ranks) * 3
                    };
                    let all = [
                        (told.connections, counted.connections),
                        (told.messages, counted.messages),
                        (told.bytes, counted.bytes),
                    ];
                    assert!(all.iter().all(|&(a, b)| near(a, b)), "{case}: {told:?}, {counted:?}");
                } else {
                    assert_eq!(told, counted, "{case}");
                }
            }
        }
    }
}
