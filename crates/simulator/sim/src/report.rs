//! The report of a run: a summary, and tables.

mod deadlines;
mod failures;
mod ideals;
mod islands;
mod iterations;
mod lossless;
mod messages;
mod mix;
mod quantiles;
mod receivers;
mod requests;
mod series;
mod stalled;
mod steps;
mod summary;
mod tables;
mod traces;
mod watchdog;
mod work;

use incast_cc::{Span, Time};

use crate::build::Built;
use ideals::Ideals;
use incast_net::Transmitter;
use incast_net::metrics::Histogram;
use incast_net::{Count, Host, Port, PortCounters, QueueLengths};
use incast_plan::flows::Flow;
use incast_table::Table;
use quantiles::Quantiles;
pub use summary::{FIGURES, Figure, Summary};
use summary::{Facts, Measurement};
use work::Work;

/// The result of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scheme of the run, for every flow whose traffic names no other.
    pub scheme: String,
    /// The seed of the run's random numbers.
    pub seed: u64,
    /// Whether the run reached its end.
    pub complete: bool,
    /// The length of an interval of the time series.
    pub interval: Span,
    /// The figures that schemes are compared by.
    pub summary: Summary,
    /// The median backlog of the switch port with the longest queue, over measured time, in KB.
    pub queue_p50_kb: f64,
    /// The balance of all packets.
    pub books: Books,
    /// The tables: everything else.
    pub tables: Vec<Table>,
}

/// The facts about a run that its network does not have.
#[derive(Clone, Debug)]
pub(crate) struct RunInfo {
    pub(crate) scheme: String,
    pub(crate) seed: u64,
    pub(crate) measured_from: Time,
    pub(crate) interval: Span,
    pub(crate) complete: bool,
}

/// The balance of all packets, PFC frames apart: every packet that was sent was delivered, dropped,
/// or is in flight. Of a packet that was cut its header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// Packets that hosts sent.
    pub sent_packets: u64,
    /// Their bytes on the wire.
    pub sent_bytes: u64,
    /// Packets that hosts received.
    pub delivered_packets: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// Packets dropped at switches, and on links that failed.
    pub dropped_packets: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: u64,
    /// Bytes on the wire that switches cut off packets.
    pub trimmed_bytes: u64,
    /// Packets in queues and on links.
    pub in_flight_packets: u64,
    /// Their bytes on the wire.
    pub in_flight_bytes: u64,
}

impl Books {
    /// Whether the numbers balance: no packet was lost or made up.
    pub const fn balance(&self) -> bool {
        self.sent_packets == self.delivered_packets + self.dropped_packets + self.in_flight_packets
            && self.sent_bytes
                == self.delivered_bytes
                    + self.dropped_bytes
                    + self.trimmed_bytes
                    + self.in_flight_bytes
    }
}

/// The results at the end of the measurement, which the run may outlast.
pub(crate) struct Measured {
    facts: Measurement,
    flows: Vec<FlowResult>,
    queues: Vec<QueueResult>,
    /// The tables of RTTs, delays and links.
    tables: [Table; 3],
    /// The payload of each traffic that arrived, in bits per second.
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
    let facts = measurement(built, &flows, &queues);
    let tables = tables::measured(built, &facts.rtt, measured);
    let mut carried_bps = vec![0.0; built.plan.traffic.len()];
    for (flow, result) in built.flows.iter().zip(&flows) {
        carried_bps[flow.traffic as usize] += result.goodput_bps;
    }
    Measured { facts, flows, queues, tables, carried_bps, until }
}

pub(crate) fn report(built: &Built, info: RunInfo, measured: Measured) -> Report {
    let books = books(built);
    assert!(books.balance(), "packets were lost or made up: {books:?}");
    let Measured { facts, flows, queues, tables: [rtt, delays, links], carried_bps, until } =
        measured;
    let goodputs: Vec<_> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let mut work = Work::of(built, (info.measured_from, until), carried_bps);
    let of_steps = steps::tables(built, &work.messages, &queues);
    let (flows, queues) = (tables::flows(built, &flows), tables::queues(built, &queues));
    let mut tables = vec![flows, rtt, delays, queues, links];
    let findings = watchdog::findings(built, &built.classes);
    let count =
        |dead_lock| findings.iter().filter(|f| f.is_dead_lock() == dead_lock).count() as u64;
    let net = &built.net;
    let summary = Summary::of(&Facts {
        measured: &facts,
        net,
        books: &books,
        slowdowns: Quantiles::of(work.measured().map(|m| m.observed_slowdown(net.now()))),
        retransmissions: built.flows.iter().map(|flow| retransmissions(built, flow)).sum(),
        deadlines: work.judged(built),
        watchdog_reports: count(false),
        dead_locks: count(true),
    });
    let mixed = mix::table(built, &goodputs, &work);
    let ideals = built.ideal.then(|| Ideals::of(built, &work.messages));
    if let Some(ideals) = &ideals {
        ideals.tell(built, &mut work.requests);
    }
    let ideals = ideals.map(|ideals| ideals.table(built));
    tables.push(watchdog::table(&findings));
    tables.extend(work.tables(built));
    tables.extend(iterations::table(built));
    tables.extend(of_steps);
    tables.extend(stalled::table(built));
    tables.extend(mixed);
    tables.extend(ideals);
    tables.extend(series::tables(built, &info));
    tables.extend(failures::table(built));
    tables.extend(receivers::table(built));
    tables.extend(islands::table(built));
    tables.extend(lossless::table(built));
    tables.extend(traces::traces(built));
    Report {
        scheme: info.scheme,
        seed: info.seed,
        complete: info.complete,
        interval: info.interval,
        summary,
        queue_p50_kb: facts.longest_kb(|queue| queue.p50),
        books,
        tables,
    }
}

fn retransmissions(built: &Built, flow: &Flow) -> u64 {
    let (host, connection) = flow.sender();
    built.net.hosts()[host as usize].endpoint().retransmissions(connection)
}

/// The payload of a flow that has arrived since the run began.
pub(crate) fn delivered(built: &Built, flow: &Flow) -> u64 {
    let (host, connection) = flow.receiver();
    built.net.hosts()[host as usize].delivered_bytes(connection)
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
        trimmed_bytes: counters().map(|of_port| of_port.trimmed_bytes).sum(),
        in_flight_packets: in_flight.packets,
        in_flight_bytes: in_flight.bytes,
    }
}

/// The results of one flow in measured time.
pub(crate) struct FlowResult {
    /// The payload that arrived, in bits per second.
    pub(crate) goodput_bps: f64,
    pub(crate) rtt_mean_ns: Option<f64>,
    /// The 99th percentile of the RTT, for flows that have their own histogram.
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

/// The results of one switch port in measured time.
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

/// The RTT samples of all flows since measurement started, in nanoseconds.
pub(crate) fn rtts(built: &Built) -> Histogram {
    let mut rtt = Histogram::default();
    for host in built.net.hosts() {
        rtt.merge(host.rtt());
        host.tallies().iter().filter_map(|tally| tally.rtt.as_ref()).for_each(|own| rtt.merge(own));
    }
    rtt
}

/// The facts of the measurement that the summary's figures are made of.
fn measurement(built: &Built, flows: &[FlowResult], queues: &[QueueResult]) -> Measurement {
    let (rtt, mut delays) = (rtts(built), Histogram::default());
    for host in built.net.hosts() {
        host.delays().iter().for_each(|own| delays.merge(own));
    }
    let longest = queues.iter().map(|queue| queue.lengths);
    Measurement {
        goodputs: flows.iter().map(|flow| flow.goodput_bps).collect(),
        rtt,
        delays,
        longest: longest.max_by(|a, b| a.mean.total_cmp(&b.mean).then(a.max.total_cmp(&b.max))),
        pauses: queues.iter().map(|queue| queue.pauses).sum::<u64>()
            + built
                .net
                .hosts()
                .iter()
                .filter_map(Host::slow)
                .map(|(pauses, _)| pauses)
                .sum::<u64>(),
        paused: built.net.transmitters().map(Transmitter::paused).sum(),
        marks: queues.iter().map(|queue| queue.marks).sum(),
    }
}
