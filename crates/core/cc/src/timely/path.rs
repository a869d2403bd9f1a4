//! Facts about a path that its RTT samples tell: the least RTT, the noise, and the rate.

use crate::parts::{DelayGradient, MinFilter};
use crate::units::{Span, Time};

/// The estimates of one path.
///
/// * **Least RTT**: the least sample of a window of time.
/// * **Rate**: segments differ in size. The part of an RTT that grows with the size is the time
///   that the path takes for the segment itself, whatever waits before it. So the rate is one over
///   the slope of RTT over size, by least squares over the differences of successive samples.
///   Differences leave out what changes slowly. A prior of [`PRIOR_PS`](Self::PRIOR_PS) counts as
///   two segments whose sizes differ by [`PRIOR_BYTES`](Self::PRIOR_BYTES).
/// * **Noise**: the mean size of these differences, without the part that sizes explain. Clocks
///   and segments of others that happen to be ahead cause it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    least: MinFilter,
    /// The RTT and the size of the last segment.
    previous: Option<(u64, u64)>,
    /// The leaky sum of products of differences, in nanoseconds times bytes.
    product: i64,
    /// The leaky sum of squares of differences in size, in bytes squared.
    square: u64,
    /// The mean difference that sizes do not explain, in nanoseconds times 256.
    noise_q8: u64,
    differences: u64,
}

impl Path {
    /// The prior of the slope: picoseconds for a byte at 1 Gb/s.
    pub const PRIOR_PS: u64 = 8_000;
    /// The weight of the prior, about eight packets.
    pub const PRIOR_BYTES: u64 = 11_585;
    /// Sums leak one part of this with each sample, 2^12: the memory of the rate.
    const LEAK_BITS: u32 = 12;
    /// Most differences of the mean: the memory of the noise.
    const NOISE_SAMPLES: u64 = 256;
    /// A difference is limited to the part that sizes explain and this many times the noise, so
    /// that no outlier decides.
    const OUTLIER: u64 = 4;
    /// The noise that outliers are told by, at least.
    const LEAST_NOISE_NS: u64 = 5_000;
    /// The most that a difference counts, of RTTs and of sizes: products of both fit.
    const MOST_NS: u64 = 1 << 24;
    const MOST_BYTES: u64 = 1 << 16;
    /// The longest time of a byte: at 1 Mb/s.
    const MOST_PS: u64 = 8_000_000;

    /// A path without samples, which will keep the least RTT over a time of `window`.
    pub const fn new(window: Span) -> Self {
        let least = MinFilter::new(window);
        Self { least, previous: None, product: 0, square: 0, noise_q8: 0, differences: 0 }
    }

    /// Takes in the network's RTT of a segment, and `total_ns`, its RTT with all serialization.
    /// Segments of which parts were sent again have no size.
    pub fn add(&mut self, now: Time, rtt_ns: u64, total_ns: u64, size: Option<u64>) {
        self.least.add(now, Span::from_ns(rtt_ns.min(DelayGradient::MAX_RTT_NS)));
        let Some(bytes) = size else {
            self.previous = None;
            return;
        };
        let bytes = bytes.min(Self::MOST_BYTES);
        if let Some((before_ns, before_bytes)) = self.previous {
            self.differ(total_ns, before_ns, bytes.cast_signed() - before_bytes.cast_signed());
        }
        self.previous = Some((total_ns, bytes));
    }

    /// Takes in a difference of RTTs with the difference of sizes.
    fn differ(&mut self, after_ns: u64, before_ns: u64, bytes: i64) {
        let limit = |ns: u64, most_ns: u64| ns.min(most_ns).cast_signed();
        let difference = limit(after_ns.abs_diff(before_ns), Self::MOST_NS);
        let difference = if after_ns < before_ns { -difference } else { difference };
        let size_ns = limit(self.byte_ps() * bytes.unsigned_abs() / 1_000, Self::MOST_NS);
        let size_ns = size_ns * bytes.signum();
        let most_ns = limit(Self::OUTLIER * self.noise_ns().max(Self::LEAST_NOISE_NS), u64::MAX);
        let left_ns = (difference - size_ns).clamp(-most_ns, most_ns);
        self.product += (size_ns + left_ns) * bytes - (self.product >> Self::LEAK_BITS);
        self.square += bytes.unsigned_abs().pow(2);
        self.square -= self.square >> Self::LEAK_BITS;
        self.differences = (self.differences + 1).min(Self::NOISE_SAMPLES);
        let samples = self.differences;
        let all_q8 = self.noise_q8 * (samples - 1) + (left_ns.unsigned_abs() << 8);
        self.noise_q8 = all_q8 / samples;
    }

    /// The least RTT; zero before the first sample.
    pub const fn least_rtt_ns(&self) -> u64 {
        if self.has_samples() { self.least.get().as_ns() } else { 0 }
    }

    /// Whether there is a sample.
    pub const fn has_samples(&self) -> bool {
        self.least.get().as_ps() < Span::MAX.as_ps()
    }

    /// The mean difference of two samples that sizes do not explain.
    pub const fn noise_ns(&self) -> u64 {
        self.noise_q8 >> 8
    }

    /// The time that the path takes for a byte, in picoseconds.
    pub fn byte_ps(&self) -> u64 {
        const PRIOR_SQUARE: u64 = Path::PRIOR_BYTES * Path::PRIOR_BYTES;
        let prior = (PRIOR_SQUARE * Self::PRIOR_PS / 1_000).cast_signed();
        let product = u64::try_from(self.product + prior).unwrap_or(0);
        (product * 1_000 / (self.square + PRIOR_SQUARE)).clamp(1, Self::MOST_PS)
    }

    /// The rate of the path, b/s.
    pub fn rate_bps(&self) -> u64 {
        8_000_000_000_000 / self.byte_ps()
    }
}

#[cfg(test)]
mod tests;
