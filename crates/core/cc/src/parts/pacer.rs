//! Pacing: the time at which the next burst may leave.

use crate::units::{Bytes, Rate, Time};

/// A pacer that spaces the starts of bursts so that their average is the rate. This is TIMELY's
/// send time, computed from segment size, flow rate and the time of the last transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacer {
    /// The start and the size of the last burst.
    last: Option<(Time, Bytes)>,
}

impl Pacer {
    /// The earliest start of the next burst at `rate`. The present rate counts, so a change acts on
    /// the gap that is already running.
    pub fn send_time(&self, rate: Rate) -> Time {
        self.last.map_or(Time::ZERO, |(at, bytes)| at + rate.time_for(bytes))
    }

    /// A burst of `bytes` started at `now`.
    pub const fn sent(&mut self, now: Time, bytes: Bytes) {
        self.last = Some((now, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn bursts_are_spaced_by_their_size_over_the_rate() {
        let (mut pacer, rate) = (Pacer::default(), Rate::from_mbps(500));
        assert_eq!(pacer.send_time(rate), Time::ZERO, "nothing was sent: at once");
        let now = Time::ZERO + Span::from_us(10);
        pacer.sent(now, Bytes::from_kb(64));
        assert_eq!(pacer.send_time(rate), now + Span::from_us(1_024));
        assert_eq!(pacer.send_time(rate * 2), now + Span::from_us(512), "a new rate acts at once");
    }
}
