//! How a run scales with threads and domains:
//!
//! ```text
//! cargo run --release --example threads \
//!     [SCENARIO] [SCHEME] [key=value ...] [THREADS:DOMAINS[:slots|:nodes] ...]
//! ```
//!
//! The program runs the scenario once for each number of threads and domains in turn, and compares
//! the summaries. `slots` and `nodes` say whether all events come in the order of time, or each
//! node handles its events of a window alone; without them the network chooses. The last column is
//! the events of each window's fullest domain over the mean: with a core for each domain, the
//! others wait for the fullest.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};
use nix::sys::resource::{UsageWho, getrusage};

fn main() -> Result<(), Box<dyn Error>> {
    let (assignments, rest): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|arg| arg.contains('='));
    let (splits, names): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|arg| arg.starts_with(|c: char| c.is_ascii_digit()));
    let file = names.first().map_or_else(
        || {
            let shipped = "/../../../scenarios/fat-tree-1024.toml";
            PathBuf::from(format!("{}{shipped}", env!("CARGO_MANIFEST_DIR")))
        },
        PathBuf::from,
    );
    let mut document = Document::load(&file)?;
    if names.is_empty() {
        document = document.with_set(&["run.duration=1ms", "run.warmup=100us"])?;
    }
    let document = document.with_set(&assignments)?;
    let first = document.scenario().run.schemes.first().cloned().unwrap_or_default();
    let scheme = names.get(1).cloned().unwrap_or(first);
    let splits = if splits.is_empty() { vec!["1:1".into(), "2:8".into()] } else { splits };
    println!(
        "threads domains  order    run s  core s  Mhops/s  windows  events/window  fullest/mean"
    );
    let mut summary = None;
    for split in &splits {
        let found = measure(&document, &scheme, split)?;
        let same = *summary.get_or_insert_with(|| found.clone()) == found;
        assert!(same, "{split}: another result\n{found}");
    }
    Ok(())
}

/// Runs once and prints a line; returns the summary.
fn measure(document: &Document, scheme: &str, split: &str) -> Result<String, Box<dyn Error>> {
    let mut words = split.split(':');
    let threads = words.next().unwrap_or_default();
    let domains = words.next().unwrap_or(threads);
    let scenario = document.scenario();
    let run = Simulation::new(scenario, scheme, scenario.run.seed, TraceConfig::default())?;
    let mut run = run.in_domains(threads.parse()?, domains.parse()?);
    match words.next() {
        None => {}
        Some("nodes") => run = run.in_node_windows(true),
        Some("slots") => run = run.in_node_windows(false),
        Some(other) => return Err(format!("\"{other}\" in {split}: say slots or nodes").into()),
    }
    let order = if run.has_node_windows() { "nodes" } else { "slots" };
    let (start, cores) = (Instant::now(), core_seconds()?);
    while run.advance(1 << 20) {}
    let (ran_in, cores) = (start.elapsed().as_secs_f64(), core_seconds()? - cores);
    let windows = run.windows().unwrap_or_default();
    let report = run.finish();
    let mean = windows.events as f64 / windows.windows as f64;
    println!(
        "{threads:>7} {:7}  {order} {ran_in:8.3} {cores:7.3} {:8.2} {:8} {mean:14.0} {:13.2}",
        windows.domains.max(1),
        report.summary.packet_hops as f64 / cores / 1e6,
        windows.windows,
        windows.of_fullest as f64 * windows.domains as f64 / windows.events as f64,
    );
    Ok(format!("{:?}", report.summary))
}

/// The user CPU time of this process so far, all threads together.
fn core_seconds() -> Result<f64, Box<dyn Error>> {
    let time = getrusage(UsageWho::RUSAGE_SELF)?.user_time();
    Ok(time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
}
