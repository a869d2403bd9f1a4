//! The pen that writes the messages of a rank: blocks of data become sends and receives.

use std::collections::BTreeMap;

use super::Group;
use crate::part::{Peer, Script};

/// A block of the data, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) at: u64,
    pub(super) bytes: u64,
}

impl Block {
    /// One of `parts` equal blocks, rounded up: the last ones may reach beyond this block.
    pub(super) fn part(self, number: u32, parts: u32) -> Self {
        let bytes = self.bytes.div_ceil(u64::from(parts));
        Self { at: self.at + u64::from(number) * bytes, bytes }
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

/// The steps that a send waits for.
#[derive(Clone, Copy)]
pub(super) enum After<'a> {
    /// The start of the collective.
    Start,
    /// The receives of the same block from several ranks: each message waits for its own part.
    Each(&'a [Vec<u32>]),
}

/// A pen that writes what one rank does on one lane.
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

    /// The place of this rank.
    #[expect(clippy::cast_possible_truncation, reason = "ranks have numbers of 32 bits")]
    pub(super) const fn me(&self) -> u32 {
        self.group.me as u32
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
            let after: Vec<_> = match after {
                After::Start => self.start.into_iter().collect(),
                After::Each(receives) => receives.iter().map(|steps| steps[number]).collect(),
            };
            self.script.send(peer, message.bytes, &after);
        }
    }

    /// Takes a block and adds it to the same block of this rank.
    pub(super) fn reduce(&mut self, from: u32, block: Block) -> Vec<u32> {
        self.receive(from, block)
    }

    /// Takes a block in place of the same block of this rank.
    pub(super) fn copy(&mut self, from: u32, block: Block) -> Vec<u32> {
        self.receive(from, block)
    }

    /// Takes the messages of a block, and returns their steps.
    fn receive(&mut self, from: u32, block: Block) -> Vec<u32> {
        let peer = self.peer(from);
        let messages = block.messages(self.chunk);
        let receives = messages.map(|_| {
            let after: Vec<_> = self.last.get(&from).copied().or(self.start).into_iter().collect();
            let step = self.script.receive(peer, &after);
            self.last.insert(from, step);
            step
        });
        receives.collect()
    }
}
