//! The token bucket of a port, as Linux's `tbf` has it.

use incast_cc::{Bytes, Rate, Span, Time};

/// A token bucket: tokens grow at the rate up to the burst, and a packet leaves as soon as there is
/// a token for each of its bytes.
///
/// Tokens are kept as the time at which the bucket is full (virtual scheduling, as in the generic
/// cell rate algorithm of ITU-T I.371), so no token is lost to rounding while the bucket rests. The
/// transmitter's books say what has left: a packet that queue management drops as it leaves takes
/// no tokens, and neither does a PFC frame.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    burst: Bytes,
    /// The time at which the bucket is full if nothing leaves.
    full_at: Time,
    /// The bytes on the wire that the tokens have paid for, over the whole run.
    paid: u64,
    /// The time of the last look: bytes that have left since count as if they had left then.
    seen: Time,
    /// The class whose packet waits for tokens: its turn has come.
    pub(super) turn: Option<u8>,
}

impl Bucket {
    /// A full bucket.
    pub(super) const fn new(rate: Rate, burst: Bytes) -> Self {
        Self { rate, burst, full_at: Time::ZERO, paid: 0, seen: Time::ZERO, turn: None }
    }

    /// The earliest time, `now` at least, at which there are tokens for a packet of `wire` bytes.
    /// `left` are the bytes that have left the port over the whole run.
    pub(super) fn earliest(&mut self, now: Time, wire: u64, left: u64) -> Time {
        self.settle(now, left);
        let full = self.full_at.max(now) + self.rate.time_for(Bytes::new(wire));
        // The packet may go once the bucket, after paying for it, would fill within `depth`.
        now + Span::from_ps(full.since(now).as_ps().saturating_sub(self.depth().as_ps()))
    }

    /// Sets the rate from `now` on. The tokens that are there stay.
    pub(super) fn set_rate(&mut self, now: Time, rate: Rate, left: u64) {
        self.settle(now, left);
        let lacks = self.rate.bytes_in(self.full_at.since(now));
        self.rate = rate;
        self.full_at = now + rate.time_for(lacks);
    }

    /// Takes the tokens for the bytes that have left since the last look.
    fn settle(&mut self, now: Time, left: u64) {
        if left > self.paid {
            let took = self.rate.time_for(Bytes::new(left - self.paid));
            self.full_at = self.full_at.max(self.seen) + took;
            self.paid = left;
        }
        self.seen = now;
    }

    /// The time in which an empty bucket fills.
    const fn depth(&self) -> Span {
        self.rate.time_for(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    /// 1 Gb/s: a byte takes 8 ns, 1,000 B take 8 us.
    fn bucket() -> Bucket {
        Bucket::new(Rate::from_gbps(1), Bytes::new(3_000))
    }

    #[test]
    fn a_burst_leaves_at_once_and_then_the_rate() {
        let mut bucket = bucket();
        let mut starts = Vec::new();
        let mut now = us(100);
        for packet in 0..6 {
            now = bucket.earliest(now, 1_000, packet * 1_000);
            starts.push(now);
        }
        assert_eq!(starts, [100, 100, 100, 108, 116, 124].map(us));
    }

    #[test]
    fn tokens_of_a_rest_are_the_burst_at_most() {
        let mut bucket = bucket();
        assert_eq!(bucket.earliest(us(0), 3_000, 0), us(0));
        // All have gone. 8 us later there are 1,000 B, after 24 us and ever after 3,000 B.
        assert_eq!(bucket.earliest(us(8), 1_000, 3_000), us(8));
        assert_eq!(bucket.earliest(us(8), 1_500, 3_000), us(12));
        assert_eq!(bucket.earliest(us(500), 3_000, 3_000), us(500));
        assert_eq!(bucket.earliest(us(500), 1_000, 6_000), us(508));
    }

    #[test]
    fn a_look_takes_no_tokens() {
        let mut bucket = bucket();
        for _ in 0..10 {
            assert_eq!(bucket.earliest(us(1), 3_000, 0), us(1));
        }
    }

    #[test]
    fn tokens_stay_when_the_rate_changes() {
        let mut bucket = bucket();
        assert_eq!(bucket.earliest(us(0), 3_000, 0), us(0));
        // Of 3,000 B that have gone, 1,000 B are back after 8 us. The rest comes twice as fast.
        bucket.set_rate(us(8), Rate::from_gbps(2), 3_000);
        assert_eq!(bucket.earliest(us(8), 1_000, 3_000), us(8));
        assert_eq!(bucket.earliest(us(8), 3_000, 3_000), us(16));
    }
}
