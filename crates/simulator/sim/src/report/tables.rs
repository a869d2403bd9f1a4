//! The tables of a run; each column says its unit and meaning once, here.

use incast_cc::{Span, Time};

use super::{FlowResult, QueueResult, delivered, retransmissions};
use crate::build::Built;
use incast_net::Transmitter;
use incast_net::metrics::Histogram;
use incast_net::{DropCause, Host, Port};
use incast_plan::topology::{Node, Topology};
use incast_table::Table;

/// The tables of RTTs, delays and links, which the end of the measurement decides.
pub(super) fn measured(built: &Built, rtt: &Histogram, measured: Span) -> [Table; 3] {
    [rtt_table(rtt), delay_table(built), link_table(built, measured)]
}

/// The names of all switch ports: the switch and the node at the other end.
pub(super) fn port_names(topology: &Topology) -> Vec<String> {
    let mut names = Vec::new();
    for (switch, ports) in topology.switches.iter().zip(&topology.ports().switches) {
        for &(cable, end) in ports {
            let far = topology.cables[cable].ends[1 - end];
            names.push(format!("{switch}->{}", topology.name(far)));
        }
    }
    names
}

/// The layers between which each switch port leads.
pub(super) fn port_layers(topology: &Topology) -> Vec<String> {
    let mut layers = Vec::new();
    for (switch, ports) in (0..).zip(&topology.ports().switches) {
        for &(cable, end) in ports {
            let far = topology.cables[cable].ends[1 - end];
            layers.push(layer(topology, Node::Switch(switch), far));
        }
    }
    layers
}

pub(super) fn us(time: Time) -> f64 {
    time.since(Time::ZERO).as_us_f64()
}

fn us_of_ns(ns: Option<f64>) -> f64 {
    ns.map_or(f64::NAN, |ns| ns / 1e3)
}

/// The table of connections, at the end of the run.
pub(super) fn flows(built: &Built, results: &[FlowResult]) -> Table {
    let hosts = &built.topology.hosts;
    let flows = &built.flows[..];
    let numbered: Vec<_> = (0_u64..).zip(flows).collect();
    let starts = first_posted(built);
    let table = Table::new("flows", "one connection of the traffic")
        .column(("flow", "", "number, from 0"), &numbered, |&(i, _)| i)
        .column(("source", "", "host that started it"), flows, |f| hosts[f.source as usize].clone())
        .column(("destination", "", "host at the other end"), flows, |f| {
            hosts[f.destination as usize].clone()
        })
        .column(
            ("operation", "", "write: payload goes to the destination; read: it comes from there"),
            flows,
            |f| f.operation.as_str().to_owned(),
        )
        .column(("start_us", "us", "first message posted; null if none was"), &starts, |start| {
            start.map_or(f64::NAN, us)
        })
        .column(("delivered_bytes", "B", "payload that arrived, over the whole run"), flows, |f| {
            delivered(built, f)
        })
        .column(
            ("goodput_gbps", "Gb/s", "payload that arrived per second, measured"),
            results,
            |r| r.goodput_bps / 1e9,
        )
        .column(("rtt_mean_us", "us", "mean RTT sample, measured"), results, |r| {
            us_of_ns(r.rtt_mean_ns)
        })
        .column(
            ("rtt_p99_us", "us", "99th percentile of the RTT samples, measured"),
            results,
            |r| us_of_ns(r.rtt_p99_ns),
        )
        .column(("rtt_samples", "", "number of RTT samples, measured"), results, |r| r.rtt_samples)
        .column(
            ("retransmissions", "packets", "packets sent again, over the whole run"),
            flows,
            |f| retransmissions(built, f),
        );
    if !built.mix.is_mixed() {
        return table;
    }
    let own = (SCHEME_COLUMN, "", "scheme of its traffic, or of the run");
    let numbers: Vec<_> = (0_u32..).take(flows.len()).collect();
    table.column(own, &numbers, |&flow| built.scheme_name(flow).to_owned())
}

/// The column of the scheme of a flow, in runs whose traffic names schemes. The first column of all
/// tables is the scheme of the run.
pub(super) const SCHEME_COLUMN: &str = "own_scheme";

/// The time at which the first message of each connection was posted.
fn first_posted(built: &Built) -> Vec<Option<Time>> {
    let mut first: Vec<Option<Time>> = vec![None; built.flows.len()];
    for posted in built.net.hosts().iter().flat_map(Host::posted) {
        let first = &mut first[posted.flow as usize];
        *first = Some(first.map_or(posted.at, |at| at.min(posted.at)));
    }
    first
}

fn rtt_table(rtt: &Histogram) -> Table {
    let buckets: Vec<_> = rtt.buckets().collect();
    Table::new("rtt_histogram", "RTT samples of all flows, measured between warm-up and cool-down")
        .column(("low_us", "us", "least RTT of the bucket"), &buckets, |&(low, _, _)| {
            low as f64 / 1e3
        })
        .column(("high_us", "us", "least RTT above the bucket"), &buckets, |&(_, high, _)| {
            high as f64 / 1e3
        })
        .column(("count", "", "samples in it"), &buckets, |&(_, _, count)| count)
}

fn delay_table(built: &Built) -> Table {
    let mut delays = vec![Histogram::default(); built.plan.traffic.len()];
    for host in built.net.hosts() {
        delays.iter_mut().zip(host.delays()).for_each(|(all, of_host)| all.merge(of_host));
    }
    let mut rows = Vec::new();
    for (traffic, delays) in built.plan.traffic.iter().zip(&delays) {
        rows.extend(delays.buckets().map(|bucket| (&traffic.name, bucket)));
    }
    Table::new(
        "delay_histogram",
        "one-way delays of data packets, from the sender's NIC taking them to their arrival, measured \
         between warm-up and cool-down",
    )
    .column(("traffic", "", "its name"), &rows, |r| r.0.clone())
    .column(("low_us", "us", "least delay of the bucket"), &rows, |r| r.1.0 as f64 / 1e3)
    .column(("high_us", "us", "least delay above the bucket"), &rows, |r| r.1.1 as f64 / 1e3)
    .column(("count", "packets", "packets in it"), &rows, |r| r.1.2)
}

/// The columns of each cause of drops in the table of queues.
const DROP_COLUMNS: [(DropCause, &str, &str); DropCause::COUNT] = [
    (DropCause::NoRoom, "drops_no_room", "of them because the shared buffer was full"),
    (DropCause::Limit, "drops_limit", "of them because their queue or the port held what it may"),
    (DropCause::Headroom, "drops_headroom", "of them because the headroom of PFC was full"),
    (DropCause::Aqm, "drops_aqm", "of them because queue management chose them"),
    (DropCause::Link, "drops_link", "of them because the link was down"),
    (DropCause::Watchdog, "drops_watchdog", "of them because the PFC watchdog freed their class"),
];

/// The table of switch ports, at the end of the run.
pub(super) fn queues(built: &Built, queues: &[QueueResult]) -> Table {
    let counters: Vec<_> = built.net.ports().map(Port::counters).collect();
    let (names, layers) = (port_names(&built.topology), port_layers(&built.topology));
    let table = Table::new("queues", "one port of one switch")
        .column(("port", "", "switch, and the node that the port leads to"), &names, String::clone)
        .column(("layer", "", "layers of the switch and of that node"), &layers, String::clone)
        .column(("mean_kb", "KB", "mean backlog over measured time, 1 KB = 1000 B"), queues, |q| {
            q.lengths.mean / 1e3
        })
        .column(("p95_kb", "KB", "backlog not exceeded for 95 % of measured time"), queues, |q| {
            q.lengths.p95 / 1e3
        })
        .column(("p99_kb", "KB", "backlog not exceeded for 99 % of measured time"), queues, |q| {
            q.lengths.p99 / 1e3
        })
        .column(("max_kb", "KB", "greatest backlog in measured time"), queues, |q| {
            q.lengths.max / 1e3
        })
        .column(("drops", "packets", "packets dropped, over the whole run"), &counters, |port| {
            port.all_drops()
        });
    let table = DROP_COLUMNS.into_iter().fold(table, |table, (cause, name, doc)| {
        table.column((name, "packets", doc), &counters, |port| port.drops[cause as usize])
    });
    let table = table
        .column(("ecn_marks", "packets", "packets marked, measured"), queues, |q| q.marks)
        .column(("pauses_sent", "", "PFC pauses sent to the node, measured"), queues, |q| q.pauses);
    if !built.trims {
        return table;
    }
    let trims = ("trims", "packets", "packets cut to their headers, over the whole run");
    table.column(trims, &counters, |port| port.trims)
}

/// The layers between which a link leads.
pub(super) fn layer(topology: &Topology, from: Node, to: Node) -> String {
    let [from, to] = [from, to].map(|node| match node {
        Node::Host(_) => "host",
        Node::Switch(switch) => topology.layers[switch as usize].as_str(),
    });
    format!("{from}->{to}")
}

struct LinkRow<'a> {
    name: String,
    layer: String,
    rate_bps: f64,
    /// The bits that the link could have carried in measured time.
    capacity: f64,
    transmitter: &'a Transmitter,
}

fn link_table<'a>(built: &'a Built, measured: Span) -> Table {
    let topology = &built.topology;
    let ports = topology.ports();
    let mut rows = Vec::new();
    let row = |from: Node, (cable, end): (usize, usize), transmitter: &'a Transmitter| {
        let rate = built.net.rate(transmitter.link());
        let to = topology.cables[cable].ends[1 - end];
        LinkRow {
            name: format!("{}->{}", topology.name(from), topology.name(to)),
            layer: layer(topology, from, to),
            rate_bps: topology.rate((cable, end)).as_bps() as f64,
            capacity: transmitter.capacity(built.net.now(), rate),
            transmitter,
        }
    };
    for ((number, host), cables) in (0..).zip(built.net.hosts()).zip(&ports.hosts) {
        rows.push(row(Node::Host(number), cables[0], host.nic()));
    }
    for ((number, switch), cables) in (0..).zip(built.net.switches()).zip(&ports.switches) {
        for (port, &cable) in switch.ports().iter().zip(cables) {
            rows.push(row(Node::Switch(number), cable, port.transmitter()));
        }
    }
    Table::new("links", "one direction of one cable, measured between warm-up and cool-down")
        .column(("link", "", "sending and receiving node"), &rows, |r| r.name.clone())
        .column(
            ("layer", "", "what is at its ends, such as host->edge or core->aggregation"),
            &rows,
            |r| r.layer.clone(),
        )
        .column(("rate_gbps", "Gb/s", "its first rate"), &rows, |r| r.rate_bps / 1e9)
        .column(
            (
                "utilisation",
                "",
                "bytes sent, over what it carries in measured time at the rates that it has then, failed or not",
            ),
            &rows,
            |r| r.transmitter.measured().bytes as f64 * 8.0 / r.capacity,
        )
        .column(("bytes", "B", "sent, headers included, PFC frames not"), &rows, |r| {
            r.transmitter.measured().bytes
        })
        .column(("packets", "packets", "sent, PFC frames not counted"), &rows, |r| {
            r.transmitter.measured().packets
        })
        .column(("paused_us", "us", "time that PFC paused one traffic class or more"), &rows, |r| {
            r.transmitter.paused().as_us_f64()
        })
        .column(("paused_share", "", "that as a share of measured time"), &rows, |r| {
            r.transmitter.paused().as_secs_f64() / measured.as_secs_f64()
        })
}

/// A truth value as a number; not a number where there is none.
pub(super) fn one_or_zero(truth: Option<bool>) -> f64 {
    truth.map_or(f64::NAN, |truth| f64::from(u8::from(truth)))
}

/// A time in microseconds; not a number where there is none.
pub(super) fn us_or_null(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_us_f64)
}
