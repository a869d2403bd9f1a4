//! Hybrid slow start: leaving it before something is lost.
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011. Two
//! signs say that the window has reached what the path holds: the ACKs of one round arrive in a
//! train as long as a one-way trip, or the least RTT of a round is above the least RTT of all.

use super::{Cubic, Detect};
use crate::contract::Ack;
use crate::units::{Span, Time};

/// The two signs of one flow in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HyStart {
    /// The signs that count.
    detect: Detect,
    /// Segments that the window must have.
    low_window: f64,
    /// ACKs this close together are one train.
    ack_delta: Span,
    /// The train is long at the least RTT over this.
    train_divisor: u64,
    /// The RTT is up by the least RTT over this, within the bounds that follow.
    delay_divisor: u64,
    /// The least rise that counts.
    delay_min: Span,
    /// The rise that counts in any case.
    delay_max: Span,
    /// RTT samples of a round before its minimum is believed.
    samples_needed: u32,
    /// The round that the following are about; none before the first ACK.
    round: Option<u64>,
    /// The instant of the first ACK of the round.
    round_start: Time,
    /// The instant of the last ACK of the train.
    train_end: Time,
    /// The least RTT of the round.
    round_rtt: Span,
    /// The number of RTT samples of the round.
    samples: u32,
    /// Whether the exit has been found: only a timeout starts the search again.
    found: bool,
}

impl HyStart {
    pub(super) fn new(params: &Cubic) -> Self {
        Self {
            detect: params.hystart,
            low_window: f64::from(params.hystart_low_window),
            ack_delta: params.hystart_ack_delta,
            train_divisor: u64::from(params.hystart_train_divisor.max(1)),
            delay_divisor: u64::from(params.hystart_delay_divisor.max(1)),
            delay_min: params.hystart_delay_min,
            delay_max: params.hystart_delay_max,
            samples_needed: params.hystart_min_samples,
            round: None,
            round_start: Time::ZERO,
            train_end: Time::ZERO,
            round_rtt: Span::MAX,
            samples: 0,
            found: false,
        }
    }

    /// A timeout: the next slow start is searched anew.
    pub(super) fn restart(&mut self) {
        self.round = None;
        self.found = false;
    }

    /// Takes in an ACK in slow start, with a window of `segments`; whether slow start ends here.
    pub(super) fn ends_slow_start(&mut self, ack: &Ack<'_>, segments: f64) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        if self.detect == Detect::Off || self.found {
            return false;
        }
        if self.round != Some(ack.round) {
            self.round = Some(ack.round);
            (self.round_start, self.train_end) = (ack.now, ack.now);
            (self.round_rtt, self.samples) = (Span::MAX, 0);
        }
        if segments >= self.low_window {
            let train = self.train_is_long(ack);
            let delay = self.delay_is_up(rtt.total, ack.min_rtt);
            self.found = match self.detect {
                Detect::Off => false,
                Detect::Train => train,
                Detect::Delay => delay,
                Detect::Both => train || delay,
            };
        }
        self.found
    }

    fn train_is_long(&mut self, ack: &Ack<'_>) -> bool {
        // A gap ends the train: what comes after it in this round does not count.
        if ack.now.since(self.train_end) > self.ack_delta {
            return false;
        }
        self.train_end = ack.now;
        ack.now.since(self.round_start) > ack.min_rtt / self.train_divisor
    }

    fn delay_is_up(&mut self, rtt: Span, min_rtt: Span) -> bool {
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < self.samples_needed {
            self.samples += 1;
            return false;
        }
        let rise = (min_rtt / self.delay_divisor).max(self.delay_min).min(self.delay_max);
        self.round_rtt > min_rtt + rise
    }
}
