//! HPCC: the window follows the utilisation of the busiest link, as the switches report it.
//!
//! Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1. Each switch
//! stamps queue, byte counter, time and link rate into every packet (INT). From two stamps of one
//! port the sender computes the demand on the link, queue included, in bytes per base RTT. It
//! scales its window to bring the busiest link to a share `eta` of its capacity. Every ACK sets the
//! window, but always from a reference window that changes once per RTT, so many ACKs about one
//! congestion do not add up. `docs/algorithms/hpcc.md` has the equations, the sources of the
//! constants, and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Flow, Hop, Limits, Loss, Pacing, Reads,
};
use crate::param::{Configurable, Info, Kind, Need, Preset, Transport};
use crate::parts::{RecoveryGate, integer};
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{configurable_by_name, parameters, words};

parameters! {
    /// HPCC's parameters. The default is the preset `sigcomm19`.
    pub struct Hpcc {
        /// The utilisation that the busiest link is brought to.
        pub eta: Fraction = Fraction::from_ratio(95, 100), in "0.01" to "1",
            source "HPCC, SIGCOMM 2019";
        /// Additive steps in a row before the window is scaled again although no link is busy.
        pub max_stage: u32 = 5, in "0" to "1000", source "HPCC, SIGCOMM 2019";
        /// Additive increase as a rate, for a NIC of the rate `reference`: `W_AI` is what it sends
        /// in a base RTT.
        pub rate_ai: Rate = Rate::from_mbps(10), in "1bps" to "1Tbps",
            source "the simulator of HPCC, run.py";
        /// The rate never falls below, for a NIC of the rate `reference`; the additive increase is
        /// a floor in any case.
        pub min_rate: Rate = Rate::ZERO, in "0bps" to "1Tbps", source "this project";
        /// Line rate that `rate_ai` and `min_rate` are given for; both scale with the NIC's line
        /// rate. At 0bps they are taken as they stand.
        pub reference: Rate = Rate::from_gbps(25), source "the simulator of HPCC, run.py";
        /// The ACKs that set the window, and the window that they start from.
        pub reaction: Reaction = Reaction::Combined, source "HPCC, SIGCOMM 2019";
    }
}

words! {
    /// The ACKs that set the window, and the window that they start from.
    pub enum Reaction {
        /// Every ACK, from the reference window; that one changes once per RTT.
        Combined = "combined",
        /// Every ACK, from the window as it is: overreacts, the paper's first comparison.
        PerAck = "per-ack",
        /// A single ACK per RTT: slow, the paper's second comparison.
        PerRtt = "per-rtt",
    }
}

impl Algorithm for Hpcc {
    type Control = HpccControl;
    const NAME: &'static str = "hpcc";

    fn start(&self, flow: &Flow) -> HpccControl {
        HpccControl::new(self, flow)
    }
}

impl Configurable for Hpcc {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the window follows the utilisation of the busiest link",
        kind: Kind::Telemetry,
        signal: "queues and byte counters of switches (INT)",
        needs: &[Need::Telemetry, Need::EachAcknowledged],
        transport: Transport::Stream,
        source: "Li et al., SIGCOMM 2019",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "sigcomm19",
            source: "HPCC, SIGCOMM 2019; the additive increase from its simulator",
            values: &[],
        },
        Preset {
            name: "hpcc-simulator",
            source: "the simulator of HPCC, run.py and its configuration",
            values: &[("max_stage", "0"), ("min_rate", "1Gbps")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let line_bps = integer::line_bps(path.line_rate);
        let floor = integer::scaled(self.min_rate, self.reference, line_bps);
        if !self.min_rate.is_zero() {
            path.least_rate("min_rate", Rate::from_bps(floor), emit);
        }
        // Packets are paced and telemetry keeps the queue short, yet each flow has one under way
        // now and then.
        path.least_window(1, emit);
        path.starts_at_line_rate(emit);
        let increase = integer::scaled(self.rate_ai, self.reference, line_bps);
        if let Some(least) = path.least_increase().filter(|least| increase < least.as_bps()) {
            // The paper's rule: all flows together add what eta leaves free.
            let rule = path.share.as_bps() as f64 * (1.0 - self.eta.as_f64());
            let on_line = (least.as_bps() as f64).max(rule);
            let scale = match self.reference.as_bps() {
                0 => 1.0,
                reference => reference as f64 / line_bps as f64,
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive; the cast saturates"
            )]
            let least = Rate::from_bps(libm::ceil(on_line * scale) as u64);
            emit(Caution::SlowEquals { param: "rate_ai", value: self.rate_ai, least });
        }
    }
}

/// The number of hops whose stamps are kept. Further hops of a longer path are ignored.
const MAX_HOPS: usize = 8;

/// The upper bound of windows in bytes.
const MAX_WINDOW: f64 = (1_u64 << 40) as f64;

/// The part of a hop's stamp that the next one is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stamp {
    port: u32,
    /// Queue in bytes, at most 4 GB.
    queue: u32,
    at: Time,
    sent: Bytes,
}

impl Stamp {
    fn of(hop: &Hop) -> Self {
        let queue = u32::try_from(hop.queue.get()).unwrap_or(u32::MAX);
        Self { port: hop.port, queue, at: hop.at, sent: hop.sent }
    }
}

/// A flow under HPCC. Windows are payload in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpccControl {
    /// W: the window.
    window: f64,
    /// `W_c`: the window that an ACK starts from.
    reference_window: f64,
    /// U: the utilisation of the busiest link, averaged over a base RTT.
    utilisation: f64,
    /// Additive steps since the window was last scaled.
    stage: u32,
    /// The gate that lets one change of the reference window per RTT through.
    gate: RecoveryGate,
    /// T in seconds; none until the operator or an RTT sample tells it.
    base_rtt: Option<f64>,
    /// Whether T follows the least RTT seen.
    measures_base_rtt: bool,
    /// L: the stamps of the last ACK.
    hops: [Stamp; MAX_HOPS],
    /// The number of these stamps.
    hop_count: usize,
    /// The packet size, by which the NIC spaces.
    mss: Bytes,
    /// The window before T is known.
    initial_window: Bytes,
    /// The peer's limit in bytes.
    max_window: f64,
    eta: f64,
    max_stage: u32,
    /// Additive increase and floor in b/s.
    rate_ai: f64,
    min_rate: f64,
    line_rate: f64,
    reaction: Reaction,
}

impl HpccControl {
    fn new(params: &Hpcc, flow: &Flow) -> Self {
        let line_bps = integer::line_bps(flow.line_rate);
        let scaled = |rate| integer::scaled(rate, params.reference, line_bps) as f64;
        let mut control = Self {
            window: 0.0,
            reference_window: 0.0,
            utilisation: 1.0,
            stage: 0,
            gate: RecoveryGate::default(),
            base_rtt: None,
            measures_base_rtt: flow.base_rtt.is_none(),
            hops: [Stamp::default(); MAX_HOPS],
            hop_count: 0,
            mss: flow.mss,
            initial_window: flow.initial_window.min(flow.max_window),
            max_window: (flow.max_window.get() as f64).min(MAX_WINDOW),
            eta: params.eta.as_f64(),
            max_stage: params.max_stage,
            rate_ai: scaled(params.rate_ai),
            min_rate: scaled(params.min_rate),
            line_rate: line_bps as f64,
            reaction: params.reaction,
        };
        if let Some(base_rtt) = flow.base_rtt {
            control.set_base_rtt(base_rtt);
        }
        control
    }

    /// Sets T. The first time, the flow starts with what fills the NIC's link.
    fn set_base_rtt(&mut self, base_rtt: Span) {
        let seconds = base_rtt.max(Span::from_ns(1)).as_secs_f64();
        if self.base_rtt.replace(seconds).is_none() {
            self.window = self.bounded(MAX_WINDOW, seconds);
            self.reference_window = self.window;
        }
    }

    /// `window`, at least the floor and at most the product of line rate and T.
    fn bounded(&self, window: f64, base_rtt: f64) -> f64 {
        let per_rtt = |rate: f64| rate * base_rtt / 8.0;
        let most = per_rtt(self.line_rate).min(self.max_window);
        window.max(per_rtt(self.min_rate)).min(most)
    }

    /// Compares the stamps of an ACK with the previous ACK's stamps, and keeps the new ones.
    /// Returns the utilisation of the busiest link and the measured time in seconds, or nothing for
    /// stamps of another path or older stamps.
    fn measure(&mut self, hops: &[Hop], base_rtt: f64) -> Option<(f64, f64)> {
        let hops = &hops[..hops.len().min(MAX_HOPS)];
        let before = &self.hops[..self.hop_count];
        let same_path = hops.len() == before.len()
            && hops.iter().zip(before).all(|(new, old)| new.port == old.port);
        let mut busiest: Option<(f64, f64)> = None;
        if same_path {
            for (new, old) in hops.iter().zip(before) {
                if new.at < old.at || new.sent < old.sent {
                    return None; // This ACK was overtaken by the one before.
                }
                let tau = new.at.since(old.at).as_secs_f64();
                if tau <= 0.0 || new.rate.is_zero() {
                    continue;
                }
                let rate = new.rate.as_bps() as f64;
                let sent = new.sent.saturating_sub(old.sent).get() as f64 * 8.0;
                // The smaller queue of the two counts: a burst that has drained since is no
                // congestion.
                let queue = f64::from(Stamp::of(new).queue.min(old.queue)) * 8.0;
                let u = queue / (rate * base_rtt) + sent / tau / rate;
                if busiest.is_none_or(|(most, _)| u > most) {
                    busiest = Some((u, tau));
                }
            }
        }
        for (stamp, hop) in self.hops.iter_mut().zip(hops) {
            *stamp = Stamp::of(hop);
        }
        self.hop_count = hops.len();
        busiest
    }

    /// Sets the window from the reference window. A `full` update sets the reference window too.
    fn compute_window(&mut self, base_rtt: f64, full: bool) {
        let increase = self.rate_ai * base_rtt / 8.0;
        let scales = self.utilisation >= self.eta || self.stage >= self.max_stage;
        let window = if scales {
            // An idle link would divide by zero. A utilisation of a billionth takes any window to
            // its bound.
            self.reference_window / (self.utilisation / self.eta).max(1e-9) + increase
        } else {
            self.reference_window + increase
        };
        self.window = self.bounded(window, base_rtt);
        if full {
            self.stage = if scales { 0 } else { self.stage.saturating_add(1) };
            self.reference_window = self.window;
        }
    }
}

impl CongestionControl for HpccControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if self.measures_base_rtt && ack.min_rtt != Span::MAX {
            self.set_base_rtt(ack.min_rtt);
        }
        let Some(base_rtt) = self.base_rtt else { return };
        if ack.hops.is_empty() {
            return;
        }
        let measured = self.measure(ack.hops, base_rtt);
        // The gate closes even without a measurement: on a new path the first full update comes an
        // RTT later.
        let first_of_rtt = self.gate.enter(ack.end, ack.next);
        let Some((u, tau)) = measured else { return };
        self.utilisation += (tau / base_rtt).min(1.0) * (u - self.utilisation);
        match self.reaction {
            Reaction::Combined => self.compute_window(base_rtt, first_of_rtt),
            Reaction::PerAck => self.compute_window(base_rtt, true),
            Reaction::PerRtt if first_of_rtt => self.compute_window(base_rtt, true),
            Reaction::PerRtt => {}
        }
    }

    /// No answer to loss: PFC keeps the network lossless, and switches report the queue itself.
    /// After a timeout the transport backs off.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and bounded by the window's bounds and line rate"
    )]
    fn limits(&self) -> Limits {
        let (window, rate) = match self.base_rtt {
            Some(base_rtt) => {
                (self.window as u64, (self.window * 8.0 / base_rtt).min(self.line_rate) as u64)
            }
            None => (self.initial_window.get(), self.line_rate as u64),
        };
        Limits {
            // A window below one packet acts through the pacing rate.
            cwnd: Bytes::new(window).max(self.mss),
            pacing: Pacing::Rate(Rate::from_bps(rate.max(1))),
            burst: Burst { bytes: self.mss, rate: Rate::MAX },
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("window_kb", self.window / 1e3);
        emit("utilisation", self.utilisation);
        emit("stage", f64::from(self.stage));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::vec::Vec;

    /// The product of a 25 Gb/s NIC with T = 10 us: 31,250 B in a base RTT, and an increase of 12.5
    /// B.
    const FULL: f64 = 31_250.0;

    fn start(params: Hpcc) -> HpccControl {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(25));
        (flow.mss, flow.base_rtt) = (Bytes::new(1_000), Some(Span::from_us(10)));
        params.start(&flow)
    }

    fn hop(at: Time, queue: u64, sent: u64) -> Hop {
        Hop {
            port: 7,
            at,
            rate: Rate::from_gbps(25),
            queue: Bytes::new(queue),
            sent: Bytes::new(sent),
        }
    }

    fn ack(end: u64, next: u64, hops: &[Hop]) -> Ack<'_> {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(1_000));
        (ack.end, ack.next, ack.hops) = (Bytes::new(end), Bytes::new(next), hops);
        ack
    }

    /// Feeds one port's stamps, a base RTT apart, each ACK a full update unless told otherwise.
    struct Link {
        control: HpccControl,
        at: Time,
        sent: u64,
        end: u64,
    }

    impl Link {
        fn new(params: Hpcc) -> Self {
            let mut link = Self { control: start(params), at: Time::ZERO, sent: 0, end: 0 };
            link.ack(0.0, 0, true);
            link
        }

        /// An ACK after 10 us in which the port sent `share` of its capacity.
        fn ack(&mut self, share: f64, queue: u64, full: bool) -> f64 {
            self.at += Span::from_us(10);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let sent = (share * FULL) as u64;
            self.sent += sent;
            self.end += u64::from(full);
            let hops = [hop(self.at, queue, self.sent)];
            self.control.on_ack(&ack(self.end, self.end, &hops));
            self.control.window
        }
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-6 * expected.abs().max(1.0),
            "{value}, not {expected}"
        );
    }

    #[test]
    fn starts_at_line_rate_with_a_window_of_one_base_rtt() {
        let limits = start(Hpcc::default()).limits();
        assert_eq!(limits.cwnd, Bytes::new(31_250));
        assert_eq!(limits.pacing, Pacing::Rate(Rate::from_gbps(25)));
    }

    #[test]
    fn a_busy_link_scales_the_window_to_eta() {
        let mut link = Link::new(Hpcc::default());
        // All of the capacity, and 31,250 B in the queue both times: u = 1 + 1.
        link.ack(1.0, 31_250, true);
        close(link.control.utilisation, 1.0);
        close(link.control.reference_window, FULL * 0.95 + 12.5);
        // 29,700 * 0.95 / 2 + 12.5 = 14,120 B, in 10 us 11.296 Gb/s.
        close(link.ack(1.0, 31_250, true), 14_120.0);
        let limits = link.control.limits();
        assert!((14_119..=14_120).contains(&limits.cwnd.get()));
        assert!(matches!(limits.pacing, Pacing::Rate(rate) if rate.as_bps() / 10_000_000 == 1_129));
    }

    #[test]
    fn the_smaller_queue_counts() {
        let mut link = Link::new(Hpcc::default());
        link.ack(0.5, 31_250, true);
        close(link.control.utilisation, 0.5);
        link.ack(0.5, 3_125, true);
        close(link.control.utilisation, 0.6);
    }

    #[test]
    fn utilisation_is_averaged_over_a_base_rtt() {
        let mut control = start(Hpcc::default());
        let at = |us| Time::ZERO + Span::from_us(us);
        control.on_ack(&ack(1, 1, &[hop(at(0), 0, 0)]));
        // 2.5 us at half of the capacity: 3,906 B; U = 3/4 * 1 + 1/4 * 0.49997.
        control.on_ack(&ack(2, 2, &[hop(at(2) + Span::from_ns(500), 0, 3_906)]));
        let u = 3_906.0 * 8.0 / 2.5e-6 / 25e9;
        close(control.utilisation, 0.75 + 0.25 * u);
    }

    #[test]
    fn five_additive_steps_then_the_window_is_scaled_up() {
        let mut link = Link::new(Hpcc::default());
        let mut expected = FULL / 2.0 + 12.5;
        close(link.ack(1.9, 0, true), expected);
        for stage in 1..=5 {
            expected += 12.5;
            close(link.ack(0.5, 0, true), expected);
            assert_eq!(link.control.stage, stage);
        }
        close(link.ack(0.5, 0, true), expected * 0.95 / 0.5 + 12.5);
        assert_eq!(link.control.stage, 0);
    }

    #[test]
    fn acks_within_an_rtt_start_from_the_same_reference() {
        let mut link = Link::new(Hpcc::default());
        link.ack(1.9, 0, true);
        let reference = link.control.reference_window;
        for _ in 0..10 {
            close(link.ack(1.9, 0, false), reference / 2.0 + 12.5);
        }
        close(link.ack(0.5, 0, false), reference + 12.5);
        assert_eq!(link.control.stage, 0, "counted once per RTT");
        close(link.control.reference_window, reference);
        // The other reactions.
        let mut per_rtt = Link::new(Hpcc { reaction: Reaction::PerRtt, ..Hpcc::default() });
        close(per_rtt.ack(1.9, 0, false), FULL);
        close(per_rtt.ack(1.9, 0, true), FULL / 2.0 + 12.5);
        let mut per_ack = Link::new(Hpcc { reaction: Reaction::PerAck, ..Hpcc::default() });
        close(per_ack.ack(1.9, 0, false), FULL / 2.0 + 12.5);
        close(per_ack.ack(1.9, 0, false), FULL / 4.0 + 6.25 + 12.5);
    }

    #[test]
    fn the_busiest_hop_decides_and_a_new_path_starts_over() {
        let mut control = start(Hpcc::default());
        let at = |us| Time::ZERO + Span::from_us(us);
        let second = |at, sent| Hop { port: 8, ..hop(at, 0, sent) };
        control.on_ack(&ack(1, 1, &[hop(at(0), 0, 0), second(at(1), 0)]));
        control.on_ack(&ack(2, 2, &[hop(at(10), 0, 15_625), second(at(11), 28_125)]));
        close(control.utilisation, 0.9);
        control.on_ack(&ack(3, 3, &[hop(at(20), 0, 17_000), hop(at(21), 0, 60_000)]));
        close(control.utilisation, 0.9);
        // An ACK that was overtaken is not looked at.
        control.on_ack(&ack(4, 4, &[hop(at(15), 0, 16_000), hop(at(16), 0, 50_000)]));
        control.on_ack(&ack(5, 5, &[hop(at(30), 0, 48_250), hop(at(31), 0, 60_000)]));
        close(control.utilisation, 1.0);
    }

    #[test]
    fn the_least_rtt_stands_in_for_a_base_rtt_that_nobody_knows() {
        let mut control = Hpcc::default().start(&Flow::new(Bytes::new(1_000), Rate::from_gbps(25)));
        assert_eq!(control.limits().cwnd, Bytes::new(14_600));
        assert_eq!(control.limits().pacing, Pacing::Rate(Rate::from_gbps(25)));
        let mut first = ack(1, 1, &[]);
        first.min_rtt = Span::from_us(20);
        control.on_ack(&first);
        assert_eq!(control.limits().cwnd, Bytes::new(62_500));
    }

    #[test]
    fn a_window_below_one_packet_is_paced() {
        let mut link = Link::new(Hpcc::default());
        for _ in 0..20 {
            link.ack(10.0, 0, true);
        }
        // W = 0.095 W + 12.5 settles at 12.5 / 0.905 = 13.812 B in 10 us, 11.05 Mb/s.
        let limits = link.control.limits();
        assert_eq!(limits.cwnd, Bytes::new(1_000));
        assert!(matches!(limits.pacing, Pacing::Rate(rate) if rate.as_bps() / 10_000 == 1_104));
    }

    #[test]
    fn odd_stamps_are_survived() {
        let mut control = start(Hpcc::default());
        let odd = |at, rate, count| Hop { port: 1, at, rate, queue: count, sent: count };
        let stamps = [
            odd(Time::ZERO, Rate::ZERO, Bytes::ZERO),
            odd(Time::from_ps(1), Rate::from_bps(1), Bytes::MAX),
            odd(Time::from_ps(1), Rate::MAX, Bytes::MAX),
            odd(Time::MAX, Rate::from_bps(1), Bytes::MAX),
        ];
        for count in [1, 8, 9] {
            for stamp in stamps {
                control.on_ack(&ack(1, 1, &[stamp; 9][..count]));
                control.on_ack(&ack(u64::MAX, u64::MAX, &[stamp; 9][..count]));
                assert!(control.window > 0.0 && control.window < FULL + 1.0);
                assert!(control.utilisation.is_finite());
            }
        }
    }

    #[test]
    fn shares_become_equal_by_w_ai_over_w_in_each_round_trip() {
        // Two flows whose windows are 9 to 1 and a link without queue. Near the fixed point each
        // update multiplies their difference by eta / U = 1 - W_AI / W, so the square of the
        // coefficient of variation, 1 / Jain - 1, falls by half of that time constant.
        let jain = |w: [f64; 2]| (w[0] + w[1]).powi(2) / (2.0 * (w[0] * w[0] + w[1] * w[1]));
        for rate_ai in [10, 50, 625] {
            let params = Hpcc { rate_ai: Rate::from_mbps(rate_ai), ..Hpcc::default() };
            let (mut flows, mut sent) = ([start(params); 2], 0.0);
            for (flow, part) in flows.iter_mut().zip([0.9, 0.1]) {
                flow.window = 0.95 * FULL * part;
                flow.reference_window = flow.window;
            }
            let windows = |flows: &[HpccControl; 2]| flows.map(|flow| flow.window);
            let unequal = 1.0 / jain(windows(&flows)) - 1.0;
            let mut rounds = 0_u32;
            while jain(windows(&flows)) < 0.95 {
                let at = Time::ZERO + Span::from_us(10) * u64::from(rounds);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small"
                )]
                let hops = [hop(at, 0, sent as u64)];
                let end = u64::from(rounds) + 1;
                for flow in &mut flows {
                    flow.on_ack(&ack(end, end, &hops));
                }
                sent += windows(&flows).iter().sum::<f64>();
                rounds += 1;
                assert!(rounds < 10_000, "{:?}", windows(&flows));
            }
            let increase = rate_ai as f64 * 1e6 * 10e-6 / 8.0;
            let window = (0.95 + 2.0 * increase / FULL) * FULL / 2.0;
            let expected = window / increase * (unequal / (1.0 / 0.95 - 1.0)).ln() / 2.0;
            let error = (f64::from(rounds) - expected).abs();
            assert!(error < 0.02 * expected + 2.0, "{rounds} round trips, not {expected}");
        }
    }

    #[test]
    fn settles_at_eta_with_an_empty_queue() {
        // Four flows on one 25 Gb/s port in steps of half a microsecond, 5 us to the port and 5 us
        // back. The fixed point is W = W eta / U + W_AI, so U = eta / (1 - W_AI / W), with W = U
        // FULL / 4: U = eta + 4 * 12.5 / 31,250 = 0.9516.
        let (step, delay) = (Span::from_ns(500), 10_usize);
        let mut flows: Vec<HpccControl> = (0..4).map(|_| start(Hpcc::default())).collect();
        let mut on_wire: Vec<VecDeque<f64>> = flows.iter().map(|_| [0.0; 10].into()).collect();
        let mut stamps: VecDeque<Hop> = VecDeque::new();
        let mut progress: VecDeque<Vec<u64>> = VecDeque::new();
        let (mut queue, mut sent, mut offered) = (0.0_f64, 0.0_f64, [0.0_f64; 4]);
        let (mut worst_queue, mut sent_before) = (0.0_f64, 0.0);
        let capacity = 25e9 / 8.0 * step.as_secs_f64();
        for tick in 1..=20_000_u64 {
            let now = Time::ZERO + step * tick;
            let mut arrived = 0.0;
            for (i, flow) in flows.iter().enumerate() {
                let bytes = flow.window / 10e-6 * step.as_secs_f64();
                offered[i] += bytes;
                on_wire[i].push_back(bytes);
                arrived += on_wire[i].pop_front().unwrap();
            }
            let leaving = (queue + arrived).min(capacity);
            (queue, sent) = (queue + arrived - leaving, sent + leaving);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            {
                stamps.push_back(hop(now, queue as u64, sent as u64));
                progress.push_back(offered.iter().map(|&bytes| bytes as u64).collect());
            }
            if stamps.len() > delay && progress.len() > 2 * delay {
                let hops = [stamps[stamps.len() - 1 - delay]];
                let acked = &progress[progress.len() - 1 - 2 * delay];
                let next = &progress[progress.len() - 1];
                for (i, flow) in flows.iter_mut().enumerate() {
                    flow.on_ack(&ack(acked[i], next[i], &hops));
                }
            }
            if tick == 10_000 {
                sent_before = sent;
            } else if tick > 10_000 {
                worst_queue = worst_queue.max(queue);
            }
        }
        let utilisation = (sent - sent_before) / (10_000.0 * capacity);
        assert!((utilisation - 0.9516).abs() < 0.002, "{utilisation}");
        assert!((flows[0].utilisation - utilisation).abs() < 0.002, "{}", flows[0].utilisation);
        assert!(worst_queue < 1.0, "{worst_queue} B");
    }
}
