//! The event queue: the time at which each component is due.
//!
//! A component is a thing that has at most one next event: the far end of a link, a port that is
//! sending, the timer of a host. So the calendar holds one entry for each, in place, and allocates
//! nothing while it runs. Events of one node at one instant come in the order of their components'
//! numbers. These follow from the topology alone: they do not depend on the order of insertion, nor
//! on how a run is split.
//!
//! There are two ways to find the next event. Both put some events into a short sorted list, handle
//! these, and then look for the next ones:
//!
//! * [`Slots`]: the events of all nodes in a short stretch of time, for sparse networks.
//! * [`NodeWindows`]: the events of one node in a window of time, for dense networks.
//!
//! An entry in a list is only a hint: a component is due when `due` says so, and an entry that
//! disagrees is stale. So no entry needs to be searched for and removed.

mod nodes;
mod slots;

use incast_cc::{Span, Time};

use super::Component;
use super::prefetch::prefetch;
use nodes::NodeWindows;
use slots::Slots;

/// The number of a component.
pub(crate) type ComponentId = u32;

/// The time of a component that is not scheduled.
const NEVER: u64 = u64::MAX;

/// The next event of every component.
#[derive(Debug)]
pub(crate) struct Calendar {
    due: Due,
    lookup: Lookup,
    /// The time of the last event that was taken out.
    now: u64,
    /// The most components that are due in a microsecond.
    per_us: f64,
    /// The component that was announced, or [`NOBODY`].
    announced: ComponentId,
    /// The bits that are set in [`Entry::listed`] when a component's event is taken out: all of
    /// them in slots.
    unlisted: u64,
}

/// No component.
const NOBODY: ComponentId = ComponentId::MAX;

/// The means to find the next events.
#[derive(Debug)]
enum Lookup {
    Slots(Slots),
    Nodes(NodeWindows),
}

/// The lengths that windows of nodes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowLengths {
    /// The longest window: nothing that a node does reaches another within it.
    pub(crate) most: Span,
    /// The time between two instants at which some event looks at several nodes. Windows end there,
    /// and such an instant is a window of its own.
    pub(crate) between_looks: Option<Span>,
}

/// The time at which each component is due, and the events that come next.
#[derive(Debug)]
struct Due {
    components: Vec<Entry>,
    /// The events in hand, in order, each as one number that sorts: the time since `start`, then
    /// the component. Most insertions come in order, so there is little to sort.
    current: Vec<u64>,
    /// The number of events in hand that have been taken out.
    taken: usize,
    /// The start of the slot or window of the events in hand.
    start: u64,
}

/// The state of a component.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The time at which the component is due.
    due: u64,
    /// The time under which [`Slots`] list the component: never later than `due`. In node windows
    /// it is [`NEVER`] less the number of the component's group, later than all times.
    listed: u64,
}

impl Entry {
    const NONE: Self = Self { due: NEVER, listed: NEVER };
}

impl Due {
    fn new(components: usize, start: u64) -> Self {
        let current = Vec::with_capacity(64);
        Self { components: vec![Entry::NONE; components], current, taken: 0, start }
    }

    /// Puts an event among those in hand, mostly at the end.
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

    /// The event of a key.
    #[inline]
    const fn event_of(&self, key: u64) -> (u64, ComponentId) {
        (self.start + (key >> 32), id_of(key))
    }
}

/// An event as a key: `later` is the time since the start, below 2^32 ps.
#[inline]
const fn key(later: u64, id: ComponentId) -> u64 {
    debug_assert!(later >> 32 == 0, "beyond the events in hand");
    later << 32 | id as u64
}

/// The component of a key.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half of a key")]
const fn id_of(key: u64) -> ComponentId {
    key as u32
}

impl Calendar {
    /// A calendar of `components` in slots, none of them scheduled. At most `per_us` of them are
    /// due in a microsecond.
    pub(crate) fn new(components: usize, per_us: f64) -> Self {
        Self::in_slots(components, per_us, Time::ZERO)
    }

    fn in_slots(components: usize, per_us: f64, now: Time) -> Self {
        let now = now.as_ps();
        let slots = Slots::new(components, per_us, now);
        let due = Due::new(components, slots.start());
        let lookup = Lookup::Slots(slots);
        Self { due, lookup, now, per_us, announced: NOBODY, unlisted: NEVER }
    }

    /// An empty calendar of the same components from `now` on, in windows of nodes, or in slots.
    pub(crate) fn changed(
        &self,
        components: &[Component],
        windows: Option<WindowLengths>,
        now: Time,
    ) -> Self {
        let share = components.len() as f64 / self.due.components.len().max(1) as f64;
        let per_us = self.per_us * share;
        let Some(lengths) = windows else {
            return Self::in_slots(components.len(), per_us, now);
        };
        let now = now.as_ps();
        let mut due = Due::new(components.len(), now);
        let lookup = Lookup::Nodes(NodeWindows::new(components, &mut due, lengths, now));
        Self { due, lookup, now, per_us, announced: NOBODY, unlisted: 0 }
    }

    /// An empty calendar of the same kind from `now` on, for `components` of the same network or of
    /// part of it.
    pub(crate) fn of_part(&self, components: &[Component], now: Time) -> Self {
        self.changed(components, self.windows(), now)
    }

    /// The lengths of windows, if nodes take turns in such.
    pub(crate) const fn windows(&self) -> Option<WindowLengths> {
        match &self.lookup {
            Lookup::Slots(_) => None,
            Lookup::Nodes(nodes) => Some(nodes.lengths()),
        }
    }

    /// The end of the present window, if nodes take turns: some have been there, others are to
    /// follow. Only then are all nodes at one instant.
    pub(crate) const fn window_end(&self) -> Option<Time> {
        match &self.lookup {
            Lookup::Slots(_) => None,
            Lookup::Nodes(nodes) => Some(nodes.window_end()),
        }
    }

    /// The most components that are due in a microsecond.
    pub(crate) const fn per_us(&self) -> f64 {
        self.per_us
    }

    /// Schedules `id` for `at`, in place of any earlier schedule; [`Time::MAX`] removes it. `at`
    /// must not lie before the event that is being handled.
    #[inline]
    pub(crate) fn schedule(&mut self, id: ComponentId, at: Time) {
        let at = at.as_ps();
        debug_assert!(at >= self.now, "component {id} scheduled for {at}, before {}", self.now);
        let entry = &mut self.due.components[id as usize];
        if entry.due == at {
            return; // a port says so for each packet that waits
        }
        entry.due = at;
        if at < entry.listed {
            let before = std::mem::replace(&mut entry.listed, at);
            self.list(id, at, before);
        }
    }

    /// Schedules `id` for `at`, unless whoever handles the present event takes it with
    /// [`take_announced`](Self::take_announced).
    #[inline]
    pub(crate) fn announce(&mut self, id: ComponentId, at: Time) {
        if self.announced == NOBODY {
            self.announced = id;
        } else {
            self.schedule(id, at);
        }
    }

    /// Takes the component that the present event has announced. It is not scheduled.
    #[inline]
    pub(crate) fn take_announced(&mut self) -> Option<ComponentId> {
        let announced = std::mem::replace(&mut self.announced, NOBODY);
        (announced != NOBODY).then_some(announced)
    }

    /// Lists a component under the time `at`, which was listed as `before` says.
    #[inline(never)]
    fn list(&mut self, id: ComponentId, at: u64, before: u64) {
        match &mut self.lookup {
            Lookup::Slots(slots) => slots.list(&mut self.due, id, at),
            Lookup::Nodes(nodes) => nodes.list(&mut self.due, id, at, before),
        }
    }

    /// Passes over a component that was listed under the time `at` and is not due then. If it was
    /// put off, it is listed anew; if not, it has another entry.
    #[inline(never)]
    fn pass_over(&mut self, id: ComponentId, at: u64) {
        if let Lookup::Slots(slots) = &mut self.lookup {
            slots.pass_over(&mut self.due, id, at);
        }
    }

    /// The time at which a component is due; [`Time::MAX`] if it is not scheduled.
    pub(crate) fn due(&self, id: ComponentId) -> Time {
        Time::from_ps(self.due.components[id as usize].due)
    }

    /// The time of the next event; [`Time::MAX`] if there is none.
    pub(crate) fn next_due(&mut self) -> Time {
        let mut first = NEVER;
        while let Some(&key) = self.due.current.get(self.due.taken) {
            let (at, id) = self.due.event_of(key);
            if self.due.components[id as usize].due == at {
                first = at;
                break;
            }
            self.due.taken += 1;
            self.pass_over(id, at);
        }
        Time::from_ps(match &mut self.lookup {
            Lookup::Slots(_) if first < NEVER => first,
            Lookup::Slots(slots) => slots.next_due(&mut self.due),
            Lookup::Nodes(nodes) => nodes.next_due(&self.due).min(first),
        })
    }

    /// Takes out the next event that is due before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Time) -> Option<(Time, ComponentId)> {
        let end = end.as_ps();
        loop {
            let Some(&key) = self.due.current.get(self.due.taken) else {
                if !self.turn(end) {
                    return None;
                }
                continue;
            };
            let (at, id) = self.due.event_of(key);
            if at >= end {
                return None;
            }
            self.due.taken += 1;
            let entry = &mut self.due.components[id as usize];
            if entry.due == at {
                entry.due = NEVER;
                entry.listed |= self.unlisted;
                self.now = at;
                return Some((Time::from_ps(at), id));
            }
            self.pass_over(id, at);
        }
    }

    /// Takes the next events in hand, unless they come at `end` or later.
    fn turn(&mut self, end: u64) -> bool {
        match &mut self.lookup {
            Lookup::Slots(slots) => slots.turn(&mut self.due, end),
            Lookup::Nodes(nodes) => nodes.turn(&mut self.due, end),
        }
    }

    /// Whether an event may be due before `end`; if so, [`next`](Self::next) has it.
    #[inline]
    pub(crate) fn has_before(&mut self, end: Time) -> bool {
        self.due.taken < self.due.current.len() || self.turn(end.as_ps())
    }

    /// The number of events in hand, and whether none of them has been taken out.
    #[inline]
    pub(crate) fn in_hand(&self) -> (usize, bool) {
        (self.due.current.len() - self.due.taken, self.due.taken == 0)
    }

    /// Brings the entry of a component into the caches.
    #[inline]
    pub(crate) fn touch(&self, id: ComponentId) {
        if let Some(entry) = self.due.components.get(id as usize) {
            prefetch(entry);
        }
    }

    /// The components that are probably due next, in order.
    #[inline]
    pub(crate) fn next(&self) -> impl Iterator<Item = ComponentId> {
        self.due.current[self.due.taken..].iter().map(|&key| id_of(key))
    }
}

#[cfg(test)]
mod tests;
