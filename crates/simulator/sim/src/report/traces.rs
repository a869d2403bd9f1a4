//! The tables of traces: every event, where a run was asked to record it.

use super::tables::{port_names, us};
use crate::build::Built;
use incast_cc::Bytes;
use incast_net::{Host, PacketRow};
use incast_table::Table;
use incast_transport::Transport;

pub(super) fn traces(built: &Built) -> Vec<Table> {
    let net = &built.net;
    let names = port_names(&built.topology);
    let mut tables = Vec::new();

    let (mut rows, mut first) = (Vec::new(), 0);
    for switch in net.switches() {
        rows.extend(
            switch.queue_trace().iter().map(|row| (row.at, first + row.port as usize, row.bytes)),
        );
        first += switch.ports().len();
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

    let mut rows: Vec<_> = net.hosts().iter().flat_map(Host::flow_trace).collect();
    if !rows.is_empty() {
        rows.sort_by_key(|row| (row.at, row.flow));
        tables.push(
            Table::new("trace_flows", "one RTT sample, over the whole run")
                .column(("time_us", "us", "completion of the segment"), &rows, |r| us(r.at))
                .column(("flow", "", "number of the flow"), &rows, |r| u64::from(r.flow))
                .column(("rtt_us", "us", "the sample"), &rows, |r| r.rtt.as_us_f64())
                .column(("rate_gbps", "Gb/s", "sending rate after it"), &rows, |r| {
                    r.rate.as_gbps_f64()
                })
                .column(
                    (
                        "window_kb",
                        "KB",
                        "congestion window after it; null of an algorithm that sets a rate alone",
                    ),
                    &rows,
                    |r| kilobytes(r.window),
                )
                .column(
                    (
                        "in_flight_kb",
                        "KB",
                        "payload sent and neither acknowledged nor declared lost, after it",
                    ),
                    &rows,
                    |r| kilobytes(r.in_flight),
                ),
        );
    }
    tables.extend(gauge_trace(built));
    tables.extend(packet_trace(built, &names));
    tables.extend(pause_trace(built, &names));
    tables
}

/// Kilobytes; NaN, which tables have as null, for none.
fn kilobytes(bytes: Option<Bytes>) -> f64 {
    bytes.map_or(f64::NAN, |bytes| bytes.get() as f64 / 1e3)
}

fn gauge_trace(built: &Built) -> Option<Table> {
    let mut rows: Vec<_> = built.net.hosts().iter().flat_map(Host::gauge_trace).collect();
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|row| (row.at, row.flow)); // stable: in the algorithm's order
    Some(
        Table::new(
            "trace_gauges",
            "one gauge of an algorithm at an RTT sample, over the whole run",
        )
        .column(("time_us", "us", "completion of the segment"), &rows, |r| us(r.at))
        .column(("flow", "", "number of the flow"), &rows, |r| u64::from(r.flow))
        .column(("gauge", "", "what it is; a unit stands in its name"), &rows, |r| {
            r.gauge.to_owned()
        })
        .column(("value", "", "after the sample"), &rows, |r| r.value),
    )
}

fn packet_trace(built: &Built, names: &[String]) -> Option<Table> {
    let hosts = &built.topology.hosts;
    let flows = built.flows.by_connection();
    let mut rows = Vec::new();
    for (number, host) in built.net.hosts().iter().enumerate() {
        rows.extend(host.packet_trace().iter().map(|row| (number, row)));
    }
    let mut first = hosts.len();
    for switch in built.net.switches() {
        rows.extend(switch.packet_trace().iter().map(|row| (first + row.port as usize, row)));
        first += switch.ports().len();
    }
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|&(place, row)| (row.at, place));
    // Notifications are the same of all transports.
    let has = |transport: &Transport| {
        rows.iter().any(|(_, row)| row.packet.body.transport() == Some(*transport))
    };
    let transport = Transport::ALL.into_iter().rev().find(has).unwrap_or_default().as_str();
    let flow = |row: &PacketRow| {
        flows[row.destination() as usize][row.packet.connection as usize] as usize
    };
    // The packet's destination is one end of the flow, its source the other.
    let source = |row: &PacketRow| {
        let end = built.flows[flow(row)].end(row.destination(), row.packet.connection);
        hosts[end.peer as usize].clone()
    };
    let place = |place: usize| {
        place
            .checked_sub(hosts.len())
            .map_or_else(|| hosts[place].clone(), |port| names[port].clone())
    };
    Some(
        Table::new(
            "trace_packets",
            "one packet that began to leave, was dropped or was cut to its header, over the whole run",
        )
        .column(("time_us", "us", "when"), &rows, |r| us(r.1.at))
        .column(("place", "", "host, or switch and the node that the port leads to"), &rows, |r| {
            place(r.0)
        })
        .column(("event", "", "sent, dropped or trimmed"), &rows, |r| r.1.event.as_str().to_owned())
        .column(("transport", "", "message or stream"), &rows, |_| transport.to_owned())
        .column(("kind", "", "data, ack, nack, trimmed or cnp"), &rows, |r| r.1.kind().to_owned())
        .column(("source", "", "host that it comes from"), &rows, |r| source(r.1))
        .column(("destination", "", "host that it goes to"), &rows, |r| {
            hosts[r.1.destination() as usize].clone()
        })
        .column(("flow", "", "number of its flow"), &rows, |r| flow(r.1) as u64)
        .column(("connection", "", "connection number at the destination"), &rows, |r| {
            u64::from(r.1.packet.connection)
        })
        .column(
            (
                "sequence",
                "",
                "where it is within the connection. Of data the number of the packet, of a stream its \
                 first byte; of an ack the segment, of a stream the next byte that is missing; of a \
                 nack where its list of packets begins; 0 of a cnp",
            ),
            &rows,
            |r| r.1.sequence(),
        )
        .column(("bytes", "B", "on the wire"), &rows, |r| u64::from(r.1.wire()))
        .column(("payload_bytes", "B", "of them, payload; zero but of data"), &rows, |r| {
            u64::from(r.1.packet.payload())
        })
        .column(
            (
                "ecn",
                "",
                "the ECN field: not-ect, ect of a packet that may be marked, ce of one that is marked",
            ),
            &rows,
            |r| r.1.ecn().to_owned(),
        )
        .column(
            (
                "queue_bytes",
                "B",
                "what waits at the port then, without the packet; null at a host, whose packets wait in \
                 their connections",
            ),
            &rows,
            |r| r.1.queue.map_or(f64::NAN, |bytes| bytes as f64),
        )
        .column(
            ("traffic_class", "", "number of its class, from 0 for the lowest"),
            &rows,
            |r| u64::from(r.1.class()),
        ),
    )
}

fn pause_trace(built: &Built, names: &[String]) -> Option<Table> {
    let (mut rows, mut first) = (Vec::new(), 0);
    for switch in built.net.switches() {
        rows.extend(switch.pause_trace().iter().map(|row| (first + row.port as usize, row)));
        first += switch.ports().len();
    }
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|&(port, row)| (row.at, port));
    Some(
        Table::new("trace_pauses", "one PFC frame that began to leave, over the whole run")
            .column(("time_us", "us", "when"), &rows, |r| us(r.1.at))
            .column(
                ("port", "", "switch that sent it, and the node that it asks to pause or resume"),
                &rows,
                |r| names[r.0].clone(),
            )
            .column(("event", "", "pause or resume"), &rows, |r| {
                if r.1.pause { "pause" } else { "resume" }.to_owned()
            })
            .column(
                ("traffic_class", "", "number of the class, from 0 for the lowest"),
                &rows,
                |r| u64::from(r.1.class),
            ),
    )
}
