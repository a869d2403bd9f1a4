//! The ends of every parameter's range and every word, where products are largest and branches
//! rarest.

use incast_cc::param::Param;
use incast_cc::registry::{AnyAlgorithm, NAMES};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::{arbitrary, flows, sane};

/// The least and the largest value of a parameter, or all its words.
pub(crate) fn extremes(param: &Param) -> Vec<String> {
    let ends: Vec<&str> = match param.range.split_once(" to ") {
        Some((low, high)) => vec![low, high],
        None if param.unit == "word" => param.range.split(", ").collect(),
        // Without a range every value is accepted.
        None => match param.unit {
            "time" => vec!["0ps", "10000000s"],
            "rate" => vec!["0bps", "10000000Tbps"],
            "size" => vec!["0B", "10000000000GB"],
            "number" => vec!["0", "4095.9"],
            "count" => vec!["0", "4294967295"],
            unit => panic!("{}: no extremes of a {unit}", param.name),
        },
    };
    ends.into_iter().map(String::from).collect()
}

/// Values of `strategy`, the same in every run.
pub(crate) fn samples<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Two at a time: products overflow together, and a mechanism that one word turns on reads the
/// number of another parameter.
#[test]
fn extremes_and_words_in_pairs_leave_limits_within_bounds() {
    let operations = samples(&prop::collection::vec(arbitrary::operation(), 100), 50);
    let steps = sane::scripts(100, 50);
    let mut networks = samples(&flows::any(), 101).into_iter().cycle();
    let (mut operations, mut steps) = (operations.iter().cycle(), steps.iter().cycle());
    for name in NAMES {
        let defaults = AnyAlgorithm::named(name).unwrap();
        let extremes: Vec<(&str, String)> = defaults
            .params()
            .iter()
            .flat_map(|param| extremes(param).into_iter().map(|value| (param.name, value)))
            .collect();
        for (i, first) in extremes.iter().enumerate() {
            for second in &extremes[i..] {
                let mut algorithm = defaults;
                for (param, value) in [first, second] {
                    assert_eq!(algorithm.set(param, value), Ok(()), "{name}.{param}");
                }
                for _ in 0..2 {
                    let flow = networks.next().unwrap();
                    arbitrary::run(&algorithm, &flow, operations.next().unwrap());
                    sane::run(&algorithm, &flow, steps.next().unwrap());
                }
            }
        }
    }
}
