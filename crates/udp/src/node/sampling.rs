//! The choice of the sends of short messages that give an RTT sample.
//!
//! The kernel tells the time of a departure by a message in the socket's error queue, which costs
//! more than the datagram of a short call. TIMELY takes one sample for each segment of 16 to 64 KB,
//! and so does a lane of long messages. Short messages are segments of their own, whatever their
//! length: of these only some are stamped.

use incast_cc::{Span, Time};

/// The payload after which the next message is stamped: the least segment of the paper.
const BYTES: u64 = 16_000;
/// The time after which the next message is stamped.
const INTERVAL: Span = Span::from_ms(1);

/// The messages of a lane since the last one that was stamped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampling {
    bytes: u64,
    /// The time from which on the next message is stamped.
    from: Time,
}

impl Sampling {
    /// Whether a message of some bytes, which leaves now, is to be stamped.
    pub(super) fn asks(&mut self, now: Time, bytes: u64) -> bool {
        let asks = now >= self.from || self.bytes >= BYTES;
        if asks {
            *self = Self { bytes: 0, from: now + INTERVAL };
        }
        self.bytes += bytes;
        asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of stamps of messages of some bytes that leave one after the other.
    fn stamps(messages: u64, bytes: u64, apart: Span) -> usize {
        let mut sampling = Sampling::default();
        (0..messages).filter(|&n| sampling.asks(Time::ZERO + apart * n, bytes)).count()
    }

    #[test]
    fn a_message_in_16_kb_or_in_a_millisecond_is_stamped() {
        assert_eq!(stamps(1, 64, Span::ZERO), 1, "the first");
        assert_eq!(stamps(1_000, 16, Span::ZERO), 1);
        assert_eq!(stamps(1_000, 160, Span::ZERO), 10, "by bytes");
        assert_eq!(stamps(1_000, 64, Span::from_us(20)), 20, "by time");
        assert_eq!(stamps(1_000, 64, Span::from_ms(1)), 1_000, "rare ones all");
        assert_eq!(stamps(1_000, 16_000, Span::ZERO), 1_000, "long ones all");
    }
}
