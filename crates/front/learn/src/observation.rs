//! The observation of a monitoring interval: features, their order, units and bounds.

/// A feature of an observation.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// The name.
    pub name: &'static str,
    /// The unit of the measured value.
    pub unit: &'static str,
    /// The quantity that divides the value, or another change of the value.
    pub scale: &'static str,
    /// The least value of the feature; lesser ones become it.
    pub low: f32,
    /// The greatest value of the feature; greater ones become it.
    pub high: f32,
    /// The definition of the measured value.
    pub doc: &'static str,
}

/// The number of features.
pub const WIDTH: usize = 12;

/// The features of an observation, in its order.
pub const FEATURES: [Feature; WIDTH] = [
    Feature {
        name: "throughput",
        unit: "Gb/s",
        scale: "divided by the rate of the sender's NIC",
        low: 0.0,
        high: 16.0,
        doc: "Acknowledged payload over the interval; an ACK may answer data of several.",
    },
    Feature {
        name: "send_rate",
        unit: "Gb/s",
        scale: "divided by the rate of the sender's NIC",
        low: 0.0,
        high: 16.0,
        doc: "Payload that was sent over the interval, retransmissions included.",
    },
    Feature {
        name: "rate",
        unit: "Gb/s",
        scale: "divided by the rate of the sender's NIC",
        low: 0.0,
        high: 16.0,
        doc: "The pacing rate that the last action set; of a window, that over the least RTT.",
    },
    Feature {
        name: "rtt_mean",
        unit: "us",
        scale: "divided by the least RTT of the flow, less 1",
        low: 0.0,
        high: 100.0,
        doc: "Mean of the RTT samples; of the last interval that had any.",
    },
    Feature {
        name: "rtt_min",
        unit: "us",
        scale: "divided by the least RTT of the flow, less 1",
        low: 0.0,
        high: 100.0,
        doc: "Least of the RTT samples; of the last interval that had any.",
    },
    Feature {
        name: "rtt_max",
        unit: "us",
        scale: "divided by the least RTT of the flow, less 1",
        low: 0.0,
        high: 100.0,
        doc: "Greatest of the RTT samples; of the last interval that had any.",
    },
    Feature {
        name: "rtt_gradient",
        unit: "us/us",
        scale: "as it is",
        low: -10.0,
        high: 10.0,
        doc: "Slope of the line of least squares through the RTT samples; 0 of fewer than two.",
    },
    Feature {
        name: "ce_share",
        unit: "",
        scale: "as it is",
        low: 0.0,
        high: 1.0,
        doc: "Part of the acknowledged payload that arrived with a congestion mark.",
    },
    Feature {
        name: "loss_share",
        unit: "",
        scale: "as it is",
        low: 0.0,
        high: 1.0,
        doc: "Payload declared lost over payload declared lost or acknowledged.",
    },
    Feature {
        name: "in_flight",
        unit: "B",
        scale: "divided by the rate of the sender's NIC times the least RTT of the flow",
        low: 0.0,
        high: 100.0,
        doc: "Payload that was sent and is neither acknowledged nor lost, after the last event.",
    },
    Feature {
        name: "ack_age",
        unit: "us",
        scale: "divided by the interval",
        low: 0.0,
        high: 100.0,
        doc: "Time since the last ACK, or since the start of the flow.",
    },
    Feature {
        name: "active",
        unit: "",
        scale: "as it is",
        low: 0.0,
        high: 1.0,
        doc: "1 if something was sent, acknowledged, lost or in flight; else 0.",
    },
];

/// The places of features that have a meaning of their own elsewhere.
pub(crate) mod place {
    pub(crate) const THROUGHPUT: usize = 0;
    pub(crate) const RTT_MEAN: usize = 3;
    pub(crate) const LOSS_SHARE: usize = 8;
    pub(crate) const ACTIVE: usize = 11;
}

/// The observation of an interval of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The features, scaled and within their bounds.
    pub features: [f32; WIDTH],
    /// The values in their units.
    pub measures: [f64; WIDTH],
}

impl Observation {
    /// The observation of a flow that has not started, or has ended.
    pub const NONE: Self = Self { features: [0.0; WIDTH], measures: [0.0; WIDTH] };

    /// An observation of these values, and of `scaled` values that have yet to be bounded.
    pub(crate) fn new(measures: [f64; WIDTH], scaled: [f64; WIDTH]) -> Self {
        let mut features = [0.0; WIDTH];
        for ((feature, scaled), known) in features.iter_mut().zip(scaled).zip(&FEATURES) {
            #[expect(clippy::cast_possible_truncation, reason = "bounded")]
            let within = scaled.clamp(known.low.into(), known.high.into()) as f32;
            *feature = within;
        }
        Self { features, measures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_names() {
        for (at, name) in [
            (place::THROUGHPUT, "throughput"),
            (place::RTT_MEAN, "rtt_mean"),
            (place::LOSS_SHARE, "loss_share"),
            (place::ACTIVE, "active"),
        ] {
            assert_eq!(FEATURES[at].name, name);
        }
    }
}
