//! Randomised trials of a higher and a lower rate, in pairs (PCC).

use super::Random;

/// A rate and its utility.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trial {
    /// The rate that was tried, in bits per second.
    pub rate_bps: f64,
    /// The utility of the rate.
    pub utility: f64,
}

impl Trial {
    /// The trial with which doubling begins at `rate_bps`: half of that rate, worth nothing.
    pub const fn before(rate_bps: f64) -> Self {
        Self { rate_bps: rate_bps / 2.0, utility: 0.0 }
    }

    /// Replaces this best trial by one of more utility. Returns whether it did.
    pub fn improve(&mut self, trial: Self) -> bool {
        let better = trial.utility > self.utility;
        if better {
            *self = trial;
        }
        better
    }
}

/// Pairs of trials, one of each pair at the higher rate, in random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trials {
    high_bps: f64,
    low_bps: f64,
    /// In the order of sending.
    utilities: [f64; 2 * Self::MAX_PAIRS],
    done: u8,
    pairs: u8,
    /// A bit for each pair: whether the higher rate comes first.
    order: u8,
}

impl Trials {
    /// Most pairs.
    pub const MAX_PAIRS: usize = 3;

    /// `pairs` of trials, up to three, of a higher and a lower rate.
    pub fn new(pairs: u32, high_bps: f64, low_bps: f64, random: &mut Random) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "three, and three bits")]
        let (pairs, order) =
            (pairs.clamp(1, Self::MAX_PAIRS as u32) as u8, random.bits() as u8 & 0b111);
        let utilities = [0.0; 2 * Self::MAX_PAIRS];
        Self { high_bps, low_bps, utilities, done: 0, pairs, order }
    }

    /// The rate of the trial after the results so far and `pending` more; nothing when there are no
    /// more trials.
    pub fn next(&self, pending: usize) -> Option<f64> {
        let index = usize::from(self.done) + pending;
        let higher = self.higher_first(index / 2) == index.is_multiple_of(2);
        let rate_bps = if higher { self.high_bps } else { self.low_bps };
        (index < 2 * self.count()).then_some(rate_bps)
    }

    /// Records the next trial's utility. Returns whether that trial was the last.
    pub fn add(&mut self, utility: f64) -> bool {
        if let Some(result) = self.utilities.get_mut(usize::from(self.done)) {
            *result = utility;
            self.done += 1;
        }
        usize::from(self.done) >= 2 * self.count()
    }

    /// The results by pairs, the higher rate's first.
    pub fn pairs(&self) -> impl Iterator<Item = (Trial, Trial)> {
        (0..self.count()).map(|pair| {
            let [first, second] = [self.utilities[2 * pair], self.utilities[2 * pair + 1]];
            let (high, low) =
                if self.higher_first(pair) { (first, second) } else { (second, first) };
            (
                Trial { rate_bps: self.high_bps, utility: high },
                Trial { rate_bps: self.low_bps, utility: low },
            )
        })
    }

    /// The number of pairs for the higher rate, and that for the lower. Pairs of equal rates or
    /// utilities found nothing.
    pub fn votes(&self) -> (usize, usize) {
        if self.high_bps <= self.low_bps {
            return (0, 0);
        }
        (
            self.pairs().filter(|(high, low)| high.utility > low.utility).count(),
            self.pairs().filter(|(high, low)| high.utility < low.utility).count(),
        )
    }

    /// The number of pairs.
    pub fn count(&self) -> usize {
        self.pairs.into()
    }

    const fn higher_first(&self, pair: usize) -> bool {
        (self.order >> pair) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trials at 1.1 and 0.9, with the given utilities of the higher and the lower rate in each
    /// pair.
    fn trials<const N: usize>(worth: [(f64, f64); N], seed: u64) -> Trials {
        let pairs = u32::try_from(N).unwrap();
        let mut trials = Trials::new(pairs, 1.1, 0.9, &mut Random::new(seed));
        for (i, (high, low)) in worth.into_iter().flat_map(|pair| [pair; 2]).enumerate() {
            let utility = if trials.next(0) == Some(1.1) { high } else { low };
            assert_eq!(trials.add(utility), i + 1 == 2 * N, "the {i}th");
        }
        trials
    }

    #[test]
    fn each_pair_has_both_rates_in_either_order() {
        let (mut random, mut higher_first) = (Random::new(1), 0);
        for _ in 0..300 {
            let trials = Trials::new(2, 1.1, 0.9, &mut random);
            for pair in [0, 2] {
                let mut rates = [trials.next(pair), trials.next(pair + 1)];
                higher_first += u32::from(rates[0] == Some(1.1));
                rates.sort_by(|a, b| a.partial_cmp(b).unwrap());
                assert_eq!(rates, [Some(0.9), Some(1.1)]);
            }
            assert_eq!(trials.next(4), None);
        }
        assert!((250..350).contains(&higher_first), "{higher_first} of 600");
    }

    #[test]
    fn votes_are_counted_by_pair_whatever_their_order() {
        for seed in 0..8 {
            let trials = trials([(5.0, 4.0), (5.0, 4.0), (5.0, 6.0)], seed);
            assert_eq!(trials.votes(), (2, 1));
            assert!(trials.pairs().all(|(high, low)| high.rate_bps > low.rate_bps));
            assert!(
                trials.pairs().map(|(high, low)| high.utility - low.utility).eq([1.0, 1.0, -1.0])
            );
        }
    }

    #[test]
    fn what_cannot_be_told_apart_has_no_vote() {
        assert_eq!(trials([(4.0, 4.0), (5.0, 4.0)], 0).votes(), (1, 0));
        let mut at_a_bound = Trials::new(1, 1.0, 1.0, &mut Random::new(0));
        at_a_bound.add(5.0);
        at_a_bound.add(4.0);
        assert_eq!(at_a_bound.votes(), (0, 0));
    }
}
