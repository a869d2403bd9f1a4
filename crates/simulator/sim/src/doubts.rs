//! Doubts, told after a run: numbers that show that something measured is not what it seems.
//!
//! Each run is looked at by itself ([`of_run`]), which gives numbers that can be kept. Then the
//! seeds of a scheme are judged together, and schemes and points share a sentence
//! ([`sentences()`]).
//!
//! * `counts` looks at the messages and requests that had not finished;
//! * `halves` compares both halves of the measured time, where flows last;
//! * `overflows` finds the packets that PFC should have kept;
//! * `stalls` finds the jobs of which steps wait for what will not come.
//!
//! A run may be one that was stored, even of another version. So its tables may lack columns, and
//! its scenario is known by its times and its text alone ([`Measured`]).

mod columns;
mod counts;
mod halves;
mod numbers;
mod overflows;
mod sentences;
mod stalls;
#[cfg(test)]
mod tests;

use incast_scenario::Document;
use incast_table::Table;
use serde::{Deserialize, Serialize};

use crate::report::{Report, Summary};
use columns::Tables;
pub use sentences::{OfScheme, Point, sentences};

/// The tables that doubts look at, each with its columns.
pub const LOOKED_AT: [(&str, &[&str]); 8] = [
    (
        "messages",
        &[
            "traffic",
            "flow",
            "bytes",
            "delivered_bytes",
            "posted_us",
            "completion_us",
            "ideal_us",
            "elapsed_us",
            "finished",
        ],
    ),
    ("requests", &["traffic", "posted_us", "completion_us", "elapsed_us", "finished"]),
    ("load", &["traffic", "carried_gbps"]),
    ("flows", &["flow", "start_us"]),
    ("series_flows", &["time_us", "flow", "goodput_gbps"]),
    ("series_queues", &["time_us", "port", "queue_mean_kb"]),
    ("lossless_drops", &["port", "class", "drops", "headroom_kb", "needed_kb"]),
    ("stalled", &["traffic", "host", "step", "kind", "peer"]),
];

/// The numbers of a run by which something is doubted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Doubt {
    /// The messages or requests of one traffic.
    Counts(Counts),
    /// The messages under way at the end of the longest drain.
    Limit(Limit),
    /// A figure of flows without end.
    Halves(Halves),
    /// The packets of a class that PFC protects.
    Overflow(Overflow),
    /// The steps of a job that wait for what will not come.
    Stall(Stall),
}

/// The messages or requests of one traffic that were posted while measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Whether they are messages or requests.
    pub kind: Kind,
    /// The name of the traffic.
    pub traffic: String,
    /// Their number.
    pub posted: u64,
    /// The number that had finished by the end of the run.
    pub finished: u64,
    /// The time that the others would take, by what is left of them and the rate, in microseconds.
    pub left_us: Option<f64>,
    /// The time that they had after the duration, in microseconds.
    pub drain_us: f64,
}

/// The kind of things that are posted and finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Messages.
    Messages,
    /// Requests, each of one message or more.
    Requests,
}

impl Kind {
    /// The name, which is also that of their table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Requests => "requests",
        }
    }
}

/// Messages that were under way at the end of the longest drain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Their number.
    pub left: u64,
    /// The time that they had after the duration, in microseconds.
    pub drain_us: f64,
    /// The time that they would take, in microseconds.
    pub left_us: Option<f64>,
}

/// A figure of flows without end, in both halves of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Halves {
    /// The figure.
    pub figure: Moving,
    /// The mean in the first half.
    pub first: f64,
    /// The mean in the second half.
    pub second: f64,
    /// The standard error of the difference, by the means of five parts of each half.
    pub error: f64,
}

/// A figure that comes to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moving {
    /// The rate of all flows without end together, in Gb/s.
    Rate,
    /// The queue with the longest mean, in KB.
    Queue,
}

/// Packets of a class that PFC protects, dropped all the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overflow {
    /// The class.
    pub of_class: String,
    /// Their number.
    pub drops: u64,
    /// The port with most of them.
    pub port: String,
    /// The headroom there, in KB.
    pub headroom_kb: f64,
    /// The headroom that would do at each of the ports, in KB.
    pub needed_kb: f64,
}

/// Steps of a job that wait for what will not come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The name of the traffic.
    pub traffic: String,
    /// The number of its hosts that wait.
    pub hosts: u64,
    /// The first of them with the first step that waits there, in words.
    pub first: String,
}

/// The scenario of a run, as far as doubts look at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured<'a> {
    /// The time of the run in seconds, without its drain.
    pub duration_s: f64,
    /// The part at the beginning that is not measured, in seconds.
    pub warmup_s: f64,
    /// The part at the end that is not measured, in seconds.
    pub cooldown_s: f64,
    /// The most time after the duration for messages under way, in seconds.
    pub drain_s: Option<f64>,
    /// The text in TOML.
    pub text: &'a str,
}

impl<'a> From<&'a Document> for Measured<'a> {
    fn from(document: &'a Document) -> Self {
        let run = &document.scenario().run;
        Self {
            duration_s: run.duration.as_secs_f64(),
            warmup_s: run.warmup.as_secs_f64(),
            cooldown_s: run.cooldown.as_secs_f64(),
            drain_s: run.drain.map(incast_cc::Span::as_secs_f64),
            text: document.text(),
        }
    }
}

impl Measured<'_> {
    /// The begin and the end of measuring, in microseconds.
    fn window_us(&self) -> (f64, f64) {
        (self.warmup_s * 1e6, (self.duration_s - self.cooldown_s) * 1e6)
    }

    /// The text as a table; an empty one where it is none.
    fn table(&self) -> toml::Table {
        self.text.parse().unwrap_or_default()
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct End {
    /// Whether packets were dropped.
    pub dropped: bool,
    /// The simulated time in seconds, where it is known.
    pub simulated_s: Option<f64>,
}

impl From<&Summary> for End {
    fn from(summary: &Summary) -> Self {
        Self { dropped: summary.drops > 0, simulated_s: Some(summary.simulated_s) }
    }
}

/// The numbers by which a run that has come to its end is doubted, of its tables.
pub fn of_run(tables: &[&Table], end: End, scenario: &Measured<'_>) -> Vec<Doubt> {
    let tables = Tables(tables);
    let timeout_us = if end.dropped { counts::first_timeout_us(&scenario.table()) } else { 0.0 };
    let counted = [Kind::Messages, Kind::Requests]
        .into_iter()
        .flat_map(|kind| counts::of(kind, tables, scenario, timeout_us));
    let counted: Vec<_> = counted.collect();
    let limit = counts::limit(&counted, tables, end.simulated_s, scenario);
    let mut all: Vec<_> = counted.into_iter().map(Doubt::Counts).collect();
    all.extend(limit.map(Doubt::Limit));
    all.extend(halves::of(tables, scenario).into_iter().map(Doubt::Halves));
    all.extend(overflows::of(tables).into_iter().map(Doubt::Overflow));
    all.extend(stalls::of(tables).into_iter().map(Doubt::Stall));
    all
}

/// The numbers by which a report is doubted; none of a run that was stopped.
pub fn of_report(report: &Report, document: &Document) -> Vec<Doubt> {
    if !report.complete {
        return Vec::new();
    }
    let tables: Vec<_> = report.tables.iter().collect();
    of_run(&tables, (&report.summary).into(), &document.into())
}
