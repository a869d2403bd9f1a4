//! Histograms of fixed relative precision.

/// The buckets per doubling, as a power of two: a bucket is at most 1/128 (0.8 %) of its value
/// wide.
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;

/// A histogram that counts values, or weighs them, in buckets at most 0.8 % wide; the mean is
/// exact. It grows with the range of the values, not with their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The bucket number of `weights[0]`.
    base: usize,
    weights: Vec<u64>,
    total: u64,
    sum: u128,
    max: u64,
}

/// The number of the bucket that `value` falls into.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 58 doublings of 128 buckets")]
fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let shift = value.ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

/// The least value of a bucket.
fn lower_bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * SUB {
        return bucket;
    }
    let shift = bucket / SUB - 1;
    // The end of the last bucket does not fit 64 bits.
    u64::try_from(u128::from(bucket - shift * SUB) << shift).unwrap_or(u64::MAX)
}

impl Histogram {
    /// Counts `value`, `weight` times.
    #[inline]
    pub fn add(&mut self, value: u64, weight: u64) {
        self.count(bucket(value), weight);
        self.sum += u128::from(value) * u128::from(weight);
        self.max = self.max.max(value);
    }

    /// Like [`add`](Self::add), for callers that give the weighted sum of the values
    /// [themselves](Self::set_sum).
    #[inline]
    pub(super) fn weigh(&mut self, value: u64, weight: u64) {
        self.count(bucket(value), weight);
        self.max = self.max.max(value);
    }

    /// Sets the weighted sum of all values that were weighed.
    pub(super) const fn set_sum(&mut self, sum: u128) {
        self.sum = sum;
    }

    /// Brings the count of `value` into the processor's caches.
    #[inline]
    pub(super) fn touch(&self, value: u64) {
        std::hint::black_box(self.weights.get(bucket(value).wrapping_sub(self.base)).copied());
    }

    /// Counts `value` once.
    #[inline]
    pub fn add_one(&mut self, value: u64) {
        self.count(bucket(value), 1);
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    #[inline]
    fn count(&mut self, bucket: usize, weight: u64) {
        if bucket.wrapping_sub(self.base) >= self.weights.len() {
            self.make_room(bucket);
        }
        self.weights[bucket - self.base] += weight;
        self.total += weight;
    }

    #[cold]
    fn make_room(&mut self, bucket: usize) {
        if self.weights.is_empty() {
            self.base = bucket;
        }
        if bucket < self.base {
            let more = self.base - bucket;
            self.weights.splice(0..0, std::iter::repeat_n(0, more));
            self.base = bucket;
        }
        if bucket - self.base >= self.weights.len() {
            // To the end of the doubling and no further: every port has one of these.
            let wanted = (((bucket >> SUB_BITS) + 1) << SUB_BITS) - self.base;
            self.weights.reserve_exact(wanted - self.weights.len());
            self.weights.resize(wanted, 0);
        }
    }

    /// The total weight of all values.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The largest value; zero when there is none.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The mean, exact; [`None`] when nothing has been counted.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// The value that a share `q` of the weight does not exceed: the middle of its bucket, so
    /// within 0.4 %. [`None`] when nothing has been counted.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let wanted = q * self.total as f64;
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
        self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0).map(|(i, weight)| {
            let bucket = self.base + i;
            (lower_bound(bucket), lower_bound(bucket + 1), *weight)
        })
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (low, _, weight) in other.buckets() {
            self.count(bucket(low), weight);
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
