//! Paths on which TIMELY cannot work with its parameters.

use super::{Constants, TimeScaling, Timely};
use crate::caution::{Caution, PathFacts};
use crate::param::Configurable;
use crate::parts::integer;
use crate::units::{Bytes, Fraction, Rate, Span};

impl Timely {
    /// Warns of paths that TIMELY cannot use with its parameters.
    pub(super) fn warn(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        self.warn_of_law(path, emit);
        if let Some(queue) = self.waits_below(path) {
            let (param, value, preset) = ("t_low", self.t_low, Self::fitting(path));
            emit(Caution::SlowerLinks { param, value, queue, preset });
        }
    }

    /// The queue at an RTT of `t_low`, where it is more than four segments of 64 KB, and `t_low`
    /// more than four RTTs. At 10 Gb/s, for which `t_low` was made, it is less than one segment.
    fn waits_below(&self, path: &PathFacts) -> Option<Bytes> {
        let queue = path.bottleneck().bytes_in(self.t_low.saturating_sub(path.network_rtt));
        let is_far = self.t_low > path.network_rtt * 4;
        // Where hosts time completions, `t_low` bears their noise.
        let is_timed_by_hosts = self.learning.is_on() || !self.min_filter.is_zero();
        (queue > Bytes::from_kb(256) && is_far && !is_timed_by_hosts).then_some(queue)
    }

    /// The preset for fast links that nothing is to be said of on a path.
    fn fitting(path: &PathFacts) -> Option<&'static str> {
        let tuned = [("timely:tuned-100g", "tuned-100g"), ("timely:tuned-400g", "tuned-400g")];
        let fits = |name: &str| {
            let mut params = Self::default();
            let mut values = Self::PRESETS.iter().filter(|preset| preset.name == name);
            let values = values.next().map_or(&[][..], |preset| preset.values);
            let mut says = values.iter().any(|(name, value)| params.set(name, value).is_err());
            params.warn_of_law(path, &mut |_| says = true);
            !says && params.waits_below(path).is_none()
        };
        // They were found behind PFC, and have no answer to a loss.
        let found = tuned.iter().filter(|_| path.queue.is_none()).find(|preset| fits(preset.1));
        found.map(|preset| preset.0)
    }

    /// Warns of paths that the law cannot use.
    fn warn_of_law(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        if self.learning.is_on() {
            // Thresholds lie above the least RTT, whatever it is.
            path.least_window(2, emit);
            let effect = "steps follow each other before any of them shows in an RTT";
            path.rtt_below(("step_time", self.step_time), (4, Span::from_secs(10)), effect, emit);
            return path.least_rate("min_rate", self.min_rate, emit);
        }
        let effect = "no RTT is short enough for the rate to rise whatever its trend";
        let settles = if self.noise_is_borne(path) { path.share } else { Rate::ZERO };
        path.thresholds(self.t_low, self.t_high, (settles, effect), emit);
        self.segments_ahead(path, emit);
        self.whole_rate(path, emit);
        if !self.window_rtt.is_zero() {
            return path.least_window(1, emit);
        }
        if !self.window.is_zero() {
            let effect = "less is in flight than the rate would send in a round trip";
            path.rtt_below(("window", self.window), (2, Span::from_secs(1)), effect, emit);
        }
        // Without PFC, each flow has a packet on its way and one that waits.
        if self.loss_decrease > Fraction::ZERO {
            path.least_window(2, emit);
        }
        let line_bps = integer::line_bps(path.line_rate);
        let floor = integer::scaled(self.min_rate, self.delta_reference, line_bps);
        path.least_rate("min_rate", Rate::from_bps(floor), emit);
    }

    /// Whether a flow alone, whose NIC leaves no queue, gains at least as much at half of its share
    /// as the noise in its RTTs takes: noise from zero to A is a gradient of A / (4 `min_rtt`) on
    /// average, where it rises.
    fn noise_is_borne(&self, path: &PathFacts) -> bool {
        let Some(noise) = path.noise else { return false };
        let alone = self.window_rtt.is_zero() && !path.queues();
        let gradient = self.alpha.as_f64() * noise.as_secs_f64() / 4.0 / self.min_rtt.as_secs_f64();
        let (gain, cut) = self.steps(path, gradient);
        alone && gain >= cut
    }

    /// Warns where flows meet segments of each other at half of their shares, and these take more
    /// of the rate than all other segments give.
    fn segments_ahead(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let (time, spare) = (path.segment_time(), self.t_low.saturating_sub(path.network_rtt));
        let passes = path.above_percent(self.t_low, PathFacts::SEGMENT_PERCENT);
        if spare.is_zero() || passes || path.flows < 2 || !self.window_rtt.is_zero() {
            return;
        }
        let (time_s, spare_s) = (time.as_secs_f64(), spare.as_secs_f64());
        // Others have half of their shares of the port; waits are even from zero to a segment.
        let others = (path.flows - 1) as f64 / path.flows as f64 / 2.0;
        let ahead = others * (time_s - spare_s).max(0.0) / time_s;
        let rise = time_s.midpoint(spare_s);
        let gradient = self.alpha.as_f64() * rise / self.min_rtt.as_secs_f64();
        let (gain, cut) = self.steps(path, gradient);
        if cut * ahead > gain * (1.0 - ahead) {
            let (param, value, rtt) = ("t_low", self.t_low, path.network_rtt + time);
            // The loss before it is bounded goes by alpha.
            let free = Self { max_decrease: Fraction::MAX, ..*self };
            let (_, unbounded) = free.steps(path, gradient);
            let alpha = self.alpha.as_f64() * gain * (1.0 - ahead) / (unbounded * ahead);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from zero to 10,000"
            )]
            let alpha = Fraction::from_ratio(((alpha * 1e4) as u32).max(1), 10_000);
            let scale = ("alpha", alpha);
            let [gain, cut] = [gain, cut].map(Rate::from_bps_f64);
            emit(Caution::SegmentAhead { param, value, rtt, gain, cut, scale });
        }
    }

    /// Warns where the gradient of a single sample takes the whole rate if a segment of each other
    /// flow happens to be ahead. Rates rise until the RTT is above `t_low`, so it is now and then.
    fn whole_rate(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        let others = path.segment_time() * (path.flows.max(1) - 1);
        let steepness = self.alpha.as_f64() * self.beta.as_f64() / self.min_rtt.as_secs_f64();
        let takes = others.as_secs_f64() * steepness >= 1.0 && self.max_decrease >= Fraction::ONE;
        if takes && path.network_rtt < self.t_low && self.window_rtt.is_zero() {
            let rise = self.min_rtt * Fraction::ONE.bits().into() / u64::from(self.alpha.bits());
            let rise = rise * Fraction::ONE.bits().into() / u64::from(self.beta.bits());
            emit(Caution::WholeRate { param: "max_decrease", rise, others });
        }
    }

    /// The rates that a completion gives and takes, at half of the flow's share, by `gradient`.
    fn steps(&self, path: &PathFacts, gradient: f64) -> (f64, f64) {
        let k = Constants::new(self, path.line_rate);
        let rate = (path.share / 2).as_bps().max(1);
        let between = Rate::from_bps(rate).time_for(path.acked);
        let scale = (between.as_secs_f64() / self.min_rtt.as_secs_f64().max(1e-12)).min(1.0);
        let of = |scaled: bool| if scaled { scale } else { 1.0 };
        let gain = k.delta_bps as f64 * of(self.time_scaling != TimeScaling::Never);
        let cut = self.beta.as_f64() * gradient * of(self.time_scaling == TimeScaling::Always);
        (gain, rate as f64 * cut.min(self.max_decrease.as_f64()))
    }
}
