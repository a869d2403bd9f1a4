//! The common parts of the tests. Programs beside `it` name the files that they need.

pub(crate) mod bottleneck;
pub(crate) mod cells;
pub(crate) mod mistakes;
pub(crate) mod networks;
mod run;
mod scenario;
mod table;

use incast_sim::{Report, TraceConfig};

pub(crate) use run::{ALL_TRACES, run_with};
pub(crate) use scenario::{document, repository, shipped};
pub(crate) use table::{completions_us, counts, numbers, port, ps, table, texts};

/// Runs `line-rate`, the scheme whose packets arithmetic can follow.
pub(crate) fn run(text: &str) -> Report {
    run_with(&document(text), "line-rate", 1, TraceConfig::default())
}

/// Runs `line-rate` with every trace.
pub(crate) fn run_traced(text: &str) -> Report {
    run_with(&document(text), "line-rate", 1, ALL_TRACES)
}
