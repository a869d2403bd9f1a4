//! The event queue: a calendar of components.
//!
//! A component is something that has at most one next event: the far end of a link, a port that is
//! sending, the timer of a host. So the calendar holds one entry for each, in place, and allocates
//! nothing while it runs. Events of one instant come in the order of their components' numbers,
//! which follow from the topology alone: never from the order of insertion, nor from anything that
//! depends on how a run is split.
//!
//! Time is cut into slots. The next 1,024 slots are lists of what is due, found through a bitmap; what lies
//! beyond waits in a heap until its slot comes. The slot that is being worked on is sorted, so that whoever
//! handles events can see which ones come next and have their data brought closer in time.
//!
//! What a list says is only a hint: a component is due when `due` says so, and a key that disagrees is stale.
//! Nothing needs to be found and taken out. What is put off, as timers are again and again, is not even listed
//! anew: it is found under the old time, and then put where it belongs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::Time;

/// Number of a component.
pub(crate) type ComponentId = u32;

const SLOTS: usize = 1_024;
const WORDS: usize = SLOTS / 64;
/// A slot may be so long, in powers of two of picoseconds: 67 us, the slots together 69 ms.
const LONGEST_SLOT: u32 = 26;
/// And so short: 4 ns, and 4 us.
const SHORTEST_SLOT: u32 = 12;
/// Not scheduled.
const NEVER: u64 = u64::MAX;

/// The next event of every component.
#[derive(Debug)]
pub(crate) struct Calendar {
    components: Vec<Entry>,
    /// How many are due in a microsecond at most.
    per_us: f64,
    /// Slots have 2^`shift` ps.
    shift: u32,
    /// What is due in each of the next slots, in no order: see [`Calendar::key`].
    slots: Box<[Vec<u64>; SLOTS]>,
    /// Lists of slots that are over. The next slot that needs one takes the last: its memory is in the
    /// processor's caches.
    spare: Vec<Vec<u64>>,
    /// One bit per slot that has any.
    bitmap: [u64; WORDS],
    /// The last event that was taken out.
    now: u64,
    /// The slot that is being worked on, counted from 1: before the first event it is none, and what
    /// is scheduled for time zero waits in a list like all else.
    slot: u64,
    /// When it starts; of none, before time zero, as numbers wrap around.
    start: u64,
    /// Its list, in order; what comes into it comes in order as a rule, so there is little to sort.
    current: Vec<u64>,
    /// How many of it have been taken out.
    taken: usize,
    /// Beyond the calendar.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// The first entry of each component there; a timer that is asked for again and again, and put aside for
    /// something nearer each time, needs only one.
    first_far: Vec<u64>,
    /// No entry beyond the calendar is in an earlier slot.
    far_slot: u64,
}

/// What is known of a component.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it is due.
    due: u64,
    /// Under which time it is found in a list, or beyond the calendar: not after it is due.
    listed: u64,
}

impl Entry {
    const NONE: Self = Self { due: NEVER, listed: NEVER };
}

impl Calendar {
    /// A calendar of `components`, none of them scheduled, of which up to `per_us` are due in a microsecond.
    pub(crate) fn new(components: usize, per_us: f64) -> Self {
        Self::starting_at(components, per_us, Time::ZERO)
    }

    /// The same, for events from `now` on.
    pub(crate) fn starting_at(components: usize, per_us: f64, now: Time) -> Self {
        // Few enough to sort; in a large network, enough to look ahead. In a small one few are pending at a
        // time however long a slot is, and a long one is seldom turned to.
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

    /// Schedules `id`, instead of what it was scheduled for; [`Time::MAX`] takes it out. `at` does not
    /// lie before the event that is being handled.
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

    /// Puts a component where it is found when its time comes.
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

    /// Puts a key among those that are left of the slot that is being worked on: mostly at the end.
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

    /// Puts a key into the list of a slot that has none, or a full one.
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

    /// Keeps a list that is over for the next slot that needs one.
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

    /// A component was found under the time `at` and is not due then. If it was put off, it is listed anew;
    /// if not, it is found elsewhere.
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

    /// An empty calendar for so many components of the same network, or of part of it, from `now` on.
    pub(crate) fn of_part(&self, components: usize, now: Time) -> Self {
        let share = components as f64 / self.components.len().max(1) as f64;
        Self::starting_at(components, self.per_us * share, now)
    }

    /// When a component's event is due; [`Time::MAX`] if it has none.
    pub(crate) fn due(&self, id: ComponentId) -> Time {
        Time::from_ps(self.components[id as usize].due)
    }

    /// When the next event is due; [`Time::MAX`] if there is none.
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

    /// The next event that is due before `end`, taken out.
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

    /// Whether an event may be due before `end`; if so [`next`](Self::next) has it.
    #[inline]
    pub(crate) fn has_before(&mut self, end: Time) -> bool {
        self.taken < self.current.len() || self.turn_to_next_slot(end.as_ps())
    }

    /// Components that are probably due next, in order.
    #[inline]
    pub(crate) fn next(&self) -> impl Iterator<Item = ComponentId> {
        self.current[self.taken..].iter().map(|&key| id_of(key))
    }

    /// Makes the next slot that has anything the one that is being worked on, unless it starts at `end` or
    /// later.
    fn turn_to_next_slot(&mut self, end: u64) -> bool {
        let mut slot = self.next_occupied_slot();
        if slot >= self.far_slot {
            self.far_slot = self.next_far().map_or(NEVER, |(at, _)| self.slot_of(at));
            // What was put off may have come into a list.
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

    /// Takes into the slot that is being worked on what lay beyond the calendar.
    #[cold]
    fn take_far(&mut self, slot: u64) {
        while let Some((at, id)) = self.next_far().filter(|&(at, _)| self.slot_of(at) == slot) {
            self.take_next_far(id, at);
            self.current.push(self.key(id, at));
        }
        self.far_slot = self.next_far().map_or(NEVER, |(at, _)| self.slot_of(at));
    }

    /// The next entry beyond the calendar. Those that are not due when they say are taken out on the way, and
    /// listed anew if they were put off.
    fn next_far(&mut self) -> Option<(u64, ComponentId)> {
        while let Some(&Reverse((at, id))) = self.far.peek() {
            if self.components[id as usize].due == at {
                return Some((at, id));
            }
            self.take_next_far(id, at);
            // What is listed for later may rely on this.
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
        // The following words, around the end, this one last.
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

    /// The slot that an instant falls into, and when a slot starts.
    #[inline]
    const fn slot_of(&self, at: u64) -> u64 {
        (at >> self.shift) + 1
    }

    #[inline]
    const fn start_of(&self, slot: u64) -> u64 {
        (slot - 1) << self.shift
    }

    /// What is due in a slot, as one number that sorts as it comes: when, from the start of the slot, and who.
    #[inline]
    const fn key(&self, id: ComponentId, at: u64) -> u64 {
        (at & ((1 << self.shift) - 1)) << 32 | id as u64
    }

    /// The same backwards, of the slot that is being worked on.
    #[inline]
    const fn event_of(&self, key: u64) -> (u64, ComponentId) {
        (self.start + (key >> 32), id_of(key))
    }
}

/// Who is due.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half of a key")]
const fn id_of(key: u64) -> ComponentId {
    key as u32
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
        // Once more at the very instant, where entries of before are still there.
        calendar.schedule(0, at(100));
        assert_eq!(calendar.pop_before(at(u64::MAX)), Some((at(100), 0)));
        assert_eq!(calendar.pop_before(at(u64::MAX)), None);
    }

    /// What is put off is not listed anew until its old time is looked at, here when the calendar turns to
    /// another component's time beyond it: from then on it is found under the new time, and can be moved back.
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

    /// Against all that is due, near and far, with stale entries in the slot that is worked on, in
    /// lists and beyond.
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

    /// Against an ordered map, over gaps from nothing to far beyond the calendar, with events moved
    /// and taken out.
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
