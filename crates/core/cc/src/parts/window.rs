//! The congestion window of the TCP family.

use super::RecoveryGate;
use crate::contract::{Ack, Flow, Limits, Loss, LossCause};
use crate::units::{Bytes, Fraction};

/// A window in bytes with slow start, additive increase and one reduction per window of data (RFC
/// 5681): what the TCP family shares. How much to grow and where to fall to is the algorithm's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    max: u64,
    /// Segments by which one ACK lets it grow in slow start at most.
    slow_start_limit: u32,
    /// Increase that has not made a whole byte yet, in units of MSS * bytes / cwnd.
    credit: u64,
    gate: RecoveryGate,
    /// Window and threshold before the last reduction, in case that it was for nothing.
    prior: Option<(u64, u64)>,
}

/// Windows are kept below this, so that products with a segment size fit 64 bits.
const MAX_CWND: u64 = 1 << 40;

impl Window {
    /// The initial window, in slow start without a threshold.
    pub fn new(flow: &Flow) -> Self {
        let mss = flow.mss.get().clamp(1, 1 << 20);
        let max = flow.max_window.get().clamp(mss, MAX_CWND);
        Self {
            cwnd: flow.initial_window.get().clamp(mss, max),
            ssthresh: MAX_CWND,
            mss,
            max,
            slow_start_limit: flow.slow_start_limit.max(1),
            credit: 0,
            gate: RecoveryGate::default(),
            prior: None,
        }
    }

    /// The window in bytes.
    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// The window in segments.
    pub fn segments(&self) -> f64 {
        self.cwnd as f64 / self.mss as f64
    }

    /// `beta` of the window in bytes, rounded down: what a loss leaves.
    pub fn part(&self, beta: Fraction) -> u64 {
        // Below 2^40 bytes times 2^20, for parts of up to all of it.
        (self.cwnd * u64::from(beta.bits())) >> Fraction::BITS
    }

    /// Half of the window in bytes: what Reno leaves.
    pub const fn half(&self) -> u64 {
        self.cwnd / 2
    }

    /// The slow-start threshold in bytes.
    pub const fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// The segment size in bytes.
    pub const fn mss(&self) -> u64 {
        self.mss
    }

    /// Whether the window is below the slow-start threshold.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether `ack` may let a window grow: the window was in use (RFC 7661), no loss is being
    /// repaired (RFC 6675), and no mark came along, be it the first of its window or not (RFC
    /// 3168).
    pub const fn may_grow(ack: &Ack<'_>) -> bool {
        ack.cwnd_limited && !ack.in_recovery && !ack.bytes.is_zero() && ack.ce_bytes.is_zero()
    }

    /// Slow start: grows by what was acknowledged, up to the limit of the flow and to the
    /// threshold; returns how much of `acked` is left for congestion avoidance.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let acked = acked.min(self.mss * u64::from(self.slow_start_limit));
        let grown = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd = (self.cwnd + grown).min(self.max);
        acked - grown
    }

    /// Congestion avoidance: `segments` MSS more per window of acknowledged data.
    pub fn increase(&mut self, acked: u64, segments: f64) {
        let bytes = self.mss as f64 * segments.clamp(0.0, 1e6) / self.cwnd as f64;
        // In 2^-16 bytes, so that nothing is lost of small steps and no rounding depends on the
        // order.
        let step = bytes * acked.min(MAX_CWND) as f64 * 65_536.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "finite and not negative; the cast saturates"
        )]
        let credit = self.credit.saturating_add(step as u64);
        self.cwnd = (self.cwnd + (credit >> 16).min(MAX_CWND)).min(self.max);
        self.credit = credit & 0xffff;
    }

    /// The answer of Reno to an ACK: slow start, then one segment per window (RFC 5681, equation
    /// 3).
    pub fn reno(&mut self, acked: u64) {
        let left = self.left_for_avoidance(acked);
        if left > 0 {
            self.increase(left, 1.0);
        }
    }

    /// Slow start as far as it goes; returns how much of `acked` is left for congestion avoidance.
    pub fn left_for_avoidance(&mut self, acked: u64) -> u64 {
        let left = if self.in_slow_start() { self.slow_start(acked) } else { acked };
        if self.in_slow_start() { 0 } else { left }
    }

    /// Sets the window, within one segment and the most that the flow allows.
    pub fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd = bytes.clamp(self.mss, self.max);
    }

    /// Sets the window in segments.
    pub fn set_segments(&mut self, segments: f64) {
        let bytes = segments.clamp(1.0, MAX_CWND as f64) * self.mss as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped above; the cast saturates and makes zero of what is no number"
        )]
        self.set_cwnd(bytes as u64);
    }

    /// Sets the slow-start threshold, at least two segments.
    pub fn set_ssthresh(&mut self, bytes: u64) {
        self.ssthresh = bytes.clamp(self.mss * 2, MAX_CWND);
    }

    /// Takes in a loss. The first one of a window of data reduces the threshold to what `ssthresh`
    /// says in bytes, and the window with it; a timeout collapses the window to one segment in any
    /// case. A retransmission that is lost again was sent in the next window and reduces again (RFC
    /// 5681, section 4.3): else a repair that never ends would hold a window which the path no
    /// longer carries. Returns whether it was the first one.
    pub fn on_loss(&mut self, loss: &Loss, ssthresh: impl FnOnce(&Self) -> u64) -> bool {
        let reacts = match loss.cause {
            LossCause::Detected | LossCause::Timeout => self.gate.enter_loss(loss),
            // A window that has collapsed is no measure of the path: the threshold of the first
            // timeout stands (RFC 5681, section 3.1).
            LossCause::Persistent => false,
        };
        if reacts {
            self.reduce(ssthresh(self));
        }
        if loss.cause != LossCause::Detected {
            if !reacts && self.cwnd > self.mss {
                // The collapse alone may be for nothing.
                self.prior = Some((self.cwnd, self.ssthresh));
            }
            self.cwnd = self.mss;
            // A timeout declares burst after burst lost, and its oldest one has decided.
            self.gate.close(loss.next);
        }
        reacts
    }

    /// Takes in congestion marks: the first ones of a window of data reduce it as a loss does (RFC
    /// 3168). Returns whether `ack` brought them.
    ///
    /// To two segments, as in Linux, also where a timeout has left one. RFC 3168 allows one, but
    /// sends from there on only a segment per retransmission timeout, which in a datacenter is
    /// thousands of round trips; without that a window of one waits for delayed ACKs, slows down no
    /// further, and stays as long as a queue of other flows has it marked.
    pub fn on_marks(&mut self, ack: &Ack<'_>, ssthresh: impl FnOnce(&Self) -> u64) -> bool {
        let reacts = !ack.ce_bytes.is_zero() && self.gate.enter(ack.end, ack.next);
        if reacts {
            self.reduce(ssthresh(self));
            self.prior = None; // no loss: nothing that could turn out to be false
            if !ack.in_recovery && !ack.bytes.is_zero() {
                self.cwnd = self.cwnd.max(self.mss * 2).min(self.max);
            }
        }
        reacts
    }

    /// Reduces the threshold to `ssthresh` bytes, at least two segments, and the window with it.
    pub fn reduce(&mut self, ssthresh: u64) {
        self.prior = Some((self.cwnd, self.ssthresh));
        self.set_ssthresh(ssthresh);
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.credit = 0;
    }

    /// Undoes the last, needless reduction: restores window and threshold where they were larger.
    pub fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd).min(self.max);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// The segment size has changed.
    pub fn set_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().clamp(1, 1 << 20);
        self.max = self.max.max(self.mss);
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// The window as limits, clocked by ACKs.
    pub const fn limits(&self) -> Limits {
        Limits::window(Bytes::new(self.cwnd))
    }

    /// The two gauges that every window has.
    pub fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("cwnd_kb", self.cwnd as f64 / 1e3);
        if self.ssthresh < MAX_CWND {
            emit("ssthresh_kb", self.ssthresh as f64 / 1e3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Rate, Time};

    fn window() -> Window {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(10));
        Window::new(&flow)
    }

    fn loss(end: u64, next: u64, cause: LossCause) -> Loss {
        let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(1_000), cause);
        (loss.end, loss.next) = (Bytes::new(end), Bytes::new(next));
        loss
    }

    #[test]
    fn a_retransmission_that_is_lost_again_reduces_again() {
        let mut window = window();
        assert!(window.on_loss(&loss(1_000, 10_000, LossCause::Detected), Window::half));
        let repair = |end, next| Loss { in_recovery: true, ..loss(end, next, LossCause::Detected) };
        assert!(!window.on_loss(&repair(9_000, 12_000), Window::half), "sent before the first");
        assert_eq!(window.cwnd(), 5_000);
        assert!(window.on_loss(&repair(11_000, 15_000), Window::half), "sent after it");
        assert_eq!((window.cwnd(), window.ssthresh()), (2_500, 2_500));
        assert!(!window.on_loss(&repair(12_000, 16_000), Window::half), "once per window");
    }

    #[test]
    fn slow_start_doubles_and_stops_at_the_threshold() {
        let mut window = window();
        window.reno(10_000);
        assert_eq!(window.cwnd(), 20_000);
        window.set_ssthresh(25_000);
        assert_eq!(window.slow_start(20_000), 15_000);
        assert_eq!((window.cwnd(), window.in_slow_start()), (25_000, false));
    }

    #[test]
    fn slow_start_is_limited_per_ack_where_the_flow_says_so() {
        let mut flow = Flow::new(Bytes::new(1_000), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(1_000), Bytes::from_kb(10));
        flow.slow_start_limit = 1;
        let mut window = Window::new(&flow);
        // Ten segments, acknowledged in pairs: half of them count.
        (0..5).for_each(|_| window.reno(2_000));
        assert_eq!(window.cwnd(), 15_000);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window() {
        let mut window = window();
        window.set_ssthresh(10_000);
        // Ten ACKs of one segment: a little less than a segment, since the window grows meanwhile.
        (0..10).for_each(|_| window.reno(1_000));
        assert!((10_950..=11_000).contains(&window.cwnd()), "{}", window.cwnd());
    }

    #[test]
    fn small_steps_are_not_lost() {
        let mut window = window();
        window.set_ssthresh(2_000);
        window.set_cwnd(100_000_000);
        // 100,000 ACKs of one segment are one window: one segment, in steps of a hundredth of a
        // byte.
        (0..100_000).for_each(|_| window.reno(1_000));
        assert!((100_000_990..=100_001_000).contains(&window.cwnd()), "{}", window.cwnd());
    }

    #[test]
    fn one_reduction_per_window_and_timeouts_collapse_it() {
        let mut window = window();
        let half = |window: &Window| window.cwnd() / 2;
        assert!(window.on_loss(&loss(1_000, 10_000, LossCause::Detected), half));
        assert!(!window.on_loss(&loss(2_000, 11_000, LossCause::Detected), half));
        assert_eq!((window.cwnd(), window.ssthresh()), (5_000, 5_000));
        assert!(!window.on_loss(&loss(9_000, 11_000, LossCause::Timeout), half));
        assert_eq!((window.cwnd(), window.ssthresh()), (1_000, 5_000));
        assert!(window.on_loss(&loss(12_000, 13_000, LossCause::Timeout), half));
        assert_eq!((window.cwnd(), window.ssthresh()), (1_000, 2_000), "two segments at least");
    }

    #[test]
    fn repeated_timeouts_hold_the_threshold() {
        let mut window = window();
        let half = |window: &Window| window.cwnd() / 2;
        assert!(window.on_loss(&loss(1_000, 10_000, LossCause::Timeout), half));
        // The retransmission, sent after the reaction, is lost as well.
        for next in [12_000, 13_000] {
            assert!(!window.on_loss(&loss(next - 1_000, next, LossCause::Persistent), half));
            assert_eq!((window.cwnd(), window.ssthresh()), (1_000, 5_000));
        }
    }

    #[test]
    fn the_oldest_burst_of_a_timeout_decides_for_all() {
        let mut window = window();
        let half = |window: &Window| window.cwnd() / 2;
        assert!(window.on_loss(&loss(1_000, 10_000, LossCause::Detected), half));
        // The timeout of data from before the reduction, then of some from after it: of a window of
        // one segment, half is no threshold.
        assert!(!window.on_loss(&loss(9_000, 14_000, LossCause::Timeout), half));
        assert!(!window.on_loss(&loss(13_000, 14_000, LossCause::Timeout), half));
        assert_eq!((window.cwnd(), window.ssthresh()), (1_000, 5_000));
        assert!(window.on_loss(&loss(15_000, 16_000, LossCause::Detected), half), "sent after it");
    }

    #[test]
    fn no_ack_with_marks_grows_a_window() {
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(1_000));
        ack.cwnd_limited = true;
        assert!(Window::may_grow(&ack));
        ack.ce_bytes = Bytes::new(1);
        assert!(!Window::may_grow(&ack));
    }

    #[test]
    fn marks_leave_two_segments() {
        let mut window = window();
        let mut ack = Ack::new(Time::ZERO, Time::ZERO, Bytes::new(1_000));
        ack.ce_bytes = ack.bytes;
        for end in 1..20 {
            (ack.end, ack.next) = (Bytes::new(end), Bytes::new(end));
            assert!(window.on_marks(&ack, |window| window.cwnd() / 2));
        }
        assert_eq!(window.cwnd(), 2_000);
        // Also where a timeout has left one, once data is acknowledged and nothing is being
        // repaired.
        window.on_loss(&loss(30, 40, LossCause::Timeout), |window| window.cwnd() / 2);
        for (bytes, in_recovery, cwnd) in [(0, false, 1_000), (1, true, 1_000), (1, false, 2_000)] {
            (ack.bytes, ack.in_recovery) = (Bytes::new(bytes), in_recovery);
            (ack.end, ack.next) = (ack.end + Bytes::new(40), ack.end + Bytes::new(40));
            assert!(window.on_marks(&ack, |window| window.cwnd() / 2));
            assert_eq!((window.cwnd(), window.ssthresh()), (cwnd, 2_000), "{bytes} {in_recovery}");
        }
    }

    #[test]
    fn a_false_loss_is_undone() {
        let mut window = window();
        window.on_loss(&loss(1_000, 10_000, LossCause::Timeout), |window| window.cwnd() / 2);
        window.undo();
        assert_eq!((window.cwnd(), window.in_slow_start()), (10_000, true));
    }

    #[test]
    fn a_false_timeout_after_a_loss_gives_back_what_the_loss_had_left() {
        let mut window = window();
        let half = |window: &Window| window.cwnd() / 2;
        window.on_loss(&loss(1_000, 10_000, LossCause::Detected), half);
        for end in [9_000, 10_000] {
            window.on_loss(&loss(end, 11_000, LossCause::Timeout), half);
        }
        window.on_loss(&loss(12_000, 13_000, LossCause::Persistent), half);
        assert_eq!(window.cwnd(), 1_000);
        window.undo();
        assert_eq!((window.cwnd(), window.ssthresh()), (5_000, 5_000));
    }
}
