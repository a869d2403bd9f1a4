//! D2TCP: DCTCP whose reduction is large with a far deadline and small with a near one.
//!
//! Vamanan, Hasan and Vijaykumar, "Deadline-Aware Datacenter TCP (D2TCP)", SIGCOMM 2012. A flow
//! compares the time `Tc` that its remaining payload takes at its present window with the time `D`
//! that is left. Marks reduce the window by half of `alpha^d`, where `alpha` is DCTCP's estimate
//! and `d = Tc / D`: since `alpha` is at most one, a flow that is late (`d` above 1) falls by less
//! and one that has time (`d` below 1) by more. All else is DCTCP. `docs/algorithms/d2tcp.md` has
//! the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Due, Flow, Reads};
use crate::dctcp::{Constants, Dctcp, Estimate};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::parts::integer::ONE_Q20;
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::{configurable_by_name, parameters};

parameters! {
    /// D2TCP's parameters. The default is the preset `kernel`.
    pub struct D2tcp {
        /// Weight of the newest window's fraction of marked bytes in the estimate.
        pub g: Fraction = Fraction::from_ratio(1, 16), in "0.000001" to "1", source "RFC 8257";
        /// The estimate of a new flow.
        pub initial_alpha: Fraction = Fraction::ONE, in "0" to "1", source "RFC 8257";
        /// The least exponent of the estimate, of a flow that has time.
        pub d_least: Fraction = Fraction::from_ratio(1, 2), in "0.01" to "1",
            source "D2TCP, SIGCOMM 2012";
        /// The greatest exponent of the estimate, of a flow that is late.
        pub d_most: Fraction = Fraction::from_ratio(2, 1), in "1" to "100",
            source "D2TCP, SIGCOMM 2012";
        /// The exponent of a flow whose deadline has passed.
        pub d_past: Fraction = Fraction::ONE, in "0.01" to "100",
            source "D2TCP_Kernel, tcp_d2tcp.c";
        /// The mean of a sawtooth window as a part of the window, for the time `Tc`.
        pub mean_window: Fraction = Fraction::from_ratio(3, 4), in "0.1" to "1",
            source "D2TCP, SIGCOMM 2012: between W / 2 and W";
    }
}

impl Algorithm for D2tcp {
    type Control = D2tcpControl;
    const NAME: &'static str = "d2tcp";

    fn start(&self, flow: &Flow) -> D2tcpControl {
        let estimator = Dctcp { g: self.g, initial_alpha: self.initial_alpha };
        let constants = Constants::new(&estimator);
        let law = D2tcpLaw {
            estimate: Estimate::new(&constants),
            constants,
            round: 0,
            params: *self,
            exponent: None,
        };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for D2tcp {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window falls as DCTCP's, by more with a far deadline than with a near one",
        kind: Kind::Window,
        signal: "ECN marks as an amount, deadlines",
        needs: &[Need::Ecn, Need::Deadlines],
        transport: Transport::Stream,
        source: "Vamanan et al., SIGCOMM 2012",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "kernel", source: "D2TCP_Kernel, tcp_d2tcp.c", values: &[] },
        Preset {
            name: "stanford",
            source: "HKUST-SING/PIAS-NS2, pFabric.patch: a deadline that has passed is a far one",
            values: &[("d_past", "0.5")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_window(PathFacts::LEAST_PACKETS, emit);
        path.window_of_segments(emit);
    }
}

/// A flow under D2TCP.
pub type D2tcpControl = WindowControl<D2tcpLaw>;

/// The rules of D2TCP and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct D2tcpLaw {
    estimate: Estimate,
    constants: Constants,
    /// The carrier's round that the counted bytes belong to.
    round: u64,
    params: D2tcp,
    /// d: the exponent of the estimate; [`None`] is DCTCP to the bit.
    exponent: Option<f64>,
}

impl D2tcpLaw {
    /// `d = Tc / D` within its bounds, with `Tc = B RTT / (0.75 W)`; [`None`], which is 1, without
    /// a deadline.
    fn exponent(&self, window: &Window, ack: &Ack<'_>) -> Option<f64> {
        let Due { at, bytes } = ack.due?;
        if at <= ack.now {
            let past = self.params.d_past;
            return (past != Fraction::ONE).then(|| past.as_f64());
        }
        let mean = self.params.mean_window.as_f64() * window.cwnd() as f64;
        let needed = bytes.get() as f64 * ack.srtt.as_ps() as f64 / mean;
        let left = at.since(ack.now).as_ps() as f64;
        Some((needed / left).clamp(self.params.d_least.as_f64(), self.params.d_most.as_f64()))
    }

    /// The window that marks leave of `cwnd`: `cwnd (1 - alpha^d / 2)`.
    fn reduced(&self, cwnd: u64) -> u64 {
        let Some(exponent) = self.exponent else { return self.estimate.reduced(cwnd) };
        let penalty = libm::pow(self.alpha(), exponent);
        let left = cwnd as f64 * (1.0 - penalty / 2.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "half of the window at least, all of it at most"
        )]
        let left = left as u64;
        left
    }

    fn alpha(&self) -> f64 {
        self.estimate.alpha_q20() as f64 / ONE_Q20 as f64
    }
}

impl WindowLaw for D2tcpLaw {
    fn reads(&self) -> Reads {
        Reads { due: true, ..Reads::NONE }
    }

    /// Counts before the reduction: the ACK that ends a round brings its fraction with it.
    fn measure(&mut self, window: &mut Window, ack: &Ack<'_>) {
        self.estimate.count(ack.bytes.get(), ack.ce_bytes.get());
        if ack.round != self.round {
            self.round = ack.round;
            self.estimate.end_round(&self.constants);
        }
        self.exponent = self.exponent(window, ack);
    }

    /// Half of the window at a loss, as in Reno.
    fn left(&mut self, window: &Window, sign: Sign) -> u64 {
        match sign {
            Sign::Loss => window.half(),
            Sign::Mark => self.reduced(window.cwnd()),
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("alpha", self.alpha());
        emit("d", self.exponent.unwrap_or(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Rate, Time};
    use crate::{Bytes, CongestionControl, Loss, LossCause, Span};

    const MSS: u64 = 1_000;

    /// A control with a window of `cwnd` bytes in congestion avoidance, whose estimate is `alpha`
    /// and stays near it.
    fn control(algorithm: D2tcp, cwnd: u64, alpha: Fraction) -> D2tcpControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(cwnd));
        let algorithm = D2tcp { initial_alpha: alpha, ..algorithm };
        let mut control = algorithm.start(&flow);
        control.window.set_ssthresh(cwnd);
        control
    }

    /// An ACK of a segment at 1 ms, in the first round, with an RTT of 100 us.
    fn ack(marked: u64, due: Option<(u64, u64)>) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO + Span::from_ms(1), Time::ZERO, Bytes::new(MSS));
        (ack.end, ack.next, ack.cwnd_limited) = (Bytes::new(MSS), Bytes::new(40_000), true);
        ack.ce_bytes = Bytes::new(marked);
        ack.srtt = Span::from_us(100);
        ack.due = due.map(|(us, bytes)| Due {
            at: Time::ZERO + Span::from_us(us),
            bytes: Bytes::new(bytes),
        });
        ack
    }

    /// The window that a mark leaves of 40 kB, with alpha 0.25 and a deadline at an instant in
    /// microseconds after some bytes.
    fn left(algorithm: D2tcp, due: Option<(u64, u64)>) -> u64 {
        let mut control = control(algorithm, 40_000, Fraction::from_ratio(1, 4));
        control.on_ack(&ack(MSS, due));
        control.window.cwnd()
    }

    #[test]
    fn a_far_deadline_costs_more_of_the_window_and_a_near_one_less() {
        // Tc = 300 kB x 100 us / (0.75 x 40 kB) = 1 ms, at 1 ms.
        // D = 1 ms: d = 1, p = 0.25, 40 kB (1 - 0.125) = 35,000 B.
        assert_eq!(left(D2tcp::default(), Some((2_000, 300_000))), 35_000);
        // D = 2 ms: d = 0.5, p = sqrt 0.25 = 0.5, 40 kB x 0.75. Farther ones change nothing.
        assert_eq!(left(D2tcp::default(), Some((3_000, 300_000))), 30_000);
        assert_eq!(left(D2tcp::default(), Some((90_000, 300_000))), 30_000);
        // D = 0.5 ms: d = 2, p = 0.0625, 40 kB x 0.96875. Nearer ones change nothing.
        assert_eq!(left(D2tcp::default(), Some((1_500, 300_000))), 38_750);
        assert_eq!(left(D2tcp::default(), Some((1_010, 300_000))), 38_750);
        // D = 0.8 ms: d = 1.25, p = 0.25^1.25 = 2^-2.5 = 0.176777, 40 kB x 0.911612.
        assert_eq!(left(D2tcp::default(), Some((1_800, 300_000))), 36_464);
    }

    #[test]
    fn without_a_deadline_and_after_it_the_window_falls_as_dctcps() {
        let stanford = D2tcp { d_past: Fraction::from_ratio(1, 2), ..D2tcp::default() };
        assert_eq!(left(D2tcp::default(), None), 35_000);
        assert_eq!(left(D2tcp::default(), Some((1_000, 300_000))), 35_000, "it is over");
        assert_eq!(left(stanford, Some((1_000, 300_000))), 30_000, "d = 0.5");
        assert_eq!(left(stanford, None), 35_000);
    }

    #[test]
    fn a_flow_without_deadlines_is_dctcp_to_the_byte() {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(10 * MSS));
        let (mut one, mut other) = (D2tcp::default().start(&flow), Dctcp::default().start(&flow));
        for step in 0..2_000_u64 {
            let mut ack = ack(if step % 7 == 0 { MSS } else { 0 }, None);
            (ack.round, ack.end) = (step / 10, Bytes::new(step * MSS));
            ack.next = Bytes::new((step + 10) * MSS);
            one.on_ack(&ack);
            other.on_ack(&ack);
            if step % 501 == 500 {
                let mut loss = Loss::new(ack.now, ack.now, Bytes::new(MSS), LossCause::Detected);
                (loss.end, loss.next) = (ack.end, ack.next);
                one.on_loss(&loss);
                other.on_loss(&loss);
            }
            assert_eq!(one.limits(), other.limits(), "step {step}");
        }
    }

    #[test]
    fn marks_of_everything_halve_the_window_whatever_the_deadline() {
        for due in [None, Some((1_001, 300_000)), Some((90_000, 300_000))] {
            let mut control = control(D2tcp::default(), 40_000, Fraction::ONE);
            control.on_ack(&ack(MSS, due));
            assert_eq!(control.window.cwnd(), 20_000, "1 to any power is 1");
        }
    }
}
