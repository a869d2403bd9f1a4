//! The rate at which a flow's data arrives.

/// The payload that ACKs acknowledge, over the time in which they come.
///
/// A flow behind a standing queue gets its share of the port, whatever rate it sends at. So this
/// tells where cuts may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivered {
    /// The bytes of the time that is being measured.
    bytes: u64,
    /// The length of that time so far, in nanoseconds.
    time_ns: u64,
    /// The rate in the time before it; zero where nobody knows.
    rate_bps: u64,
}

impl Delivered {
    /// The least time of a rate.
    const LEAST_NS: u64 = 400_000;
    /// The time from which on ACKs are too far from each other for a rate.
    const MOST_NS: u64 = 4 * Self::LEAST_NS;
    /// Most bytes of a time: they fit as bits in 10^9 seconds.
    const MOST_BYTES: u64 = 1 << 30;
    /// The highest rate, as in all arithmetic here.
    const MOST_BPS: u64 = 1 << 42;

    /// Takes in the bytes that were acknowledged in a time.
    pub(super) fn add(&mut self, bytes: u64, time_ns: u64) {
        self.bytes = self.bytes.saturating_add(bytes).min(Self::MOST_BYTES);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        if self.time_ns > Self::LEAST_NS {
            let rate_bps = (self.bytes * 8_000_000_000 / self.time_ns).min(Self::MOST_BPS);
            self.rate_bps = if self.time_ns < Self::MOST_NS { rate_bps } else { 0 };
            (self.bytes, self.time_ns) = (0, 0);
        }
    }

    /// The rate of the last time that was measured, b/s; zero where nobody knows.
    pub(super) const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_bytes_over_the_time_once_that_is_long_enough() {
        let mut delivered = Delivered::default();
        for _ in 0..4 {
            delivered.add(12_500, 100_000);
            assert_eq!(delivered.rate_bps(), 0);
        }
        // 62,500 B in 500 us.
        delivered.add(12_500, 100_000);
        assert_eq!(delivered.rate_bps(), 1_000_000_000);
        (0..4).for_each(|_| delivered.add(6_250, 100_000));
        assert_eq!(delivered.rate_bps(), 1_000_000_000, "the time before");
        delivered.add(6_250, 100_000);
        assert_eq!(delivered.rate_bps(), 500_000_000);
    }

    #[test]
    fn a_pause_leaves_no_rate() {
        let mut delivered = Delivered::default();
        delivered.add(1_460, 1_500_000);
        assert_eq!(delivered.rate_bps(), 7_786_666);
        delivered.add(1_460, 1_600_000);
        assert_eq!(delivered.rate_bps(), 0);
    }

    #[test]
    fn extremes_overflow_nothing() {
        let mut delivered = Delivered::default();
        (0..3).for_each(|_| delivered.add(u64::MAX, 0));
        delivered.add(u64::MAX, Delivered::LEAST_NS + 1);
        assert_eq!(delivered.rate_bps(), Delivered::MOST_BPS);
        delivered.add(u64::MAX, u64::MAX);
        assert_eq!(delivered.rate_bps(), 0);
    }
}
