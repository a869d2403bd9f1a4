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
    /// Messages that were posted while measured, delivered or not.
    pub messages_posted: u64,
    /// Completion time over the ideal one: mean of the messages that were delivered.
    pub slowdown_mean: f64,
    /// 99th percentile of all that were posted, those that were not delivered the slowest; not a number where it
    /// is one of these.
    pub slowdown_p99: f64,
    /// What the 99th percentile is at least where it is that of a message that was not delivered.
    pub slowdown_p99_bound: f64,
    /// Packets that left a link, over the whole run; PFC frames do not count.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
    /// Simulated time.
    pub simulated_s: f64,
}

/// One figure of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A measured quantity.
    Number(f64),
    /// A count.
    Count(u64),
}

/// Says of each figure its name, which ends in the unit, what it is, unit and meaning.
macro_rules! figures {
    ($($name:ident: $kind:ident, $unit:literal, $doc:literal;)*) => {
        /// Name, unit and meaning of each figure, in the order of [`Summary::entries`].
        pub const FIGURES: [(&str, &str, &str); 27] = [$((stringify!($name), $unit, $doc)),*];

        impl Summary {
            /// All figures by name, which ends in the unit, in the order of their declaration.
            pub fn entries(&self) -> [(&'static str, Figure); FIGURES.len()] {
                [$((stringify!($name), Figure::$kind(self.$name))),*]
            }
        }
    };
}

figures! {
    throughput_gbps: Number, "Gb/s",
        "payload that arrived at all receivers, each byte counted once, per second, measured";
    rtt_mean_us: Number, "us", "mean of the RTT samples of all flows, measured";
    rtt_p50_us: Number, "us", "their median";
    rtt_p99_us: Number, "us", "their 99th percentile";
    rtt_samples: Count, "", "their number";
    queue_mean_kb: Number, "KB",
        "mean backlog over measured time, of the switch port with the longest queue";
    queue_p95_kb: Number, "KB", "backlog that it did not exceed for 95 % of measured time";
    queue_p99_kb: Number, "KB", "backlog that it did not exceed for 99 % of measured time";
    queue_max_kb: Number, "KB", "its greatest backlog in measured time";
    pfc_pauses: Count, "", "PFC pauses that switches sent, measured";
    pfc_paused_us: Number, "us",
        "time that PFC paused one traffic class or more, added up over all links, measured";
    pfc_watchdog_reports: Count, "", "classes of switch ports that PFC held too long, over the whole run";
    deadlocks: Count, "",
        "cycles of paused ports that wait for each other, found when a watchdog reported or at the end of the \
         run; those that a watchdog freed count";
    drops: Count, "packets",
        "packets dropped, those that failures of links cost included, over the whole run";
    ecn_marks: Count, "packets", "packets marked, measured";
    retransmissions: Count, "packets", "packets sent again, over the whole run";
    jain_index: Number, "", "(sum x)^2 / (n sum x^2) of the measured goodput of all flows; 1 is equal";
    delay_mean_us: Number, "us",
        "mean one-way delay of data packets, from the sender's NIC taking them to their arrival, measured";
    delay_p99_us: Number, "us", "its 99th percentile";
    messages: Count, "", "messages that were posted while measured and delivered by the end of the run";
    messages_posted: Count, "", "messages that were posted while measured, delivered or not";
    slowdown_mean: Number, "",
        "completion over ideal completion: mean of the messages that were posted while measured and delivered";
    slowdown_p99: Number, "",
        "its 99th percentile, nearest rank, of all that were posted while measured: those that were not delivered \
         are the slowest; null where it is one of these";
    slowdown_p99_bound: Number, "", "the 99th percentile is at least this, where it is null";
    packet_hops: Count, "packets", "packets that left a link, PFC frames not counted, over the whole run";
    events: Count, "", "events handled";
    simulated_s: Number, "s", "simulated time, warm-up and cool-down included";
}

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
            messages_posted: 0,
            slowdown_mean: 0.0,
            slowdown_p99: 0.0,
            slowdown_p99_bound: 0.0,
            packet_hops: 0,
            events: 0,
            simulated_s: 0.0,
        };
        let fields = format!("{zeros:?}");
        let fields = fields.trim_start_matches("Summary { ").split(", ");
        let fields: Vec<_> = fields.filter_map(|field| field.split_once(": ")).collect();
        assert_eq!(fields.len(), FIGURES.len());
        for ((field, _), (name, unit, doc)) in fields.into_iter().zip(FIGURES) {
            assert_eq!(name, field);
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
