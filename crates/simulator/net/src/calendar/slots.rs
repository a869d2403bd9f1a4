//! Slots of time: the events of all nodes, a short stretch of time after the other.
//!
//! Each of the next 1,024 slots has a list of the events due in it, found through a bitmap; later
//! events wait in a heap until their slot comes. The events of the current slot are in hand, so
//! that whoever handles them can see which ones come next and fetch their data in time.
//!
//! A component that is put off, as timers are again and again, is not listed anew at once: it is
//! found under its old time, and then moved to its new one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{ComponentId, Due, NEVER, id_of, key};

const SLOTS: usize = 1_024;
const WORDS: usize = SLOTS / 64;
/// The longest slot, as a power of two of picoseconds: 67 us, all slots together 69 ms.
const LONGEST_SLOT: u32 = 26;
/// The shortest slot, as a power of two of picoseconds: 4 ns, all slots together 4 us.
const SHORTEST_SLOT: u32 = 12;

/// The lists of the events that are not in hand.
#[derive(Debug)]
pub(super) struct Slots {
    /// The length of a slot: 2^`shift` ps.
    shift: u32,
    /// The events of each of the next slots, in no order: see [`Slots::key`].
    lists: Box<[Vec<u64>; SLOTS]>,
    /// Empty lists of past slots. The next slot that needs a list takes the last: its memory is in
    /// the processor's caches.
    spare: Vec<Vec<u64>>,
    /// A bit for each slot, set if the slot has a list.
    bitmap: [u64; WORDS],
    /// The current slot, counted from 1. Before the first event it is 0, so that events at time
    /// zero wait in a list like all others.
    slot: u64,
    /// Events beyond the last slot.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest entry of each component in `far`. A timer that is asked for again and again,
    /// and put aside each time for a nearer one, needs only one entry.
    first_far: Vec<u64>,
    /// A lower bound: no entry of `far` is in an earlier slot.
    far_slot: u64,
}

impl Slots {
    /// Slots for `components` from `now` on. At most `per_us` of these are due in a microsecond.
    pub(super) fn new(components: usize, per_us: f64, now: u64) -> Self {
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
        Self {
            shift,
            lists: vec![Vec::new(); SLOTS].try_into().unwrap_or_else(|_| unreachable!("so many")),
            spare: Vec::new(),
            bitmap: [0; WORDS],
            slot: now >> shift,
            far: BinaryHeap::new(),
            first_far: vec![NEVER; components],
            far_slot: NEVER,
        }
    }

    /// The start of the current slot. For slot 0, before time zero, the number wraps around.
    pub(super) const fn start(&self) -> u64 {
        self.slot.wrapping_sub(1) << self.shift
    }

    /// Lists a component under the time `at`.
    #[expect(clippy::inline_always, reason = "for every event, in the function that chooses")]
    #[inline(always)]
    pub(super) fn list(&mut self, due: &mut Due, id: ComponentId, at: u64) {
        let later = at.wrapping_sub(due.start);
        let ahead = later >> self.shift;
        if ahead == 0 {
            return due.insert(key(later, id));
        }
        if ahead >= SLOTS as u64 {
            return self.list_far(id, at);
        }
        let (place, key) = (place_of(self.slot + ahead), self.key(id, at));
        let list = &mut self.lists[place];
        if list.len() == list.capacity() {
            return self.open(place, key);
        }
        list.push(key);
    }

    /// Puts a key into the list of a slot that has no list, or a full one.
    #[inline(never)]
    fn open(&mut self, place: usize, key: u64) {
        self.bitmap[place / 64 % WORDS] |= 1 << (place % 64);
        let list = &mut self.lists[place];
        if list.is_empty() {
            *list = self.spare.pop().unwrap_or_default();
        }
        list.push(key);
    }

    /// Takes the list of a slot.
    #[inline]
    fn close(&mut self, place: usize) -> Vec<u64> {
        self.bitmap[place / 64 % WORDS] &= !(1 << (place % 64));
        std::mem::take(&mut self.lists[place])
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

    /// Lists a component anew that was listed under the time `at`, and has been put off.
    pub(super) fn pass_over(&mut self, due: &mut Due, id: ComponentId, at: u64) {
        if due.components[id as usize].listed == at {
            self.list_anew(due, id);
        }
    }

    #[inline(never)]
    fn list_anew(&mut self, due: &mut Due, id: ComponentId) {
        let entry = &mut due.components[id as usize];
        let at = entry.due;
        entry.listed = at;
        if at != NEVER {
            self.list(due, id, at);
        }
    }

    /// The time of the next event that is not in hand; [`NEVER`] if there is none.
    pub(super) fn next_due(&mut self, due: &mut Due) -> u64 {
        loop {
            let far = self.next_far(due).map_or(NEVER, |(at, _)| at);
            let slot = self.next_occupied_slot();
            if slot > self.slot_of(far) || slot == NEVER {
                return far;
            }
            let start = self.start_of(slot);
            let event = |&key: &u64| (start + (key >> 32), id_of(key));
            let (mut first, mut put_off) = (NEVER, false);
            for (at, id) in self.lists[place_of(slot)].iter().map(event) {
                let entry = due.components[id as usize];
                if entry.due == at {
                    first = first.min(at);
                } else {
                    put_off |= entry.listed == at;
                }
            }
            if first < NEVER && !put_off {
                return first.min(far);
            }
            let list = self.close(place_of(slot));
            for (at, id) in list.iter().map(event) {
                if due.components[id as usize].due == at {
                    self.list(due, id, at);
                } else {
                    self.pass_over(due, id, at);
                }
            }
            self.keep(list);
        }
    }

    /// Makes the next slot with events the current one, unless it starts at `end` or later.
    pub(super) fn turn(&mut self, due: &mut Due, end: u64) -> bool {
        let mut slot = self.next_occupied_slot();
        if slot >= self.far_slot {
            self.far_slot = self.next_far(due).map_or(NEVER, |(at, _)| self.slot_of(at));
            // Components that were put off may have come into a list.
            slot = self.next_occupied_slot().min(self.far_slot);
        }
        if slot == NEVER || self.start_of(slot) >= end {
            return false;
        }
        (self.slot, due.start) = (slot, self.start_of(slot));
        let list = self.close(place_of(slot));
        let over = std::mem::replace(&mut due.current, list);
        self.keep(over);
        due.taken = 0;
        if slot == self.far_slot {
            self.take_far(due, slot);
        }
        if !due.current.is_sorted() {
            due.current.sort_unstable();
        }
        true
    }

    /// Moves the entries of `far` that belong to the current slot into it.
    #[cold]
    fn take_far(&mut self, due: &mut Due, slot: u64) {
        while let Some((at, id)) = self.next_far(due).filter(|&(at, _)| self.slot_of(at) == slot) {
            self.take_next_far(id, at);
            due.current.push(self.key(id, at));
        }
        self.far_slot = self.next_far(due).map_or(NEVER, |(at, _)| self.slot_of(at));
    }

    /// The next entry of `far`. Removes stale entries on the way, and lists components that were
    /// put off anew.
    fn next_far(&mut self, due: &mut Due) -> Option<(u64, ComponentId)> {
        while let Some(&Reverse((at, id))) = self.far.peek() {
            if due.components[id as usize].due == at {
                return Some((at, id));
            }
            self.take_next_far(id, at);
            // Entries that are listed for later may rely on this one.
            if due.components[id as usize].listed >= at {
                self.list_anew(due, id);
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
        key(at & ((1 << self.shift) - 1), id)
    }
}

/// The index of a slot's list.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "reduced modulo SLOTS")]
const fn place_of(slot: u64) -> usize {
    slot as usize % SLOTS
}
