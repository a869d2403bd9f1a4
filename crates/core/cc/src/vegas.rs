//! TCP Vegas: the window keeps a few segments of its own in the queue.
//!
//! Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE
//! JSAC 13(8), 1995. The least RTT of the connection tells what the path takes without queues. What
//! the window holds beyond what would be in flight then waits in a queue: Diff. Once per round,
//! Diff below `alpha` adds a segment, above `beta` takes one away; in slow start, above `gamma`
//! ends it. The rule is the one of Linux and ns-3; `docs/algorithms/vegas.md` has the equations and
//! the departures.
//!
//! The RTT is [`RttSample::total`](crate::RttSample): what a TCP sender sees, its own NIC included.
//! Diff is a ratio of picoseconds in `f64`, without the truncations of the integer implementations.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow, Loss};
use crate::param::{Configurable, Conflict, Info, Kind, Preset, Transport};
use crate::parts::{Window, WindowControl, WindowLaw};
use crate::units::{Fraction, Span, Time};
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// Vegas' parameters. The thresholds are in segments; the default is the preset `linux`.
    pub struct Vegas {
        /// Diff below which the window grows by a segment per round.
        pub alpha: Fraction = Fraction::from_ratio(2, 1), in "0" to "4000",
            source "Linux and ns-3; Brakmo and Peterson, JSAC 1995, as Vegas-2,4";
        /// Diff above which the window shrinks by a segment per round.
        pub beta: Fraction = Fraction::from_ratio(4, 1), in "0" to "4000",
            source "Linux and ns-3; Brakmo and Peterson, JSAC 1995, as Vegas-2,4";
        /// Diff above which slow start ends.
        pub gamma: Fraction = Fraction::from_ratio(1, 1), in "0" to "4000",
            source "Linux and ns-3; Brakmo and Peterson, JSAC 1995";
        /// In which rounds slow start doubles the window.
        pub slow_start: SlowStart = SlowStart::EveryRound, source "Linux and ns-3";
        /// Whether Diff counts whole segments.
        pub rounding: Rounding = Rounding::No, source "Brakmo and Peterson, JSAC 1995";
        /// RTT samples that a round needs; with fewer it goes as in Reno.
        pub min_samples: u32 = 3, in "1" to "1000", source "Linux and ns-3: more than two";
        /// The least window in segments, but for a timeout.
        pub min_window: u32 = 2, in "1" to "1000", source "Linux";
    }
}

words! {
    /// In which rounds slow start doubles the window.
    pub enum SlowStart {
        /// In every round.
        EveryRound = "every-round",
        /// In every other round; the window rests in between, so that the RTT tells of it.
        EveryOtherRound = "every-other-round",
    }
}

words! {
    /// Whether Diff counts whole segments.
    pub enum Rounding {
        /// No rounding.
        No = "no",
        /// A part of a segment counts as one.
        Up = "up",
    }
}

impl Algorithm for Vegas {
    type Control = VegasControl;
    const NAME: &'static str = "vegas";

    fn start(&self, flow: &Flow) -> VegasControl {
        let law = VegasLaw {
            round: 0,
            round_rtt: Span::MAX,
            samples: 0,
            doubles: true,
            diff: 0.0,
            alpha: self.alpha.as_f64(),
            beta: self.beta.as_f64(),
            gamma: self.gamma.as_f64(),
            slow_start: self.slow_start,
            rounding: self.rounding,
            min_samples: self.min_samples,
            min_window: self.min_window,
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Vegas {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window keeps two to four segments of its own in the queue",
        kind: Kind::Window,
        signal: "least RTT of each round",
        needs: &[],
        transport: Transport::Stream,
        source: "Brakmo and Peterson, JSAC 1995",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "linux", source: "Linux tcp_vegas", values: &[] },
        Preset {
            name: "ns-3",
            source: "ns-3 TcpVegas, whose target window is cut to whole segments",
            values: &[("rounding", "up")],
        },
        Preset {
            name: "vegas-1-3",
            source: "Brakmo and Peterson, JSAC 1995: Vegas-1,3, with its slow start",
            values: &[("alpha", "1"), ("beta", "3"), ("slow_start", "every-other-round")],
        },
    ];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        if self.alpha > self.beta {
            return Err(Conflict { name: "alpha", rule: "must not be above", other: "beta" });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_window(PathFacts::LEAST_PACKETS, emit);
        path.window_of_segments(emit);
        path.whole_segments("beta", self.beta, emit);
        let whole = if self.rounding == Rounding::Up { 1.0 } else { 0.0 };
        let band = (self.alpha.as_f64() - whole, self.beta.as_f64());
        path.late_acks(["alpha", "beta"], [self.alpha, self.beta], band, emit);
    }
}

/// Diff: of a window of `segments`, those that wait in a queue when the RTT is `rtt` and `base`
/// without queues.
pub(crate) fn backlog(segments: f64, base: Span, rtt: Span) -> f64 {
    let queueing = rtt.saturating_sub(base);
    if queueing.is_zero() { 0.0 } else { segments * queueing.as_ps() as f64 / rtt.as_ps() as f64 }
}

/// A flow under Vegas.
pub type VegasControl = WindowControl<VegasLaw>;

/// The rules of Vegas and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasLaw {
    /// The round that is running.
    round: u64,
    /// The least RTT of the round, which no delayed ACK has stretched; [`Span::MAX`] without any.
    round_rtt: Span,
    /// The RTT samples of the round.
    samples: u32,
    /// Whether slow start doubles the window in this round.
    doubles: bool,
    /// Diff at the end of the last round, for plots.
    diff: f64,
    alpha: f64,
    beta: f64,
    gamma: f64,
    slow_start: SlowStart,
    rounding: Rounding,
    min_samples: u32,
    min_window: u32,
}

impl VegasLaw {
    /// Forgets the samples of the round: they tell of a window that is gone.
    fn forget_round(&mut self) {
        (self.round_rtt, self.samples, self.doubles) = (Span::MAX, 0, true);
    }

    /// The decision at the end of a round, which `ack` ended.
    fn end_round(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let segments = window.segments();
        // A window that a timeout has collapsed is below the least, and is not raised by shrinking.
        let least = (u64::from(self.min_window) * window.mss()).min(window.cwnd());
        self.diff = backlog(segments, ack.min_rtt.min(self.round_rtt), self.round_rtt);
        if self.rounding == Rounding::Up {
            self.diff = libm::ceil(self.diff);
        }
        if window.in_slow_start() {
            let every_other = self.slow_start == SlowStart::EveryOtherRound;
            // While the window doubles, the RTT does not show the new window yet.
            let comparable = !(every_other && self.doubles);
            self.doubles = !(every_other && self.doubles);
            if comparable && self.diff > self.gamma {
                window.set_segments(segments - self.diff);
                window.set_cwnd(window.cwnd().max(least));
                window.set_ssthresh(window.cwnd());
            }
        } else if self.diff > self.beta {
            window.set_cwnd(window.cwnd().saturating_sub(window.mss()).max(least));
            // Or the flow would be back in slow start.
            window.set_ssthresh(window.ssthresh().min(window.cwnd()));
        } else if self.diff < self.alpha && Window::may_grow(ack) {
            window.set_cwnd(window.cwnd() + window.mss());
        }
    }
}

/// Losses and marks are answered as Reno does, and as in Linux.
impl WindowLaw for VegasLaw {
    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
        if reduced_from.is_some() || ack.in_recovery {
            self.forget_round();
            self.round = ack.round;
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.round_rtt = self.round_rtt.min(rtt.total);
            self.samples = self.samples.saturating_add(1);
        }
        let ended = ack.round != self.round;
        let as_reno = ended && self.samples < self.min_samples;
        if ended {
            if !as_reno {
                self.end_round(window, ack);
            }
            (self.round, self.round_rtt, self.samples) = (ack.round, Span::MAX, 0);
        }
        if !Window::may_grow(ack) {
            return;
        }
        if as_reno {
            window.reno(ack.bytes.get());
        } else if window.in_slow_start() && self.doubles {
            window.slow_start(ack.bytes.get());
        }
    }

    fn on_loss(&mut self, _loss: &Loss) {
        self.forget_round();
    }

    fn on_undo(&mut self) {
        self.forget_round();
    }

    /// The window was not full: its RTTs show the queues of others. An ACK for all data in flight
    /// is no such pause.
    fn on_restart(&mut self, _now: Time, idle: Span) {
        if !idle.is_zero() {
            self.forget_round();
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("diff_segments", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, LossCause, Rate, Spurious};
    use std::vec::Vec;

    const MSS: u64 = 1_000;

    /// A flow that starts with a window of `segments`.
    fn flow(segments: u64) -> Flow {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
        flow
    }

    fn in_avoidance(segments: u64) -> VegasControl {
        let mut control = Vegas::default().start(&flow(segments));
        control.window.set_ssthresh(segments * MSS);
        control
    }

    fn ack(round: u64, rtt: Span, base: Span) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS)).with_rtt(rtt);
        (ack.round, ack.min_rtt, ack.cwnd_limited) = (round, base, true);
        ack
    }

    /// Ends the running round with `samples` ACKs, all of the same RTT.
    fn round(control: &mut VegasControl, samples: u32, rtt: Span, base: Span) {
        for _ in 1..samples {
            control.on_ack(&ack(control.law.round, rtt, base));
        }
        control.on_ack(&ack(control.law.round + 1, rtt, base));
    }

    #[test]
    fn holds_within_the_band_and_moves_by_one_segment_outside() {
        // 20 segments, Diff = 20 (rtt - base) / rtt: 1.8 at 1.1, 3.3 at 1.2, 4.6 at 1.3 of the
        // base. At a microsecond as at a hundred: nothing hangs on the resolution of a clock.
        for base in [Span::from_us(100), Span::from_us(1)] {
            for (tenths, expected) in [(10, 21), (11, 21), (12, 20), (13, 19), (30, 19)] {
                let mut control = in_avoidance(20);
                round(&mut control, 5, base * tenths / 10, base);
                assert_eq!(control.window.cwnd(), expected * MSS, "{base}, {tenths}");
                assert!(!control.window.in_slow_start());
            }
        }
    }

    #[test]
    fn least_rtt_of_the_round_decides() {
        let (mut control, base) = (in_avoidance(20), Span::from_us(100));
        for rtt_us in [400, 120, 900] {
            control.on_ack(&ack(0, Span::from_us(rtt_us), base));
        }
        control.on_ack(&ack(1, Span::from_us(500), base));
        assert_eq!(control.window.cwnd(), 20 * MSS);
        // The next round does not remember it: 20 * 400 / 500 = 16.
        round(&mut control, 3, Span::from_us(500), base);
        assert_eq!(control.window.cwnd(), 19 * MSS);
    }

    #[test]
    fn a_pause_forgets_the_round_and_an_ack_for_all_that_is_out_does_not() {
        let base = Span::from_us(100);
        // 20 (300 - 100) / 300 = 13: a segment less; or Reno's MSS^2 / cwnd more, after too few
        // samples.
        for (idle, expected) in [(Span::ZERO, 19 * MSS), (Span::from_ps(1), 20 * MSS + MSS / 20)] {
            let mut control = in_avoidance(20);
            (0..4).for_each(|_| control.on_ack(&ack(0, base * 3, base)));
            control.on_restart(Time::ZERO, idle);
            control.on_ack(&ack(1, base * 3, base));
            assert_eq!(control.window.cwnd(), expected, "{idle}");
        }
    }

    #[test]
    fn two_samples_are_too_few_and_go_as_in_reno() {
        let mut control = in_avoidance(20);
        round(&mut control, 2, Span::from_us(900), Span::from_us(100));
        // The ACK that ended the round adds MSS^2 / cwnd.
        assert_eq!(control.window.cwnd(), 20 * MSS + MSS / 20);
        round(&mut control, 3, Span::from_us(900), Span::from_us(100));
        assert_eq!(control.window.cwnd(), 19 * MSS + MSS / 20);
    }

    #[test]
    fn slow_start_ends_above_gamma_at_the_actual_rate() {
        let base = Span::from_us(100);
        let mut control = Vegas::default().start(&flow(20));
        // 23 (105 - 100) / 105 = 1.1 is above gamma: the window becomes 23 * 100 / 105.
        round(&mut control, 4, Span::from_us(105), base);
        assert_eq!(control.window.cwnd(), 23_000 * 100 / 105);
        assert!(!control.window.in_slow_start());
        // 23 * 4 / 104 = 0.88 is below: each ACK goes on growing it by what it acknowledges.
        let mut control = Vegas::default().start(&flow(20));
        round(&mut control, 4, Span::from_us(104), base);
        assert_eq!(control.window.cwnd(), 24 * MSS);
        assert!(control.window.in_slow_start());
    }

    #[test]
    fn paper_slow_start_rests_every_other_round_and_compares_only_then() {
        let vegas = Vegas { slow_start: SlowStart::EveryOtherRound, ..Vegas::default() };
        let (mut control, base) = (vegas.start(&flow(20)), Span::from_us(100));
        let mut windows = Vec::new();
        for _ in 0..4 {
            round(&mut control, 3, base, base);
            windows.push(control.window.cwnd() / MSS);
        }
        // The ACK that ends a round belongs to the next one.
        assert_eq!(windows, [22, 23, 25, 26]);
        // The round that runs doubles, so a long RTT in the resting one ends slow start, not
        // before.
        round(&mut control, 3, Span::from_us(200), base);
        assert!(control.window.in_slow_start(), "the window was growing");
        round(&mut control, 3, Span::from_us(200), base);
        assert!(!control.window.in_slow_start());
    }

    #[test]
    fn does_not_grow_a_window_that_the_application_leaves_empty() {
        let (mut control, base) = (in_avoidance(20), Span::from_us(100));
        for i in 0..20 {
            let mut ack = ack(i / 4, base, base);
            ack.cwnd_limited = false;
            control.on_ack(&ack);
        }
        assert_eq!(control.window.cwnd(), 20 * MSS);
    }

    #[test]
    fn halves_once_per_window_and_ignores_the_rtts_of_recovery() {
        let (mut control, base) = (in_avoidance(20), Span::from_us(100));
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(1_000), Bytes::new(20_000));
        control.on_loss(&loss);
        control.on_loss(&Loss { end: Bytes::new(5_000), in_recovery: true, ..loss });
        assert_eq!(control.window.cwnd(), 10 * MSS);
        for i in 0..40 {
            let mut ack = ack(i / 4, base * 9, base);
            ack.in_recovery = true;
            control.on_ack(&ack);
        }
        assert_eq!(control.window.cwnd(), 10 * MSS);
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!(control.window.cwnd(), 20 * MSS);
        let timeout = Loss { cause: LossCause::Timeout, end: Bytes::new(30_000), ..loss };
        control.on_loss(&timeout);
        assert_eq!((control.window.cwnd(), control.window.ssthresh()), (MSS, 10 * MSS));
    }

    #[test]
    fn marks_halve_once_per_window() {
        let (mut control, base) = (in_avoidance(20), Span::from_us(100));
        let mut marked = ack(1, base, base);
        (marked.ce_bytes, marked.end, marked.next) =
            (Bytes::new(MSS), Bytes::new(1_000), Bytes::new(20_000));
        control.on_ack(&marked);
        control.on_ack(&marked);
        assert_eq!(control.window.cwnd(), 10 * MSS);
    }

    #[test]
    fn shrinking_stops_at_the_least_window_and_raises_none_below_it() {
        let base = Span::from_us(100);
        for (segments, expected) in [(4, 3), (3, 3), (2, 2)] {
            let vegas = Vegas { alpha: Fraction::ZERO, beta: Fraction::ZERO, ..Vegas::default() };
            let mut control = Vegas { min_window: 3, ..vegas }.start(&flow(segments));
            control.window.set_ssthresh(segments * MSS);
            round(&mut control, 5, base * 3, base);
            assert_eq!(control.window.cwnd(), expected * MSS, "of {segments}");
        }
    }

    #[test]
    fn marked_acks_do_not_grow_the_window() {
        let (mut control, base) = (Vegas::default().start(&flow(20)), Span::from_us(100));
        for end in 1..10 {
            let mut marked = ack(0, base, base);
            (marked.ce_bytes, marked.end) = (marked.bytes, Bytes::new(end));
            marked.next = Bytes::new(20_000);
            control.on_ack(&marked);
        }
        assert_eq!(control.window.cwnd(), 10 * MSS);
    }

    #[test]
    fn flows_of_one_path_share_a_queue_within_their_bands() {
        // Three flows, 100 us, 1 segment per us: each round, what exceeds 100 segments is the
        // queue.
        let mut controls: Vec<_> = [5, 40, 90].into_iter().map(in_avoidance).collect();
        let (base, mut total) = (Span::from_us(100), 0.0);
        for _ in 0..300 {
            total = controls.iter().map(|control| control.window.segments()).sum();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let rtt = Span::from_ps((1e6 * f64::max(total, 100.0)) as u64);
            for control in &mut controls {
                round(control, 3, rtt, base);
            }
        }
        assert!((106.0..=112.0).contains(&total), "{total} segments");
        for control in &controls {
            let diff = control.law.diff;
            assert!((1.0..=5.0).contains(&diff), "{diff} of its own in the queue");
        }
    }
}
