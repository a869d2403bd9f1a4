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
//!
//! [`Completions`] is for hosts that time ACKs, as Linux TCP does: it filters their samples, and
//! bounds what is in flight. The preset `linux-tcp` has it on, the presets of papers off.

mod cautions;
mod choices;
mod completions;
mod delivered;
mod law;
mod learning;
mod path;
mod presets;

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, Burst, CongestionControl, Flow, Limits, Loss, Pacing, PathMetrics, Reads,
    RttSample, Spurious,
};
use crate::param::{BurstRate, Configurable, Conflict, Info, Kind, Need, Preset, Transport};
use crate::parts::{DelayGradient, RecoveryGate, Switch};
use crate::units::{Bytes, Fraction, Rate, Span};
use crate::{configurable_by_name, parameters};

pub use self::choices::{
    AppLimited, HaiCounts, InitialRate, InitialRtt, Serialization, TimeScaling,
};
pub use self::completions::Completions;
pub use self::law::{Constants, State};
use self::learning::Learning;
pub use self::path::Path;

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
        /// Time at line rate that an RTT sample leaves out.
        pub serialization: Serialization = Serialization::Segment, source src!(paper);
        /// Least time of a completion, which is the least sample of this time, of a round and of
        /// `min_filter_acks`. At 0 each sample is a completion.
        pub min_filter: Span = Span::ZERO, in "0ns" to "1s", source src!(ours);
        /// Least number of samples of a completion, where `min_filter` is above 0.
        pub min_filter_acks: u32 = 1, in "1" to "1000", source src!(ours);
        /// Most additive steps at once: a completion that comes late adds a step for each `min_rtt`
        /// since the last one.
        pub catch_up: u32 = 1, in "1" to "1000", source src!(ours);
        /// The effect of samples that were taken while the application sent less than the rate.
        pub app_limited: AppLimited = AppLimited::Counts, source src!(ours);
        /// Whether a new flow doubles its rate at each completion until `t_low` is passed, a loss
        /// comes, or the line is full.
        pub startup: Switch = Switch::Off, source src!(ours);
        /// The time whose data at the rate is the most in flight: it bounds bursts, and the effect
        /// of a loss. At 0 there is no bound.
        pub window: Span = Span::ZERO, in "0ns" to "1s", source src!(ours);
        /// Least bound of what is in flight, in packets, where `window` is above 0.
        pub window_floor: u32 = 2, in "2" to "1000000", source src!(ours);
        /// Whether a flow learns the least RTT, the noise and the rate of its path from samples.
        /// `t_low`, `t_high`, `min_rtt`, `delta` and the segments then follow from these, and the
        /// parameters below hold.
        pub learning: Switch = Switch::Off, source src!(ours);
        /// The time T of a segment at 1 Gb/s. At the rate R a segment has T sqrt(R x 1 Gb/s), from
        /// one packet to the transport's segment.
        pub segment_time: Span = Span::from_us(60), in "1us" to "1ms", source src!(ours);
        /// Time by which `T_low` lies above the least RTT and all that was learned.
        pub noise_margin: Span = Span::from_us(16), in "0ns" to "1ms", source src!(ours);
        /// The least time from the least RTT to `T_low`, in mean differences of two samples.
        pub noise_gain: Fraction = Fraction::from_ratio(4, 1), in "0" to "100", source src!(ours);
        /// Most time that noise lifts `T_low`.
        pub noise_limit: Span = Span::from_us(100), in "0ns" to "1s", source src!(ours);
        /// The part of the time between two segments of the flow by which `T_low` is higher, beyond
        /// `segment_time`: slow flows bear more, so that they gain on fast ones.
        pub spacing_gain: Fraction = Fraction::from_ratio(1, 16), in "0" to "1",
            source src!(ours);
        /// The time in which the rate grows by all that is acknowledged: the additive step is the
        /// acknowledged data over this time.
        pub step_time: Span = Span::from_ms(25), in "1us" to "10s", source src!(ours);
        /// The largest part of itself by which one completion raises the rate.
        pub max_increase: Fraction = Fraction::from_ratio(1, 100), in "0.000001" to "1",
            source src!(ours);
        /// The time of which the least RTT is the least, and for which a rate is remembered.
        pub rtt_window: Span = Span::from_secs(2), in "1ms" to "1000s", source src!(ours);
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
    const PRESETS: &'static [Preset] = presets::PRESETS;
    configurable_by_name!();

    fn burst_varies(&self) -> bool {
        self.learning.is_on()
    }

    fn needs(&self) -> &'static [Need] {
        if self.loss_decrease > Fraction::ZERO { &[] } else { Self::INFO.needs }
    }

    fn check(&self) -> Result<(), Conflict> {
        if self.t_low > self.t_high {
            return Err(Conflict { name: "t_low", rule: "must not be above", other: "t_high" });
        }
        if !self.window.is_zero() && !self.window_rtt.is_zero() {
            return Err(Conflict {
                name: "window",
                rule: "must be 0ns beside",
                other: "window_rtt",
            });
        }
        if self.learning.is_on() && !self.window_rtt.is_zero() {
            return Err(Conflict {
                name: "learning",
                rule: "must be off beside",
                other: "window_rtt",
            });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        self.warn(path, emit);
    }
}

/// A flow under TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelyControl {
    pub(crate) state: State,
    pub(crate) constants: Constants,
    completions: Completions,
    /// The transmission that was next at the last completion: the round ends with data after it.
    round_ends_at: Bytes,
    burst_rate: Rate,
    /// The gate that lets one reaction to loss through for each window of data.
    gate: RecoveryGate,
    /// The rate before the last reaction.
    before_loss_bps: u64,
    mss: Bytes,
    /// The most that may be in flight.
    max_window: Bytes,
    window: Window,
    learning: Option<Learning>,
}

/// The window of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    /// None: the rate paces alone.
    None,
    /// The rate times a fixed time, in place of the rate.
    Rate(Span),
    /// A bound on the data in flight, beside the rate.
    Bound(Bytes),
}

impl TimelyControl {
    /// The RTT of a new flow whose path nobody knows.
    const UNKNOWN_RTT: Span = Span::from_ms(1);
    /// The divisor of a rate from memory.
    const FIRST_PART: u64 = 4;

    fn new(params: &Timely, flow: &Flow) -> Self {
        let k = Constants::new(params, flow.line_rate);
        let share_bps = k.line_bps / (u64::from(flow.active_flows) + 1);
        let packet_bps = Completions::first_bps(&k, flow.mss.get(), Self::UNKNOWN_RTT.as_ns());
        let is_fresh = |path: &PathMetrics| flow.now.since(path.at) <= params.rtt_window;
        let known = flow.path.filter(is_fresh);
        let rate_bps = match params.initial_rate {
            InitialRate::Share => share_bps,
            InitialRate::Line => k.line_bps,
            InitialRate::InitialWindow => {
                let rtt = flow.base_rtt.unwrap_or(Self::UNKNOWN_RTT);
                Completions::first_bps(&k, flow.initial_window.get(), rtt.as_ns())
            }
            InitialRate::Packet => packet_bps,
            InitialRate::Path => {
                let known_bps = known.map_or(0, |path| path.rate.as_bps() / Self::FIRST_PART);
                known_bps.min(share_bps).max(packet_bps)
            }
        };
        // The initial window is the same as with other algorithms.
        let rate_bps = match params.window_rtt {
            Span::ZERO => rate_bps,
            time => Rate::of(flow.initial_window, time).as_bps().min(k.line_bps),
        };
        let gradient = match params.initial_rtt {
            InitialRtt::FirstSample => DelayGradient::default(),
            InitialRtt::MinRtt => DelayGradient::after(k.min_rtt_ns),
        };
        let now_ns = flow.now.since(crate::Time::ZERO).as_ns();
        let window = if !params.window_rtt.is_zero() {
            Window::Rate(params.window_rtt)
        } else if k.window_ns > 0 {
            Window::Bound(flow.mss)
        } else {
            Window::None
        };
        let mut control = Self {
            state: State::new(rate_bps.max(k.min_bps), now_ns, gradient),
            constants: k,
            completions: Completions::new(&k),
            round_ends_at: Bytes::ZERO,
            burst_rate: params.burst_rate.0,
            gate: RecoveryGate::default(),
            before_loss_bps: 0,
            mss: flow.mss,
            max_window: flow.max_window,
            window,
            learning: Learning::new(params, flow.seed, known),
        };
        control.bound_to(Bytes::MAX);
        control
    }

    /// Takes in an ACK; returns the RTT of the completion that it ends, in nanoseconds, if it ends
    /// one.
    pub(crate) fn completion(&mut self, ack: &Ack<'_>) -> Option<u64> {
        if let Some(learning) = &mut self.learning {
            return learning.on_ack(&mut self.state, &self.constants, ack, self.mss);
        }
        if ack.end > self.round_ends_at {
            self.completions.end_round();
        }
        let rtt_ns = self.sample_ns(ack, ack.rtt?);
        let app_limited = ack.delivery.is_some_and(|delivery| delivery.app_limited);
        let now_ns = ack.now.since(crate::Time::ZERO).as_ns();
        let (state, k) = (&mut self.state, &self.constants);
        let completed = self.completions.on_sample(state, k, now_ns, rtt_ns, app_limited);
        if completed.is_some() {
            self.round_ends_at = ack.next;
        }
        completed
    }

    /// The RTT without its parts outside the network.
    fn sample_ns(&self, ack: &Ack<'_>, rtt: RttSample) -> u64 {
        match self.constants.serialization {
            Serialization::Segment => rtt.network().as_ns(),
            Serialization::Acked => {
                let rtt_ns = rtt.total.saturating_sub(rtt.peer).as_ns();
                let segments = ack.bytes.get().div_ceil(self.mss.get().max(1));
                Completions::network_rtt_ns(&self.constants, rtt_ns, segments, self.mss.get())
            }
        }
    }

    /// Bounds what is in flight by the rate. While the losses of `ack` are repaired, no more enters
    /// the network than leaves it.
    pub(crate) fn bound(&mut self, ack: &Ack<'_>) {
        let leaves = ack.in_recovery.then_some(ack.in_flight + ack.bytes);
        self.bound_to(leaves.unwrap_or(Bytes::MAX));
    }

    /// Bounds what is in flight by the rate, and to `most`.
    fn bound_to(&mut self, most: Bytes) {
        let Window::Bound(cwnd) = &mut self.window else { return };
        let (rate_bps, mss) = (self.state.rate_bps, self.mss.get());
        let bound = if let Some(learning) = &self.learning {
            learning.window(rate_bps, self.mss)
        } else {
            let segments = Completions::window_segments(&self.constants, rate_bps, mss);
            Bytes::new(segments.saturating_mul(mss))
        };
        *cwnd = bound.min(most).min(self.max_window).max(self.mss);
    }
}

impl CongestionControl for TimelyControl {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.completion(ack);
        self.bound(ack);
    }

    /// The paper's TIMELY has no answer to loss, since PFC keeps the network lossless. Without PFC,
    /// `loss_decrease` is the answer.
    fn on_loss(&mut self, loss: &Loss) {
        if !self.gate.enter_loss(loss) {
            return;
        }
        if self.constants.loss_decrease_q20 > 0 {
            self.before_loss_bps = self.state.rate_bps;
        }
        match &mut self.learning {
            Some(learning) => learning.on_loss(&mut self.state, &self.constants, loss, self.mss),
            None => self.completions.on_loss(&mut self.state, &self.constants),
        }
        self.bound_to(Bytes::MAX);
    }

    fn on_spurious_loss(&mut self, _spurious: &Spurious) {
        self.state.on_spurious_loss(core::mem::take(&mut self.before_loss_bps));
        self.bound_to(Bytes::MAX);
    }

    fn on_mss_change(&mut self, mss: Bytes) {
        self.mss = mss;
        self.bound_to(Bytes::MAX);
    }

    fn limits(&self) -> Limits {
        let rate_bps = self.state.rate_bps;
        let rate = Rate::from_bps(rate_bps);
        let cwnd = match self.window {
            Window::None => Bytes::MAX,
            Window::Rate(time) => {
                let cwnd = rate.bytes_in(time).min(self.max_window).max(self.mss);
                return Limits::window(cwnd);
            }
            Window::Bound(cwnd) => cwnd,
        };
        let (rate, bytes) = match &self.learning {
            None => (rate, Bytes::MAX),
            Some(learning) => {
                let pace_bps = learning.pace_bps(rate_bps, &self.constants, self.mss);
                (Rate::from_bps(pace_bps), learning.segment(rate_bps, self.mss))
            }
        };
        let burst = Burst { bytes, rate: self.burst_rate };
        Limits { cwnd, pacing: Pacing::Rate(rate), burst }
    }

    fn reads(&self) -> Reads {
        let lowers = self.constants.app_limited == AppLimited::Lowers;
        Reads { delivery: lowers, ..Reads::NONE }
    }

    fn metrics(&self) -> Option<PathMetrics> {
        self.learning.as_ref()?.metrics(&self.state)
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", Rate::from_bps(self.state.rate_bps).as_gbps_f64());
        match &self.learning {
            Some(learning) => learning.gauges(self.state.rate_bps, self.mss, emit),
            None => emit("gradient", self.state.gradient.gradient(self.constants.min_rtt_ns)),
        }
    }
}

#[cfg(test)]
mod tests;
