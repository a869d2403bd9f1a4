//! Completions of hosts that time ACKs, and the window that bounds what is in flight.
//!
//! In the paper NICs time completions of segments of tens of kilobytes. Where hosts time ACKs, a
//! busy CPU may delay one sample in ten, and each such sample would take a part of the rate. So the
//! least of several samples stands for them. Their number is equal for all flows: the least
//! of more samples is less, and fast flows would see shorter queues than slow ones.
//!
//! This is the other half of the integer core that the BPF program shares.

use super::law::{Constants, State};
use super::{AppLimited, Serialization};

/// The samples since the last completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completions {
    least_rtt_ns: u64,
    samples: u32,
    /// Whether data sent after the last completion has been acknowledged.
    round_over: bool,
    /// Whether all samples are application-limited.
    app_limited: bool,
    /// Whether the rate doubles: until an RTT above `t_low`, or a loss.
    startup: bool,
}

impl Completions {
    /// Most segments of one ACK whose serialization is left out of its sample.
    const MOST_SEGMENTS: u64 = 64;
    /// Most time of a window: rates below 2^42 b/s times a second fit 64 bits in microseconds.
    const MOST_WINDOW_US: u64 = 1_000_000;

    /// A flow that has no samples yet.
    pub const fn new(k: &Constants) -> Self {
        Self {
            least_rtt_ns: u64::MAX,
            samples: 0,
            round_over: false,
            app_limited: true,
            startup: k.startup,
        }
    }

    /// The rate of a flow whose RTT is `rtt_ns` before its first sample: the initial window of
    /// `window_bytes` once per RTT, up to line rate.
    pub fn first_bps(k: &Constants, window_bytes: u64, rtt_ns: u64) -> u64 {
        let bits_per_s = window_bytes.min(1 << 30) * 8_000_000_000;
        (bits_per_s / rtt_ns.max(1)).clamp(k.min_bps, k.line_bps.max(k.min_bps))
    }

    /// The RTT of an ACK for `segments` of `mss` without their serialization; never 0.
    pub fn network_rtt_ns(k: &Constants, rtt_ns: u64, segments: u64, mss: u64) -> u64 {
        let segments = match k.serialization {
            Serialization::Segment => 1,
            Serialization::Acked => segments.min(Self::MOST_SEGMENTS),
        };
        let own_ns = segments * mss.min(1 << 16) * 8_000_000_000 / k.line_bps.max(1);
        rtt_ns.saturating_sub(own_ns).max(1)
    }

    /// Data was acknowledged that was sent after the last completion.
    pub const fn end_round(&mut self) {
        self.round_over = true;
    }

    /// Takes in a sample; returns the RTT of the completion that it ends, if it ends one. The next
    /// round begins then.
    pub fn on_sample(
        &mut self,
        state: &mut State,
        k: &Constants,
        now_ns: u64,
        rtt_ns: u64,
        app_limited: bool,
    ) -> Option<u64> {
        self.least_rtt_ns = self.least_rtt_ns.min(rtt_ns);
        self.samples = self.samples.saturating_add(1);
        self.app_limited &= app_limited;
        let since_ns = now_ns.saturating_sub(state.updated_at_ns);
        let waits = !self.round_over || self.samples < k.min_filter_acks;
        if k.min_filter_ns > 0 && (waits || since_ns < k.min_filter_ns) {
            return None;
        }
        let least_rtt_ns = self.least_rtt_ns;
        self.complete(state, k, now_ns, since_ns);
        *self = Self { startup: self.startup, ..Self::new(k) };
        Some(least_rtt_ns)
    }

    /// Gives the law a completion, `since_ns` after the last one.
    fn complete(&mut self, state: &mut State, k: &Constants, now_ns: u64, since_ns: u64) {
        let before_bps = state.rate_bps;
        state.on_completion(k, now_ns, self.least_rtt_ns);
        if k.catch_up > 1 {
            state.rate_bps = caught_up(k, before_bps, state.rate_bps, since_ns);
        }
        if self.startup {
            if self.least_rtt_ns >= k.t_low_ns {
                self.startup = false;
            } else if !self.app_limited {
                state.rate_bps = (before_bps * 2).min(k.line_bps);
            }
        }
        if self.app_limited && k.app_limited == AppLimited::Lowers {
            state.rate_bps = state.rate_bps.min(before_bps);
        }
    }

    /// Takes in the first loss of a window of data.
    pub fn on_loss(&mut self, state: &mut State, k: &Constants) {
        self.startup = false;
        state.on_loss(k);
    }

    /// The window for a rate, in segments of `mss`.
    pub fn window_segments(k: &Constants, rate_bps: u64, mss: u64) -> u64 {
        let bits = rate_bps * (k.window_ns / 1_000).min(Self::MOST_WINDOW_US) / 1_000_000;
        (bits / 8 / mss.max(1) + 1).max(k.window_floor_segments.max(2))
    }
}

/// The rate after a late completion. Slow flows have few samples, and so late completions. If each
/// were worth one step, fast flows would gain on them. So an increase counts for the time that has
/// passed.
fn caught_up(k: &Constants, before_bps: u64, after_bps: u64, since_ns: u64) -> u64 {
    let steps = (since_ns / k.min_rtt_ns.max(1)).min(k.catch_up);
    if after_bps <= before_bps || steps < 2 {
        return after_bps;
    }
    (before_bps + (after_bps - before_bps) * steps).min(k.line_bps)
}

#[cfg(test)]
mod tests;
