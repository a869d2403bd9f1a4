//! BIC: a binary search for the window that does not lose.
//!
//! Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004, in the form that Linux and ns-3 give it. A loss leaves two bounds, the
//! window that was too much and what is left of it. Each round trip the window goes a part of the
//! way to the upper bound: by a constant step where that is far, by ever smaller ones near it. Past
//! the bound it mirrors the search, first slowly, then faster, up to the constant step. Cubic is
//! its successor. `docs/algorithms/bic.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow, Loss, LossCause};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::{configurable_by_name, parameters, words};

/// The source of the constants; ns-3 has the same but for its preset.
const LINUX: &str = "Linux, tcp_bic.c";

parameters! {
    /// BIC's parameters. The default is the preset `linux`.
    pub struct Bic {
        /// The part of the window that a loss leaves.
        pub beta: Fraction = Fraction::from_ratio(819, 1024), in "0" to "1", source LINUX;
        /// Up to this many segments the flow is Reno.
        pub low_window: u32 = 14, in "0" to "1000000", source LINUX;
        /// Most segments that the window grows per round trip.
        pub max_increment: u32 = 16, in "1" to "100000", source LINUX;
        /// B: each round trip goes 1/B of the way to the last maximum.
        pub divisor: u32 = 4, in "2" to "64", source LINUX;
        /// Round trips that the last B segments below the maximum take.
        pub smooth_part: u32 = 20, in "1" to "1000", source LINUX;
        /// The aim of a flow that lost below its last maximum, to make room for others.
        pub fast_convergence: FastConvergence = FastConvergence::Midpoint, source LINUX;
        /// Least growth per round trip, as a part of the window, while no loss has told of a
        /// maximum.
        pub first_growth: Fraction = Fraction::from_ratio(5, 100), in "0" to "1", source LINUX;
    }
}

words! {
    /// The new maximum after a loss below the last one.
    pub enum FastConvergence {
        /// The window at the loss, as after any other.
        Off = "off",
        /// Half way between that window and what is left of it.
        Midpoint = "midpoint",
        /// The window that the loss leaves.
        Beta = "beta",
    }
}

impl Algorithm for Bic {
    type Control = BicControl;
    const NAME: &'static str = "bic";

    fn start(&self, flow: &Flow) -> BicControl {
        let beta = self.beta.min(Fraction::ONE);
        let converged = match self.fast_convergence {
            FastConvergence::Off => 1.0,
            FastConvergence::Midpoint => f64::midpoint(1.0, beta.as_f64()),
            FastConvergence::Beta => beta.as_f64(),
        };
        let divisor = f64::from(self.divisor.max(2));
        let law = BicLaw {
            beta,
            converged,
            low_window: f64::from(self.low_window),
            max_increment: f64::from(self.max_increment.max(1)),
            divisor,
            smooth_increment: divisor / f64::from(self.smooth_part.max(1)),
            first_growth: self.first_growth.as_f64(),
            w_max: 0.0,
            before: None,
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Bic {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window searches by bisection for the largest that does not lose",
        kind: Kind::Window,
        signal: "loss, ECN marks",
        needs: &[],
        transport: Transport::Stream,
        source: "Xu, Harfoush and Rhee, INFOCOM 2004",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "linux", source: "Linux 6, tcp_bic.c", values: &[] },
        Preset {
            name: "ns-3",
            source: "ns-3, TcpBic",
            values: &[("beta", "0.8"), ("smooth_part", "5"), ("fast_convergence", "beta")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.governed_by_losses(Fraction::from_ratio(1, 2), emit);
        path.window_of_segments(emit);
        path.queue_for_losses(self.beta, emit);
    }
}

/// A flow under BIC.
pub type BicControl = WindowControl<BicLaw>;

/// The rules of BIC and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BicLaw {
    /// The part of the window that a loss leaves.
    beta: Fraction,
    /// The next maximum after a loss below the last one, as a part of the window.
    converged: f64,
    /// Segments up to which the flow is Reno.
    low_window: f64,
    /// The longest step, in segments per round trip.
    max_increment: f64,
    /// The part of the way that one step goes, inverted.
    divisor: f64,
    /// The step around the maximum.
    smooth_increment: f64,
    /// Least growth per window while the maximum is unknown.
    first_growth: f64,
    /// The upper bound of the search, in segments; zero while no loss has told of one.
    w_max: f64,
    /// The bound before the last reduction, in case that it was for nothing.
    before: Option<f64>,
}

impl BicLaw {
    /// Segments that a window of `w` segments grows per round trip.
    fn increment(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let increment = if w < self.w_max {
            let way = (self.w_max - w) / self.divisor;
            if way > 1.0 { way } else { self.smooth_increment }
        } else {
            let past = w - self.w_max;
            if past < self.divisor { self.smooth_increment } else { past / (self.divisor - 1.0) }
        };
        let least = if self.w_max > 0.0 { 0.0 } else { self.first_growth * w };
        // No step is faster than slow start.
        increment.min(self.max_increment).max(least).min(w)
    }

    /// Lowers the bound of the search to a window of `w` segments, which congestion reduces.
    fn search_below(&mut self, w: f64) {
        self.w_max = if w < self.w_max { w * self.converged } else { w };
    }
}

impl WindowLaw for BicLaw {
    /// Half of the window where the flow is Reno.
    fn left(&mut self, window: &Window, sign: Sign) -> u64 {
        let w = window.segments();
        self.before = match sign {
            Sign::Loss => Some(self.w_max),
            Sign::Mark => None, // no loss: nothing that could turn out to be false
        };
        self.search_below(w);
        let reno = w <= self.low_window;
        window.part(if reno { Fraction::from_ratio(1, 2) } else { self.beta })
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let acked = window.left_for_avoidance(ack.bytes.get());
        if acked > 0 {
            window.increase(acked, self.increment(window.segments()));
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.cause != LossCause::Detected {
            // The window before the silence is no guide.
            self.w_max = 0.0;
        }
    }

    fn on_undo(&mut self) {
        self.w_max = self.before.take().unwrap_or(self.w_max);
    }

    fn on_mss_change(&mut self, _window: &Window, ratio: f64) {
        self.w_max *= ratio;
        self.before = self.before.map(|w_max| w_max * ratio);
    }

    fn gauges(&self, window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("w_max_kb", self.w_max * window.mss() as f64 / 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, Rate, Spurious, Time};

    const MSS: u64 = 1_000;

    fn control(params: Bic, segments: u64) -> BicControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(segments * MSS));
        params.start(&flow)
    }

    fn ns3() -> Bic {
        Bic {
            beta: Fraction::from_ratio(8, 10),
            smooth_part: 5,
            fast_convergence: FastConvergence::Beta,
            ..Bic::default()
        }
    }

    fn lose(control: &mut BicControl, end: u64, cause: LossCause) {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), cause);
        (loss.end, loss.next) = (Bytes::new(end), Bytes::new(end));
        control.on_loss(&loss);
    }

    fn segments(control: &BicControl) -> f64 {
        control.limits().cwnd.get() as f64 / MSS as f64
    }

    /// The segments that a window of ACKs adds.
    fn step(control: &mut BicControl) -> f64 {
        let before = control.limits().cwnd;
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, before);
        ack.cwnd_limited = true;
        control.on_ack(&ack);
        (control.limits().cwnd - before).get() as f64 / MSS as f64
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 0.01, "{got}, not {expected}");
    }

    #[test]
    fn the_search_goes_a_quarter_of_the_way_in_steps_of_sixteen_at_most() {
        let mut control = control(ns3(), 1_000);
        lose(&mut control, 1, LossCause::Detected);
        near(segments(&control), 800.0);
        // A quarter of the way is more than 16 until 944: 50 at 800, 18 at 928.
        (0..9).for_each(|_| near(step(&mut control), 16.0));
        near(segments(&control), 944.0);
        // Then a quarter of 56, 42, 31.5, ...: each step is 3/4 of the one before, down to one
        // segment.
        let mut expected = 14.0;
        while expected > 1.0 {
            near(step(&mut control), expected);
            expected *= 0.75;
        }
        // 56 * 0.75^10 = 3.153 are left: B / smooth_part = 4/5 a step, until B past the maximum.
        near(segments(&control), 1_000.0 - 3.153);
        (0..9).for_each(|_| near(step(&mut control), 0.8));
        near(segments(&control), 1_004.047);
        // A third of the distance past the maximum: it grows by 4/3 a step, up to 16 segments.
        let mut past = 4.047;
        while past < 48.0 {
            near(step(&mut control), past / 3.0);
            past *= 4.0 / 3.0;
        }
        (0..5).for_each(|_| near(step(&mut control), 16.0));
    }

    #[test]
    fn linux_takes_a_fifth_of_a_segment_around_the_maximum() {
        let mut control = control(Bic::default(), 1_000);
        lose(&mut control, 1, LossCause::Detected);
        near(segments(&control), 1_000.0 * 819.0 / 1_024.0);
        control.window.set_segments(996.5);
        near(step(&mut control), 0.2);
        control.window.set_segments(1_003.5);
        near(step(&mut control), 0.2);
    }

    #[test]
    fn up_to_the_low_window_it_is_reno() {
        let mut control = control(Bic::default(), 14);
        lose(&mut control, 1, LossCause::Detected);
        near(segments(&control), 7.0);
        (0..8).for_each(|_| near(step(&mut control), 1.0));
        near(segments(&control), 15.0);
        lose(&mut control, 2, LossCause::Detected);
        near(segments(&control), 15.0 * 819.0 / 1_024.0);
    }

    #[test]
    fn fast_convergence_aims_below_a_loss_below_the_maximum() {
        // Lost at 1,000, then at what was left of it.
        let left = 819.0 / 1_024.0;
        let off = Bic { fast_convergence: FastConvergence::Off, ..Bic::default() };
        for (params, expected) in [
            (Bic::default(), 1_000.0 * left * f64::midpoint(1.0, left)),
            (ns3(), 1_000.0 * 0.8 * 0.8),
            (off, 1_000.0 * left),
        ] {
            let mut control = control(params, 1_000);
            lose(&mut control, 1, LossCause::Detected);
            near(control.law.w_max, 1_000.0);
            lose(&mut control, 2, LossCause::Detected);
            near(control.law.w_max, expected);
        }
    }

    #[test]
    fn without_a_maximum_it_grows_by_a_twentieth() {
        let mut control = control(Bic::default(), 1_000);
        control.window.set_ssthresh(1_000 * MSS);
        near(step(&mut control), 50.0);
        // A twentieth of 100 is less than the longest step, which is that far past a maximum of
        // zero.
        control.window.reduce(100 * MSS);
        near(step(&mut control), 16.0);
    }

    #[test]
    fn a_timeout_forgets_the_maximum_and_a_false_one_does_not() {
        let mut control = control(Bic::default(), 1_000);
        lose(&mut control, 1, LossCause::Detected);
        let before = control;
        lose(&mut control, 2, LossCause::Timeout);
        near(control.law.w_max, 0.0);
        near(segments(&control), 1.0);
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!((control.law.w_max, control.limits()), (before.law.w_max, before.limits()));
    }

    #[test]
    fn marks_count_as_a_loss_once_per_window() {
        let mut control = control(ns3(), 1_000);
        let mut mark = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS));
        (mark.ce_bytes, mark.end, mark.next) = (mark.bytes, Bytes::new(1), Bytes::new(100));
        mark.cwnd_limited = true;
        control.on_ack(&mark);
        control.on_ack(&mark);
        near(segments(&control), 800.0);
        near(control.law.w_max, 1_000.0);
    }

    #[test]
    fn a_false_loss_before_a_mark_gives_nothing_back() {
        let mut control = control(ns3(), 1_000);
        lose(&mut control, 1, LossCause::Detected);
        let mut mark = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(MSS));
        (mark.ce_bytes, mark.end, mark.next) = (mark.bytes, Bytes::new(2), Bytes::new(3));
        control.on_ack(&mark);
        let before = control;
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::new(MSS)));
        assert_eq!(control, before, "neither window nor maximum");
    }

    #[test]
    fn a_new_segment_size_keeps_the_maximum_in_bytes() {
        let mut control = control(Bic::default(), 1_000);
        lose(&mut control, 1, LossCause::Detected);
        control.on_mss_change(Bytes::new(500));
        near(control.law.w_max, 2_000.0);
    }
}
