//! A sender that measures the utility of its rates, one monitor interval each (PCC).

use super::{Monitor, Random, Report, Trials};
use crate::contract::{Ack, Flow, Limits, Loss, Sent, Spurious};
use crate::units::{Bytes, Fraction, Rate, Span};

/// The start of a [`Prober`] and the length of its intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Packets of the first RTT; zero for the flow's initial window.
    pub initial_packets: u32,
    /// The RTT before the first sample, where the operator knows none.
    pub initial_rtt: Span,
    /// The least rate.
    pub min_rate: Rate,
    /// The least and the most length of an interval in smoothed RTTs: drawn between them.
    pub length: (Fraction, Fraction),
    /// Transmissions that an interval has at least.
    pub min_packets: u32,
}

/// Sends in monitor intervals at rates that a control law chooses, or holds a rate without
/// measuring while results are awaited. Rates are in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prober {
    monitor: Monitor,
    /// For the lengths of intervals and the order of trials.
    pub random: Random,
    length: (Fraction, Fraction),
    min_packets: u32,
    sending_bps: f64,
    min_bps: f64,
    max_bps: f64,
    /// Payload of the first RTT.
    initial: Bytes,
    rtt: Span,
    /// Whether the operator knew the RTT, or it was measured.
    rtt_known: bool,
}

impl Prober {
    /// A flow that sends at [`initial_bps`](Self::initial_bps).
    pub fn new(flow: &Flow, setup: Setup) -> Self {
        let max_bps = flow.line_rate.as_bps().max(1) as f64;
        let initial = match setup.initial_packets {
            0 => flow.initial_window,
            packets => flow.mss * u64::from(packets),
        };
        let mut prober = Self {
            monitor: Monitor::default(),
            random: Random::new(flow.seed),
            length: setup.length,
            min_packets: setup.min_packets,
            sending_bps: 1.0,
            min_bps: (setup.min_rate.as_bps().max(1) as f64).min(max_bps),
            max_bps,
            initial,
            rtt: flow.base_rtt.unwrap_or(setup.initial_rtt),
            rtt_known: flow.base_rtt.is_some(),
        };
        prober.sending_bps = prober.initial_bps();
        prober
    }

    /// The first rate: the first window over the RTT, as far as that is known.
    pub fn initial_bps(&self) -> f64 {
        self.clamp(Rate::of(self.initial, self.rtt).as_bps() as f64)
    }

    /// `bps` within the least rate and line rate.
    pub const fn clamp(&self, bps: f64) -> f64 {
        bps.clamp(self.min_bps, self.max_bps)
    }

    /// `pairs` of trials of rates higher and lower than `bps` by the part `epsilon`.
    pub fn trials(&mut self, pairs: u32, bps: f64, epsilon: f64) -> Trials {
        let (high_bps, low_bps) = (bps * (1.0 + epsilon), bps * (1.0 - epsilon));
        Trials::new(pairs, self.clamp(high_bps), self.clamp(low_bps), &mut self.random)
    }

    /// Whether `bps` is no more than the least rate.
    pub fn at_floor(&self, bps: f64) -> bool {
        bps <= self.min_bps
    }

    /// The number of results that are awaited.
    pub const fn pending(&self) -> usize {
        self.monitor.len()
    }

    /// Takes in a transmission. Where an interval has ended with the one before, or there is none,
    /// the next one is sent at `next_bps`; without that, or while too many results are awaited,
    /// `holding_bps` is sent at and nothing measured.
    pub fn on_sent(&mut self, sent: &Sent, next_bps: Option<f64>, holding_bps: f64) {
        if self.monitor.ends_before(sent) {
            let next_bps = next_bps.filter(|_| !self.monitor.is_full());
            if let Some(bps) = next_bps {
                let length = self.length();
                self.monitor.begin(sent, self.clamp(bps), length, self.min_packets);
            }
            self.sending_bps = self.clamp(next_bps.unwrap_or(holding_bps));
        }
        self.monitor.on_sent(sent);
    }

    /// Takes in an ACK. Returns whether it brought the first RTT of a flow that began with a
    /// nominal one, whose rates fitted another path: all intervals are forgotten.
    pub fn on_ack(&mut self, ack: &Ack<'_>) -> bool {
        if !ack.srtt.is_zero() {
            self.rtt = ack.srtt;
            if !self.rtt_known {
                self.rtt_known = true;
                self.monitor.clear();
                self.sending_bps = self.initial_bps();
                return true;
            }
        }
        self.monitor.on_ack(ack);
        false
    }

    /// Takes in a loss.
    pub fn on_loss(&mut self, loss: &Loss) {
        self.monitor.on_loss(loss);
    }

    /// Takes back a loss, as far as its interval has no result yet.
    pub fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.monitor.on_spurious_loss(spurious);
    }

    /// The next result, in the order of sending.
    pub fn report(&mut self) -> Option<Report> {
        self.monitor.pop()
    }

    /// The rate of sending.
    pub fn rate(&self) -> Rate {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between the least rate and line rate"
        )]
        Rate::from_bps(self.sending_bps as u64)
    }

    /// The rate of sending as limits.
    pub fn limits(&self) -> Limits {
        Limits::rate(self.rate())
    }

    fn length(&mut self) -> Span {
        let (low, high) = (self.length.0.as_f64(), self.length.1.as_f64());
        let ps = self.rtt.as_ps() as f64 * (low + (high - low) * self.random.fraction());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; the cast saturates"
        )]
        Span::from_ps(ps as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    const SETUP: Setup = Setup {
        initial_packets: 2,
        initial_rtt: Span::from_ms(1),
        min_rate: Rate::from_mbps(1),
        length: (Fraction::from_ratio(17, 10), Fraction::from_ratio(22, 10)),
        min_packets: 10,
    };

    fn flow() -> Flow {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(1));
        flow.mss = Bytes::new(1_000);
        flow
    }

    #[test]
    fn the_first_rtt_makes_the_first_rate() {
        // Two packets of 1,000 B in 1 ms, then in 100 us.
        let mut prober = Prober::new(&flow(), SETUP);
        assert_eq!(prober.rate(), Rate::from_mbps(16));
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(1_000));
        assert!(!prober.on_ack(&ack), "no sample");
        ack.srtt = Span::from_us(100);
        assert!(prober.on_ack(&ack));
        assert_eq!(prober.rate(), Rate::from_mbps(160));
        ack.srtt = Span::from_us(50);
        assert!(!prober.on_ack(&ack), "only the first");
        // 14,600 B of the initial window in a known 1 us are more than the line can carry.
        let known = Flow { base_rtt: Some(Span::from_us(1)), ..flow() };
        let mut prober = Prober::new(&known, Setup { initial_packets: 0, ..SETUP });
        assert_eq!(prober.rate(), Rate::from_gbps(1));
        assert!(!prober.on_ack(&ack));
    }

    #[test]
    fn lengths_are_drawn_between_their_bounds() {
        let mut prober = Prober::new(&flow(), SETUP);
        let lengths: std::vec::Vec<_> = (0..100).map(|_| prober.length()).collect();
        let bounds = Span::from_us(1_700)..Span::from_us(2_200);
        assert!(lengths.iter().all(|length| bounds.contains(length)));
        assert!(lengths.iter().any(|length| *length < Span::from_us(1_800)));
        assert!(lengths.iter().any(|length| *length > Span::from_us(2_100)));
    }

    /// The `n`th packet, one every 250 us: ten take longer than any interval.
    fn sent(n: u64) -> Sent {
        let mut sent =
            Sent::new(Time::ZERO + Span::from_us(250 * n), Bytes::new(1_000), Bytes::ZERO);
        sent.end = Bytes::from_kb(n + 1);
        sent
    }

    #[test]
    fn a_rate_is_held_while_too_many_results_are_awaited() {
        let mut prober = Prober::new(&flow(), SETUP);
        let intervals = Monitor::CAPACITY as u64;
        (0..=10 * intervals).for_each(|n| prober.on_sent(&sent(n), Some(4e7), 2e7));
        assert_eq!((prober.rate(), prober.pending()), (Rate::from_mbps(20), Monitor::CAPACITY));
        // The first one is acknowledged.
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::from_kb(10));
        ack.end = ack.bytes;
        prober.on_ack(&ack);
        assert!(prober.report().is_some());
        prober.on_sent(&sent(10 * intervals + 1), Some(4e7), 2e7);
        assert_eq!((prober.rate(), prober.pending()), (Rate::from_mbps(40), Monitor::CAPACITY));
    }

    #[test]
    fn a_rate_is_held_while_nothing_is_to_be_measured() {
        let mut prober = Prober::new(&flow(), SETUP);
        for n in 0..10 {
            prober.on_sent(&sent(n), Some(4e7), 2e7);
            assert_eq!((prober.rate(), prober.pending()), (Rate::from_mbps(40), 1));
        }
        prober.on_sent(&sent(10), None, 2e7);
        assert_eq!((prober.rate(), prober.pending()), (Rate::from_mbps(20), 1));
        prober.on_sent(&sent(11), Some(5e5), 2e7);
        assert_eq!((prober.rate(), prober.pending()), (Rate::from_mbps(1), 2), "the least rate");
    }
}
