//! Randomised trials of a higher and a lower rate, in pairs (PCC).

use super::{Monitor, Random};

/// What a rate was worth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trial {
    /// The rate that it was to be sent at, in bits per second.
    pub rate_bps: f64,
    /// What it was worth.
    pub utility: f64,
}

/// Pairs of trials, one of each pair at the higher rate, in random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trials {
    results: [Trial; Monitor::CAPACITY],
    done: usize,
    pairs: usize,
    /// A bit for each pair: whether the higher rate comes first.
    order: u64,
}

impl Trials {
    /// `pairs` of trials, up to three.
    pub fn new(pairs: u32, random: &mut Random) -> Self {
        let results = [Trial::default(); Monitor::CAPACITY];
        let pairs = (pairs as usize).clamp(1, Monitor::CAPACITY / 2);
        Self { results, done: 0, pairs, order: random.bits() }
    }

    /// Whether the trial after the results that are there, and `pending` more, is at the higher rate;
    /// nothing when there are no more.
    pub const fn next(&self, pending: usize) -> Option<bool> {
        let index = self.done + pending;
        let higher_first = (self.order >> (index / 2)) & 1 == 1;
        if index < 2 * self.pairs { Some(higher_first == index.is_multiple_of(2)) } else { None }
    }

    /// Takes in the next result. Returns whether it was the last.
    pub fn add(&mut self, trial: Trial) -> bool {
        if let Some(result) = self.results.get_mut(self.done) {
            *result = trial;
            self.done += 1;
        }
        self.done >= 2 * self.pairs
    }

    /// The results by pairs, the higher rate first.
    pub fn pairs(&self) -> impl Iterator<Item = (Trial, Trial)> {
        self.results[..2 * self.pairs].chunks_exact(2).map(|pair| {
            if pair[0].rate_bps > pair[1].rate_bps {
                (pair[0], pair[1])
            } else {
                (pair[1], pair[0])
            }
        })
    }

    /// How many pairs found the higher rate worth more, and how many the lower. Pairs of equal rates or
    /// utilities found nothing.
    pub fn votes(&self) -> (usize, usize) {
        let different = || self.pairs().filter(|(high, low)| high.rate_bps > low.rate_bps);
        (
            different().filter(|(high, low)| high.utility > low.utility).count(),
            different().filter(|(high, low)| high.utility < low.utility).count(),
        )
    }

    /// How many pairs there are.
    pub const fn count(&self) -> usize {
        self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_both_rates_in_either_order() {
        let (mut random, mut higher_first) = (Random::new(1), 0);
        for _ in 0..300 {
            let trials = Trials::new(2, &mut random);
            for pair in [0, 2] {
                assert_ne!(trials.next(pair), trials.next(pair + 1));
                higher_first += u32::from(trials.next(pair) == Some(true));
            }
            assert_eq!(trials.next(4), None);
        }
        assert!((250..350).contains(&higher_first), "{higher_first} of 600");
    }

    #[test]
    fn votes_are_counted_by_pair_whatever_their_order() {
        let mut trials = Trials::new(3, &mut Random::new(0));
        let result = |rate_bps, utility| Trial { rate_bps, utility };
        for (i, (rate, utility)) in
            [(1.1, 5.0), (0.9, 4.0), (0.9, 4.0), (1.1, 5.0), (0.9, 6.0)].into_iter().enumerate()
        {
            assert!(!trials.add(result(rate, utility)), "the {i}th is not the last");
        }
        assert!(trials.add(result(1.1, 5.0)));
        assert_eq!(trials.votes(), (2, 1));
        assert!(trials.pairs().all(|(high, low)| high.rate_bps > low.rate_bps));

        // What cannot be told apart has no vote.
        let mut trials = Trials::new(2, &mut Random::new(0));
        for (rate, utility) in [(1.0, 5.0), (1.0, 4.0), (0.9, 4.0), (1.1, 4.0)] {
            trials.add(result(rate, utility));
        }
        assert_eq!(trials.votes(), (0, 0));
    }
}
