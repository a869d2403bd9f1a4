//! What a run has measured: a summary, and tables.

mod failures;
mod messages;
mod quantiles;
mod requests;
mod series;
mod summary;
mod tables;
mod traces;
mod watchdog;
mod work;

use incast_cc::{Span, Time};

use crate::build::Built;
use incast_net::Transmitter;
use incast_net::metrics::Histogram;
use incast_net::{Count, Host, Port, PortCounters, QueueLengths};
use incast_plan::flows::Flow;
use incast_table::Table;
use quantiles::Quantiles;
pub use summary::{FIGURES, Figure, Summary};
use work::Work;

/// The result of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scheme that every flow ran under.
    pub scheme: String,
    /// The seed of its random numbers.
    pub seed: u64,
    /// Whether it ran to its end.
    pub complete: bool,
    /// Length of an interval of the time series.
    pub interval: Span,
    /// The figures that schemes are compared by.
    pub summary: Summary,
    /// Where all packets are.
    pub books: Books,
    /// Everything else.
    pub tables: Vec<Table>,
}

/// What is known of a run besides its network.
#[derive(Clone, Debug)]
pub(crate) struct RunInfo {
    pub(crate) scheme: String,
    pub(crate) seed: u64,
    pub(crate) measured_from: Time,
    pub(crate) interval: Span,
    pub(crate) complete: bool,
}

/// Where all packets are, PFC frames apart: what was sent was delivered, dropped, or is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// By hosts.
    pub sent_packets: u64,
    /// Their bytes on the wire.
    pub sent_bytes: u64,
    /// At hosts.
    pub delivered_packets: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// At switches, and on links that failed.
    pub dropped_packets: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: u64,
    /// In queues and on links.
    pub in_flight_packets: u64,
    /// Their bytes on the wire.
    pub in_flight_bytes: u64,
}

impl Books {
    /// Whether nothing was lost or made up.
    pub const fn balance(&self) -> bool {
        self.sent_packets == self.delivered_packets + self.dropped_packets + self.in_flight_packets
            && self.sent_bytes == self.delivered_bytes + self.dropped_bytes + self.in_flight_bytes
    }
}

/// What is known when the measurement ends, which the run may outlast.
pub(crate) struct Measured {
    summary: Summary,
    flows: Vec<FlowResult>,
    queues: Vec<QueueResult>,
    /// Of RTTs, delays and links.
    tables: [Table; 3],
    /// Payload that arrived of each traffic, in bits per second.
    carried_bps: Vec<f64>,
    until: Time,
}

/// Ends the measurement of everything but messages and time series.
pub(crate) fn measure(built: &mut Built, info: &RunInfo) -> Measured {
    built.net.end_measurement();
    let queues = queues(built);
    let until = built.net.now();
    let measured = until.since(info.measured_from);
    let flows: Vec<_> =
        built.flows.iter().map(|flow| FlowResult::of(flow, built, measured)).collect();
    let rtt = all_rtts(built);
    let summary = summary(built, &flows, &rtt, &queues);
    let tables = tables::measured(built, &rtt, measured);
    let mut carried_bps = vec![0.0; built.plan.traffic.len()];
    for (flow, result) in built.flows.iter().zip(&flows) {
        carried_bps[flow.traffic as usize] += result.goodput_bps;
    }
    Measured { summary, flows, queues, tables, carried_bps, until }
}

pub(crate) fn report(built: &Built, info: RunInfo, measured: Measured) -> Report {
    let books = books(built);
    assert!(books.balance(), "packets were lost or made up: {books:?}");
    let Measured { mut summary, flows, queues, tables: [rtt, delays, links], carried_bps, until } =
        measured;
    let (flows, queues) = (tables::flows(built, &flows), tables::queues(built, &queues));
    let mut tables = vec![flows, rtt, delays, queues, links];
    let work = Work::of(built, (info.measured_from, until), carried_bps);
    finish_summary(&mut summary, built, &work);
    let findings = watchdog::findings(built, &built.classes);
    let count =
        |dead_lock| findings.iter().filter(|f| f.is_dead_lock() == dead_lock).count() as u64;
    (summary.deadlocks, summary.pfc_watchdog_reports) = (count(true), count(false));
    tables.push(watchdog::table(&findings));
    tables.extend(work.tables(built));
    tables.extend(series::tables(built, &info));
    tables.extend(failures::table(built));
    tables.extend(traces::traces(built));
    Report {
        scheme: info.scheme,
        seed: info.seed,
        complete: info.complete,
        interval: info.interval,
        summary,
        books,
        tables,
    }
}

/// What the end of the run decides.
fn finish_summary(summary: &mut Summary, built: &Built, work: &Work) {
    let net = &built.net;
    let slowdowns = Quantiles::of(work.measured().map(|m| m.observed_slowdown(net.now())));
    summary.slowdown_mean = slowdowns.mean();
    summary.slowdown_p99 = slowdowns.at(0.99);
    summary.slowdown_p99_bound = slowdowns.bound_at(0.99);
    summary.messages = slowdowns.known() as u64;
    summary.messages_posted = slowdowns.len() as u64;
    summary.drops = net.ports().map(|port| port.counters().all_drops()).sum::<u64>()
        + net.lost().map(|count| count.packets).sum::<u64>();
    summary.retransmissions = built.flows.iter().map(|flow| retransmissions(built, flow)).sum();
    summary.packet_hops = net.transmitters().map(|t| t.hops().packets).sum();
    summary.events = net.events();
    summary.simulated_s = net.now().as_secs_f64();
}

fn retransmissions(built: &Built, flow: &Flow) -> u64 {
    let (host, connection) = flow.sender();
    built.net.hosts()[host as usize].endpoint().retransmissions(connection)
}

/// Payload that has arrived, since the run began.
pub(crate) fn delivered(built: &Built, flow: &Flow) -> u64 {
    let (host, connection) = flow.receiver();
    built.net.hosts()[host as usize].endpoint().delivered_bytes(connection)
}

fn books(built: &Built) -> Books {
    let net = &built.net;
    let in_flight = net.in_flight();
    let sum = |counts: &mut dyn Iterator<Item = Count>| {
        counts.fold(Count::default(), |all, count| Count {
            packets: all.packets + count.packets,
            bytes: all.bytes + count.bytes,
        })
    };
    let sent = sum(&mut net.hosts().iter().map(Host::sent));
    let received = sum(&mut net.hosts().iter().map(Host::received));
    let lost = sum(&mut net.lost());
    let counters = || net.ports().map(Port::counters);
    Books {
        sent_packets: sent.packets,
        sent_bytes: sent.bytes,
        delivered_packets: received.packets,
        delivered_bytes: received.bytes,
        dropped_packets: counters().map(PortCounters::all_drops).sum::<u64>() + lost.packets,
        dropped_bytes: counters().map(|of_port| of_port.dropped_bytes).sum::<u64>() + lost.bytes,
        in_flight_packets: in_flight.packets,
        in_flight_bytes: in_flight.bytes,
    }
}

/// What one flow has got in measured time.
pub(crate) struct FlowResult {
    /// Payload that arrived, in bits per second.
    pub(crate) goodput_bps: f64,
    pub(crate) rtt_mean_ns: Option<f64>,
    /// Of flows that have a histogram of their own.
    pub(crate) rtt_p99_ns: Option<f64>,
    pub(crate) rtt_samples: u64,
}

impl FlowResult {
    fn of(flow: &Flow, built: &Built, measured: Span) -> Self {
        let hosts = built.net.hosts();
        let ((sender, from), (receiver, to)) = (flow.sender(), flow.receiver());
        let tally = hosts[sender as usize].tally(from);
        let arrived = delivered(built, flow) - hosts[receiver as usize].delivered_before(to);
        Self {
            goodput_bps: if measured.is_zero() {
                f64::NAN
            } else {
                arrived as f64 * 8.0 / measured.as_secs_f64()
            },
            rtt_mean_ns: tally.map(|tally| tally.sum_ns as f64 / tally.samples as f64),
            rtt_p99_ns: tally.and_then(|tally| tally.rtt.as_ref()?.quantile(0.99)),
            rtt_samples: tally.map_or(0, |tally| tally.samples),
        }
    }
}

/// What one switch port has seen in measured time.
pub(crate) struct QueueResult {
    pub(crate) lengths: QueueLengths,
    pub(crate) marks: u64,
    pub(crate) pauses: u64,
}

fn queues(built: &mut Built) -> Vec<QueueResult> {
    let lengths = built.net.queue_lengths();
    let result = |(lengths, port): (QueueLengths, &Port)| {
        let (marks, pauses) = (port.counters().marks, port.counters().pauses);
        QueueResult { lengths, marks, pauses }
    };
    lengths.into_iter().zip(built.net.ports()).map(result).collect()
}

fn all_rtts(built: &Built) -> Histogram {
    let mut all = Histogram::default();
    for host in built.net.hosts() {
        all.merge(host.rtt());
        host.tallies().iter().filter_map(|tally| tally.rtt.as_ref()).for_each(|rtt| all.merge(rtt));
    }
    all
}

fn summary(
    built: &Built,
    flows: &[FlowResult],
    rtt: &Histogram,
    queues: &[QueueResult],
) -> Summary {
    let us = |ns: Option<f64>| ns.map_or(f64::NAN, |ns| ns / 1e3);
    let longest = queues.iter().max_by(|a, b| {
        let (a, b) = (a.lengths, b.lengths);
        a.mean.total_cmp(&b.mean).then(a.max.total_cmp(&b.max))
    });
    let kb = |length: fn(&QueueLengths) -> f64| {
        longest.map_or(0.0, |queue| length(&queue.lengths) / 1e3)
    };
    let mut delays = Histogram::default();
    built.net.hosts().iter().flat_map(Host::delays).for_each(|other| delays.merge(other));
    let goodputs: Vec<_> = flows.iter().map(|flow| flow.goodput_bps).collect();
    Summary {
        throughput_gbps: goodputs.iter().sum::<f64>() / 1e9,
        rtt_mean_us: us(rtt.mean()),
        rtt_p50_us: us(rtt.quantile(0.5)),
        rtt_p99_us: us(rtt.quantile(0.99)),
        rtt_samples: rtt.total(),
        queue_mean_kb: kb(|queue| queue.mean),
        queue_p95_kb: kb(|queue| queue.p95),
        queue_p99_kb: kb(|queue| queue.p99),
        queue_max_kb: kb(|queue| queue.max),
        pfc_pauses: queues.iter().map(|queue| queue.pauses).sum(),
        pfc_watchdog_reports: 0,
        deadlocks: 0,
        pfc_paused_us: built.net.transmitters().map(Transmitter::paused).sum::<Span>().as_us_f64(),
        drops: 0,
        ecn_marks: queues.iter().map(|queue| queue.marks).sum(),
        retransmissions: 0,
        jain_index: jain_index(&goodputs),
        delay_mean_us: us(delays.mean()),
        delay_p99_us: us(delays.quantile(0.99)),
        messages: 0,
        messages_posted: 0,
        slowdown_mean: f64::NAN,
        slowdown_p99: f64::NAN,
        slowdown_p99_bound: f64::NAN,
        packet_hops: 0,
        events: 0,
        simulated_s: 0.0,
    }
}

/// (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all.
fn jain_index(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_of_equals_and_of_one_alone() {
        assert_eq!(jain_index(&[2.0; 4]), 1.0);
        assert_eq!(jain_index(&[8.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
