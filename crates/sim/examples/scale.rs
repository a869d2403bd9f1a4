//! Seconds, packet-hops per second and memory of a large network:
//! `cargo run --release -p incast-sim --example scale [SCENARIO] [SCHEME] [key=value ...]`.
//!
//! Memory is counted by the allocator, in bytes as they were asked for; the peak of the process is what
//! Linux says. A host's share is that of a network without flows, a flow's what it adds.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(unsafe_code, reason = "an allocator that counts")]

#[path = "../tests/common/counting.rs"]
mod counting;

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use counting::Counting;
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

#[global_allocator]
static HEAP: Counting = Counting::new();

fn main() -> Result<(), Box<dyn Error>> {
    let (assignments, names): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|arg| arg.contains('='));
    let file = names.first().map_or_else(
        || {
            let shipped = "/../../scenarios/fat-tree-1024.toml";
            PathBuf::from(format!("{}{shipped}", env!("CARGO_MANIFEST_DIR")))
        },
        PathBuf::from,
    );
    let document = Document::load(&file)?.with_set(&assignments)?;
    let first = document.scenario().run.schemes.first().cloned().unwrap_or_default();
    let scheme = names.get(1).cloned().unwrap_or(first);
    let empty = empty_network(&document, &scheme)?;
    measure(&document, &scheme, empty)
}

/// Bytes of the network of `document` without flows.
fn empty_network(document: &Document, scheme: &str) -> Result<usize, Box<dyn Error>> {
    let mut scenario = document.scenario().clone();
    scenario.traffic.clear();
    let before = HEAP.used();
    let network = Simulation::new(&scenario, scheme, 1, TraceConfig::default())?;
    let bytes = HEAP.used() - before;
    drop(network);
    Ok(bytes)
}

fn measure(document: &Document, scheme: &str, empty: usize) -> Result<(), Box<dyn Error>> {
    let mb = |bytes: usize| bytes as f64 / 1e6;
    let (scenario, before) = (document.scenario(), HEAP.used());
    let start = Instant::now();
    let mut run = Simulation::new(scenario, scheme, scenario.run.seed, TraceConfig::default())?;
    let built_in = start.elapsed().as_secs_f64();
    let built = HEAP.used() - before;
    let (hosts, flows) = (run.hosts(), run.flows());
    let start = Instant::now();
    while run.advance(1 << 20) {}
    let ran_in = start.elapsed().as_secs_f64();
    let (events, ran, most) = (run.events(), HEAP.used() - before, HEAP.take_peak() - before);
    let start = Instant::now();
    let report = run.finish();
    let (reported_in, reporting) = (start.elapsed().as_secs_f64(), HEAP.take_peak() - before);
    let summary = &report.summary;
    println!("{scheme}, {hosts} hosts, {flows} flows, {:.1} ms", summary.simulated_s * 1e3);
    println!("build    {built_in:9.2} s  {:9.1} MB", mb(built));
    println!(
        "run      {ran_in:9.2} s  {:9.1} MB at its end, {:.1} MB at most; {} packet-hops, {:.2} million/s, {:.0} ns per event",
        mb(ran),
        mb(most),
        summary.packet_hops,
        summary.packet_hops as f64 / ran_in / 1e6,
        ran_in * 1e9 / events as f64,
    );
    println!("report   {reported_in:9.2} s  {:9.1} MB at most", mb(reporting));
    println!("bytes per host without flows {:10}", empty / hosts.max(1));
    println!("bytes per flow before it starts {:7}", (built - empty.min(built)) / flows.max(1));
    println!("peak of the process {:19.1} MB", peak_of_process_mb());
    println!(
        "{:.1} Gb/s, {} of {flows} messages, slowdown {:.2} (p99 {:.2}), {} pauses, {} drops",
        summary.throughput_gbps,
        summary.messages,
        summary.slowdown_mean,
        summary.slowdown_p99,
        summary.pfc_pauses,
        summary.drops,
    );
    Ok(())
}

/// What Linux says; not a number elsewhere.
fn peak_of_process_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib * 1_024.0 / 1e6)
}
