//! FAST TCP: the window moves to the point where each flow has `alpha` segments in the queue.
//!
//! Wei, Jin, Low and Hegde, "FAST TCP: Motivation, Architecture, Algorithms, Performance", IEEE/ACM
//! Transactions on Networking 14(6), 2006 (Jin, Wei and Low at INFOCOM 2004). As in Vegas, the
//! signal is the least RTT against the present one, but the step is proportional to the distance:
//! far from the equilibrium the window moves fast, near it hardly. `docs/algorithms/fast.md` has
//! the equations and the departures.
//!
//! The RTT is [`RttSample::total`](crate::RttSample), what a TCP sender sees, averaged as the paper
//! does. It is kept in picoseconds, so an RTT of a microsecond has its full resolution.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow, Loss, LossCause};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Window, WindowControl, WindowLaw};
use crate::units::{Fraction, Span};
use crate::vegas::backlog;
use crate::{configurable_by_name, parameters};

parameters! {
    /// FAST's parameters. The default is the preset `course`.
    pub struct Fast {
        /// Segments that each flow has in the queue in equilibrium.
        pub alpha: Fraction = Fraction::from_ratio(15, 1), in "1" to "4000",
            source "simulators of Caltech's network course";
        /// Part of the way to the equilibrium's window that one update goes.
        pub gamma: Fraction = Fraction::from_ratio(1, 2), in "0.000001" to "1",
            source "simulators of Caltech's network course; the paper: in (0, 1]";
        /// Rounds from one update of the window to the next.
        pub update_rounds: u32 = 1, in "1" to "100",
            source "simulators of Caltech's network course";
        /// Weight of an RTT sample in the average, times the window in segments, ...
        pub average_span: u32 = 3, in "1" to "1000", source "Wei et al., ToN 2006, estimation";
        /// ... and the largest weight.
        pub average_weight: Fraction = Fraction::from_ratio(1, 4), in "0.000001" to "1",
            source "Wei et al., ToN 2006, estimation";
    }
}

impl Algorithm for Fast {
    type Control = FastControl;
    const NAME: &'static str = "fast";

    fn start(&self, flow: &Flow) -> FastControl {
        let law = FastLaw {
            average_ps: None,
            updated_in: 0,
            alpha: self.alpha.as_f64(),
            gamma: self.gamma.as_f64(),
            update_rounds: u64::from(self.update_rounds),
            average_span: f64::from(self.average_span),
            average_weight: self.average_weight.as_f64(),
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Fast {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window moves to where alpha segments of its own are in the queue",
        kind: Kind::Window,
        signal: "average RTT",
        needs: &[],
        transport: Transport::Stream,
        source: "Wei et al., ToN 2006",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "course",
            source: "simulators of Caltech's network course, written after the paper",
            values: &[],
        },
        Preset {
            name: "gigabit",
            source: "reported of the authors' prototype on paths of 1 Gb/s; not confirmed",
            values: &[("alpha", "200")],
        },
        Preset {
            name: "ns3-port",
            source: "a public TcpFast for ns-3, its default",
            values: &[("alpha", "250")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_window(PathFacts::LEAST_PACKETS, emit);
        path.window_of_segments(emit);
        path.backlog("alpha", u64::from(self.alpha.bits() >> Fraction::BITS), emit);
    }
}

/// A flow under FAST.
pub type FastControl = WindowControl<FastLaw>;

/// The rules of FAST and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastLaw {
    /// The average RTT in picoseconds; `None` until there is a sample.
    average_ps: Option<f64>,
    /// The round of the last update.
    updated_in: u64,
    alpha: f64,
    gamma: f64,
    update_rounds: u64,
    average_span: f64,
    average_weight: f64,
}

impl FastLaw {
    /// The average RTT to the picosecond; zero before the first sample.
    fn average_rtt(&self) -> Span {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an average of u64 values"
        )]
        Span::from_ps(self.average_ps.unwrap_or(0.0) as u64)
    }

    fn add_sample(&mut self, window: &Window, rtt: Span) {
        let sample = rtt.as_ps() as f64;
        // About a third of a window of samples is remembered, four samples at least.
        let weight = (self.average_span / window.segments()).min(self.average_weight);
        let average =
            self.average_ps.map_or(sample, |average| average + weight * (sample - average));
        self.average_ps = Some(average);
    }

    /// `w = min(2w, (1 - gamma) w + gamma (w base / RTT + alpha))`.
    fn update(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let w = window.segments();
        let fits = w - backlog(w, ack.min_rtt, self.average_rtt());
        let law = (1.0 - self.gamma) * w + self.gamma * (fits + self.alpha);
        let next = law.min(2.0 * w);
        if next < w || Window::may_grow(ack) {
            window.set_segments(next);
        }
    }
}

/// Losses are answered as Reno does, and as in the paper; so are marks.
impl WindowLaw for FastLaw {
    fn measure(&mut self, window: &mut Window, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            self.add_sample(window, rtt.total);
        }
    }

    fn steer(&mut self, window: &mut Window, ack: &Ack<'_>, reduced_from: Option<u64>) {
        if reduced_from.is_some() || ack.in_recovery {
            // The next update is about the window after the reduction.
            self.updated_in = ack.round;
        } else if self.average_ps.is_some()
            && ack.round.saturating_sub(self.updated_in) >= self.update_rounds
        {
            self.updated_in = ack.round;
            self.update(window, ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.cause != LossCause::Detected {
            // The RTTs of before the silence tell nothing of the path after it.
            self.average_ps = None;
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("average_rtt_us", self.average_rtt().as_us_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, Rate, Spurious, Time};
    use std::vec::Vec;

    const MSS: u64 = 1_000;

    fn start(fast: Fast, segments: u64) -> FastControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
        fast.start(&flow)
    }

    fn ack(round: u64, rtt: Span, base: Span) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS)).with_rtt(rtt);
        (ack.round, ack.min_rtt, ack.cwnd_limited) = (round, base, true);
        ack
    }

    /// The window after an update at this RTT, from one of `segments`.
    fn after(fast: Fast, segments: u64, rtt: Span, base: Span) -> f64 {
        let mut control = start(fast, segments);
        control.on_ack(&ack(1, rtt, base));
        control.window.segments()
    }

    #[test]
    fn one_update_goes_half_the_way_to_what_fits_and_alpha() {
        for base in [Span::from_us(100), Span::from_us(1)] {
            // No queue: (20 + 20 + 15) / 2. Twice the base RTT: (20 + 10 + 15) / 2.
            assert!((after(Fast::default(), 20, base, base) - 27.5).abs() < 1e-9);
            assert!((after(Fast::default(), 20, base * 2, base) - 22.5).abs() < 1e-9);
            // Four times: (60 + 15 + 15) / 2, below the window.
            assert!((after(Fast::default(), 60, base * 4, base) - 45.0).abs() < 1e-9);
        }
        let gentle = Fast { gamma: Fraction::from_ratio(1, 4), ..Fast::default() };
        // 0.75 * 20 + 0.25 (20 + 15).
        assert!((after(gentle, 20, Span::from_us(9), Span::from_us(9)) - 23.75).abs() < 1e-9);
    }

    #[test]
    fn no_update_more_than_doubles_the_window() {
        // 5 + 15 / 2 would be 12.5.
        let base = Span::from_us(100);
        assert!((after(Fast::default(), 5, base, base) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn updates_once_per_round_or_as_told() {
        let base = Span::from_us(100);
        for (rounds, expected) in [(1, [27.5, 35.0, 42.5, 50.0]), (2, [20.0, 27.5, 27.5, 35.0])] {
            let mut control = start(Fast { update_rounds: rounds, ..Fast::default() }, 20);
            for (round, expected) in (1..).zip(expected) {
                for _ in 0..5 {
                    control.on_ack(&ack(round, base, base));
                }
                assert!((control.window.segments() - expected).abs() < 1e-9, "{rounds}, {round}");
            }
        }
    }

    #[test]
    fn average_weighs_a_sample_by_three_over_the_window_and_a_quarter_at_most() {
        let mut control = start(Fast::default(), 30);
        control.law.add_sample(&control.window, Span::from_us(100));
        control.law.add_sample(&control.window, Span::from_us(200));
        assert_eq!(control.law.average_rtt(), Span::from_us(110), "3/30");
        control.window.set_segments(4.0);
        control.law.add_sample(&control.window, Span::from_us(150));
        assert_eq!(control.law.average_rtt(), Span::from_us(120), "1/4, not 3/4");
    }

    #[test]
    fn grows_only_a_window_in_use_and_shrinks_any() {
        let (mut control, base) = (start(Fast::default(), 60), Span::from_us(100));
        let mut unused = ack(1, base, base);
        unused.cwnd_limited = false;
        control.on_ack(&unused);
        assert_eq!(control.window.cwnd(), 60 * MSS);
        (unused.round, control.law.average_ps) = (2, Some(4e8));
        unused.rtt = None;
        control.on_ack(&unused);
        assert_eq!(control.window.cwnd(), 45 * MSS);
    }

    #[test]
    fn one_reduction_per_window_and_no_update_in_recovery() {
        let (mut control, base) = (start(Fast::default(), 60), Span::from_us(100));
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), LossCause::Detected);
        (loss.end, loss.next) = (Bytes::new(1_000), Bytes::new(60_000));
        control.on_loss(&loss);
        control.on_loss(&Loss { end: Bytes::new(9_000), in_recovery: true, ..loss });
        assert_eq!(control.window.cwnd(), 30 * MSS);
        let mut repairing = ack(1, base * 4, base);
        repairing.in_recovery = true;
        control.on_ack(&repairing);
        control.on_ack(&ack(1, base, base));
        assert_eq!(control.window.cwnd(), 30 * MSS, "a whole round first");
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!(control.window.cwnd(), 60 * MSS);
        control.on_loss(&Loss { cause: LossCause::Timeout, end: Bytes::new(70_000), ..loss });
        assert_eq!((control.window.cwnd(), control.law.average_ps), (MSS, None));
    }

    #[test]
    fn in_equilibrium_each_flow_has_alpha_segments_in_the_queue() {
        // 10 Gb/s in segments of 1 KB, base RTTs of 20, 50 and 100 us. The queueing delay q fills
        // the link: sum w / (d + q) = C. The equilibrium is w q / (d + q) = alpha, so q = 3 alpha /
        // C.
        let (capacity, base_us) = (1.25, [20.0, 50.0, 100.0]);
        for alpha in [15, 200] {
            let fast = Fast { alpha: Fraction::from_ratio(alpha, 1), ..Fast::default() };
            let mut controls: Vec<_> = [10, 80, 400].map(|w| start(fast, w)).into();
            let (mut next_us, mut queueing_us) = (base_us, 0.0);
            for now_us in 0..100_000 {
                let rate = |q: f64| -> f64 {
                    let windows = controls.iter().map(|control| control.window.segments());
                    windows.zip(base_us).map(|(window, base)| window / (base + q)).sum()
                };
                let (mut low, mut high) = (0.0, 1e5);
                for _ in 0..50 {
                    let middle = f64::midpoint(low, high);
                    if rate(middle) > capacity { low = middle } else { high = middle }
                }
                queueing_us = low;
                for (i, control) in controls.iter_mut().enumerate() {
                    if f64::from(now_us) < next_us[i] {
                        continue;
                    }
                    let rtt_us = base_us[i] + queueing_us;
                    next_us[i] = f64::from(now_us) + rtt_us;
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "small and positive"
                    )]
                    let span = |us: f64| Span::from_ps((us * 1e6) as u64);
                    let round = control.law.updated_in + 1;
                    for _ in 0..20 {
                        control.on_ack(&ack(round, span(rtt_us), span(base_us[i])));
                    }
                }
            }
            let expected_us = 3.0 * f64::from(alpha) / capacity;
            assert!((queueing_us / expected_us - 1.0).abs() < 0.01, "{queueing_us} us");
            for (control, base_us) in controls.iter().zip(base_us) {
                let queued = control.window.segments() * queueing_us / (base_us + queueing_us);
                assert!((queued / f64::from(alpha) - 1.0).abs() < 0.01, "{queued}, not {alpha}");
            }
        }
    }
}
