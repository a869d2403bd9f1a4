//! Random numbers: independent seeds, and the generator of one flow.

/// The seed of one stream of random numbers: a hash of the run's `seed`, of the purpose of the
/// numbers, and of their owner. Streams that differ in any of these are independent, also for
/// neighbouring numbers. A purpose contains no NUL, since NULs fill its last word.
pub fn derive(seed: u64, purpose: &str, owner: &[u64]) -> u64 {
    debug_assert!(!purpose.contains('\0'), "{purpose:?}");
    let absorb = |hash: u64, word: u64| Random::new(hash ^ word).bits();
    let mut hash = absorb(seed, purpose.len() as u64);
    for letters in purpose.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..letters.len()].copy_from_slice(letters);
        hash = absorb(hash, u64::from_le_bytes(word));
    }
    let hash = owner.iter().fold(hash, |hash, &word| absorb(hash, word));
    absorb(hash, owner.len() as u64)
}

/// A number from zero to below one, of 64 random bits.
pub const fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number from zero to below `end`, of 64 random bits; zero when `end` is. The bias is below
/// `end` / 2^64.
pub const fn below(bits: u64, end: u64) -> u64 {
    ((bits as u128 * end as u128) >> 64) as u64
}

/// The generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). It adds the golden ratio to a
/// counter and mixes the bits, so any two seeds give unrelated sequences, also zero and
/// neighbouring seeds. Sequences are the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed, such as [`Flow::seed`](crate::Flow::seed).
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from zero to below `n`; zero when `n` is.
    #[expect(clippy::cast_possible_truncation, reason = "below `n`")]
    pub const fn below(&mut self, n: u32) -> u32 {
        below(self.bits(), n as u64) as u32
    }

    /// A number from zero to below one.
    pub const fn fraction(&mut self) -> f64 {
        fraction(self.bits())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_owner() {
        let mut seeds = BTreeSet::new();
        let mut count = 0;
        let mut add = |seed, purpose, owner: &[u64]| {
            count += 1;
            seeds.insert(derive(seed, purpose, owner));
        };
        // Among them are words that a hash of sums, or one without their number, would confuse.
        for seed in [0, 1, 2, 1 << 32, u64::MAX] {
            for purpose in ["", "a", "ab", "abcdefgh", "abcdefghi", "a ", "noise"] {
                add(seed, purpose, &[]);
                for a in 0..12 {
                    add(seed, purpose, &[a]);
                    add(seed, purpose, &[a << 32]);
                    (0..12).for_each(|b| add(seed, purpose, &[a, b]));
                    add(seed, purpose, &[a, 0, 0]);
                }
            }
        }
        // Zero, shifted or not, is one owner.
        assert_eq!(seeds.len(), count - 5 * 7);
    }

    #[test]
    fn seeds_of_neighbours_differ_in_half_of_their_bits() {
        let pairs = (0..1_000).map(|n| derive(1, "x", &[n]) ^ derive(1, "x", &[n + 1]));
        let bits: u32 = pairs.map(u64::count_ones).sum();
        // 64,000 coins: the standard deviation is 126.
        assert!(bits.abs_diff(32_000) < 4 * 126, "{bits}");
    }

    #[test]
    fn uniform_numbers_reach_both_ends() {
        assert_eq!((fraction(0), below(0, 7), below(u64::MAX, 7)), (0.0, 0, 6));
        assert_eq!((below(5, 0), below(u64::MAX, u64::MAX)), (0, u64::MAX - 1));
        assert!(fraction(u64::MAX) < 1.0);
    }

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first two outputs of the reference implementation for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_value_below_is_drawn_about_as_often() {
        let (mut random, mut count) = (Random::new(0), [0_u32; 7]);
        (0..7_000).for_each(|_| count[random.below(7) as usize] += 1);
        assert!(count.iter().all(|n| (850..1_150).contains(n)), "{count:?}");
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.fraction())));
        assert_eq!(random.below(0), 0);
    }
}
