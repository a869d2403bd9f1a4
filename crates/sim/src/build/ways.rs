//! Ways: how packets get from host to host, and how long that takes without queues.

use std::sync::Arc;

use incast_cc::{Bytes, Span};
use incast_transport::{Path, Transport};

use crate::routing::{Hop, Routing};
use incast_net as routes;
use incast_net::Way;
use incast_plan::RoutingKind;
use incast_plan::flows::Leg;
use incast_plan::topology::{Node, Ports, Topology};
use incast_scenario::Scenario;

/// The ways between hosts, by the first routes.
pub(crate) struct Ways {
    topology: Arc<Topology>,
    ports: Ports,
    pub(super) routing: Routing,
    /// The sizes of a data packet of messages and of streams and of an ACK on the wire, and the time
    /// that the receiver takes to answer.
    message_packet: Bytes,
    stream_packet: Bytes,
    ack: Bytes,
    turnaround: Span,
}

impl Ways {
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Arc<Topology>,
        ports: Ports,
        routing: Routing,
    ) -> Self {
        let transport = &scenario.transport;
        Self {
            topology: Arc::clone(topology),
            ports,
            routing,
            message_packet: transport.mtu,
            stream_packet: transport.mss() + transport.header,
            ack: transport.ack,
            turnaround: transport.ack_turnaround,
        }
    }

    /// The links from one host to another.
    pub(crate) fn links(&self, leg: Leg) -> Vec<(usize, usize)> {
        self.routing.path(&self.topology, &self.ports, leg)
    }

    /// The hops of a way that switches are told, if they do not find it in their tables. Where
    /// packets carry all ports of a tree, they are told nothing.
    pub(super) fn given(&self, leg: Leg) -> Arc<[Hop]> {
        let carried = leg.routing == RoutingKind::SpanningTrees
            && self.route(leg) != self.routing.unknown(leg);
        if carried { Arc::default() } else { self.routing.given(&self.topology, &self.ports, leg) }
    }

    /// The ports of switches on the way, unless the way may change or packets take several.
    #[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
    pub(super) fn route(&self, leg: Leg) -> routes::Path {
        let unknown = self.routing.unknown(leg);
        if !self.routing.is_fixed(leg) {
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

    /// The size of a data packet on the wire.
    fn packet(&self, kind: Transport) -> Bytes {
        match kind {
            Transport::Message => self.message_packet,
            Transport::Stream => self.stream_packet,
        }
    }

    /// The way to the other end of a connection of this kind, and the way back.
    pub(super) fn path(&self, legs: [Leg; 2], kind: Transport) -> Path {
        let [there, back] = legs.map(|leg| self.links(leg));
        let rtt =
            self.delay(&there, self.packet(kind)) + self.turnaround + self.delay(&back, self.ack);
        Path { base_rtt: Some(rtt), hop_count: u8::try_from(there.len()).unwrap_or(u8::MAX) }
    }

    /// The oracle's way of a connection whose data takes the first of these legs.
    #[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
    pub(super) fn way(&self, legs: [Leg; 2], kind: Transport) -> Way {
        let (links, rtt) = (self.links(legs[0]), self.path(legs, kind).base_rtt);
        let sender = self.topology.cables[links[0].0].rate.time_for(self.packet(kind));
        let rtt = rtt.unwrap_or(Span::ZERO);
        let queues = links.iter().filter_map(|link @ &(cable, end)| {
            let Node::Switch(switch) = self.topology.cables[cable].ends[end] else { return None };
            let port = self.ports.switches[switch as usize].iter().position(|own| own == link)?;
            Some((switch, port as u16, self.topology.cables[cable].rate))
        });
        Way { network_rtt: rtt.saturating_sub(sender), queues: queues.collect() }
    }
}
