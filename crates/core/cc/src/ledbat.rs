//! LEDBAT: a background flow that adds no more than a target to the queueing delay, and yields.
//!
//! Shalunov, Hazel, Iyengar and Kuehlewind, "Low Extra Delay Background Transport (LEDBAT)", RFC
//! 6817, 2012. The one-way delay less the least one of the last minutes is the queueing delay. The
//! window changes in proportion to the distance of this delay from the target: it grows below the
//! target, by a segment per round at most, and shrinks above. `docs/algorithms/ledbat.md` has the
//! equations and the departures.
//!
//! The signal is [`Ack::one_way`], of which only differences count. Where the carrier has none, the
//! signal is the RTT ([`RttSample::total`](crate::RttSample)), which also contains the queues of
//! the way back. A flow never mixes the two: their base delays are different things.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::{Bytes, Fraction, Span, Time};
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// LEDBAT's parameters. The default is the preset `rfc6817`.
    pub struct Ledbat {
        /// Queueing delay that the flow steers for.
        pub target: Span = Span::from_ms(100), in "1us" to "100ms",
            source "RFC 6817, section 2.5: 100 ms at most";
        /// Segments per round that the window grows by while there is no queueing delay.
        pub gain: Fraction = Fraction::ONE, in "0.000001" to "1",
            source "RFC 6817, section 2.5: one at most";
        /// Intervals of which the base delay is the minimum.
        pub base_history: u32 = 10, in "1" to "10", source "RFC 6817, section 2.5";
        /// Length of one of these intervals.
        pub base_interval: Span = Span::from_secs(60), in "1us" to "3600s",
            source "RFC 6817, section 2.4.2: a minute";
        /// Delay samples of which the current delay is the minimum.
        pub current_filter: u32 = 4, in "1" to "8", source "ns-3 TcpLedbat, noise filter length";
        /// The first window, in segments; never more than the carrier allows.
        pub init_window: u32 = 2, in "1" to "1000", source "RFC 6817, section 2.5";
        /// The least window in segments, but for a timeout.
        pub min_window: u32 = 2, in "1" to "1000", source "RFC 6817, section 2.5";
        /// Sending units by which the window may exceed what was in flight.
        pub allowed_increase: u32 = 1, in "1" to "1000", source "RFC 6817, section 2.5";
        /// Whether a flow begins with slow start.
        pub slow_start: SlowStart = SlowStart::No, source "RFC 6817, section 2.4.2";
    }
}

words! {
    /// Whether a flow begins with slow start.
    pub enum SlowStart {
        /// The law acts from the first ACK.
        No = "no",
        /// Until the first loss, and again once the window has collapsed to a segment.
        Yes = "yes",
    }
}

impl Algorithm for Ledbat {
    type Control = LedbatControl;
    const NAME: &'static str = "ledbat";

    fn start(&self, flow: &Flow) -> LedbatControl {
        let first = Bytes::new(flow.mss.get().saturating_mul(self.init_window.into()));
        let initial_window = flow.initial_window.min(first);
        let window = Window::new(&Flow { initial_window, ..*flow });
        let law = LedbatLaw {
            rest: 0.0,
            base: Delays::new(self.base_history),
            base_interval: None,
            current: Delays::new(self.current_filter),
            one_way: false,
            can_slow_start: self.slow_start == SlowStart::Yes,
            target_ps: self.target.as_ps().max(1) as f64,
            interval_ps: self.base_interval.as_ps().max(1),
            gain: self.gain.as_f64(),
            segment: flow.segment.get(),
            min_window: self.min_window,
            allowed_increase: self.allowed_increase,
            slow_start: self.slow_start,
        };
        WindowControl { window, law }
    }
}

impl Configurable for Ledbat {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window yields to others: it holds the queueing delay at a target",
        kind: Kind::Window,
        signal: "one-way delay, or RTT",
        needs: &[],
        transport: Transport::Stream,
        source: "RFC 6817",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "rfc6817", source: "RFC 6817", values: &[] },
        Preset {
            name: "ns-3",
            source: "ns-3 TcpLedbat, which begins with slow start; its initial window",
            values: &[("slow_start", "yes"), ("init_window", "10")],
        },
        Preset {
            name: "datacenter",
            source: "this project: a target for buffers of datacenter switches, in no publication",
            values: &[("target", "50us")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        // A queue that is full before the target is reached drops packets, and these govern.
        if path.full_queue().is_some_and(|full| full <= self.target) {
            path.governed_by_losses(Fraction::from_ratio(1, 2), emit);
        } else {
            path.least_window(PathFacts::LEAST_PACKETS, emit);
        }
        path.window_of_segments(emit);
        path.above_segment_time(("target", self.target), 100, emit);
        if self.slow_start == SlowStart::No {
            path.slow_growth(("target", self.target), (20.0, 0.6), emit);
        }
        path.latecomers("target", self.target, emit);
    }
}

/// The longest base history and the longest filter: the state of a flow stays small.
const MAX_HISTORY: usize = 10;
const MAX_FILTER: usize = 8;

/// The last delays, as many as asked for, the newest at the end; [`Span::MAX`] where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Delays<const N: usize> {
    list: [Span; N],
    /// The index of the oldest delay.
    oldest: usize,
}

impl<const N: usize> Delays<N> {
    fn new(length: u32) -> Self {
        let length = usize::try_from(length).map_or(N, |n| n.clamp(1, N));
        Self { list: [Span::MAX; N], oldest: N - length }
    }

    /// Forgets the oldest delay and appends `delay`.
    fn push(&mut self, delay: Span) {
        self.list.copy_within(1.., 0);
        self.list[N - 1] = delay;
    }

    /// Lowers the newest delay to `delay`, if that is less.
    fn lower_newest(&mut self, delay: Span) {
        self.list[N - 1] = delay.min(self.list[N - 1]);
    }

    fn min(&self) -> Span {
        self.list[self.oldest..].iter().copied().min().unwrap_or(Span::MAX)
    }

    fn clear(&mut self) {
        self.list = [Span::MAX; N];
    }
}

/// A flow under LEDBAT.
pub type LedbatControl = WindowControl<LedbatLaw>;

/// The rules of LEDBAT and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LedbatLaw {
    /// Part of a byte that the law has asked for and the window does not have, from 0 to 1.
    rest: f64,
    /// The least delay of each interval.
    base: Delays<MAX_HISTORY>,
    /// The interval that is running; `None` before the first sample.
    base_interval: Option<u64>,
    /// The last delays.
    current: Delays<MAX_FILTER>,
    /// Whether these are one-way delays, not RTTs.
    one_way: bool,
    /// Whether the window is in its first slow start, or in one after a collapse.
    can_slow_start: bool,
    target_ps: f64,
    interval_ps: u64,
    gain: f64,
    /// The unit of sending.
    segment: u64,
    min_window: u32,
    allowed_increase: u32,
    slow_start: SlowStart,
}

impl LedbatLaw {
    /// The least window in bytes.
    fn least(&self, window: &Window) -> u64 {
        u64::from(self.min_window) * window.mss()
    }

    /// The sample of `ack`, if it is of the kind that this flow measures.
    fn delay(&mut self, ack: &Ack<'_>) -> Option<Span> {
        if ack.one_way.is_some() && !self.one_way {
            // The samples before were RTTs.
            self.one_way = true;
            self.base.clear();
            self.current.clear();
            self.base_interval = None;
        }
        if self.one_way { ack.one_way } else { ack.rtt.map(|rtt| rtt.total) }
    }

    fn add_sample(&mut self, now: Time, delay: Span) {
        let interval = Some(now.as_ps() / self.interval_ps);
        if interval == self.base_interval {
            self.base.lower_newest(delay);
        } else {
            self.base_interval = interval;
            self.base.push(delay);
        }
        self.current.push(delay);
    }

    /// The least of the current delays less the base delay.
    fn queueing_delay(&self) -> Span {
        self.current.min().saturating_sub(self.base.min())
    }

    /// `cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd`.
    fn follow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        if ack.bytes.is_zero() || self.base_interval.is_none() {
            return;
        }
        let off_target = 1.0 - self.queueing_delay().as_ps() as f64 / self.target_ps;
        let (cwnd, mss) = (window.cwnd(), window.mss());
        let change = self.gain * off_target * ack.bytes.get() as f64 * mss as f64 / cwnd as f64;
        let grows = Window::may_grow(ack);
        let change = if grows { change } else { change.min(0.0) };
        let exact = cwnd as f64 + self.rest + change;
        let whole = libm::floor(exact.max(0.0));
        self.rest = (exact - whole).clamp(0.0, 1.0);
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        #[expect(clippy::cast_sign_loss, reason = "not below zero")]
        let mut next = whole as u64;
        // Lost data that will be sent again still counts for the RFC, and is not in flight here:
        // the bound would cut the window of every recovery.
        if !ack.in_recovery {
            let before = ack.in_flight + ack.bytes;
            let unit = self.segment.max(mss);
            next = next.min((before + Bytes::new(unit) * self.allowed_increase.into()).get());
        }
        // A window that a timeout has collapsed comes back to the least one as it grows.
        let least = if grows { self.least(window) } else { self.least(window).min(cwnd) };
        window.set_cwnd(next.max(least));
    }
}

impl WindowLaw for LedbatLaw {
    fn measure(&mut self, _window: &mut Window, ack: &Ack<'_>) {
        if let Some(delay) = self.delay(ack) {
            self.add_sample(ack.now, delay);
        }
    }

    fn left(&mut self, window: &Window, _sign: Sign) -> u64 {
        self.rest = 0.0;
        window.half().max(self.least(window))
    }

    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
        if let Some(before) = reduced_from {
            // After a timeout the window may be below the least one, to which no mark raises it.
            window.set_cwnd(window.cwnd().min(before));
            return;
        }
        if window.cwnd() <= window.mss() {
            self.can_slow_start = self.slow_start == SlowStart::Yes;
        }
        self.can_slow_start &= window.in_slow_start();
        if !self.can_slow_start {
            self.follow(window, ack);
        } else if Window::may_grow(ack) {
            window.slow_start(ack.bytes.get());
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        if self.base_interval.is_some() {
            emit("queueing_delay_us", self.queueing_delay().as_us_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionControl, Loss, LossCause, Rate, Spurious};
    use std::vec::Vec;

    const MSS: u64 = 1_000;

    fn flow(segments: u64) -> Flow {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
        flow
    }

    /// A window of `segments` after the base delay has been seen.
    fn start(ledbat: Ledbat, segments: u64, base: Span) -> LedbatControl {
        let mut control = Ledbat { init_window: 1_000, ..ledbat }.start(&flow(segments));
        control.on_ack(&Ack { bytes: Bytes::ZERO, ..ack(&control, Time::ZERO, 0, base) });
        control
    }

    /// An ACK for `segments` of a window that was full.
    fn ack(control: &LedbatControl, now: Time, segments: u64, one_way: Span) -> Ack<'static> {
        let mut ack = Ack::new(now, Time::ZERO, Bytes::new(segments * MSS));
        (ack.one_way, ack.cwnd_limited) = (Some(one_way), true);
        ack.in_flight = Bytes::new(control.window.cwnd()).saturating_sub(ack.bytes);
        ack
    }

    /// The change of a window of 100 segments in a round of 100 ACKs for a segment each, in bytes.
    fn round(ledbat: Ledbat, queueing: Span) -> i64 {
        let base = Span::from_us(10);
        let mut control = start(ledbat, 100, base);
        for segments in [0; 4].into_iter().chain([1; 100]) {
            control.on_ack(&ack(&control, Time::ZERO, segments, base + queueing));
        }
        i64::try_from(control.window.cwnd()).unwrap() - 100_000
    }

    #[test]
    fn window_changes_in_proportion_to_the_distance_from_the_target() {
        // off_target segments per round: 1 - q / target. The window moves meanwhile, hence a
        // margin.
        for target in [Span::from_ms(100), Span::from_us(50)] {
            let ledbat = Ledbat { target, ..Ledbat::default() };
            for (halves, expected) in
                [(0, 1_000), (1, 500), (2, 0), (3, -500), (4, -1_000), (10, -4_000)]
            {
                let change = round(ledbat, target * halves / 2);
                let margin = expected * expected / 100_000;
                let wrong = (change - expected).abs();
                assert!(wrong <= margin + 1, "{target} * {halves} / 2: {change}");
            }
        }
        let gentle = Ledbat { gain: Fraction::from_ratio(1, 4), ..Ledbat::default() };
        assert!((249..=250).contains(&round(gentle, Span::ZERO)));
    }

    #[test]
    fn no_round_adds_more_than_a_segment() {
        assert!((990..=1_000).contains(&round(Ledbat::default(), Span::ZERO)));
        // One ACK for the whole window, and a delay below the base, are no way around it.
        let mut control = start(Ledbat::default(), 100, Span::from_us(10));
        control.on_ack(&ack(&control, Time::ZERO, 100, Span::from_us(1)));
        assert_eq!(control.window.cwnd(), 101 * MSS);
    }

    #[test]
    fn small_steps_add_up() {
        // A thousand segments; a 64th of a segment per round in steps of 1/64 byte.
        let slow = Ledbat { gain: Fraction::from_ratio(1, 64), ..Ledbat::default() };
        let mut control = start(slow, 1_000, Span::from_us(10));
        for _ in 0..6_400 {
            control.on_ack(&ack(&control, Time::ZERO, 1, Span::from_us(10)));
        }
        assert!((1_000_099..=1_000_100).contains(&control.window.cwnd()));
    }

    #[test]
    fn window_stays_within_a_segment_of_what_was_in_flight() {
        let base = Span::from_us(10);
        let mut control = start(Ledbat::default(), 100, base);
        let mut unused = ack(&control, Time::ZERO, 1, base);
        (unused.in_flight, unused.cwnd_limited) = (Bytes::new(10 * MSS), false);
        control.on_ack(&Ack { in_recovery: true, ..unused });
        assert_eq!(control.window.cwnd(), 100 * MSS, "what is repaired is not in flight");
        control.on_ack(&unused);
        assert_eq!(control.window.cwnd(), 12 * MSS);
        // Where segments are larger than the MSS, by one of these, or the window could not grow.
        let mut flow = flow(100);
        flow.segment = Bytes::from_kb(16);
        let mut control = Ledbat { init_window: 100, ..Ledbat::default() }.start(&flow);
        control.on_ack(&unused);
        assert_eq!(control.window.cwnd(), 27 * MSS);
    }

    #[test]
    fn base_delay_is_the_least_of_ten_minutes() {
        let mut control = start(Ledbat::default(), 10, Span::from_ms(1));
        for minute in 1..=9 {
            let now = Time::ZERO + Span::from_secs(60 * minute + 5);
            control.on_ack(&ack(&control, now, 0, Span::from_ms(2)));
            control.on_ack(&ack(&control, now, 0, Span::from_ms(3)));
            assert_eq!(control.law.base.min(), Span::from_ms(1), "{minute}");
        }
        let now = Time::ZERO + Span::from_secs(605);
        control.on_ack(&ack(&control, now, 0, Span::from_ms(3)));
        assert_eq!(control.law.base.min(), Span::from_ms(2));
        control.on_ack(&ack(&control, now, 0, Span::from_us(1_500)));
        assert_eq!(control.law.base.min(), Span::from_us(1_500));
    }

    #[test]
    fn one_long_delay_of_four_is_noise() {
        let mut control = start(Ledbat::default(), 10, Span::from_ms(1));
        for (delay_ms, queueing_ms) in [(9, 0), (8, 0), (7, 0), (90, 6), (90, 6), (90, 6), (90, 89)]
        {
            control.on_ack(&ack(&control, Time::ZERO, 0, Span::from_ms(delay_ms)));
            assert_eq!(control.law.queueing_delay(), Span::from_ms(queueing_ms));
        }
    }

    #[test]
    fn round_trips_serve_until_one_way_delays_come_and_the_two_never_mix() {
        let mut control = Ledbat::default().start(&flow(10));
        let ack_of = |rtt_us, one_way_us: Option<u64>| {
            let ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::ZERO);
            let one_way = one_way_us.map(Span::from_us);
            Ack { one_way, ..ack.with_rtt(Span::from_us(rtt_us)) }
        };
        for rtt_us in [100, 130, 130, 130, 130] {
            control.on_ack(&ack_of(rtt_us, None));
        }
        assert_eq!(control.law.queueing_delay(), Span::from_us(30));
        // The clock of the receiver is a second ahead.
        control.on_ack(&ack_of(130, Some(1_000_040)));
        assert_eq!(control.law.queueing_delay(), Span::ZERO);
        control.on_ack(&ack_of(100, None));
        assert_eq!(control.law.base.min(), Span::from_us(1_000_040));
    }

    #[test]
    fn loss_halves_once_per_window_and_never_raises() {
        let mut control = start(Ledbat::default(), 20, Span::from_us(10));
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(1_000), Bytes::new(20_000));
        control.on_loss(&loss);
        control.on_loss(&Loss { end: Bytes::new(2_000), in_recovery: true, ..loss });
        assert_eq!(control.window.cwnd(), 10 * MSS);
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!(control.window.cwnd(), 20 * MSS);
        let (end, next) = (Bytes::new(21_000), Bytes::new(30_000));
        control.on_loss(&Loss { cause: LossCause::Timeout, end, next, ..loss });
        assert_eq!(control.window.cwnd(), MSS);
        control.on_loss(&Loss { end: Bytes::new(31_000), next: Bytes::new(32_000), ..loss });
        assert_eq!(control.window.cwnd(), MSS, "the least window is no reason to grow");
        let mut marked = ack(&control, Time::ZERO, 1, Span::from_us(10));
        (marked.ce_bytes, marked.end) = (marked.bytes, Bytes::new(31_000));
        control.on_ack(&marked);
        assert_eq!(control.window.cwnd(), MSS, "nor on an ACK with marks");
        control.on_ack(&ack(&control, Time::ZERO, 1, Span::from_us(10)));
        assert_eq!(control.window.cwnd(), 2 * MSS, "but the law has it");
    }

    #[test]
    fn slow_start_is_left_at_the_first_loss_and_entered_after_a_collapse() {
        let ns3 = Ledbat { slow_start: SlowStart::Yes, ..Ledbat::default() };
        let mut control = start(ns3, 10, Span::from_us(10));
        control.on_ack(&ack(&control, Time::ZERO, 10, Span::from_ms(500)));
        assert_eq!(control.window.cwnd(), 20 * MSS, "whatever the delay");
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(1_000), Bytes::new(20_000));
        control.on_loss(&loss);
        assert_eq!(control.window.cwnd(), 10 * MSS);
        control.on_ack(&ack(&control, Time::ZERO, 10, Span::from_us(10)));
        assert_eq!(control.window.cwnd(), 11 * MSS, "the law: a segment per window");
        let (end, next) = (Bytes::new(21_000), Bytes::new(30_000));
        control.on_loss(&Loss { cause: LossCause::Timeout, end, next, ..loss });
        for segments in [1, 2] {
            control.on_ack(&ack(&control, Time::ZERO, segments, Span::from_us(10)));
        }
        assert_eq!(control.window.cwnd(), 4 * MSS, "slow start after a collapse");
    }

    #[test]
    fn flows_that_know_the_path_hold_its_queue_at_the_target() {
        // 10 Gb/s, segments of 1 KB, 20 us: 25 segments fill the path, 62.5 more are 50 us.
        let datacenter = Ledbat { target: Span::from_us(50), ..Ledbat::default() };
        let base = Span::from_us(20);
        let mut controls: Vec<_> = [2, 30, 150].map(|w| start(datacenter, w, base)).into();
        let mut total = 0.0;
        for _ in 0..2_000 {
            total = controls.iter().map(|control| control.window.segments()).sum();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let one_way = Span::from_ps((f64::max(total, 25.0) / 1.25 * 1e6) as u64);
            for control in &mut controls {
                let window = control.window.cwnd() / MSS;
                for segments in [0, 0, 0, window] {
                    control.on_ack(&ack(control, Time::ZERO, segments, one_way));
                }
            }
        }
        assert!((total - 87.5).abs() < 0.5, "{total} segments");
    }
}
