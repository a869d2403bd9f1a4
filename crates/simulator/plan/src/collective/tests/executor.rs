//! An executor of parts whose messages have content. Computations and messages end in a random
//! order. The steps of a rank that are ready begin in the order in which they became so, as in a
//! [`Worker`](crate::steps::Worker).

use std::collections::{BTreeMap, VecDeque};

use incast_cc::Span;

use crate::application::Outcome;
use crate::collective::pen::{Block, Meaning};
use crate::part::{Part, Peer};
use crate::random::{below, generator};
use crate::steps::Step;

/// A value of the data: its first place, and the ranks whose data is summed up in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) at: u64,
    pub(super) ranks: u128,
}

/// The part of a rank, with its data.
pub(super) struct Program {
    pub(super) rank: u32,
    pub(super) part: Part,
    pub(super) meanings: Vec<(u32, Block, Meaning)>,
    pub(super) ends: Vec<u32>,
    pub(super) data: BTreeMap<u64, Value>,
    /// The data that the rank has when all of `ends` have ended.
    pub(super) promised: Vec<(u64, Value)>,
}

/// An event that may come next, at a rank by its place.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The end of a computation.
    Computed(usize, u32),
    /// The arrival of the first message that is under way from a peer.
    Arrived(usize, Peer),
    /// An acknowledgement by a peer.
    Acknowledged(usize, Peer),
}

/// Runs all parts to their end. Says what went wrong. Sums may count a rank twice if `overlaps`.
pub(super) fn run(programs: Vec<Program>, overlaps: bool, seed: u64) -> Result<(), String> {
    let mut ranks: Vec<_> = programs.into_iter().map(|one| Rank::new(one, overlaps)).collect();
    let places: BTreeMap<_, _> =
        ranks.iter().enumerate().map(|(place, rank)| (rank.program.rank, place)).collect();
    let mut random = generator(seed, "test", &[]);
    let mut events = Vec::new();
    let mut under_way: BTreeMap<(usize, Peer), VecDeque<Vec<Value>>> = BTreeMap::new();
    let mut awake: Vec<_> = (0..ranks.len()).collect();
    loop {
        for me in awake.drain(..) {
            let rank = ranks[me].program.rank;
            while let Some(step) = ranks[me].ready.pop_front() {
                match ranks[me].start(step)? {
                    Started::Sent(to, message) => {
                        let (there, from) = (places[&to.rank], Peer { rank, lane: to.lane });
                        under_way.entry((there, from)).or_default().push_back(message);
                        events.push(Event::Arrived(there, from));
                    }
                    Started::Computes => events.push(Event::Computed(me, step)),
                    Started::Waits => {}
                }
            }
        }
        if events.is_empty() {
            break;
        }
        let next = below(&mut random, events.len() as u64) as usize;
        awake.push(match events.swap_remove(next) {
            Event::Computed(me, step) => {
                ranks[me].end(step)?;
                me
            }
            Event::Arrived(me, from) => {
                let message = under_way.get_mut(&(me, from)).and_then(VecDeque::pop_front);
                ranks[me].come.entry(from).or_default().extend(message);
                ranks[me].take(from)?;
                let back = Peer { rank: ranks[me].program.rank, lane: from.lane };
                events.push(Event::Acknowledged(places[&from.rank], back));
                me
            }
            Event::Acknowledged(me, to) => {
                *ranks[me].acknowledged.entry(to).or_default() += 1;
                ranks[me].acknowledge(to)?;
                me
            }
        });
    }
    for rank in &ranks {
        if let Some(step) = rank.ended.iter().position(|ended| !ended) {
            return Err(format!("step {step} of rank {} never ends", rank.program.rank));
        }
        if rank.come.values().any(|queue| !queue.is_empty()) {
            return Err(format!("rank {} does not take a message", rank.program.rank));
        }
    }
    Ok(())
}

/// The effect of a step that has begun.
enum Started {
    Sent(Peer, Vec<Value>),
    Computes,
    Waits,
}

struct Rank {
    program: Program,
    overlaps: bool,
    left: Vec<u32>,
    ended: Vec<bool>,
    ready: VecDeque<u32>,
    effects: BTreeMap<u32, (Block, Meaning)>,
    /// The messages that have come, and the steps that await one, by their source.
    come: BTreeMap<Peer, VecDeque<Vec<Value>>>,
    takers: BTreeMap<Peer, VecDeque<u32>>,
    /// The acknowledgements that have come, and the steps that await one.
    acknowledged: BTreeMap<Peer, usize>,
    awaiting: BTreeMap<Peer, VecDeque<u32>>,
}

impl Rank {
    fn new(program: Program, overlaps: bool) -> Self {
        let effects =
            program.meanings.iter().map(|&(step, block, meaning)| (step, (block, meaning)));
        let left = program.part.steps.needs().to_vec();
        let free = (0..).zip(&left).filter(|(_, left)| **left == 0).map(|(step, _)| step);
        Self {
            ready: free.collect(),
            ended: vec![false; left.len()],
            left,
            overlaps,
            effects: effects.collect(),
            come: BTreeMap::new(),
            takers: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            awaiting: BTreeMap::new(),
            program,
        }
    }

    fn start(&mut self, step: u32) -> Result<Started, String> {
        match self.program.part.steps.all()[step as usize] {
            Step::Send { to, bytes } => {
                let (block, meaning) = self.effects[&step];
                if (block.bytes, meaning) != (bytes, Meaning::Sends) || !self.may_begin() {
                    return Err(format!("{bytes} B are sent for {block:?}, or too early"));
                }
                let value = |at| self.program.data.get(&at).copied();
                let message: Option<Vec<_>> = (block.at..block.at + bytes).map(value).collect();
                let message =
                    message.ok_or_else(|| format!("{block:?} is sent before it has come"))?;
                self.end(step)?;
                return Ok(Started::Sent(self.program.part.to[to as usize], message));
            }
            Step::Await { slot, outcome: Outcome::Received } => {
                let from = self.program.part.from[slot as usize];
                self.takers.entry(from).or_default().push_back(step);
                self.take(from)?;
            }
            Step::Await { slot, outcome: Outcome::Sent } => {
                let to = self.program.part.to[slot as usize];
                self.awaiting.entry(to).or_default().push_back(step);
                self.acknowledge(to)?;
            }
            Step::Compute(Span::ZERO) => self.end(step)?,
            Step::Compute(_) | Step::Claim { .. } => return Ok(Started::Computes),
        }
        Ok(Started::Waits)
    }

    /// Whether the steps before the collective have ended.
    fn may_begin(&self) -> bool {
        self.ended[0] && self.ended[1]
    }

    /// Gives messages that have come to the steps that await them.
    fn take(&mut self, from: Peer) -> Result<(), String> {
        while let Some(&step) = self.takers.entry(from).or_default().front()
            && let Some(message) = self.come.entry(from).or_default().pop_front()
        {
            self.takers.entry(from).or_default().pop_front();
            let (block, meaning) = self.effects[&step];
            if message.len() as u64 != block.bytes || !self.may_begin() {
                return Err(format!("{} B come for {block:?}, or too early", message.len()));
            }
            for (at, value) in (block.at..).zip(message) {
                let own = self.program.data.get(&at).copied();
                let new = match (meaning, own) {
                    (Meaning::Replaces, _) => value,
                    (Meaning::Adds, Some(own)) if self.add_up(own, value) => {
                        Value { ranks: own.ranks | value.ranks, ..own }
                    }
                    _ => return Err(format!("{meaning:?} {value:?} at {at} to {own:?}")),
                };
                self.program.data.insert(at, new);
            }
            self.end(step)?;
        }
        Ok(())
    }

    /// Whether two values may be added up: they are of the same place, and no rank counts twice.
    const fn add_up(&self, own: Value, other: Value) -> bool {
        own.at == other.at && (self.overlaps || own.ranks & other.ranks == 0)
    }

    fn acknowledge(&mut self, to: Peer) -> Result<(), String> {
        while self.acknowledged.get(&to).is_some_and(|&count| count > 0)
            && let Some(step) = self.awaiting.entry(to).or_default().pop_front()
        {
            *self.acknowledged.entry(to).or_default() -= 1;
            self.end(step)?;
        }
        Ok(())
    }

    fn end(&mut self, step: u32) -> Result<(), String> {
        self.ended[step as usize] = true;
        for &follower in self.program.part.steps.after(step) {
            self.left[follower as usize] -= 1;
            if self.left[follower as usize] == 0 {
                self.ready.push_back(follower);
            }
        }
        let Program { rank, ends, data, promised, .. } = &self.program;
        if ends.contains(&step) && ends.iter().all(|&step| self.ended[step as usize]) {
            let missing = promised.iter().find(|(at, value)| data.get(at) != Some(value));
            if let Some((at, value)) = missing {
                let has = data.get(at);
                return Err(format!("rank {rank} has {has:?} at {at}, not {value:?}"));
            }
        }
        Ok(())
    }
}
