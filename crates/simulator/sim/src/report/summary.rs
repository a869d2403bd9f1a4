//! The figures that schemes are compared by.

use incast_cc::Span;
use incast_net::metrics::Histogram;
use incast_net::{Network, QueueLengths};

use super::Books;
use super::deadlines::Judged;
use super::quantiles::Quantiles;

/// The facts that are known when the measurement ends, which the run may outlast.
pub(super) struct Measurement {
    /// The payload of each flow that arrived, in bits per second.
    pub(super) goodputs: Vec<f64>,
    /// RTT samples of all flows, in nanoseconds.
    pub(super) rtt: Histogram,
    /// The one-way delays of data packets, in nanoseconds.
    pub(super) delays: Histogram,
    /// The queue lengths of the port with the longest queue, in bytes.
    pub(super) longest: Option<QueueLengths>,
    /// PFC pauses that switches and slow receivers sent.
    pub(super) pauses: u64,
    /// The time that PFC paused a class or more, added up over all links.
    pub(super) paused: Span,
    /// Packets that were marked.
    pub(super) marks: u64,
}

impl Measurement {
    pub(super) fn longest_kb(&self, length: fn(QueueLengths) -> f64) -> f64 {
        self.longest.map_or(0.0, |queue| length(queue) / 1e3)
    }
}

/// The facts that figures are made of, at the end of the run.
pub(super) struct Facts<'a> {
    pub(super) measured: &'a Measurement,
    pub(super) net: &'a Network,
    pub(super) books: &'a Books,
    /// Slowdowns of the messages that were posted while measured.
    pub(super) slowdowns: Quantiles,
    /// The deadlines of the messages and requests that were posted while measured.
    pub(super) deadlines: Judged,
    pub(super) retransmissions: u64,
    pub(super) watchdog_reports: u64,
    pub(super) dead_locks: u64,
}

/// A figure of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A measured quantity.
    Number(f64),
    /// A count.
    Count(u64),
}

macro_rules! type_of {
    (Number) => {
        f64
    };
    (Count) => {
        u64
    };
}

/// Makes the summary from a list of figures. Each entry has a name, which ends in the unit, a kind,
/// unit and meaning, and says how the figure follows from the facts.
macro_rules! figures {
    ($($name:ident: $kind:ident, $unit:literal, $doc:literal, |$facts:ident| $value:expr;)*) => {
        /// The figures that schemes are compared by. "Measured" is from the end of the warm-up to
        /// the beginning of the cool-down. A figure is not a number where nothing was measured.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Summary {
            $(#[doc = $doc] pub $name: type_of!($kind),)*
        }

        /// Name, unit and meaning of each figure, in the order of [`Summary::entries`].
        pub const FIGURES: &[(&str, &str, &str)] = &[$((stringify!($name), $unit, $doc)),*];

        impl Summary {
            pub(super) fn of(facts: &Facts<'_>) -> Self {
                Self { $($name: { let $facts = facts; $value },)* }
            }

            /// All figures by name, in the order of their declaration.
            pub fn entries(&self) -> [(&'static str, Figure); FIGURES.len()] {
                [$((stringify!($name), Figure::$kind(self.$name))),*]
            }
        }
    };
}

figures! {
    throughput_gbps: Number, "Gb/s", "payload that arrived at all receivers, each byte counted once, per second, measured",
        |f| f.measured.goodputs.iter().sum::<f64>() / 1e9;
    rtt_mean_us: Number, "us", "mean of the RTT samples of all flows, measured",
        |f| us(f.measured.rtt.mean());
    rtt_p50_us: Number, "us", "their median",
        |f| us(f.measured.rtt.quantile(0.5));
    rtt_p99_us: Number, "us", "their 99th percentile",
        |f| us(f.measured.rtt.quantile(0.99));
    rtt_samples: Count, "", "their number",
        |f| f.measured.rtt.total();
    queue_mean_kb: Number, "KB", "mean backlog over measured time, of the switch port with the longest queue",
        |f| f.measured.longest_kb(|queue| queue.mean);
    queue_p95_kb: Number, "KB", "backlog that it did not exceed for 95 % of measured time",
        |f| f.measured.longest_kb(|queue| queue.p95);
    queue_p99_kb: Number, "KB", "backlog that it did not exceed for 99 % of measured time",
        |f| f.measured.longest_kb(|queue| queue.p99);
    queue_max_kb: Number, "KB", "its greatest backlog in measured time",
        |f| f.measured.longest_kb(|queue| queue.max);
    pfc_pauses: Count, "", "PFC pauses that switches and slow receivers sent, measured",
        |f| f.measured.pauses;
    pfc_paused_us: Number, "us", "time that PFC paused one traffic class or more, added up over all links, measured",
        |f| f.measured.paused.as_us_f64();
    pfc_watchdog_reports: Count, "", "classes of switch ports that PFC held too long, over the whole run",
        |f| f.watchdog_reports;
    deadlocks: Count, "", "cycles of paused ports that wait for each other, found when a watchdog reported or at the end of the \
            run; those that a watchdog freed count",
        |f| f.dead_locks;
    drops: Count, "packets", "packets dropped, those that links and slow receivers cost included, over the whole run",
        |f| f.books.dropped_packets;
    ecn_marks: Count, "packets", "packets marked, measured",
        |f| f.measured.marks;
    retransmissions: Count, "packets", "packets sent again, over the whole run",
        |f| f.retransmissions;
    jain_index: Number, "", "(sum x)^2 / (n sum x^2) of the measured goodput of all flows; 1 is equal",
        |f| jain_index(&f.measured.goodputs);
    delay_mean_us: Number, "us", "mean one-way delay of data packets, from the sender's NIC taking them to their arrival, measured",
        |f| us(f.measured.delays.mean());
    delay_p99_us: Number, "us", "its 99th percentile",
        |f| us(f.measured.delays.quantile(0.99));
    messages: Count, "", "messages that were posted while measured and delivered by the end of the run",
        |f| f.slowdowns.known() as u64;
    messages_posted: Count, "", "messages that were posted while measured, delivered or not",
        |f| f.slowdowns.len() as u64;
    slowdown_mean: Number, "", "completion over ideal completion: mean of the messages that were posted while measured and delivered",
        |f| f.slowdowns.mean();
    slowdown_p99: Number, "", "its 99th percentile, nearest rank, of all that were posted while measured: those that were not delivered \
            are the slowest; null where it is one of these",
        |f| f.slowdowns.at(0.99);
    slowdown_p99_bound: Number, "", "the 99th percentile is at least this, where it is null",
        |f| f.slowdowns.bound_at(0.99);
    deadlines: Count, "", "deadlines of messages and requests that were posted while measured and were complete, or whose deadline \
            had passed, by the end of the run; messages of a request with a deadline count as that one",
        |f| f.deadlines.deadlines;
    deadlines_missed_percent: Number, "%", "share of these that were missed: complete too late, or not by the end of the run; null without any",
        |f| f.deadlines.missed_percent();
    late_mean_us: Number, "us", "mean time from the deadline to the completion, of those that were complete too late; null without any",
        |f| f.deadlines.late_mean_us();
    packet_hops: Count, "packets", "packets that left a link, PFC frames not counted, over the whole run",
        |f| f.net.transmitters().map(|link| link.hops().packets).sum();
    events: Count, "", "events handled",
        |f| f.net.events();
    simulated_s: Number, "s", "simulated time, warm-up and cool-down included",
        |f| f.net.now().as_secs_f64();
}

fn us(ns: Option<f64>) -> f64 {
    ns.map_or(f64::NAN, |ns| ns / 1e3)
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all.
pub(super) fn jain_index(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_the_unit_of_its_name_and_a_meaning() {
        for &(name, unit, doc) in FIGURES {
            assert!(!doc.is_empty(), "{name}");
            let expected = match name.rsplit('_').next().unwrap_or_default() {
                "gbps" => "Gb/s",
                "us" => "us",
                "kb" => "KB",
                "s" => "s",
                _ => unit,
            };
            assert_eq!(unit, expected, "{name}");
        }
    }

    #[test]
    fn jain_index_is_one_for_equal_flows_and_their_share_for_one_that_has_all() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain_index(&[8.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
