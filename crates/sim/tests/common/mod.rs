//! What the tests of whole runs share: running a scenario, and reading its tables.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};

use incast_sim::scenario::Document;
use incast_sim::{Name, Report, Simulation, Table, TraceConfig, Values};

pub(crate) const ALL_TRACES: TraceConfig = TraceConfig { queues: true, flows: true, packets: true };

/// Reads a scenario that must be right.
pub(crate) fn document(text: &str) -> Document {
    Document::parse(text.to_owned(), "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A scenario that ships, with values changed.
pub(crate) fn shipped(name: &str, assignments: &[&str]) -> Document {
    let path = repository(&format!("scenarios/{name}.toml"));
    let document = Document::load(&path).and_then(|document| document.with_set(assignments));
    document.unwrap_or_else(|error| panic!("{error}"))
}

/// Compares `text` with a file under tests/golden, or renews the file; `test` names the test binary.
pub(crate) fn assert_golden(file: &str, test: &str, text: &str) {
    let path = repository("tests/golden").join(file);
    if std::env::var_os("INCAST_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let endless = |text: &'_ str| {
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.into_iter().chain(std::iter::repeat(String::new()))
    };
    let differences: Vec<_> = endless(&golden)
        .zip(endless(text))
        .take(golden.lines().count().max(text.lines().count()))
        .filter(|(golden, now)| golden != now)
        .map(|(golden, now)| format!("- {golden}\n+ {now}"))
        .collect();
    assert!(
        differences.is_empty(),
        "the results are not those of {}:\n{}\nIf that is meant, renew the file with\n\
         INCAST_UPDATE_GOLDEN=1 cargo test -p incast-sim --test {test} golden\n\
         and say in the commit why the figures moved.",
        path.display(),
        differences.join("\n")
    );
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

/// The completion times of the messages that were delivered, in microseconds.
pub(crate) fn completions_us(report: &Report) -> Vec<f64> {
    let times = numbers(report, "messages", "completion_us").iter().copied();
    times.filter(|time| !time.is_nan()).collect()
}

pub(crate) fn counts<'a>(report: &'a Report, name: &str, column: &str) -> &'a [u64] {
    let Values::U64(values) = values(report, name, column) else { panic!("{name}.{column}") };
    values
}

pub(crate) fn texts<'a>(report: &'a Report, name: &str, column: &str) -> &'a [Name] {
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
