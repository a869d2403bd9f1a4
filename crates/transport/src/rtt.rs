//! The RTT measurement engine.
//!
//! TIMELY, SIGCOMM 2015: `RTT = t_completion - t_send - segment size / NIC line rate`. One sample per
//! segment. `t_send` is when the pacing engine gave the segment to the NIC, so what it waits there
//! is part of the sample; the time that the NIC needs for the segment alone is not.

use incast_cc::{Bytes, Rate, RttSample, Span, Time};

use crate::config::Config;

/// What a segment takes on the wire, and the timeout that follows from the samples (RFC 6298).
#[derive(Clone, Debug)]
pub struct RttMeasurement {
    line_rate: Rate,
    rto_min: Span,
    rto_max: Span,
    smoothed: Option<(Span, Span)>,
    /// The timeout before it backs off, and is held to the most that it may be.
    rto: Span,
    min_rtt: Span,
}

/// The bytes of one burst, apart as the NIC spaces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSize {
    /// Payload of all packets but the last: what the burst rate spaces.
    pub spaced_payload: Bytes,
    /// All packets but the last as they are on the wire.
    pub spaced_wire: Bytes,
    /// The last packet as it is on the wire.
    pub last_wire: Bytes,
}

impl RttMeasurement {
    /// An engine without a sample, on a path whose RTT without queues is `base_rtt`, where it is known.
    pub fn new(config: &Config, base_rtt: Option<Span>) -> Self {
        let Config { line_rate, rto_initial, rto_min, rto_max, .. } = *config;
        let rto = rto_initial.on(base_rtt).max(rto_min);
        Self { line_rate, rto_min, rto_max, smoothed: None, rto, min_rtt: Span::MAX }
    }

    /// The time from the first bit of a burst to its last one on the NIC's wire, nothing else being
    /// sent, when its packets start at `burst_rate`. At line rate this is size / line rate, exactly
    /// as in the paper.
    pub fn serialization(&self, size: BurstSize, burst_rate: Rate) -> Span {
        let at_line_rate = self.line_rate.time_for(size.spaced_wire);
        let spaced = burst_rate.time_for(size.spaced_payload).max(at_line_rate);
        spaced + self.line_rate.time_for(size.last_wire)
    }

    /// The sample of a segment that was given to the NIC at `sent_at` and completed `now`.
    pub fn sample(&mut self, sent_at: Time, now: Time, serialization: Span) -> RttSample {
        let total = now.since(sent_at);
        self.min_rtt = self.min_rtt.min(total);
        let (srtt, var) = match self.smoothed {
            None => (total, total / 2),
            Some((srtt, var)) => {
                let error = if srtt > total { srtt - total } else { total - srtt };
                ((srtt * 7 + total) / 8, (var * 3 + error) / 4)
            }
        };
        self.smoothed = Some((srtt, var));
        self.rto = (srtt + var * 4).max(self.rto_min);
        // A hardware ACK does not tell its turnaround: it stays in the sample, as in the paper.
        RttSample { total, serialization, peer: Span::ZERO }
    }

    /// The smoothed total RTT; zero before the first sample.
    pub fn srtt(&self) -> Span {
        self.smoothed.map_or(Span::ZERO, |(srtt, _)| srtt)
    }

    /// The least total RTT; [`Span::MAX`] before the first sample.
    pub const fn min_rtt(&self) -> Span {
        self.min_rtt
    }

    /// Forgets the smoothed RTT: the next sample counts as a first one. For a timeout that came too early,
    /// which says that the RTT has outgrown it (RFC 4015, step 4).
    pub const fn start_over(&mut self) {
        self.smoothed = None;
    }

    /// The retransmission timeout after `backoff` timeouts in a row (RFC 6298, 2.3 and 5.5). What bounds
    /// the backing off does not bound the timeout that the RTT asks for.
    #[inline]
    pub fn rto(&self, backoff: u32) -> Span {
        if backoff == 0 {
            return self.rto;
        }
        (self.rto * (1 << backoff.min(16))).min(self.rto_max.max(self.rto))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::InitialTimeout;

    fn config() -> Config {
        Config {
            rto_initial: InitialTimeout::AtLeast(Span::from_ms(1)),
            rto_min: Span::from_us(100),
            rto_max: Span::from_ms(100),
            ..Config::default()
        }
    }

    fn engine() -> RttMeasurement {
        RttMeasurement::new(&config(), None)
    }

    #[test]
    fn serialization_at_line_rate_is_size_over_rate() {
        // 64 KB without headers at 10 Gb/s: the 51.2 us of the paper.
        let size = BurstSize {
            spaced_payload: Bytes::new(63_000),
            spaced_wire: Bytes::new(63_000),
            last_wire: Bytes::new(1_000),
        };
        assert_eq!(engine().serialization(size, Rate::MAX), Span::from_ns(51_200));
        assert_eq!(engine().serialization(size, Rate::from_gbps(40)), Span::from_ns(51_200));
        // At 700 Mb/s 63 KB take 720 us, and the last packet its 0.8 us.
        assert_eq!(engine().serialization(size, Rate::from_mbps(700)), Span::from_ns(720_800));
    }

    #[test]
    fn sample_leaves_out_serialization() {
        let mut engine = engine();
        let sample = engine.sample(Time::ZERO, Time::ZERO + Span::from_us(80), Span::from_us(51));
        assert_eq!(sample.network(), Span::from_us(29));
        assert_eq!((engine.srtt(), engine.min_rtt()), (Span::from_us(80), Span::from_us(80)));
    }

    #[test]
    fn timeout_follows_rfc_6298_and_backs_off() {
        let mut engine = engine();
        assert_eq!(engine.rto(0), Span::from_ms(1), "before the first sample");
        engine.sample(Time::ZERO, Time::ZERO + Span::from_us(200), Span::ZERO);
        assert_eq!(engine.rto(0), Span::from_us(600)); // 200 + 4 * 100
        engine.sample(Time::ZERO, Time::ZERO + Span::from_us(200), Span::ZERO);
        assert_eq!(engine.rto(0), Span::from_us(500)); // variance 75
        assert_eq!(engine.rto(2), Span::from_us(2_000));
        assert_eq!(engine.rto(60), Span::from_ms(100), "the maximum");
    }

    #[test]
    fn first_timeout_is_no_shorter_than_the_path_asks_for() {
        let on = |rto_initial, rtt| {
            RttMeasurement::new(&Config { rto_initial, ..config() }, Some(rtt)).rto(0)
        };
        let (ms, least) = (Span::from_ms, InitialTimeout::AtLeast(Span::from_ms(1)));
        assert_eq!(on(least, Span::from_us(300)), ms(1));
        assert_eq!(on(least, ms(50)), ms(150));
        assert_eq!(on(InitialTimeout::Fixed(ms(1)), ms(50)), ms(1), "as it was set");
    }

    #[test]
    fn most_timeout_bounds_the_backing_off_and_not_what_the_rtt_asks_for() {
        let mut engine = engine();
        let total = Span::from_ms(200);
        engine.sample(Time::ZERO, Time::ZERO + total, Span::ZERO);
        assert_eq!((engine.rto(0), engine.rto(3)), (total * 3, total * 3));
    }
}
