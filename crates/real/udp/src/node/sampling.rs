//! The choice of the sends of short messages that give an RTT sample.
//!
//! The kernel tells the time of a departure by a message in the socket's error queue, which costs
//! more than the datagram of a short call. TIMELY takes one sample for each segment of 16 to 64 KB,
//! and so does a lane of long messages. Short messages are segments of their own, whatever their
//! length: of these only some are stamped.

use incast_cc::{Span, Time};

/// The payload after which the next message is stamped: the least segment of the paper.
const BYTES: u64 = 16_000;
/// The number of messages of which one is stamped.
const OF: u32 = 16;
/// The time after which the next message is stamped. It is longer than a process waits for a
/// processor as a rule: or else most samples would be those of messages that have waited so.
const INTERVAL: Span = Span::from_ms(10);

/// The messages of a lane from the last one on that was stamped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampling {
    messages: u32,
    bytes: u64,
    /// The time from which on the next message is stamped.
    from: Time,
}

impl Sampling {
    /// Whether a message of some bytes, which leaves now, is to be stamped.
    pub(super) fn asks(&mut self, now: Time, bytes: u64) -> bool {
        let asks = now >= self.from || self.bytes >= BYTES || self.messages >= OF;
        if asks {
            *self = Self { messages: 0, bytes: 0, from: now + INTERVAL };
        }
        self.messages += 1;
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
    fn one_message_in_sixteen_or_in_16_kb_or_in_10_ms_is_stamped() {
        assert_eq!(stamps(1, 64, Span::ZERO), 1, "the first");
        assert_eq!(stamps(1_600, 64, Span::from_us(20)), 100, "by number");
        assert_eq!(stamps(1_000, 1_600, Span::ZERO), 100, "by bytes");
        assert_eq!(stamps(1_000, 64, Span::from_ms(2)), 200, "by time");
        assert_eq!(stamps(1_000, 64, Span::from_ms(10)), 1_000, "rare ones all");
        assert_eq!(stamps(1_000, 16_000, Span::ZERO), 1_000, "long ones all");
    }
}
