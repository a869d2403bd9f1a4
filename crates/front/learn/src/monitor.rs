//! The monitor of a flow: it counts over an interval, and makes an observation of the counts.

use incast_cc::{Ack, Bytes, Flow, Loss, Rate, Sent, Span, Time};

use crate::observation::{Observation, WIDTH};

/// RTT samples of an interval, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    count: f64,
    sum: f64,
    least: f64,
    greatest: f64,
    /// Sums over the times of the samples, for the slope.
    times: f64,
    squares: f64,
    products: f64,
}

impl Samples {
    fn add(&mut self, at_us: f64, rtt_us: f64) {
        let first = self.count < 0.5;
        self.least = if first { rtt_us } else { self.least.min(rtt_us) };
        self.greatest = self.greatest.max(rtt_us);
        self.count += 1.0;
        self.sum += rtt_us;
        self.times += at_us;
        self.squares += at_us * at_us;
        self.products += at_us * rtt_us;
    }

    /// The slope of the line of least squares; 0 where there is none.
    fn slope(&self) -> f64 {
        let spread = self.count * self.squares - self.times * self.times;
        if self.count < 1.5 || spread <= 0.0 {
            return 0.0;
        }
        (self.count * self.products - self.times * self.sum) / spread
    }
}

/// The counters of a flow over the present interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monitor {
    line_rate: Rate,
    interval: Span,
    since: Time,
    acked: Bytes,
    marked: Bytes,
    lost: Bytes,
    sent: Bytes,
    in_flight: Bytes,
    samples: Samples,
    /// Mean, least and greatest RTT of the last interval that had samples, in microseconds.
    rtt_us: [f64; 3],
    /// The least RTT of the flow.
    floor: Span,
    last_ack: Time,
}

impl Monitor {
    pub(crate) fn new(flow: &Flow, interval: Span) -> Self {
        Self {
            line_rate: flow.line_rate,
            interval,
            since: flow.now,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            lost: Bytes::ZERO,
            sent: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            samples: Samples::default(),
            rtt_us: [0.0; 3],
            floor: Span::MAX,
            last_ack: flow.now,
        }
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.acked += ack.bytes;
        self.marked += ack.ce_bytes;
        self.in_flight = ack.in_flight;
        self.last_ack = ack.now;
        self.floor = self.floor.min(ack.min_rtt);
        if let Some(rtt) = ack.rtt {
            self.samples.add(ack.now.since(self.since).as_us_f64(), rtt.total.as_us_f64());
        }
    }

    pub(crate) fn on_loss(&mut self, loss: &Loss) {
        self.lost += loss.bytes;
        self.in_flight = loss.in_flight;
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        self.sent += sent.bytes;
        self.in_flight = sent.in_flight;
    }

    /// The least RTT of the flow; [`Span::MAX`] before there is one.
    pub(crate) const fn floor(&self) -> Span {
        self.floor
    }

    /// The observation of the interval that ends now, under this pacing rate; the next one begins.
    pub(crate) fn end(&mut self, now: Time, rate: Rate) -> Observation {
        if self.samples.count > 0.5 {
            let Samples { count, sum, least, greatest, .. } = self.samples;
            self.rtt_us = [sum / count, least, greatest];
        }
        let line = self.line_rate.as_gbps_f64();
        // The interval ends a picosecond early; that picosecond counts, so all lengths are equal.
        let length_us = (now.since(self.since) + Span::from_ps(1)).as_us_f64();
        let gbps = |bytes: Bytes| bytes.get() as f64 * 8e-3 / length_us;
        let [throughput, sent, rate] = [gbps(self.acked), gbps(self.sent), rate.as_gbps_f64()];
        let [mean, least, greatest] = self.rtt_us;
        let floor = if self.floor == Span::MAX { 0.0 } else { self.floor.as_us_f64() };
        let above = |rtt_us: f64| if floor > 0.0 { rtt_us / floor - 1.0 } else { 0.0 };
        let share = |part: Bytes, whole: Bytes| {
            if whole.is_zero() { 0.0 } else { (part.get() as f64 / whole.get() as f64).min(1.0) }
        };
        let (marks, losses) =
            (share(self.marked, self.acked), share(self.lost, self.lost + self.acked));
        let flight = self.in_flight.get() as f64;
        let product = line * floor * 125.0;
        let age_us = now.since(self.last_ack).as_us_f64();
        let nothing = [self.acked, self.sent, self.lost, self.in_flight];
        let active = if nothing.iter().all(|bytes| bytes.is_zero()) { 0.0 } else { 1.0 };
        let slope = self.samples.slope();
        let measures: [f64; WIDTH] = [
            throughput, sent, rate, mean, least, greatest, slope, marks, losses, flight, age_us,
            active,
        ];
        let scaled: [f64; WIDTH] = [
            throughput / line,
            sent / line,
            rate / line,
            above(mean),
            above(least),
            above(greatest),
            slope,
            marks,
            losses,
            if product > 0.0 { flight / product } else { 0.0 },
            age_us / self.interval.as_us_f64(),
            active,
        ];
        self.since = now + Span::from_ps(1);
        (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
        (self.lost, self.sent) = (Bytes::ZERO, Bytes::ZERO);
        self.samples = Samples::default();
        Observation::new(measures, scaled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::FEATURES;
    use incast_cc::LossCause;

    fn named(observation: &Observation, name: &str) -> (f64, f32) {
        let place = FEATURES.iter().position(|feature| feature.name == name).unwrap();
        (observation.measures[place], observation.features[place])
    }

    #[test]
    fn an_observation_has_what_was_counted_and_the_next_begins_anew() {
        let flow = Flow::new(Bytes::from_kb(16), Rate::from_gbps(10));
        let mut monitor = Monitor::new(&flow, Span::from_us(10));
        monitor.on_sent(&Sent::new(Time::ZERO, Bytes::new(5_000), Bytes::new(5_000)));
        for (us, rtt, bytes) in [(2, 4, 1_000), (4, 5, 2_000), (6, 6, 2_000)] {
            let at = Time::ZERO + Span::from_us(us);
            let mut ack = Ack::new(at, Time::ZERO, Bytes::new(bytes)).with_rtt(Span::from_us(rtt));
            (ack.min_rtt, ack.ce_bytes) = (Span::from_us(4), Bytes::new(1_000));
            ack.in_flight = Bytes::new(2_500);
            monitor.on_ack(&ack);
        }
        let at = Time::ZERO + Span::from_us(7);
        monitor.on_loss(&Loss::new(at, Time::ZERO, Bytes::new(5_000), LossCause::Timeout));
        let end = Time::from_ps(10_000_000 - 1);
        let first = monitor.end(end, Rate::from_gbps(5));
        for (name, measure, feature) in [
            ("throughput", 4.0, 0.4),
            ("send_rate", 4.0, 0.4),
            ("rate", 5.0, 0.5),
            ("rtt_mean", 5.0, 0.25),
            ("rtt_min", 4.0, 0.0),
            ("rtt_max", 6.0, 0.5),
            ("rtt_gradient", 0.5, 0.5),
            ("ce_share", 0.6, 0.6),
            ("loss_share", 0.5, 0.5),
            ("in_flight", 0.0, 0.0),
            ("active", 1.0, 1.0),
        ] {
            let (value, scaled) = named(&first, name);
            assert!((value - measure).abs() < 1e-9, "{name}: {value}");
            assert!((scaled - feature).abs() < 1e-6, "{name}: {scaled}");
        }
        let second = monitor.end(end + Span::from_us(10), Rate::from_gbps(5));
        assert_eq!(named(&second, "throughput"), (0.0, 0.0));
        assert_eq!(named(&second, "rtt_mean").0, 5.0, "it is that of the last samples");
        assert_eq!(named(&second, "active"), (0.0, 0.0));
        assert!((named(&second, "ack_age").0 - 14.0).abs() < 1e-3);
    }
}
