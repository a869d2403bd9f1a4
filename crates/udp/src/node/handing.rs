//! The time from the reading of the clock for an answer to the kernel's stamp of its departure.
//!
//! An answer tells its turnaround before it leaves, so what the system call and the kernel take until
//! the stamp would be in the peer's RTT. Nobody knows that time beforehand, but the least of the last
//! ones is a part of it for certain, as long as the machine stays the same.

use crate::socket::Stamp;

/// The number of times whose least counts.
const KEPT: usize = 16;
/// The number of sends of answers alone of which one gets a stamp: reading it costs a system call.
const OF: u32 = 8;

/// The last times from the clock to the stamp, in nanoseconds.
#[derive(Debug)]
pub(super) struct Handing {
    last: [u64; KEPT],
    next: usize,
    /// The number of sends of answers alone.
    sends: u32,
}

impl Default for Handing {
    fn default() -> Self {
        // Before there are as many as are kept, nothing is known.
        Self { last: [0; KEPT], next: 0, sends: 0 }
    }
}

impl Handing {
    /// Whether a send of answers alone is to be stamped.
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
    use super::*;

    #[test]
    fn the_least_of_the_last_times_counts_once_there_are_enough() {
        let mut handing = Handing::default();
        let (mut at, read) = (0, Stamp { ns: 1_000 });
        for ns in [5_000, 3_000].into_iter().chain([4_000; KEPT]) {
            assert_eq!(handing.departure(read).ns - read.ns, if at < KEPT { 0 } else { 3_000 });
            handing.left(read, Stamp { ns: read.ns + ns });
            at += 1;
        }
        assert_eq!(handing.departure(read).ns, 5_000, "3,000 is forgotten");
        // A clock that is set back.
        handing.left(read, Stamp { ns: 7 });
        assert_eq!(handing.departure(read), read);
        assert_eq!((0..80).filter(|_| handing.asks()).count(), 10);
    }
}
