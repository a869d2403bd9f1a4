//! Changes of links and routes while the network runs: which node learns of which change, and when.

use std::collections::BTreeMap;

use incast_cc::{Rate, Time};
use incast_plan::topology::{Node, Ports, Topology};

use super::failure::{Change, Failures};
use super::routes::Table;

/// A link that fails, comes back, or changes its rate, in both directions.
#[derive(Clone, Copy, Debug)]
pub struct LinkChange {
    /// The moment of the change.
    pub at: Time,
    /// The number of the cable.
    pub cable: usize,
    /// The change.
    pub kind: LinkChangeKind,
}

/// The change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChangeKind {
    /// The link fails: the packets that travel on it or wait for it are lost.
    Down,
    /// The link comes back.
    Up,
    /// The link has this rate from the next packet on.
    Rate(Rate),
}

/// New routes of a switch.
#[derive(Clone, Debug)]
pub struct RouteChange {
    /// The moment at which the switch learns them.
    pub at: Time,
    /// The number of the switch.
    pub switch: u32,
    /// The switch's ports towards every rack from then on.
    pub table: Table,
}

/// The agendas of all nodes at which something changes.
pub(super) struct Agendas<'a> {
    ports: &'a Ports,
    changes: BTreeMap<Node, Vec<(Time, Change)>>,
    /// The first failure of each link that fails, by the link's number.
    failures: BTreeMap<usize, Time>,
}

impl<'a> Agendas<'a> {
    pub(super) fn of(
        topology: &Topology,
        ports: &'a Ports,
        links: &[LinkChange],
        routes: Vec<RouteChange>,
    ) -> Self {
        let mut agendas = Self { ports, changes: BTreeMap::new(), failures: BTreeMap::new() };
        let mut all = links.to_vec();
        all.sort_by_key(|change| change.at);
        for (place, change) in all.iter().enumerate() {
            agendas.add(topology, change, &all[place..]);
        }
        for RouteChange { at, switch, table } in routes {
            let changes = agendas.changes.entry(Node::Switch(switch)).or_default();
            changes.push((at, Change::Routes(table)));
        }
        agendas
    }

    /// Adds a change of a link to the agendas of both its ends; `rest` holds this change and those
    /// after it.
    fn add(&mut self, topology: &Topology, change: &LinkChange, rest: &[LinkChange]) {
        let &LinkChange { at, cable, kind } = change;
        let fails_again = || {
            let same = rest.iter().filter(|later| later.cable == cable && later.at > at);
            let next =
                same.filter(|later| later.kind == LinkChangeKind::Down).map(|later| later.at);
            next.min().unwrap_or(Time::MAX)
        };
        for end in [0, 1] {
            let node = topology.cables[cable].ends[end];
            let port = self.port(node, (cable, end));
            if kind == LinkChangeKind::Down {
                self.failures.entry(cable * 2 + end).or_insert(at);
            }
            let change = match kind {
                LinkChangeKind::Down => Change::Down { port },
                LinkChangeKind::Up => Change::Up { port, next: fails_again() },
                LinkChangeKind::Rate(rate) => Change::Rate { port, rate },
            };
            self.changes.entry(node).or_default().push((at, change));
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the ports are bounded")]
    fn port(&self, node: Node, link: (usize, usize)) -> u16 {
        let Node::Switch(switch) = node else { return 0 };
        let mut links = self.ports.switches[switch as usize].iter();
        links.position(|&own| own == link).map_or(0, |port| port as u16)
    }

    /// Takes the agenda of a node, if it has one.
    pub(super) fn of_node(&mut self, node: Node) -> Option<Failures> {
        Some(Failures::new(self.changes.remove(&node)?))
    }

    /// The links that fail, and the time of each one's first failure.
    pub(super) fn first_failures(&self) -> impl Iterator<Item = (usize, Time)> {
        self.failures.iter().map(|(&link, &at)| (link, at))
    }
}
