//! Algorithm 1 of the paper: the integer core that the BPF program shares.

use super::{AppLimited, HaiCounts, Serialization, TimeScaling, Timely};
use crate::parts::DelayGradient;
use crate::parts::integer::{self, ONE_Q20};
use crate::units::{Fraction, Rate};

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
    /// The least time of a completion; at 0 each sample is one.
    pub min_filter_ns: u64,
    /// The least number of samples of a completion.
    pub min_filter_acks: u32,
    /// Most steps of a completion that comes late.
    pub catch_up: u64,
    /// The time whose data is the window; at 0 there is none.
    pub window_ns: u64,
    /// The least window, in segments.
    pub window_floor_segments: u64,
    /// Whether a new flow doubles its rate at each completion until `t_low_ns` is passed.
    pub startup: bool,
    /// The effect of application-limited samples.
    pub app_limited: AppLimited,
    /// The time that samples leave out.
    pub serialization: Serialization,
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
            min_filter_ns: params.min_filter.as_ns(),
            min_filter_acks: params.min_filter_acks,
            catch_up: u64::from(params.catch_up),
            window_ns: params.window.as_ns(),
            window_floor_segments: u64::from(params.window_floor),
            startup: params.startup.is_on(),
            app_limited: params.app_limited,
            serialization: params.serialization,
        }
    }
}

/// The state of a flow under TIMELY: small enough for the private area of a Linux socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub(super) rate_bps: u64,
    pub(super) updated_at_ns: u64,
    pub(super) gradient: DelayGradient,
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

    /// Undoes spurious losses: raises the rate to `before_bps` if it is below.
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
