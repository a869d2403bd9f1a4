//! A node of a Chakra trace, whatever form it was read from.

use incast_cc::Span;
use incast_scenario::foreign::job::{Node, Operation};

/// A node as the trace has it. Sends and receives are told by `kind` alone: converters write their
/// kind into `comm_type`, where it reads as a collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChakraNode {
    pub(super) id: u64,
    pub(super) kind: u64,
    /// The nodes that it waits for.
    pub(super) before: Vec<u64>,
    pub(super) micros: u64,
    pub(super) cpu: bool,
    pub(super) work: bool,
    pub(super) comm_type: u64,
    pub(super) size: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) tag: u64,
    pub(super) group: Option<String>,
}

/// The stream of computations on the processor, and of those on the accelerator.
const STREAMS: [u16; 2] = [1, 0];

impl ChakraNode {
    /// The node in a graph, or the reason why it has none. `group` is the number of its group.
    pub(super) fn node(&self, group: u32) -> Result<Node, String> {
        let rank = |name: &str, rank: u64| {
            u32::try_from(rank)
                .map_err(|_| format!("{name} is {rank}; expected the number of a rank"))
        };
        match self.kind {
            1..=4 => {
                let ps = self.micros.checked_mul(1_000_000);
                let span = ps.map(Span::from_ps).ok_or_else(|| {
                    format!("it takes {} us; expected less than 200 days", self.micros)
                })?;
                Ok(Node::Compute { stream: STREAMS[usize::from(!self.cpu)], span })
            }
            5 | 6 => {
                let tag = rank("comm_tag", self.tag)?;
                if self.size == 0 {
                    return Err("its comm_size is 0 or absent; expected a size in bytes".into());
                }
                if self.kind == 5 {
                    return Ok(Node::Send {
                        to: rank("comm_dst", self.to)?,
                        tag,
                        bytes: self.size,
                    });
                }
                Ok(Node::Receive { from: rank("comm_src", self.from)?, tag, bytes: self.size })
            }
            7 => {
                let operation = match self.comm_type {
                    0 => Operation::AllReduce,
                    1 => Operation::Reduce,
                    2 => Operation::AllGather,
                    5 => Operation::Broadcast,
                    6 => Operation::AllToAll,
                    7 | 8 => Operation::ReduceScatter,
                    9 => Operation::Barrier,
                    other => {
                        let name = match other {
                            3 => "gather",
                            4 => "scatter",
                            _ => "unknown",
                        };
                        return Err(format!(
                            "comm_type {other} ({name}) is not read; expected 0 (all-reduce), 1 \
                             (reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter) \
                             or 9 (barrier)"
                        ));
                    }
                };
                if self.size == 0 && operation != Operation::Barrier {
                    return Err("its comm_size is 0 or absent; expected a size in bytes".into());
                }
                Ok(Node::Collective { operation, group, bytes: self.size })
            }
            kind => Err(format!(
                "unknown type {kind}; expected 1 (metadata), 2 (load), 3 (store), 4 (computation), \
                 5 (send), 6 (receive) or 7 (collective)"
            )),
        }
    }

    /// Sets an integer that the trace knows by name; others are of no use here.
    pub(super) fn set(&mut self, name: &str, value: u64) {
        match name {
            "is_cpu_op" => self.cpu = value != 0,
            "comm_type" => self.comm_type = value,
            "comm_size" => self.size = value,
            "comm_src" => self.from = value,
            "comm_dst" => self.to = value,
            "comm_tag" => self.tag = value,
            "num_ops" => self.work = value > 0,
            _ => {}
        }
    }
}
