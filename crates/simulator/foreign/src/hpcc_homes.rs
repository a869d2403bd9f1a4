//! Hosts with several links in files of HPCC's simulator.
//!
//! In HPCC's simulator a queue pair uses one NIC: a hash chooses it among the NICs on a shortest
//! path, and the last switch on the way chooses the receiver's NIC. The NICs of a host share
//! nothing else. A host with several links therefore becomes one host per NIC here, and an imported
//! flow goes from one NIC to one NIC.

use std::collections::{BTreeMap, VecDeque};

use incast_cc::parts::Random;

use super::hpcc_flows::Flows;
use super::{Flow, HpccTopology};

/// The switches that each host is linked to.
#[derive(Clone, Debug)]
pub(crate) struct Homes<'a> {
    topology: &'a HpccTopology,
    /// Neighbouring switches by id. For a host: the switches at the other ends of its links, in the
    /// file's order. For a switch: the switches that are linked to it.
    switches: Vec<Vec<u32>>,
}

impl<'a> Homes<'a> {
    pub(crate) fn of(topology: &'a HpccTopology) -> Self {
        let mut switches = vec![Vec::new(); topology.nodes as usize];
        for link in topology.routed() {
            let [a, b] = link.ends;
            for (node, other) in [(a, b), (b, a)] {
                if !topology.is_host(other) {
                    switches[node as usize].push(other);
                }
            }
        }
        Self { topology, switches }
    }

    /// The number of hosts with several links.
    pub(crate) fn several(&self) -> usize {
        self.topology.hosts().filter(|&host| self.links(host).len() > 1).count()
    }

    fn links(&self, node: u32) -> &[u32] {
        &self.switches[node as usize]
    }

    /// The name of the end at `node` of its link to `other`. For a host with several links this is
    /// the name of a NIC.
    pub(crate) fn end(&self, node: u32, other: u32) -> String {
        let links = if self.topology.is_host(node) { self.links(node) } else { &[] };
        match links.iter().position(|&switch| switch == other) {
            Some(nic) if links.len() > 1 => nic_name(node, nic),
            _ => self.topology.name(node),
        }
    }

    /// The names of a node: one, or one for each NIC of a host with several links.
    pub(crate) fn names(&self, node: u32) -> Vec<String> {
        let nics = if self.topology.is_host(node) { self.links(node).len() } else { 1 };
        match nics {
            0 | 1 => vec![self.topology.name(node)],
            _ => (0..nics).map(|nic| nic_name(node, nic)).collect(),
        }
    }

    /// The flows of a file, from one NIC to one NIC.
    pub(crate) fn flows(&self, flows: &Flows) -> Vec<Flow> {
        let mut named = flows.named();
        if self.several() == 0 {
            return named;
        }
        // Hosts at the same switches have the same distances.
        let mut distances: BTreeMap<&[u32], Vec<Option<u32>>> = BTreeMap::new();
        let mut of_pair: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (flow, message) in named.iter_mut().zip(&flows.flows) {
            let (from, to) = (message.from, message.to);
            let count = of_pair.entry((from, to)).or_default();
            *count += 1;
            let targets = self.links(to);
            let distance = distances.entry(targets).or_insert_with(|| self.distances(targets));
            let mut hash = Random::new(u64::from(from) << 32 | u64::from(to));
            hash = Random::new(hash.bits() ^ (u64::from(message.port) << 32 | u64::from(*count)));
            if let Some([first, last]) = self.ends(from, distance, &mut hash) {
                (flow.from, flow.to) = (self.end(from, first), self.end(to, last));
            }
        }
        named
    }

    /// The first and the last switch of a shortest path from a host, which `hash` chooses hop by
    /// hop; [`None`] where there is no path.
    fn ends(&self, from: u32, distance: &[Option<u32>], hash: &mut Random) -> Option<[u32; 2]> {
        let at = |switch: u32| distance[switch as usize];
        let is_nv = |switch: u32| self.topology.nv_switches.contains(&switch);
        let mut choose = |switches: &[u32], left: u32| {
            let mut next: Vec<_> =
                switches.iter().filter(|&&next| at(next) == Some(left)).collect();
            // SimAI prefers NVSwitches among shortest paths.
            if next.iter().any(|&&next| is_nv(next)) {
                next.retain(|&&next| is_nv(next));
            }
            let count = u32::try_from(next.len()).unwrap_or(u32::MAX);
            next.get(hash.below(count) as usize).map(|next| **next)
        };
        let mut left = self.links(from).iter().filter_map(|&switch| at(switch)).min()?;
        let first = choose(self.links(from), left)?;
        let mut last = first;
        while left > 0 {
            left -= 1;
            last = choose(self.links(last), left)?;
        }
        Some([first, last])
    }

    /// The number of links from each switch to the nearest of `targets`. Paths do not lead through
    /// hosts.
    fn distances(&self, targets: &[u32]) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.switches.len()];
        let mut queue: VecDeque<_> = targets.iter().map(|&switch| (switch, 0)).collect();
        while let Some((switch, links)) = queue.pop_front() {
            let known = &mut distance[switch as usize];
            if known.is_none() {
                *known = Some(links);
                queue.extend(self.links(switch).iter().map(|&next| (next, links + 1)));
            }
        }
        distance
    }
}

/// The name of a NIC; the NICs of a host are a group.
fn nic_name(host: u32, nic: usize) -> String {
    format!("host{host}nic{nic}")
}
