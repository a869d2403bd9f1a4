//! The search for the longest datagram that the path to a peer takes (RFC 8899, DPLPMTUD).
//!
//! A probe is a frame that padding makes as long as a datagram that is tried; its answer shows that
//! it has arrived. The first probes are as long as the settings promise, and a path that does not
//! take those is too narrow. Then longer ones are tried, the longest first.

use std::net::SocketAddr;

use incast_cc::{Span, Time};

use crate::wire::Probe;

/// The IP packets that are tried: jumbo frames, FDDI, and what tunnels leave of 2 KB.
const SIZES: [u16; 3] = [9_000, 4_352, 2_000];
/// The time between two probes.
const BETWEEN: Span = Span::from_ms(200);
/// The number of probes of a length beyond the settings.
const TRIES: u32 = 4;
/// The number of probes after which a path counts as too narrow for the settings.
const LEAST_TRIES: u32 = 20;
/// The time between two looks whether long datagrams still arrive, while there is something to send.
const LOOK_AGAIN: Span = Span::from_secs(1);
/// The time before longer datagrams are tried again.
const RAISE_AFTER: Span = Span::from_secs(60);
/// Set in the probes of addresses, and not in those of lengths.
pub(super) const OF_ADDRESS: u32 = 1 << 31;

/// The search for the longest datagram of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The bytes of the headers of IP and UDP.
    headers: u16,
    /// The length of datagrams that the settings promise.
    pub(super) least: usize,
    /// The length that is known to arrive.
    pub(super) known: usize,
    /// The length that is tried; [`None`] when all were.
    tried: Option<usize>,
    /// The first and the last probe of that length.
    probes: (u32, u32),
    /// The time of the next probe.
    at: Time,
    /// The time from which longer ones are tried again.
    raise_at: Time,
}

/// The next thing to do in a search.
pub(super) enum Due {
    Nothing,
    Send(Probe, usize),
    TooNarrow,
}

impl Search {
    /// A search on a new path, which ought to take datagrams of `least` bytes behind `headers`.
    pub(super) const fn new(least: usize, headers: u16, now: Time) -> Self {
        let (probes, raise_at) = ((1, 0), Time::MAX);
        Self { headers, least, known: least, tried: Some(least), probes, at: now, raise_at }
    }

    fn begin(&mut self, tried: Option<usize>, at: Time) {
        let next = self.probes.1.wrapping_add(1) % OF_ADDRESS;
        (self.tried, self.probes, self.at) = (tried, (next, next.wrapping_sub(1)), at);
    }

    /// Goes on to the next length below `below` that is longer than the known one, if any is.
    fn try_below(&mut self, now: Time, below: usize) {
        let mut lengths = SIZES.map(|size| usize::from(size - self.headers)).into_iter();
        match lengths.find(|&bytes| bytes < below && bytes > self.known) {
            Some(bytes) => self.begin(Some(bytes), now),
            None => self.rest(now),
        }
    }

    /// Ends the search for a while.
    fn rest(&mut self, now: Time) {
        self.begin(None, now + LOOK_AGAIN);
        self.raise_at = now + RAISE_AFTER;
    }

    /// The next thing to do. `is_heard` says whether the peer was heard lately, `is_used` whether
    /// there is something to send to it.
    pub(super) fn due(&mut self, now: Time, is_heard: bool, is_used: bool) -> Due {
        if now < self.at {
            return Due::Nothing;
        }
        let Some(bytes) = self.tried else {
            if is_used && now >= self.raise_at {
                self.try_below(now, usize::MAX);
            } else if is_used && self.known > self.least {
                self.begin(Some(self.known), now);
            }
            return Due::Nothing;
        };
        let (first, last) = self.probes;
        let tries = last.wrapping_add(1).wrapping_sub(first);
        if bytes == self.least {
            // A peer that is silent has not shown that shorter ones arrive.
            if tries >= LEAST_TRIES && is_heard {
                return Due::TooNarrow;
            }
        } else if tries >= TRIES {
            self.fails(now, bytes);
            return Due::Nothing;
        }
        self.probes.1 = last.wrapping_add(1);
        self.at = now + BETWEEN;
        Due::Send(Probe { id: self.probes.1 }, bytes)
    }

    /// Notes that a length does not arrive. If it did before, the path has become narrower.
    pub(super) fn fails(&mut self, now: Time, bytes: usize) {
        if bytes <= self.known {
            self.known = self.least;
        }
        self.try_below(now, bytes);
    }

    /// Takes in the answer to a probe: its length arrives.
    pub(super) fn answered(&mut self, now: Time, id: u32) {
        let (first, last) = self.probes;
        let Some(bytes) = self.tried.filter(|_| (first..=last).contains(&id)) else { return };
        let raise_at = self.raise_at;
        self.known = bytes;
        if bytes == self.least {
            self.try_below(now, usize::MAX);
        } else {
            self.rest(now);
            // A look at a known length puts the next try of a longer one off no further.
            self.raise_at = self.raise_at.min(raise_at.max(now));
        }
    }
}

/// An address from which a peer's datagrams come, and that has not proved yet that it receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) address: SocketAddr,
    /// The probe that was sent there.
    pub(super) probe: u32,
    pub(super) asked_at: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Runs a search on a path that takes datagrams of `most` bytes.
    fn run(search: &mut Search, from_ms: u64, most: usize) -> Option<usize> {
        for ms in (from_ms..from_ms + 100_000).step_by(20) {
            match search.due(at(ms), true, true) {
                Due::Send(probe, bytes) if bytes <= most => {
                    search.answered(at(ms), probe.id);
                    let known = search.known;
                    search.answered(at(ms), probe.id.wrapping_sub(1));
                    assert_eq!(search.known, known, "an old answer");
                }
                Due::Nothing | Due::Send(..) => {}
                Due::TooNarrow => return None,
            }
        }
        Some(search.known)
    }

    #[test]
    fn the_longest_length_that_arrives_is_found_again_and_again() {
        let lengths = [(1_452, 1_452), (3_000, 1_952), (8_000, 4_304), (65_000, 8_952), (1_000, 0)];
        for (most, known) in lengths {
            let known = Some(known).filter(|&known| known > 0);
            assert_eq!(run(&mut Search::new(1_452, 48, at(0)), 0, most), known, "{most}");
        }
        // A path becomes narrower and wider.
        let mut search = Search::new(1_452, 48, at(0));
        for (turn, (most, known)) in (0..).zip(&lengths[..4]).chain((4..).zip(&lengths[1..3])) {
            assert_eq!(run(&mut search, turn * 100_000, *most), Some(*known), "{most}");
        }
    }

    #[test]
    fn a_peer_that_is_silent_has_no_narrow_path() {
        let mut search = Search::new(1_452, 48, at(0));
        for ms in (0..60_000).step_by(20) {
            assert!(!matches!(search.due(at(ms), false, true), Due::TooNarrow));
        }
        assert!(matches!(search.due(at(61_000), true, true), Due::TooNarrow));
    }
}
