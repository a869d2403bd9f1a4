//! The smoothed difference of successive RTTs (TIMELY, Algorithm 1).

use super::Ewma;
use crate::units::Fraction;

/// The EWMA of the differences of successive RTT samples. Divided by the minimum RTT it is the
/// gradient. All values are integers in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayGradient {
    previous_rtt_ns: Option<u64>,
    difference: Ewma,
    /// The samples in a row that had a negative difference.
    falling: u32,
    /// The samples in a row that left the average at or below zero.
    falling_smoothed: u32,
}

impl DelayGradient {
    /// The longest sample (2.1 s). Longer samples count as this long, so that no product overflows.
    pub const MAX_RTT_NS: u64 = (1 << 31) - 1;

    /// A gradient whose first sample will be compared with `rtt_ns`.
    pub fn after(rtt_ns: u64) -> Self {
        Self { previous_rtt_ns: Some(rtt_ns), ..Self::default() }
    }

    /// Takes in a sample of at most [`MAX_RTT_NS`](Self::MAX_RTT_NS). The first sample has a
    /// difference of zero, so there is no gradient yet.
    #[expect(clippy::cast_possible_wrap, reason = "samples are below 2^31")]
    pub fn add(&mut self, alpha: Fraction, rtt_ns: u64) {
        debug_assert!(rtt_ns <= Self::MAX_RTT_NS);
        let difference = rtt_ns as i64 - self.previous_rtt_ns.unwrap_or(rtt_ns) as i64;
        self.previous_rtt_ns = Some(rtt_ns);
        self.difference.add(alpha, difference);
        self.falling = if difference < 0 { self.falling.saturating_add(1) } else { 0 };
        self.falling_smoothed =
            if self.is_positive() { 0 } else { self.falling_smoothed.saturating_add(1) };
    }

    /// Whether the gradient is above zero.
    pub const fn is_positive(&self) -> bool {
        self.difference.average_q8() > 0
    }

    /// The magnitude of the smoothed difference in nanoseconds times 256; below 2^39.
    pub const fn magnitude_q8(&self) -> u64 {
        self.difference.average_q8().unsigned_abs()
    }

    /// Samples in a row with a negative difference.
    pub const fn falling(&self) -> u32 {
        self.falling
    }

    /// Samples in a row that left the gradient at or below zero.
    pub const fn falling_smoothed(&self) -> u32 {
        self.falling_smoothed
    }

    /// The gradient, the smoothed difference over `min_rtt_ns`, for plots.
    pub fn gradient(&self, min_rtt_ns: u64) -> f64 {
        self.difference.average_q8() as f64 / 256.0 / min_rtt_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_has_no_gradient() {
        let mut gradient = DelayGradient::default();
        gradient.add(Fraction::ONE, 1_000_000);
        assert!(!gradient.is_positive());
        assert_eq!((gradient.magnitude_q8(), gradient.falling()), (0, 0));
    }

    #[test]
    fn falling_counts_negative_differences_in_a_row() {
        let mut gradient = DelayGradient::default();
        for rtt in [100, 90, 80, 70] {
            gradient.add(Fraction::ONE, rtt);
        }
        assert_eq!(gradient.falling(), 3);
        gradient.add(Fraction::ONE, 70);
        assert_eq!(gradient.falling(), 0, "an equal RTT is not a fall");
        assert_eq!(gradient.falling_smoothed(), 5, "but its gradient is not above zero");
    }
}
