//! Memory of large networks, counted by the allocator.

#![expect(unsafe_code, reason = "an allocator that counts")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::shipped;
use counting::Counting;
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

#[global_allocator]
static HEAP: Counting = Counting::new();

/// Bytes of what is built, and what it is. The tests of a file share the allocator: there is but one here.
fn built(document: &Document) -> (usize, Simulation) {
    let before = HEAP.used();
    let scenario = document.scenario();
    let run = Simulation::new(scenario, "timely", 1, TraceConfig::default());
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    (HEAP.used() - before, run)
}

fn fat_tree(k: u32, assignments: &[&str]) -> Document {
    let k = format!("network.fat-tree.k={k}");
    let common = [k.as_str(), "run.duration=200us", "run.warmup=0us"];
    shipped("fat-tree-1024", &[&common[..], assignments].concat())
}

#[test]
fn memory_grows_with_hosts_and_flows_and_no_faster() {
    // A host has 5 links each way and as many ports of switches in a fat tree of any size.
    let [small, large] = [4, 8].map(|k| {
        let (bytes, run) = built(&fat_tree(k, &["traffic.0.poisson.load=0.0001"]));
        bytes.saturating_sub(run.flows() * 1_500) / run.hosts()
    });
    assert!(large < 26_000 && large < small * 11 / 10, "{small} and {large} bytes per host");

    // 128 hosts whose flows of 2 kB take half of 100 Gb/s: 312 flows each in 100 us.
    let sizes = [
        "traffic.0.poisson.sizes={ fixed = \"2KB\" }",
        "traffic.0.poisson.load=0.5",
        "traffic.0.stop=100us",
    ];
    let (many, mut run) = built(&fat_tree(8, &sizes));
    let flows = run.flows();
    assert!((35_000..45_000).contains(&flows), "{flows}");
    let each = (many - large * run.hosts()) / flows;
    assert!(each < 1_000, "{each} bytes per flow before the first event");

    // Those that are done have given back what it took to send them, which alone is more than this: what is
    // left is 80 bytes of each in the logs of messages, and what queues and histograms have grown by.
    let before = HEAP.used();
    while run.advance(1 << 20) {}
    let more = HEAP.used().saturating_sub(before) / flows;
    assert!(more < 600, "{more} bytes per flow after the run");
}
