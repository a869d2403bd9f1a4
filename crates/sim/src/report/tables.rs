//! The tables of a run; each column says its unit and meaning once, here.

use incast_cc::{Span, Time};

use super::{FlowResult, QueueResult, RunInfo};
use crate::build::Built;
use crate::metrics::Histogram;
use crate::network::host::Host;
use crate::network::port::{DropCause, Transmitter};
use crate::table::Table;
use crate::topology::{Node, Topology};

pub(super) fn tables(
    built: &Built,
    info: &RunInfo,
    flows: &[FlowResult<'_>],
    rtt: &Histogram,
    queues: &[QueueResult],
    watchdog: Table,
    measured: Span,
) -> Vec<Table> {
    let mut tables = vec![
        flow_table(built, flows),
        message_table(built),
        rtt_table(rtt),
        queue_table(queues),
        link_table(built, measured),
        watchdog,
        queue_series(built, info),
        flow_series(built, info),
    ];
    tables.extend(traces(built));
    tables
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

fn us(time: Time) -> f64 {
    time.since(Time::ZERO).as_us_f64()
}

fn us_of_ns(ns: Option<f64>) -> f64 {
    ns.map_or(f64::NAN, |ns| ns / 1e3)
}

fn flow_table(built: &Built, flows: &[FlowResult<'_>]) -> Table {
    let hosts = &built.topology.hosts;
    let numbered: Vec<_> = (0_u64..).zip(flows).collect();
    Table::new("flows", "one connection of the traffic")
        .column(("flow", "", "number, from 0"), &numbered, |&(i, _)| i)
        .column(("source", "", "host that started it"), flows, |f| {
            hosts[f.flow.source as usize].clone()
        })
        .column(("destination", "", "host at the other end"), flows, |f| {
            hosts[f.flow.destination as usize].clone()
        })
        .column(
            ("operation", "", "write: payload goes to the destination; read: it comes from there"),
            flows,
            |f| f.flow.operation.as_str().to_owned(),
        )
        .column(("start_us", "us", "first message posted"), flows, |f| us(f.flow.start))
        .column(("delivered_bytes", "B", "payload that arrived, over the whole run"), flows, |f| {
            f.delivered
        })
        .column(
            ("goodput_gbps", "Gb/s", "payload that arrived per second, measured after the warm-up"),
            flows,
            |f| f.goodput_bps / 1e9,
        )
        .column(("rtt_mean_us", "us", "mean RTT sample, measured"), flows, |f| {
            us_of_ns(f.rtt.mean())
        })
        .column(("rtt_p99_us", "us", "99th percentile of the RTT samples, measured"), flows, |f| {
            us_of_ns(f.rtt.quantile(0.99))
        })
        .column(("rtt_samples", "", "number of RTT samples, measured"), flows, |f| f.rtt.total())
        .column(
            ("retransmissions", "packets", "packets sent again, over the whole run"),
            flows,
            |f| f.retransmissions,
        )
}

struct MessageRow {
    flow: u64,
    message: u64,
    bytes: u64,
    posted: Time,
    completed: Time,
}

fn message_table(built: &Built) -> Table {
    let mut rows: Vec<_> = built
        .net
        .hosts
        .iter()
        .flat_map(|host| &host.deliveries)
        .filter_map(|delivery| {
            let flow = &built.flows[delivery.flow as usize];
            Some(MessageRow {
                flow: u64::from(delivery.flow),
                message: delivery.message,
                bytes: flow.message?.get(),
                posted: flow.posted_at(delivery.message),
                completed: delivery.at,
            })
        })
        .collect();
    rows.sort_by_key(|row| (row.flow, row.message));
    Table::new("messages", "one message that was delivered")
        .column(("flow", "", "number of its flow"), &rows, |r| r.flow)
        .column(("message", "", "number within the flow, from 0"), &rows, |r| r.message)
        .column(("bytes", "B", "payload"), &rows, |r| r.bytes)
        .column(("posted_us", "us", "asked for by the application"), &rows, |r| us(r.posted))
        .column(("completed_us", "us", "its last byte, and all before it, arrived"), &rows, |r| {
            us(r.completed)
        })
        .column(("completion_us", "us", "from posted to completed"), &rows, |r| {
            r.completed.since(r.posted).as_us_f64()
        })
}

fn rtt_table(rtt: &Histogram) -> Table {
    let buckets: Vec<_> = rtt.buckets().collect();
    Table::new("rtt_histogram", "RTT samples of all flows, measured after the warm-up")
        .column(("low_us", "us", "least RTT of the bucket"), &buckets, |&(low, _, _)| {
            low as f64 / 1e3
        })
        .column(("high_us", "us", "least RTT above the bucket"), &buckets, |&(_, high, _)| {
            high as f64 / 1e3
        })
        .column(("count", "", "samples in it"), &buckets, |&(_, _, count)| count)
}

/// What the table of queues says of each cause.
const DROP_COLUMNS: [(DropCause, &str, &str); DropCause::COUNT] = [
    (DropCause::NoRoom, "drops_no_room", "of them because the shared buffer was full"),
    (DropCause::Limit, "drops_limit", "of them because their queue or the port held what it may"),
    (DropCause::Headroom, "drops_headroom", "of them because the headroom of PFC was full"),
    (DropCause::Aqm, "drops_aqm", "of them because queue management chose them"),
    (DropCause::Link, "drops_link", "of them because the link was down"),
    (DropCause::Watchdog, "drops_watchdog", "of them because the PFC watchdog freed their class"),
];

fn queue_table(queues: &[QueueResult]) -> Table {
    let table = Table::new("queues", "one port of one switch")
        .column(("port", "", "switch, and the node that the port leads to"), queues, |q| {
            q.name.clone()
        })
        .column(("mean_kb", "KB", "mean backlog over measured time, 1 KB = 1000 B"), queues, |q| {
            q.mean / 1e3
        })
        .column(("p95_kb", "KB", "backlog not exceeded for 95 % of measured time"), queues, |q| {
            q.p95 / 1e3
        })
        .column(("p99_kb", "KB", "backlog not exceeded for 99 % of measured time"), queues, |q| {
            q.p99 / 1e3
        })
        .column(("max_kb", "KB", "greatest backlog in measured time"), queues, |q| q.max / 1e3)
        .column(("drops", "packets", "packets dropped, over the whole run"), queues, |q| {
            q.drops.iter().sum::<u64>()
        });
    let table = DROP_COLUMNS.into_iter().fold(table, |table, (cause, name, doc)| {
        table.column((name, "packets", doc), queues, |q| q.drops[cause as usize])
    });
    table.column(("ecn_marks", "packets", "packets marked, measured"), queues, |q| q.marks).column(
        ("pauses_sent", "", "PFC pauses sent to the node, measured"),
        queues,
        |q| q.pauses,
    )
}

struct LinkRow<'a> {
    name: String,
    rate_bps: f64,
    transmitter: &'a Transmitter,
}

fn link_table(built: &Built, measured: Span) -> Table {
    let topology = &built.topology;
    let ports = topology.ports();
    let mut rows = Vec::new();
    let row = |from: Node, (cable, end): (usize, usize), transmitter| {
        let (cable, to) = (&topology.cables[cable], topology.cables[cable].ends[1 - end]);
        LinkRow {
            name: format!("{}->{}", topology.name(from), topology.name(to)),
            rate_bps: cable.rate.as_bps() as f64,
            transmitter,
        }
    };
    for ((number, host), cables) in (0..).zip(&built.net.hosts).zip(&ports.hosts) {
        rows.push(row(Node::Host(number), cables[0], &host.nic));
    }
    for ((number, switch), cables) in (0..).zip(&built.net.switches).zip(&ports.switches) {
        for (port, &cable) in switch.ports.iter().zip(cables) {
            rows.push(row(Node::Switch(number), cable, &port.transmitter));
        }
    }
    Table::new("links", "one direction of one cable, measured after the warm-up")
        .column(("link", "", "sending and receiving node"), &rows, |r| r.name.clone())
        .column(("rate_gbps", "Gb/s", "its rate"), &rows, |r| r.rate_bps / 1e9)
        .column(("utilisation", "", "share of the time that packets were being sent"), &rows, |r| {
            r.transmitter.counters.bytes as f64 * 8.0 / (r.rate_bps * measured.as_secs_f64())
        })
        .column(("bytes", "B", "sent, headers included"), &rows, |r| r.transmitter.counters.bytes)
        .column(("packets", "packets", "sent"), &rows, |r| r.transmitter.counters.packets)
        .column(("paused_us", "us", "time that PFC paused one traffic class or more"), &rows, |r| {
            r.transmitter.counters.paused.as_us_f64()
        })
        .column(("paused_share", "", "that as a share of measured time"), &rows, |r| {
            r.transmitter.counters.paused.as_secs_f64() / measured.as_secs_f64()
        })
}

fn queue_series(built: &Built, info: &RunInfo) -> Table {
    let names = port_names(&built.topology);
    let (mut rows, mut first) = (Vec::new(), 0);
    for switch in &built.net.switches {
        let ports = switch.ports.len();
        for (i, &(mean, max)) in switch.series.iter().enumerate() {
            rows.push((i / ports, first + i % ports, mean, max));
        }
        first += ports;
    }
    rows.sort_by_key(|&(interval, port, _, _)| (interval, port));
    Table::new("series_queues", "one switch port in one interval, warm-up included")
        .column(("time_us", "us", "end of the interval"), &rows, |r| interval_end(info, r.0))
        .column(("port", "", "switch, and the node that the port leads to"), &rows, |r| {
            names[r.1].clone()
        })
        .column(("queue_mean_kb", "KB", "mean backlog in the interval"), &rows, |r| r.2 / 1e3)
        .column(("queue_max_kb", "KB", "greatest backlog in it"), &rows, |r| r.3 as f64 / 1e3)
}

fn interval_end(info: &RunInfo, interval: usize) -> f64 {
    (info.interval * (interval as u64 + 1)).as_us_f64()
}

/// For each data socket of a host, in the order of its series.
fn data_sockets(host: &Host) -> Vec<u32> {
    (0..).zip(&host.sockets).filter(|(_, socket)| socket.data).map(|(index, _)| index).collect()
}

fn flow_series(built: &Built, info: &RunInfo) -> Table {
    let hosts = &built.net.hosts;
    let sockets: Vec<_> = hosts.iter().map(data_sockets).collect();
    let place = |(host, socket): (u32, u32)| sockets[host as usize].binary_search(&socket).ok();
    let at = |(host, _): (u32, u32), place: Option<usize>, interval: usize| {
        let width = sockets[host as usize].len();
        hosts[host as usize].series.get(interval * width + place?).copied()
    };
    let intervals = hosts
        .iter()
        .zip(&sockets)
        .filter(|(_, own)| !own.is_empty())
        .map(|(host, own)| host.series.len() / own.len())
        .min()
        .unwrap_or(0);
    let mut rows = Vec::with_capacity(intervals * built.flows.len());
    for (number, flow) in (0_u64..).zip(&built.flows) {
        let mut before = 0;
        let (to, from) = (place(flow.receiver), place(flow.sender));
        for interval in 0..intervals {
            let (Some((delivered, _)), Some((_, rate))) =
                (at(flow.receiver, to, interval), at(flow.sender, from, interval))
            else {
                continue;
            };
            let goodput = (delivered - before) as f64 * 8.0 / info.interval.as_secs_f64();
            before = delivered;
            rows.push((interval, number, goodput, rate));
        }
    }
    rows.sort_by_key(|&(interval, flow, _, _)| (interval, flow));
    Table::new("series_flows", "one flow in one interval, warm-up included")
        .column(("time_us", "us", "end of the interval"), &rows, |r| interval_end(info, r.0))
        .column(("flow", "", "number of the flow"), &rows, |r| r.1)
        .column(
            ("goodput_gbps", "Gb/s", "payload that arrived in the interval per second"),
            &rows,
            |r| r.2 / 1e9,
        )
        .column(
            ("rate_gbps", "Gb/s", "sending rate at its end; zero before the flow starts"),
            &rows,
            |r| r.3.as_gbps_f64(),
        )
}

fn traces(built: &Built) -> Vec<Table> {
    let net = &built.net;
    let names = port_names(&built.topology);
    let mut tables = Vec::new();

    let (mut rows, mut first) = (Vec::new(), 0);
    for switch in &net.switches {
        rows.extend(
            switch.trace.queues.iter().map(|row| (row.at, first + row.port as usize, row.bytes)),
        );
        first += switch.ports.len();
    }
    if !rows.is_empty() {
        rows.sort_by_key(|&(at, port, _)| (at, port));
        tables.push(
            Table::new("trace_queues", "one change of one queue, over the whole run")
                .column(("time_us", "us", "when"), &rows, |r| us(r.0))
                .column(("port", "", "switch, and the node that the port leads to"), &rows, |r| {
                    names[r.1].clone()
                })
                .column(("queue_bytes", "B", "backlog from then on"), &rows, |r| r.2),
        );
    }

    let mut rows: Vec<_> = net.hosts.iter().flat_map(|host| &host.trace.flows).collect();
    if !rows.is_empty() {
        rows.sort_by_key(|row| (row.at, row.flow));
        tables.push(
            Table::new("trace_flows", "one RTT sample, over the whole run")
                .column(("time_us", "us", "completion of the segment"), &rows, |r| us(r.at))
                .column(("flow", "", "number of the flow"), &rows, |r| u64::from(r.flow))
                .column(("rtt_us", "us", "the sample"), &rows, |r| r.rtt.as_us_f64())
                .column(("rate_gbps", "Gb/s", "sending rate after it"), &rows, |r| {
                    r.rate.as_gbps_f64()
                }),
        );
    }
    tables.extend(packet_trace(built, &names));
    tables
}

fn packet_trace(built: &Built, names: &[String]) -> Option<Table> {
    let hosts = &built.topology.hosts;
    let mut rows = Vec::new();
    for (number, host) in built.net.hosts.iter().enumerate() {
        rows.extend(host.trace.packets.iter().map(|row| (number, row)));
    }
    let mut first = hosts.len();
    for switch in &built.net.switches {
        rows.extend(switch.trace.packets.iter().map(|row| (first + row.port as usize, row)));
        first += switch.ports.len();
    }
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|&(place, row)| (row.at, place));
    let place = |place: usize| {
        place
            .checked_sub(hosts.len())
            .map_or_else(|| hosts[place].clone(), |port| names[port].clone())
    };
    Some(
        Table::new(
            "trace_packets",
            "one packet that began to leave or was dropped, over the whole run",
        )
        .column(("time_us", "us", "when"), &rows, |r| us(r.1.at))
        .column(("place", "", "host, or switch and the node that the port leads to"), &rows, |r| {
            place(r.0)
        })
        .column(("event", "", "sent or dropped"), &rows, |r| r.1.event.as_str().to_owned())
        .column(("kind", "", "data, ack or nack"), &rows, |r| r.1.kind().to_owned())
        .column(("destination", "", "host that it goes to"), &rows, |r| {
            hosts[r.1.frame.destination as usize].clone()
        })
        .column(("connection", "", "connection number at the destination"), &rows, |r| {
            u64::from(r.1.frame.packet.connection)
        })
        .column(("sequence", "packets", "packet number within the connection"), &rows, |r| {
            r.1.sequence()
        })
        .column(("bytes", "B", "on the wire"), &rows, |r| u64::from(r.1.frame.wire))
        .column(
            ("traffic_class", "", "number of its class, from 0 for the lowest"),
            &rows,
            |r| u64::from(r.1.frame.class),
        ),
    )
}
