//! First in, first out: packets leave in the order in which they came. Without room the arriving
//! packet is dropped (drop-tail).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Discipline, Job, Packet, Settings};

/// First in, first out. Without room the arriving packet is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fifo {}

impl Settings for Fifo {
    type Queue<P: Packet> = FifoQueue<P>;

    const SUMMARY: &'static str = "First in, first out.";
    const IN_ORDER: bool = true;

    fn start<P: Packet>(&self) -> FifoQueue<P> {
        FifoQueue { packets: VecDeque::new() }
    }
}

/// A queue in the order of arrival.
#[derive(Debug)]
pub struct FifoQueue<P> {
    packets: VecDeque<P>,
}

impl<P> FifoQueue<P> {
    /// Puts back the packet that was last taken out.
    pub fn put_back(&mut self, packet: P) {
        self.packets.push_front(packet);
    }
}

impl<P: Packet> Discipline<P> for FifoQueue<P> {
    fn push(&mut self, packet: P, _: impl FnOnce() -> Job) {
        self.packets.push_back(packet);
    }

    fn pop(&mut self) -> Option<P> {
        self.packets.pop_front()
    }

    fn head(&self) -> Option<&P> {
        self.packets.front()
    }

    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn as_fifo(&mut self) -> Option<&mut Self> {
        Some(self)
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
        Box::new(self.packets.iter())
    }

    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
        Box::new(self.packets.iter_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{filled, order};
    use super::*;

    #[test]
    fn packets_leave_as_they_came_and_a_packet_that_is_put_back_leaves_first() {
        let mut queue = filled(Fifo {}.start(), &[(1, 5), (2, 3), (1, 1)]);
        assert_eq!(queue.evict(Job { flow: 3, remaining: 0 }), None);
        let first = queue.pop().unwrap();
        queue.put_back(first);
        assert_eq!(order(queue), [0, 1, 2]);
    }
}
