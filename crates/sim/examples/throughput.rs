//! Packet-hops per second of whole runs: `cargo run --release -p incast-sim --example throughput`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/incast.toml")),
        PathBuf::from,
    );
    let mut document = Document::load(&file)?;
    let (mut schemes, mut assignments) = (Vec::new(), Vec::new());
    for arg in args {
        if arg.contains('=') {
            assignments.push(arg);
        } else {
            schemes.push(arg);
        }
    }
    document = document.with_set(&assignments)?;
    if schemes.is_empty() {
        schemes.clone_from(&document.scenario().run.schemes);
    }
    println!(
        "{:24} {:>8} {:>12} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8} {:>6} {:>6} {:>6}",
        "scheme",
        "Mhops/s",
        "packet-hops",
        "ns/event",
        "Gb/s",
        "RTT mean",
        "RTT p99",
        "q mean",
        "q p99",
        "pauses",
        "drops",
        "Jain"
    );
    for scheme in &schemes {
        let seed = document.scenario().run.seed;
        let mut run = Simulation::new(document.scenario(), scheme, seed, TraceConfig::default())?;
        let start = Instant::now();
        while run.advance(1 << 20) {}
        let elapsed = start.elapsed().as_secs_f64();
        let events = run.events();
        let summary = run.finish().summary;
        println!(
            "{scheme:24} {:8.2} {:12} {:9.1} {:9.3} {:9.1} {:9.1} {:7.1} {:8.1} {:6} {:6} {:6.4}",
            summary.packet_hops as f64 / elapsed / 1e6,
            summary.packet_hops,
            elapsed * 1e9 / events as f64,
            summary.throughput_gbps,
            summary.rtt_mean_us,
            summary.rtt_p99_us,
            summary.queue_mean_kb,
            summary.queue_p99_kb,
            summary.pfc_pauses,
            summary.drops,
            summary.jain_index,
        );
    }
    Ok(())
}
