//! A scenario with its defaults filled in and its names resolved, for programs that run it
//! elsewhere, such as on a test bed.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Rate, Span};

use incast_plan::RoutingKind;
use incast_plan::topology::{Cable, Node, Topology};

use crate::section::Section;
use crate::traffic::resolved::ResolvedTraffic;
use crate::{Aqm, ResolvedClass, Scenario, shared_buffers, topology};

/// The resolved plan of a scenario.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The kind of the network, such as `star`.
    pub network: &'static str,
    /// `switch.burst`, if it is set.
    pub burst: Option<Bytes>,
    /// `switch.burst_time`, if it is set.
    pub burst_time: Option<Span>,
    /// The hosts, in the order of their numbers.
    pub hosts: Vec<ResolvedHost>,
    /// The kinds of routing of all traffic, such as `ecmp`.
    pub routing: Vec<&'static str>,
    /// The number of explicit paths.
    pub paths: usize,
    /// Whether links differ by direction, or lose packets.
    pub own_links: bool,
    /// Whether hosts are slow receivers.
    pub receivers: bool,
    /// Whether hosts are on islands.
    pub islands: bool,
    /// The traffic, in the order of the file.
    pub traffic: Vec<ResolvedTraffic>,
    /// The parameters that each section `[cc.NAME]` sets, as text.
    pub parameters: BTreeMap<String, Vec<(String, String)>>,
}

/// A host with its link and the switch port that leads to it.
#[derive(Clone, Debug)]
pub struct ResolvedHost {
    /// The host's name.
    pub name: String,
    /// The rate of its link, out of the host.
    pub rate: Rate,
    /// The propagation delay of its link, each way.
    pub delay: Span,
    /// The queues of the switch port that leads to the host, one for each class, the lowest first.
    /// Empty where the host is connected directly to another host.
    pub queues: Vec<ResolvedQueue>,
}

/// The queue of one class at a switch port.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedQueue {
    /// The most bytes in the queue while all other queues of the switch are empty.
    pub limit: Bytes,
    /// The threshold above which packets are marked, if there is one.
    pub ecn_threshold: Option<Bytes>,
    /// The kind of the queue management, if there is any, such as `red`.
    pub management: Option<&'static str>,
    /// The kind of the discipline, such as `fifo`.
    pub discipline: &'static str,
    /// Whether PFC keeps the queue from dropping.
    pub protected: bool,
}

impl Scenario {
    /// The resolved plan of this scenario, without building its network.
    pub fn resolved(&self) -> Resolved {
        let net = topology(self);
        let set = |section: &Section| section.parameters.clone().into_iter().collect();
        Resolved {
            network: self.network.kind(),
            burst: self.switch.burst,
            burst_time: self.switch.burst_time,
            hosts: self.resolved_hosts(&net),
            routing: self.routing_kinds().into_iter().map(RoutingKind::as_str).collect(),
            paths: self.routing.paths.len(),
            own_links: !self.links.is_empty() || self.loses_at_random(),
            receivers: !self.receivers.is_empty(),
            islands: !self.islands.is_empty(),
            traffic: (0..self.traffic.len()).map(|n| self.resolved_traffic(n)).collect(),
            parameters: self.cc.iter().map(|(name, values)| (name.clone(), set(values))).collect(),
        }
    }

    fn resolved_hosts(&self, net: &Topology) -> Vec<ResolvedHost> {
        let classes = self.named_classes();
        let shared = shared_buffers(self, net, &net.ports());
        let host = |(cable, rate, node, far): (&Cable, Rate, Node, Node)| {
            let queues = match far {
                Node::Switch(switch) => {
                    let shared = shared[switch as usize];
                    classes.iter().map(|class| self.queue(class, shared)).collect()
                }
                Node::Host(_) => Vec::new(),
            };
            let name = net.name(node).to_owned();
            ResolvedHost { name, rate, delay: cable.delay, queues }
        };
        let ends = net.cables.iter().flat_map(|cable| {
            let ([a, b], [there, back]) = (cable.ends, cable.rates);
            [(cable, there, a, b), (cable, back, b, a)]
        });
        let mut ends: Vec<_> = ends.collect();
        ends.retain(|(_, _, node, _)| matches!(node, Node::Host(_)));
        ends.sort_by_key(|&(_, _, node, _)| node);
        ends.into_iter().map(host).collect()
    }

    /// The queue of a class at a switch with `shared` bytes of shared buffer. A protected queue may
    /// have all of the buffer, since PFC keeps it from dropping.
    pub fn queue(&self, class: &ResolvedClass, shared: Bytes) -> ResolvedQueue {
        // The dynamic threshold falls as the queue uses up free buffer.
        let alpha = class.alpha.as_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of the buffer"
        )]
        let dynamic = Bytes::new((shared.get() as f64 * alpha / (1.0 + alpha)) as u64);
        let own = if class.protected { shared } else { class.queue_limit.unwrap_or(dynamic) };
        let port = self.switch.port_limit.filter(|_| !class.protected);
        ResolvedQueue {
            limit: port.map_or(own, |most| most.min(own)).min(shared),
            ecn_threshold: class.ecn_threshold,
            management: class.aqm.as_ref().map(Aqm::kind),
            discipline: class.discipline.kind(),
            protected: class.protected,
        }
    }

    fn resolved_traffic(&self, number: usize) -> ResolvedTraffic {
        let traffic = &self.traffic[number];
        let common = &traffic.common;
        ResolvedTraffic {
            name: self.traffic_name(number),
            kind: traffic.kind.as_str(),
            class: common.class.as_ref().and_then(|name| self.class_number(name)).unwrap_or(0),
            scheme: common.scheme.as_ref().map(|scheme| scheme.name().to_owned()),
            waits: traffic.kind.settings().waits(),
        }
    }
}
