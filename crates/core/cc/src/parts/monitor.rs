//! Monitor intervals: the results of sending at one rate for about a round trip (PCC).

use crate::contract::{Ack, Loss, Sent, Spurious};
use crate::units::{Bytes, Span, Time};

/// The monitor intervals whose data is being sent or on its way.
///
/// An interval begins with a transmission. It ends before the first transmission for which both its
/// time and its least number of transmissions are over. Its result is known when all its data is
/// acknowledged or lost, and the results of earlier intervals are known. Between intervals nothing
/// is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Monitor {
    /// The intervals, oldest first.
    intervals: [Interval; Self::CAPACITY],
    len: usize,
    /// The state of the newest interval while it is being sent.
    sending: Option<Sending>,
    /// The end of the newest data that was acknowledged or lost.
    settled_to: u64,
}

/// The result of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The rate that was chosen for the interval, in bits per second.
    pub rate_bps: f64,
    /// The rate at which its data left, in bits per second.
    pub sent_bps: f64,
    /// The share of the data that was lost.
    pub loss: f64,
    /// The slope of the line through the samples of RTT over the time of sending, without a unit.
    pub rtt_slope: f64,
    /// The distance of the samples from that line, root mean square over mean.
    pub rtt_error: f64,
    /// The smoothed RTT at the first acknowledgement over that at the last.
    pub rtt_ratio: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sending {
    length: Span,
    min_packets: u32,
    packets: u32,
}

/// An interval. Fields that only become a share or a slope have seven digits: there is one of these
/// for each of [`Monitor::CAPACITY`] in every flow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    rate_bps: f64,
    /// The start and end of its data in transmission order.
    first: u64,
    end: u64,
    started_at: Time,
    /// The time of sending; for an interval that is being sent, the time up to now.
    duration_s: f32,
    /// Bytes acknowledged or lost.
    settled: f64,
    lost: f32,
    /// The smoothed RTTs at the first and the last ACK, zero before.
    srtt_s: (f32, f32),
    line: Line,
}

impl Default for Monitor {
    fn default() -> Self {
        Self { intervals: [Interval::NONE; Self::CAPACITY], len: 0, sending: None, settled_to: 0 }
    }
}

impl Monitor {
    /// The largest number of intervals at once. An interval lasts about a round trip, and its
    /// result comes a round trip after its end, so more than three are rare.
    pub const CAPACITY: usize = 4;

    /// The number of intervals without a result.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether every interval has its result.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether no other interval may begin until a result is known.
    pub const fn is_full(&self) -> bool {
        self.len == Self::CAPACITY
    }

    /// Ends the interval that is being sent, if `sent` is no longer part of it. Returns whether no
    /// interval is being sent, so the next one may begin.
    pub fn ends_before(&mut self, sent: &Sent) -> bool {
        if let Some((interval, sending)) = self.newest() {
            let elapsed = sent.now.since(interval.started_at);
            if sending.packets >= sending.min_packets && elapsed >= sending.length {
                interval.duration_s = short(elapsed.as_secs_f64());
                self.sending = None;
            }
        }
        self.sending.is_none()
    }

    /// Begins an interval of `length` and at least `min_packets` transmissions, of which `sent` is
    /// the first. Does nothing while an interval is being sent or too many wait for results.
    pub fn begin(&mut self, sent: &Sent, rate_bps: f64, length: Span, min_packets: u32) {
        if self.sending.is_some() || self.is_full() {
            return;
        }
        self.intervals[self.len] = Interval {
            rate_bps,
            first: sent.end.get().saturating_sub(sent.bytes.get()),
            end: sent.end.get(),
            started_at: sent.now,
            ..Interval::NONE
        };
        self.len += 1;
        self.sending = Some(Sending { length, min_packets, packets: 0 });
    }

    /// Counts a transmission into the interval that is being sent. An application without more data
    /// ends the interval.
    pub fn on_sent(&mut self, sent: &Sent) {
        if let Some((interval, sending)) = self.newest() {
            interval.end = interval.end.max(sent.end.get());
            sending.packets = sending.packets.saturating_add(1);
            let elapsed_s = sent.now.since(interval.started_at).as_secs_f64();
            let last_s = bits(sent.bytes) / interval.rate_bps.max(1.0);
            interval.duration_s = short(elapsed_s + last_s);
            if sent.app_limited {
                self.cut();
            }
        }
    }

    /// Ends the interval that is being sent, since the application pauses. An interval with too few
    /// transmissions is discarded: it tells nothing of the path.
    fn cut(&mut self) {
        if self.sending.take().is_some_and(|sending| sending.packets < sending.min_packets) {
            self.len -= 1;
        }
    }

    /// Takes in an ACK.
    pub fn on_ack(&mut self, ack: &Ack<'_>) {
        self.settle(ack.first, ack.end, ack.bytes, |interval, bytes| interval.settled += bytes);
        let srtt_s = short(ack.srtt.as_secs_f64());
        for interval in self.pending() {
            if interval.first < ack.end.get() && ack.end.get() <= interval.end {
                let first_s = if interval.srtt_s.0 > 0.0 { interval.srtt_s.0 } else { srtt_s };
                interval.srtt_s = (first_s, srtt_s);
                if let Some(rtt) = ack.rtt {
                    let at = ack.sent_at.since(interval.started_at);
                    interval.line.add(at.as_secs_f64(), rtt.total.as_secs_f64());
                }
            }
        }
    }

    /// Takes in a loss.
    pub fn on_loss(&mut self, loss: &Loss) {
        self.settle(loss.first, loss.end, loss.bytes, |interval, bytes| {
            interval.settled += bytes;
            interval.lost += short(bytes);
        });
    }

    /// Takes back a loss, where the result is not known yet.
    pub fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.settle(spurious.first, spurious.end, spurious.bytes, |interval, bytes| {
            interval.lost = (interval.lost - short(bytes)).max(0.0);
        });
    }

    /// The result of the oldest interval, once it is known.
    pub fn pop(&mut self) -> Option<Report> {
        let over = self.len - usize::from(self.sending.is_some());
        let interval = self.intervals.first().filter(|_| over > 0)?;
        let bytes = interval.end.saturating_sub(interval.first);
        // An ACK for data that was partly acknowledged before does not tell how much belongs to
        // which interval. So that no interval waits for ever, its result also counts as known once
        // as much data again was settled after it.
        let known = interval.settled >= bytes as f64 - 0.5
            || self.settled_to >= interval.end.saturating_add(bytes);
        let report = known.then(|| interval.report())?;
        self.intervals.copy_within(1.., 0);
        self.len -= 1;
        Some(report)
    }

    /// Forgets all intervals.
    pub fn clear(&mut self) {
        (self.len, self.sending) = (0, None);
    }

    /// The interval that is being sent.
    fn newest(&mut self) -> Option<(&mut Interval, &mut Sending)> {
        self.intervals[..self.len].last_mut().zip(self.sending.as_mut())
    }

    fn pending(&mut self) -> impl Iterator<Item = &mut Interval> {
        self.intervals[..self.len].iter_mut()
    }

    /// Gives each interval its share of `bytes`, a part of the data from `first` to `end`. Data
    /// that was sent again reaches back to its first transmission, which may be intervals ago. Only
    /// its newest transmission is settled now.
    fn settle(
        &mut self,
        first: Bytes,
        end: Bytes,
        bytes: Bytes,
        mut give: impl FnMut(&mut Interval, f64),
    ) {
        let first = first.get().max(end.get().saturating_sub(bytes.get()));
        let end = end.get();
        self.settled_to = self.settled_to.max(end);
        let span = end.saturating_sub(first).max(1) as f64;
        for interval in self.pending() {
            let overlap = end.min(interval.end).saturating_sub(first.max(interval.first));
            if overlap > 0 {
                give(interval, bytes.get() as f64 * (overlap as f64 / span));
            }
        }
    }
}

impl Interval {
    const NONE: Self = Self {
        rate_bps: 0.0,
        first: 0,
        end: 0,
        started_at: Time::ZERO,
        duration_s: 0.0,
        settled: 0.0,
        lost: 0.0,
        srtt_s: (0.0, 0.0),
        line: Line::NONE,
    };

    fn report(&self) -> Report {
        let bytes = self.end.saturating_sub(self.first);
        let sent_bps = bits(Bytes::new(bytes)) / f64::from(self.duration_s);
        let (first_s, last_s) = self.srtt_s;
        let (rtt_slope, rtt_error) = self.line.slope_and_error();
        Report {
            rate_bps: self.rate_bps,
            // All data left at one instant: take the intended rate.
            sent_bps: if self.duration_s > 0.0 { sent_bps } else { self.rate_bps },
            loss: (f64::from(self.lost) / bytes.max(1) as f64).clamp(0.0, 1.0),
            rtt_slope,
            rtt_error,
            rtt_ratio: if last_s > 0.0 { (first_s / last_s).into() } else { 1.0 },
        }
    }
}

/// A line through points by least squares. Means and deviations are updated point by point
/// (Welford), which avoids cancellation. Seven digits suffice for the deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    mean_x: f64,
    mean_y: f64,
    n: u32,
    /// Sums of products of deviations from the means.
    xx: f32,
    xy: f32,
    yy: f32,
}

impl Line {
    const NONE: Self = Self { mean_x: 0.0, mean_y: 0.0, n: 0, xx: 0.0, xy: 0.0, yy: 0.0 };

    fn add(&mut self, x: f64, y: f64) {
        self.n = self.n.saturating_add(1);
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx / f64::from(self.n);
        self.mean_y += dy / f64::from(self.n);
        // The deviation from the mean before times that from the mean after.
        self.xx += short(dx * (x - self.mean_x));
        self.xy += short(dx * (y - self.mean_y));
        self.yy += short(dy * (y - self.mean_y));
    }

    /// The slope, and the root mean square distance from the line over the mean. Both are zero with
    /// fewer than two points.
    fn slope_and_error(&self) -> (f64, f64) {
        // Points at one place have no slope.
        if self.xx <= 0.0 {
            return (0.0, 0.0);
        }
        let (xx, xy, yy) = (f64::from(self.xx), f64::from(self.xy), f64::from(self.yy));
        let slope = xy / xx;
        // Rounding may make the difference negative.
        let error = libm::sqrt((yy - slope * xy).max(0.0) / f64::from(self.n));
        (slope, if self.mean_y > 0.0 { error / self.mean_y } else { 0.0 })
    }
}

/// The nearest `f32`.
#[expect(clippy::cast_possible_truncation, reason = "what it is for")]
const fn short(number: f64) -> f32 {
    number as f32
}

fn bits(bytes: Bytes) -> f64 {
    bytes.get() as f64 * 8.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossCause;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// The `n`th packet of 1,000 B, at `us`.
    fn sent(n: u64, us: u64) -> Sent {
        let mut sent = Sent::new(at(us), Bytes::new(1_000), Bytes::ZERO);
        sent.end = Bytes::from_kb(n + 1);
        sent
    }

    /// Sends packets `range`, one every 10 us from 0 on: 800 Mb/s, in intervals of 50 us and three
    /// packets.
    fn send(monitor: &mut Monitor, range: core::ops::Range<u64>) {
        for n in range {
            let sent = sent(n, n * 10);
            if monitor.ends_before(&sent) {
                monitor.begin(&sent, 8e8, Span::from_us(50), 3);
            }
            monitor.on_sent(&sent);
        }
    }

    /// The packets from `first` to before `end` are acknowledged.
    fn ack(monitor: &mut Monitor, first: u64, end: u64, rtt_us: u64) {
        let mut ack = Ack::new(at(end * 10 + 90), at((end - 1) * 10), Bytes::from_kb(end - first))
            .with_rtt(Span::from_us(rtt_us));
        (ack.first, ack.end) = (Bytes::from_kb(first), Bytes::from_kb(end));
        ack.srtt = Span::from_us(rtt_us);
        monitor.on_ack(&ack);
    }

    fn lose(monitor: &mut Monitor, n: u64) {
        let mut loss = Loss::new(at(0), at(0), Bytes::new(1_000), LossCause::Detected);
        (loss.first, loss.end) = (Bytes::from_kb(n), Bytes::from_kb(n + 1));
        monitor.on_loss(&loss);
    }

    #[test]
    fn an_interval_ends_with_its_time_and_its_packets() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..5);
        assert_eq!((monitor.len(), monitor.sending.is_some()), (1, true));
        send(&mut monitor, 5..6);
        assert_eq!(monitor.len(), 2, "the sixth, at 50 us, is of the next");
        // Far apart, three packets take longer than 50 us.
        let mut monitor = Monitor::default();
        let slow = |n| sent(n, n * 100);
        assert!(monitor.ends_before(&slow(0)));
        monitor.begin(&slow(0), 8e7, Span::from_us(50), 3);
        monitor.on_sent(&slow(0));
        for n in 1..3 {
            assert!(!monitor.ends_before(&slow(n)), "packet {n}");
            monitor.on_sent(&slow(n));
        }
        assert!(monitor.ends_before(&slow(3)));
    }

    #[test]
    fn the_result_is_known_when_the_last_byte_is() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..12);
        ack(&mut monitor, 0, 3, 100);
        lose(&mut monitor, 3);
        assert_eq!(monitor.pop(), None);
        // Across the border: one packet of this interval, two of the next.
        ack(&mut monitor, 4, 7, 100);
        let report = monitor.pop().unwrap();
        assert!((report.sent_bps / 8e8 - 1.0).abs() < 1e-6 && (report.loss - 0.2).abs() < 1e-7);
        assert_eq!(monitor.pop(), None);
        ack(&mut monitor, 7, 10, 100);
        assert_eq!(monitor.pop().map(|report| report.loss), Some(0.0));
        assert_eq!((monitor.len(), monitor.pop()), (1, None), "the third is still being sent");
    }

    #[test]
    fn what_is_sent_again_counts_where_it_is_sent_again() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..12);
        ack(&mut monitor, 0, 1, 100);
        lose(&mut monitor, 1);
        ack(&mut monitor, 2, 5, 100);
        assert_eq!(monitor.pop().map(|report| report.loss), Some(0.2));
        // The eighth transmission repeats the second packet and is lost again: one of five.
        ack(&mut monitor, 5, 7, 100);
        let mut loss = Loss::new(at(0), at(70), Bytes::new(1_000), LossCause::Detected);
        (loss.first, loss.end) = (Bytes::from_kb(1), Bytes::from_kb(8));
        monitor.on_loss(&loss);
        ack(&mut monitor, 8, 10, 100);
        assert_eq!(monitor.pop().map(|report| report.loss), Some(0.2));
    }

    #[test]
    fn results_come_in_order_and_for_all() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..16);
        ack(&mut monitor, 5, 9, 100);
        assert_eq!(monitor.pop(), None, "the first is still on its way");
        // A packet without a fate, when as many later ones have theirs, counts as neither.
        ack(&mut monitor, 9, 10, 100);
        assert_eq!(monitor.pop().map(|report| report.loss), Some(0.0));
        assert!(monitor.pop().is_some());
    }

    #[test]
    fn a_false_loss_is_none() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..6);
        ack(&mut monitor, 0, 4, 100);
        lose(&mut monitor, 4);
        let mut spurious = Spurious::new(at(200), Bytes::new(1_000));
        (spurious.first, spurious.end) = (Bytes::from_kb(4), Bytes::from_kb(5));
        monitor.on_spurious_loss(&spurious);
        assert_eq!(monitor.pop().map(|report| report.loss), Some(0.0));
    }

    #[test]
    fn a_pause_of_the_application_is_not_of_the_path() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..3);
        let mut last = sent(3, 30);
        last.app_limited = true;
        monitor.on_sent(&last);
        ack(&mut monitor, 0, 4, 100);
        // Four packets in 30 us and the time of the last one at 800 Mb/s, 10 us.
        assert!((monitor.pop().unwrap().sent_bps / 8e8 - 1.0).abs() < 1e-6);
        // Two packets say too little.
        send(&mut monitor, 4..6);
        monitor.cut();
        assert!(monitor.is_empty());
    }

    #[test]
    fn the_slope_is_of_the_line_through_the_samples() {
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..6);
        // Sent every 10 us, the RTT rises by 2 us each: 0.2.
        (0..5).for_each(|n| ack(&mut monitor, n, n + 1, 100 + 2 * n));
        let report = monitor.pop().unwrap();
        assert!((report.rtt_slope - 0.2).abs() < 1e-6, "{}", report.rtt_slope);
        assert!(report.rtt_error < 1e-4, "{}", report.rtt_error);
        assert!((report.rtt_ratio - 100.0 / 108.0).abs() < 1e-6);

        // 100, 110, 100, 110, 100: no slope; 4.9 us off a mean of 104.
        let mut monitor = Monitor::default();
        send(&mut monitor, 0..6);
        (0..5).for_each(|n| ack(&mut monitor, n, n + 1, 100 + n % 2 * 10));
        let report = monitor.pop().unwrap();
        assert!(report.rtt_slope.abs() < 1e-9);
        assert!((report.rtt_error - 4.899 / 104.0).abs() < 1e-5, "{}", report.rtt_error);
    }

    #[test]
    fn a_level_rtt_has_no_slope_and_a_million_samples_keep_theirs() {
        // A level RTT, however its digits fall, is exactly level: nothing for a utility to charge.
        let (mut level, mut rising) = (Line::NONE, Line::NONE);
        for n in 0..1_000_000 {
            let at_s = f64::from(n) * 1e-9;
            level.add(at_s, 20.123_456_789e-6);
            // By 1 % with a scatter of a tenth of the rise.
            rising.add(at_s, 20e-6 + 0.01 * at_s + f64::from(n % 7 - 3) * 3.3e-7);
        }
        assert_eq!(level.slope_and_error(), (0.0, 0.0));
        let (slope, error) = rising.slope_and_error();
        assert!((slope / 0.01 - 1.0).abs() < 1e-3, "{slope}");
        // Two of 3.3e-7 s over a mean of 25 us.
        assert!((error / (2.0 * 3.3e-7 / 25e-6) - 1.0).abs() < 1e-3, "{error}");
    }

    #[test]
    fn samples_at_one_instant_have_no_slope() {
        let mut line = Line::NONE;
        (0..5).for_each(|i| line.add(1e7, f64::from(i)));
        assert_eq!(line.slope_and_error(), (0.0, 0.0));
        assert_eq!(Line::NONE.slope_and_error(), (0.0, 0.0));
    }
}
