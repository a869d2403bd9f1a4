//! Swift: additive increase below a target delay, multiplicative decrease above it.
//!
//! Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
//! SIGCOMM 2020, Algorithm 1. The RTT is split into the delays of the fabric and of the
//! receiving host. Each part has a window and a target of its own, and the smaller window counts.
//! The fabric's target grows with the hops of the path and, since many flows make the queue vary
//! more, with a small window. Windows may fall below one packet, which is then paced.
//! `docs/algorithms/swift.md` has the equations, the sources of the constants, and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Flow, Limits, Loss, LossCause, Pacing, Reads,
    Spurious,
};
use crate::param::{Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::units::{Bytes, Fraction, Rate, Span, Time};
use crate::{configurable_by_name, parameters};

/// Shorthand of the parameter sources.
macro_rules! src {
    (paper) => {
        "Swift, SIGCOMM 2020"
    };
    (guess) => {
        "a guess of htsim's authors (Broadcom/csg-htsim, sim/swift.cpp)"
    };
    (ours) => {
        "this project"
    };
}

parameters! {
    /// Swift's parameters. The default is the preset `htsim`.
    pub struct Swift {
        /// Additive increase in packets per RTT.
        pub ai: Fraction = Fraction::ONE, in "0.001" to "1000", source src!(guess);
        /// Multiplicative decrease: what a delay far above its target takes of the window.
        pub beta: Fraction = Fraction::from_ratio(8, 10), in "0" to "1", source src!(guess);
        /// The largest part of the window that one decrease takes, and what a loss takes.
        pub max_mdf: Fraction = Fraction::from_ratio(1, 2), in "0" to "1", source src!(guess);
        /// The fabric's target delay without hops and for large windows.
        pub base_target: Span = Span::from_us(20), in "1ns" to "1s", source src!(guess);
        /// The part of the target for each hop: a 6.55th of the base target.
        pub hop_scale: Span = Span::from_ns(3_053), in "0ns" to "1s", source src!(guess);
        /// The most that flow scaling adds, to a window of `fs_min_cwnd`: five base targets.
        pub fs_range: Span = Span::from_us(100), in "0ns" to "1s", source src!(guess);
        /// Packets of a window up to which flow scaling adds all of its range.
        pub fs_min_cwnd: Fraction = Fraction::from_ratio(1, 10), in "0.001" to "1000",
            source src!(guess);
        /// Packets of a window from which on flow scaling adds nothing.
        pub fs_max_cwnd: Fraction = Fraction::from_ratio(100, 1), in "0.001" to "4000",
            source src!(guess);
        /// The target of the endpoint's delay.
        pub endpoint_target: Span = Span::from_us(20), in "1ns" to "1s", source src!(ours);
        /// Weight of the newest delay in its EWMA; 1 takes each sample as it is.
        pub delay_weight: Fraction = Fraction::ONE, in "0.001" to "1",
            source "the filter is the paper's, that it is off is ours";
        /// Timeouts in a row after which the window falls to its minimum.
        pub retx_reset_threshold: u32 = 5, in "1" to "1000", source src!(guess);
        /// The least window in packets.
        pub min_cwnd: Fraction = Fraction::from_ratio(1, 1000), in "0.0001" to "1",
            source src!(paper);
        /// The largest window in packets.
        pub max_cwnd: u32 = 1_000, in "1" to "1000000", source src!(guess);
    }
}

impl Algorithm for Swift {
    type Control = SwiftControl;
    const NAME: &'static str = "swift";

    fn start(&self, flow: &Flow) -> SwiftControl {
        SwiftControl::new(self, flow)
    }
}

impl Configurable for Swift {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the windows for fabric and host hold their delays at targets",
        kind: Kind::Window,
        signal: "RTT, split into fabric and host",
        needs: &[Need::EachAcknowledged],
        transport: Transport::Stream,
        source: "Kumar et al., SIGCOMM 2020",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "htsim",
            source: "htsim (Broadcom/csg-htsim), sim/swift.cpp, whose authors call the values guesses",
            values: &[],
        },
        Preset {
            name: "tuned-400g",
            source: "this project: found by incast tune at 400 Gb/s (docs/how-to/tune-an-algorithm.md)",
            values: &[
                ("ai", "1.47"),
                ("beta", "0.402"),
                ("max_mdf", "0.227"),
                ("base_target", "6.26us"),
                ("fs_range", "84us"),
                ("fs_max_cwnd", "198"),
                ("hop_scale", "662ns"),
            ],
        },
    ];
    configurable_by_name!();

    /// A packet while the window is below one.
    fn burst_varies(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), Conflict> {
        if self.fs_min_cwnd >= self.fs_max_cwnd {
            let (name, other) = ("fs_min_cwnd", "fs_max_cwnd");
            return Err(Conflict { name, rule: "must be below", other });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let k = Constants::new(self);
        let packets = path.product.get() as f64 / path.mss.get().max(1) as f64;
        let target = k.target((packets / 2.0).max(k.min_cwnd), path.hop_count);
        let rtt = path.network_rtt;
        // Delayed and jittered ACKs add to the RTT, and other flows a queue: an eighth is little.
        if rtt.as_secs_f64() * 1.125 >= target {
            let (param, value) = ("base_target", self.base_target);
            let effect = "the window shrinks with every ACK, hops and flow scaling counted";
            let least = (rtt * 2).min(Span::from_secs(1));
            let least = (least > rtt).then_some(least);
            emit(Caution::BelowRtt { param, value, rtt, least, effect });
        }
        if path.peer >= self.endpoint_target {
            let (param, value, rtt) = ("endpoint_target", self.endpoint_target, path.peer);
            let effect = "the window of the endpoint shrinks with every ACK";
            emit(Caution::BelowRtt { param, value, rtt, least: Some(rtt * 2), effect });
        }
        path.most_window("max_cwnd", u64::from(self.max_cwnd), emit);
        path.window_of_segments(emit);
        // The pacer spreads packets, yet each flow has one under way now and then.
        path.least_window(1, emit);
        // One ACK adds `ai` to a window below one packet: shares of less than a 25th are a lottery.
        let least = Bytes::new(path.mss.get().div_ceil(25));
        let effect = "single ACKs change it by far more and shares drift apart";
        path.coarse(("a window that lasts is", least), effect, emit);
    }
}

/// A window that AIMD holds at a target delay.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aimd {
    /// The window in packets; it may be below one.
    cwnd: f64,
    /// When it was last decreased.
    decreased_at: Option<Time>,
}

/// Swift's parameters; times in seconds, windows in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Constants {
    ai: f64,
    beta: f64,
    max_mdf: f64,
    base_target: f64,
    hop_scale: f64,
    fs_range: f64,
    fs_alpha: f64,
    fs_beta: f64,
    endpoint_target: f64,
    delay_weight: f64,
    retx_reset_threshold: u32,
    min_cwnd: f64,
    max_cwnd: f64,
}

/// A flow under Swift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwiftControl {
    /// `fcwnd`: held at the fabric's target.
    fabric: Aimd,
    /// `ecwnd`: held at the endpoint's target. The flow may use the smaller of the two.
    endpoint: Aimd,
    /// The filtered delays in seconds; none before the first sample.
    delays: Option<(f64, f64)>,
    /// The fabric's target at the last sample in seconds, for plots.
    target: f64,
    /// The smoothed RTT, which spaces decreases and paced packets.
    srtt: Span,
    /// Timeouts since the last ACK.
    timeouts: u32,
    /// The last timeout: it declares burst after burst lost, and counts once.
    timeout_at: Option<Time>,
    /// The windows before a loss cut them, in case that the loss is spurious.
    before_loss: Option<(f64, f64)>,
    /// Bytes in a packet.
    mss: u64,
    /// The most that the peer takes, in bytes.
    max_window: u64,
    line_rate: Rate,
    k: Constants,
}

impl Constants {
    fn new(params: &Swift) -> Self {
        let fs_range = params.fs_range.as_secs_f64();
        let inverse_root = |cwnd: Fraction| 1.0 / libm::sqrt(cwnd.as_f64().max(1e-6));
        let fs_floor = inverse_root(params.fs_max_cwnd);
        let spread = inverse_root(params.fs_min_cwnd) - fs_floor;
        let fs_alpha = if spread > 0.0 { fs_range / spread } else { 0.0 };
        Self {
            ai: params.ai.as_f64(),
            beta: params.beta.as_f64().min(1.0),
            max_mdf: params.max_mdf.as_f64().min(1.0),
            base_target: params.base_target.as_secs_f64(),
            hop_scale: params.hop_scale.as_secs_f64(),
            fs_range,
            fs_alpha,
            fs_beta: -fs_alpha * fs_floor,
            endpoint_target: params.endpoint_target.as_secs_f64(),
            delay_weight: params.delay_weight.as_f64().min(1.0),
            retx_reset_threshold: params.retx_reset_threshold,
            min_cwnd: params.min_cwnd.as_f64(),
            max_cwnd: f64::from(params.max_cwnd),
        }
    }

    /// The fabric's target for a window of `cwnd` packets over `hops` links.
    fn target(&self, cwnd: f64, hops: u8) -> f64 {
        let flow_scaling = self.fs_alpha / libm::sqrt(cwnd) + self.fs_beta;
        self.base_target
            + f64::from(hops) * self.hop_scale
            + flow_scaling.min(self.fs_range).max(0.0)
    }
}

impl Aimd {
    /// The answer to a delay, `acked` packets having been acknowledged that the window may grow by.
    fn on_delay(
        &mut self,
        k: &Constants,
        delay: f64,
        target: f64,
        acked: f64,
        now: Time,
        rtt: Span,
    ) {
        if delay < target {
            // Below one packet each acknowledged one counts whole.
            self.set(k, self.cwnd + k.ai * acked / self.cwnd.max(1.0));
        } else {
            let cut = k.beta * (delay - target) / delay;
            self.decrease(k, cut.min(k.max_mdf), now, rtt);
        }
    }

    /// Takes `cut` of the window away, once per RTT.
    fn decrease(&mut self, k: &Constants, cut: f64, now: Time, rtt: Span) {
        if self.decreased_at.is_none_or(|at| now.since(at) >= rtt) {
            let before = self.cwnd;
            self.set(k, self.cwnd * (1.0 - cut));
            if self.cwnd < before {
                self.decreased_at = Some(now);
            }
        }
    }

    fn set(&mut self, k: &Constants, cwnd: f64) {
        self.cwnd = cwnd.min(k.max_cwnd).max(k.min_cwnd);
    }
}

impl SwiftControl {
    fn new(params: &Swift, flow: &Flow) -> Self {
        let k = Constants::new(params);
        let mss = flow.mss.get().max(1);
        let mut fabric = Aimd { cwnd: 1.0, decreased_at: None };
        fabric.set(&k, (flow.initial_window.get() as f64 / mss as f64).max(1.0));
        Self {
            fabric,
            endpoint: fabric,
            delays: None,
            target: k.target(fabric.cwnd, 0),
            srtt: flow.base_rtt.unwrap_or(params.base_target),
            timeouts: 0,
            timeout_at: None,
            before_loss: None,
            mss,
            max_window: flow.max_window.get(),
            line_rate: flow.line_rate,
            k,
        }
    }

    /// The window in packets.
    fn cwnd(&self) -> f64 {
        self.fabric.cwnd.min(self.endpoint.cwnd)
    }
}

impl CongestionControl for SwiftControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !ack.bytes.is_zero() {
            self.timeouts = 0;
        }
        let Some(rtt) = ack.rtt else { return };
        self.srtt = if ack.srtt.is_zero() { rtt.total } else { ack.srtt };
        let sample = (rtt.network().as_secs_f64(), rtt.peer.as_secs_f64());
        let old = self.delays.unwrap_or(sample);
        let filtered = |old: f64, new: f64| old + self.k.delay_weight * (new - old);
        let (fabric, endpoint) = (filtered(old.0, sample.0), filtered(old.1, sample.1));
        self.delays = Some((fabric, endpoint));
        self.target = self.k.target(self.fabric.cwnd, ack.hop_count);

        // Below one packet it is the pacer that holds data back, by the window's order.
        let in_use = ack.cwnd_limited || self.cwnd() < 1.0;
        let grows = in_use && !ack.in_recovery;
        let acked = if grows { ack.bytes.get() as f64 / self.mss as f64 } else { 0.0 };
        let before = self.cwnd();
        let (now, rtt) = (ack.now, self.srtt);
        self.fabric.on_delay(&self.k, fabric, self.target, acked, now, rtt);
        self.endpoint.on_delay(&self.k, endpoint, self.k.endpoint_target, acked, now, rtt);
        if self.cwnd() < before {
            self.before_loss = None;
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let before = (self.fabric.cwnd, self.endpoint.cwnd);
        if loss.cause == LossCause::Detected {
            self.timeouts = 0;
        } else if self.timeout_at != Some(loss.now) {
            self.timeout_at = Some(loss.now);
            self.timeouts = self.timeouts.saturating_add(1);
        }
        for window in [&mut self.fabric, &mut self.endpoint] {
            if self.timeouts >= self.k.retx_reset_threshold {
                window.set(&self.k, self.k.min_cwnd);
                window.decreased_at = Some(loss.now);
            } else {
                window.decrease(&self.k, self.k.max_mdf, loss.now, self.srtt);
            }
        }
        // After timeouts in a row, the windows before the first one are restored.
        let first = loss.cause != LossCause::Persistent || self.before_loss.is_none();
        if first && (self.fabric.cwnd, self.endpoint.cwnd) != before {
            self.before_loss = Some(before);
        }
    }

    fn on_spurious_loss(&mut self, _spurious: &Spurious) {
        if let Some((fabric, endpoint)) = self.before_loss.take() {
            self.fabric.cwnd = self.fabric.cwnd.max(fabric);
            self.endpoint.cwnd = self.endpoint.cwnd.max(endpoint);
        }
    }

    /// The windows stay as they are in bytes.
    fn on_mss_change(&mut self, mss: Bytes) {
        let mss = mss.get().max(1);
        let ratio = self.mss as f64 / mss as f64;
        self.mss = mss;
        for window in [&mut self.fabric, &mut self.endpoint] {
            window.set(&self.k, window.cwnd * ratio);
        }
        self.before_loss = None;
    }

    fn limits(&self) -> Limits {
        let bytes = self.cwnd() * self.mss as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; the cast saturates"
        )]
        if self.cwnd() < 1.0 {
            let bps = (bytes * 8.0 / self.srtt.max(Span::from_ns(1)).as_secs_f64()) as u64;
            let rate = Rate::from_bps(bps.max(1)).min(self.line_rate);
            Limits {
                cwnd: Bytes::new(self.mss),
                pacing: Pacing::Rate(rate),
                burst: Burst { bytes: Bytes::new(self.mss), rate: Rate::MAX },
            }
        } else {
            Limits::window(Bytes::new((bytes as u64).min(self.max_window).max(self.mss)))
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let (fabric, endpoint) = self.delays.unwrap_or((0.0, 0.0));
        emit("fabric_cwnd_packets", self.fabric.cwnd);
        emit("endpoint_cwnd_packets", self.endpoint.cwnd);
        emit("fabric_delay_us", fabric * 1e6);
        emit("endpoint_delay_us", endpoint * 1e6);
        emit("target_us", self.target * 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RttSample;
    use std::vec::Vec;

    const MSS: u64 = 1_000;

    /// No hop and no flow scaling: a fabric target of 20 us for every window.
    fn plain() -> Swift {
        Swift { hop_scale: Span::ZERO, fs_range: Span::ZERO, ..Swift::default() }
    }

    fn start(params: &Swift, packets: u64) -> SwiftControl {
        let mut flow = Flow::new(Bytes::new(MSS), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(MSS), Bytes::new(packets * MSS));
        params.start(&flow)
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A packet acknowledged at `us`, the fabric having taken `fabric` and the host `peer`
    /// microseconds; the smoothed RTT is 50 us.
    fn ack(us: u64, fabric: u64, peer: u64) -> Ack<'static> {
        let mut ack = Ack::new(at(us), Time::ZERO, Bytes::new(MSS));
        ack.rtt = Some(RttSample {
            total: Span::from_us(fabric + peer),
            serialization: Span::ZERO,
            peer: Span::from_us(peer),
        });
        (ack.srtt, ack.cwnd_limited) = (Span::from_us(50), true);
        ack
    }

    fn lose(control: &mut SwiftControl, us: u64, cause: LossCause) {
        control.on_loss(&Loss::new(at(us), Time::ZERO, Bytes::new(MSS), cause));
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6 * expected.abs(), "{value}, not {expected}");
    }

    #[test]
    fn the_target_grows_with_hops_and_with_a_smaller_window() {
        let k =
            Constants::new(&Swift { fs_min_cwnd: Fraction::from_ratio(1, 4), ..Swift::default() });
        // alpha = 100 us / (1 / sqrt(1/4) - 1 / sqrt(100)) = 52.6316 us, beta = -5.26316 us.
        for (cwnd, us) in [
            (400.0, 20.0),
            (100.0, 20.0),
            (25.0, 20.0 + 52.631_579 / 5.0 - 5.263_158),
            (4.0, 20.0 + 52.631_579 / 2.0 - 5.263_158),
            (1.0, 20.0 + 52.631_579 - 5.263_158),
            (0.25, 120.0),
            (0.01, 120.0),
        ] {
            assert!((k.target(cwnd, 0) * 1e6 - us).abs() < 1e-4, "{cwnd}: {}", k.target(cwnd, 0));
        }
        close(k.target(100.0, 3) * 1e6, 20.0 + 3.0 * 3.053);
    }

    #[test]
    fn below_the_target_each_window_of_acks_adds_ai() {
        let mut control = start(&plain(), 10);
        control.on_ack(&ack(1, 19, 0));
        close(control.cwnd(), 10.1);
        control.on_ack(&ack(2, 19, 0));
        close(control.cwnd(), 10.1 + 1.0 / 10.1);
        assert_eq!(control.limits(), Limits::window(Bytes::new(10_199)));
        // No increase while the window is not used, nor while losses are repaired.
        let mut idle = ack(3, 19, 0);
        idle.cwnd_limited = false;
        let mut repair = ack(3, 19, 0);
        repair.in_recovery = true;
        control.on_ack(&idle);
        control.on_ack(&repair);
        close(control.cwnd(), 10.1 + 1.0 / 10.1);
    }

    #[test]
    fn above_the_target_one_decrease_per_rtt() {
        let mut control = start(&plain(), 10);
        // 1 - 0.8 (40 - 20) / 40 = 0.6
        control.on_ack(&ack(100, 40, 0));
        close(control.cwnd(), 6.0);
        control.on_ack(&ack(149, 40, 0));
        close(control.cwnd(), 6.0);
        // Below the target it grows meanwhile.
        control.on_ack(&ack(149, 10, 0));
        close(control.cwnd(), 6.0 + 1.0 / 6.0);
        // 1 - 0.8 (25 - 20) / 25 = 0.84, 50 us after the first.
        control.on_ack(&ack(150, 25, 0));
        close(control.cwnd(), (6.0 + 1.0 / 6.0) * 0.84);
    }

    #[test]
    fn a_decrease_takes_max_mdf_at_most() {
        let mut control = start(&plain(), 10);
        // 1 - 0.8 (1000 - 20) / 1000 = 0.216
        control.on_ack(&ack(100, 1_000, 0));
        close(control.cwnd(), 5.0);
    }

    #[test]
    fn at_the_target_the_window_holds() {
        let mut control = start(&plain(), 10);
        control.on_ack(&ack(100, 20, 0));
        close(control.cwnd(), 10.0);
        assert_eq!(control.fabric.decreased_at, None, "nothing was taken");
        // A decrease of nothing does not use up the RTT.
        control.on_ack(&ack(101, 40, 0));
        close(control.cwnd(), 6.0);
    }

    #[test]
    fn the_smaller_of_the_two_windows_counts() {
        let mut control = start(&plain(), 10);
        control.on_ack(&ack(100, 10, 40));
        close(control.endpoint.cwnd, 6.0);
        close(control.fabric.cwnd, 10.1);
        assert_eq!(control.limits().cwnd.get().div_ceil(10), 600);
        control.on_ack(&ack(120, 80, 10));
        // 1 - 0.8 (80 - 20) / 80 = 0.4, but max_mdf is 0.5.
        close(control.fabric.cwnd, 5.05);
        close(control.endpoint.cwnd, 6.0 + 1.0 / 6.0);
        assert_eq!(control.limits().cwnd.get().div_ceil(10), 505);
    }

    #[test]
    fn delays_are_filtered_where_asked() {
        let params = Swift { delay_weight: Fraction::from_ratio(1, 4), ..plain() };
        let mut control = start(&params, 10);
        control.on_ack(&ack(1, 10, 0));
        control.on_ack(&ack(2, 42, 0));
        // 10 + (42 - 10) / 4 = 18 us, still below the target.
        close(control.delays.unwrap().0 * 1e6, 18.0);
        assert!(control.cwnd() > 10.0);
    }

    #[test]
    fn a_window_below_one_packet_is_paced_and_grows_by_whole_packets() {
        let mut control = start(&plain(), 1);
        control.fabric.cwnd = 0.1;
        control.on_ack(&ack(100, 20, 0));
        // A tenth of 1,000 B every 50 us: 16 Mb/s.
        let limits = control.limits();
        assert_eq!(limits.pacing, Pacing::Rate(Rate::from_mbps(16)));
        assert_eq!((limits.cwnd, limits.burst.bytes), (Bytes::new(MSS), Bytes::new(MSS)));
        // The pacer holds data back, not the window.
        let mut paced = ack(600, 10, 0);
        paced.cwnd_limited = false;
        control.on_ack(&paced);
        close(control.fabric.cwnd, 1.1);
        assert_eq!(control.limits().pacing, Pacing::Unpaced);
        for i in 0..100 {
            control.on_ack(&ack(1_000 + 100 * i, 1_000, 0));
        }
        close(control.cwnd(), Fraction::from_ratio(1, 1000).as_f64());
    }

    #[test]
    fn a_loss_takes_max_mdf_once_per_rtt_and_is_undone_if_it_was_none() {
        let mut control = start(&plain(), 16);
        lose(&mut control, 100, LossCause::Detected);
        lose(&mut control, 119, LossCause::Detected);
        close(control.cwnd(), 8.0);
        control.on_spurious_loss(&Spurious::new(at(130), Bytes::new(MSS)));
        close(control.cwnd(), 16.0);
        control.on_spurious_loss(&Spurious::new(at(130), Bytes::new(MSS)));
        close(control.cwnd(), 16.0);
    }

    #[test]
    fn the_fifth_timeout_in_a_row_resets_the_window() {
        let mut control = start(&plain(), 64);
        for (i, expected) in [32.0, 16.0, 8.0, 4.0].into_iter().enumerate() {
            let now = 1_000 * (i as u64 + 1);
            // A timeout declares burst after burst lost.
            (0..10).for_each(|_| lose(&mut control, now, LossCause::Timeout));
            close(control.cwnd(), expected);
        }
        let mut acked = control;
        lose(&mut control, 9_000, LossCause::Persistent);
        close(control.cwnd(), control.k.min_cwnd);
        // An ACK in between starts the count anew.
        acked.on_ack(&ack(8_000, 20, 0));
        lose(&mut acked, 9_000, LossCause::Timeout);
        close(acked.cwnd(), 2.0);
    }

    #[test]
    fn delays_settle_at_the_target() {
        // N flows on a fluid link of 10 Gb/s and 10 us without queue: the RTT is the time that all
        // windows take to drain. Each RTT acknowledges each window, packet by packet.
        for flows in [4, 10] {
            let mut controls: Vec<_> = (0..flows).map(|_| start(&Swift::default(), 20)).collect();
            let drain = |controls: &[SwiftControl]| {
                let packets: f64 = controls.iter().map(SwiftControl::cwnd).sum();
                (packets * 8_000.0 / 10e9).max(10e-6)
            };
            let (mut now, mut ratio) = (Time::ZERO, 0.0);
            for round in 0..4_000_u32 {
                let seconds = drain(&controls);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small"
                )]
                let rtt = Span::from_ps((seconds * 1e12) as u64);
                now += rtt;
                for control in &mut controls {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "small"
                    )]
                    for _ in 0..control.cwnd().max(1.0) as u64 {
                        let mut ack = Ack::new(now, Time::ZERO, Bytes::new(MSS)).with_rtt(rtt);
                        (ack.srtt, ack.cwnd_limited) = (rtt, true);
                        control.on_ack(&ack);
                    }
                }
                if round >= 2_000 {
                    ratio += seconds / controls[0].target / 2_000.0;
                }
            }
            assert!((0.95..1.05).contains(&ratio), "{flows} flows at {ratio} of the target");
        }
    }
}
