//! Quantiles of numbers of which some are known only by a lower bound: completion times of messages
//! that had not finished when the run ended.

/// A number, or a lower bound of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Observed {
    Exactly(f64),
    AtLeast(f64),
}

/// Quantiles by nearest rank, so that each is one of the numbers. Numbers known only by a bound
/// count as greater than all others; a quantile among them is itself known only by a bound.
pub(super) struct Quantiles {
    /// The known numbers, ascending.
    known: Vec<f64>,
    /// The least possible value of each number, known or not, ascending; empty where all are known.
    least: Vec<f64>,
}

impl Quantiles {
    pub(super) fn of(values: impl Iterator<Item = Observed>) -> Self {
        let (mut known, mut bounds) = (Vec::new(), Vec::new());
        for value in values {
            match value {
                Observed::Exactly(value) => known.push(value),
                Observed::AtLeast(bound) => bounds.push(bound),
            }
        }
        known.sort_by(f64::total_cmp);
        if !bounds.is_empty() {
            bounds.extend(&known);
            bounds.sort_by(f64::total_cmp);
        }
        Self { known, least: bounds }
    }

    /// The count of all numbers.
    pub(super) const fn len(&self) -> usize {
        if self.least.is_empty() { self.known.len() } else { self.least.len() }
    }

    /// The count of known numbers.
    pub(super) const fn known(&self) -> usize {
        self.known.len()
    }

    /// The mean of the known numbers.
    pub(super) fn mean(&self) -> f64 {
        self.known.iter().sum::<f64>() / self.known.len() as f64
    }

    /// The quantile; NaN where it is known only by a bound, or where there are no numbers.
    pub(super) fn at(&self, q: f64) -> f64 {
        self.known.get(self.rank(q)).copied().unwrap_or(f64::NAN)
    }

    /// The lower bound of a quantile that is known only by a bound: its value if all numbers were
    /// as small as possible. NaN where the quantile is known.
    pub(super) fn bound_at(&self, q: f64) -> f64 {
        let rank = self.rank(q);
        if rank < self.known.len() {
            return f64::NAN;
        }
        self.least.get(rank).copied().unwrap_or(f64::NAN)
    }

    /// The rank of a quantile, from 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the length")]
    fn rank(&self, q: f64) -> usize {
        ((q * self.len() as f64).ceil() as usize).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Observed::{AtLeast, Exactly};
    use super::*;

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let values = Quantiles::of((1..=200).rev().map(|n| Exactly(f64::from(n))));
        assert_eq!([0.5, 0.99, 0.999, 1.0].map(|q| values.at(q)), [100.0, 198.0, 200.0, 200.0]);
        assert!(values.bound_at(1.0).is_nan());
        assert_eq!((values.mean(), values.len(), values.known()), (100.5, 200, 200));
        let nothing = Quantiles::of(std::iter::empty());
        assert!(nothing.at(0.5).is_nan() && nothing.bound_at(0.5).is_nan());
    }

    #[test]
    fn what_is_not_finished_counts_as_slower_than_the_rest() {
        // 90 messages take 1 to 90; ten had not finished after 5, 15 and so on.
        let known = (1..=90).map(|n| Exactly(f64::from(n)));
        let values = Quantiles::of(known.chain((0..10).map(|n| AtLeast(f64::from(5 + 10 * n)))));
        assert_eq!((values.len(), values.known(), values.mean()), (100, 90, 45.5));
        assert_eq!([0.5, 0.9].map(|q| values.at(q)), [50.0, 90.0]);
        assert!(values.at(0.91).is_nan() && values.at(0.99).is_nan());
        // If all had ended with the run, number 91 of 100 would be 83: 82 known numbers and eight
        // unknown ones come before it. Number 99 would be 90, and the last 95.
        assert_eq!([0.91, 0.99, 1.0].map(|q| values.bound_at(q)), [83.0, 90.0, 95.0]);
        assert!(values.bound_at(0.9).is_nan());
    }
}
