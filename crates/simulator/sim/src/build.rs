//! From a scenario to a network that is ready to run.

mod connect;
mod host_paths;
mod switches;

use std::collections::BTreeSet;
use std::sync::Arc;

use incast_cc::line_rate::LineRate;
use incast_cc::param::Need;
use incast_cc::parts::random::derive;
use incast_cc::{Algorithm, AnyControl, Bytes, CongestionControl, Flow, Rate, Span, Time};
use incast_transport::message::segment_limit;
use incast_transport::{Config, Endpoint, Purpose, REQUEST_BYTES, Serialization, Starter, facts};

use crate::ideal::{Cut, Segments};
use crate::routing::Routing;
use connect::connect;
pub(crate) use connect::{flow_of_seed, seed_of_flow};
pub(crate) use host_paths::HostPaths;
use host_paths::bursts;
use incast_net::{
    HostConfig, IntakeConfig, LinkChange, LinkChangeKind, Network as Net, NetworkConfig,
    TraceConfig, WireFormat,
};
use incast_plan::application::Application;
use incast_plan::flows::Flows;
use incast_plan::random::purpose;
use incast_plan::topology::{Node, Ports, Topology};
use incast_plan::{Plan, Watch};
use incast_scenario::{
    LinkState, MOST_CLASSES, MOST_SERIES_ROWS, Mix, NamedScheme, Nic, Receiver, ResolvedClass,
    Scenario, Scheme, TransportKind, headroom, needed_headroom, plan, topology,
};
use switches::switch_config;

/// A run before its first event.
pub(crate) struct Built {
    pub(crate) net: Net,
    pub(crate) topology: Arc<Topology>,
    pub(crate) host_paths: Arc<HostPaths>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) plan: Plan,
    /// The names of all traffic classes.
    pub(crate) classes: Vec<String>,
    /// How messages are cut into packets, under each scheme.
    pub(crate) cuts: Vec<Cut>,
    /// The schemes of the run.
    pub(crate) mix: Mix,
    /// The seed of the run.
    seed: u64,
    /// The sizes that separate the bins in the table of completion times.
    pub(crate) size_bins: Vec<Bytes>,
    /// Whether there is a table of the ideal.
    pub(crate) ideal: bool,
    /// The headroom that PFC has, and the one that it needs, at each end of each cable.
    pub(crate) headroom: Vec<[Headroom; 2]>,
    /// Whether a class cuts packets that find no room.
    pub(crate) trims: bool,
}

/// The headroom of a port for one class.
pub(crate) struct Headroom {
    pub(crate) there: Bytes,
    /// As much as can arrive after a pause.
    pub(crate) needed: Bytes,
}

impl Built {
    /// The number of a flow's scheme.
    pub(crate) fn scheme_of(&self, flow: u32) -> u8 {
        self.flows.scheme(flow, self.seed)
    }

    /// The name of a flow's scheme.
    pub(crate) fn scheme_name(&self, flow: u32) -> &str {
        &self.mix.all()[usize::from(self.scheme_of(flow))].name
    }

    /// An application of a host, by its number there.
    pub(crate) fn application(&self, host: u32, number: u16) -> &dyn Application {
        &*self.net.hosts()[host as usize].applications()[number as usize]
    }
}

/// Builds the network and the posts of its applications, unless `watch` stops it.
pub(crate) fn build(
    scenario: &Scenario,
    mix: Mix,
    seed: u64,
    traces: TraceConfig,
    watch: &Watch<'_>,
) -> Built {
    let topology = Arc::new(topology(scenario));
    let ports = topology.ports();
    let routing = Routing::new(scenario, &topology, &ports, seed, watch);
    let config = configuration(scenario, (&topology, &ports), &routing, &mix, seed, traces);
    let mut net = Net::new(config, watch);
    let mut plan = plan(scenario, &topology, seed, watch);
    let host_paths = Arc::new(HostPaths::new(scenario, &topology, ports, routing));
    let flows = connect(&mut net, &mut plan, (scenario, &mix), &host_paths, (seed, watch));
    pin(&mut net, &flows, &host_paths);
    choose_traces(scenario, &mut net, &topology);
    let (flow_series, queue_series) = series(scenario, &net, &flows);
    net.start(Time::ZERO + scenario.run.warmup, flow_series, queue_series);
    let cuts = mix.all().iter().map(|named| cut(scenario, named.scheme)).collect();
    let size_bins = scenario.measure.size_bins.clone();
    let classes = scenario.classes_in(&mix);
    let trims = classes.iter().any(|class| class.discipline.trims());
    let classes = classes.into_iter().map(|class| class.name).collect();
    let ideal = scenario.measure.ideal;
    let of_port = |cable, end| Headroom {
        there: headroom(scenario, cable, end),
        needed: needed_headroom(scenario, cable, end),
    };
    let headroom = topology.cables.iter().map(|cable| [0, 1].map(|end| of_port(cable, end)));
    let headroom = headroom.collect();
    Built {
        net,
        topology,
        host_paths,
        flows,
        plan,
        classes,
        cuts,
        mix,
        seed,
        size_bins,
        ideal,
        headroom,
        trims,
    }
}

/// Whether to keep time series of flows, and of queues: in a large network they are larger than
/// everything else.
fn series(scenario: &Scenario, net: &Net, flows: &Flows) -> (bool, bool) {
    let few = |things: usize| scenario.series_rows(things) <= MOST_SERIES_ROWS;
    let lasting = flows.iter().filter(|flow| flow.is_lasting()).count();
    let of_flows = lasting > 0 && scenario.measure.series.unwrap_or(few(lasting));
    (of_flows, scenario.measure.series.unwrap_or(few(net.ports().count())))
}

/// Leaves out the traces of nodes that are not asked for.
fn choose_traces(scenario: &Scenario, net: &mut Net, topology: &Topology) {
    let Some(names) = &scenario.measure.trace else { return };
    let mut wanted: BTreeSet<_> = names.iter().filter_map(|name| topology.node(name)).collect();
    for name in names {
        let hosts = scenario.network.hosts_called(name, topology);
        wanted.extend(hosts.into_iter().map(Node::Host));
    }
    net.trace_only(&wanted);
}

/// How messages are cut into packets.
pub(crate) fn cut(scenario: &Scenario, scheme: Scheme) -> Cut {
    let transport = &scenario.transport;
    let (payload, segments) = match scheme.transport {
        TransportKind::Message => {
            let payload = transport.payload(scheme.transport);
            let varies = scheme.algorithm.burst_varies() && transport.segment > payload;
            let of = first_segment(scenario, scheme);
            (payload, if varies { Segments::Any } else { Segments::Of(of) })
        }
        TransportKind::Stream => (transport.mss(), Segments::None),
    };
    Cut { payload, header: transport.header, segments, request: Bytes::new(REQUEST_BYTES) }
}

/// The largest payload of the first segment of a message.
pub(crate) fn first_segment(scenario: &Scenario, scheme: Scheme) -> Bytes {
    let transport = &scenario.transport;
    let payload = transport.payload(TransportKind::Message);
    let mut flow = Flow::new(transport.segment, Rate::from_gbps(10));
    flow.mss = payload;
    let burst = scheme.algorithm.start(&flow).limits().burst.bytes;
    segment_limit(transport.segment, payload, burst)
}

/// The scenario's network under its schemes, in the plain types that the engine takes.
fn configuration<'a>(
    scenario: &Scenario,
    (topology, ports): (&'a Topology, &'a Ports),
    routing: &Routing,
    mix: &Mix,
    seed: u64,
    traces: TraceConfig,
) -> NetworkConfig<'a> {
    let slow = scenario.slow_hosts(topology);
    let hosts = (0_u32..).zip(&ports.hosts).map(|(host, cables)| {
        let line_rate = topology.rate(cables[0]);
        let seed = derive(seed, purpose::HOST, &[host.into()]);
        HostConfig {
            endpoint: endpoint(scenario, line_rate, mix, seed),
            wire: wire_format(scenario, mix, line_rate),
            intake: slow.get(&host).map(|own| {
                let line_rate = topology.cables[cables[0].0].rates[1 - cables[0].1];
                intake(scenario, mix, own, line_rate)
            }),
        }
    });
    let headroom =
        topology.cables.iter().map(|cable| [0, 1].map(|end| headroom(scenario, cable, end).get()));
    NetworkConfig {
        topology,
        ports,
        hosts: hosts.collect(),
        islands: Arc::new(scenario.islands(topology)),
        switch: switch_config(scenario, mix, look_ahead(scenario, mix)),
        routes: routing.switches.clone(),
        headroom: headroom.collect(),
        bursts: bursts(scenario, topology).iter().map(|of| of.map(Bytes::get)).collect(),
        link_changes: link_changes(scenario, topology),
        route_changes: routing.changes.clone(),
        seed,
        measure_from: Time::ZERO + scenario.run.warmup,
        interval: scenario.interval(),
        traces,
    }
}

/// The intake of a slow receiver on a link of `line_rate`.
fn intake(scenario: &Scenario, mix: &Mix, own: &Receiver, line_rate: Rate) -> IntakeConfig {
    let pfc = &scenario.switch.pfc;
    let protects = |class: &ResolvedClass| pfc.enabled && class.protected;
    let classes = scenario.classes_in(mix);
    let protected = (0..).zip(&classes).filter(|(_, class)| protects(class));
    IntakeConfig {
        rate: own.rate,
        line_rate,
        gap: own.gap,
        buffer: own.buffer.get(),
        xon_offset: pfc.xon_offset.get(),
        protected: protected.fold(0, |mask, (number, _)| mask | 1_u8 << number),
        lasts: (Time::ZERO + own.start, own.stop.map_or(Time::MAX, |stop| Time::ZERO + stop)),
    }
}

/// The changes of links, in the order of the scenario.
fn link_changes(scenario: &Scenario, topology: &Topology) -> Vec<LinkChange> {
    let changes = scenario.link_events(topology).filter_map(|(event, cable)| {
        let kind = match (event.state, event.rate) {
            (Some(LinkState::Down), _) => LinkChangeKind::Down,
            (Some(LinkState::Up), _) => LinkChangeKind::Up,
            (None, Some(rate)) => LinkChangeKind::Rate(rate),
            (None, None) => return None,
        };
        Some(LinkChange { at: Time::ZERO + event.at, cable, kind })
    });
    changes.collect()
}

/// Tells switches the ports of connections whose path is given, or in a tree.
fn pin(net: &mut Net, flows: &Flows, host_paths: &HostPaths) {
    if !host_paths.routing.pins() {
        return;
    }
    for (flow, _) in (0..).zip(flows.iter()) {
        for direction in flows.all_directions(flow) {
            for &(switch, port) in &*host_paths.given(direction) {
                net.pin(switch, direction.to, direction.label, port);
            }
        }
    }
}

/// The number of packets that a port may put on its link before they start. 0 where the queue at a
/// packet's departure matters, where it waits for tokens, or where a link may fail or change its
/// rate in the meantime. Few where PFC or another class may take them back.
fn look_ahead(scenario: &Scenario, mix: &Mix) -> u32 {
    let classes = scenario.classes_in(mix);
    let feedback = has_feedback(scenario, mix);
    let managed = classes.iter().any(|class| {
        let judged = class.aqm.is_some() || class.marks_at_departure();
        judged || class.weight.is_some() || !class.discipline.is_fifo()
    });
    let shaped = scenario.switch.has_bucket();
    if managed || shaped || feedback || mix.has_oracle() || !scenario.events.is_empty() {
        0
    } else if classes.len() > 1 || scenario.switch.pfc.enabled {
        16
    } else {
        u32::MAX
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds packets to 9,216 bytes")]
fn wire_format(scenario: &Scenario, mix: &Mix, line_rate: Rate) -> WireFormat {
    let transport = &scenario.transport;
    let (header, ack) = (transport.header.get() as u16, transport.ack.get() as u16);
    // A queue is served at line rate, so a packet's wait follows from the backlog before it.
    let streams = mix.any(|scheme| facts(scheme.transport).waits_in_nic);
    let fifo = transport.nic == Nic::Fifo && streams;
    let threshold = transport.nic_ecn_threshold.filter(|_| fifo);
    let marks_after_ns = threshold.map(|most| {
        let before = line_rate.time_for(most.saturating_sub(transport.mtu));
        u32::try_from(before.as_ns()).unwrap_or(u32::MAX)
    });
    WireFormat { header, ack, telemetry: has_feedback(scenario, mix), marks_after_ns }
}

/// Whether data packets carry words of switches.
fn has_feedback(scenario: &Scenario, mix: &Mix) -> bool {
    mix.feedback(&scenario.switch).is_some()
}

/// A host's transport; `seed` is the host's own.
fn endpoint(scenario: &Scenario, line_rate: Rate, mix: &Mix, seed: u64) -> Endpoint {
    let config = config_under(scenario, line_rate, *mix.run(), seed);
    let mut endpoint = Endpoint::new(config, starter(mix.run()));
    for NamedScheme { scheme, .. } in &mix.all()[1..] {
        let settings = config_under(scenario, line_rate, *scheme, seed).scheme();
        endpoint.add_scheme(settings, starter(scheme));
    }
    endpoint
}

/// The function that starts the algorithm of flows under `scheme`.
fn starter(scheme: &Scheme) -> Starter<AnyControl> {
    let algorithm = scheme.algorithm;
    Box::new(move |flow: &Flow, purpose| match purpose {
        Purpose::Data => algorithm.start(flow),
        Purpose::Requests => AnyControl::LineRate(LineRate::default().start(flow)),
    })
}

/// The settings of a host whose connections are under `scheme`; `seed` is the host's own.
fn config_under(scenario: &Scenario, line_rate: Rate, scheme: Scheme, seed: u64) -> Config {
    let (transport, algorithm) = (&scenario.transport, scheme.algorithm);
    let (rto_initial, rto_min, rto_max) = transport.timeouts(scheme.transport);
    let mut weights = [0; MOST_CLASSES];
    for (weight, class) in weights.iter_mut().zip(scenario.data_classes()) {
        *weight = class.weight.map_or(0, |weight| u16::try_from(weight).unwrap_or(u16::MAX));
    }
    let notifies = algorithm.info().needs.contains(&Need::Notifications);
    Config {
        segment: transport.segment,
        payload: transport.payload(TransportKind::Message),
        recovery: transport.recovery(),
        nic: transport.nic(),
        header: transport.header,
        line_rate,
        rate_cap: Rate::MAX,
        ack_class: scenario.ack_class(scheme.transport),
        weights,
        ack_turnaround: transport.ack_turnaround,
        ack_jitter: transport.jitter(scheme.transport),
        rto_initial,
        rto_min,
        rto_max,
        stream: transport.stream_config(&algorithm),
        signal: scheme.signal,
        seed,
        notification_interval: notifies.then_some(transport.cnp_interval),
        full_packets: false,
        oldest_first: false,
        pacing_credit: Span::ZERO,
        reordering: Span::ZERO,
        serialization: Serialization::LineRate,
    }
}
