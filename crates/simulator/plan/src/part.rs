//! Parts: the steps of each rank of a job, before ranks have hosts.
//!
//! A rank's part is written as a [`Script`]: sends, receives and computations, each with the steps
//! that it waits for. A collective is a function that adds its steps to the script of one rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_cc::Span;

use crate::application::Outcome;
use crate::steps::{Listing, Step, Steps};

/// The part of one rank in a job. Ranks are numbered from 0, and a job has one part for each.
#[derive(Clone, Debug)]
pub struct Part {
    /// The steps of a round. Ranks with the same steps share them.
    pub steps: Arc<Steps>,
    /// The far ends of its sends: [`Step::Send`] names one by its place, and the outcome
    /// [`Sent`](crate::application::Outcome::Sent) on that slot is that the far end acknowledged a
    /// message.
    pub to: Vec<Peer>,
    /// The far ends of its receives: the outcome
    /// [`Received`](crate::application::Outcome::Received) on slot n is that a message of entry n
    /// has arrived.
    pub from: Vec<Peer>,
}

/// A rank at the far end. Two ranks have one connection in each direction for each lane between
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// The rank.
    pub rank: u32,
    /// The lane: a channel of a collective, or a tag of a trace.
    pub lane: u32,
}

impl Peer {
    /// The only lane to a rank.
    pub const fn of(rank: u32) -> Self {
        Self { rank, lane: 0 }
    }
}

/// The part of one rank while it is written.
#[derive(Clone, Debug, Default)]
pub struct Script {
    list: Listing,
    to: Ends,
    from: Ends,
    /// The acknowledgements of each far end in `to`.
    acknowledgements: Vec<Acknowledgements>,
    /// The meaning of its messages, which the tests of collectives read.
    #[cfg(test)]
    pub(crate) meanings: crate::collective::Meanings,
}

/// The messages to a far end and their acknowledgements, while a part is written.
#[derive(Clone, Copy, Debug, Default)]
struct Acknowledgements {
    /// The messages whose acknowledgement no step takes.
    free: u32,
    /// The last step that takes one.
    last: Option<u32>,
}

impl Script {
    /// Sends a message of `bytes` when all of `after` have ended. The step ends at once.
    pub fn send(&mut self, to: Peer, bytes: u64, after: &[u32]) -> u32 {
        let to = self.far_end(to);
        self.acknowledgements[to as usize].free += 1;
        self.list.after(after, Step::Send { to, bytes })
    }

    /// Takes the next message of a rank and lane. Receives of the same rank and lane get messages
    /// in the order in which they are ready.
    pub fn receive(&mut self, from: Peer, after: &[u32]) -> u32 {
        let slot = self.from.place(from);
        self.list.after(after, Step::Await { slot, outcome: Outcome::Received })
    }

    /// Ends when all of `after` have ended, and all messages to a rank and lane that are written so
    /// far have been acknowledged.
    pub fn acknowledged(&mut self, to: Peer, after: &[u32]) -> u32 {
        let to = self.far_end(to);
        let step = self.acknowledge(to, after);
        step.unwrap_or_else(|| self.compute(Span::ZERO, after))
    }

    /// Takes the acknowledgements that no step takes, and returns the last step that takes one.
    fn acknowledge(&mut self, to: u32, after: &[u32]) -> Option<u32> {
        let Acknowledgements { free, mut last } = self.acknowledgements[to as usize];
        for _ in 0..free {
            let after: Vec<_> = after.iter().copied().chain(last).collect();
            last = Some(self.list.after(&after, Step::Await { slot: to, outcome: Outcome::Sent }));
        }
        self.acknowledgements[to as usize] = Acknowledgements { free: 0, last };
        last
    }

    fn far_end(&mut self, to: Peer) -> u32 {
        let place = self.to.place(to);
        self.acknowledgements.resize(self.to.all.len(), Acknowledgements::default());
        place
    }

    /// Takes a time; of length zero it joins the steps before it.
    pub fn compute(&mut self, span: Span, after: &[u32]) -> u32 {
        self.list.after(after, Step::Compute(span))
    }

    /// Takes a stream of the rank for a time, and ends where that begins.
    pub fn claim(&mut self, stream: u32, span: Span, after: &[u32]) -> u32 {
        self.list.after(after, Step::Claim { stream, span })
    }

    /// The step that ends when all of `after` have ended; [`None`] if there are none.
    pub fn join(&mut self, after: &[u32]) -> Option<u32> {
        if after.len() < 2 {
            return after.first().copied();
        }
        Some(self.compute(Span::ZERO, after))
    }

    /// The part. Shares the steps of one of `like` if they are the same.
    pub fn finish<'a>(mut self, like: impl IntoIterator<Item = &'a Part>) -> Part {
        // Where a step takes an acknowledgement, a round takes all, and leaves none to the next.
        for (to, end) in (0..).zip(self.acknowledgements.clone()) {
            if end.last.is_some() {
                self.acknowledge(to, &[]);
            }
        }
        let steps = self.list.finish();
        let same = like.into_iter().find(|like| *like.steps == steps);
        let steps = same.map_or_else(|| Arc::new(steps), |like| Arc::clone(&like.steps));
        Part { steps, to: self.to.all, from: self.from.all }
    }
}

/// Far ends in the order in which they were first named.
#[derive(Clone, Debug, Default)]
struct Ends {
    all: Vec<Peer>,
    places: BTreeMap<Peer, u32>,
}

impl Ends {
    fn place(&mut self, peer: Peer) -> u32 {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry(peer).or_insert(next);
        if place == next {
            self.all.push(peer);
        }
        place
    }
}
