//! The event queue: a calendar of components.
//!
//! A component is something that has at most one next event: the far end of a link, a port that is
//! sending, the timer of a host. So the calendar holds one entry for each, in place, and allocates
//! nothing while it runs. Events of one instant come in the order of their components' numbers,
//! which follow from the topology alone: never from the order of insertion, nor from anything that
//! depends on how a run is split.
//!
//! Time is cut into slots of 2^15 ps. The next 4,096 slots (134 us) are lists of components found
//! through a bitmap; what lies beyond waits in a heap until its slot comes. The slot that is being
//! worked on is sorted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::Time;

/// Number of a component.
pub(crate) type ComponentId = u32;

const SLOT_SHIFT: u32 = 15;
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

/// The next event of one component.
#[derive(Clone, Copy, Debug)]
struct Entry {
    due: u64,
    /// The next component in the list of the same slot.
    next: u32,
    place: Place,
}

/// The next event of every component.
#[derive(Debug)]
pub(crate) struct Calendar {
    entries: Vec<Entry>,
    heads: Box<[u32; SLOTS]>,
    bitmap: [u64; WORDS],
    /// Slots that have a list.
    linked: u32,
    /// The last event that was taken out.
    now: u64,
    /// The slot that is being worked on, counted from 1: before the first event it is none, and what
    /// is scheduled for time zero waits in a list like all else.
    slot: u64,
    /// What is left of it, the last one first.
    current: Vec<(u64, u32)>,
    /// Beyond the calendar. An entry is stale unless its component is still due then and kept here:
    /// both must be asked, since one that left may have come back for the same instant.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// No entry beyond the calendar is in an earlier slot.
    far_slot: u64,
}

impl Calendar {
    /// A calendar of `components`, none of them scheduled.
    pub(crate) fn new(components: usize) -> Self {
        Self::starting_at(components, Time::ZERO)
    }

    /// The same, for events from `now` on.
    pub(crate) fn starting_at(components: usize, now: Time) -> Self {
        let now = now.as_ps();
        Self {
            entries: vec![Entry { due: NEVER, next: NONE, place: Place::Nowhere }; components],
            heads: Box::new([NONE; SLOTS]),
            bitmap: [0; WORDS],
            linked: 0,
            now,
            slot: slot_of(now) - 1,
            current: Vec::with_capacity(64),
            far: BinaryHeap::with_capacity(components),
            far_slot: NEVER,
        }
    }

    /// Schedules `id`, instead of what it was scheduled for; [`Time::MAX`] takes it out. `at` does not
    /// lie before the event that is being handled.
    #[inline]
    pub(crate) fn schedule(&mut self, id: ComponentId, at: Time) {
        let at = at.as_ps();
        debug_assert!(at >= self.now, "component {id} scheduled for {at}, before {}", self.now);
        let entry = self.entries[id as usize];
        if entry.due == at {
            return;
        }
        if entry.due != NEVER {
            self.unlink(id, entry);
        }
        if at != NEVER {
            self.insert(id, at);
        }
    }

    /// When a component's event is due; [`Time::MAX`] if it has none.
    pub(crate) fn due(&self, id: ComponentId) -> Time {
        Time::from_ps(self.entries[id as usize].due)
    }

    /// When the next event is due; [`Time::MAX`] if there is none.
    pub(crate) fn next_due(&mut self) -> Time {
        if let Some(&(at, _)) = self.current.last() {
            return Time::from_ps(at);
        }
        let far = self.next_far().map_or(NEVER, |(at, _)| at);
        let slot = self.next_linked_slot();
        if slot > slot_of(far) {
            return Time::from_ps(far);
        }
        let (mut first, mut id) = (far, self.heads[place_of(slot)]);
        while id != NONE {
            let Entry { due, next, .. } = self.entries[id as usize];
            (first, id) = (first.min(due), next);
        }
        Time::from_ps(first)
    }

    /// The next event that is due before `end`, taken out.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<(Time, ComponentId)> {
        let end = end.as_ps();
        if self.current.is_empty() {
            let slot = self.next_linked_slot();
            if slot >= self.far_slot {
                self.turn_to_far_slot(slot, end);
            } else if start_of(slot) >= end {
                return None;
            } else {
                let id = self.heads[place_of(slot)];
                let Entry { due, next, .. } = self.entries[id as usize];
                // A slot with one event, as most are, needs no sorting.
                if next == NONE && due < end {
                    self.slot = slot;
                    self.clear(place_of(slot));
                    return Some(self.take(due, id));
                }
                self.collect(slot);
                self.current.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        let &(at, id) = self.current.last()?;
        if at >= end {
            return None;
        }
        self.current.pop();
        Some(self.take(at, id))
    }

    #[inline]
    fn take(&mut self, at: u64, id: ComponentId) -> (Time, ComponentId) {
        self.now = at;
        let entry = &mut self.entries[id as usize];
        (entry.due, entry.place) = (NEVER, Place::Nowhere);
        (Time::from_ps(at), id)
    }

    #[inline]
    fn insert(&mut self, id: ComponentId, at: u64) {
        let slot = slot_of(at);
        let (place, next);
        if slot <= self.slot {
            // Sorted with the last one first, so what comes soon moves little.
            let after = self.current.iter().rposition(|&other| other > (at, id));
            self.current.insert(after.map_or(0, |after| after + 1), (at, id));
            (place, next) = (Place::Current, NONE);
        } else if slot - self.slot < SLOTS as u64 {
            let at = place_of(slot);
            (place, next) = (Place::Slot, std::mem::replace(&mut self.heads[at], id));
            if next == NONE {
                self.bitmap[at / 64] |= 1 << (at % 64);
                self.linked += 1;
            }
        } else {
            self.far.push(Reverse((at, id)));
            self.far_slot = self.far_slot.min(slot);
            (place, next) = (Place::Far, NONE);
        }
        self.entries[id as usize] = Entry { due: at, next, place };
    }

    fn unlink(&mut self, id: ComponentId, entry: Entry) {
        match entry.place {
            // An entry beyond the calendar stays, and is stale.
            Place::Nowhere | Place::Far => {}
            Place::Current => self.current.retain(|&(_, other)| other != id),
            Place::Slot => self.unlink_from_slot(id, entry),
        }
        self.entries[id as usize] = Entry { due: NEVER, next: NONE, place: Place::Nowhere };
    }

    fn unlink_from_slot(&mut self, id: ComponentId, entry: Entry) {
        let place = place_of(slot_of(entry.due));
        let mut at = self.heads[place];
        if at == id {
            self.heads[place] = entry.next;
            if entry.next == NONE {
                self.clear(place);
            }
            return;
        }
        while self.entries[at as usize].next != id {
            at = self.entries[at as usize].next;
        }
        self.entries[at as usize].next = entry.next;
    }

    /// Empties a slot's list.
    #[inline]
    fn clear(&mut self, place: usize) {
        self.heads[place % SLOTS] = NONE;
        self.bitmap[place / 64 % WORDS] &= !(1 << (place % 64));
        self.linked -= 1;
    }

    /// Makes a slot the one that is being worked on.
    fn collect(&mut self, slot: u64) {
        self.slot = slot;
        let mut id = self.heads[place_of(slot)];
        if id == NONE {
            return;
        }
        self.clear(place_of(slot));
        while id != NONE {
            let entry = &mut self.entries[id as usize];
            entry.place = Place::Current;
            self.current.push((entry.due, id));
            id = entry.next;
        }
    }

    /// Turns to the next slot when it may hold entries from beyond the calendar; `near` is the next
    /// one that has a list. Does nothing when it starts at `end` or later.
    #[cold]
    fn turn_to_far_slot(&mut self, near: u64, end: u64) {
        let far = self.next_far().map_or(NEVER, |(at, _)| slot_of(at));
        let slot = near.min(far);
        self.far_slot = far;
        if slot == NEVER || start_of(slot) >= end {
            return;
        }
        if slot == near {
            self.collect(slot);
        } else {
            self.slot = slot;
        }
        while let Some((at, id)) = self.next_far().filter(|&(at, _)| slot_of(at) == slot) {
            self.far.pop();
            self.current.push((at, id));
            self.entries[id as usize].place = Place::Current;
        }
        self.far_slot = self.next_far().map_or(NEVER, |(at, _)| slot_of(at));
        self.current.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The next entry beyond the calendar; stale ones are dropped on the way.
    fn next_far(&mut self) -> Option<(u64, ComponentId)> {
        while let Some(&Reverse((at, id))) = self.far.peek() {
            let entry = &self.entries[id as usize];
            if entry.due == at && entry.place == Place::Far {
                return Some((at, id));
            }
            self.far.pop();
        }
        None
    }

    /// The first slot after the current one that has a list.
    #[inline]
    fn next_linked_slot(&self) -> u64 {
        if self.linked == 0 {
            return NEVER;
        }
        let start = place_of(self.slot + 1);
        let ahead = self.bitmap[start / 64] >> (start % 64);
        if ahead != 0 {
            return self.slot + 1 + u64::from(ahead.trailing_zeros());
        }
        // The following words, around the end, this one last.
        let mut slot = self.slot + 1 + (64 - start as u64 % 64);
        loop {
            let word = self.bitmap[place_of(slot) / 64];
            if word != 0 {
                return slot + u64::from(word.trailing_zeros());
            }
            slot += 64;
        }
    }
}

/// The slot that an instant falls into, and when a slot starts.
#[inline]
const fn slot_of(at: u64) -> u64 {
    (at >> SLOT_SHIFT) + 1
}

#[inline]
const fn start_of(slot: u64) -> u64 {
    (slot - 1) << SLOT_SHIFT
}

/// Where a slot's list is.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
const fn place_of(slot: u64) -> usize {
    slot as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

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
        let (mut model, mut when) = (BTreeSet::new(), vec![None; components as usize]);
        let (mut now, mut random) = (0_u64, 0x9E37_79B9_7F4A_7C15_u64);
        let mut next_random = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for step in 0..200_000 {
            for _ in 0..2 {
                #[expect(clippy::cast_possible_truncation, reason = "below the components")]
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
                model.insert((at, id));
            }
            let expected = model.pop_first();
            let got = calendar.pop_before(at(u64::MAX)).map(|(at, id)| (at.as_ps(), id));
            assert_eq!(got, expected, "at step {step}");
            if let Some((at, id)) = got {
                now = at;
                when[id as usize] = None;
            }
        }
    }
}
