//! Fair queueing: flows send in turn, a packet each (Nagle, "On Packet Switches With Infinite
//! Storage", RFC 970, 1985). When there is no room, the flow with the most bytes in the queue loses
//! its last packet (`McKenney`, "Stochastic Fairness Queueing", 1990, section 4).
//!
//! Differences from the sources: each flow has a queue of its own, whatever their number. A flow
//! that comes back goes to the end of the round.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::discipline::{Discipline, Job, Packet, Settings};

/// Fair queueing: flows in turn, a packet each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fair {
    /// Drops the last packet of the longest flow when there is no room. If off, drops the packet
    /// that comes.
    pub longest: bool,
}

impl Default for Fair {
    fn default() -> Self {
        Self { longest: true }
    }
}

impl Settings for Fair {
    type Queue<P: Packet> = Box<FairQueue<P>>;

    const SUMMARY: &'static str = "Fair queueing: flows in turn, a packet each (RFC 970).";

    fn start<P: Packet>(&self) -> Box<FairQueue<P>> {
        let (flows, round) = (BTreeMap::new(), VecDeque::new());
        Box::new(FairQueue { longest: self.longest, flows, round })
    }
}

/// A queue that serves its flows in turn.
#[derive(Debug)]
pub struct FairQueue<P> {
    longest: bool,
    /// The packets of each flow that has any.
    flows: BTreeMap<u64, VecDeque<P>>,
    /// The same flows, the next one first.
    round: VecDeque<u64>,
}

impl<P: Packet> FairQueue<P> {
    fn bytes(&self, flow: u64) -> u64 {
        self.flows.get(&flow).map_or(0, |packets| packets.iter().map(Packet::wire).sum())
    }

    /// Forgets a flow that has no packets any more.
    fn tidy(&mut self, flow: u64) {
        if self.flows.get(&flow).is_some_and(VecDeque::is_empty) {
            self.flows.remove(&flow);
            self.round.retain(|&other| other != flow);
        }
    }
}

impl<P: Packet> Discipline<P> for FairQueue<P> {
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job) {
        let flow = job().flow;
        let packets = self.flows.entry(flow).or_default();
        if packets.is_empty() {
            self.round.push_back(flow);
        }
        packets.push_back(packet);
    }

    fn pop(&mut self) -> Option<P> {
        let flow = *self.round.front()?;
        self.round.rotate_left(1);
        let packet = self.flows.get_mut(&flow)?.pop_front();
        self.tidy(flow);
        packet
    }

    fn head(&self) -> Option<&P> {
        self.flows.get(self.round.front()?)?.front()
    }

    fn evict(&mut self, arriving: Job) -> Option<P> {
        // By their turns, not by their numbers: those may mean nothing.
        let longest = *self.round.iter().max_by_key(|&&flow| self.bytes(flow))?;
        if !self.longest || self.bytes(longest) <= self.bytes(arriving.flow) {
            return None;
        }
        let packet = self.flows.get_mut(&longest)?.pop_back();
        self.tidy(longest);
        packet
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
        Box::new(self.flows.values().flatten())
    }

    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
        Box::new(self.flows.values_mut().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Bytes(u64);

    impl Packet for Bytes {
        fn wire(&self) -> u64 {
            self.0
        }
    }

    /// Packets of 101, 102, ... bytes of these flows.
    fn queue(settings: Fair, flows: &[u64]) -> impl Discipline<Bytes> {
        let mut queue = settings.start();
        for (wire, &flow) in (101..).zip(flows) {
            queue.push(Bytes(wire), || Job { flow, remaining: 1 });
        }
        queue
    }

    #[test]
    fn flows_send_in_turn() {
        let mut queue = queue(Fair::default(), &[7, 7, 7, 3, 5, 3]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|packet| packet.0).collect();
        assert_eq!(order, [101, 104, 105, 102, 106, 103]);
    }

    #[test]
    fn the_longest_flow_loses_its_last_packet_unless_the_one_that_comes_is_longer() {
        let arriving = |flow| Job { flow, remaining: 1 };
        let mut fair = queue(Fair::default(), &[7, 7, 7, 3]);
        assert_eq!(fair.evict(arriving(7)), None);
        assert_eq!(fair.evict(arriving(3)), Some(Bytes(103)));
        assert_eq!(queue(Fair { longest: false }, &[7, 7]).evict(arriving(3)), None);
    }
}
