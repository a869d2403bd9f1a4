//! The pen that writes the messages of a rank: blocks of data become sends and receives.

use std::collections::BTreeMap;

use super::Group;
use crate::part::{Peer, Script};

/// A block of the data, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
}

/// The first byte of what a rank gets, where it keeps its own data.
pub(super) const RESULT: u64 = 1 << 62;

impl Block {
    /// A part of this block, one of `parts` equal ones, rounded up: the last may reach beyond it.
    pub(super) fn part(self, number: u32, parts: u32) -> Self {
        self.parts((number, number + 1), parts)
    }

    /// Some consecutive ones of `parts` equal blocks.
    pub(super) fn parts(self, (first, end): (u32, u32), parts: u32) -> Self {
        let bytes = self.bytes.div_ceil(u64::from(parts));
        Self { at: self.at + u64::from(first) * bytes, bytes: u64::from(end - first) * bytes }
    }

    /// The block that comes from a place in return for this one.
    pub(super) fn returned_by(self, place: u32) -> Self {
        Self { at: RESULT + (u64::from(place) << 40) + self.at, bytes: self.bytes }
    }

    /// The messages of the block, of at most `chunk` bytes.
    fn messages(self, chunk: Option<u64>) -> impl Iterator<Item = Self> {
        let chunk = chunk.unwrap_or(u64::MAX).clamp(1, self.bytes.max(1));
        (0..self.bytes.div_ceil(chunk)).map(move |number| {
            let done = number * chunk;
            Self { at: self.at + done, bytes: chunk.min(self.bytes - done) }
        })
    }
}

/// The steps that a send waits for; if there are none, it waits for the start of the collective.
#[derive(Clone, Copy)]
pub(super) enum After<'a> {
    /// Receives of the same block from several ranks: each message waits for its own part.
    Each(&'a [Vec<u32>]),
    /// Steps that all messages wait for.
    All(&'a [u32]),
}

/// A pen that writes the messages of one rank on one lane.
pub(super) struct Pen<'a> {
    script: &'a mut Script,
    group: Group<'a>,
    chunk: Option<u64>,
    /// The step that all others wait for, if any.
    start: Option<u32>,
    /// The last receive from each place. The next one waits for it, so that messages are taken in
    /// the order in which receives are written.
    last: BTreeMap<u32, u32>,
}

impl<'a> Pen<'a> {
    pub(super) fn new(
        script: &'a mut Script,
        group: Group<'a>,
        chunk: Option<u64>,
        start: Option<u32>,
    ) -> Self {
        Self { script, group, chunk, start, last: BTreeMap::new() }
    }

    /// A pen for a group of some of the places, on a lane counted from this pen's. It begins when
    /// all of `after` have ended, or with this pen where there are none.
    pub(super) fn within<'b>(
        &'b mut self,
        ranks: &'b [u32],
        me: u32,
        lane: u32,
        after: &[u32],
    ) -> Pen<'b> {
        let start = self.script.join(after).or(self.start);
        let group = Group { ranks, me: me as usize, lane: self.group.lane + lane };
        Pen::new(self.script, group, self.chunk, start)
    }

    /// The place of this rank.
    #[expect(clippy::cast_possible_truncation, reason = "ranks have numbers of 32 bits")]
    pub(super) const fn me(&self) -> u32 {
        self.group.me as u32
    }

    /// The places of all ranks.
    pub(super) const fn all(&self) -> &'a [u32] {
        self.group.ranks
    }

    /// The number of ranks.
    #[expect(clippy::cast_possible_truncation, reason = "ranks have numbers of 32 bits")]
    pub(super) const fn ranks(&self) -> u32 {
        self.group.ranks.len() as u32
    }

    const fn peer(&self, place: u32) -> Peer {
        Peer { rank: self.group.ranks[place as usize], lane: self.group.lane }
    }

    /// Sends a block.
    pub(super) fn send(&mut self, to: u32, block: Block, after: After<'_>) {
        let peer = self.peer(to);
        for (number, message) in block.messages(self.chunk).enumerate() {
            let mut after: Vec<_> = match after {
                After::Each(receives) => receives.iter().map(|steps| steps[number]).collect(),
                After::All(steps) => steps.to_vec(),
            };
            if after.is_empty() {
                after.extend(self.start);
            }
            let step = self.script.send(peer, message.bytes, &after);
            self.means(step, message, Meaning::Sends);
        }
    }

    /// Takes a block and adds it to the same block of this rank. Returns the step of each message,
    /// of which the last ends last.
    pub(super) fn reduce(&mut self, from: u32, block: Block) -> Vec<u32> {
        self.receive(from, block, Meaning::Adds)
    }

    /// Takes a block in place of what this rank has there. Returns the step of each message.
    pub(super) fn copy(&mut self, from: u32, block: Block) -> Vec<u32> {
        self.receive(from, block, Meaning::Replaces)
    }

    fn receive(&mut self, from: u32, block: Block, meaning: Meaning) -> Vec<u32> {
        let peer = self.peer(from);
        let mut receives = Vec::new();
        for message in block.messages(self.chunk) {
            let before = self.last.get(&from).copied().or(self.start);
            let step = self.script.receive(peer, before.as_slice());
            self.last.insert(from, step);
            self.means(step, message, meaning);
            receives.push(step);
        }
        receives
    }

    /// Waits until all messages to a rank have been acknowledged.
    pub(super) fn acknowledged(&mut self, to: u32) -> u32 {
        let (peer, start) = (self.peer(to), self.start);
        self.script.acknowledged(peer, start.as_slice())
    }

    #[cfg(test)]
    fn means(&mut self, step: u32, block: Block, meaning: Meaning) {
        self.script.meanings.push((step, block, meaning));
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "messages have no content; tests check it")]
    const fn means(&self, _step: u32, _block: Block, _meaning: Meaning) {}
}

/// The effect of a message on the data of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Sends,
    Adds,
    Replaces,
}

/// The meaning of each message of a script, by its step.
#[cfg(test)]
pub(crate) type Meanings = Vec<(u32, Block, Meaning)>;
