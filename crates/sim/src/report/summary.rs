//! The figures that schemes are compared by.

/// The figures that schemes are compared by. "Measured" is from the end of the warm-up to the beginning
/// of the cool-down; not a number where nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Payload that arrived at the receivers, each byte counted once, per measured second.
    pub throughput_gbps: f64,
    /// RTT samples of all flows: mean.
    pub rtt_mean_us: f64,
    /// Median.
    pub rtt_p50_us: f64,
    /// 99th percentile.
    pub rtt_p99_us: f64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// Backlog of the switch port with the longest queue, over measured time: mean.
    pub queue_mean_kb: f64,
    /// 95th percentile.
    pub queue_p95_kb: f64,
    /// 99th percentile.
    pub queue_p99_kb: f64,
    /// Maximum.
    pub queue_max_kb: f64,
    /// PFC pauses that switches sent, measured.
    pub pfc_pauses: u64,
    /// Time that one traffic class or more was paused, added up over all links, measured.
    pub pfc_paused_us: f64,
    /// Classes of switch ports that PFC held too long, over the whole run.
    pub pfc_watchdog_reports: u64,
    /// Dead-locks, cycles of paused ports that wait for each other, over the whole run: those that a watchdog
    /// freed too.
    pub deadlocks: u64,
    /// Packets dropped, those that failures of links cost included, over the whole run.
    pub drops: u64,
    /// Packets marked (ECN), measured.
    pub ecn_marks: u64,
    /// Packets sent again, over the whole run.
    pub retransmissions: u64,
    /// Jain's fairness index over the flows' measured throughput.
    pub jain_index: f64,
    /// One-way delays of data packets, from the sender's NIC taking them to their arrival: mean.
    pub delay_mean_us: f64,
    /// 99th percentile.
    pub delay_p99_us: f64,
    /// Messages that were posted while measured and delivered by the end of the run.
    pub messages: u64,
    /// Their completion time over the ideal one: mean.
    pub slowdown_mean: f64,
    /// 99th percentile.
    pub slowdown_p99: f64,
    /// Packets that left a link, over the whole run; PFC frames do not count.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
    /// Simulated time.
    pub simulated_s: f64,
}

impl Summary {
    /// All figures by name, which ends in the unit, in the order of their declaration.
    pub fn entries(&self) -> [(&'static str, Figure); 25] {
        use Figure::{Count, Number};
        [
            ("throughput_gbps", Number(self.throughput_gbps)),
            ("rtt_mean_us", Number(self.rtt_mean_us)),
            ("rtt_p50_us", Number(self.rtt_p50_us)),
            ("rtt_p99_us", Number(self.rtt_p99_us)),
            ("rtt_samples", Count(self.rtt_samples)),
            ("queue_mean_kb", Number(self.queue_mean_kb)),
            ("queue_p95_kb", Number(self.queue_p95_kb)),
            ("queue_p99_kb", Number(self.queue_p99_kb)),
            ("queue_max_kb", Number(self.queue_max_kb)),
            ("pfc_pauses", Count(self.pfc_pauses)),
            ("pfc_paused_us", Number(self.pfc_paused_us)),
            ("pfc_watchdog_reports", Count(self.pfc_watchdog_reports)),
            ("deadlocks", Count(self.deadlocks)),
            ("drops", Count(self.drops)),
            ("ecn_marks", Count(self.ecn_marks)),
            ("retransmissions", Count(self.retransmissions)),
            ("jain_index", Number(self.jain_index)),
            ("delay_mean_us", Number(self.delay_mean_us)),
            ("delay_p99_us", Number(self.delay_p99_us)),
            ("messages", Count(self.messages)),
            ("slowdown_mean", Number(self.slowdown_mean)),
            ("slowdown_p99", Number(self.slowdown_p99)),
            ("packet_hops", Count(self.packet_hops)),
            ("events", Count(self.events)),
            ("simulated_s", Number(self.simulated_s)),
        ]
    }
}

/// One figure of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A measured quantity.
    Number(f64),
    /// A count.
    Count(u64),
}

/// Name, unit and meaning of each figure, in the order of [`Summary::entries`].
pub const FIGURES: [(&str, &str, &str); 25] = [
    (
        "throughput_gbps",
        "Gb/s",
        "payload that arrived at all receivers, each byte counted once, per second, measured",
    ),
    ("rtt_mean_us", "us", "mean of the RTT samples of all flows, measured"),
    ("rtt_p50_us", "us", "their median"),
    ("rtt_p99_us", "us", "their 99th percentile"),
    ("rtt_samples", "", "their number"),
    (
        "queue_mean_kb",
        "KB",
        "mean backlog over measured time, of the switch port with the longest queue",
    ),
    ("queue_p95_kb", "KB", "backlog that it did not exceed for 95 % of measured time"),
    ("queue_p99_kb", "KB", "backlog that it did not exceed for 99 % of measured time"),
    ("queue_max_kb", "KB", "its greatest backlog in measured time"),
    ("pfc_pauses", "", "PFC pauses that switches sent, measured"),
    (
        "pfc_paused_us",
        "us",
        "time that PFC paused one traffic class or more, added up over all links, measured",
    ),
    (
        "pfc_watchdog_reports",
        "",
        "classes of switch ports that PFC held too long, over the whole run",
    ),
    (
        "deadlocks",
        "",
        "cycles of paused ports that wait for each other, found when a watchdog reported or at the end of the \
         run; those that a watchdog freed count",
    ),
    (
        "drops",
        "packets",
        "packets dropped, those that failures of links cost included, over the whole run",
    ),
    ("ecn_marks", "packets", "packets marked, measured"),
    ("retransmissions", "packets", "packets sent again, over the whole run"),
    ("jain_index", "", "(sum x)^2 / (n sum x^2) of the measured goodput of all flows; 1 is equal"),
    (
        "delay_mean_us",
        "us",
        "mean one-way delay of data packets, from the sender's NIC taking them to their arrival, measured",
    ),
    ("delay_p99_us", "us", "its 99th percentile"),
    (
        "messages",
        "",
        "messages that were posted while measured and delivered by the end of the run",
    ),
    ("slowdown_mean", "", "their mean completion time over the ideal one"),
    ("slowdown_p99", "", "its 99th percentile, nearest rank"),
    (
        "packet_hops",
        "packets",
        "packets that left a link, PFC frames not counted, over the whole run",
    ),
    ("events", "", "events handled"),
    ("simulated_s", "s", "simulated time, warm-up and cool-down included"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_described_in_its_place() {
        let zeros = Summary {
            throughput_gbps: 0.0,
            rtt_mean_us: 0.0,
            rtt_p50_us: 0.0,
            rtt_p99_us: 0.0,
            rtt_samples: 0,
            queue_mean_kb: 0.0,
            queue_p95_kb: 0.0,
            queue_p99_kb: 0.0,
            queue_max_kb: 0.0,
            pfc_pauses: 0,
            pfc_paused_us: 0.0,
            pfc_watchdog_reports: 0,
            deadlocks: 0,
            drops: 0,
            ecn_marks: 0,
            retransmissions: 0,
            jain_index: 0.0,
            delay_mean_us: 0.0,
            delay_p99_us: 0.0,
            messages: 0,
            slowdown_mean: 0.0,
            slowdown_p99: 0.0,
            packet_hops: 0,
            events: 0,
            simulated_s: 0.0,
        };
        for ((name, _), (described, unit, doc)) in zeros.entries().into_iter().zip(FIGURES) {
            assert_eq!(name, described);
            assert!(!doc.is_empty(), "{name}");
            let suffix = name.rsplit('_').next().unwrap_or_default();
            let expected = match suffix {
                "gbps" => "Gb/s",
                "us" => "us",
                "kb" => "KB",
                "s" => "s",
                _ => unit,
            };
            assert_eq!(unit, expected, "{name}");
        }
    }
}
