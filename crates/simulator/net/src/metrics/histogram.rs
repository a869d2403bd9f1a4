//! Histograms of fixed relative precision.

use std::collections::BTreeMap;

use crate::prefetch::prefetch;

/// The buckets per doubling, as a power of two: a bucket is at most 1/128 (0.8 %) of its value
/// wide.
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;

/// A histogram that counts values, or weighs them, in buckets at most 0.8 % wide; the mean is
/// exact. It grows with the range of the values, not with their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    sum: u128,
    weights: Weights,
    max: u64,
}

/// The weights of a histogram's buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Weights {
    /// The weights modulo 2^32: in a large network each of them is a cache line to wait for.
    low: Box<[u32]>,
    /// The bucket number of `low[0]`.
    base: u32,
    /// Weight that `low` has no room for; most histograms have none.
    high: Option<Box<High>>,
}

/// How many times 2^32 the weights of some buckets are more than `low` says, by bucket number.
type High = BTreeMap<u32, u32>;

/// The number of the bucket that `value` falls into.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 58 doublings of 128 buckets")]
fn bucket(value: u64) -> u32 {
    // A bucket holds one value below 2 * SUB.
    let shift = (value | SUB).ilog2() - SUB_BITS;
    (shift << SUB_BITS) + (value >> shift) as u32
}

/// The least value of a bucket.
fn lower_bound(bucket: u32) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < 2 * SUB {
        return bucket;
    }
    let shift = bucket / SUB - 1;
    // The end of the last bucket does not fit 64 bits.
    u64::try_from(u128::from(bucket - shift * SUB) << shift).unwrap_or(u64::MAX)
}

impl Weights {
    /// Adds `weight` to the bucket of `value`.
    #[inline]
    pub(super) fn add(&mut self, value: u64, weight: u64) {
        let bucket = bucket(value);
        if let Some(low) = self.low.get_mut(bucket.wrapping_sub(self.base) as usize)
            && let Ok(sum) = u32::try_from(u64::from(*low).wrapping_add(weight))
        {
            *low = sum;
        } else {
            self.add_beyond(bucket, weight);
        }
    }

    /// Adds to the weight of a bucket that has no place yet, or beyond 32 bits.
    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "the rest is carried")]
    fn add_beyond(&mut self, bucket: u32, weight: u64) {
        if bucket.wrapping_sub(self.base) as usize >= self.low.len() {
            self.make_room(bucket);
        }
        let low = &mut self.low[(bucket - self.base) as usize];
        let (sum, carry) = low.overflowing_add(weight as u32);
        *low = sum;
        let times = (weight >> 32) as u32 + u32::from(carry);
        if times > 0 {
            *self.high.get_or_insert_default().entry(bucket).or_default() += times;
        }
    }

    fn make_room(&mut self, bucket: u32) {
        let mut low = std::mem::take(&mut self.low).into_vec();
        if low.is_empty() {
            self.base = bucket;
        } else if bucket < self.base {
            let more = (self.base - bucket) as usize;
            low.splice(0..0, std::iter::repeat_n(0, more));
            self.base = bucket;
        }
        // To the end of the doubling and no further: every port has one of these.
        let end = ((bucket >> SUB_BITS) + 1) << SUB_BITS;
        let wanted = ((end - self.base) as usize).max(low.len());
        low.reserve_exact(wanted - low.len());
        low.resize(wanted, 0);
        self.low = low.into();
    }

    /// The buckets that are not empty: number, weight.
    fn all(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (self.base..).zip(&self.low).filter_map(|(bucket, &low)| {
            let high = self.high.as_ref().and_then(|high| high.get(&bucket).copied());
            let weight = u64::from(high.unwrap_or(0)) << 32 | u64::from(low);
            (weight > 0).then_some((bucket, weight))
        })
    }

    fn total(&self) -> u64 {
        let low: u64 = self.low.iter().map(|&low| u64::from(low)).sum();
        let high = self.high.iter().flat_map(|high| high.values());
        low + high.map(|&times| u64::from(times) << 32).sum::<u64>()
    }

    /// Brings the weight of `value` into the processor's caches.
    #[inline]
    pub(super) fn touch(&self, value: u64) {
        if let Some(low) = self.low.get(bucket(value).wrapping_sub(self.base) as usize) {
            prefetch(low);
        }
    }
}

impl Histogram {
    /// The histogram of values that were weighed elsewhere: their weighted sum, their weights, and
    /// their maximum.
    pub(super) const fn of(sum: u128, weights: Weights, max: u64) -> Self {
        Self { sum, weights, max }
    }

    /// Counts `value`, `weight` times.
    #[inline]
    pub fn add(&mut self, value: u64, weight: u64) {
        self.weights.add(value, weight);
        self.sum += u128::from(value) * u128::from(weight);
        self.max = self.max.max(value);
    }

    /// Counts `value` once.
    #[inline]
    pub fn add_one(&mut self, value: u64) {
        self.weights.add(value, 1);
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// The total weight of all values.
    pub fn total(&self) -> u64 {
        self.weights.total()
    }

    /// The largest value; zero when there is none.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The mean, exact; [`None`] when nothing has been counted.
    pub fn mean(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.sum as f64 / total as f64)
    }

    /// The value that a share `q` of the weight does not exceed: the middle of its bucket, so
    /// within 0.4 %. [`None`] when nothing has been counted.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let wanted = q * total as f64;
        let mut below = 0;
        for (low, high, weight) in self.buckets() {
            below += weight;
            if below as f64 >= wanted {
                let high = high.min(self.max + 1);
                return Some(low as f64 + (high - low - 1) as f64 / 2.0);
            }
        }
        Some(self.max as f64)
    }

    /// The buckets that are not empty: least value, first value beyond, weight.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.weights
            .all()
            .map(|(bucket, weight)| (lower_bound(bucket), lower_bound(bucket + 1), weight))
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (low, _, weight) in other.buckets() {
            self.weights.add(low, weight);
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_values_without_gap() {
        for value in (0..100_000).chain([u64::MAX / 2, u64::MAX - 1]) {
            let (low, high) = (lower_bound(bucket(value)), lower_bound(bucket(value) + 1));
            assert!(low <= value && value < high, "{value} not in {low}..{high}");
            assert!(high - low <= 1 + low / 128, "{low}..{high} is too wide");
        }
    }

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).rev().for_each(|value| histogram.add(value, 1));
        assert_eq!(histogram.mean(), Some(50.5));
        assert_eq!(histogram.quantile(0.5), Some(50.0));
        assert_eq!(histogram.quantile(0.99), Some(99.0));
        assert_eq!(histogram.quantile(1.0), Some(100.0));
        assert_eq!(Histogram::default().mean(), None);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn quantiles_are_within_half_a_percent() {
        let mut histogram = Histogram::default();
        (0..100_000_u64).for_each(|i| histogram.add(i * 37, 1));
        for q in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let (exact, got) = (q * 3_700_000.0, histogram.quantile(q).unwrap());
            assert!((got / exact - 1.0).abs() < 0.005, "{q}: {got}, not {exact}");
        }
    }

    /// Compares weights of any size with plain sums of 64 bits.
    #[test]
    fn weights_carry_beyond_32_bits() {
        let (mut histogram, mut plain) = (Histogram::default(), BTreeMap::new());
        let mut random = 1_u64;
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = (random >> 40) % 5_000;
            let weight = if step % 3 == 0 { 1 } else { random >> (20 + random % 40) };
            if weight == 1 {
                histogram.add_one(value);
            } else {
                histogram.add(value, weight);
            }
            *plain.entry(lower_bound(bucket(value))).or_insert(0) += weight;
        }
        plain.retain(|_, weight| *weight > 0);
        assert!(plain.values().any(|&weight| weight > 1 << 34));
        assert_eq!(histogram.total(), plain.values().sum::<u64>());
        assert!(histogram.buckets().map(|(low, _, weight)| (low, weight)).eq(plain));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.total(), 2 * histogram.total());
        // Exactly 2^32 leaves nothing below.
        let mut one = Histogram::default();
        one.add(7, u64::from(u32::MAX));
        one.add_one(7);
        assert_eq!(one.buckets().collect::<Vec<_>>(), [(7, 8, 1 << 32)]);
    }

    #[test]
    fn merging_adds_up() {
        let (mut a, mut b, mut both) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for i in 0..1_000 {
            let value = i * i;
            if i % 2 == 0 {
                a.add(value, 3);
            } else {
                b.add(value, 3);
            }
            both.add(value, 3);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }
}
