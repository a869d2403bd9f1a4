//! TIMELY that needs no tuning: `T_low`, steps, cuts, segments and start follow from what samples
//! tell of the [`Path`].
//!
//! Rates, segments and thresholds are such that one set of parameters serves any number of senders
//! and any rate of the bottleneck. `docs/algorithms/timely.md` has the equations and their reasons.

use super::delivered::Delivered;
use super::law::{Constants, State};
use super::path::Path;
use super::{AppLimited, InitialRate, Timely};
use crate::contract::{Ack, Loss, LossCause, PathMetrics};
use crate::parts::DelayGradient;
use crate::parts::integer::ONE_Q20;
use crate::parts::random::Random;
use crate::units::{Bytes, Fraction, Rate, Span, Time};

/// The parameters of learning in the units of the integer core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    /// The time of a segment at 1 Gb/s.
    segment_ns: u64,
    margin_ns: u64,
    noise_gain_q20: u64,
    noise_limit_ns: u64,
    spacing_gain_q20: u64,
    step_ns: u64,
    max_increase_q20: u64,
    /// The time beyond the least RTT whose data may be in flight.
    window_ns: u64,
}

/// The part of a flow that learns its path, and moves the rate accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Learning {
    rules: Rules,
    path: Path,
    random: Random,
    /// The next segment's size over the rule's, times 2^10: one half to three halves.
    size_q10: u64,
    /// The last sample.
    sample_ns: u64,
    /// The bytes that were acknowledged since it.
    acked: u64,
    delivered: Delivered,
    /// The lesser of the last two samples, at the last completion.
    rtt_ns: Option<u64>,
    /// The smoothed relative overload, times 2^20.
    gradient_q20: i64,
    startup: bool,
    /// The metrics of earlier flows, where the rate of the start follows from them.
    known: Option<PathMetrics>,
    /// The transmission that ends the round.
    round_ends_at: Bytes,
}

impl Learning {
    /// The RTT of a path that nobody knows.
    const UNKNOWN_RTT_NS: u64 = 1_000_000;
    /// Most bytes of a segment, as in all arithmetic here.
    const MOST_BYTES: u64 = 1 << 16;
    /// The excess over `T_low` beyond which a cut does not grow, in thresholds.
    const MOST_EXCESS_Q20: u64 = 8 * ONE_Q20;

    /// A flow whose random numbers follow from `seed`, and whose path earlier flows have `known`;
    /// [`None`] where nothing is learned.
    pub(super) fn new(params: &Timely, seed: u64, known: Option<PathMetrics>) -> Option<Self> {
        let q20 = |fraction: Fraction| u64::from(fraction.bits());
        let rules = Rules {
            segment_ns: params.segment_time.as_ns(),
            margin_ns: params.noise_margin.as_ns(),
            noise_gain_q20: q20(params.noise_gain),
            noise_limit_ns: params.noise_limit.as_ns(),
            spacing_gain_q20: q20(params.spacing_gain),
            step_ns: params.step_time.as_ns().max(1),
            max_increase_q20: q20(params.max_increase),
            window_ns: params.window.as_ns(),
        };
        params.learning.is_on().then(|| Self {
            rules,
            path: Path::new(params.rtt_window),
            random: Random::new(seed),
            size_q10: 1 << 10,
            sample_ns: u64::MAX,
            acked: 0,
            delivered: Delivered::default(),
            rtt_ns: None,
            gradient_q20: 0,
            startup: params.startup.is_on(),
            known: known.filter(|_| params.initial_rate == InitialRate::Path),
            round_ends_at: Bytes::ZERO,
        })
    }

    /// Takes in an ACK, and moves the rate by its RTT. Returns the RTT in nanoseconds, if it has
    /// one.
    pub(super) fn on_ack(
        &mut self,
        state: &mut State,
        k: &Constants,
        ack: &Ack<'_>,
        mss: Bytes,
    ) -> Option<u64> {
        self.acked = (self.acked + ack.bytes.get()).min(Self::MOST_BYTES);
        let sample = ack.rtt.filter(|_| !ack.bytes.is_zero())?;
        let rtt_ns = sample.network().as_ns().min(DelayGradient::MAX_RTT_NS);
        let total_ns = sample.total.saturating_sub(sample.peer).as_ns();
        let whole = ack.end.saturating_sub(ack.first) == ack.bytes;
        self.path.add(ack.now, rtt_ns, total_ns, whole.then_some(ack.bytes.get()));
        let now_ns = ack.now.since(Time::ZERO).as_ns();
        let elapsed_ns = now_ns.saturating_sub(state.updated_at_ns);
        state.updated_at_ns = now_ns;
        // The pacer holds back a flow that uses half of its rate or more.
        let acked = core::mem::take(&mut self.acked);
        self.delivered.add(acked, elapsed_ns);
        let is_used = elapsed_ns <= 2 * Self::time_ns(acked, state.rate_bps);
        let limited = ack.delivery.is_some_and(|delivery| delivery.app_limited) && !is_used;
        let rises = !(limited && k.app_limited == AppLimited::Lowers);

        // An outlier comes alone, and a queue that it could be mistaken for stays.
        let rtt_ns = rtt_ns.min(core::mem::replace(&mut self.sample_ns, rtt_ns));
        let bytes = ack.bytes.get().min(Self::MOST_BYTES);
        // ACKs may come in a batch, although their segments left one after the other.
        let elapsed_ns = elapsed_ns.clamp(Self::time_ns(bytes, state.rate_bps), 1 << 30);
        self.differ(k.alpha, rtt_ns, elapsed_ns);
        let threshold_ns = self.threshold_ns(state.rate_bps, mss);
        if self.startup {
            let total = Span::from_ns(total_ns.max(1));
            let per_rtt = |bytes| Rate::of(Bytes::new(bytes), total).as_bps().min(k.line_bps);
            let carried = ack.in_flight.get().saturating_add(acked);
            let rates = (per_rtt(acked), per_rtt(carried));
            self.start(state, k, ack, (rtt_ns, threshold_ns, rises), rates);
        } else {
            self.step(state, k, (rtt_ns, threshold_ns), (bytes, elapsed_ns, rises));
        }
        self.size_q10 = 512 + u64::from(self.random.below(1_024));
        Some(rtt_ns)
    }

    /// The time of `bytes` at a rate, at least 1 ns.
    fn time_ns(bytes: u64, rate_bps: u64) -> u64 {
        (bytes.min(Self::MOST_BYTES) * 8_000_000_000 / rate_bps.max(1)).clamp(1, 1 << 30)
    }

    /// Takes in the change of the RTT over a time: the relative overload of the bottleneck.
    fn differ(&mut self, alpha: Fraction, rtt_ns: u64, elapsed_ns: u64) {
        let before_ns = self.rtt_ns.replace(rtt_ns).unwrap_or(rtt_ns);
        let change_ns = rtt_ns.abs_diff(before_ns);
        let size_q20 = ((change_ns << Fraction::BITS) / elapsed_ns).min(ONE_Q20).cast_signed();
        let gradient_q20 = if rtt_ns < before_ns { -size_q20 } else { size_q20 };
        let alpha_q20 = i64::from(alpha.bits());
        self.gradient_q20 += ((gradient_q20 - self.gradient_q20) * alpha_q20) >> Fraction::BITS;
    }

    /// Raises the rate by a quarter in each round, and to a segment per RTT at least, until the RTT
    /// is half of the way to `T_low`. Half of what the last round trip carried is left then, so
    /// that the queue drains, and newcomers see the least RTT.
    fn start(
        &mut self,
        state: &mut State,
        k: &Constants,
        ack: &Ack<'_>,
        (rtt_ns, threshold_ns, rises): (u64, u64, bool),
        (clocked_bps, carried_bps): (u64, u64),
    ) {
        let first = self.known.filter(|_| self.round_ends_at.is_zero());
        let is_late = |least: Span| rtt_ns >= least.as_ns() + threshold_ns / 2;
        if first.is_some_and(|known| is_late(known.least_rtt)) {
            // Others have the path now: the flow goes on as one that knows nothing.
            self.known = None;
            self.round_ends_at = ack.next;
            state.rate_bps = clocked_bps.min(state.rate_bps).max(k.min_bps);
        } else if rtt_ns >= self.path.least_rtt_ns() + threshold_ns / 2 {
            self.startup = false;
            state.rate_bps = (state.rate_bps.min(carried_bps) / 2).max(k.min_bps);
        } else if ack.end > self.round_ends_at && rises {
            self.round_ends_at = ack.next;
            let step_bps = clocked_bps.saturating_sub(state.rate_bps).max(state.rate_bps / 4);
            state.increase(k, step_bps, ONE_Q20);
            self.startup = state.rate_bps < k.line_bps;
        }
    }

    /// Moves the rate after the start.
    fn step(
        &self,
        state: &mut State,
        k: &Constants,
        (rtt_ns, threshold_ns): (u64, u64),
        (bytes, elapsed_ns, rises): (u64, u64, bool),
    ) {
        let most_bps = (state.rate_bps * self.rules.max_increase_q20) >> Fraction::BITS;
        let step_bps = (bytes * 8_000_000_000 / self.rules.step_ns).min(most_bps);
        let step_bps = if rises { step_bps } else { 0 };
        let least_ns = self.path.least_rtt_ns();
        let Some(excess_ns) = rtt_ns.checked_sub(least_ns + threshold_ns) else {
            return state.increase(k, step_bps, ONE_Q20);
        };
        let excess_q20 = (excess_ns << Fraction::BITS) / threshold_ns;
        let weight_q20 = self.weight_q20();
        let beta_q20 = (k.beta_q20 * weight_q20) >> Fraction::BITS;
        let cut_q20 = (beta_q20 * excess_q20.min(Self::MOST_EXCESS_Q20)) >> Fraction::BITS;
        // Several completions would answer a delay of the path itself one after the other.
        let cut_q20 = cut_q20 * elapsed_ns / (elapsed_ns + least_ns / 4);
        let before_bps = state.rate_bps;
        state.decrease(k, cut_q20, ONE_Q20);
        state.rate_bps = state.rate_bps.max(self.least_bps(k)).min(before_bps);
        state.increase(k, step_bps, ONE_Q20 - weight_q20);
    }

    /// The rate below which no queue cuts: the delivery rate less the largest cut. Behind a token
    /// bucket rates are far above the port's when a queue shows at last, and cuts until the queue
    /// is gone would take them as far below.
    fn least_bps(&self, k: &Constants) -> u64 {
        let arrives_bps = self.delivered.rate_bps();
        arrives_bps - ((arrives_bps * k.max_decrease_q20) >> Fraction::BITS)
    }

    /// The weight of a decrease: w(g) = g + 1/2, between 0 and 1.
    fn weight_q20(&self) -> u64 {
        let weight_q20 = self.gradient_q20 + (ONE_Q20 / 2).cast_signed();
        u64::try_from(weight_q20).unwrap_or(0).min(ONE_Q20)
    }

    /// `T_low` less the least RTT: the time of a segment at the path's rate, or the noise where
    /// that is more, a margin, and a part of the flow's own spacing.
    fn threshold_ns(&self, rate_bps: u64, mss: Bytes) -> u64 {
        let rules = &self.rules;
        let square = rules.segment_ns * rules.segment_ns;
        let segment_ns = (square / Path::PRIOR_PS * self.path.byte_ps()).isqrt();
        let noise_ns = (self.path.noise_ns() * rules.noise_gain_q20) >> Fraction::BITS;
        let own_ns = Self::time_ns(self.rule_bytes(rate_bps).max(mss.get()), rate_bps);
        let own_ns = own_ns.saturating_sub(rules.segment_ns) * rules.spacing_gain_q20;
        let others_ns = segment_ns.max(noise_ns.min(rules.noise_limit_ns));
        (others_ns + rules.margin_ns + (own_ns >> Fraction::BITS)).max(1)
    }

    /// The size of a segment by the rule, S = T sqrt(R x 1 Gb/s), in bytes.
    fn rule_bytes(&self, rate_bps: u64) -> u64 {
        /// The square root of 1 Gb/s.
        const ROOT: u64 = 31_623;
        let bits_e9 = self.rules.segment_ns * rate_bps.min(1 << 42).isqrt() * ROOT;
        (bits_e9 / 8_000_000_000).min(Self::MOST_BYTES)
    }

    /// The most payload of the next segment: whole packets, one at least.
    pub(super) fn segment(&self, rate_bps: u64, mss: Bytes) -> Bytes {
        let bytes = (self.rule_bytes(rate_bps) * self.size_q10) >> 10;
        let packet = mss.get().max(1);
        Bytes::new((bytes / packet).max(1) * packet)
    }

    /// The rate that paces the next segment. Where it is one packet whatever its factor, the factor
    /// spreads the times between segments, by a quarter up and down, since segments of equal times
    /// would meet the same others again and again.
    pub(super) fn pace_bps(&self, rate_bps: u64, k: &Constants, mss: Bytes) -> u64 {
        if self.rule_bytes(rate_bps) * 3 >= 4 * mss.get() {
            return rate_bps;
        }
        ((rate_bps << 11) / (self.size_q10 + (1 << 10))).clamp(1, k.line_bps.max(1))
    }

    /// The bound of what is in flight: the rate times the least RTT and a time, two segments of the
    /// largest size at least. In the start it is the rate times the RTT that ends the start. Before
    /// the first sample it is what the path held before: a rate from memory may be lost to others.
    pub(super) fn window(&self, rate_bps: u64, mss: Bytes) -> Bytes {
        let least_ns = self.path.least_rtt_ns();
        let ends_ns = || least_ns + self.threshold_ns(rate_bps, mss) / 2;
        let time = if self.path.has_samples() {
            self.startup.then(|| Span::from_ns(ends_ns()))
        } else {
            self.known.map(|known| known.least_rtt)
        };
        if let Some(time) = time {
            return Rate::from_bps(rate_bps).bytes_in(time).max(mss * 2);
        }
        let rtt_ns = if self.path.has_samples() { least_ns } else { Self::UNKNOWN_RTT_NS };
        let time_us = (rtt_ns + self.rules.window_ns).div_ceil(1_000).min(2_000_000);
        let bytes = rate_bps.min(1 << 42) * time_us / 8_000_000;
        let segments = (self.rule_bytes(rate_bps) * 3).max(2 * mss.get());
        Bytes::new(bytes.max(segments))
    }

    /// Cuts the rate for a loss: by `loss_decrease` after a timeout, in the start, and where the
    /// RTT has come half of the way to `T_low`; by `max_decrease` where no queue shows.
    pub(super) fn on_loss(&mut self, state: &mut State, k: &Constants, loss: &Loss, mss: Bytes) {
        let queues_ns = self.path.least_rtt_ns() + self.threshold_ns(state.rate_bps, mss) / 2;
        let is_queued = self.rtt_ns.is_none_or(|rtt_ns| rtt_ns >= queues_ns);
        if core::mem::take(&mut self.startup) || is_queued || loss.cause != LossCause::Detected {
            state.on_loss(k);
        } else {
            state.decrease(k, k.max_decrease_q20, ONE_Q20);
        }
    }

    /// The metrics for later flows. A flow that ends in its start has met no limit, so a higher
    /// rate from before still holds.
    pub(super) fn metrics(&self, state: &State) -> Option<PathMetrics> {
        let before = self.known.filter(|_| self.startup);
        let least_rtt = Span::from_ns(self.path.least_rtt_ns());
        let rate = Rate::from_bps(state.rate_bps);
        self.path.has_samples().then(|| PathMetrics {
            at: Time::ZERO + Span::from_ns(state.updated_at_ns),
            least_rtt: self.known.map_or(least_rtt, |known| least_rtt.min(known.least_rtt)),
            rate: before.map_or(rate, |before| rate.max(before.rate)),
        })
    }

    /// Tells of what was learned, for plots.
    pub(super) fn gauges(
        &self,
        rate_bps: u64,
        mss: Bytes,
        emit: &mut dyn FnMut(&'static str, f64),
    ) {
        let us = |ns: u64| Span::from_ns(ns).as_us_f64();
        let (least_ns, threshold_ns) = (self.path.least_rtt_ns(), self.threshold_ns(rate_bps, mss));
        emit("gradient", self.gradient_q20 as f64 / ONE_Q20 as f64);
        emit("least_rtt_us", us(least_ns));
        emit("noise_us", us(self.path.noise_ns()));
        emit("t_low_us", us(least_ns + threshold_ns));
        emit("path_gbps", self.path.rate_bps() as f64 / 1e9);
        emit("segment_kb", self.rule_bytes(rate_bps).max(mss.get()) as f64 / 1e3);
    }
}

#[cfg(test)]
mod tests;
