//! The length of a queue over time, exact: weighted by how long each length lasted.

use incast_cc::Time;

use super::Histogram;
use super::histogram::Weights;
use crate::prefetch::prefetch;

/// The statistics of one queue: its lengths from the start of measurement on, its time series from
/// the start of the run.
///
/// Each change of the length needs the first cache line alone, and the weight of a length.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Occupancy {
    /// The integral of the length over time since the run began.
    area: u128,
    since: Time,
    bytes: u32,
    /// The greatest length in the present interval.
    interval_max: u32,
    /// The greatest length that lasted, from `start` on.
    max: u32,
    /// Whether measurement had started at `since`.
    measures: bool,
    /// The picoseconds spent at each length, from `start` on.
    lengths: Weights,
    start: Time,
    /// The integral when measurement and the interval started.
    area_at_start: u128,
    area_at_interval: u128,
}

impl Occupancy {
    /// The statistics of a queue that is empty at time zero, measured from `start` on.
    pub fn new(start: Time) -> Self {
        Self {
            area: 0,
            since: Time::ZERO,
            bytes: 0,
            interval_max: 0,
            max: 0,
            measures: start == Time::ZERO,
            lengths: Weights::default(),
            start,
            area_at_start: 0,
            area_at_interval: 0,
        }
    }

    /// Brings the statistics into the processor's caches.
    #[inline]
    pub fn touch(&self) {
        prefetch(&self.since);
    }

    /// Brings the weight of the present length into the processor's caches.
    #[inline]
    pub fn touch_bucket(&self) {
        self.lengths.touch(u64::from(self.bytes));
    }

    /// Sets the length to `bytes` from now on.
    #[inline]
    pub fn set(&mut self, now: Time, bytes: u32) {
        self.pass(now);
        self.bytes = bytes;
        self.interval_max = self.interval_max.max(bytes);
    }

    #[inline]
    fn pass(&mut self, now: Time) {
        let lasted = now.since(self.since).as_ps();
        if lasted == 0 {
            return;
        }
        self.area += u128::from(self.bytes) * u128::from(lasted);
        if self.measures {
            self.weigh(lasted);
        } else if now >= self.start {
            self.pass_start(now);
        }
        self.since = now;
    }

    #[inline]
    fn weigh(&mut self, lasted: u64) {
        self.lengths.add(u64::from(self.bytes), lasted);
        self.max = self.max.max(self.bytes);
    }

    /// Starts the measurement, at the first change after its time has come.
    #[cold]
    fn pass_start(&mut self, now: Time) {
        self.measures = true;
        let measured = now.since(self.start).as_ps();
        self.area_at_start = self.area - u128::from(self.bytes) * u128::from(measured);
        if measured > 0 {
            self.weigh(measured);
        }
    }

    /// Ends an interval that began at `from`: returns its mean and its greatest length, in bytes.
    pub fn end_interval(&mut self, from: Time, now: Time) -> (f64, u64) {
        self.pass(now);
        let area = self.area - self.area_at_interval;
        self.area_at_interval = self.area;
        let mean = area as f64 / now.since(from).as_ps().max(1) as f64;
        (mean, u64::from(std::mem::replace(&mut self.interval_max, self.bytes)))
    }

    /// Ends the measurement: returns the lengths, weighted by picoseconds.
    pub fn finish(&mut self, now: Time) -> Histogram {
        self.pass(now);
        let sum = if self.measures { self.area - self.area_at_start } else { 0 };
        Histogram::of(sum, self.lengths.clone(), u64::from(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Span;

    #[test]
    fn a_change_needs_one_cache_line() {
        assert!(std::mem::offset_of!(Occupancy, lengths) + 20 <= 64);
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn lengths_are_weighted_by_time() {
        let mut queue = Occupancy::new(Time::ZERO);
        queue.set(at(10), 100); // 10 us empty
        queue.set(at(40), 50); // 30 us of 100
        queue.set(at(60), 0); // 20 us of 50
        let lengths = queue.finish(at(100)); // 40 us empty
        assert_eq!(lengths.mean(), Some(40.0)); // (30 * 100 + 20 * 50) / 100
        assert_eq!(lengths.quantile(0.5), Some(0.0));
        assert_eq!(lengths.quantile(0.99), Some(100.0));
    }

    #[test]
    fn what_was_before_the_start_does_not_count() {
        let mut queue = Occupancy::new(at(100));
        queue.set(at(10), 1_000);
        queue.set(at(90), 10);
        assert_eq!(queue.end_interval(at(0), at(100)).1, 1_000, "but the series shows it");
        assert_eq!(queue.finish(at(200)).mean(), Some(10.0));
    }

    #[test]
    fn intervals_have_their_own_mean_and_maximum() {
        let mut queue = Occupancy::new(Time::ZERO);
        queue.set(at(5), 80);
        assert_eq!(queue.end_interval(at(0), at(10)), (40.0, 80));
        queue.set(at(10), 20);
        assert_eq!(queue.end_interval(at(10), at(20)), (20.0, 80));
        assert_eq!(queue.end_interval(at(20), at(30)), (20.0, 20));
    }
}
