//! The parts of a connection's packets that take each link.

use std::collections::{BTreeMap, BTreeSet};

use incast_plan::RoutingKind;
use incast_plan::flows::Direction;
use incast_plan::topology::{Node, Ports, Topology};

use super::Routing;

impl Routing {
    /// The links that packets take, by the first routes, and the part of the packets that takes
    /// each: less than all where they are sprayed. Each switch spreads them evenly.
    pub(crate) fn shares(
        &self,
        topology: &Topology,
        ports: &Ports,
        direction @ Direction { from, to, routing, .. }: Direction,
    ) -> Vec<((usize, usize), f64)> {
        if routing != RoutingKind::Spray || self.pinned.contains_key(&(from, to)) {
            return self
                .path(topology, ports, direction)
                .into_iter()
                .map(|link| (link, 1.0))
                .collect();
        }
        let goal = topology.edge(to);
        let Some(edge) = self.edges.iter().position(|&edge| edge == goal as usize) else {
            return Vec::new();
        };
        #[expect(clippy::cast_possible_truncation, reason = "edges are numbered in 16 bits")]
        let next = |switch: u32| -> Vec<(usize, usize)> {
            let ports = &ports.switches[switch as usize];
            if switch == goal {
                let host = ports.iter().find(|&&link| topology.far_end(link) == Node::Host(to));
                return host.copied().into_iter().collect();
            }
            let to_edge = self.switches[switch as usize].ports_to(edge as u16);
            to_edge.into_iter().map(|port| ports[port as usize]).collect()
        };
        // Shortest paths have no circle, so each switch can come after all that lead to it.
        let mut order = Vec::new();
        let (mut seen, mut stack) = (BTreeSet::new(), vec![(topology.edge(from), false)]);
        while let Some((switch, is_done)) = stack.pop() {
            if is_done {
                order.push(switch);
            } else if seen.insert(switch) {
                stack.push((switch, true));
                stack.extend(next(switch).iter().filter_map(
                    |&link| match topology.far_end(link) {
                        Node::Switch(switch) => Some((switch, false)),
                        Node::Host(_) => None,
                    },
                ));
            }
        }
        let mut arrives = BTreeMap::from([(topology.edge(from), 1.0)]);
        let mut shares = vec![(ports.hosts[from as usize][0], 1.0)];
        for switch in order.into_iter().rev() {
            let (all, links) = (arrives.get(&switch).copied().unwrap_or(0.0), next(switch));
            let part = all / links.len() as f64;
            for link in links {
                shares.push((link, part));
                if let Node::Switch(far) = topology.far_end(link) {
                    *arrives.entry(far).or_insert(0.0) += part;
                }
            }
        }
        shares
    }
}
