//! The reward of an interval.

use crate::observation::{Observation, place};

/// The weights of the linear reward: throughput, less latency, less losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reward {
    /// The weight of the feature `throughput`.
    pub throughput: f64,
    /// The weight of the feature `rtt_mean`, which is subtracted.
    pub latency: f64,
    /// The weight of the feature `loss_share`, which is subtracted.
    pub loss: f64,
}

impl Reward {
    /// The reward of an interval; 0 if the flow was not active in it.
    pub fn of(&self, observation: &Observation) -> f64 {
        let feature = |place: usize| f64::from(observation.features[place]);
        if feature(place::ACTIVE) < 0.5 {
            return 0.0;
        }
        self.throughput * feature(place::THROUGHPUT)
            - self.latency * feature(place::RTT_MEAN)
            - self.loss * feature(place::LOSS_SHARE)
    }
}
