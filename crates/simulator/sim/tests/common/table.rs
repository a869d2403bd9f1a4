//! The tables of a report.

use incast_sim::{Name, Report, Table, Values};

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
