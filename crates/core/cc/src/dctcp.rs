//! DCTCP: the window falls in proportion to the fraction of marked bytes.
//!
//! Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; Bensley et al., RFC 8257. Switches
//! mark every packet that meets a queue above a threshold. Once per window the sender moves its
//! estimate `alpha` towards the fraction of bytes that came back marked, and a window with marks
//! costs it `alpha / 2` of its window: little when few packets were marked, half when all were.
//! Everything else is Reno. `docs/algorithms/dctcp.md` has the equations and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::parts::integer::ONE_Q20;
use crate::parts::{Sign, Window, WindowControl, WindowLaw};
use crate::units::Fraction;
use crate::{configurable_by_name, parameters};

parameters! {
    /// DCTCP's parameters. The default is the preset `rfc8257`.
    pub struct Dctcp {
        /// Weight of the newest window's fraction of marked bytes in the estimate.
        pub g: Fraction = Fraction::from_ratio(1, 16), in "0.000001" to "1", source "RFC 8257";
        /// The estimate of a new flow. At 1 its first marked window is halved, as Reno would.
        pub initial_alpha: Fraction = Fraction::ONE, in "0" to "1", source "RFC 8257";
    }
}

impl Algorithm for Dctcp {
    type Control = DctcpControl;
    const NAME: &'static str = "dctcp";

    fn start(&self, flow: &Flow) -> DctcpControl {
        let constants = Constants::new(self);
        let law = DctcpLaw { estimate: Estimate::new(&constants), constants, round: 0 };
        WindowControl { window: Window::new(flow), law }
    }
}

impl Configurable for Dctcp {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window falls in proportion to the fraction of marked bytes",
        kind: Kind::Window,
        signal: "ECN marks as an amount",
        needs: &[Need::Ecn],
        transport: Transport::Stream,
        source: "Alizadeh et al., SIGCOMM 2010; RFC 8257",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "rfc8257", source: "RFC 8257", values: &[] },
        Preset {
            name: "htsim",
            source: "htsim (Broadcom/csg-htsim), sim/dctcp.cpp: its constants, not its deviations",
            values: &[("initial_alpha", "0")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_window(PathFacts::LEAST_PACKETS, emit);
        path.window_of_segments(emit);
    }
}

/// `Dctcp` in the units of the integer core, fractions times 2^20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// g: the weight of the newest fraction.
    pub g_q20: u64,
    /// The estimate of a new flow.
    pub initial_alpha_q20: u64,
}

impl Constants {
    /// The constants of `params`.
    pub fn new(params: &Dctcp) -> Self {
        Self {
            g_q20: u64::from(params.g.bits()).min(ONE_Q20),
            initial_alpha_q20: u64::from(params.initial_alpha.bits()).min(ONE_Q20),
        }
    }
}

/// The estimated fraction of bytes that are marked, and the bytes of the round that it waits for.
/// On integers, so that a twin in BPF C computes the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate, from 0 to 1, times 2^20.
    alpha_q20: u64,
    /// Bytes acknowledged in this round.
    acked: u64,
    /// Bytes marked in this round.
    marked: u64,
}

/// Bytes of one round are kept below this, so that they fit 64 bits with their fraction.
const MAX_BYTES: u64 = 1 << 43;

impl Estimate {
    /// The estimate of a new flow.
    pub const fn new(k: &Constants) -> Self {
        Self { alpha_q20: k.initial_alpha_q20, acked: 0, marked: 0 }
    }

    /// alpha times 2^20.
    pub const fn alpha_q20(&self) -> u64 {
        self.alpha_q20
    }

    /// Counts acknowledged bytes, and the marked ones among them.
    pub fn count(&mut self, acked: u64, marked: u64) {
        self.acked = (self.acked + acked.min(MAX_BYTES)).min(MAX_BYTES);
        self.marked = (self.marked + marked.min(MAX_BYTES)).min(MAX_BYTES);
    }

    /// Ends a round: alpha = (1 - g) alpha + g F, F being the fraction that was marked.
    pub fn end_round(&mut self, k: &Constants) {
        // Marks of retransmitted data come without newly acknowledged bytes.
        let total = self.acked.max(self.marked);
        let Some(fraction_q20) = (self.marked << Fraction::BITS).checked_div(total) else { return };
        // Changes of alpha are rounded down, whether added or taken.
        if fraction_q20 >= self.alpha_q20 {
            self.alpha_q20 += (k.g_q20 * (fraction_q20 - self.alpha_q20)) >> Fraction::BITS;
        } else {
            self.alpha_q20 -= (k.g_q20 * (self.alpha_q20 - fraction_q20)) >> Fraction::BITS;
        }
        (self.acked, self.marked) = (0, 0);
    }

    /// The window that marks leave of `cwnd`: `cwnd (1 - alpha / 2)`; `cwnd` is below 2^41.
    pub const fn reduced(&self, cwnd: u64) -> u64 {
        cwnd - ((cwnd * (self.alpha_q20 / 2)) >> Fraction::BITS)
    }
}

/// A flow under DCTCP.
pub type DctcpControl = WindowControl<DctcpLaw>;

/// The rules of DCTCP and the state of one flow beside its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DctcpLaw {
    estimate: Estimate,
    constants: Constants,
    /// The carrier's round that the counted bytes belong to.
    round: u64,
}

impl WindowLaw for DctcpLaw {
    /// Counts before the reduction: the ACK that ends a round brings its fraction with it.
    fn measure(&mut self, _window: &mut Window, ack: &Ack<'_>) {
        self.estimate.count(ack.bytes.get(), ack.ce_bytes.get());
        if ack.round != self.round {
            self.round = ack.round;
            self.estimate.end_round(&self.constants);
        }
    }

    /// Half of the window at a loss, as in Reno, whatever `alpha` is (RFC 8257, section 3.5).
    fn left(&mut self, window: &Window, sign: Sign) -> u64 {
        match sign {
            Sign::Loss => window.half(),
            Sign::Mark => self.estimate.reduced(window.cwnd()),
        }
    }

    fn gauges(&self, _window: &Window, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("alpha", self.estimate.alpha_q20 as f64 / ONE_Q20 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Rate, Time};
    use crate::{Bytes, CongestionControl, Loss, LossCause, Span, Spurious};

    const MSS: u64 = 1_000;

    /// A control with a window of `cwnd` bytes in congestion avoidance.
    fn control(algorithm: Dctcp, cwnd: u64) -> DctcpControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(cwnd));
        let mut control = algorithm.start(&flow);
        control.window.set_ssthresh(cwnd);
        control
    }

    fn alpha(control: &DctcpControl) -> f64 {
        control.law.estimate.alpha_q20 as f64 / ONE_Q20 as f64
    }

    fn ack(round: u64, end: u64, next: u64, bytes: u64, marked: u64) -> Ack<'static> {
        let mut ack = Ack::new(Time::ZERO + Span::from_us(end), Time::ZERO, Bytes::new(bytes));
        (ack.end, ack.next, ack.round) = (Bytes::new(end), Bytes::new(next), round);
        ack.ce_bytes = Bytes::new(marked);
        ack.cwnd_limited = true;
        ack
    }

    fn loss(end: u64, next: u64, cause: LossCause) -> Loss {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(MSS), cause);
        (loss.end, loss.next) = (Bytes::new(end), Bytes::new(next));
        loss
    }

    #[test]
    fn alpha_follows_the_fraction_of_marked_bytes() {
        // alpha = (1 - g) alpha + g F with g = 1/16, window by window.
        let mut control = control(Dctcp::default(), 100_000);
        let mut expected = 1.0_f64;
        let mut end = 0;
        for (round, (bytes, marked)) in
            (1..).zip([(10_000, 0), (10_000, 2_500), (20_000, 20_000), (8_000, 0), (4_000, 1_000)])
        {
            // Half of the round's bytes, without an end of the round; then the rest with one.
            end += bytes;
            control.on_ack(&ack(round - 1, end - bytes / 2, end, bytes / 2, marked / 2));
            control.on_ack(&ack(round, end, end, bytes / 2, marked / 2));
            expected = (1.0 - 1.0 / 16.0) * expected + marked as f64 / bytes as f64 / 16.0;
            // Each round rounds by less than 2^-20 twice.
            assert!((alpha(&control) - expected).abs() < 1e-5, "{} {expected}", alpha(&control));
        }
        // By hand: 15/16, 0.89453, 0.90112, 0.84480, 0.80763.
        assert!((alpha(&control) - 0.807_627_677_9).abs() < 1e-5, "{}", alpha(&control));
    }

    #[test]
    fn a_marked_window_costs_half_of_alpha() {
        for (eighths, expected) in [(8, 50_000), (4, 75_000), (1, 93_750), (0, 100_000)] {
            let mut control = control(Dctcp::default(), 100_000);
            control.law.estimate.alpha_q20 = ONE_Q20 * eighths / 8;
            control.on_ack(&ack(0, 1_000, 100_000, 1_000, 1_000));
            assert_eq!(control.limits().cwnd, Bytes::new(expected));
            assert!(!control.window.in_slow_start());
        }
    }

    #[test]
    fn one_reduction_per_window() {
        let mut control = control(Dctcp::default(), 100_000);
        control.on_ack(&ack(0, 1_000, 100_000, 1_000, 1_000));
        control.on_ack(&ack(0, 100_000, 150_000, 99_000, 99_000));
        assert_eq!(control.limits().cwnd, Bytes::new(50_000), "sent before the reduction");
        control.on_ack(&ack(0, 101_000, 151_000, 1_000, 1_000));
        assert_eq!(control.limits().cwnd, Bytes::new(25_000), "sent after it");
    }

    #[test]
    fn the_reduction_knows_the_round_that_its_ack_ends() {
        let mut control =
            control(Dctcp { initial_alpha: Fraction::ZERO, ..Dctcp::default() }, 64_000);
        control.on_ack(&ack(1, 64_000, 128_000, 64_000, 64_000));
        // alpha = 1/16, so 64,000 (1 - 1/32).
        assert_eq!(control.limits().cwnd, Bytes::new(62_000));
    }

    #[test]
    fn marked_acks_do_not_grow_the_window_and_others_grow_it_as_reno() {
        let mut control = control(Dctcp::default(), 10_000);
        control.law.estimate.alpha_q20 = 0;
        control.on_ack(&ack(0, 1_000, 11_000, 1_000, 1_000));
        assert_eq!(control.limits().cwnd, Bytes::new(10_000));
        control.on_ack(&ack(0, 2_000, 12_000, 1_000, 0));
        assert_eq!(control.limits().cwnd, Bytes::new(10_100), "1,000 * 1,000 / 10,000 more");
        let mut idle = ack(0, 3_000, 13_000, 1_000, 0);
        idle.cwnd_limited = false;
        control.on_ack(&idle);
        assert_eq!(control.limits().cwnd, Bytes::new(10_100));
    }

    #[test]
    fn loss_halves_whatever_alpha_is() {
        let mut control = control(Dctcp::default(), 40_000);
        control.law.estimate.alpha_q20 = ONE_Q20 / 100;
        control.on_loss(&loss(1_000, 40_000, LossCause::Detected));
        assert_eq!(control.limits().cwnd, Bytes::new(20_000));
        control.on_loss(&loss(50_000, 60_000, LossCause::Timeout));
        assert_eq!(control.limits().cwnd, Bytes::new(MSS));
        assert_eq!(control.window.ssthresh(), 10_000);
    }

    #[test]
    fn a_false_loss_is_undone_and_a_mark_is_not() {
        let spurious = Spurious::new(Time::ZERO, Bytes::new(MSS));
        let mut lost = control(Dctcp::default(), 40_000);
        lost.on_loss(&loss(1_000, 40_000, LossCause::Detected));
        lost.on_spurious_loss(&spurious);
        assert_eq!(lost.limits().cwnd, Bytes::new(40_000));
        let mut marked = control(Dctcp::default(), 40_000);
        marked.on_loss(&loss(1_000, 40_000, LossCause::Detected));
        marked.on_ack(&ack(0, 41_000, 60_000, 1_000, 1_000));
        marked.on_spurious_loss(&spurious);
        assert_eq!(marked.limits().cwnd, Bytes::new(10_000));
    }

    #[test]
    fn alpha_settles_near_the_square_root_of_the_analysis() {
        // One flow, one ACK per segment, and a switch that marks every packet of a round in which
        // the window is above W* = 200 segments. The analysis of the paper (section 3.3) has
        // alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, so alpha = sqrt(2 / W*) = 0.1.
        let (limit, rounds) = (200 * MSS, 20_000_u32);
        let mut control = control(Dctcp::default(), 150 * MSS);
        let (mut end, mut next, mut sum) = (0, 0, 0.0);
        for round in 1..=rounds {
            let cwnd = control.window.cwnd();
            let marked = cwnd > limit;
            next += cwnd;
            while end < next {
                let bytes = MSS.min(next - end);
                end += bytes;
                let ce = if marked { bytes } else { 0 };
                control.on_ack(&ack(u64::from(round), end, end + cwnd, bytes, ce));
            }
            sum += alpha(&control);
        }
        let mean = sum / f64::from(rounds);
        assert!((mean / 0.1 - 1.0).abs() < 0.15, "{mean}, not about 0.1");
    }
}
