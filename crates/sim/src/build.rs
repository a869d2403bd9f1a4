//! From a scenario to a network that is ready to run.

mod ways;

use std::collections::BTreeMap;

use incast_cc::line_rate::LineRate;
use incast_cc::param::Need;
use incast_cc::{Algorithm, AnyControl, Bytes, Rate, Span, Time};
use incast_transport::{
    self as transport, Config, Endpoint, Purpose, Role, Signal, Terms, Transport,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::network::buffer::{BufferConfig, PfcConfig, SharedBuffer};
use crate::network::calendar::Calendar;
use crate::network::frame::PFC_FRAME_BYTES;
use crate::network::host::{Host, Post, Socket, WireFormat};
use crate::network::link::Link;
use crate::network::oracle::{Oracle, Way};
use crate::network::port::{Port, Transmitter};
use crate::network::switch::Switch;
use crate::network::trace::{Trace, TraceConfig};
use crate::network::{Component, ComponentKind, Network as Net};
use crate::scenario::{HostGroup, Network, Operation, Scenario, Scheme, Traffic, TransportKind};
use crate::topology::{Cable, Node, Topology};
use ways::Ways;

/// One connection of the scenario's traffic.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The host that starts it.
    pub(crate) source: u32,
    /// The host at the other end.
    pub(crate) destination: u32,
    pub(crate) operation: Operation,
    pub(crate) start: Time,
    /// Size of a message; [`None`] has no end.
    pub(crate) message: Option<Bytes>,
    pub(crate) count: u32,
    pub(crate) every: Span,
    /// Where payload leaves and where it arrives: host and connection.
    pub(crate) sender: (u32, u32),
    pub(crate) receiver: (u32, u32),
}

impl Flow {
    /// When a message is posted.
    pub(crate) fn posted_at(&self, message: u64) -> Time {
        self.start + self.every * message
    }
}

/// Hosts with a common name: a group's are this and a number from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    /// Absent is a single host called by the name.
    pub(crate) count: Option<u32>,
}

impl<'a> Named<'a> {
    pub(crate) fn of(group: &'a HostGroup) -> Self {
        Self { name: &group.name, count: group.count }
    }

    /// The names of its hosts.
    pub(crate) fn hosts(self) -> impl Iterator<Item = String> {
        let name = self.name.to_owned();
        (0..self.count.unwrap_or(1)).map(move |i| match self.count {
            Some(_) => format!("{name}{i}"),
            None => name.clone(),
        })
    }
}

impl Network {
    pub(crate) fn group_names(&self) -> Vec<&str> {
        let groups = self.groups().into_iter();
        groups.filter(|group| group.count.is_some()).map(|group| group.name).collect()
    }

    /// All hosts, in the order of their numbers.
    pub(crate) fn groups(&self) -> Vec<Named<'_>> {
        match self {
            Self::Star(star) => star.hosts.iter().map(Named::of).collect(),
            Self::Dumbbell(dumbbell) => {
                dumbbell.left.iter().chain(&dumbbell.right).map(Named::of).collect()
            }
            Self::LeafSpine(fabric) => {
                let count = fabric.hosts.count.unwrap_or(1).saturating_mul(fabric.leaves);
                vec![Named { name: &fabric.hosts.name, count: Some(count) }]
            }
        }
    }

    /// The numbers of the hosts that `name` stands for, a group or one host, ascending: hosts are
    /// numbered group by group.
    pub(crate) fn hosts_called(&self, name: &str, net: &Topology) -> Vec<u32> {
        let mut first = 0;
        for group in self.groups() {
            let end = first + group.count.unwrap_or(1);
            if group.name == name {
                return (first..end).collect();
            }
            first = end;
        }
        (0..).zip(&net.hosts).filter(|(_, host)| *host == name).map(|(number, _)| number).collect()
    }
}

/// The network's nodes and cables.
pub(crate) fn topology(network: &Network) -> Topology {
    let mut net = Topology::default();
    let attach = |net: &mut Topology, groups: &[HostGroup], switch| {
        for group in groups {
            for name in Named::of(group).hosts() {
                let host = net.host(name);
                net.connect(host, switch, group.rate, group.delay);
            }
        }
    };
    match network {
        Network::Star(star) => {
            let switch = net.switch("switch".into());
            attach(&mut net, &star.hosts, switch);
        }
        Network::Dumbbell(dumbbell) => {
            let (left, right) =
                (net.switch("left-switch".into()), net.switch("right-switch".into()));
            attach(&mut net, &dumbbell.left, left);
            attach(&mut net, &dumbbell.right, right);
            net.connect(left, right, dumbbell.bottleneck.rate, dumbbell.bottleneck.delay);
        }
        Network::LeafSpine(fabric) => {
            let leaves: Vec<_> =
                (0..fabric.leaves).map(|i| net.switch(format!("leaf{i}"))).collect();
            let spines: Vec<_> =
                (0..fabric.spines).map(|i| net.switch(format!("spine{i}"))).collect();
            let per_leaf = fabric.hosts.count.unwrap_or(1) as usize;
            let names: Vec<_> = network.groups().into_iter().flat_map(Named::hosts).collect();
            for (place, name) in names.into_iter().enumerate() {
                let host = net.host(name);
                net.connect(host, leaves[place / per_leaf], fabric.hosts.rate, fabric.hosts.delay);
            }
            for &leaf in &leaves {
                for &spine in &spines {
                    net.connect(leaf, spine, fabric.uplink.rate, fabric.uplink.delay);
                }
            }
        }
    }
    net
}

/// What can still arrive when a port has said stop: the pause waits for a packet that is being sent
/// and travels there; at the far end a packet may just have started, and what is on the link comes;
/// the packet that crossed the threshold is one more.
pub(crate) fn headroom(scenario: &Scenario, cable: &Cable) -> Bytes {
    scenario.switch.pfc.headroom.unwrap_or_else(|| {
        let on_the_way = cable.rate.bytes_in(cable.delay * 2) + Bytes::new(1);
        let packet = scenario.transport.mtu.max(scenario.transport.ack);
        on_the_way + packet * 3 + Bytes::new(u64::from(PFC_FRAME_BYTES))
    })
}

/// Everything of a run before its first event.
pub(crate) struct Built {
    pub(crate) net: Net,
    pub(crate) topology: Topology,
    pub(crate) flows: Vec<Flow>,
}

/// Builds the network and what its applications will post.
pub(crate) fn build(scenario: &Scenario, scheme: Scheme, seed: u64, traces: TraceConfig) -> Built {
    let topology = topology(&scenario.network);
    let mut net = assemble(scenario, &topology, scheme, seed, traces);
    let mut flows = flows(scenario, &topology, seed);
    let ways = Ways::new(scenario, &topology, scheme.transport);
    connect(&mut net, &mut flows, scheme, &ways);
    net.start(Time::ZERO + scenario.run.warmup);
    Built { net, topology, flows }
}

/// The length of an interval of the time series.
pub(crate) fn interval(scenario: &Scenario) -> Span {
    let run = &scenario.run;
    run.interval.unwrap_or((run.duration / 400).max(Span::from_us(1)).min(run.duration))
}

/// Numbers the components node by node: hosts first, as they are described, then switches.
struct Numbering {
    components: Vec<Component>,
}

impl Numbering {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts of a scenario")]
    fn add(&mut self, kind: ComponentKind, node: usize, link: usize, port: usize) -> u32 {
        let component = Component { kind, node: node as u32, link: link as u32, port: port as u16 };
        self.components.push(component);
        self.components.len() as u32 - 1
    }
}

#[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts of a scenario")]
fn assemble(
    scenario: &Scenario,
    topology: &Topology,
    scheme: Scheme,
    seed: u64,
    traces: TraceConfig,
) -> Net {
    use ComponentKind::{
        HostArrival, HostInterval, HostPort, HostStart, HostTimer, SwitchArrival, SwitchInterval,
        SwitchPort,
    };
    let start = Time::ZERO + scenario.run.warmup;
    let ports = topology.ports();
    // Link 2c leads from the first end of cable c to the second, link 2c + 1 back.
    let outgoing = |&(cable, end): &(usize, usize)| cable * 2 + end;
    let incoming = |&(cable, end): &(usize, usize)| cable * 2 + 1 - end;
    let mut numbers = Numbering { components: Vec::new() };
    let mut arrivals = vec![0; topology.cables.len() * 2];
    let mut hosts = Vec::with_capacity(topology.hosts.len());
    for (host, cables) in ports.hosts.iter().enumerate() {
        let cable = &cables[0];
        numbers.add(HostStart, host, 0, 0);
        numbers.add(HostInterval, host, 0, 0);
        let port = numbers.add(HostPort, host, 0, 0);
        arrivals[incoming(cable)] = numbers.add(HostArrival, host, incoming(cable), 0);
        let timer = numbers.add(HostTimer, host, 0, 0);
        let nic = Transmitter::new(outgoing(cable) as u32, port, start);
        let seed = seed ^ ((host as u64) << 32);
        let endpoint = endpoint(scenario, topology.cables[cable.0].rate, scheme, seed);
        hosts.push(Host::new(
            endpoint,
            nic,
            timer,
            incoming(cable) as u32,
            wire_format(scenario, scheme),
            start,
            Trace::new(traces),
        ));
    }
    let mut switches = Vec::with_capacity(topology.switches.len());
    for ((switch, cables), routes) in ports.switches.iter().enumerate().zip(topology.routes()) {
        numbers.add(SwitchInterval, switch, 0, 0);
        let mut out = Vec::with_capacity(cables.len());
        for (port, cable) in cables.iter().enumerate() {
            let component = numbers.add(SwitchPort, switch, 0, port);
            out.push(Port::new(Transmitter::new(outgoing(cable) as u32, component, start), start));
        }
        for (port, cable) in cables.iter().enumerate() {
            arrivals[incoming(cable)] = numbers.add(SwitchArrival, switch, incoming(cable), port);
        }
        let reserved: Vec<_> = cables
            .iter()
            .map(|&(cable, _)| headroom(scenario, &topology.cables[cable]).get())
            .collect();
        let buffer = SharedBuffer::new(buffer_config(scenario), &reserved);
        let threshold = scenario.switch.ecn_threshold.map(Bytes::get);
        switches.push(Switch::new(out, routes, buffer, threshold, start, Trace::new(traces)));
    }
    let links = (0..topology.cables.len() * 2)
        .map(|link| {
            let cable = &topology.cables[link / 2];
            let to_host = matches!(cable.ends[1 - link % 2], Node::Host(_));
            Link::new(cable.rate, cable.delay, arrivals[link], to_host)
        })
        .collect();
    let calendar = Calendar::new(numbers.components.len());
    Net {
        hosts,
        switches,
        links,
        components: numbers.components,
        calendar,
        oracle: None,
        interval: interval(scenario),
        events: 0,
        now: Time::ZERO,
    }
}

fn buffer_config(scenario: &Scenario) -> BufferConfig {
    let switch = &scenario.switch;
    let pfc = switch.pfc.enabled.then(|| PfcConfig {
        alpha: switch.pfc.alpha,
        xoff: switch.pfc.xoff.map(Bytes::get),
        xon_offset: switch.pfc.xon_offset.get(),
    });
    let queue_limit = switch.queue_limit.map(Bytes::get);
    BufferConfig { total: switch.buffer.get(), alpha: switch.alpha, pfc, queue_limit }
}

#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds packets to 9,216 bytes")]
fn wire_format(scenario: &Scenario, scheme: Scheme) -> WireFormat {
    let transport = &scenario.transport;
    let (header, ack) = (transport.header.get() as u16, transport.ack.get() as u16);
    let needed = scheme.algorithm.info().needs.contains(&Need::Telemetry);
    WireFormat::new(header, ack, transport.ack_priority, needed && scenario.switch.telemetry)
}

/// A host's transport; `seed` is the host's own.
fn endpoint(scenario: &Scenario, line_rate: Rate, scheme: Scheme, seed: u64) -> Endpoint {
    let (transport, algorithm) = (&scenario.transport, scheme.algorithm);
    let [rto_initial, rto_min, rto_max] = transport.timeouts(scheme.transport);
    let notifies = algorithm.info().needs.contains(&Need::Notifications);
    let config = Config {
        segment: transport.segment,
        payload: transport.mtu.saturating_sub(transport.header),
        header: transport.header,
        line_rate,
        ack_turnaround: transport.ack_turnaround,
        ack_jitter: transport.jitter(scheme.transport),
        rto_initial,
        rto_min,
        rto_max,
        stream: transport.stream_config(&algorithm),
        signal: scheme.signal,
        seed,
        notification_interval: notifies.then_some(transport.cnp_interval),
    };
    let start = move |flow: &incast_cc::Flow, purpose| match purpose {
        Purpose::Data => {
            let mut flow = *flow;
            flow.seed = Pcg64Mcg::seed_from_u64(seed ^ flow.seed).next_u64();
            algorithm.start(&flow)
        }
        Purpose::Requests => AnyControl::LineRate(LineRate::default().start(flow)),
    };
    Endpoint::new(config, Box::new(start))
}

/// The scenario's connections, in the order of its traffic, sources and destinations. Start times do
/// not depend on the scheme, so that schemes are compared on the same run.
fn flows(scenario: &Scenario, topology: &Topology, seed: u64) -> Vec<Flow> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut flows = Vec::new();
    for traffic in &scenario.traffic {
        let sources = scenario.network.hosts_called(&traffic.from, topology);
        let destinations = scenario.network.hosts_called(&traffic.to, topology);
        for &source in &sources {
            let others = || destinations.iter().copied().filter(|&host| host != source);
            let picked: Vec<_> = match traffic.fan_out {
                None => others().collect(),
                Some(count) => pick(others().collect(), count, &mut random),
            };
            for destination in picked {
                for _ in 0..traffic.connections {
                    flows.push(flow(traffic, source, destination, &mut random));
                }
            }
        }
    }
    flows
}

/// So many of `hosts`, drawn without putting back.
fn pick(mut hosts: Vec<u32>, count: u32, random: &mut Pcg64Mcg) -> Vec<u32> {
    let count = (count as usize).min(hosts.len());
    for place in 0..count {
        let rest = (hosts.len() - place) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of hosts")]
        let drawn = place + (random.next_u64() % rest) as usize;
        hosts.swap(place, drawn);
    }
    hosts.truncate(count);
    hosts
}

fn flow(traffic: &Traffic, source: u32, destination: u32, random: &mut Pcg64Mcg) -> Flow {
    let spread = traffic.start_spread.as_ps();
    let late = Span::from_ps(if spread == 0 { 0 } else { random.next_u64() % (spread + 1) });
    Flow {
        source,
        destination,
        operation: traffic.operation,
        start: Time::ZERO + traffic.start + late,
        message: traffic.message,
        count: traffic.count,
        every: traffic.every,
        sender: (0, 0),
        receiver: (0, 0),
    }
}

/// Opens each flow's connections and lists what applications post.
#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
fn connect(net: &mut Net, flows: &mut [Flow], scheme: Scheme, ways: &Ways<'_>) {
    let mut posts: BTreeMap<u32, Vec<Post>> = BTreeMap::new();
    let mut oracle = Oracle { ways: vec![Vec::new(); net.hosts.len()] };
    for (number, flow) in flows.iter_mut().enumerate() {
        let number = number as u32;
        let (source, destination) = (flow.source, flow.destination);
        let (sender, receiver) = match flow.operation {
            Operation::Write => (source, destination),
            Operation::Read => (destination, source),
        };
        let mut open = |from: (u32, Role), to: (u32, Role), data| {
            let ends = open(net, number, from, to, scheme.transport, ways, data);
            if scheme.signal == Signal::Oracle {
                let way = |a, b| if data { ways.way(a, b) } else { Way::default() };
                oracle.ways[from.0 as usize].push(way(from.0, to.0));
                oracle.ways[to.0 as usize].push(Way::default());
            }
            ends
        };
        let (out, into) = open((sender, Role::Sender), (receiver, Role::Receiver), true);
        (flow.sender, flow.receiver) = ((sender, out), (receiver, into));
        let posting = match flow.operation {
            Operation::Write => out,
            Operation::Read => {
                let answers = Role::Responder { answers: out };
                open((source, Role::Requester), (destination, answers), false).0
            }
        };
        for message in 0..u64::from(flow.count) {
            let bytes = flow.message.map(Bytes::get);
            let operation = match (flow.operation, bytes) {
                (Operation::Write, Some(bytes)) => transport::Operation::Write { bytes },
                (Operation::Write, None) => transport::Operation::Stream,
                (Operation::Read, Some(bytes)) => transport::Operation::Read { bytes },
                (Operation::Read, None) => transport::Operation::ReadStream,
            };
            let post = Post { at: flow.posted_at(message), connection: posting, operation };
            posts.entry(source).or_default().push(post);
        }
    }
    net.oracle = (scheme.signal == Signal::Oracle).then_some(oracle);
    for (host, posts) in posts {
        net.hosts[host as usize].set_posts(posts, &mut net.calendar);
    }
}

/// Opens a connection between two hosts; returns its index at each.
fn open(
    net: &mut Net,
    flow: u32,
    (a, role_a): (u32, Role),
    (b, role_b): (u32, Role),
    kind: TransportKind,
    ways: &Ways<'_>,
    data: bool,
) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the connections")]
    let index = |net: &Net, host: u32| net.hosts[host as usize].sockets.len() as u32;
    let (at_a, at_b) = (index(net, a), index(net, b));
    let transport = match kind {
        TransportKind::Message => Transport::Message,
        TransportKind::Stream => Transport::Stream,
    };
    let mut add = |host: u32, role, peer, peer_index| {
        let terms = Terms { transport, path: ways.path(host, peer) };
        let host = &mut net.hosts[host as usize];
        host.endpoint.open_on(terms, role, peer_index);
        host.add_socket(Socket { flow, peer, data });
    };
    add(a, role_a, b, at_b);
    add(b, role_b, a, at_a);
    (at_a, at_b)
}
