//! How a run scales with threads and domains:
//!
//! ```text
//! cargo run --release -p incast-sim --example threads \
//!     [SCENARIO] [SCHEME] [key=value ...] [THREADS:DOMAINS ...]
//! ```
//!
//! Runs the scenario once for each number of threads and domains in turn, and compares the
//! summaries. Prints the events of each window's fullest domain over the mean: with a core for each
//! domain, the others wait for the fullest.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let (assignments, rest): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|arg| arg.contains('='));
    let (splits, names): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|arg| arg.starts_with(|c: char| c.is_ascii_digit()));
    let file = names.first().map_or_else(
        || {
            let shipped = "/../../scenarios/fat-tree-1024.toml";
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
    let splits = if splits.is_empty() { vec!["1:1".into(), "2:16".into()] } else { splits };
    println!("threads domains    run s  Mevents/s  windows  events/window  fullest/mean  core s");
    let mut summary = None;
    for split in &splits {
        let (threads, domains) = split.split_once(':').unwrap_or((split, split));
        let found = measure(&document, &scheme, threads.parse()?, domains.parse()?)?;
        let same = *summary.get_or_insert_with(|| found.clone()) == found;
        assert!(same, "{split}: another result\n{found}");
    }
    Ok(())
}

/// Runs once and prints a line; returns the summary.
fn measure(
    document: &Document,
    scheme: &str,
    threads: usize,
    domains: usize,
) -> Result<String, Box<dyn Error>> {
    let scenario = document.scenario();
    let run = Simulation::new(scenario, scheme, scenario.run.seed, TraceConfig::default())?;
    let mut run = run.in_domains(threads, domains);
    let (start, cores) = (Instant::now(), core_seconds());
    while run.advance(1 << 20) {}
    let (ran_in, cores) = (start.elapsed().as_secs_f64(), core_seconds() - cores);
    let (events, windows) = (run.events(), run.windows().unwrap_or_default());
    let mean = windows.events as f64 / windows.windows as f64;
    println!(
        "{threads:7} {:7} {ran_in:8.2} {:10.3} {:8} {mean:14.0} {:13.2} {cores:7.2}",
        windows.domains.max(1),
        events as f64 / ran_in / 1e6,
        windows.windows,
        windows.of_fullest as f64 * windows.domains as f64 / windows.events as f64,
    );
    Ok(format!("{:?}", run.finish().summary))
}

/// The CPU time of this process as Linux reports it, in ticks of a hundredth of a second; NaN
/// elsewhere.
fn core_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> = fields.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ticks.get(10..12).map_or(f64::NAN, |ticks| ticks.iter().sum::<f64>() / 100.0)
}
