//! Networks, statistics, and rows of tables that the tests of this folder share.

use std::collections::BTreeMap;

use incast_sim::Report;

use crate::common::{counts, numbers, ps, texts};

/// A star of hosts called `host0` and so on, 100 Gb/s and 1 us per link, and no limit of any queue
/// that the tests would reach.
pub(crate) fn star(hosts: u32, duration: &str, rest: &str) -> String {
    format!(
        r#"
        title = "a star"
        [run]
        duration = "{duration}"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "host"
        count = {hosts}
        rate = "100Gbps"
        delay = "1us"
        [switch]
        buffer = "100MB"
        queue_limit = "10MB"
        {rest}
        "#
    )
}

/// Racks of four hosts at 100 Gb/s under two spines, 50 Gb/s from leaf to spine.
pub(crate) fn racks(leaves: u32, duration: &str, rest: &str) -> String {
    format!(
        r#"
        title = "racks"
        [run]
        duration = "{duration}"
        schemes = ["line-rate"]
        [network.leaf-spine]
        leaves = {leaves}
        spines = 2
        hosts = {{ name = "host", count = 4, rate = "100Gbps", delay = "1us" }}
        uplink = {{ rate = "50Gbps", delay = "1us" }}
        [switch]
        buffer = "100MB"
        queue_limit = "10MB"
        {rest}
        "#
    )
}

/// Wire bytes of a message in packets of 1,460 B with 40 B of headers.
pub(crate) fn wire(bytes: u64) -> f64 {
    (bytes + bytes.div_ceil(1_460) * 40) as f64
}

/// The end of each piece of work, from event to event: `works` has the time at which each comes and
/// its size, `rates` says how fast each of those that are there gets on. It is told their places in
/// `works` and what is left of them.
pub(crate) fn ends(works: &[(f64, f64)], rates: impl Fn(&[(usize, f64)]) -> Vec<f64>) -> Vec<f64> {
    /// A millionth of a unit of work, which is rounding.
    const NOTHING: f64 = 1e-6;
    let mut order: Vec<usize> = (0..works.len()).collect();
    order.sort_by(|&a, &b| works[a].0.total_cmp(&works[b].0));
    let mut coming = order.into_iter().peekable();
    let mut there: Vec<(usize, f64)> = Vec::new();
    let mut ends = vec![f64::NAN; works.len()];
    let mut now = 0.0;
    loop {
        let rates = rates(&there);
        let spans = there.iter().zip(&rates).map(|((_, left), rate)| left / rate);
        let first = now + spans.fold(f64::INFINITY, f64::min);
        let to = coming.peek().map_or(f64::INFINITY, |&work| works[work].0).min(first);
        if to.is_infinite() {
            return ends;
        }
        for ((_, left), rate) in there.iter_mut().zip(&rates) {
            *left -= rate * (to - now);
        }
        now = to;
        there.retain(|&(work, left)| {
            if left < NOTHING {
                ends[work] = now;
            }
            left >= NOTHING
        });
        while let Some(work) = coming.next_if(|&work| works[work].0 <= now) {
            there.push((work, works[work].1));
        }
    }
}

/// A row of the table of messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) traffic: String,
    pub(crate) flow: u64,
    pub(crate) source: String,
    pub(crate) destination: String,
    pub(crate) class: String,
    pub(crate) bytes: u64,
    /// In picoseconds.
    pub(crate) posted: u64,
    pub(crate) completed: u64,
    pub(crate) host: u64,
    pub(crate) network: u64,
    pub(crate) ideal: u64,
    pub(crate) slowdown: f64,
    pub(crate) met_deadline: f64,
}

/// All rows of the table of messages that were delivered.
pub(crate) fn messages(report: &Report) -> Vec<Row> {
    let text = |column| texts(report, "messages", column);
    let count = |column| counts(report, "messages", column);
    let number = |column| numbers(report, "messages", column);
    let time = |column, i: usize| ps(number(column)[i]);
    let finished = count("finished").iter().enumerate().filter(|&(_, &finished)| finished == 1);
    finished
        .map(|(i, _)| Row {
            traffic: text("traffic")[i].to_string(),
            flow: count("flow")[i],
            source: text("source")[i].to_string(),
            destination: text("destination")[i].to_string(),
            class: text("class")[i].to_string(),
            bytes: count("bytes")[i],
            posted: time("posted_us", i),
            completed: time("completed_us", i),
            host: time("host_us", i),
            network: time("network_us", i),
            ideal: time("ideal_us", i),
            slowdown: number("slowdown")[i],
            met_deadline: number("met_deadline")[i],
        })
        .collect()
}

/// A row of the table of requests.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client: String,
    pub(crate) kind: String,
    pub(crate) fan_out: u64,
    pub(crate) bytes: u64,
    pub(crate) posted: u64,
    pub(crate) completed: u64,
}

/// All rows of the table of requests that are complete.
pub(crate) fn requests(report: &Report) -> Vec<Request> {
    let text = |column| texts(report, "requests", column);
    let count = |column| counts(report, "requests", column);
    let time = |column, i: usize| ps(numbers(report, "requests", column)[i]);
    let finished = count("finished").iter().enumerate().filter(|&(_, &finished)| finished == 1);
    finished
        .map(|(i, _)| Request {
            client: text("client")[i].to_string(),
            kind: text("kind")[i].to_string(),
            fan_out: count("fan_out")[i],
            bytes: count("bytes")[i],
            posted: time("posted_us", i),
            completed: time("completed_us", i),
        })
        .collect()
}

/// The number of a host that is called "host" and a number.
pub(crate) fn number(host: &str) -> usize {
    host.trim_start_matches("host").parse().unwrap_or_else(|_| panic!("{host}"))
}

/// Rows by a key, in the order of keys.
pub(crate) fn grouped<K: Ord, R>(rows: Vec<R>, key: impl Fn(&R) -> K) -> BTreeMap<K, Vec<R>> {
    let mut groups = BTreeMap::new();
    for row in rows {
        groups.entry(key(&row)).or_insert_with(Vec::new).push(row);
    }
    groups
}

/// The chi-square statistic of counts and their expectations.
pub(crate) fn chi_square(counts: impl IntoIterator<Item = (u64, f64)>) -> f64 {
    counts.into_iter().map(|(count, expected)| (count as f64 - expected).powi(2) / expected).sum()
}

/// The range that chi-square leaves once in a thousand times at each end (Wilson and Hilferty;
/// within 1 % from ten degrees of freedom on).
pub(crate) fn chi_square_range(freedom: f64) -> std::ops::Range<f64> {
    let at = |z: f64| {
        let v = 2.0 / (9.0 * freedom);
        freedom * (1.0 - v + z * v.sqrt()).powi(3)
    };
    at(-3.09)..at(3.09)
}

/// Mean and coefficient of variation.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt() / mean)
}

/// Checks that times between arrivals are exponentially distributed around `mean`, in the same
/// unit: mean, variation, and the shape in twenty parts of equal probability.
pub(crate) fn assert_exponential(gaps: &[f64], mean: f64) {
    let n = gaps.len() as f64;
    let (got, variation) = moments(gaps);
    // The deviations of the mean and, for an exponential distribution, of the variation are 1 /
    // sqrt(n).
    let bound = 3.3 / n.sqrt();
    assert!((got / mean - 1.0).abs() < bound, "mean {got}, not {mean}, of {n}");
    assert!((variation - 1.0).abs() < bound, "variation {variation} of {n}");
    let mut parts = [0_u64; 20];
    for gap in gaps {
        let probability = 1.0 - (-gap / mean).exp();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 20")]
        let part = (probability * 20.0) as usize;
        parts[part.min(19)] += 1;
    }
    let chi_square = chi_square(parts.map(|part| (part, n / 20.0)));
    let range = chi_square_range(19.0);
    assert!(range.contains(&chi_square), "{chi_square} is not in {range:?}: {parts:?}");
}
