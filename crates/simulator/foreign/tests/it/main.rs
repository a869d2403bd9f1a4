//! Files of other simulators. The samples beside this file are written by hand for these tests.

#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")]

mod dual_homed;
mod errors;
mod hpcc;
mod htsim;
mod import;
mod jobs;
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

/// The error of files that make no scenario.
#[track_caller]
fn failed_import(files: &[(&str, &str)]) -> String {
    foreign::import(files, &Options::default()).unwrap_err().to_string()
}
