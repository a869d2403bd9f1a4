//! Paths between hosts: how packets get from host to host, and how long that takes without queues.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_cc::{Bytes, Rate, Span};
use incast_transport::{Path, Transport};

use crate::ideal::Link;
use crate::routing::{Hop, Routing};
use incast_net as routes;
use incast_net::QueuePath;
use incast_plan::RoutingKind;
use incast_plan::flows::Direction;
use incast_plan::islands::Islands;
use incast_plan::topology::{Node, Ports, Topology};
use incast_scenario::Scenario;

/// The paths between hosts, by the first routes.
pub(crate) struct HostPaths {
    topology: Arc<Topology>,
    ports: Ports,
    pub(super) routing: Routing,
    /// The bursts of the token buckets of switch ports at the ends of each cable; empty where ports
    /// have none.
    bursts: Vec<[Bytes; 2]>,
    /// The sizes of a data packet of messages and of streams and of an ACK on the wire, and the
    /// time that the receiver takes to answer.
    message_packet: Bytes,
    stream_packet: Bytes,
    ack: Bytes,
    turnaround: Span,
    /// The rate at which each slow receiver takes packets in, from the beginning to the end.
    intakes: BTreeMap<u32, Rate>,
    islands: Arc<Islands>,
}

/// The bursts of the token buckets of switch ports at the ends of each cable; empty where ports
/// have none.
pub(super) fn bursts(scenario: &Scenario, topology: &Topology) -> Vec<[Bytes; 2]> {
    let burst = |rate| scenario.switch.burst_at(rate).unwrap_or(Bytes::ZERO);
    let shaped = topology.cables.iter().filter(|_| scenario.switch.has_bucket());
    shaped.map(|cable| cable.rates.map(burst)).collect()
}

impl HostPaths {
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Arc<Topology>,
        ports: Ports,
        routing: Routing,
    ) -> Self {
        let transport = &scenario.transport;
        let slow = scenario.slow_hosts(topology).into_iter();
        Self {
            topology: Arc::clone(topology),
            ports,
            routing,
            bursts: bursts(scenario, topology),
            message_packet: transport.mtu,
            stream_packet: transport.mss() + transport.header,
            ack: transport.ack,
            turnaround: transport.ack_turnaround,
            intakes: slow.filter_map(|(host, own)| Some((host, own.steady()?))).collect(),
            islands: Arc::new(scenario.islands(topology)),
        }
    }

    /// The islands of hosts, over which no way leads.
    pub(crate) const fn islands(&self) -> &Arc<Islands> {
        &self.islands
    }

    /// The links from one host to another.
    pub(crate) fn links(&self, direction: Direction) -> Vec<(usize, usize)> {
        self.routing.path(&self.topology, &self.ports, direction)
    }

    /// The links from one host to another, as the ideal of a message counts them.
    pub(crate) fn course(&self, direction: Direction) -> Vec<Link> {
        let burst = |(cable, end): (usize, usize)| {
            let is_shaped = matches!(self.topology.cables[cable].ends[end], Node::Switch(_));
            self.bursts.get(cable).map(|bursts| bursts[end]).filter(|_| is_shaped)
        };
        let links = self.links(direction);
        let mut course = self.plain(&links);
        for (link, &of) in course.iter_mut().zip(&links) {
            link.burst = burst(of);
        }
        course
    }

    /// The hops of a way that switches are told, if they do not find it in their tables. Where
    /// packets carry all ports of a tree, they are told nothing.
    pub(super) fn given(&self, direction: Direction) -> Arc<[Hop]> {
        let carried = direction.routing == RoutingKind::SpanningTrees
            && self.route(direction) != self.routing.unknown(direction);
        if carried {
            Arc::default()
        } else {
            self.routing.given(&self.topology, &self.ports, direction)
        }
    }

    /// The links from one host to another, and the part of the packets that takes each.
    pub(crate) fn shares(&self, direction: Direction) -> Vec<((usize, usize), f64)> {
        self.routing.shares(&self.topology, &self.ports, direction)
    }

    /// Whether all packets of a connection take one way, from the beginning to the end of a run.
    pub(crate) fn is_fixed(&self, direction: Direction) -> bool {
        self.routing.is_fixed(direction)
    }

    /// The ports of switches on the way, unless the way may change or packets take several.
    #[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
    pub(super) fn route(&self, direction: Direction) -> routes::Path {
        let unknown = self.routing.unknown(direction);
        if !self.routing.is_fixed(direction) {
            return unknown;
        }
        let port = |link @ &(cable, end): &(usize, usize)| {
            let Node::Switch(switch) = self.topology.cables[cable].ends[end] else { return None };
            let own = &self.ports.switches[switch as usize];
            own.iter().position(|own| own == link).map(|port| port as u16)
        };
        let ports: Vec<_> = self.links(direction).iter().filter_map(port).collect();
        routes::Path::of(&ports, unknown)
    }

    /// The time of `bytes` over links without queues, stored and forwarded by each switch.
    pub(crate) fn delay(&self, links: &[(usize, usize)], bytes: Bytes) -> Span {
        self.plain(links).iter().map(|link| link.delay + link.rate.time_for(bytes)).sum()
    }

    /// The rate of a link, or of the slow receiver at its end.
    pub(crate) fn carries(&self, link: (usize, usize)) -> Rate {
        let rate = self.topology.rate(link);
        self.intake(link).map_or(rate, |intake| intake.min(rate))
    }

    /// The rate of the slow receiver at the end of a link, if there is one.
    fn intake(&self, link: (usize, usize)) -> Option<Rate> {
        match self.topology.far_end(link) {
            Node::Host(host) => self.intakes.get(&host).copied(),
            Node::Switch(_) => None,
        }
    }

    /// Links without token buckets. A slow receiver stores packets and takes them in one after the
    /// other, as a link without delay behind the last one.
    pub(crate) fn plain(&self, links: &[(usize, usize)]) -> Vec<Link> {
        let of = |&link: &(usize, usize)| {
            Link::plain(self.topology.rate(link), self.topology.cables[link.0].delay)
        };
        let intake = links.last().and_then(|&last| self.intake(last));
        links.iter().map(of).chain(intake.map(|rate| Link::plain(rate, Span::ZERO))).collect()
    }

    /// The size of a data packet on the wire.
    fn packet(&self, kind: Transport) -> Bytes {
        match kind {
            Transport::Message => self.message_packet,
            Transport::Stream => self.stream_packet,
        }
    }

    /// The way to the other end of a connection of this kind, and the way back.
    pub(super) fn path(&self, directions: [Direction; 2], kind: Transport) -> Path {
        let [there, back] = directions.map(|direction| self.links(direction));
        let rtt =
            self.delay(&there, self.packet(kind)) + self.turnaround + self.delay(&back, self.ack);
        Path { base_rtt: Some(rtt), hop_count: u8::try_from(there.len()).unwrap_or(u8::MAX) }
    }

    /// The oracle's path for a connection whose data takes the first of these directions.
    #[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
    pub(super) fn queue_path(&self, directions: [Direction; 2], kind: Transport) -> QueuePath {
        let (links, rtt) = (self.links(directions[0]), self.path(directions, kind).base_rtt);
        let sender = self.topology.rate(links[0]).time_for(self.packet(kind));
        let rtt = rtt.unwrap_or(Span::ZERO);
        let queues = links.iter().filter_map(|link @ &(cable, end)| {
            let Node::Switch(switch) = self.topology.cables[cable].ends[end] else { return None };
            let port = self.ports.switches[switch as usize].iter().position(|own| own == link)?;
            Some((switch, port as u16, self.topology.rate(*link)))
        });
        QueuePath { network_rtt: rtt.saturating_sub(sender), queues: queues.collect() }
    }
}
