//! The sends whose timestamps are to come.

use incast_cc::Time;

use crate::socket::Stamp;

/// The most sends that are remembered. A stamp comes within microseconds of its send.
const REMEMBERED: usize = 1 << 12;
/// The most bursts of one send that get its stamp.
const BURSTS: usize = 4;

/// A burst of a segment's packets that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    /// The connection of the transport.
    pub(super) connection: u32,
    /// The sequence number of the burst's first packet.
    pub(super) sequence: u64,
    /// The attempt.
    pub(super) attempt: u8,
}

/// The bursts that begin in one send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    bursts: [Option<Burst>; BURSTS],
    /// The send time of the pacing engine, if the node has waited for it.
    pub(super) due: Option<Time>,
    /// The reading of the clock for the answers in the send.
    pub(super) read: Option<Stamp>,
}

impl Begun {
    /// Notes a burst that begins, unless enough of them do: the others have no RTT sample.
    pub(super) fn note(&mut self, burst: Burst) {
        if let Some(place) = self.bursts.iter_mut().find(|place| place.is_none()) {
            *place = Some(burst);
        }
    }

    /// The bursts.
    pub(super) fn bursts(self) -> impl Iterator<Item = Burst> {
        self.bursts.into_iter().flatten()
    }

    /// Whether a burst begins.
    pub(super) fn any(&self) -> bool {
        self.bursts[0].is_some()
    }
}

/// The sends whose timestamps are to come, by key.
#[derive(Debug)]
pub(super) struct Departures {
    sends: Box<[(u32, Begun)]>,
    next: u32,
    /// The last 64 sends whose stamps have not come, the newest in the lowest bit: short ones may
    /// overtake long ones on their way to the device. Older stamps count as lost.
    awaited: u64,
}

impl Default for Departures {
    fn default() -> Self {
        Self { sends: vec![(0, Begun::default()); REMEMBERED].into(), next: 1, awaited: 0 }
    }
}

impl Departures {
    /// Remembers a send, and returns the key of its stamp.
    pub(super) fn leave(&mut self, begun: Begun) -> u32 {
        let key = self.next;
        self.next = self.next.wrapping_add(1);
        self.awaited = self.awaited << 1 | 1;
        self.sends[key as usize % REMEMBERED] = (key, begun);
        key
    }

    /// Whether no stamps are to come.
    pub(super) const fn are_known(&self) -> bool {
        self.awaited == 0
    }

    /// The beginnings in the send of a key, which has left: once.
    pub(super) fn left(&mut self, key: u32) -> Begun {
        let age = self.next.wrapping_sub(key).wrapping_sub(1);
        self.awaited &= !1_u64.checked_shl(age).unwrap_or(0);
        let (known, begun) = &mut self.sends[key as usize % REMEMBERED];
        if *known == key { std::mem::take(begun) } else { Begun::default() }
    }

    /// Forgets the bursts of connections that are closed: others may get their numbers.
    pub(super) fn forget(&mut self, is_closed: impl Fn(u32) -> bool) {
        for (_, begun) in &mut self.sends {
            for burst in &mut begun.bursts {
                *burst = burst.filter(|burst| !is_closed(burst.connection));
            }
        }
    }
}

/// The time and the turnaround of an arrival, for the ACKs that it causes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// The stamp of the arrival, in nanoseconds of the system's clock.
    pub(super) stamp_ns: Option<u64>,
    /// The time of the stamp, on the node's clock.
    pub(super) time: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(connection: u32) -> Burst {
        Burst { connection, sequence: 7, attempt: 0 }
    }

    #[test]
    fn a_stamp_finds_the_bursts_of_its_send_once() {
        let mut departures = Departures::default();
        let mut begun = Begun::default();
        assert!(!begun.any());
        (0..9).for_each(|connection| begun.note(burst(connection)));
        assert!(begun.any());
        let key = departures.leave(begun);
        departures.forget(|connection| connection == 2);
        let left: Vec<_> = departures.left(key).bursts().map(|burst| burst.connection).collect();
        assert_eq!(left, [0, 1, 3]);
        assert_eq!(departures.left(key).bursts().count(), 0);
        assert_eq!(departures.left(key.wrapping_sub(5)).bursts().count(), 0);
    }

    #[test]
    fn stamps_are_awaited_until_all_have_come_in_any_order_and_some_sends_longer() {
        let mut departures = Departures::default();
        assert!(departures.are_known());
        let [first, second] = [(); 2].map(|()| departures.leave(Begun::default()));
        departures.left(second);
        assert!(!departures.are_known());
        departures.left(first);
        assert!(departures.are_known());
        // One that was lost.
        departures.leave(Begun::default());
        for sends in 0..64 {
            assert!(!departures.are_known(), "{sends}");
            let key = departures.leave(Begun::default());
            departures.left(key);
        }
        assert!(departures.are_known());
        departures.left(first);
        assert!(departures.are_known());
    }

    #[test]
    fn keys_that_are_too_old_find_nothing() {
        let mut departures = Departures::default();
        let mut begun = Begun::default();
        begun.note(burst(1));
        let key = departures.leave(begun);
        for _ in 0..REMEMBERED {
            departures.leave(Begun::default());
        }
        assert_eq!(departures.left(key).bursts().count(), 0);
    }
}
