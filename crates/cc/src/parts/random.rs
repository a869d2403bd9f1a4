//! Random numbers of one flow.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): adds the golden ratio to a counter and mixes its
/// bits, so that any two seeds, zero and neighbours included, give unrelated sequences. The same on
/// every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`, that of a [`Flow`](crate::Flow).
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

    /// A number from zero to below `n`; zero when `n` is. The bias is below n / 2^32.
    pub const fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * n as u64) >> 32) as u32
    }

    /// A number from zero to below one.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
