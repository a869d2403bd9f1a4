//! The time from the reading of the clock for an answer to the kernel's stamp of its departure.
//!
//! An answer tells its turnaround before it leaves, so what the system call and the kernel take
//! until the stamp would be in the peer's RTT. Nobody knows that time beforehand, but the least of
//! the last ones is a part of it for certain, as long as the machine stays the same.

use crate::socket::Stamp;

/// The number of times whose least counts.
const KEPT: usize = 8;
/// The number of sends of answers to long messages of which one gets a stamp: the kernel tells it
/// by a message of its own. Of short messages few have their RTT measured, and their answers get
/// one each.
const OF: u32 = 8;

/// The last times from the clock to the stamp, in nanoseconds.
#[derive(Debug)]
pub(super) struct AnswerDelay {
    last: [u64; KEPT],
    next: usize,
    /// The number of sends of answers to long messages.
    sends: u32,
}

impl Default for AnswerDelay {
    fn default() -> Self {
        // Before there are as many as are kept, nothing is known.
        Self { last: [0; KEPT], next: 0, sends: 0 }
    }
}

impl AnswerDelay {
    /// Whether a send of answers to long messages is to be stamped.
    pub(super) const fn asks(&mut self) -> bool {
        self.sends = self.sends.wrapping_add(1);
        self.sends.is_multiple_of(OF)
    }

    /// Takes note of a send that left at a stamp, and for which the clock was read.
    pub(super) fn left(&mut self, read: Stamp, left: Stamp) {
        self.last[self.next] = left.ns.saturating_sub(read.ns);
        self.next = (self.next + 1) % KEPT;
    }

    /// The time of the departure of what is made now, as far as it is certain.
    pub(super) fn departure(&self, now: Stamp) -> Stamp {
        Stamp { ns: now.ns + self.last.into_iter().min().unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bytes::Bytes;

    use super::*;
    use crate::node::Event;
    use crate::node::testing::node;
    use crate::socket::Features;

    #[test]
    fn the_least_of_the_last_times_counts_once_there_are_enough() {
        let mut delay = AnswerDelay::default();
        let (mut at, read) = (0, Stamp { ns: 1_000 });
        for ns in [5_000, 3_000].into_iter().chain([4_000; KEPT]) {
            assert_eq!(delay.departure(read).ns - read.ns, if at < KEPT { 0 } else { 3_000 });
            delay.left(read, Stamp { ns: read.ns + ns });
            at += 1;
        }
        assert_eq!(delay.departure(read).ns, 5_000, "3,000 is forgotten");
        // A clock that is set back.
        delay.left(read, Stamp { ns: 7 });
        assert_eq!(delay.departure(read), read);
        assert_eq!((0..80).filter(|_| delay.asks()).count(), 10);
    }

    /// The median RTT that a client takes of short calls, in nanoseconds. The server forgets the
    /// times of its departures after each turn unless it is `known`.
    fn median_rtt(known: bool) -> u64 {
        let (mut client, mut server) = (node(), node());
        let peer = client.connect(server.address().unwrap(), None).unwrap();
        client.keep_samples();
        let body = Bytes::from_static(&[7; 64]);
        client.call(peer, body.clone(), None).unwrap();
        let (mut replies, end) = (0, Instant::now() + Duration::from_secs(20));
        while replies < 1_000 {
            assert!(Instant::now() < end, "{replies} replies");
            client.turn(Some(Instant::now() + Duration::from_micros(100)), None).unwrap();
            server.turn(None, None).unwrap();
            while let Some(event) = server.poll_event() {
                if let Event::Called { call, body, .. } = event {
                    server.reply(call, body).unwrap();
                }
            }
            server.turn(None, None).unwrap();
            if !known {
                server.timing.answer_delay = AnswerDelay::default();
            }
            while let Some(event) = client.poll_event() {
                if let Event::Replied { .. } = event {
                    replies += 1;
                    client.call(peer, body.clone(), None).unwrap();
                }
            }
        }
        let mut rtts: Vec<_> =
            client.take_samples().iter().map(|sample| sample.rtt.as_ns()).collect();
        rtts.sort_unstable();
        rtts[rtts.len() / 2]
    }

    #[test]
    fn rtts_are_without_what_each_departure_takes() {
        if !Features::probe().unwrap().send_stamps {
            return;
        }
        let mut shares: Vec<_> =
            (0..3).map(|_| median_rtt(true) as f64 / median_rtt(false) as f64).collect();
        shares.sort_by(f64::total_cmp);
        // On a quiet machine it is a quarter.
        assert!(shares[1] < 0.8, "{shares:?}");
    }
}
