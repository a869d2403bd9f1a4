//! AIMD: up by `a` segments each round trip, down to the part `b` of the window at each congestion.
//!
//! Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in
//! Computer Networks", Computer Networks and ISDN Systems 17, 1989: of all linear rules additive
//! increase and multiplicative decrease is the one that leads flows to equal shares. The window
//! starts where the flow may start; there is no slow start.

use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::{configurable_by_name, parameters};

parameters! {
    /// AIMD's parameters. The default is the preset `reno`.
    pub struct Aimd {
        /// Segments that the window gains per round trip.
        pub a: Fraction = Fraction::ONE, in "0.001" to "100", source "RFC 5681, section 3.1";
        /// Part of the window that congestion leaves.
        pub b: Fraction = Fraction::from_ratio(1, 2), in "0.01" to "0.99",
            source "RFC 5681, section 3.1";
    }
}

impl Algorithm for Aimd {
    type Control = AimdControl;
    const NAME: &'static str = "aimd";

    fn start(&self, flow: &Flow) -> AimdControl {
        let law = AimdLaw { a: self.a.as_f64(), b: self.b };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Aimd {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window gains a segments per round trip, and congestion leaves the part b",
        kind: Kind::Window,
        signal: "loss, ECN marks",
        needs: &[],
        transport: Transport::Stream,
        source: "Chiu and Jain, Computer Networks and ISDN Systems 17, 1989",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "reno", source: "the congestion avoidance of RFC 5681", values: &[] },
        Preset {
            name: "gaimd",
            source: "Yang and Lam, ICNP 2000: smoother, and fair to Reno",
            values: &[("a", "0.31"), ("b", "0.875")],
        },
    ];
    configurable_by_name!();
}

/// A flow under AIMD.
pub type AimdControl = WindowControl<AimdLaw>;

/// The two rules of AIMD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdLaw {
    a: f64,
    b: Fraction,
}

impl WindowLaw for AimdLaw {
    fn left(&mut self, window: &Window, _sign: Sign) -> u64 {
        window.part(self.b)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.increase(ack.bytes.get(), self.a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, CongestionControl, Loss, LossCause, Rate, Spurious, Time};

    /// Ten segments of 1,000 B, of which one was lost when ten more had been sent.
    fn start(params: Aimd) -> (AimdControl, Loss) {
        let mut flow = Flow::new(Bytes::from_kb(1), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::from_kb(1), Bytes::from_kb(10));
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::from_kb(1), LossCause::Detected);
        loss.next = Bytes::from_kb(20);
        (params.start(&flow), loss)
    }

    #[test]
    fn a_window_of_acks_adds_a_segments() {
        let (mut control, _) = start(Aimd { a: Fraction::from_ratio(2, 1), ..Aimd::default() });
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::from_kb(10));
        control.on_ack(&ack);
        assert_eq!(control.window.cwnd(), 10_000, "a window that nobody needed does not grow");
        ack.cwnd_limited = true;
        control.on_ack(&ack);
        assert_eq!(control.window.cwnd(), 12_000);
    }

    #[test]
    fn congestion_leaves_the_part_b_once_per_window() {
        let (mut control, loss) = start(Aimd { b: Fraction::from_ratio(3, 4), ..Aimd::default() });
        control.on_loss(&loss);
        control.on_loss(&loss);
        assert_eq!(control.window.cwnd(), 7_500);
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::from_kb(1));
        (ack.ce_bytes, ack.end, ack.next) = (ack.bytes, Bytes::from_kb(21), Bytes::from_kb(30));
        ack.cwnd_limited = true;
        control.on_ack(&ack);
        control.on_ack(&ack);
        assert_eq!(control.window.cwnd(), 5_625, "a mark of the next window, and no growth");
    }

    #[test]
    fn a_false_loss_is_undone() {
        let (mut control, loss) = start(Aimd::default());
        control.on_loss(&loss);
        control.on_spurious_loss(&Spurious::new(Time::ZERO, Bytes::from_kb(1)));
        assert_eq!(control.window.cwnd(), 10_000);
    }
}
