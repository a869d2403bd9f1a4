//! Ways: how packets get from host to host, and how long that takes without queues.

use std::sync::Arc;

use incast_cc::{Bytes, Span};
use incast_transport::Path;

use crate::routing::Routing;
use incast_net as routes;
use incast_net::Way;
use incast_plan::flows::Leg;
use incast_plan::topology::{Node, Ports, Topology};
use incast_scenario::{Scenario, TransportKind};

/// The ways between hosts, by the first routes.
pub(crate) struct Ways {
    topology: Arc<Topology>,
    ports: Ports,
    pub(super) routing: Routing,
    /// The size of a data packet and of an ACK on the wire, and the time that the receiver takes to
    /// answer.
    packet: Bytes,
    ack: Bytes,
    turnaround: Span,
}

impl Ways {
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Arc<Topology>,
        ports: Ports,
        routing: Routing,
        kind: TransportKind,
    ) -> Self {
        let transport = &scenario.transport;
        let packet = match kind {
            TransportKind::Message => transport.mtu,
            TransportKind::Stream => transport.mss() + transport.header,
        };
        Self {
            topology: Arc::clone(topology),
            ports,
            routing,
            packet,
            ack: transport.ack,
            turnaround: transport.ack_turnaround,
        }
    }

    /// The links from one host to another.
    pub(crate) fn links(&self, leg: Leg) -> Vec<(usize, usize)> {
        self.routing.path(&self.topology, &self.ports, leg)
    }

    /// The links from one host to another, and the part of the packets that takes each.
    pub(crate) fn shares(&self, leg: Leg) -> Vec<((usize, usize), f64)> {
        self.routing.shares(&self.topology, &self.ports, leg)
    }

    /// Whether all packets of a connection take one way, from the beginning to the end of a run.
    pub(crate) fn is_fixed(&self) -> bool {
        self.routing.is_fixed()
    }

    /// The ports of switches on the way, unless the way may change or packets take several.
    #[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
    pub(super) fn route(&self, leg: Leg) -> routes::Path {
        let unknown = self.routing.unknown(leg);
        if !self.routing.is_fixed() {
            return unknown;
        }
        let port = |link @ &(cable, end): &(usize, usize)| {
            let Node::Switch(switch) = self.topology.cables[cable].ends[end] else { return None };
            let own = &self.ports.switches[switch as usize];
            own.iter().position(|own| own == link).map(|port| port as u16)
        };
        let ports: Vec<_> = self.links(leg).iter().filter_map(port).collect();
        routes::Path::of(&ports, unknown)
    }

    /// The time of `bytes` over links without queues, stored and forwarded by each switch.
    pub(crate) fn delay(&self, links: &[(usize, usize)], bytes: Bytes) -> Span {
        let cables = links.iter().map(|&(cable, _)| &self.topology.cables[cable]);
        cables.map(|cable| cable.delay + cable.rate.time_for(bytes)).sum()
    }

    /// The way to the other end of a connection, and the way back.
    pub(super) fn path(&self, legs: [Leg; 2]) -> Path {
        let [there, back] = legs.map(|leg| self.links(leg));
        let rtt = self.delay(&there, self.packet) + self.turnaround + self.delay(&back, self.ack);
        Path { base_rtt: Some(rtt), hop_count: u8::try_from(there.len()).unwrap_or(u8::MAX) }
    }

    /// The oracle's way of a connection whose data takes the first of these legs.
    #[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
    pub(super) fn way(&self, legs: [Leg; 2]) -> Way {
        let (links, rtt) = (self.links(legs[0]), self.path(legs).base_rtt);
        let sender = self.topology.cables[links[0].0].rate.time_for(self.packet);
        let rtt = rtt.unwrap_or(Span::ZERO);
        let queues = links.iter().filter_map(|link @ &(cable, end)| {
            let Node::Switch(switch) = self.topology.cables[cable].ends[end] else { return None };
            let port = self.ports.switches[switch as usize].iter().position(|own| own == link)?;
            Some((switch, port as u16, self.topology.cables[cable].rate))
        });
        Way { network_rtt: rtt.saturating_sub(sender), queues: queues.collect() }
    }
}
