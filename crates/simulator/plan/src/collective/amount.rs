//! The amount that a collective sends, without its steps.

use super::{Algorithm, Collective, Operation};

/// The amount that all ranks of a collective send together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The connections that it uses.
    pub connections: u64,
    /// The messages.
    pub messages: u64,
    /// Payload.
    pub bytes: u64,
}

impl Collective {
    /// The amount that `ranks` ranks send for data of `bytes`. It is exact but for recursive
    /// halving and doubling, whose messages differ in size, and for parts with a skew.
    pub fn amount(&self, ranks: u64, bytes: u64) -> Amount {
        if ranks < 2 {
            return Amount::default();
        }
        let channels = u64::from(self.channels);
        let data = bytes.div_ceil(channels).max(1);
        let one = self.of_channel(ranks, data);
        Amount {
            connections: channels * one.connections,
            messages: channels * one.messages,
            bytes: channels * one.bytes,
        }
    }

    fn of_channel(&self, ranks: u64, data: u64) -> Amount {
        let both = self.operation == Operation::AllReduce;
        let ways = if both { 2 } else { 1 };
        let block = data.div_ceil(ranks);
        match self.algorithm {
            Algorithm::Ring if self.operation == Operation::SendReceive => {
                self.alike(ranks, ranks, data)
            }
            Algorithm::Ring => self.alike(ranks, ranks * (ranks - 1) * ways, block),
            Algorithm::Tree | Algorithm::Chain => {
                let edges = (ranks - 1) * ways;
                self.alike(edges, edges, data)
            }
            Algorithm::DoubleTree => {
                let edges = 2 * (ranks - 1) * ways;
                self.alike(edges, edges, data.div_ceil(2))
            }
            Algorithm::Hierarchical => {
                let node = u64::from(self.node);
                let (nodes, own) = (ranks / node, data.div_ceil(node));
                let used = |of: u64| if of > 1 { ranks } else { 0 };
                let inside = self.alike(used(node), ranks * 2 * (node - 1), own);
                let between = self.alike(used(nodes), ranks * 2 * (nodes - 1), own.div_ceil(nodes));
                Amount {
                    connections: inside.connections + between.connections,
                    messages: inside.messages + between.messages,
                    bytes: inside.bytes + between.bytes,
                }
            }
            Algorithm::Direct => {
                let pairs = ranks * (ranks - 1);
                self.alike(pairs, pairs, block)
            }
            Algorithm::Doubling if self.operation == Operation::Barrier => {
                let signs = ranks * u64::from((ranks - 1).ilog2() + 1);
                self.alike(signs, signs, 1)
            }
            Algorithm::HalvingDoubling | Algorithm::Halving | Algorithm::Doubling => {
                let power = 1_u64 << ranks.ilog2();
                let steps = power * u64::from(ranks.ilog2());
                let couples = ranks - power;
                let sent = ways * power * (power - 1) * data.div_ceil(power);
                let messages = sent.div_ceil(self.most_bytes()).max(ways * steps);
                let folded = self.alike(2 * couples, 2 * couples, data);
                Amount {
                    connections: steps + folded.connections,
                    messages: messages + folded.messages,
                    bytes: sent + folded.bytes,
                }
            }
        }
    }

    /// Blocks of the same size.
    fn alike(&self, connections: u64, blocks: u64, bytes: u64) -> Amount {
        let messages = blocks * bytes.div_ceil(self.most_bytes());
        Amount { connections, messages, bytes: blocks * bytes }
    }

    fn most_bytes(&self) -> u64 {
        self.chunk.unwrap_or(u64::MAX).max(1)
    }
}
