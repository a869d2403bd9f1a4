//! The event queue: a calendar of components.
//!
//! A component is a thing that has at most one next event: the far end of a link, a port that is
//! sending, the timer of a host. So the calendar holds one entry for each, in place, and allocates
//! nothing while it runs. Events of one instant come in the order of their components' numbers.
//! These follow from the topology alone: they do not depend on the order of insertion, nor on how a
//! run is split.
//!
//! Time is cut into slots. Each of the next 1,024 slots has a list of the events due in it, found
//! through a bitmap; later events wait in a heap until their slot comes. The current slot is
//! sorted, so that whoever handles events can see which ones come next and fetch their data in
//! time.
//!
//! An entry in a list is only a hint: a component is due when `due` says so, and an entry that
//! disagrees is stale. So no entry needs to be searched for and removed. A component that is put
//! off, as timers are again and again, is not listed anew at once: it is found under its old time,
//! and then moved to its new one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::Time;

/// The number of a component.
pub(crate) type ComponentId = u32;

const SLOTS: usize = 1_024;
const WORDS: usize = SLOTS / 64;
/// The longest slot, as a power of two of picoseconds: 67 us, all slots together 69 ms.
const LONGEST_SLOT: u32 = 26;
/// The shortest slot, as a power of two of picoseconds: 4 ns, all slots together 4 us.
const SHORTEST_SLOT: u32 = 12;
/// The time of a component that is not scheduled.
const NEVER: u64 = u64::MAX;

/// The next event of every component.
#[derive(Debug)]
pub(crate) struct Calendar {
    components: Vec<Entry>,
    /// The most components that are due in a microsecond.
    per_us: f64,
    /// The length of a slot: 2^`shift` ps.
    shift: u32,
    /// The events of each of the next slots, in no order: see [`Calendar::key`].
    slots: Box<[Vec<u64>; SLOTS]>,
    /// Empty lists of past slots. The next slot that needs a list takes the last: its memory is in
    /// the processor's caches.
    spare: Vec<Vec<u64>>,
    /// A bit for each slot, set if the slot has a list.
    bitmap: [u64; WORDS],
    /// The time of the last event that was taken out.
    now: u64,
    /// The current slot, counted from 1. Before the first event it is 0, so that events at time
    /// zero wait in a list like all others.
    slot: u64,
    /// The start of the current slot. For slot 0, before time zero, the number wraps around.
    start: u64,
    /// The events of the current slot, in order. Most insertions come in order, so there is little
    /// to sort.
    current: Vec<u64>,
    /// The number of events of the current slot that have been taken out.
    taken: usize,
    /// Events beyond the last slot.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest entry of each component in `far`. A timer that is asked for again and again,
    /// and put aside each time for a nearer one, needs only one entry.
    first_far: Vec<u64>,
    /// A lower bound: no entry of `far` is in an earlier slot.
    far_slot: u64,
}

/// The state of a component.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The time at which the component is due.
    due: u64,
    /// The time under which the component is listed, in a slot or in `far`: never later than `due`.
    listed: u64,
}

impl Entry {
    const NONE: Self = Self { due: NEVER, listed: NEVER };
}

impl Calendar {
    /// A calendar of `components`, none of them scheduled. At most `per_us` of them are due in a
    /// microsecond.
    pub(crate) fn new(components: usize, per_us: f64) -> Self {
        Self::starting_at(components, per_us, Time::ZERO)
    }

    /// Like [`new`](Self::new), for events from `now` on.
    pub(crate) fn starting_at(components: usize, per_us: f64, now: Time) -> Self {
        // The number of events wanted in a slot: few enough to sort; in a large network, enough to
        // look ahead. In a small one few are pending at a time however long a slot is, and long
        // slots are seldom turned to.
        let wanted = match components {
            0..256 => 192.0,
            256..2_000 => 12.0,
            _ => 64.0,
        };
        let slot_ps = (wanted * 1e6 / per_us.max(1.0)).max(1.0);
        #[expect(clippy::cast_possible_truncation, reason = "a small number")]
        #[expect(clippy::cast_sign_loss, reason = "at least 1")]
        let shift = (slot_ps.log2() as u32).clamp(SHORTEST_SLOT, LONGEST_SLOT);
        let now = now.as_ps();
        Self {
            components: vec![Entry::NONE; components],
            shift,
            slots: vec![Vec::new(); SLOTS].try_into().unwrap_or_else(|_| unreachable!("so many")),
            spare: Vec::new(),
            bitmap: [0; WORDS],
            now,
            slot: now >> shift,
            start: (now >> shift).wrapping_sub(1) << shift,
            per_us,
            current: Vec::with_capacity(64),
            taken: 0,
            far: BinaryHeap::new(),
            first_far: vec![NEVER; components],
            far_slot: NEVER,
        }
    }

    /// Schedules `id` for `at`, in place of any earlier schedule; [`Time::MAX`] removes it. `at`
    /// must not lie before the event that is being handled.
    #[inline]
    pub(crate) fn schedule(&mut self, id: ComponentId, at: Time) {
        let at = at.as_ps();
        debug_assert!(at >= self.now, "component {id} scheduled for {at}, before {}", self.now);
        let entry = &mut self.components[id as usize];
        entry.due = at;
        if at < entry.listed {
            entry.listed = at;
            self.list(id, at);
        }
    }

    /// Lists a component under the time `at`.
    #[inline(never)]
    fn list(&mut self, id: ComponentId, at: u64) {
        let later = at.wrapping_sub(self.start);
        let ahead = later >> self.shift;
        if ahead == 0 {
            return self.insert(later << 32 | u64::from(id));
        }
        if ahead >= SLOTS as u64 {
            return self.list_far(id, at);
        }
        let (place, key) = (place_of(self.slot + ahead), self.key(id, at));
        let list = &mut self.slots[place];
        if list.len() == list.capacity() {
            return self.open(place, key);
        }
        list.push(key);
    }

    /// Puts a key among those left in the current slot, mostly at the end.
    #[inline]
    fn insert(&mut self, key: u64) {
        self.current.push(key);
        let mut places = self.current[self.taken..].iter_mut().rev();
        let Some(mut place) = places.next() else { return };
        for before in places {
            if *before <= key {
                break;
            }
            *place = *before;
            place = before;
        }
        *place = key;
    }

    /// Puts a key into the list of a slot that has no list, or a full one.
    #[inline(never)]
    fn open(&mut self, place: usize, key: u64) {
        self.bitmap[place / 64 % WORDS] |= 1 << (place % 64);
        let list = &mut self.slots[place];
        if list.is_empty() {
            *list = self.spare.pop().unwrap_or_default();
        }
        list.push(key);
    }

    /// Takes the list of a slot.
    #[inline]
    fn close(&mut self, place: usize) -> Vec<u64> {
        self.bitmap[place / 64 % WORDS] &= !(1 << (place % 64));
        std::mem::take(&mut self.slots[place])
    }

    /// Keeps a list of a past slot for the next slot that needs one.
    #[inline]
    fn keep(&mut self, mut over: Vec<u64>) {
        over.clear();
        self.spare.push(over);
    }

    #[inline(never)]
    fn list_far(&mut self, id: ComponentId, at: u64) {
        let first = &mut self.first_far[id as usize];
        if at < *first {
            *first = at;
            self.far.push(Reverse((at, id)));
            self.far_slot = self.far_slot.min(self.slot_of(at));
        }
    }

    /// Passes over a component that was listed under the time `at` and is not due then. If it was
    /// put off, it is listed anew; if not, it has another entry.
    #[inline(never)]
    fn pass_over(&mut self, id: ComponentId, at: u64) {
        if self.components[id as usize].listed == at {
            self.list_anew(id);
        }
    }

    fn list_anew(&mut self, id: ComponentId) {
        let entry = &mut self.components[id as usize];
        let due = entry.due;
        entry.listed = due;
        if due != NEVER {
            self.list(id, due);
        }
    }

    /// An empty calendar of `components` components of the same network, or of part of it, from
    /// `now` on.
    pub(crate) fn of_part(&self, components: usize, now: Time) -> Self {
        let share = components as f64 / self.components.len().max(1) as f64;
        Self::starting_at(components, self.per_us * share, now)
    }

    /// The time at which a component is due; [`Time::MAX`] if it is not scheduled.
    pub(crate) fn due(&self, id: ComponentId) -> Time {
        Time::from_ps(self.components[id as usize].due)
    }

    /// The time of the next event; [`Time::MAX`] if there is none.
    pub(crate) fn next_due(&mut self) -> Time {
        while let Some(&key) = self.current.get(self.taken) {
            let (at, id) = self.event_of(key);
            if self.components[id as usize].due == at {
                return Time::from_ps(at);
            }
            self.taken += 1;
            self.pass_over(id, at);
        }
        loop {
            let far = self.next_far().map_or(NEVER, |(at, _)| at);
            let slot = self.next_occupied_slot();
            if slot > self.slot_of(far) || slot == NEVER {
                return Time::from_ps(far);
            }
            let start = self.start_of(slot);
            let event = |&key: &u64| (start + (key >> 32), id_of(key));
            let (mut first, mut put_off) = (NEVER, false);
            for (at, id) in self.slots[place_of(slot)].iter().map(event) {
                let entry = self.components[id as usize];
                if entry.due == at {
                    first = first.min(at);
                } else {
                    put_off |= entry.listed == at;
                }
            }
            if first < NEVER && !put_off {
                return Time::from_ps(first.min(far));
            }
            let list = self.close(place_of(slot));
            for (at, id) in list.iter().map(event) {
                if self.components[id as usize].due == at {
                    self.list(id, at);
                } else {
                    self.pass_over(id, at);
                }
            }
            self.keep(list);
        }
    }

    /// Takes out the next event that is due before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<(Time, ComponentId)> {
        let end = end.as_ps();
        loop {
            let Some(&key) = self.current.get(self.taken) else {
                if !self.turn_to_next_slot(end) {
                    return None;
                }
                continue;
            };
            let (at, id) = self.event_of(key);
            if at >= end {
                return None;
            }
            self.taken += 1;
            let entry = &mut self.components[id as usize];
            if entry.due == at {
                *entry = Entry::NONE;
                self.now = at;
                return Some((Time::from_ps(at), id));
            }
            self.pass_over(id, at);
        }
    }

    /// Whether an event may be due before `end`; if so, [`next`](Self::next) has it.
    #[inline]
    pub(crate) fn has_before(&mut self, end: Time) -> bool {
        self.taken < self.current.len() || self.turn_to_next_slot(end.as_ps())
    }

    /// The components that are probably due next, in order.
    #[inline]
    pub(crate) fn next(&self) -> impl Iterator<Item = ComponentId> {
        self.current[self.taken..].iter().map(|&key| id_of(key))
    }

    /// Makes the next slot with events the current one, unless it starts at `end` or later.
    fn turn_to_next_slot(&mut self, end: u64) -> bool {
        let mut slot = self.next_occupied_slot();
        if slot >= self.far_slot {
            self.far_slot = self.next_far().map_or(NEVER, |(at, _)| self.slot_of(at));
            // Components that were put off may have come into a list.
            slot = self.next_occupied_slot().min(self.far_slot);
        }
        if slot == NEVER || self.start_of(slot) >= end {
            return false;
        }
        (self.slot, self.start) = (slot, self.start_of(slot));
        let list = self.close(place_of(slot));
        let over = std::mem::replace(&mut self.current, list);
        self.keep(over);
        self.taken = 0;
        if slot == self.far_slot {
            self.take_far(slot);
        }
        if !self.current.is_sorted() {
            self.current.sort_unstable();
        }
        true
    }

    /// Moves the entries of `far` that belong to the current slot into it.
    #[cold]
    fn take_far(&mut self, slot: u64) {
        while let Some((at, id)) = self.next_far().filter(|&(at, _)| self.slot_of(at) == slot) {
            self.take_next_far(id, at);
            self.current.push(self.key(id, at));
        }
        self.far_slot = self.next_far().map_or(NEVER, |(at, _)| self.slot_of(at));
    }

    /// The next entry of `far`. Removes stale entries on the way, and lists components that were
    /// put off anew.
    fn next_far(&mut self) -> Option<(u64, ComponentId)> {
        while let Some(&Reverse((at, id))) = self.far.peek() {
            if self.components[id as usize].due == at {
                return Some((at, id));
            }
            self.take_next_far(id, at);
            // Entries that are listed for later may rely on this one.
            if self.components[id as usize].listed >= at {
                self.list_anew(id);
            }
        }
        None
    }

    fn take_next_far(&mut self, id: ComponentId, at: u64) {
        self.far.pop();
        let first = &mut self.first_far[id as usize];
        if *first == at {
            *first = NEVER;
        }
    }

    /// The first slot after the current one that has a list.
    #[inline]
    fn next_occupied_slot(&self) -> u64 {
        let start = place_of(self.slot + 1);
        let ahead = self.bitmap[start / 64] >> (start % 64);
        if ahead != 0 {
            return self.slot + 1 + u64::from(ahead.trailing_zeros());
        }
        // The following words, around the end; this word comes last.
        let mut slot = self.slot + 1 + (64 - start as u64 % 64);
        for _ in 0..WORDS {
            let word = self.bitmap[place_of(slot) / 64];
            if word != 0 {
                return slot + u64::from(word.trailing_zeros());
            }
            slot += 64;
        }
        NEVER
    }

    /// The slot of an instant.
    #[inline]
    const fn slot_of(&self, at: u64) -> u64 {
        (at >> self.shift) + 1
    }

    #[inline]
    const fn start_of(&self, slot: u64) -> u64 {
        (slot - 1) << self.shift
    }

    /// An event of a slot as one number that sorts by time: the time since the start of the slot,
    /// then the component.
    #[inline]
    const fn key(&self, id: ComponentId, at: u64) -> u64 {
        (at & ((1 << self.shift) - 1)) << 32 | id as u64
    }

    /// The event of a key in the current slot: the inverse of [`key`](Self::key).
    #[inline]
    const fn event_of(&self, key: u64) -> (u64, ComponentId) {
        (self.start + (key >> 32), id_of(key))
    }
}

/// The component of a key.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half of a key")]
const fn id_of(key: u64) -> ComponentId {
    key as u32
}

/// The index of a slot's list.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
const fn place_of(slot: u64) -> usize {
    slot as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::parts::random::Random;
    use std::collections::BTreeSet;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn simultaneous_events_come_in_the_order_of_their_numbers() {
        let mut calendar = Calendar::new(4, 1.0);
        for id in [2, 0, 3, 1] {
            calendar.schedule(id, at(1_000_000));
        }
        let order: Vec<_> = std::iter::from_fn(|| calendar.pop_before(at(u64::MAX))).collect();
        assert_eq!(order, (0..4).map(|id| (at(1_000_000), id)).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_comes_at_the_end_or_after() {
        let mut calendar = Calendar::new(1, 1.0);
        calendar.schedule(0, at(100));
        assert_eq!(calendar.pop_before(at(100)), None);
        assert_eq!(calendar.pop_before(at(101)), Some((at(100), 0)));
        assert_eq!(calendar.pop_before(at(u64::MAX)), None);
    }

    #[test]
    fn what_was_moved_away_and_back_comes_once() {
        let mut calendar = Calendar::new(2, 1.0);
        for ps in [100, 5_000_000, 100, 50_000_000_000, 5_000_000, 100] {
            calendar.schedule(0, at(ps));
        }
        assert_eq!((calendar.next_due(), calendar.due(0)), (at(100), at(100)));
        assert_eq!(calendar.pop_before(at(u64::MAX)), Some((at(100), 0)));
        assert_eq!((calendar.next_due(), calendar.due(0)), (at(u64::MAX), at(u64::MAX)));
        // Schedule once more for this very instant, where old entries are still listed.
        calendar.schedule(0, at(100));
        assert_eq!(calendar.pop_before(at(u64::MAX)), Some((at(100), 0)));
        assert_eq!(calendar.pop_before(at(u64::MAX)), None);
    }

    /// A component that is put off is listed anew only when its old time is looked at. Here that
    /// happens when the calendar turns to another component's later time. From then on it is listed
    /// under the new time, and can be moved back.
    #[test]
    fn what_was_put_off_beyond_the_calendar_can_be_moved_nearer() {
        let ms = |ms: u64| at(ms * 1_000_000_000);
        let mut calendar = Calendar::new(2, 1.0);
        calendar.schedule(0, ms(1_000));
        calendar.schedule(0, ms(1_200));
        calendar.schedule(1, ms(999));
        assert_eq!(calendar.pop_before(ms(2_000)), Some((ms(999), 1)));
        calendar.schedule(0, ms(1_100));
        assert_eq!((calendar.next_due(), calendar.due(0)), (ms(1_100), ms(1_100)));
        assert_eq!(calendar.pop_before(ms(2_000)), Some((ms(1_100), 0)));
        assert_eq!(calendar.pop_before(ms(2_000)), None);
    }

    /// Compares `next_due` with all due times, near and far, with stale entries in the current
    /// slot, in lists and in the heap.
    #[test]
    fn next_due_is_the_first_of_all() {
        let mut calendar = Calendar::new(8, 1.0);
        let (mut due, mut now, mut random) = ([u64::MAX; 8], 0, Random::new(5));
        for step in 0..50_000 {
            let id = random.below(8);
            let gaps = [0, 300, 70_000, 9_000_000, 4_000_000_000, 90_000_000_000];
            let gap = gaps[random.below(6) as usize];
            due[id as usize] = if random.below(8) == 0 { u64::MAX } else { now + gap };
            calendar.schedule(id, at(due[id as usize]));
            let first = *due.iter().min().unwrap_or(&u64::MAX);
            assert_eq!(calendar.next_due(), at(first), "at step {step}");
            if random.below(4) == 0 && first < u64::MAX {
                let (when, id) = calendar.pop_before(at(u64::MAX)).unwrap();
                assert_eq!(when, at(first));
                (now, due[id as usize]) = (first, u64::MAX);
            }
        }
    }

    /// Compares the calendar with an ordered map, over gaps from nothing to far beyond the last
    /// slot, with events moved and removed.
    #[test]
    fn agrees_with_an_ordered_map() {
        [1.0, 200.0, 1e9].into_iter().for_each(agrees_when_so_many_are_due);
    }

    fn agrees_when_so_many_are_due(per_us: f64) {
        let components = 50_u32;
        let mut calendar = Calendar::new(components as usize, per_us);
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
