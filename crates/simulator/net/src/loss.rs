//! Random loss: a link damages frames, each alone and with the same probability (Bernoulli).
//!
//! A damaged frame takes its time on the link, and the far end throws it away. A frame is damaged
//! or not by a hash of the run's seed, the link and the time of its arrival. So nothing is drawn in
//! an order: a frame that is put on its link ahead of time and taken back is judged anew, and the
//! outcome is the same however the network is run.

use incast_cc::Time;
use incast_cc::parts::random::derive;
use incast_plan::random::purpose;

/// The loss of a link.
#[derive(Debug)]
pub(crate) struct Loss {
    seed: u64,
    link: u64,
    /// The greatest value of a frame's 64 random bits that means damage.
    most: u64,
    /// The time of the link's next failure.
    pub(crate) fails: Time,
}

impl Loss {
    /// The loss of the link of this number; none where the probability is zero.
    pub(crate) fn new(probability: f64, seed: u64, link: u32) -> Option<Box<Self>> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let most = (probability * 2_f64.powi(64)) as u64;
        let link = u64::from(link);
        (most > 0).then(|| Box::new(Self { seed, link, most, fails: Time::MAX }))
    }

    /// Whether the frame that arrives at this time is damaged.
    pub(crate) fn damages(&self, arrives: Time) -> bool {
        derive(self.seed, purpose::LOSS, &[self.link, arrives.as_ps()]) <= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_damaged_with_the_probability_of_their_link() {
        for (probability, expected) in [(1e-3, 1_000.0), (0.25, 250_000.0), (1.0, 1e6)] {
            let loss = Loss::new(probability, 1, 7).unwrap();
            let frames = (0_u32..1_000_000).map(|n| Time::from_ps(1_200_000 * u64::from(n)));
            let damaged = frames.filter(|&at| loss.damages(at)).count();
            // Five standard deviations of the binomial distribution.
            let off = (damaged as f64 - expected).abs();
            assert!(off <= 5.0 * (expected * (1.0 - probability)).sqrt(), "{damaged}, {expected}");
        }
        assert!(Loss::new(0.0, 1, 7).is_none());
    }
}
