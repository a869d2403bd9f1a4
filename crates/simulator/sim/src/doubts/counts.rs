//! Messages and requests that had not finished, and the time that they would have needed.

use incast_cc::Span;
use incast_table::Table;

use super::columns::{Tables, grouped, names, numbers};
use super::{Counts, Kind, Limit, Measured};

/// The timeout of a connection before its first RTT sample, in microseconds.
pub(super) fn first_timeout_us(scenario: &toml::Table) -> f64 {
    let transport = scenario.get("transport");
    let word = |table: Option<&toml::Value>, key| Some(table?.get(key)?.as_str()?.to_owned());
    if let Some(given) = word(transport, "rto_initial").and_then(|text| text.parse::<Span>().ok()) {
        return given.as_us_f64();
    }
    let is_stream = word(transport, "kind").is_some_and(|kind| kind == "stream");
    let preset = word(transport.and_then(|table| table.get("stream")), "preset");
    let is_slow = preset.is_some_and(|preset| preset == "linux" || preset == "ns-3");
    if is_stream && is_slow { 1e6 } else { 16e3 }
}

/// The messages or requests of each traffic that were posted while measured.
pub(super) fn of(
    kind: Kind,
    tables: Tables<'_>,
    scenario: &Measured<'_>,
    timeout_us: f64,
) -> Vec<Counts> {
    let counted = || {
        let table = tables.get(kind.as_str())?;
        let (traffic, posted) = (names(table, "traffic")?, numbers(table, "posted_us")?);
        let (begin, end) = scenario.window_us();
        let completion = numbers(table, "completion_us");
        // Rows of a table that does not say it had finished if they have a completion time.
        let finished = numbers(table, "finished");
        let is_known = |row: usize| completion.as_ref().is_none_or(|times| !times[row].is_nan());
        let rows = (0..table.rows())
            .filter(|&row| posted[row] >= begin && posted[row] < end)
            .filter(|&row| finished.is_some() || is_known(row));
        let of_traffic = |(name, rows): (&str, Vec<usize>)| {
            let had_finished = |&&row: &&usize| finished.as_ref().is_none_or(|all| all[row] != 0.0);
            let done = rows.iter().filter(had_finished).count();
            let requests = (kind == Kind::Requests).then_some((table, &rows[..]));
            let left_us = || left_us(name, tables, requests, timeout_us);
            Counts {
                kind,
                traffic: name.to_owned(),
                posted: rows.len() as u64,
                finished: done as u64,
                left_us: if done < rows.len() { left_us() } else { None },
                drain_us: scenario.drain_s.unwrap_or(0.0) * 1e6,
            }
        };
        let groups = grouped(rows, |row| traffic[row].as_str());
        Some(groups.into_iter().map(of_traffic).collect())
    };
    counted().unwrap_or_default()
}

/// The time that the messages of a traffic would take that were under way at the end: the longest
/// of these.
///
/// * all that is left, at the rate at which the traffic was carried;
/// * what is left of each message, as much slower than the ideal as the finished ones were, byte by
///   byte;
/// * the time that each has had, since it may wait for a timeout;
/// * what is left of the first timeout, of messages that are overdue where packets were dropped;
/// * of requests (their table, and rows in it) the longest of the finished ones, less the time that
///   each has had.
pub(super) fn left_us(
    traffic: &str,
    tables: Tables<'_>,
    requests: Option<(&Table, &[usize])>,
    timeout_us: f64,
) -> Option<f64> {
    let table = tables.get("messages")?;
    let of = names(table, "traffic")?;
    let column = |name| numbers(table, name);
    let (bytes, delivered) = (column("bytes")?, column("delivered_bytes")?);
    let (ideal, completion) = (column("ideal_us")?, column("completion_us")?);
    let (elapsed, finished) = (column("elapsed_us"), column("finished")?);
    let own = || (0..table.rows()).filter(|&row| of[row] == *traffic);
    let done = || own().filter(|&row| finished[row] > 0.0);
    let sum = |values: &[f64]| done().map(|row| values[row]).filter(|v| !v.is_nan()).sum::<f64>();
    let slower = f64::max(1.0, sum(&completion) / sum(&ideal));
    let mut times = Vec::new();
    let mut all_left = 0.0;
    for row in own().filter(|&row| finished[row] == 0.0) {
        let left = bytes[row] - delivered[row];
        all_left += left;
        times.push(left / bytes[row] * ideal[row] * slower);
        if let Some(elapsed) = &elapsed {
            times.push(elapsed[row]);
            if elapsed[row] > ideal[row] * slower {
                times.push(timeout_us - elapsed[row]);
            }
        }
    }
    if let Some(load) = tables.get("load")
        && let (Some(of), Some(rates)) = (names(load, "traffic"), numbers(load, "carried_gbps"))
    {
        let rates = of.iter().zip(&*rates).filter(|(name, rate)| **name == traffic && **rate > 0.0);
        times.extend(rates.map(|(_, rate)| all_left * 8e-3 / rate));
    }
    if let Some((table, rows)) = requests
        && let (Some(took), Some(waited)) =
            (numbers(table, "completion_us"), numbers(table, "elapsed_us"))
    {
        let longest = rows.iter().map(|&row| took[row]).fold(f64::NAN, f64::max);
        times.extend(rows.iter().map(|&row| longest - waited[row]));
    }
    times.into_iter().filter(|time| time.is_finite() && *time > 0.0).max_by(f64::total_cmp)
}

/// The messages that were under way when the run ended with its longest drain.
pub(super) fn limit(
    counts: &[Counts],
    tables: Tables<'_>,
    simulated_s: Option<f64>,
    scenario: &Measured<'_>,
) -> Option<Limit> {
    let drain_s = scenario.drain_s.filter(|drain| *drain > 0.0)?;
    let finished = numbers(tables.get("messages")?, "finished")?;
    if simulated_s? <= (scenario.duration_s + drain_s) * (1.0 - 1e-9) {
        return None;
    }
    let left = finished.iter().filter(|finished| **finished == 0.0).count() as u64;
    let left_us = counts.iter().filter_map(|one| one.left_us).max_by(f64::total_cmp);
    (left > 0).then_some(Limit { left, drain_us: drain_s * 1e6, left_us })
}
