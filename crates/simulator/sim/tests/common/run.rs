//! Whole runs.

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, TraceConfig};

pub(crate) const ALL_TRACES: TraceConfig = TraceConfig { queues: true, flows: true, packets: true };

/// Runs a scenario to its end. Whatever the run is about, the books must balance.
pub(crate) fn run_with(
    document: &Document,
    scheme: &str,
    seed: u64,
    traces: TraceConfig,
) -> Report {
    let mut run = Simulation::new(document.scenario(), scheme, seed, traces)
        .unwrap_or_else(|error| panic!("{error}"));
    while run.advance(1 << 20) {}
    let report = run.finish();
    assert!(report.complete);
    assert!(report.books.balance(), "{:?}", report.books);
    report
}
