//! The memory and the time that a run will take, estimated from its scenario before anything is
//! built.
//!
//! The bytes of each kind of thing were measured: the resident memory of the process over the
//! number of things, with the tables and the directory of the results (docs/guide/cost.md). The
//! estimates are right within a factor of two.

mod time;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::build::{HostPaths, first_segment};
use crate::routing::Routing;
use incast_net::TraceConfig;
use incast_plan::Watch;
use incast_plan::flows::Direction;
use incast_plan::topology::{Node, Topology};
use incast_scenario::{
    LastingFlow, Opens, RoutingKind, Scenario, Scheme, TransportKind, all_lasting, amounts,
    lasting_flows, topology,
};
use time::Work;

/// A link each way, with its ports, its queues and the packets on it.
const CABLE_BYTES: f64 = 24_000.0;
const HOST_BYTES: f64 = 4_000.0;
/// The route of a switch to another switch that has hosts.
const ROUTE_BYTES: f64 = 2.0;
/// A connection on which messages are sent, both ends.
const MESSAGE_CONNECTION_BYTES: f64 = 3_400.0;
const STREAM_CONNECTION_BYTES: f64 = 8_400.0;
/// A connection that is not used yet.
const IDLE_CONNECTION_BYTES: f64 = 90.0;
/// A message: its post, its rows in logs, and its rows in tables.
const MESSAGE_BYTES: f64 = 700.0;
/// A row of a time series, and one of a trace of packets.
const SERIES_ROW_BYTES: f64 = 120.0;
const TRACE_ROW_BYTES: f64 = 250.0;

/// The ideal of a message, with the facts that it is computed from.
const IDEAL_MESSAGE_BYTES: f64 = 3_000.0;

/// The most flows without end whose paths are looked at.
const MOST_PATHS: usize = 20_000;

const FEWER_CONNECTIONS: &str = "take fewer hosts, or lower connections or fan_out of the traffic";
const FEWER_MESSAGES: &str = "shorten run.duration, or lower the load";
const FEWER_ROWS: &str = "lengthen run.interval, or set measure.series = false";
const NO_IDEAL: &str = "leave out measure.ideal, or shorten run.duration";

/// The memory and the time that a run will take.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The number of hosts.
    pub hosts: usize,
    /// The number of links, two for each cable.
    pub links: usize,
    /// The number of connections that are built.
    pub connections: u64,
    /// The number of messages that are posted.
    pub messages: f64,
    /// The number of departures of packets, data or ACKs, from a link.
    pub packet_hops: f64,
    /// The seconds on one core by what takes them, about, the largest part first.
    pub times: Vec<TimePart>,
    /// The memory by its use, the largest part first.
    pub parts: Vec<Part>,
}

/// The memory that one kind of things takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The kind of things, and their number.
    pub what: String,
    /// Their memory, in bytes.
    pub bytes: f64,
    /// Whether the memory stays until the results are written, so that all schemes add up.
    pub kept: bool,
    /// A change of the scenario that would reduce the memory.
    pub remedy: &'static str,
}

/// The time that one kind of work takes.
#[derive(Clone, Debug, PartialEq)]
pub struct TimePart {
    /// The seconds on one core.
    pub seconds: f64,
    /// A change of the scenario that would reduce them.
    pub remedy: &'static str,
}

impl Cost {
    /// The seconds on one core, about.
    pub fn seconds(&self) -> f64 {
        self.times.iter().map(|part| part.seconds).sum()
    }

    /// The bytes of `runs` runs one after the other, whose results are kept together.
    pub fn memory(&self, runs: usize) -> f64 {
        let times = |part: &Part| if part.kept { runs.max(1) as f64 } else { 1.0 };
        self.parts.iter().map(|part| part.bytes * times(part)).sum()
    }
}

/// The memory and the time that a run of `scheme` will take, about.
pub fn cost(scenario: &Scenario, scheme: &Scheme, traces: TraceConfig) -> Cost {
    let net = Arc::new(topology(scenario));
    let mut sum = Sum::default();
    let by_paths = lasting_flows(scenario, &net) <= MOST_PATHS;
    if by_paths {
        sum.endless_wire_bytes = endless_wire_bytes(scenario, &net);
    }
    for amount in amounts(scenario, &net) {
        let connections = amount.connections as f64;
        sum.bytes += amount.bytes;
        if !by_paths {
            sum.bytes += amount.endless;
        }
        sum.messages += amount.messages;
        sum.over_islands += amount.messages * amount.inside;
        sum.connections += amount.connections;
        match amount.opens {
            Opens::All => sum.used += connections,
            Opens::ForEachMessage => sum.once += amount.connections,
            Opens::SomeUsed => {
                let used = amount.messages.min(connections);
                sum.used += used;
                sum.idle += connections - used;
            }
        }
    }
    sum.cost(scenario, *scheme, &net, traces)
}

/// The sums over all traffic.
#[derive(Default)]
struct Sum {
    /// The payload, in bytes, of all traffic outside `endless_wire_bytes`.
    bytes: f64,
    /// The bytes of flows without end, headers included, summed over all links of their paths.
    endless_wire_bytes: f64,
    messages: f64,
    /// The messages that go over islands, without packets.
    over_islands: f64,
    connections: u64,
    used: f64,
    idle: f64,
    once: u64,
}

impl Sum {
    fn cost(
        self,
        scenario: &Scenario,
        scheme: Scheme,
        net: &Topology,
        traces: TraceConfig,
    ) -> Cost {
        let (acks, packet_hops) = self.sent(scenario, scheme, net);
        let network = network(net);
        let used = self.used * connection_bytes(scheme.transport);
        let rows = series_rows(scenario, net);
        let work = Work {
            hosts: net.hosts.len(),
            packet_hops,
            acks,
            connections: self.connections,
            messages: self.messages,
            network,
            used,
            rows,
            ideal: scenario.measure.ideal,
        };
        let traced = if traces.packets { packet_hops } else { 0.0 };
        Cost {
            hosts: net.hosts.len(),
            links: net.cables.len() * 2,
            connections: self.connections,
            messages: self.messages,
            packet_hops,
            times: work.parts(&scheme),
            parts: self.memory(scenario, net, (network, used), (rows, traced)),
        }
    }

    /// The numbers of ACKs and of packet-hops.
    fn sent(&self, scenario: &Scenario, scheme: Scheme, net: &Topology) -> (f64, f64) {
        let transport = &scenario.transport;
        let payload = transport.payload(scheme.transport);
        let packets_of_ack = match scheme.transport {
            TransportKind::Message => {
                first_segment(scenario, scheme).get().div_ceil(payload.get().max(1)) as f64
            }
            TransportKind::Stream => {
                f64::from(transport.stream_config(&scheme.algorithm).delayed_ack)
            }
        };
        let share = 1.0 / packets_of_ack.max(1.0);
        // A message has at least one packet and one ACK.
        let messages = self.messages - self.over_islands;
        let packets = (self.bytes / payload.get().max(1) as f64).max(messages);
        let acks = (packets * share).max(messages);
        let wire = (payload + transport.header).get().max(1) as f64;
        let endless_hops = self.endless_wire_bytes / wire;
        let links = mean_hops(net, scenario.routing.kind);
        let all_acks = acks + endless_hops / links * share;
        (all_acks, (packets + acks) * links + endless_hops * (1.0 + share))
    }

    /// The memory by its use, the largest part first: of the network and of the connections that
    /// are used, of rows of time series and of the trace of packets, as given.
    fn memory(
        &self,
        scenario: &Scenario,
        net: &Topology,
        (network, used): (f64, f64),
        (rows, traced): (f64, f64),
    ) -> Vec<Part> {
        let hosts = net.hosts.len();
        let part = |what, bytes, kept, remedy| Part { what, bytes, kept, remedy };
        let mut parts = vec![
            part(
                format!("{hosts} hosts and {} links", grouped(net.cables.len() as f64 * 2.0)),
                network,
                false,
                "take a smaller network",
            ),
            part(
                format!("{} connections", grouped(self.used + self.idle)),
                used + self.idle * IDLE_CONNECTION_BYTES,
                false,
                FEWER_CONNECTIONS,
            ),
            part(
                format!("{} messages", grouped(self.messages)),
                self.messages * MESSAGE_BYTES + self.once as f64 * IDLE_CONNECTION_BYTES,
                true,
                FEWER_MESSAGES,
            ),
            part(
                format!("{} rows of time series", grouped(rows)),
                rows * SERIES_ROW_BYTES,
                true,
                FEWER_ROWS,
            ),
        ];
        if scenario.measure.ideal {
            parts.push(part(
                format!("the ideal of {} messages", grouped(self.messages)),
                self.messages * IDEAL_MESSAGE_BYTES,
                false,
                NO_IDEAL,
            ));
        }
        if traced > 0.0 {
            parts.push(part(
                format!("{} rows of the trace of packets", grouped(traced)),
                traced * TRACE_ROW_BYTES,
                true,
                "name fewer nodes in measure.trace, or shorten run.duration",
            ));
        }
        parts.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
        parts
    }
}

/// The bytes of hosts, switches and links.
fn network(net: &Topology) -> f64 {
    net.hosts.len() as f64 * HOST_BYTES
        + net.cables.len() as f64 * CABLE_BYTES
        + (net.switches.len() * net.edge_switches()) as f64 * ROUTE_BYTES
}

const fn connection_bytes(kind: TransportKind) -> f64 {
    match kind {
        TransportKind::Message => MESSAGE_CONNECTION_BYTES,
        TransportKind::Stream => STREAM_CONNECTION_BYTES,
    }
}

/// A number with separators: 1,234,567.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().map(|&digit| char::from(digit)));
    }
    text
}

/// The rows of the time series that are not left out.
fn series_rows(scenario: &Scenario, net: &Topology) -> f64 {
    if scenario.measure.series == Some(false) {
        return 0.0;
    }
    let left_out = scenario.left_out_series();
    let interval = scenario.interval();
    let intervals = scenario.run.longest().as_secs_f64() / interval.as_secs_f64();
    let kept = |name: &str| !left_out.iter().any(|&(other, _)| other == name);
    let queues = if kept("series_queues") { net.cables.len() as f64 * 2.0 } else { 0.0 };
    let flows = if kept("series_flows") { lasting_flows(scenario, net) } else { 0 };
    (queues + flows as f64) * intervals
}

/// The bytes that flows without end send in a run, summed over the links of their paths. Each flow
/// has the least of its equal shares of the links on its path.
fn endless_wire_bytes(scenario: &Scenario, net: &Arc<Topology>) -> f64 {
    let ports = net.ports();
    let routing = Routing::new(scenario, net, &ports, scenario.run.seed, &Watch::nobody());
    let host_paths = HostPaths::new(scenario, net, ports, routing);
    let flows = (0..).zip(all_lasting(scenario, net));
    let paths: Vec<_> =
        flows.map(|(label, flow)| host_paths.links(direction_of(&flow, label))).collect();
    let mut loads: HashMap<(usize, usize), u64> = HashMap::new();
    for link in paths.iter().flatten() {
        *loads.entry(*link).or_default() += 1;
    }
    let share = |link: &(usize, usize)| net.rate(*link).as_bps() / loads[link];
    let bps = |path: &Vec<(usize, usize)>| {
        path.iter().map(share).min().unwrap_or(0) as f64 * path.len() as f64
    };
    paths.iter().map(bps).sum::<f64>() / 8.0 * scenario.run.duration.as_secs_f64()
}

/// The way of a flow without end, with any label.
pub(crate) const fn direction_of(flow: &LastingFlow, label: u64) -> Direction {
    Direction { from: flow.from, to: flow.to, label, routing: flow.routing }
}

/// The mean number of links between two hosts of the largest part of the network. A way through an
/// intermediate group counts as two ways.
fn mean_hops(net: &Topology, routing: RoutingKind) -> f64 {
    let ports = net.ports();
    let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (host, part) in (0..).zip(net.parts()) {
        parts.entry(part).or_default().push(host);
    }
    let Some(hosts) = parts.into_values().rev().max_by_key(Vec::len) else { return 2.0 };
    let first = net.edge(hosts[0]);
    let mut distance = vec![u32::MAX; net.switches.len()];
    distance[first as usize] = 0;
    let mut reached = std::collections::VecDeque::from([first]);
    while let Some(switch) = reached.pop_front() {
        for &port in &ports.switches[switch as usize] {
            if let Node::Switch(next) = net.far_end(port)
                && distance[next as usize] == u32::MAX
            {
                distance[next as usize] = distance[switch as usize] + 1;
                reached.push_back(next);
            }
        }
    }
    let ways = if routing == RoutingKind::Valiant { 2.0 } else { 1.0 };
    let links = |host| ways * f64::from(distance[net.edge(host) as usize].min(64)) + 2.0;
    let of_all: f64 = hosts.iter().map(|&host| links(host)).sum();
    of_all / hosts.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups() {
        for (number, text) in [(0.0, "0"), (999.0, "999"), (1_000.0, "1,000")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(1_234_567.4), "1,234,567");
    }
}
