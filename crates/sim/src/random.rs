//! Random numbers: whoever draws has a generator of its own, seeded from the run's seed and from who it is.

use incast_cc::{Bytes, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The generator of one user, told apart from all others by `stream` and `number`.
pub(crate) fn generator(seed: u64, stream: u64, number: u64) -> Pcg64Mcg {
    let mut mixed = Pcg64Mcg::seed_from_u64(seed ^ 0x696E_6361_7374).next_u64();
    mixed = Pcg64Mcg::seed_from_u64(mixed ^ stream).next_u64();
    Pcg64Mcg::seed_from_u64(mixed ^ number)
}

/// Uniform, from 0 to below 1.
#[inline]
pub(crate) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform, from 0 to below `end`, which is above 0. (The bias is `end` over 2^64.)
#[inline]
pub(crate) fn below(random: &mut impl Rng, end: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(end)) >> 64) as u64
}

/// An exponentially distributed time, of at least a picosecond.
pub(crate) fn exponential(random: &mut impl Rng, mean: Span) -> Span {
    let factor = -libm::log(1.0 - unit(random));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ps = (mean.as_ps() as f64 * factor) as u64;
    Span::from_ps(ps.max(1))
}

/// So many different numbers below `end`, in random order; all of them if there are not more.
pub(crate) fn distinct(random: &mut impl Rng, count: u32, end: u32) -> Vec<u32> {
    if count.saturating_mul(4) < end {
        // Few of many: draws again what comes twice.
        let mut drawn = Vec::with_capacity(count as usize);
        while drawn.len() < count as usize {
            #[expect(clippy::cast_possible_truncation, reason = "below `end`")]
            let number = below(random, u64::from(end)) as u32;
            if !drawn.contains(&number) {
                drawn.push(number);
            }
        }
        return drawn;
    }
    let mut all: Vec<_> = (0..end).collect();
    let count = (count as usize).min(all.len());
    for place in 0..count {
        #[expect(clippy::cast_possible_truncation, reason = "below `end`")]
        let other = place + below(random, (all.len() - place) as u64) as usize;
        all.swap(place, other);
    }
    all.truncate(count);
    all
}

/// The mean gap between arrivals of `bytes` on average that offer `load` times `bps`.
pub(crate) fn mean_gap(bytes: f64, load: f64, bps: f64) -> Span {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ps = (bytes * 8e12 / (load * bps)) as u64;
    Span::from_ps(ps.max(1))
}

/// The smallest amount that is `bytes` over `parts`, rounded up.
pub(crate) fn share(bytes: Bytes, parts: u32) -> Bytes {
    Bytes::new(bytes.get().div_ceil(u64::from(parts.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_times_have_their_mean() {
        let mut random = generator(1, 2, 3);
        let n = 200_000;
        let sum: f64 =
            (0..n).map(|_| exponential(&mut random, Span::from_us(10)).as_us_f64()).sum();
        // The standard deviation of the mean is 10 us / sqrt(n): 0.022 us. Five of them.
        assert!((sum / f64::from(n) - 10.0).abs() < 0.11, "{}", sum / f64::from(n));
    }

    #[test]
    fn distinct_numbers_are_distinct_and_all_may_come() {
        let mut random = generator(1, 0, 0);
        for (count, end) in [(3, 100), (60, 100), (100, 100), (200, 100)] {
            let mut drawn = distinct(&mut random, count, end);
            assert!(drawn.iter().all(|&number| number < end));
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), count.min(end) as usize);
        }
        let mut seen = [false; 10];
        (0..200).for_each(|_| seen[distinct(&mut random, 1, 10)[0] as usize] = true);
        assert_eq!(seen, [true; 10]);
    }

    #[test]
    fn generators_differ_by_each_of_their_names() {
        let first = |seed, stream, number| generator(seed, stream, number).next_u64();
        let all = [first(1, 0, 0), first(2, 0, 0), first(1, 1, 0), first(1, 0, 1), first(1, 1, 1)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }
}
