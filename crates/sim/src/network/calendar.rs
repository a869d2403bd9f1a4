//! The event queue: a calendar of components.
//!
//! A component is something that has at most one next event: the far end of a link, a port that is
//! sending, the timer of a host. So the calendar holds one entry for each, in place, and allocates
//! nothing while it runs. Events of one instant come in the order of their components' numbers,
//! which follow from the topology alone: never from the order of insertion, nor from anything that
//! depends on how a run is split.
//!
//! Time is cut into slots of 2^14 ps. The next 4,096 slots (67 us) are lists of components found
//! through a bitmap; what lies beyond waits in a heap. The slot that is being worked on is sorted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::Time;

/// Number of a component.
pub(crate) type ComponentId = u32;

const SLOT_SHIFT: u32 = 14;
const SLOTS: usize = 4_096;
const WORDS: usize = SLOTS / 64;
/// Not scheduled; and the end of a list.
const NEVER: u64 = u64::MAX;
const NONE: u32 = u32::MAX;

/// Where a component's event is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Current,
    Slot,
    Far,
}

/// The next event of every component.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// When each component's event is due.
    due: Vec<u64>,
    place: Vec<Place>,
    /// The next component in the list of the same slot.
    next: Vec<u32>,
    heads: Box<[u32; SLOTS]>,
    bitmap: [u64; WORDS],
    /// Which words of the bitmap are not zero.
    summary: u64,
    /// The last event that was taken out.
    now: u64,
    /// The slot that is being worked on, counted from time zero.
    slot: u64,
    /// Its events, the last one first.
    current: Vec<(u64, u32)>,
    /// Beyond the calendar. An entry is stale unless its component is still due then and kept here:
    /// both must be asked, since one that left may have come back for the same instant.
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// A calendar of `components`, none of them scheduled.
    pub(crate) fn new(components: usize) -> Self {
        Self {
            due: vec![NEVER; components],
            place: vec![Place::Nowhere; components],
            next: vec![NONE; components],
            heads: Box::new([NONE; SLOTS]),
            bitmap: [0; WORDS],
            summary: 0,
            slot: 0,
            now: 0,
            current: Vec::with_capacity(64),
            far: BinaryHeap::with_capacity(components),
        }
    }

    /// Schedules `id`, instead of what it was scheduled for; [`Time::MAX`] takes it out. `at` does not
    /// lie before the event that is being handled.
    #[inline]
    pub(crate) fn schedule(&mut self, id: ComponentId, at: Time) {
        let at = at.as_ps();
        debug_assert!(at >= self.now, "component {id} scheduled for {at}, before {}", self.now);
        let due = self.due[id as usize];
        if due == at {
            return;
        }
        if due != NEVER {
            self.unlink(id, due);
        }
        if at != NEVER {
            self.due[id as usize] = at;
            self.insert(id, at);
        }
    }

    /// The next event that is due before `end`, taken out.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<(Time, ComponentId)> {
        if self.current.is_empty() && !self.turn_to_next_slot(end) {
            return None;
        }
        let &(at, id) = self.current.last()?;
        if at >= end.as_ps() {
            return None;
        }
        self.current.pop();
        self.now = at;
        self.due[id as usize] = NEVER;
        self.place[id as usize] = Place::Nowhere;
        Some((Time::from_ps(at), id))
    }

    #[inline]
    fn insert(&mut self, id: ComponentId, at: u64) {
        let slot = at >> SLOT_SHIFT;
        if slot <= self.slot {
            // Sorted with the last one first, so what comes soon moves little.
            let place = self.current.iter().rposition(|&entry| entry > (at, id));
            self.current.insert(place.map_or(0, |place| place + 1), (at, id));
            self.place[id as usize] = Place::Current;
        } else if slot - self.slot < SLOTS as u64 {
            self.link(id, slot);
        } else {
            self.far.push(Reverse((at, id)));
            self.place[id as usize] = Place::Far;
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
    fn link(&mut self, id: ComponentId, slot: u64) {
        let place = slot as usize % SLOTS;
        self.next[id as usize] = self.heads[place];
        self.heads[place] = id;
        self.place[id as usize] = Place::Slot;
        self.bitmap[place / 64] |= 1 << (place % 64);
        self.summary |= 1 << (place / 64);
    }

    #[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
    fn unlink(&mut self, id: ComponentId, due: u64) {
        self.due[id as usize] = NEVER;
        match std::mem::replace(&mut self.place[id as usize], Place::Nowhere) {
            // An entry beyond the calendar stays, and is stale.
            Place::Nowhere | Place::Far => {}
            Place::Current => self.current.retain(|&(_, other)| other != id),
            Place::Slot => self.unlink_from_slot(id, (due >> SLOT_SHIFT) as usize % SLOTS),
        }
    }

    fn unlink_from_slot(&mut self, id: ComponentId, place: usize) {
        let after = self.next[id as usize];
        if self.heads[place] == id {
            self.heads[place] = after;
            if after == NONE {
                self.clear(place);
            }
            return;
        }
        let mut at = self.heads[place];
        while self.next[at as usize] != id {
            at = self.next[at as usize];
        }
        self.next[at as usize] = after;
    }

    /// The next instant beyond the calendar; stale entries are dropped on the way.
    fn next_far(&mut self) -> Option<(u64, ComponentId)> {
        while let Some(&Reverse((at, id))) = self.far.peek() {
            if self.due[id as usize] == at && self.place[id as usize] == Place::Far {
                return Some((at, id));
            }
            self.far.pop();
        }
        None
    }

    fn clear(&mut self, place: usize) {
        self.bitmap[place / 64] &= !(1 << (place % 64));
        if self.bitmap[place / 64] == 0 {
            self.summary &= !(1 << (place / 64));
        }
    }

    /// Moves to the next slot that has an event before `end`; false if there is none, and then
    /// nothing has moved.
    fn turn_to_next_slot(&mut self, end: Time) -> bool {
        let near = self.next_linked_slot();
        let far = self.next_far().map(|(at, _)| at >> SLOT_SHIFT);
        let Some(slot) = near.into_iter().chain(far).min() else { return false };
        if slot << SLOT_SHIFT >= end.as_ps() {
            return false;
        }
        self.slot = slot;
        self.collect(slot);
        self.bring_near();
        self.current.sort_unstable_by(|a, b| b.cmp(a));
        true
    }

    #[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
    fn collect(&mut self, slot: u64) {
        let place = slot as usize % SLOTS;
        let mut id = std::mem::replace(&mut self.heads[place], NONE);
        if id == NONE {
            return;
        }
        self.clear(place);
        while id != NONE {
            self.current.push((self.due[id as usize], id));
            self.place[id as usize] = Place::Current;
            id = self.next[id as usize];
        }
    }

    /// Takes what has come within the calendar out of the heap.
    fn bring_near(&mut self) {
        while let Some((at, id)) = self.next_far() {
            let slot = at >> SLOT_SHIFT;
            if slot.saturating_sub(self.slot) >= SLOTS as u64 {
                return;
            }
            self.far.pop();
            if slot <= self.slot {
                self.current.push((at, id));
                self.place[id as usize] = Place::Current;
            } else {
                self.link(id, slot);
            }
        }
    }

    /// The first slot after the current one that has a list.
    #[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
    fn next_linked_slot(&self) -> Option<u64> {
        if self.summary == 0 {
            return None;
        }
        let start = (self.slot as usize + 1) % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let ahead = self.bitmap[word] >> bit;
        let distance = if ahead != 0 {
            ahead.trailing_zeros() as usize
        } else {
            // The following words, around the end, this one last.
            let turned = self.summary.rotate_right((word as u32 + 1) % 64);
            let words = turned.trailing_zeros() as usize;
            let found = (word + 1 + words) % WORDS;
            let place = found * 64 + self.bitmap[found].trailing_zeros() as usize;
            (place + SLOTS - start) % SLOTS
        };
        Some(self.slot + 1 + distance as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn simultaneous_events_come_in_the_order_of_their_numbers() {
        let mut calendar = Calendar::new(4);
        for id in [2, 0, 3, 1] {
            calendar.schedule(id, at(1_000_000));
        }
        let order: Vec<_> = std::iter::from_fn(|| calendar.pop_before(at(u64::MAX))).collect();
        assert_eq!(order, (0..4).map(|id| (at(1_000_000), id)).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_comes_at_the_end_or_after() {
        let mut calendar = Calendar::new(1);
        calendar.schedule(0, at(100));
        assert_eq!(calendar.pop_before(at(100)), None);
        assert_eq!(calendar.pop_before(at(101)), Some((at(100), 0)));
        assert_eq!(calendar.pop_before(at(u64::MAX)), None);
    }

    /// Against an ordered map, over gaps from nothing to far beyond the calendar, with events moved
    /// and taken out.
    #[test]
    fn agrees_with_an_ordered_map() {
        let components = 50_u32;
        let mut calendar = Calendar::new(components as usize);
        let (mut model, mut when) = (BTreeMap::new(), vec![None; components as usize]);
        let (mut now, mut random) = (0_u64, 0x9E37_79B9_7F4A_7C15_u64);
        let mut next_random = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for step in 0..200_000 {
            for _ in 0..2 {
                let id = (next_random() % u64::from(components)) as u32;
                if let Some(at) = when[id as usize].take() {
                    model.remove(&(at, id));
                }
                if next_random() % 10 == 0 {
                    calendar.schedule(id, Time::MAX);
                    continue;
                }
                let gap = next_random() >> (24 + next_random() % 40);
                let at = now + if next_random() % 8 == 0 { 0 } else { gap };
                calendar.schedule(id, Time::from_ps(at));
                when[id as usize] = Some(at);
                model.insert((at, id), ());
            }
            let expected = model.pop_first().map(|(key, ())| key);
            let got = calendar.pop_before(at(u64::MAX)).map(|(at, id)| (at.as_ps(), id));
            assert_eq!(got, expected, "at step {step}");
            if let Some((at, id)) = got {
                now = at;
                when[id as usize] = None;
            }
        }
    }
}
