//! The RTT measurement engine.
//!
//! TIMELY, SIGCOMM 2015: `RTT = t_completion - t_send - segment size / NIC line rate`. One sample
//! per segment. `t_send` is the time at which the NIC got the segment from the pacing engine. So
//! the sample contains the segment's wait in the NIC, but not the time that the NIC needs for the
//! segment alone. NICs that serve segments whole ([`Nic::Segments`](crate::Nic)) stamp the segment
//! when its first packet leaves.

use incast_cc::{Bytes, Rate, RttSample, Span, Time};

use crate::config::{Config, Serialization};

/// The RTT samples of a connection, and the timeout that follows from them (RFC 6298).
#[derive(Clone, Debug)]
pub struct RttMeasurement {
    /// The rate at which segments are on the wire.
    wire_rate: Rate,
    rto_min: Span,
    /// The most that back-off makes of a timeout; zero where the timeout is fixed.
    rto_max: Span,
    /// SRTT and RTTVAR of RFC 6298, of the whole time that answers take.
    smoothed: Option<(Span, Span)>,
    /// The part of SRTT for which peers have held answers back.
    held: Span,
    /// The timeout before it backs off.
    rto: Span,
    min_rtt: Span,
}

/// The times of data and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The time at which the NIC got the data.
    pub sent_at: Time,
    /// The time at which the answer came.
    pub now: Time,
    /// The time that the NIC needs for the data alone.
    pub serialization: Span,
    /// The time for which the peer says that it has held its answer back: the timer of a delayed
    /// ACK.
    pub held: Span,
    /// Whether a timeout was spurious, since this answer was still to come.
    pub late: bool,
}

/// The bytes of one burst, divided as the NIC spaces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSize {
    /// The payload of all packets but the last, which the burst rate spaces.
    pub spaced_payload: Bytes,
    /// All packets but the last, with their headers.
    pub spaced_wire: Bytes,
    /// The last packet, with its headers.
    pub last_wire: Bytes,
}

impl RttMeasurement {
    /// An engine without a sample, on a path whose RTT without queues is `base_rtt`, where it is
    /// known.
    pub fn new(config: &Config, base_rtt: Option<Span>) -> Self {
        let Config { line_rate, rto_initial, rto_min, rto_max, .. } = *config;
        let wire_rate = match config.serialization {
            Serialization::LineRate => line_rate,
            Serialization::Nothing => Rate::MAX,
        };
        let rto = rto_initial.on(base_rtt, rto_max).max(rto_min);
        let rto_max = rto_max.max(Span::from_ns(1));
        let (smoothed, held, min_rtt) = (None, Span::ZERO, Span::MAX);
        Self { wire_rate, rto_min, rto_max, smoothed, held, rto, min_rtt }
    }

    /// Fixes the timeout, whatever is measured; it does not back off.
    pub(crate) fn fix(&mut self, timeout: Span) {
        (self.rto, self.rto_min, self.rto_max) = (timeout, timeout, Span::ZERO);
    }

    /// The time from the first bit of a burst to its last one on the NIC's wire, with nothing else
    /// being sent and its packets spaced at `burst_rate`. At line rate this is size / line rate,
    /// exactly as in the paper.
    pub fn serialization(&self, size: BurstSize, burst_rate: Rate) -> Span {
        let at_line_rate = self.wire_rate.time_for(size.spaced_wire);
        let spaced = burst_rate.time_for(size.spaced_payload).max(at_line_rate);
        spaced + self.wire_rate.time_for(size.last_wire)
    }

    /// Takes the sample of a segment that the NIC got at `sent_at` and that is complete `now`.
    pub fn sample(&mut self, sent_at: Time, now: Time, serialization: Span) -> RttSample {
        self.answered(&Answered { sent_at, now, serialization, held: Span::ZERO, late: false })
    }

    /// Takes the sample of data that was answered, without the time for which the peer held its
    /// answer back. That time is no part of the path, but the timeout has to cover it.
    #[inline]
    pub fn answered(&mut self, answered: &Answered) -> RttSample {
        let &Answered { sent_at, now, serialization, held, .. } = answered;
        self.heard(answered);
        let total = now.since(sent_at).saturating_sub(held).max(serialization);
        // A hardware ACK does not tell its turnaround: it stays in the sample, as in the paper.
        self.stamped(total, serialization, Span::ZERO)
    }

    /// Takes a sample that was measured elsewhere: the `total` time, with the `peer`'s turnaround.
    #[inline]
    pub fn stamped(&mut self, total: Span, serialization: Span, peer: Span) -> RttSample {
        self.min_rtt = self.min_rtt.min(total);
        RttSample { total, serialization, peer }
    }

    /// Notes how long an answer took, for the timeout alone. After a spurious timeout the estimate
    /// is at least as long as the late answer took (RFC 4015, section 3.3).
    #[inline]
    pub fn heard(&mut self, answered: &Answered) {
        let &Answered { sent_at, now, held, late, .. } = answered;
        let all = now.since(sent_at);
        let (srtt, var) = match self.smoothed {
            None => (all, all / 2),
            Some((srtt, var)) if late => (srtt.max(all), var.max(all / 2)),
            Some((srtt, var)) => {
                let error = if srtt > all { srtt - all } else { all - srtt };
                ((srtt * 7 + all) / 8, (var * 3 + error) / 4)
            }
        };
        if !held.is_zero() || !self.held.is_zero() {
            let first = self.smoothed.is_none();
            self.held = if first { held } else { (self.held * 7 + held) / 8 };
        }
        self.smoothed = Some((srtt, var));
        let rto = (srtt + var * 4).max(self.rto_min);
        self.rto = if self.rto_max.is_zero() { self.rto_min } else { rto };
    }

    /// The smoothed total RTT, without the time for which peers have held answers back; zero before
    /// the first sample.
    #[inline]
    pub fn srtt(&self) -> Span {
        self.smoothed.map_or(Span::ZERO, |(srtt, _)| srtt.saturating_sub(self.held))
    }

    /// The least total RTT; [`Span::MAX`] before the first sample.
    pub const fn min_rtt(&self) -> Span {
        self.min_rtt
    }

    /// The retransmission timeout after `backoff` timeouts in a row (RFC 6298, 2.3 and 5.5). The
    /// maximum bounds the back-off alone: the timeout that the measured RTT asks for is never cut,
    /// and doubles once.
    #[inline]
    pub fn rto(&self, backoff: u32) -> Span {
        if backoff == 0 { self.rto } else { self.backed_off(backoff) }
    }

    #[cold]
    fn backed_off(&self, backoff: u32) -> Span {
        if self.rto_max.is_zero() {
            return self.rto;
        }
        let least = if self.smoothed.is_some() { self.rto * 2 } else { self.rto };
        (self.rto * (1 << backoff.min(16))).min(self.rto_max.max(least))
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
    fn a_link_that_takes_segments_at_once_has_no_serialization() {
        let config = Config { serialization: Serialization::Nothing, ..config() };
        let wire = Bytes::new(63_000);
        let last_wire = Bytes::new(1_000);
        let size = BurstSize { spaced_payload: wire, spaced_wire: wire, last_wire };
        let engine = RttMeasurement::new(&config, None);
        assert_eq!(engine.serialization(size, Rate::MAX).as_ns(), 0);
        // The space that the algorithm leaves between packets is time on the way, too.
        assert_eq!(engine.serialization(size, Rate::from_mbps(700)).as_ns(), 720_000);
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
    fn a_fixed_timeout_neither_follows_the_rtt_nor_backs_off() {
        let (mut engine, us) = (engine(), Span::from_us);
        engine.fix(us(45));
        assert_eq!([0, 1, 9].map(|backoff| engine.rto(backoff)), [us(45); 3]);
        engine.sample(Time::ZERO, Time::ZERO + us(200), Span::ZERO);
        assert_eq!([0, 1, 9].map(|backoff| engine.rto(backoff)), [us(45); 3], "it was 600");
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
    fn the_most_bounds_the_back_off_and_no_measured_timeout() {
        let mut engine = engine();
        assert_eq!(engine.rto(20), Span::from_ms(100), "nothing is measured");
        engine.sample(Time::ZERO, Time::ZERO + Span::from_ms(200), Span::ZERO);
        assert_eq!(engine.rto(0), Span::from_ms(600), "200 + 4 x 100, beyond 100");
        assert_eq!([1, 2, 60].map(|n| engine.rto(n)), [Span::from_ms(1_200); 3]);
    }

    #[test]
    fn what_the_peer_has_held_back_is_in_the_timeout_and_in_nothing_else() {
        let (mut engine, us) = (engine(), Span::from_us);
        let mut answered = Answered {
            sent_at: Time::ZERO,
            now: Time::ZERO + us(540),
            serialization: us(1),
            held: us(500),
            late: false,
        };
        let sample = engine.answered(&answered);
        assert_eq!((sample.total, sample.network()), (us(40), us(39)));
        assert_eq!((engine.srtt(), engine.min_rtt()), (us(40), us(40)));
        assert_eq!(engine.rto(0), us(540 + 4 * 270));
        (answered.now, answered.held) = (Time::ZERO + us(48), Span::ZERO);
        engine.answered(&answered);
        assert_eq!((engine.srtt(), engine.min_rtt()), (us(41), us(40)));
        // The peer says more than has passed.
        answered.held = Span::from_secs(1);
        assert_eq!(engine.answered(&answered).total, us(1));
    }

    #[test]
    fn after_a_timeout_for_nothing_the_late_answer_counts_whole() {
        let mut engine = engine();
        engine.sample(Time::ZERO, Time::ZERO + Span::from_us(200), Span::ZERO);
        let late = Answered {
            sent_at: Time::ZERO,
            now: Time::ZERO + Span::from_us(2_000),
            serialization: Span::ZERO,
            held: Span::ZERO,
            late: true,
        };
        engine.answered(&late);
        assert_eq!((engine.srtt(), engine.rto(0)), (Span::from_us(2_000), Span::from_us(6_000)));
        let early = Answered { now: Time::ZERO + Span::from_us(100), ..late };
        engine.answered(&early);
        assert_eq!(engine.rto(0), Span::from_us(6_000), "never shorter");
    }
}
