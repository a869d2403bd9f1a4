//! What the tests of whole runs share: running a scenario, and reading its tables.

#![allow(dead_code, reason = "each test file uses a part of it")]

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, Table, TraceConfig, Values};

pub(crate) const ALL_TRACES: TraceConfig = TraceConfig { queues: true, flows: true, packets: true };

/// Reads a scenario that must be right.
pub(crate) fn document(text: &str) -> Document {
    Document::parse(text.to_owned(), "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

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

/// Runs `line-rate`, the scheme whose packets arithmetic can follow.
pub(crate) fn run(text: &str) -> Report {
    run_with(&document(text), "line-rate", 1, TraceConfig::default())
}

/// The same with every trace.
pub(crate) fn run_traced(text: &str) -> Report {
    run_with(&document(text), "line-rate", 1, ALL_TRACES)
}

pub(crate) fn table<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn values<'a>(report: &'a Report, name: &str, column: &str) -> &'a Values {
    let columns = &table(report, name).columns;
    let found = columns.iter().find(|candidate| candidate.name == column);
    &found.unwrap_or_else(|| panic!("no {name}.{column}")).values
}

pub(crate) fn numbers<'a>(report: &'a Report, name: &str, column: &str) -> &'a [f64] {
    let Values::F64(values) = values(report, name, column) else { panic!("{name}.{column}") };
    values
}

pub(crate) fn counts<'a>(report: &'a Report, name: &str, column: &str) -> &'a [u64] {
    let Values::U64(values) = values(report, name, column) else { panic!("{name}.{column}") };
    values
}

pub(crate) fn texts<'a>(report: &'a Report, name: &str, column: &str) -> &'a [String] {
    let Values::Text(values) = values(report, name, column) else { panic!("{name}.{column}") };
    values
}

/// The row of the switch port called `port` in the table of queues.
pub(crate) fn port(report: &Report, port: &str) -> usize {
    let ports = texts(report, "queues", "port");
    ports.iter().position(|name| name == port).unwrap_or_else(|| panic!("{port}: {ports:?}"))
}

/// A time of a table in picoseconds. Tables have microseconds as `f64`, which hold every picosecond
/// of a run shorter than an hour: 2^53 ps are 2.5 hours.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^53")]
pub(crate) fn ps(us: f64) -> u64 {
    assert!((0.0..3.6e9).contains(&us), "{us}");
    (us * 1e6).round() as u64
}
