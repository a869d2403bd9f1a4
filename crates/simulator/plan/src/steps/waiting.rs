//! Steps of a worker that wait: for outcomes of messages, and for connections to be set up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::{Span, Time};

use super::Steps;
use crate::application::{Awaiting, Outcome};

/// No step.
const NONE: u32 = u32::MAX;

/// The steps that await an outcome on each slot, and the outcomes that no step awaits yet.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// The queue of each slot by [`Outcome`]; none where no step awaits such an outcome.
    queues: [Vec<Queue>; 2],
    /// The step behind each step in its queue.
    next: Vec<u32>,
}

/// The steps that await one outcome on a slot.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The first step, or [`NONE`].
    first: u32,
    /// The last step. Where there is none, the number of outcomes that came before their steps.
    last: u32,
}

impl Waiting {
    pub(super) fn new(steps: &Steps) -> Self {
        let queues = [Outcome::Received, Outcome::Sent].map(|outcome| {
            let slots = if steps.awaits(outcome) { steps.slots } else { 0 };
            vec![Queue { first: NONE, last: 0 }; slots]
        });
        Self { queues, next: vec![NONE; steps.all.len()] }
    }

    /// Begins a step that awaits an outcome. Returns whether that has come before, which ends the
    /// step.
    pub(super) fn begin(&mut self, slot: u32, outcome: Outcome, step: u32) -> bool {
        let queue = &mut self.queues[outcome as usize][slot as usize];
        if queue.first != NONE {
            self.next[queue.last as usize] = step;
            queue.last = step;
        } else if queue.last > 0 {
            queue.last -= 1;
            return true;
        } else {
            *queue = Queue { first: step, last: step };
        }
        self.next[step as usize] = NONE;
        false
    }

    /// Returns the step that an outcome ends; without one the outcome waits for its step.
    pub(super) fn end(&mut self, slot: u32, outcome: Outcome) -> Option<u32> {
        let queue = self.queues[outcome as usize].get_mut(slot as usize)?;
        let step = queue.first;
        if step == NONE {
            queue.last += 1;
            return None;
        }
        queue.first = self.next[step as usize];
        if queue.first == NONE {
            queue.last = 0;
        }
        Some(step)
    }

    /// The steps that await an outcome, in the order of slots.
    pub(super) fn all(&self) -> Vec<Awaiting> {
        let mut all = Vec::new();
        let slots = self.queues.iter().map(Vec::len).max().unwrap_or(0);
        for (slot, place) in (0..).zip(0..slots) {
            for outcome in [Outcome::Received, Outcome::Sent] {
                let queue = self.queues[outcome as usize].get(place);
                let mut step = queue.map_or(NONE, |queue| queue.first);
                while step != NONE {
                    all.push(Awaiting { step, slot, outcome });
                    step = self.next[step as usize];
                }
            }
        }
        all
    }
}

/// Connections that are set up before their first message.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    takes: Span,
    /// The time from which on each connection is open, or [`Time::MAX`]; empty where it takes no
    /// time.
    open: Vec<Time>,
    /// The sends that wait, with the time at which their connection is open.
    held: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Opening {
    pub(super) fn new(takes: Span, connections: usize) -> Self {
        let connections = if takes > Span::ZERO { connections } else { 0 };
        Self { takes, open: vec![Time::MAX; connections], held: BinaryHeap::new() }
    }

    /// Whether a send has to wait. The first one on a connection begins to set it up.
    pub(super) fn holds(&mut self, now: Time, connection: u32, step: u32) -> bool {
        let Some(open) = self.open.get_mut(connection as usize) else { return false };
        if *open == Time::MAX {
            *open = now + self.takes;
        }
        if *open > now {
            self.held.push(Reverse((*open, step)));
        }
        *open > now
    }

    /// The time at which the next send may go on.
    pub(super) fn next(&self) -> Time {
        self.held.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }

    /// Returns a send that may go on.
    pub(super) fn opened(&mut self, now: Time) -> Option<u32> {
        if self.next() > now {
            return None;
        }
        self.held.pop().map(|Reverse((_, step))| step)
    }
}
