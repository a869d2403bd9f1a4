//! Circles of links that wait for each other.
//!
//! A link waits for another if a packet may come over the first and leave by the second: under PFC
//! the second can hold the first. Where no circle of links waits, nothing can dead-lock (Dally and
//! Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", IEEE
//! Transactions on Computers 36, 1987).

use std::collections::BTreeSet;

use incast_plan::topology::{Node, Ports, Topology};

use super::Routing;

/// The most pairs of links that are looked at.
const MOST_PAIRS: usize = 5_000_000;

/// Whether shortest paths have a circle of links that wait for each other; [`None`] where there are
/// too many pairs of links. All hosts may send to all. Given paths, and paths after a failure, are
/// left out.
pub(crate) fn has_circle(routing: &Routing, topology: &Topology, ports: &Ports) -> Option<bool> {
    Some(circle_in(&waiting(routing, topology, ports)?))
}

/// For each link from a switch, by its number: the links that it waits for. Links are numbered
/// switch by switch, port by port.
fn waiting(routing: &Routing, topology: &Topology, ports: &Ports) -> Option<Vec<BTreeSet<usize>>> {
    let mut first = Vec::with_capacity(ports.switches.len());
    let mut links = 0;
    for own in &ports.switches {
        first.push(links);
        links += own.len();
    }
    let mut waiting = vec![BTreeSet::new(); links];
    let mut pairs = 0;
    for (number, &edge) in (0..).zip(&routing.edges) {
        // Only switches that packets for the edge pass count.
        let mut passed = vec![false; ports.switches.len()];
        let mut reached = routing.edges.clone();
        for &switch in &reached {
            passed[switch] = true;
        }
        while let Some(switch) = reached.pop() {
            for port in routing.switches[switch].ports_to(number) {
                let link = ports.switches[switch][port as usize];
                let Node::Switch(next) = topology.far_end(link) else { continue };
                let next = next as usize;
                if next == edge {
                    continue;
                }
                if !std::mem::replace(&mut passed[next], true) {
                    reached.push(next);
                }
                let onwards = routing.switches[next].ports_to(number);
                pairs += onwards.len();
                if pairs > MOST_PAIRS {
                    return None;
                }
                let onwards = onwards.iter().map(|&port| first[next] + port as usize);
                waiting[first[switch] + port as usize].extend(onwards);
            }
        }
    }
    Some(waiting)
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
