//! The progress of messages that hold memory.

use incast_cc::{Span, Time};

/// The memory that every peer may have, beside what others hold.
pub(super) const LITTLE: usize = 16 << 10;
/// The part of what is held that has to move in that time. A byte now and then is no progress: so
/// nobody holds the same memory for more than 64 such times, a quarter of an hour.
const PART: u64 = 64;
/// The progress of a way of messages: from a peer, or to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The bytes that had moved at the last progress, and its time; [`None`] where little is held.
    last: Option<(u64, Time)>,
}

impl Progress {
    /// Takes note of the bytes that are held now, and of all that have ever moved. Returns the time
    /// for which they have not moved on.
    pub(super) fn look(&mut self, now: Time, held: u64, moved: impl FnOnce() -> u64) -> Span {
        if held <= LITTLE as u64 {
            self.last = None;
            return Span::ZERO;
        }
        let moved = moved();
        match self.last {
            Some((before, since)) if moved.saturating_sub(before) < held / PART => now.since(since),
            _ => {
                self.last = Some((moved, now));
                Span::ZERO
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_part_of_what_is_held() {
        let at = |second| Time::ZERO + Span::from_secs(second);
        let mut progress = Progress::default();
        let mut stuck = |second, held, moved| {
            let span = progress.look(at(second), held, || moved);
            span.as_ns() / 1_000_000_000
        };
        let held = 64 * LITTLE as u64;
        let part = held / PART;
        assert_eq!([stuck(0, held, 0), stuck(1, held, 0), stuck(2, held, part - 1)], [0, 1, 2]);
        // All since the last progress counts, however slowly it comes.
        assert_eq!([stuck(3, held, part), stuck(7, held, part)], [0, 4]);
        // What holds little is not looked at, and begins anew when it holds more.
        assert_eq!([stuck(8, LITTLE as u64, part), stuck(9, held, part)], [0, 0]);
    }
}
