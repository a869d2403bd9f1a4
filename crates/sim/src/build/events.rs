//! Which node learns what of the links that fail or change, and when.

use std::collections::BTreeMap;

use incast_cc::Time;

use crate::network::Network as Net;
use crate::network::failure::{Change, Failures};
use crate::routing::Routing;
use incast_plan::flows::{Flows, Leg};
use incast_plan::topology::{Node, Ports, Topology};
use incast_scenario::{LinkState, Scenario};

/// The events of every node at which something happens.
pub(super) struct Events<'a> {
    ports: &'a Ports,
    changes: BTreeMap<Node, Vec<(Time, Change)>>,
    /// When each link that fails does so first, by its number.
    failures: BTreeMap<usize, Time>,
}

impl<'a> Events<'a> {
    pub(super) fn of(
        scenario: &Scenario,
        topology: &Topology,
        ports: &'a Ports,
        routing: &Routing,
    ) -> Self {
        let mut events = Self { ports, changes: BTreeMap::new(), failures: BTreeMap::new() };
        let mut all: Vec<_> = scenario.link_events(topology).collect();
        all.sort_by_key(|(event, _)| event.at);
        for (place, &(event, cable)) in all.iter().enumerate() {
            let at = Time::ZERO + event.at;
            let later = || {
                all[place..].iter().find(|(later, other)| {
                    *other == cable && later.at > event.at && later.state == Some(LinkState::Down)
                })
            };
            for end in [0, 1] {
                let node = topology.cables[cable].ends[end];
                let port = events.port(node, (cable, end));
                if event.state == Some(LinkState::Down) {
                    events.failures.entry(cable * 2 + end).or_insert(at);
                }
                let change = match (event.state, event.rate) {
                    (Some(LinkState::Down), _) => Change::Down { port },
                    (Some(LinkState::Up), _) => {
                        let next = later().map_or(Time::MAX, |(event, _)| Time::ZERO + event.at);
                        Change::Up { port, next }
                    }
                    (None, Some(rate)) => Change::Rate { port, rate },
                    (None, None) => continue,
                };
                events.changes.entry(node).or_default().push((at, change));
            }
        }
        for (at, switch, table) in &routing.changes {
            let changes = events.changes.entry(Node::Switch(*switch)).or_default();
            changes.push((*at, Change::Routes(table.clone())));
        }
        events
    }

    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the ports")]
    fn port(&self, node: Node, link: (usize, usize)) -> u16 {
        let Node::Switch(switch) = node else { return 0 };
        let mut links = self.ports.switches[switch as usize].iter();
        links.position(|&own| own == link).map_or(0, |port| port as u16)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the hosts")]
    pub(super) fn of_host(&mut self, host: usize) -> Option<Failures> {
        Some(Failures::new(self.changes.remove(&Node::Host(host as u32))?))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the switches")]
    pub(super) fn of_switch(&mut self, switch: usize) -> Option<Failures> {
        Some(Failures::new(self.changes.remove(&Node::Switch(switch as u32))?))
    }

    /// Links that fail, and when first.
    pub(super) fn first_failures(&self) -> impl Iterator<Item = (usize, Time)> {
        self.failures.iter().map(|(&link, &at)| (link, at))
    }
}

/// Tells switches the ports of connections whose path is given.
pub(super) fn pin(net: &mut Net, flows: &Flows, routing: &Routing) {
    if !routing.pins() {
        return;
    }
    for (flow, _) in (0..).zip(flows.iter()) {
        for Leg { from, to, label } in flows.all_legs(flow) {
            for &(switch, port) in routing.pinned(from, to) {
                net.switches[switch as usize].routes.pin(to, label, port);
            }
        }
    }
}
