//! Both halves of the measured time, where flows without end last from before it.

use std::collections::BTreeSet;

use incast_cc::Span;

use super::columns::{Tables, grouped, names, numbers};
use super::{Halves, Measured, Moving};

/// The parts of a half, whose differences say how much the figure varies by itself.
const PARTS: usize = 5;

/// The halves of the rate and of the queue.
pub(super) fn of(tables: Tables<'_>, scenario: &Measured<'_>) -> Vec<Halves> {
    let (rates, queues) = both(tables, scenario).unwrap_or_default();
    let window = scenario.window_us();
    let rate = of_series(Moving::Rate, rates, window);
    rate.into_iter().chain(of_series(Moving::Queue, queues, window)).collect()
}

/// Times in microseconds, each with a value.
type Series = Vec<(f64, f64)>;

/// The rates of flows without end, and the queue with the longest mean; none where a flow or the
/// scenario itself changes what goes on.
fn both(tables: Tables<'_>, scenario: &Measured<'_>) -> Option<(Series, Series)> {
    let there = |name| tables.get(name).filter(|table| table.rows() > 0);
    let (flows, rates, queues) = (there("flows")?, there("series_flows")?, there("series_queues")?);
    let (starts, numbered) = (numbers(flows, "start_us")?, numbers(flows, "flow")?);
    let of_messages = tables.get("messages").and_then(|table| numbers(table, "flow"));
    let of_messages: BTreeSet<_> =
        of_messages.iter().flat_map(|of| of.iter().copied()).map(key).collect();
    let endless = || {
        let started = numbered.iter().zip(&*starts).filter(|(_, start)| !start.is_nan());
        started.filter(|(flow, _)| !of_messages.contains(&key(**flow)))
    };
    let (begin, end) = scenario.window_us();
    let changes = endless().map(|(_, start)| *start).chain(changes_us(&scenario.table()));
    if endless().next().is_none() || { changes }.any(|at| begin < at && at < end) {
        return None;
    }
    let endless: BTreeSet<_> = endless().map(|(flow, _)| key(*flow)).collect();
    let (times, of) = (numbers(rates, "time_us")?, numbers(rates, "flow")?);
    let rate = numbers(rates, "goodput_gbps")?;
    let rates = (0..rates.rows()).filter(|&row| endless.contains(&key(of[row])));
    let rates = rates.map(|row| (times[row], rate[row])).collect();
    let (times, ports) = (numbers(queues, "time_us")?, names(queues, "port")?);
    let queue = numbers(queues, "queue_mean_kb")?;
    let measured = (0..queues.rows()).filter(|&row| times[row] > begin && times[row] <= end);
    let by_port = grouped(measured, |row| ports[row].as_str());
    let mut longest: Option<(&str, f64)> = None;
    for (port, rows) in by_port {
        let known: Vec<_> = rows.iter().map(|&row| queue[row]).filter(|kb| !kb.is_nan()).collect();
        let mean = mean(&known);
        if longest.is_none_or(|(_, most)| mean > most) {
            longest = Some((port, mean));
        }
    }
    let queues = longest.map_or_else(Vec::new, |(port, _)| {
        let own = (0..queues.rows()).filter(|&row| ports[row] == *port);
        own.map(|row| (times[row], queue[row])).collect()
    });
    Some((rates, queues))
}

/// A number of a flow that can be looked for.
const fn key(flow: f64) -> u64 {
    flow.to_bits()
}

/// The halves of the sum of values at each time.
fn of_series(figure: Moving, mut rows: Series, (begin, end): (f64, f64)) -> Option<Halves> {
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut series: Series = Vec::new();
    for (time, value) in rows {
        let value = if value.is_nan() { 0.0 } else { value };
        match series.last_mut() {
            Some((last, sum)) if last.to_bits() == time.to_bits() => *sum += value,
            _ => series.push((time, value)),
        }
    }
    let interval = series.get(1)?.0 - series[0].0;
    let inside = |time: f64| time >= begin + interval - 1e-6 && time <= end + 1e-6;
    let values: Vec<_> =
        series.iter().filter(|(time, _)| inside(*time)).map(|(_, value)| *value).collect();
    let half = values.len() / 2;
    if half < PARTS || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let (first, second) = values[values.len() - 2 * half..].split_at(half);
    let part = |of: &[f64], part| mean(&of[half * part / PARTS..half * (part + 1) / PARTS]);
    let parts = [first, second].map(|of| [0, 1, 2, 3, 4].map(|number| part(of, number)));
    let error = parts.iter().map(|of| variance(of) / PARTS as f64).sum::<f64>().sqrt();
    Some(Halves { figure, first: mean(first), second: mean(second), error })
}

/// The times at which the scenario itself changes what goes on, in microseconds.
fn changes_us(scenario: &toml::Table) -> Vec<f64> {
    let lists = ["event", "traffic", "receiver"].into_iter().filter_map(|name| scenario.get(name));
    let rows = lists.filter_map(toml::Value::as_array).flatten();
    let texts = rows.flat_map(|row| ["at", "start", "stop"].map(|key| row.get(key)));
    let times = texts.filter_map(|text| text?.as_str()?.parse::<Span>().ok());
    times.map(Span::as_us_f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of a sample.
fn variance(values: &[f64; PARTS]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (PARTS - 1) as f64
}
