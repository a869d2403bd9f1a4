//! Collectives: the steps of one rank, by operation and algorithm.
//!
//! An algorithm is a file. It says which blocks of the data a rank sends and takes, and which of
//! them wait for which. A pen turns blocks into messages of a script.

mod amount;
mod barrier;
mod direct;
mod halving;
mod hierarchical;
mod pen;
mod ring;
#[cfg(test)]
mod tests;
mod tree;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::part::Script;
pub use amount::Amount;
#[cfg(test)]
pub(crate) use pen::Meanings;
use pen::{Block, Pen};

/// A collective operation and the way in which it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// The algorithm, one of the operation's [`algorithms`](Operation::algorithms).
    pub algorithm: Algorithm,
    /// The number of channels: equal parts of the data that go side by side, each on its own
    /// connections.
    pub channels: u32,
    /// The most bytes of a message: larger ones are cut into several, and each part goes on as soon
    /// as it has come. [`None`] cuts nothing.
    pub chunk: Option<u64>,
    /// The place in the group of the rank that a broadcast starts from, or that a reduction ends
    /// at.
    pub root: u32,
    /// The number of consecutive ranks that are in one node, for the hierarchical algorithm. It
    /// divides the number of ranks.
    pub node: u32,
    /// The most messages of an all-to-all that a rank has sent and that were not acknowledged;
    /// [`None`] sends all at once.
    pub window: Option<u32>,
    /// The skew of an all-to-all-v: place n of the group gets a share of the data that is
    /// proportional to (n + 1)^-skew.
    pub skew: f64,
}

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// All ranks get the sum of all data. The size is the data of a rank.
    AllReduce,
    /// All ranks get the data of all. The size is the data of all together.
    AllGather,
    /// Each rank gets its part of the sum of all data. The size is the data of a rank.
    ReduceScatter,
    /// All ranks get the data of the root. The size is this data.
    Broadcast,
    /// The root gets the sum of all data. The size is the data of a rank.
    Reduce,
    /// Each rank has a part for each rank. The size is the parts of a rank together.
    AllToAll,
    /// As all-to-all, with parts of different sizes: experts of a mixture that are not equally
    /// busy.
    AllToAllV,
    /// No rank goes on before all have come. The size is of no effect.
    Barrier,
    /// Each rank sends its data to the next. The size is the data of a rank.
    SendReceive,
}

/// The algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Around a ring, each rank to the next.
    Ring,
    /// Along a binary tree.
    Tree,
    /// Along two binary trees, each with half of the data. Inner ranks of one are leaves of the
    /// other.
    DoubleTree,
    /// Recursive halving and doubling: pairs exchange halves, quarters and so on, and then back.
    HalvingDoubling,
    /// Within nodes, then among ranks of the same place in all nodes, then within nodes.
    Hierarchical,
    /// Recursive halving: pairs exchange halves, quarters and so on.
    Halving,
    /// Recursive doubling: pairs exchange a block, two, four and so on.
    Doubling,
    /// From the first rank to the second, from there to the third, and so on.
    Chain,
    /// Each rank to each other one, first to the next, then to the one after it, and so on.
    Direct,
}

/// The ranks of a collective, as one of them sees them.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The ranks, by their numbers in the job.
    pub ranks: &'a [u32],
    /// The place of this rank among them.
    pub me: usize,
    /// The first of the [`lanes`](Collective::lanes) that the collective uses. Collectives of the
    /// same ranks that may be under way at the same time have different ones.
    pub lane: u32,
}

impl Operation {
    /// The algorithms that do the operation, the usual one first.
    pub const fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm as A;
        match self {
            Self::AllReduce => {
                &[A::Ring, A::Tree, A::DoubleTree, A::HalvingDoubling, A::Hierarchical]
            }
            Self::AllGather => &[A::Ring, A::Doubling],
            Self::ReduceScatter => &[A::Ring, A::Halving],
            Self::Broadcast | Self::Reduce => &[A::Tree, A::Chain],
            Self::AllToAll | Self::AllToAllV => &[A::Direct],
            Self::Barrier => &[A::Doubling],
            Self::SendReceive => &[A::Ring, A::Chain],
        }
    }

    /// The operation's name in scenarios and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all-to-all",
            Self::AllToAllV => "all-to-all-v",
            Self::Barrier => "barrier",
            Self::SendReceive => "send-receive",
        }
    }
}

impl Algorithm {
    /// The algorithm's name in scenarios.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::DoubleTree => "double-tree",
            Self::HalvingDoubling => "halving-doubling",
            Self::Hierarchical => "hierarchical",
            Self::Halving => "halving",
            Self::Doubling => "doubling",
            Self::Chain => "chain",
            Self::Direct => "direct",
        }
    }
}

impl Collective {
    /// The operation by its usual algorithm, in one channel, with whole messages.
    pub const fn usual(operation: Operation) -> Self {
        Self {
            operation,
            algorithm: operation.algorithms()[0],
            channels: 1,
            chunk: None,
            root: 0,
            node: 1,
            window: None,
            skew: 0.0,
        }
    }

    /// The number of lanes that the collective uses.
    pub const fn lanes(&self) -> u32 {
        match self.algorithm {
            Algorithm::DoubleTree => 2 * self.channels,
            _ => self.channels,
        }
    }
}

/// Adds the steps of one rank in a collective to its script, and returns the steps that end it.
/// Nothing of it begins before all of `after` have ended. `bytes` is the size that
/// [`Operation`] tells of, which is also the size of nccl-tests.
///
/// A rank ends when it has its data. The root of a broadcast and the other ranks of a reduction get
/// none: they end when their messages have been acknowledged.
pub fn write(
    script: &mut Script,
    collective: &Collective,
    group: &Group<'_>,
    bytes: u64,
    after: &[u32],
) -> Vec<u32> {
    if group.ranks.len() < 2 {
        return after.to_vec();
    }
    let part = bytes.div_ceil(u64::from(collective.channels)).max(1);
    let start = script.join(after);
    let mut ends = Vec::new();
    for channel in 0..collective.channels {
        let data = Block { at: u64::from(channel) * part, bytes: part };
        let lane = group.lane + channel * collective.lanes() / collective.channels;
        let group = Group { lane, ..*group };
        let mut pen = Pen::new(script, group, collective.chunk, start);
        ends.extend(match collective.algorithm {
            Algorithm::Ring => ring::write(&mut pen, collective.operation, data),
            Algorithm::Tree | Algorithm::Chain => tree::write(&mut pen, collective, data),
            Algorithm::DoubleTree => tree::write_two(&mut pen, data),
            Algorithm::Hierarchical => hierarchical::write(&mut pen, collective.node, data),
            Algorithm::Doubling if collective.operation == Operation::Barrier => {
                barrier::write(&mut pen, data)
            }
            Algorithm::HalvingDoubling | Algorithm::Halving | Algorithm::Doubling => {
                halving::write(&mut pen, collective.operation, data)
            }
            Algorithm::Direct => direct::write(&mut pen, collective, data),
        });
    }
    if ends.is_empty() { after.to_vec() } else { ends }
}
