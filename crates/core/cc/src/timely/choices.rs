//! Parameters of TIMELY whose values are words.

use crate::words;

words! {
    /// The differences that count towards hyperactive increase.
    pub enum HaiCounts {
        /// Samples below their predecessor.
        Raw = "raw",
        /// Samples that leave the smoothed gradient at or below zero.
        Smoothed = "smoothed",
    }
}

words! {
    /// The changes that are multiplied by min((now - last update) / `min_rtt`, 1).
    pub enum TimeScaling {
        /// No change.
        Never = "never",
        /// Additive increase and the decrease above `t_high`.
        IncreaseAndTHigh = "increase-and-t-high",
        /// These and the gradient decrease.
        Always = "always",
    }
}

words! {
    /// The rate of a new flow.
    pub enum InitialRate {
        /// Line rate over one more than the flows already active at the sender.
        Share = "share",
        /// Line rate.
        Line = "line-rate",
        /// The initial window of other algorithms once per RTT without queues, which is a
        /// millisecond where nobody knows it; at most line rate.
        InitialWindow = "initial-window",
        /// A packet per millisecond; at most line rate.
        Packet = "packet",
        /// A quarter of the rate that an earlier flow of the host has found, at most the `share`; a
        /// packet per millisecond where none has within `rtt_window`. Beside `learning` alone.
        Path = "path",
    }
}

words! {
    /// The RTT that the first sample is compared with.
    pub enum InitialRtt {
        /// Itself: no gradient yet.
        FirstSample = "first-sample",
        /// The minimum RTT.
        MinRtt = "min-rtt",
    }
}

words! {
    /// The time at line rate that an RTT sample leaves out.
    pub enum Serialization {
        /// The time of the segment, or of the packet in a stream.
        Segment = "segment",
        /// The time of all data that the ACK acknowledges, up to 64 packets: hosts that leave
        /// segmentation to their NICs are answered by one ACK for a burst.
        Acked = "acked",
    }
}

words! {
    /// The effect of samples that were taken while the application sent less than the rate.
    pub enum AppLimited {
        /// Such samples count like all others.
        Counts = "counts",
        /// Such samples lower the rate, and never raise it: a rate not used was not tried.
        Lowers = "lowers",
    }
}
