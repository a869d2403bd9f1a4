//! Files of other simulators. The samples beside this file are written by hand for these tests.

#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")]

mod errors;
mod hpcc;
mod htsim;
mod import;

use incast_cc::Bytes;
use incast_sim::foreign::Flow;

const CONFIG: &str = include_str!("hpcc/config.txt");
const TOPOLOGY: &str = include_str!("hpcc/topology.txt");
const FLOWS: &str = include_str!("hpcc/flow.txt");
const TRACE: &str = include_str!("hpcc/trace.txt");
const LEAF_SPINE: &str = include_str!("htsim/leaf-spine.topo");
const THREE_TIERS: &str = include_str!("htsim/three-tiers.topo");
const CHAIN: &str = include_str!("htsim/chain.cm");

/// Ends and size of flows.
fn pairs(flows: &[Flow]) -> Vec<(&str, &str, Bytes)> {
    flows.iter().map(|flow| (flow.from.as_str(), flow.to.as_str(), flow.size)).collect()
}
