//! From a scenario to a network that is ready to run.

mod connect;
mod events;
mod switches;
mod ways;

use std::collections::BTreeSet;
use std::sync::Arc;

use incast_cc::line_rate::LineRate;
use incast_cc::param::Need;
use incast_cc::parts::random::derive;
use incast_cc::{Algorithm, AnyControl, Bytes, CongestionControl, Flow, Rate, Time};
use incast_transport::message::segment_limit;
use incast_transport::{Config, Endpoint, Purpose, REQUEST_BYTES, Signal};

use crate::network::buffer::SharedBuffer;
use crate::network::calendar::Calendar;
use crate::network::frame::Packets;
use crate::network::host::{Host, WireFormat};
use crate::network::link::Link;
use crate::network::switch::Switch;
use crate::network::trace::{Trace, TraceConfig};
use crate::network::transmitter::Transmitter;
use crate::network::{Component, ComponentKind, Network as Net, Transit};
use crate::report::{Cut, Segments};
use crate::routing::Routing;
use connect::connect;
use events::{Events, pin};
use incast_plan::flows::Flows;
use incast_plan::random::purpose;
use incast_plan::topology::{Node, Ports, Topology};
use incast_plan::{Plan, Watch};
use incast_scenario::{
    MOST_CLASSES, MOST_SERIES_ROWS, Nic, RoutingKind, Scenario, Scheme, TransportKind, headroom,
    plan, topology,
};
use switches::{buffer_config, ecn_thresholds, egress, watchdog};
pub(crate) use ways::Ways;

/// Everything of a run before its first event.
pub(crate) struct Built {
    pub(crate) net: Net,
    pub(crate) topology: Arc<Topology>,
    pub(crate) ways: Arc<Ways>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) plan: Plan,
    /// The names of all traffic classes.
    pub(crate) classes: Vec<String>,
    /// How messages are cut into packets.
    pub(crate) cut: Cut,
    /// Where sizes are parted in the table of completion times.
    pub(crate) size_bins: Vec<Bytes>,
}

/// Builds the network and what its applications will post, unless whoever watches stops it.
pub(crate) fn build(
    scenario: &Scenario,
    scheme: Scheme,
    seed: u64,
    traces: TraceConfig,
    watch: &Watch<'_>,
) -> Built {
    let topology = Arc::new(topology(scenario));
    let ports = topology.ports();
    let routing = Routing::new(scenario, &topology, &ports, seed, watch);
    let mut net = assemble(scenario, (&topology, &ports), &routing, scheme, (seed, watch), traces);
    let mut plan = plan(scenario, &topology, seed, watch);
    let ways = Arc::new(Ways::new(scenario, &topology, ports, routing, scheme.transport));
    let flows = connect(&mut net, &mut plan, scheme, &ways, (seed, watch));
    pin(&mut net, &flows, &ways.routing);
    choose_series(scenario, &mut net, &flows);
    choose_traces(scenario, &mut net, &topology);
    net.start(Time::ZERO + scenario.run.warmup);
    let cut = cut(scenario, scheme);
    let size_bins = scenario.measure.size_bins.clone();
    let classes = class_names(scenario, scheme);
    Built { net, topology, ways, flows, plan, classes, cut, size_bins }
}

/// The names of all traffic classes under `scheme`.
fn class_names(scenario: &Scenario, scheme: Scheme) -> Vec<String> {
    scenario.classes(scheme.transport).into_iter().map(|class| class.name).collect()
}

/// Time series of everything are more than all else in a large network.
fn choose_series(scenario: &Scenario, net: &mut Net, flows: &Flows) {
    let few = |things: usize| scenario.series_rows(things) <= MOST_SERIES_ROWS;
    let lasting = flows.iter().filter(|flow| flow.is_lasting()).count();
    let ports = net.switches.iter().map(|switch| switch.ports.len()).sum();
    net.flow_series = lasting > 0 && scenario.measure.series.unwrap_or(few(lasting));
    net.queue_series = scenario.measure.series.unwrap_or(few(ports));
}

/// Leaves out the traces of nodes that are not asked for.
fn choose_traces(scenario: &Scenario, net: &mut Net, topology: &Topology) {
    let Some(names) = &scenario.measure.trace else { return };
    let mut wanted: BTreeSet<_> = names.iter().filter_map(|name| topology.node(name)).collect();
    for name in names {
        let hosts = scenario.network.hosts_called(name, topology);
        wanted.extend(hosts.into_iter().map(Node::Host));
    }
    for (number, host) in (0..).zip(&mut net.hosts) {
        if !wanted.contains(&Node::Host(number)) {
            host.trace = Trace::default();
        }
    }
    for (number, switch) in (0..).zip(&mut net.switches) {
        if !wanted.contains(&Node::Switch(number)) {
            switch.trace = Trace::default();
        }
    }
}

/// How messages are cut into packets.
pub(crate) fn cut(scenario: &Scenario, scheme: Scheme) -> Cut {
    let transport = &scenario.transport;
    let (payload, segments) = match scheme.transport {
        TransportKind::Message => {
            let (segment, payload) =
                (transport.segment, transport.mtu.saturating_sub(transport.header));
            let mut flow = Flow::new(segment, Rate::from_gbps(10));
            flow.mss = payload;
            let burst = scheme.algorithm.start(&flow).limits().burst.bytes;
            let varies = scheme.algorithm.burst_varies() && segment > payload;
            let of = segment_limit(segment, payload, burst);
            (payload, if varies { Segments::Any } else { Segments::Of(of) })
        }
        TransportKind::Stream => (transport.mss(), Segments::None),
    };
    Cut { payload, header: transport.header, segments, request: Bytes::new(REQUEST_BYTES) }
}

/// Numbers the components node by node: hosts first, as they are described, then switches.
struct Numbering<'a> {
    components: Vec<Component>,
    watch: &'a Watch<'a>,
}

impl Numbering<'_> {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts of a scenario")]
    fn add(&mut self, kind: ComponentKind, node: usize, link: usize, port: usize) -> u32 {
        self.watch.step();
        let component = Component { kind, node: node as u32, link: link as u32, port: port as u16 };
        self.components.push(component);
        self.components.len() as u32 - 1
    }
}

#[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts of a scenario")]
fn assemble(
    scenario: &Scenario,
    (topology, ports): (&Topology, &Ports),
    routing: &Routing,
    scheme: Scheme,
    (seed, watch): (u64, &Watch<'_>),
    traces: TraceConfig,
) -> Net {
    use ComponentKind::{
        HostArrival, HostChange, HostInterval, HostPort, HostStart, HostTimer, SwitchArrival,
        SwitchChange, SwitchInterval, SwitchPort, SwitchWatchdog,
    };
    let start = Time::ZERO + scenario.run.warmup;
    let classes = scenario.classes(scheme.transport);
    let mut events = Events::of(scenario, topology, ports, routing);
    // Link 2c leads from the first end of cable c to the second, link 2c + 1 back.
    let outgoing = |&(cable, end): &(usize, usize)| cable * 2 + end;
    let incoming = |&(cable, end): &(usize, usize)| cable * 2 + 1 - end;
    let mut numbers = Numbering { components: Vec::new(), watch };
    let mut arrivals = vec![0; topology.cables.len() * 2];
    let mut hosts = Vec::with_capacity(topology.hosts.len());
    for (host, cables) in ports.hosts.iter().enumerate() {
        let cable = &cables[0];
        let failures = events.of_host(host);
        if failures.is_some() {
            numbers.add(HostChange, host, 0, 0);
        }
        numbers.add(HostStart, host, 0, 0);
        numbers.add(HostInterval, host, 0, 0);
        let port = numbers.add(HostPort, host, 0, 0);
        arrivals[incoming(cable)] = numbers.add(HostArrival, host, incoming(cable), 0);
        let timer = numbers.add(HostTimer, host, 0, 0);
        let nic = Transmitter::new(outgoing(cable) as u32, port, start);
        let seed = derive(seed, purpose::HOST, &[host as u64]);
        let endpoint = endpoint(scenario, topology.cables[cable.0].rate, scheme, seed);
        let mut host = Host::new(
            endpoint,
            nic,
            (host as u32, timer),
            incoming(cable) as u32,
            wire_format(scenario, scheme, topology.cables[cable.0].rate),
            start,
            Trace::new(traces),
        );
        host.failures = failures.unwrap_or_default();
        hosts.push(host);
    }
    let mut switches = Vec::with_capacity(topology.switches.len());
    // Where a connection's packets may have several paths, any of them may be missing or overtaken.
    let several = routing_is_loose(scenario);
    let ahead = if traces.queues || traces.packets { 0 } else { look_ahead(scenario, scheme) };
    for ((switch, cables), routes) in ports.switches.iter().enumerate().zip(&routing.switches) {
        let failures = events.of_switch(switch);
        if failures.is_some() {
            numbers.add(SwitchChange, switch, 0, 0);
        }
        numbers.add(SwitchInterval, switch, 0, 0);
        numbers.add(SwitchWatchdog, switch, 0, 0);
        let mut out = Vec::with_capacity(cables.len());
        for (port, cable) in cables.iter().enumerate() {
            let component = numbers.add(SwitchPort, switch, 0, port);
            let transmitter = Transmitter::new(outgoing(cable) as u32, component, start);
            let rate = topology.cables[cable.0].rate;
            let place = (switch as u32, port as u16);
            let mut port = egress(scenario, &classes, (transmitter, rate, start), seed, place);
            port.look_ahead(ahead);
            out.push(port);
        }
        for (port, cable) in cables.iter().enumerate() {
            arrivals[incoming(cable)] = numbers.add(SwitchArrival, switch, incoming(cable), port);
        }
        let reserved: Vec<_> = cables
            .iter()
            .map(|&(cable, _)| headroom(scenario, &topology.cables[cable]).get())
            .collect();
        let buffer = SharedBuffer::new(buffer_config(scenario, &classes), &reserved);
        let thresholds = ecn_thresholds(&classes);
        let (watchdog, trace) = (watchdog(scenario), Trace::new(traces));
        let mut switch =
            Switch::new(out, routes.clone(), buffer, thresholds, watchdog, start, trace);
        switch.has_dropped = several;
        if ahead > 0 && !several {
            switch.set_plain();
        }
        switch.failures = failures.unwrap_or_default();
        switches.push(switch);
    }
    let mut links: Vec<_> = (0..topology.cables.len() * 2)
        .map(|link| {
            let cable = &topology.cables[link / 2];
            let to_host = matches!(cable.ends[1 - link % 2], Node::Host(_));
            Link::new(link as u32, (cable.rate, cable.delay), arrivals[link], to_host)
        })
        .collect();
    events.first_failures().for_each(|(link, at)| links[link].fail_at(at));
    let calendar = Calendar::new(numbers.components.len(), packets_per_us(topology));
    Net {
        hosts,
        switches,
        components: numbers.components,
        transit: Transit { links, packets: Packets::default(), calendar },
        oracle: None,
        dead_locks: Vec::new(),
        interval: scenario.interval(),
        flow_series: true,
        queue_series: true,
        events: 0,
        now: Time::ZERO,
        coming: Vec::new(),
    }
}

/// How many packets a port may put on its link before they start. None where it matters what the queue is
/// like when a packet leaves it, or where a link may fail or change its rate in the meantime; few where PFC or
/// another class may take them back.
fn look_ahead(scenario: &Scenario, scheme: Scheme) -> u32 {
    let classes = scenario.classes(scheme.transport);
    let telemetry = needs_telemetry(scenario, scheme);
    let managed = classes.iter().any(|class| class.aqm.is_some() || class.weight.is_some());
    if managed || telemetry || scheme.signal == Signal::Oracle || !scenario.events.is_empty() {
        0
    } else if classes.len() > 1 || scenario.switch.pfc.enabled {
        16
    } else {
        u32::MAX
    }
}

/// Full packets that all links together carry in a microsecond.
fn packets_per_us(topology: &Topology) -> f64 {
    let bps: f64 = topology.cables.iter().map(|cable| 2.0 * cable.rate.as_bps() as f64).sum();
    bps / (1_500.0 * 8.0) / 1e6
}

/// Whether packets of one connection may take several paths.
fn routing_is_loose(scenario: &Scenario) -> bool {
    scenario.routing.kind == RoutingKind::Spray || !scenario.events.is_empty()
}

#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds packets to 9,216 bytes")]
fn wire_format(scenario: &Scenario, scheme: Scheme, line_rate: Rate) -> WireFormat {
    let transport = &scenario.transport;
    let (header, ack) = (transport.header.get() as u16, transport.ack.get() as u16);
    // A queue is served at line rate, so what was before a packet is what it has waited for.
    let fifo = transport.nic == Nic::Fifo && scheme.transport == TransportKind::Stream;
    let threshold = transport.nic_ecn_threshold.filter(|_| fifo);
    let marks_after_ns = threshold.map(|most| {
        let before = line_rate.time_for(most.saturating_sub(transport.mtu));
        u32::try_from(before.as_ns()).unwrap_or(u32::MAX)
    });
    WireFormat { header, ack, telemetry: needs_telemetry(scenario, scheme), marks_after_ns }
}

/// Whether data takes the stamps of switches along.
fn needs_telemetry(scenario: &Scenario, scheme: Scheme) -> bool {
    let needed = scheme.algorithm.info().needs.contains(&Need::Telemetry);
    needed && scenario.switch.telemetry
}

/// A host's transport; `seed` is the host's own.
fn endpoint(scenario: &Scenario, line_rate: Rate, scheme: Scheme, seed: u64) -> Endpoint {
    let (transport, algorithm) = (&scenario.transport, scheme.algorithm);
    let (rto_initial, rto_min, rto_max) = transport.timeouts(scheme.transport);
    let mut weights = [0; MOST_CLASSES];
    for (weight, class) in weights.iter_mut().zip(scenario.data_classes()) {
        *weight = class.weight.map_or(0, |weight| u16::try_from(weight).unwrap_or(u16::MAX));
    }
    let notifies = algorithm.info().needs.contains(&Need::Notifications);
    let config = Config {
        segment: transport.segment,
        payload: transport.mtu.saturating_sub(transport.header),
        recovery: transport.recovery(),
        nic: transport.nic(),
        header: transport.header,
        line_rate,
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
    };
    let start = move |flow: &Flow, purpose| match purpose {
        Purpose::Data => algorithm.start(flow),
        Purpose::Requests => AnyControl::LineRate(LineRate::default().start(flow)),
    };
    Endpoint::new(config, Box::new(start))
}
