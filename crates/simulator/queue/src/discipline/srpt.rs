//! Shortest remaining processing time, as in the switches of pFabric (Alizadeh and others,
//! "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.1).
//!
//! Each packet says how much of its flow remains. The queue serves the flow of the packet with the
//! smallest remaining size. Of that flow it sends the packet that came first, so a flow's packets
//! stay in order. When there is no room, the packet with the largest remaining size is dropped,
//! whether it is queued or arriving. Among equal packets the first that came leaves first, and the
//! last that came is dropped first.
//!
//! Difference from the paper: the priority is the remaining size itself, in bytes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Discipline, Job, Packet, Settings};

/// Shortest remaining processing time: serves the flow with the least remaining payload, and drops
/// the packet with the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Srpt {}

impl Settings for Srpt {
    type Queue<P: Packet> = Box<SrptQueue<P>>;

    const SUMMARY: &'static str = "Shortest remaining processing time (pFabric, SIGCOMM 2013).";

    fn start<P: Packet>(&self) -> Box<SrptQueue<P>> {
        let (order, packets) = (BTreeMap::new(), BTreeMap::new());
        Box::new(SrptQueue { order, packets, arrivals: 0 })
    }
}

/// A queue in the order of remaining sizes.
#[derive(Debug)]
pub struct SrptQueue<P> {
    /// The flows of all packets, by remaining size and arrival number.
    order: BTreeMap<(u64, u64), u64>,
    /// All packets with their remaining sizes, by flow and arrival number.
    packets: BTreeMap<(u64, u64), (u64, P)>,
    /// The number of packets that have arrived.
    arrivals: u64,
}

impl<P> SrptQueue<P> {
    /// The place of the packet that leaves next.
    fn first(&self) -> Option<(u64, u64)> {
        let (_, &flow) = self.order.first_key_value()?;
        self.packets.range((flow, 0)..).next().map(|(&place, _)| place)
    }

    fn take(&mut self, place: (u64, u64)) -> Option<P> {
        let (remaining, packet) = self.packets.remove(&place)?;
        self.order.remove(&(remaining, place.1));
        Some(packet)
    }
}

impl<P: Packet> Discipline<P> for SrptQueue<P> {
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job) {
        let Job { flow, remaining } = job();
        self.order.insert((remaining, self.arrivals), flow);
        self.packets.insert((flow, self.arrivals), (remaining, packet));
        self.arrivals += 1;
    }

    fn pop(&mut self) -> Option<P> {
        let first = self.first()?;
        self.take(first)
    }

    fn head(&self) -> Option<&P> {
        self.packets.get(&self.first()?).map(|(_, packet)| packet)
    }

    fn evict(&mut self, arriving: Job) -> Option<P> {
        let (&(remaining, arrival), &flow) = self.order.last_key_value()?;
        if remaining > arriving.remaining { self.take((flow, arrival)) } else { None }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
        Box::new(self.packets.values().map(|(_, packet)| packet))
    }

    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
        Box::new(self.packets.values_mut().map(|(_, packet)| packet))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{filled, order};
    use super::*;

    #[test]
    fn least_remaining_first_but_no_flow_overtakes_itself() {
        // The last packet of flow 1 puts both of its packets before flow 2.
        assert_eq!(order(filled(Srpt {}.start(), &[(1, 5), (2, 3), (1, 1)])), [0, 2, 1]);
        assert_eq!(order(filled(Srpt {}.start(), &[(1, 3), (2, 3), (3, 0)])), [2, 0, 1]);
    }

    #[test]
    fn the_largest_goes_and_among_equals_the_last_or_the_one_that_comes() {
        let mut queue = filled(Srpt {}.start(), &[(0, 7), (1, 9), (2, 9), (3, 2)]);
        let mut evict =
            |remaining| queue.evict(Job { flow: 8, remaining }).map(|packet| packet.number);
        assert_eq!(evict(9), None);
        assert_eq!([8, 8, 8, 2, 1].map(&mut evict), [Some(2), Some(1), None, Some(0), Some(3)]);
    }
}
