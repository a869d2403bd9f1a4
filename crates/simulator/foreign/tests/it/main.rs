//! Files of other simulators. The samples beside this file are written by hand for these tests.

#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")]

mod dual_homed;
mod errors;
mod errors_htsim;
mod hpcc;
mod htsim;
mod import;
mod mutations;
mod relatives;

use incast_cc::Bytes;
use incast_foreign::{self as foreign, Flow, Options};

const CONFIG: &str = include_str!("hpcc/config.txt");
const TOPOLOGY: &str = include_str!("hpcc/topology.txt");
const FLOWS: &str = include_str!("hpcc/flow.txt");
const TRACE: &str = include_str!("hpcc/trace.txt");
const LEAF_SPINE: &str = include_str!("htsim/leaf-spine.topo");
const THREE_TIERS: &str = include_str!("htsim/three-tiers.topo");
const CHAIN: &str = include_str!("htsim/chain.cm");

/// Ends and size of flows.
fn pairs(flows: &[Flow]) -> Vec<(&str, &str, Bytes)> {
    let size = |flow: &Flow| flow.size.unwrap_or_default();
    flows.iter().map(|flow| (flow.from.as_str(), flow.to.as_str(), size(flow))).collect()
}

/// A mistake: the right text, of which the first is replaced, the wrong text, and the error.
type Case = (&'static str, &'static str, &'static str);

/// Checks that each case gives its error, and that the whole gives none.
#[track_caller]
fn check<T>(good: &str, read: impl Fn(&str) -> Result<T, foreign::ForeignError>, cases: &[Case]) {
    read(good).map(drop).unwrap();
    for (old, new, expected) in cases {
        let text = good.replacen(old, new, 1);
        assert_ne!(text, good, "{old:?} is not there");
        let error = read(&text).map(drop).expect_err(new).to_string();
        assert_eq!(error, *expected, "for {new:?}");
    }
}

/// The error of files that make no scenario.
#[track_caller]
fn failed_import(files: &[(&str, &str)]) -> String {
    foreign::import(files, &Options::default()).unwrap_err().to_string()
}
