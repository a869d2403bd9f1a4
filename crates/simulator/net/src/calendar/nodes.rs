//! Windows in which each node handles its events alone, one node after the other.
//!
//! A window begins with the earliest event of all nodes, and is no longer than the least delay of a
//! link. So what a node puts on a link arrives after the window, and no node can see what another
//! one does in it. A node then handles all its events of the window, in order, before the next node
//! has its turn. Its data comes into the processor's caches once in a window, not once for each
//! event.
//!
//! An event that is scheduled within the window is one of the node whose turn it is: a node reaches
//! others only through links. It is put among the events in hand. All others are found when their
//! node has its turn: a bit for each of its components says whether it may be scheduled.

use incast_cc::Time;

use super::{ComponentId, Due, NEVER, WindowLengths, key};
use crate::Component;

/// The nodes with their components, and the present window.
#[derive(Debug)]
pub(super) struct NodeWindows {
    lengths: WindowLengths,
    /// The end of the present window.
    until: u64,
    /// The next node that has its turn.
    turn: usize,
    /// The components of all nodes, in groups of one node's.
    groups: Vec<Group>,
    /// The first group of each node, and the end of the last one's.
    bounds: Vec<u32>,
}

/// At most 64 components of one node. Those in hand are left out.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// A lower bound for the next event.
    first: u64,
    /// A bit for each component, set if it may be scheduled.
    scheduled: u64,
    /// The first component.
    base: ComponentId,
}

impl Group {
    /// The components that may be scheduled.
    #[inline]
    fn scheduled(self) -> impl Iterator<Item = ComponentId> {
        let mut left = self.scheduled;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros());
            left &= left.wrapping_sub(1);
            bit.map(|bit| self.base + bit)
        })
    }
}

/// The number of the group that the entry of a component [has](super::Entry::listed).
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "groups are numbered in 32 bits")]
const fn group_of(listed: u64) -> usize {
    (NEVER - listed) as usize
}

impl NodeWindows {
    /// Windows from `now` on; nothing is scheduled.
    #[expect(clippy::cast_possible_truncation, reason = "components have numbers of 32 bits")]
    pub(super) fn new(
        components: &[Component],
        due: &mut Due,
        lengths: WindowLengths,
        now: u64,
    ) -> Self {
        let node = |component: &Component| (component.kind.is_of_host(), component.node);
        let (mut groups, mut bounds) = (Vec::new(), vec![0]);
        let mut entries = due.components.iter_mut();
        let mut base = 0;
        for own in components.chunk_by(|a, b| node(a) == node(b)) {
            for group in own.chunks(u64::BITS as usize) {
                let members = entries.by_ref().take(group.len());
                members.for_each(|entry| entry.listed = NEVER - groups.len() as u64);
                groups.push(Group { first: NEVER, scheduled: 0, base });
                base += group.len() as ComponentId;
            }
            bounds.push(groups.len() as u32);
        }
        Self { lengths, until: now, turn: bounds.len() - 1, groups, bounds }
    }

    pub(super) const fn lengths(&self) -> WindowLengths {
        self.lengths
    }

    pub(super) const fn window_end(&self) -> Time {
        Time::from_ps(self.until)
    }

    /// Lists a component that is due at `at`; `group` is its group, as its entry had it.
    #[inline]
    pub(super) fn list(&mut self, due: &mut Due, id: ComponentId, at: u64, group: u64) {
        due.components[id as usize].listed = group;
        let group = group_of(group);
        if at < self.until {
            debug_assert!(self.has_turn(group), "component {id} is disturbed in a window");
            return due.insert(key(at - due.start, id));
        }
        let group = &mut self.groups[group];
        group.scheduled |= 1 << (id - group.base);
        group.first = at.min(group.first);
    }

    /// Whether it is the turn of a group's node.
    fn has_turn(&self, group: usize) -> bool {
        let own = self.bounds[self.turn - 1]..self.bounds[self.turn];
        (own.start as usize..own.end as usize).contains(&group)
    }

    /// The time of the next event that is not in hand; [`NEVER`] if there is none.
    pub(super) fn next_due(&mut self, due: &Due) -> u64 {
        let mut next = NEVER;
        for group in &mut self.groups {
            if group.first < next {
                let own = group.scheduled().map(|id| due.components[id as usize].due);
                group.first = own.min().unwrap_or(NEVER);
                next = next.min(group.first);
            }
        }
        next
    }

    /// Gives the next node its turn: takes its events in hand. Opens the next window when all have
    /// had theirs, unless it would begin at `end` or later.
    pub(super) fn turn(&mut self, due: &mut Due, end: u64) -> bool {
        loop {
            while self.turn + 1 < self.bounds.len() {
                self.turn += 1;
                if self.take_turn(due) {
                    return true;
                }
            }
            let next = self.next_due(due);
            if next >= end {
                return false;
            }
            (due.start, self.until, self.turn) = (next, self.end_of(next).min(end), 0);
        }
    }

    /// The end of a window that begins at `start`.
    fn end_of(&self, start: u64) -> u64 {
        let until = start.saturating_add(self.lengths.most.as_ps());
        match self.lengths.between_looks {
            Some(period) if start.is_multiple_of(period.as_ps()) => start + 1,
            Some(period) => until.min(start.next_multiple_of(period.as_ps())),
            None => until,
        }
    }

    /// Takes the events in hand that the node whose turn it is has in this window; returns whether
    /// there are any.
    #[inline]
    fn take_turn(&mut self, due: &mut Due) -> bool {
        let Due { components, current, taken, start } = due;
        current.clear();
        *taken = 0;
        let own = self.bounds[self.turn - 1] as usize..self.bounds[self.turn] as usize;
        for group in self.groups[own].iter_mut().filter(|group| group.first < self.until) {
            let (mut first, mut left) = (NEVER, 0);
            for id in group.scheduled() {
                let at = components[id as usize].due;
                if at < self.until {
                    current.push(key(at - *start, id));
                } else if at < NEVER {
                    first = at.min(first);
                    left |= 1 << (id - group.base);
                }
            }
            (group.first, group.scheduled) = (first, left);
        }
        current.sort_unstable();
        !current.is_empty()
    }
}
