//! Exponentially weighted moving average in integers.

use crate::units::Fraction;

/// An average of signed samples with eight fractional bits, in operations that BPF has:
/// `average += weight * (sample - average)`, rounded towards minus infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ewma {
    /// The average times 256.
    average_q8: i64,
}

impl Ewma {
    /// Fractional bits of the average.
    pub const BITS: u32 = 8;

    /// Takes in `sample`, whose magnitude must be below 2^31, with a weight of at most one.
    ///
    /// The largest product is 2^(31 + 8 + 1) * 2^20 = 2^60.
    pub fn add(&mut self, weight: Fraction, sample: i64) {
        debug_assert!(sample.unsigned_abs() < 1 << 31 && weight <= Fraction::ONE);
        let step_q8 = (sample << Self::BITS) - self.average_q8;
        self.average_q8 += (step_q8 * i64::from(weight.bits())) >> Fraction::BITS;
    }

    /// The average times 256.
    pub const fn average_q8(self) -> i64 {
        self.average_q8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_weight_halves_the_distance() {
        let mut ewma = Ewma::default();
        let half = Fraction::from_ratio(1, 2);
        ewma.add(half, 1_000);
        assert_eq!(ewma.average_q8(), 500 << 8);
        ewma.add(half, 1_000);
        assert_eq!(ewma.average_q8(), 750 << 8);
        ewma.add(half, -250);
        assert_eq!(ewma.average_q8(), 250 << 8);
    }

    #[test]
    fn weight_one_forgets() {
        let mut ewma = Ewma::default();
        ewma.add(Fraction::ONE, -(1 << 30));
        assert_eq!(ewma.average_q8(), -(1 << 38));
        ewma.add(Fraction::ONE, 7);
        assert_eq!(ewma.average_q8(), 7 << 8);
    }
}
