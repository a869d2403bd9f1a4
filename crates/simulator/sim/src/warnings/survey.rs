//! The paths that the traffic of a scenario takes, and how many flows share them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use incast_cc::{Bytes, PathFacts, Rate, Span};

use crate::build::{HostPaths, cut};
use crate::cost::direction_of;
use crate::routing::Routing;
use incast_plan::flows::Direction;
use incast_plan::topology::{Node, Topology};
use incast_plan::{RoutingKind, Watch};
use incast_scenario::{LastingFlow, Operation, Scenario, Scheme, TrafficScheme, TransportKind};
use incast_scenario::{hosts_of, lasting, shared_buffers, topology};
use incast_transport::Signal;

/// The most kinds of hosts at one end of a traffic that are looked at.
const MOST_KINDS: usize = 64;

/// A path without queues.
#[derive(Clone, Debug)]
pub(crate) struct Surveyed {
    /// The names of the hosts at the ends of the path.
    pub(crate) ends: [String; 2],
    /// The RTT of a segment, from the first bit to its ACK.
    pub(super) rtt: Span,
    /// The RTT of a full packet, from the first bit to its ACK.
    pub(crate) packet_rtt: Span,
    /// The rate of the slowest link.
    pub(crate) slowest: Rate,
    pub(crate) facts: PathFacts,
    /// The port of the bottleneck: the nodes at the ends of its link.
    pub(super) bottleneck: [String; 2],
    pub(super) rate: Rate,
}

/// The hosts at both ends, and the most that is sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    from: u32,
    to: u32,
    class: u8,
    unit: Option<Bytes>,
    routing: RoutingKind,
}

/// The traffic whose paths are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All traffic.
    All,
    /// The traffic with flows under the scheme of this number ([`Scenario::mix`]).
    Scheme(u8),
}

impl Scope {
    /// Whether traffic with the scheme `number` counts; `shared` if only a share of it has that
    /// scheme.
    fn counts(self, number: u8, shared: bool) -> bool {
        match self {
            Self::All => true,
            Self::Scheme(wanted) => wanted == number || wanted == 0 && shared,
        }
    }
}

/// The flows without end on each link.
type Loads = BTreeMap<(usize, usize), u64>;

/// The paths of the traffic by the first routes, one of each kind.
pub(crate) fn survey(scenario: &Scenario, scheme: Scheme, scope: Scope) -> Vec<Surveyed> {
    let net = Arc::new(topology(scenario));
    let ports = net.ports();
    let shared = shared_buffers(scenario, &net, &ports);
    let routing = Routing::new(scenario, &net, &ports, scenario.run.seed, &Watch::nobody());
    let host_paths = HostPaths::new(scenario, &net, ports, routing);
    // Flows without end share their links with each other all the time. Traffic that comes and goes
    // does not.
    let mut loads = Loads::new();
    let mut pairs = BTreeSet::new();
    for (label, flow) in (0..).zip(lasting(scenario, &net)) {
        for link in host_paths.links(direction_of(&flow, label)) {
            *loads.entry(link).or_default() += 1;
        }
        let LastingFlow { from, to, class, routing, scheme, shared } = flow;
        if scope.counts(scheme, shared) {
            pairs.insert(Pair { from, to, class, unit: None, routing });
        }
    }
    pairs.extend(others(scenario, &net, scope));
    let mut seen = BTreeSet::new();
    let mut paths = Vec::new();
    for pair in pairs {
        let path = look(scenario, scheme, (&net, &host_paths, &loads, &shared), pair);
        let facts = &path.facts;
        let kind = (facts.network_rtt, facts.product, facts.queue, facts.flows, facts.hop_count);
        if seen.insert((kind, facts.share.as_bps(), facts.lasting)) {
            paths.push(path);
        }
    }
    paths
}

/// Pairs of hosts of traffic that comes and goes: one for each kind of host at either end. Messages
/// over islands take no path.
fn others(scenario: &Scenario, net: &Topology, scope: Scope) -> Vec<Pair> {
    let (ports, islands) = (net.ports(), scenario.islands(net));
    let is_over_island = |a: u32, b: u32| islands.between(a, b).is_some();
    let mut pairs = Vec::new();
    for (number, traffic) in scenario.traffic.iter().enumerate() {
        let class = traffic.common.class.as_ref().and_then(|name| scenario.class_number(name));
        let class = class.unwrap_or(0);
        let routing = traffic.common.routing.unwrap_or(scenario.routing.kind);
        let packet = Some(Bytes::new(1));
        let reads = traffic.operation() == Operation::Read;
        let mut add = |a, b| {
            let (from, to) = if reads { (b, a) } else { (a, b) };
            pairs.push(Pair { from, to, class, unit: packet, routing });
        };
        let own = scenario.scheme_number(traffic);
        let shared = traffic.common.scheme.as_ref().is_some_and(TrafficScheme::is_shared);
        if traffic.is_endless() || !scope.counts(own, shared) {
            continue;
        }
        if let Some(named) = traffic.pairs() {
            let named: BTreeSet<_> = named.take(10_000).collect();
            for (from, to) in named.into_iter().take(MOST_KINDS * MOST_KINDS) {
                if let (Some(Node::Host(from)), Some(Node::Host(to))) =
                    (net.node(from), net.node(to))
                    && !is_over_island(from, to)
                {
                    add(from, to);
                }
            }
            continue;
        }
        let (sources, destinations) = hosts_of(scenario, net, number);
        let kind = |host: u32| {
            let (cable, end) = ports.hosts[host as usize][0];
            let cable = &net.cables[cable];
            let rates = [cable.rates[end], cable.rates[1 - end]].map(Rate::as_bps);
            (net.edge(host), rates, cable.delay)
        };
        let few = |hosts: &[u32]| {
            // Two hosts of each kind: a host does not send to itself, and not over the network to
            // its island.
            let mut kinds: BTreeMap<_, Vec<u32>> = BTreeMap::new();
            for &host in hosts {
                let known = kinds.entry(kind(host)).or_default();
                if known.len() < 2 && !known.iter().any(|&one| is_over_island(one, host)) {
                    known.push(host);
                }
            }
            let step = kinds.len().div_ceil(MOST_KINDS).max(1);
            kinds.into_values().step_by(step).collect::<Vec<_>>()
        };
        for froms in few(&sources) {
            for tos in few(&destinations) {
                let differ = |&(from, to): &(u32, u32)| from != to && !is_over_island(from, to);
                let both = froms.iter().flat_map(|&a| tos.iter().map(move |&b| (a, b)));
                if let Some((from, to)) = both.into_iter().find(differ) {
                    add(from, to);
                }
            }
        }
    }
    pairs
}

fn look(
    scenario: &Scenario,
    scheme: Scheme,
    (net, host_paths, loads, shared): (&Topology, &HostPaths, &Loads, &[Bytes]),
    pair: Pair,
) -> Surveyed {
    let transport = &scenario.transport;
    let Pair { from, to, routing, .. } = pair;
    let there = host_paths.links(Direction { from, to, label: 0, routing });
    let back = host_paths.links(Direction { from: to, to: from, label: 0, routing });
    let cut = cut(scenario, scheme);
    let segment = match scheme.transport {
        TransportKind::Message => transport.segment,
        TransportKind::Stream => cut.payload,
    };
    let unit = pair.unit.map_or(segment, |unit| unit.min(segment));
    let rates = host_paths.plain(&there);
    let answer = transport.ack_turnaround + host_paths.delay(&back, transport.ack);
    let rtt = cut.ideal(unit, &rates) + answer;
    let line_rate = net.rate(there[0]);
    let wire = unit + cut.header * unit.get().div_ceil(cut.payload.get().max(1));
    let own = line_rate.time_for(wire);
    let flows = |link: &(usize, usize)| loads.get(link).copied().unwrap_or(1).max(1);
    let share = |link: &(usize, usize)| net.rate(*link).as_bps() / flows(link);
    // The last of equal links: a switch may drop packets where a NIC does not.
    let bottleneck = there.iter().rev().min_by_key(|link| share(link)).unwrap_or(&there[0]);
    let fair = Rate::from_bps(share(bottleneck));
    // A single flow that is no faster than the port leaves the queue empty.
    let fills = flows(bottleneck) > 1 || line_rate > net.rate(*bottleneck);
    let (cable, end) = *bottleneck;
    let nodes = net.cables[cable].ends;
    let queue = match nodes[end] {
        Node::Switch(switch) if fills => queue(scenario, shared[switch as usize], pair.class),
        _ => None,
    };
    let jitter = transport.jitter(scheme.transport);
    let facts = PathFacts {
        network_rtt: rtt.saturating_sub(match scheme.transport {
            TransportKind::Message => own,
            TransportKind::Stream => Span::ZERO,
        }),
        peer: Span::ZERO,
        jitter,
        noise: match scheme.signal {
            Signal::Rtt => Some(jitter),
            Signal::Noise(noise) => Some(jitter + noise),
            Signal::Oracle => Some(Span::ZERO),
            Signal::SoftwareTimestamps | Signal::KernelTimestamps | Signal::Timestamps(_) => None,
        },
        lasting: pair.unit.is_none(),
        hop_count: u8::try_from(there.len()).unwrap_or(u8::MAX),
        mss: cut.payload,
        segment,
        wire: segment + cut.header * segment.get().div_ceil(cut.payload.get().max(1)),
        acked: match scheme.transport {
            TransportKind::Message => segment,
            TransportKind::Stream => {
                let config = transport.stream_config(&scheme.algorithm);
                segment * u64::from(config.delayed_ack)
            }
        },
        line_rate,
        flows: flows(bottleneck),
        share: fair,
        product: fair.bytes_in(rtt),
        queue,
    };
    let name = |host| net.name(Node::Host(host)).to_owned();
    Surveyed {
        ends: [name(pair.from), name(pair.to)],
        rtt,
        packet_rtt: cut.ideal(cut.payload, &rates) + answer,
        slowest: rates.iter().map(|link| link.rate).min().unwrap_or(line_rate),
        facts,
        bottleneck: [net.name(nodes[end]).to_owned(), net.name(nodes[1 - end]).to_owned()],
        rate: net.rate(*bottleneck),
    }
}

/// The most that one queue of a class holds at a switch whose other queues are empty.
fn queue(scenario: &Scenario, shared: Bytes, class: u8) -> Option<Bytes> {
    let classes = scenario.named_classes();
    let class = &classes[usize::from(class)];
    if class.protected {
        return None;
    }
    Some(scenario.queue(class, shared).limit)
}
