//! Time series.

use incast_cc::{Rate, Time};

use super::tables::port_names;
use super::{RunInfo, jain_index};
use crate::build::Built;
use crate::network::host::Host;
use crate::table::{Name, Table};

pub(super) fn tables(built: &Built, info: &RunInfo) -> Vec<Table> {
    let flows = flow_rows(built, info);
    vec![queue_series(built, info), flow_series(info, &flows), jain_series(built, info, &flows)]
}

fn queue_series(built: &Built, info: &RunInfo) -> Table {
    let names: Vec<Name> = port_names(&built.topology).into_iter().map(Name::from).collect();
    let switches = || built.net.switches.iter().filter(|switch| !switch.ports.is_empty());
    let intervals = switches().map(|switch| switch.series.len() / switch.ports.len()).max();
    let mut rows = Vec::with_capacity(switches().map(|switch| switch.series.len()).sum());
    for interval in 0..intervals.unwrap_or(0) {
        let mut first = 0;
        for switch in switches() {
            let ports = switch.ports.len();
            let own = switch.series.chunks_exact(ports).nth(interval).into_iter().flatten();
            rows.extend((first..).zip(own).map(|(port, &(mean, max))| (interval, port, mean, max)));
            first += ports;
        }
    }
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

/// For each lasting socket of a host, in the order of its series.
fn lasting_sockets(host: &Host) -> Vec<u32> {
    (0..).zip(&host.sockets).filter(|(_, socket)| socket.lasting).map(|(index, _)| index).collect()
}

/// One lasting flow in one interval.
struct FlowRow {
    interval: usize,
    flow: u64,
    goodput_bps: f64,
    rate: Rate,
}

/// In the order of time.
fn flow_rows(built: &Built, info: &RunInfo) -> Vec<FlowRow> {
    let hosts = &built.net.hosts;
    let sockets: Vec<_> = hosts.iter().map(lasting_sockets).collect();
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
    let mut rows = Vec::new();
    for (number, flow) in (0_u64..).zip(&built.plan.flows) {
        let mut before = 0;
        let (to, from) = (place(flow.receiver), place(flow.sender));
        for interval in 0..intervals {
            let (Some((delivered, _)), Some((_, rate))) =
                (at(flow.receiver, to, interval), at(flow.sender, from, interval))
            else {
                break;
            };
            let goodput_bps = (delivered - before) as f64 * 8.0 / info.interval.as_secs_f64();
            before = delivered;
            rows.push(FlowRow { interval, flow: number, goodput_bps, rate });
        }
    }
    rows.sort_by_key(|row| (row.interval, row.flow));
    rows
}

fn flow_series(info: &RunInfo, rows: &[FlowRow]) -> Table {
    Table::new("series_flows", "one connection that stays in one interval, warm-up included")
        .column(("time_us", "us", "end of the interval"), rows, |r| interval_end(info, r.interval))
        .column(("flow", "", "number of the flow"), rows, |r| r.flow)
        .column(
            ("goodput_gbps", "Gb/s", "payload that arrived in the interval per second"),
            rows,
            |r| r.goodput_bps / 1e9,
        )
        .column(
            ("rate_gbps", "Gb/s", "sending rate at its end; zero before the flow starts"),
            rows,
            |r| r.rate.as_gbps_f64(),
        )
}

fn jain_series(built: &Built, info: &RunInfo, rows: &[FlowRow]) -> Table {
    let started = |row: &&FlowRow| {
        let start = built.plan.flows[usize::try_from(row.flow).unwrap_or(usize::MAX)].start;
        start <= Time::ZERO + info.interval * row.interval as u64
    };
    let intervals: Vec<_> = rows
        .chunk_by(|a, b| a.interval == b.interval)
        .filter_map(|rows| {
            let goodputs: Vec<_> = rows.iter().filter(started).map(|row| row.goodput_bps).collect();
            (!goodputs.is_empty())
                .then(|| (rows[0].interval, goodputs.len(), jain_index(&goodputs)))
        })
        .collect();
    Table::new("series_jain", "fairness among the connections that stay, in one interval")
        .column(("time_us", "us", "end of the interval"), &intervals, |r| interval_end(info, r.0))
        .column(("flows", "", "connections that had started before it"), &intervals, |r| r.1 as u64)
        .column(
            ("jain_index", "", "(sum x)^2 / (n sum x^2) of what arrived of each; 1 is equal"),
            &intervals,
            |r| r.2,
        )
}
