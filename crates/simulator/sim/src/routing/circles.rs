//! Circles of links that wait for each other.
//!
//! A link waits for another if a packet may come over the first and leave by the second: under PFC
//! the second can hold the first. Where no circle of links waits, nothing can dead-lock (Dally and
//! Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", IEEE
//! Transactions on Computers 36, 1987).

use std::collections::BTreeSet;

use incast_plan::RoutingKind;
use incast_plan::topology::{Node, Ports, Topology};
use incast_plan::trees::Tree;

use super::{Hop, Routing, hop};

/// The most pairs of links that are looked at.
const MOST_PAIRS: usize = 5_000_000;

/// Whether the paths of all kinds of routing have a circle of links that wait for each other;
/// [`None`] where there are too many pairs of links. All hosts may send to all. Given paths, paths
/// after a failure, and paths through other groups (Valiant) are left out.
pub(crate) fn has_circle(routing: &Routing, topology: &Topology, ports: &Ports) -> Option<bool> {
    Some(circle_in(&Waiting::of(routing, topology, ports)?.waits_for))
}

/// The links that wait for others.
struct Waiting<'a> {
    topology: &'a Topology,
    ports: &'a Ports,
    /// The number of the first link of each switch. Links are numbered switch by switch, port by
    /// port.
    first: Vec<usize>,
    /// For each link from a switch, by its number: the links that it waits for.
    waits_for: Vec<BTreeSet<usize>>,
    /// The pairs of links that were looked at.
    pairs: usize,
}

impl<'a> Waiting<'a> {
    fn of(routing: &Routing, topology: &'a Topology, ports: &'a Ports) -> Option<Self> {
        let mut first = Vec::with_capacity(ports.switches.len());
        let mut links = 0;
        for own in &ports.switches {
            first.push(links);
            links += own.len();
        }
        let waits_for = vec![BTreeSet::new(); links];
        let mut all = Self { topology, ports, first, waits_for, pairs: 0 };
        // A first path is one of the shortest.
        let is_short = |kind: &&RoutingKind| !matches!(kind, RoutingKind::SpanningTrees);
        let shortest: Vec<_> = routing.kinds.iter().filter(is_short).collect();
        if !shortest.is_empty() {
            let single = shortest == [&RoutingKind::Single];
            all.add_shortest(routing, single)?;
        }
        for tree in &routing.trees {
            all.add_tree(routing, tree)?;
        }
        Some(all)
    }

    /// Counts pairs of links; [`None`] where there are too many.
    fn count(&mut self, more: usize) -> Option<()> {
        self.pairs += more;
        (self.pairs <= MOST_PAIRS).then_some(())
    }

    /// Adds shortest paths: all, or the `single` one of the lowest ports.
    fn add_shortest(&mut self, routing: &Routing, single: bool) -> Option<()> {
        let ports_to = |switch: usize, edge| {
            let mut ports = routing.switches[switch].ports_to(edge);
            ports.truncate(if single { 1 } else { usize::MAX });
            ports
        };
        for (number, &edge) in (0..).zip(&routing.edges) {
            // Only switches that packets for the edge pass count.
            let mut passed = vec![false; self.ports.switches.len()];
            let mut reached = routing.edges.clone();
            for &switch in &reached {
                passed[switch] = true;
            }
            while let Some(switch) = reached.pop() {
                for port in ports_to(switch, number) {
                    let link = self.ports.switches[switch][port as usize];
                    let Node::Switch(next) = self.topology.far_end(link) else { continue };
                    let next = next as usize;
                    if next == edge {
                        continue;
                    }
                    if !std::mem::replace(&mut passed[next], true) {
                        reached.push(next);
                    }
                    let onwards = ports_to(next, number);
                    self.count(onwards.len())?;
                    let own = self.first[next];
                    let onwards = onwards.iter().map(|&port| own + port as usize);
                    self.waits_for[self.first[switch] + port as usize].extend(onwards);
                }
            }
        }
        Some(())
    }

    /// Adds the paths in a tree between all switches with hosts.
    fn add_tree(&mut self, routing: &Routing, tree: &Tree) -> Option<()> {
        let number = |first: &[usize], (switch, port): Hop| first[switch as usize] + port as usize;
        for (&from, &to) in
            routing.edges.iter().flat_map(|a| routing.edges.iter().map(move |b| (a, b)))
        {
            let [from, to] = [from, to].map(|edge| u32::try_from(edge).unwrap_or(u32::MAX));
            let path = tree.path(self.topology, from, to);
            self.count(path.len())?;
            let hops: Vec<_> =
                path.into_iter().filter_map(|link| hop(self.topology, self.ports, link)).collect();
            for pair in hops.windows(2) {
                let [before, after] = [pair[0], pair[1]].map(|own| number(&self.first, own));
                self.waits_for[before].insert(after);
            }
        }
        Some(())
    }
}

/// Whether the links contain a circle: some remain after links that wait for none are removed again
/// and again.
fn circle_in(waiting: &[BTreeSet<usize>]) -> bool {
    let mut waited_for = vec![vec![]; waiting.len()];
    let mut left: Vec<_> = waiting.iter().map(BTreeSet::len).collect();
    for (link, others) in waiting.iter().enumerate() {
        for &other in others {
            waited_for[other].push(link);
        }
    }
    let mut free: Vec<_> = (0..left.len()).filter(|&link| left[link] == 0).collect();
    let mut taken = 0;
    while let Some(link) = free.pop() {
        taken += 1;
        for &before in &waited_for[link] {
            left[before] -= 1;
            if left[before] == 0 {
                free.push(before);
            }
        }
    }
    taken < left.len()
}
