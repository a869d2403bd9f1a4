//! VCP: the window moves by a code of the load in two bits: multiply, add, or cut.
//!
//! Xia, Subramanian, Stoica and Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005. Each port
//! measures its load over an interval and writes it into packets as low, high or overload. The
//! sender increases its window multiplicatively, increases it additively, or cuts it once and
//! waits. Increases scale with the round trip time, so flows grow alike. `docs/algorithms/vcp.md`
//! has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, CongestionControl, Flow, Limits, Loss, Reads};
use crate::feedback::{Feedback, Leaving, Load};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::units::{Bytes, Fraction, Span, Time};
use crate::{configurable_by_name, parameters};

parameters! {
    /// VCP's parameters. The default is the preset `sigcomm05`.
    pub struct Vcp {
        /// The interval over which ports measure their load: `switch.feedback.vcp.interval` of the
        /// ports.
        pub interval: Span = Span::from_ms(200), in "20us" to "10s", source "VCP, SIGCOMM 2005";
        /// xi: the growth in an interval of low load.
        pub xi: Fraction = Fraction::from_ratio(1, 16), in "0" to "1", source "VCP, SIGCOMM 2005";
        /// alpha: the segments by which the window grows in an interval of high load, for a round
        /// trip of an interval.
        pub alpha: Fraction = Fraction::ONE, in "0" to "100", source "VCP, SIGCOMM 2005";
        /// beta: the part of the window that an overload leaves.
        pub beta: Fraction = Fraction::from_ratio(7, 8), in "0" to "1", source "VCP, SIGCOMM 2005";
    }
}

impl Algorithm for Vcp {
    type Control = VcpControl;
    const NAME: &'static str = "vcp";

    fn start(&self, flow: &Flow) -> VcpControl {
        let mss = flow.mss.get().max(1) as f64;
        let max = (flow.max_window.get() as f64).clamp(mss, MAX_WINDOW);
        VcpControl {
            window: (flow.initial_window.get() as f64).clamp(mss, max),
            mss,
            max,
            phase: Phase::Free,
            rtt: Span::ZERO,
            interval: self.interval.max(Span::from_us(1)),
            xi: self.xi.as_f64(),
            alpha: self.alpha.as_f64(),
            beta: self.beta.as_f64(),
        }
    }
}

impl Configurable for Vcp {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window multiplies, adds or is cut, by the load that ports tell in two bits",
        kind: Kind::Telemetry,
        signal: "load codes of switches",
        needs: &[Need::Feedback("vcp"), Need::EachAcknowledged],
        transport: Transport::Stream,
        source: "Xia et al., SIGCOMM 2005",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "sigcomm05", source: "VCP, SIGCOMM 2005", values: &[] },
        Preset {
            name: "datacenter",
            source: "this project: the interval at the round trips of a datacenter",
            values: &[("interval", "1ms")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.window_of_segments(emit);
    }
}

/// The upper bound of windows in bytes.
const MAX_WINDOW: f64 = (1_u64 << 40) as f64;

/// The answer to an overload, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The code decides.
    Free,
    /// The window was cut, and stays until then.
    Frozen(Time),
    /// A round trip of additive increase follows until then, whatever the code.
    Adds(Time),
}

/// A flow under VCP. Windows are payload in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcpControl {
    window: f64,
    mss: f64,
    max: f64,
    phase: Phase,
    /// The smoothed round trip time, zero before the first sample.
    rtt: Span,
    interval: Span,
    xi: f64,
    alpha: f64,
    beta: f64,
}

impl VcpControl {
    /// The round trip time in intervals.
    fn intervals(&self) -> f64 {
        self.rtt.as_secs_f64() / self.interval.as_secs_f64()
    }

    /// Grows the window by a factor of 1 + xi' a round trip; `part` of the window is acknowledged.
    fn multiply(&mut self, part: f64) {
        let in_round_trip = libm::pow(1.0 + self.xi, self.intervals()).min(2.0);
        self.window *= libm::pow(in_round_trip, part);
    }

    /// Adds alpha' segments in a round trip; `part` of the window is acknowledged.
    fn add(&mut self, part: f64) {
        let intervals = self.intervals();
        let segments = (self.alpha * intervals * intervals).min(self.window / self.mss);
        self.window += segments * self.mss * part;
    }

    fn cut(&mut self, now: Time) {
        self.window *= self.beta;
        self.phase = Phase::Frozen(now + self.interval);
    }

    /// Ends the steps of an answer whose time is over.
    fn go_on(&mut self, now: Time) {
        if let Phase::Frozen(until) = self.phase
            && now >= until
        {
            self.phase = Phase::Adds(until + self.rtt);
        }
        if let Phase::Adds(until) = self.phase
            && now >= until
        {
            self.phase = Phase::Free;
        }
    }
}

impl CongestionControl for VcpControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn request(&mut self, _leaving: &Leaving) -> Option<Feedback> {
        Some(Feedback::Load(Load::Unknown))
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.rtt = ack.srtt;
        self.go_on(ack.now);
        let part = (ack.bytes.get() as f64 / self.window).min(1.0);
        let load = match ack.feedback {
            Some(Feedback::Load(load)) => *load,
            _ => Load::Unknown,
        };
        match (self.phase, load) {
            (Phase::Frozen(_), _) | (Phase::Free, Load::Unknown) => {}
            (Phase::Adds(_), _) | (Phase::Free, Load::High) => self.add(part),
            (Phase::Free, Load::Low) => self.multiply(part),
            (Phase::Free, Load::Overload) => self.cut(ack.now),
        }
        self.window = self.window.clamp(self.mss, self.max);
    }

    /// A loss is an overload that no port has told.
    fn on_loss(&mut self, loss: &Loss) {
        self.go_on(loss.now);
        if !matches!(self.phase, Phase::Frozen(_)) {
            self.cut(loss.now);
            self.window = self.window.clamp(self.mss, self.max);
        }
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1) as f64;
        self.max = self.max.max(self.mss);
        self.window = self.window.max(self.mss);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and bounded"
    )]
    fn limits(&self) -> Limits {
        Limits::window(Bytes::new(self.window as u64))
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("window_kb", self.window / 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossCause, Rate};

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A flow with a window of 100 segments of 1,000 B.
    fn start(params: Vcp) -> VcpControl {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(100));
        params.start(&flow)
    }

    /// Acknowledges `bytes` at a round trip time of 100 ms, half of an interval.
    fn ack(control: &mut VcpControl, at: u64, bytes: u64, load: Load) -> f64 {
        let feedback = Feedback::Load(load);
        let mut ack = Ack::new(us(at), us(0), Bytes::new(bytes));
        (ack.srtt, ack.feedback) = (Span::from_ms(100), Some(&feedback));
        control.on_ack(&ack);
        control.window
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
    }

    #[test]
    fn low_load_multiplies() {
        // A whole window at half an interval: 100,000 * sqrt(17/16).
        near(ack(&mut start(Vcp::default()), 0, 100_000, Load::Low), 103_077.640_640_441_5);
        // In two halves: the second half is of a larger window, and so a smaller part of it.
        let mut control = start(Vcp::default());
        let half = ack(&mut control, 0, 50_000, Load::Low);
        near(half, 100_000.0 * libm::pow(17.0 / 16.0, 0.25));
    }

    #[test]
    fn a_window_at_most_doubles_in_a_round_trip() {
        let quick = Vcp { interval: Span::from_us(20), ..Vcp::default() };
        near(ack(&mut start(quick), 0, 100_000, Load::Low), 200_000.0);
        near(ack(&mut start(quick), 0, 100_000, Load::High), 200_000.0);
    }

    #[test]
    fn high_load_adds() {
        // alpha (1/2)^2 = a quarter of a segment in a round trip.
        near(ack(&mut start(Vcp::default()), 0, 100_000, Load::High), 100_250.0);
        near(ack(&mut start(Vcp::default()), 0, 10_000, Load::High), 100_025.0);
    }

    #[test]
    fn an_overload_cuts_once_waits_and_adds_for_a_round_trip() {
        let mut control = start(Vcp::default());
        near(ack(&mut control, 0, 1_000, Load::Overload), 87_500.0);
        near(ack(&mut control, 199_999, 87_500, Load::Overload), 87_500.0);
        // Until 300 ms it adds, even where the load is low or the overload lasts.
        near(ack(&mut control, 200_000, 87_500, Load::Overload), 87_750.0);
        near(ack(&mut control, 299_999, 87_750, Load::Low), 88_000.0);
        near(ack(&mut control, 300_000, 1_000, Load::Overload), 77_000.0);
    }

    #[test]
    fn a_loss_is_an_overload() {
        let mut control = start(Vcp::default());
        let loss = |at| Loss::new(us(at), us(0), Bytes::new(1_000), LossCause::Detected);
        control.on_loss(&loss(0));
        control.on_loss(&loss(10));
        near(control.window, 87_500.0);
    }

    #[test]
    fn without_a_code_the_window_stays() {
        near(ack(&mut start(Vcp::default()), 0, 100_000, Load::Unknown), 100_000.0);
    }
}
