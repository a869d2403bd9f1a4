//! The time series of a run.

use std::collections::BTreeMap;

use incast_cc::{Rate, Time};

use super::RunInfo;
use super::summary::jain_index;
use super::tables::port_names;
use crate::build::Built;
use incast_net::{Delivery, Host, Posted};
use incast_table::{Name, Table};

pub(super) fn tables(built: &Built, info: &RunInfo) -> Vec<Table> {
    let flows = flow_rows(built, info);
    vec![queue_series(built, info), flow_series(info, &flows), jain_series(built, info, &flows)]
}

fn queue_series(built: &Built, info: &RunInfo) -> Table {
    let names: Vec<Name> = port_names(&built.topology).into_iter().map(Name::from).collect();
    let switches = || built.net.switches().iter().filter(|switch| !switch.ports().is_empty());
    let intervals = switches().map(|switch| switch.series().len() / switch.ports().len()).max();
    let mut rows = Vec::with_capacity(switches().map(|switch| switch.series().len()).sum());
    for interval in 0..intervals.unwrap_or(0) {
        let mut first = 0;
        for switch in switches() {
            let ports = switch.ports().len();
            let own = switch.series().chunks_exact(ports).nth(interval).into_iter().flatten();
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

/// The values of a lasting flow in an interval.
struct FlowRow {
    interval: usize,
    flow: u64,
    goodput_bps: f64,
    rate: Rate,
}

/// The rows of all flows, in the order of time.
fn flow_rows(built: &Built, info: &RunInfo) -> Vec<FlowRow> {
    let hosts = built.net.hosts();
    let lasting: Vec<_> = hosts.iter().map(Host::lasting).collect();
    let place = |(host, own): (u32, u32)| lasting[host as usize].binary_search(&own).ok();
    let at = |(host, _): (u32, u32), place: Option<usize>, interval: usize| {
        let width = lasting[host as usize].len();
        hosts[host as usize].series().get(interval * width + place?).copied()
    };
    let intervals = hosts
        .iter()
        .zip(&lasting)
        .filter(|(_, own)| !own.is_empty())
        .map(|(host, own)| host.series().len() / own.len())
        .min()
        .unwrap_or(0);
    let flows: Vec<_> = (0_u64..)
        .zip(&built.flows[..])
        .map(|(number, flow)| {
            let (receiver, sender) = (flow.receiver(), flow.sender());
            (number, (receiver, place(receiver)), (sender, place(sender)))
        })
        .collect();
    let mut before = vec![0; flows.len()];
    let mut rows = Vec::new();
    for interval in 0..intervals {
        for (&(number, to, from), before) in flows.iter().zip(&mut before) {
            let (Some((delivered, _)), Some((_, rate))) =
                (at(to.0, to.1, interval), at(from.0, from.1, interval))
            else {
                continue;
            };
            let goodput_bps = (delivered - *before) as f64 * 8.0 / info.interval.as_secs_f64();
            *before = delivered;
            rows.push(FlowRow { interval, flow: number, goodput_bps, rate });
        }
    }
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
    let busy = busy_times(built);
    let competes = |row: &&FlowRow| {
        let from = Time::ZERO + info.interval * row.interval as u64;
        let times = busy.get(&row.flow).map_or(&[][..], Vec::as_slice);
        let started = times.first().is_some_and(|first| first.0 <= from);
        let next = times.partition_point(|&(_, delivered)| delivered <= from);
        let has_work = times.get(next).is_some_and(|time| time.0 < from + info.interval);
        started && (has_work || row.goodput_bps > 0.0)
    };
    let intervals: Vec<_> = rows
        .chunk_by(|a, b| a.interval == b.interval)
        .filter_map(|rows| {
            let goodputs: Vec<_> =
                rows.iter().filter(competes).map(|row| row.goodput_bps).collect();
            (!goodputs.is_empty())
                .then(|| (rows[0].interval, goodputs.len(), jain_index(&goodputs)))
        })
        .collect();
    Table::new("series_jain", "fairness among the connections that stay, in one interval")
        .column(("time_us", "us", "end of the interval"), &intervals, |r| interval_end(info, r.0))
        .column(
            (
                "flows",
                "",
                "of these, those that had started before it, and had something to deliver in it",
            ),
            &intervals,
            |r| r.1 as u64,
        )
        .column(
            (
                "jain_index",
                "",
                "(sum x)^2 / (n sum x^2) of what arrived of each of them; 1 is equal",
            ),
            &intervals,
            |r| r.2,
        )
}

/// The times in which each lasting flow had something to deliver, from the posting of a message to
/// its arrival, in the order of time.
fn busy_times(built: &Built) -> BTreeMap<u64, Vec<(Time, Time)>> {
    let lasts = |flow: u32| built.flows[flow as usize].is_lasting();
    let hosts = || built.net.hosts().iter();
    let posted = hosts().flat_map(Host::posted);
    let mut posted: Vec<&Posted> = posted.filter(|posted| lasts(posted.flow)).collect();
    posted.sort_by_key(|posted| posted.flow); // stable: a flow's come in the order of time
    let deliveries = hosts().flat_map(Host::deliveries);
    let mut deliveries: Vec<&Delivery> = deliveries.filter(|next| lasts(next.flow)).collect();
    deliveries.sort_by_key(|delivery| (delivery.flow, delivery.message));
    let mut deliveries = deliveries.into_iter().peekable();
    let mut busy = BTreeMap::new();
    for of_flow in posted.chunk_by(|a, b| a.flow == b.flow) {
        let times = of_flow.iter().map(|posted| {
            let delivery = deliveries.next_if(|next| next.flow == posted.flow);
            (posted.at, delivery.map_or(Time::MAX, |delivery| delivery.at))
        });
        busy.insert(u64::from(of_flow[0].flow), times.collect());
    }
    busy
}

#[cfg(test)]
mod tests {
    use crate::{Simulation, TraceConfig, Values};
    use incast_scenario::Document;

    #[test]
    fn fairness_is_among_connections_that_have_something_to_deliver() {
        // A stream without end, and messages of 500 KB that are posted at 0 and 2 ms.
        let text = r#"
            title = "one and a half"
            [run]
            duration = "4ms"
            interval = "100us"
            schemes = ["line-rate"]
            [[network.star.hosts]]
            name = "host"
            count = 3
            rate = "10Gbps"
            delay = "1us"
            [switch.pfc]
            enabled = true
            [[traffic]]
            kind = "connections"
            from = "host0"
            to = "host2"
            [[traffic]]
            kind = "connections"
            from = "host1"
            to = "host2"
            message = "500KB"
            count = 2
            every = "2ms"
        "#;
        let document = Document::parse(text.to_owned(), "test.toml").unwrap();
        let run = Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default());
        let mut run = run.unwrap();
        while run.advance(1 << 20) {}
        let report = run.finish();
        let column = |table: &str, column: &str| -> Vec<f64> {
            let table = report.tables.iter().find(|other| other.name == table).unwrap();
            let column = table.columns.iter().find(|other| other.name == column).unwrap();
            match &column.values {
                Values::F64(values) => values.clone(),
                Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
                Values::Text(_) => panic!("{}", column.name),
            }
        };
        let (flows, jain) = (column("series_jain", "flows"), column("series_jain", "jain_index"));
        // The intervals of 100 us in which a message was on its way.
        let times = column("messages", "completion_us");
        let intervals: Vec<_> = times.iter().map(|us| (us / 100.0).ceil()).collect();
        assert!(intervals.len() == 2 && intervals.iter().all(|count| (9.0..16.0).contains(count)));
        for (place, flows) in flows.iter().enumerate() {
            let message = intervals[place / 20];
            let expected = if ((place % 20) as f64) < message { 2.0 } else { 1.0 };
            assert!((flows - expected).abs() < 0.1, "{flows} of {expected} in interval {place}");
        }
        assert_eq!(flows.len(), 40);
        for (flows, jain) in flows.iter().zip(&jain) {
            // A flow that is alone is fair.
            assert!(*flows > 1.5 || jain.to_bits() == 1.0_f64.to_bits(), "{jain}");
        }
        assert!(jain[1..8].iter().all(|jain| *jain > 0.95), "{jain:?}");
    }
}
