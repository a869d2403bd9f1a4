//! TIMELY: the sending rate follows the gradient of the RTT.
//!
//! Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015,
//! Algorithm 1. Each completed segment brings one RTT sample. Below `t_low` the rate rises and
//! above `t_high` it falls, whatever the trend. Between them the trend decides. A falling or level
//! RTT means that the queue drains, and the rate rises. A rising RTT means that the senders
//! together exceed the bottleneck by about the gradient, and the rate falls.
//! `docs/algorithms/timely.md` has the equations, the sources of the constants, and the departures.
//!
//! All arithmetic is on 64-bit integers (nanoseconds, bits per second, 20-bit fractions). Every
//! division is unsigned and guarded, so a twin in BPF C computes the same bits. Only the filter is
//! signed: its product is shifted right arithmetically, which rounds towards minus infinity.

mod cautions;

use crate::caution::{Caution, PathFacts};
use crate::contract::{Ack, Algorithm, Burst, CongestionControl, Flow, Limits, Loss, Pacing, Reads, Spurious};
use crate::param::{BurstRate, Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::parts::integer::{self, ONE_Q20};
use crate::parts::{DelayGradient, RecoveryGate};
use crate::units::{Bytes, Fraction, Rate, Span};
use crate::{configurable_by_name, parameters, words};

/// Shorthand of the parameter sources.
macro_rules! src {
    (snippet) => {
        "authors' published code snippet"
    };
    (paper) => {
        "TIMELY, SIGCOMM 2015, Algorithm 1"
    };
    (zhu) => {
        "Zhu et al., CoNEXT 2016, model parameters"
    };
    (cs244) => {
        "Fang and Orbay, CS244 (Stanford, 2016), tcp-timely.cc"
    };
    (ours) => {
        "this project"
    };
}

parameters! {
    /// TIMELY's parameters. The default is the preset `authors-snippet`.
    pub struct Timely {
        /// Weight of the newest RTT difference in the EWMA filter.
        pub alpha: Fraction = Fraction::from_ratio(2, 100), in "0.000001" to "1",
            source src!(snippet);
        /// Multiplicative decrease factor.
        pub beta: Fraction = Fraction::from_ratio(8, 10), in "0" to "1", source src!(snippet);
        /// Additive increase step, for a NIC of the rate `delta_reference`.
        pub delta: Rate = Rate::from_mbps(10), in "1bps" to "1Tbps", source src!(snippet);
        /// Line rate that `delta` and `min_rate` are given for; both scale with the NIC's line
        /// rate. At 0bps they are taken as they stand.
        pub delta_reference: Rate = Rate::from_gbps(10), source src!(snippet);
        /// RTT below which the rate rises whatever the gradient.
        pub t_low: Span = Span::from_us(50), in "0ns" to "1s", source src!(snippet);
        /// Above this RTT the rate falls whatever the gradient.
        pub t_high: Span = Span::from_ms(1), in "1ns" to "1s", source src!(snippet);
        /// The fixed minimum network RTT that makes the gradient dimensionless.
        pub min_rtt: Span = Span::from_us(20), in "1ns" to "1s", source src!(zhu);
        /// Completions in a row with a falling RTT before hyperactive increase (HAI).
        pub hai_threshold: u32 = 5, in "1" to "1000", source src!(paper);
        /// Additive steps at once in hyperactive increase.
        pub hai_n: u32 = 5, in "1" to "1000", source src!(paper);
        /// The differences that count towards HAI: raw RTT differences or the smoothed gradient.
        pub hai_counts: HaiCounts = HaiCounts::Raw, source src!(snippet);
        /// The changes that are scaled down when completions come faster than one per `min_rtt`.
        pub time_scaling: TimeScaling = TimeScaling::IncreaseAndTHigh, source src!(snippet);
        /// The largest part of the rate that one completion can take away.
        pub max_decrease: Fraction = Fraction::from_ratio(1, 2), in "0.000001" to "1",
            source src!(snippet);
        /// The part of the rate that a loss takes away, at most once in a window of data. At 0 a
        /// loss changes nothing: the paper's law is for networks that lose none.
        pub loss_decrease: Fraction = Fraction::ZERO, in "0" to "1", source src!(paper);
        /// The rate never falls below, for a NIC of the rate `delta_reference`.
        pub min_rate: Rate = Rate::from_mbps(10), in "1bps" to "1Tbps", source src!(ours);
        /// The rate of a new flow.
        pub initial_rate: InitialRate = InitialRate::Share,
            source "TIMELY, SIGCOMM 2015, as cited by Zhu et al.";
        /// The time whose data is the window, where the rate is the size of a window that ACKs
        /// clock: cwnd = rate x `window_rtt`, one segment at least. It begins as the transport's
        /// initial window, whatever `initial_rate` says. At 0 the rate paces.
        pub window_rtt: Span = Span::ZERO, in "0ns" to "1s", source src!(cs244);
        /// The RTT that the first sample is compared with.
        pub initial_rtt: InitialRtt = InitialRtt::FirstSample, source src!(snippet);
        /// Rate at which the packets of one segment leave; not part of the control law.
        pub burst_rate: BurstRate = BurstRate::LINE, in "1Mbps" to "line-rate",
            source "TIMELY, SIGCOMM 2015, section 5";
    }
}

words! {
    /// The differences that count towards hyperactive increase.
    pub enum HaiCounts {
        /// Samples below their predecessor.
        Raw = "raw",
        /// Samples that leave the smoothed gradient at or below zero.
        Smoothed = "smoothed",
    }
}

words! {
    /// The changes that are multiplied by min((now - last update) / `min_rtt`, 1).
    pub enum TimeScaling {
        /// No change.
        Never = "never",
        /// Additive increase and the decrease above `t_high`.
        IncreaseAndTHigh = "increase-and-t-high",
        /// These and the gradient decrease.
        Always = "always",
    }
}

words! {
    /// The rate of a new flow.
    pub enum InitialRate {
        /// Line rate over one more than the flows already active at the sender.
        Share = "share",
        /// Line rate.
        Line = "line-rate",
    }
}

words! {
    /// The RTT that the first sample is compared with.
    pub enum InitialRtt {
        /// Itself: no gradient yet.
        FirstSample = "first-sample",
        /// The minimum RTT.
        MinRtt = "min-rtt",
    }
}

impl Algorithm for Timely {
    type Control = TimelyControl;
    const NAME: &'static str = "timely";

    fn start(&self, flow: &Flow) -> TimelyControl {
        TimelyControl::new(self, flow)
    }
}

impl Configurable for Timely {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate follows the gradient of the RTT",
        kind: Kind::Rate,
        signal: "RTT of each segment",
        needs: &[Need::Lossless],
        transport: Transport::Message,
        source: "Mittal et al., SIGCOMM 2015",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "authors-snippet",
            source: "the code snippet that the authors published",
            values: &[],
        },
        Preset {
            name: "zhu",
            source: "Zhu et al., CoNEXT 2016: the values that their models and simulator use",
            values: &[
                ("alpha", "0.875"),
                ("t_high", "500us"),
                ("time_scaling", "never"),
                ("max_decrease", "1"),
            ],
        },
        Preset {
            name: "erpc",
            source: "eRPC (NSDI 2019), its TIMELY defaults",
            values: &[
                ("alpha", "0.46"),
                ("beta", "0.26"),
                ("delta", "40Mbps"),
                ("delta_reference", "0bps"),
                ("min_rtt", "2us"),
                ("time_scaling", "always"),
                ("min_rate", "120Mbps"),
                ("initial_rate", "line-rate"),
                ("initial_rtt", "min-rtt"),
            ],
        },
        Preset {
            name: "cs244",
            source: "Fang and Orbay, CS244 (Stanford, 2016), star.cc and tcp-timely.cc: a window that takes four \
                     segments of 536 B for an ACK",
            values: &[
                ("alpha", "0.1"),
                ("beta", "0.01"),
                ("delta", "857.6kbps"),
                ("delta_reference", "0bps"),
                ("t_high", "500us"),
                ("hai_counts", "smoothed"),
                ("time_scaling", "never"),
                ("max_decrease", "1"),
                ("min_rate", "1bps"),
                ("window_rtt", "20ms"),
            ],
        },
        Preset {
            name: "linux-tcp",
            source: "this project: what incast attaches to Linux TCP, whose hosts time ACKs (docs/guide/kernel.md)",
            values: &[
                ("alpha", "0.25"),
                ("t_low", "100us"),
                ("min_rtt", "500us"),
                ("max_decrease", "0.2"),
                ("loss_decrease", "0.5"),
            ],
        },
        Preset {
            name: "queue-size",
            source: "the controller by queue size that the authors' talk compares with, T_low = T_high; no \
                     source gives the value, 100 us is the least T_high that a course's slides call best",
            values: &[("t_low", "100us"), ("t_high", "100us")],
        },
    ];
    configurable_by_name!();

    fn needs(&self) -> &'static [Need] {
        if self.loss_decrease > Fraction::ZERO { &[] } else { Self::INFO.needs }
    }

    fn check(&self) -> Result<(), Conflict> {
        if self.t_low > self.t_high {
            return Err(Conflict { name: "t_low", rule: "must not be above", other: "t_high" });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        self.warn(path, emit);
    }
}

/// `Timely` in the units of the integer core, scaled to one NIC. The BPF twin has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Weight of the newest RTT difference.
    pub alpha: Fraction,
    /// Multiplicative decrease factor, times 2^20.
    pub beta_q20: u64,
    /// Additive step, b/s.
    pub delta_bps: u64,
    /// Step of hyperactive increase, b/s.
    pub hai_delta_bps: u64,
    /// The RTT below which the rate rises.
    pub t_low_ns: u64,
    /// Above this RTT the rate falls.
    pub t_high_ns: u64,
    /// The RTT that makes the gradient dimensionless.
    pub min_rtt_ns: u64,
    /// Completions in a row before hyperactive increase.
    pub hai_threshold: u32,
    /// The differences that count towards hyperactive increase.
    pub hai_counts: HaiCounts,
    /// The changes that are scaled down when completions come fast.
    pub time_scaling: TimeScaling,
    /// Largest part of the rate that one completion takes, times 2^20.
    pub max_decrease_q20: u64,
    /// Part of the rate that a loss takes, times 2^20.
    pub loss_decrease_q20: u64,
    /// The rate never falls below, b/s.
    pub min_bps: u64,
    /// The rate never rises above, b/s.
    pub line_bps: u64,
}

impl Constants {
    /// The constants for a NIC of `line_rate`.
    pub fn new(params: &Timely, line_rate: Rate) -> Self {
        let line_bps = integer::line_bps(line_rate);
        let delta_bps = integer::scaled(params.delta, params.delta_reference, line_bps);
        Self {
            alpha: params.alpha.min(Fraction::ONE),
            beta_q20: u64::from(params.beta.bits()).min(ONE_Q20),
            delta_bps,
            hai_delta_bps: delta_bps.saturating_mul(u64::from(params.hai_n)).min(line_bps),
            t_low_ns: params.t_low.as_ns(),
            t_high_ns: params.t_high.as_ns(),
            min_rtt_ns: params.min_rtt.as_ns().clamp(1, DelayGradient::MAX_RTT_NS),
            hai_threshold: params.hai_threshold,
            hai_counts: params.hai_counts,
            time_scaling: params.time_scaling,
            max_decrease_q20: u64::from(params.max_decrease.bits()).min(ONE_Q20),
            loss_decrease_q20: u64::from(params.loss_decrease.bits()).min(ONE_Q20),
            min_bps: integer::scaled(params.min_rate, params.delta_reference, line_bps),
            line_bps,
        }
    }
}

/// The state of a flow under TIMELY: small enough for the private area of a Linux socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    rate_bps: u64,
    updated_at_ns: u64,
    gradient: DelayGradient,
}

impl State {
    /// A flow that starts `now` at `rate_bps`.
    pub fn new(rate_bps: u64, now_ns: u64, gradient: DelayGradient) -> Self {
        Self { rate_bps, updated_at_ns: now_ns, gradient }
    }

    /// The rate in bits per second.
    pub const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Takes in a completion: Algorithm 1 of the paper, with the RTT in nanoseconds.
    #[inline]
    pub fn on_completion(&mut self, k: &Constants, now_ns: u64, rtt_ns: u64) {
        let rtt_ns = rtt_ns.min(DelayGradient::MAX_RTT_NS);
        self.gradient.add(k.alpha, rtt_ns);

        let elapsed_ns = now_ns.saturating_sub(self.updated_at_ns).min(k.min_rtt_ns);
        self.updated_at_ns = now_ns;
        let elapsed_q20 = (elapsed_ns << Fraction::BITS) / k.min_rtt_ns;
        let scale_q20 = |scaled: bool| if scaled { elapsed_q20 } else { ONE_Q20 };
        // The scales of additive increase and of the decrease above T_high.
        let outer_scale_q20 = scale_q20(k.time_scaling != TimeScaling::Never);
        let gradient_scale_q20 = scale_q20(k.time_scaling == TimeScaling::Always);

        if rtt_ns < k.t_low_ns {
            self.increase(k, k.delta_bps, outer_scale_q20);
        } else if rtt_ns > k.t_high_ns {
            let cut_q20 = integer::cut_above_q20(k.beta_q20, rtt_ns, k.t_high_ns);
            self.decrease(k, cut_q20, outer_scale_q20);
        } else if !self.gradient.is_positive() {
            let falling = match k.hai_counts {
                HaiCounts::Raw => self.gradient.falling(),
                HaiCounts::Smoothed => self.gradient.falling_smoothed(),
            };
            let hai = falling >= k.hai_threshold;
            let step_bps = if hai { k.hai_delta_bps } else { k.delta_bps };
            self.increase(k, step_bps, outer_scale_q20);
        } else {
            // beta * gradient: 2^20 * 2^39 fits, and the difference's eight bits go last.
            let cut_q28 = k.beta_q20 * self.gradient.magnitude_q8() / k.min_rtt_ns;
            let cut_q20 = (cut_q28 >> 8).min(ONE_Q20);
            self.decrease(k, cut_q20, gradient_scale_q20);
        }
    }

    /// Takes in the first loss of a window of data.
    pub fn on_loss(&mut self, k: &Constants) {
        self.rate_bps -= (self.rate_bps * k.loss_decrease_q20) >> Fraction::BITS;
        self.rate_bps = self.rate_bps.max(k.min_bps);
    }

    /// Undoes spurious losses: the rate is at least that of before them.
    pub fn on_spurious_loss(&mut self, before_bps: u64) {
        self.rate_bps = self.rate_bps.max(before_bps);
    }

    /// Adds a step to the rate, up to line rate.
    pub(crate) fn increase(&mut self, k: &Constants, step_bps: u64, scale_q20: u64) {
        self.rate_bps += (step_bps * scale_q20) >> Fraction::BITS;
        self.rate_bps = self.rate_bps.min(k.line_bps);
    }

    /// Takes a part of the rate, down to the minimum rate.
    pub(crate) fn decrease(&mut self, k: &Constants, cut_q20: u64, scale_q20: u64) {
        let cut_q20 = ((cut_q20 * scale_q20) >> Fraction::BITS).min(k.max_decrease_q20);
        self.rate_bps -= (self.rate_bps * cut_q20) >> Fraction::BITS;
        self.rate_bps = self.rate_bps.max(k.min_bps);
    }
}

/// A flow under TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelyControl {
    pub(crate) state: State,
    pub(crate) constants: Constants,
    burst_rate: Rate,
    /// The gate that lets one reaction to loss through for each window of data.
    gate: RecoveryGate,
    /// The rate before the last reaction.
    before_loss_bps: u64,
    /// The window, where one stands for the rate.
    window: Option<RateWindow>,
}

/// A window that is a rate times a fixed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RateWindow {
    time: Span,
    mss: Bytes,
    max: Bytes,
}

impl RateWindow {
    fn of(self, rate: Rate) -> Bytes {
        rate.bytes_in(self.time).min(self.max).max(self.mss)
    }
}

impl TimelyControl {
    fn new(params: &Timely, flow: &Flow) -> Self {
        let constants = Constants::new(params, flow.line_rate);
        let rate_bps = match params.initial_rate {
            InitialRate::Share => constants.line_bps / (u64::from(flow.active_flows) + 1),
            InitialRate::Line => constants.line_bps,
        };
        // A window begins as those of other algorithms do.
        let rate_bps = match params.window_rtt {
            Span::ZERO => rate_bps,
            time => Rate::of(flow.initial_window, time).as_bps().min(constants.line_bps),
        };
        let gradient = match params.initial_rtt {
            InitialRtt::FirstSample => DelayGradient::default(),
            InitialRtt::MinRtt => DelayGradient::after(constants.min_rtt_ns),
        };
        let now_ns = flow.now.since(crate::Time::ZERO).as_ns();
        let state = State::new(rate_bps.max(constants.min_bps), now_ns, gradient);
        let (burst_rate, gate) = (params.burst_rate.0, RecoveryGate::default());
        let window = (!params.window_rtt.is_zero()).then_some(RateWindow {
            time: params.window_rtt,
            mss: flow.mss,
            max: flow.max_window,
        });
        Self { state, constants, burst_rate, gate, before_loss_bps: 0, window }
    }
}

impl CongestionControl for TimelyControl {
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            let now_ns = ack.now.since(crate::Time::ZERO).as_ns();
            self.state.on_completion(&self.constants, now_ns, rtt.network().as_ns());
        }
    }

    /// The paper's TIMELY has no answer to loss, since PFC keeps the network lossless. Without PFC,
    /// `loss_decrease` is the answer.
    fn on_loss(&mut self, loss: &Loss) {
        if self.constants.loss_decrease_q20 > 0 && self.gate.enter_loss(loss) {
            self.before_loss_bps = self.state.rate_bps;
            self.state.on_loss(&self.constants);
        }
    }

    fn on_spurious_loss(&mut self, _spurious: &Spurious) {
        self.state.on_spurious_loss(core::mem::take(&mut self.before_loss_bps));
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        if let Some(window) = &mut self.window {
            window.mss = mss;
        }
    }

    fn limits(&self) -> Limits {
        let rate = Rate::from_bps(self.state.rate_bps);
        if let Some(window) = self.window {
            return Limits::window(window.of(rate));
        }
        Limits {
            cwnd: Bytes::MAX,
            pacing: Pacing::Rate(rate),
            burst: Burst { bytes: Bytes::MAX, rate: self.burst_rate },
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", Rate::from_bps(self.state.rate_bps).as_gbps_f64());
        emit("gradient", self.state.gradient.gradient(self.constants.min_rtt_ns));
    }
}

#[cfg(test)]
mod tests;
