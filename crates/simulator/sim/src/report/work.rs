//! The tables of messages, requests and their results.

use incast_cc::{Bytes, Span, Time};

use super::deadlines::Judged;
use super::messages::{self, Carried, Message};
use super::quantiles::Quantiles;
use super::requests::{self, Request};
use super::tables::{SCHEME_COLUMN, one_or_zero, us, us_or_null};
use crate::build::Built;
use incast_plan::PlannedTraffic;
use incast_table::Table;

/// Everything about messages in one run.
pub(super) struct Work {
    pub(super) messages: Vec<Message>,
    pub(super) carried: Vec<Carried>,
    /// The payload of each traffic that arrived, in bits per second.
    pub(super) carried_bps: Vec<f64>,
    pub(super) requests: Vec<Request>,
    /// The measured window: messages posted from the first time to before the second.
    pub(super) window: (Time, Time),
    /// The end of the run.
    end: Time,
}

impl Work {
    pub(super) fn of(built: &Built, window: (Time, Time), carried_bps: Vec<f64>) -> Self {
        let (messages, carried) = messages::messages(built, window);
        let requests = requests::requests(built, &messages);
        Self { messages, carried, carried_bps, requests, window, end: built.net.now() }
    }

    /// The messages that were posted in the measured window.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Message> {
        let (from, until) = self.window;
        self.messages.iter().filter(move |message| message.posted >= from && message.posted < until)
    }

    /// The deadlines of messages and requests that were posted in the measured window. Messages of
    /// a request have its deadline, and do not count beside it.
    pub(super) fn judged(&self, built: &Built) -> Judged {
        let (from, until) = self.window;
        let mut by_request = vec![false; built.plan.traffic.len()];
        let mut judged = Judged::default();
        for request in self.requests.iter().filter(|request| request.deadline.is_some()) {
            by_request[request.traffic as usize] = true;
            if request.posted >= from && request.posted < until {
                judged.add(&request.timing(self.end));
            }
        }
        let traffic = |message: &Message| built.flows[message.flow as usize].traffic as usize;
        let alone = self.measured().filter(|message| !by_request[traffic(message)]);
        alone.for_each(|message| judged.add(&message.timing(self.end)));
        judged
    }

    pub(super) fn tables(&self, built: &Built) -> Vec<Table> {
        let measured = self.window.1.since(self.window.0);
        vec![
            message_table(built, &self.messages, self.end),
            requests::table(built, &self.requests, self.end),
            completion_table(built, self),
            load_table(built, self, measured),
        ]
    }
}

fn message_table(built: &Built, messages: &[Message], end: Time) -> Table {
    let (plan, hosts) = (&built.plan, &built.topology.hosts);
    let flow = |message: &Message| &built.flows[message.flow as usize];
    let treatment = |message: &Message| built.flows.treatment(flow(message));
    let traffic = |message: &Message| &plan.traffic[flow(message).traffic as usize];
    let table = Table::new("messages", "one message that was posted, delivered or not, over the whole run")
        .column(("traffic", "", "the traffic's name"), messages, |m| traffic(m).name.clone())
        .column(("flow", "", "number of its flow"), messages, |m| u64::from(m.flow))
        .column(("message", "", "number within the flow, from 0"), messages, |m| u64::from(m.number))
        .column(("source", "", "host that started it"), messages, |m| {
            hosts[flow(m).source as usize].clone()
        })
        .column(("destination", "", "host at the other end"), messages, |m| {
            hosts[flow(m).destination as usize].clone()
        })
        .column(("class", "", "traffic class of its payload"), messages, |m| {
            built.classes[treatment(m).class as usize].clone()
        })
        .column(("bytes", "B", "payload"), messages, |m| m.bytes.get())
        .column(
            (
                "delivered_bytes",
                "B",
                "of them, what had arrived by the end of the run; of a message that was not delivered what its \
                 flow had got beyond the messages before it",
            ),
            messages,
            |m| m.delivered.get(),
        );
    let table = message_times(table, messages, end);
    let table = message_deadlines(table, messages, end);
    if !built.mix.is_mixed() {
        return table;
    }
    let own = (SCHEME_COLUMN, "", "scheme of its traffic, or of the run");
    table.column(own, messages, |m| built.scheme_name(m.flow).to_owned())
}

/// The columns of the times at which messages were posted, sent and complete, and of how long that
/// took.
fn message_times(table: Table, messages: &[Message], end: Time) -> Table {
    let elapsed = |message: &Message| match message.completed {
        None => Some(end.since(message.posted)),
        Some(_) => None,
    };
    table
        .column(("posted_us", "us", "asked for by the application"), messages, |m| us(m.posted))
        .column(
            ("first_sent_us", "us", "its first packet left the sender; null if none had"),
            messages,
            |m| m.first_sent.map_or(f64::NAN, us),
        )
        .column(
            (
                "finished",
                "",
                "1 if it was delivered by the end of the run, 0 if not: what follows from its completion is \
                 then null",
            ),
            messages,
            |m| u64::from(m.completed.is_some()),
        )
        .column(("completed_us", "us", "its last byte, and all before it, arrived"), messages, |m| {
            m.completed.map_or(f64::NAN, us)
        })
        .column(("completion_us", "us", "from posted to completed"), messages, |m| {
            us_or_null(m.completion())
        })
        .column(
            (
                "elapsed_us",
                "us",
                "of a message that was not delivered, from posted to the end of the run: its completion takes \
                 longer; null of others",
            ),
            messages,
            |m| us_or_null(elapsed(m)),
        )
        .column(
            (
                "host_us",
                "us",
                "of it, before the first packet left: behind other messages, the window, the pacer and \
                 other connections of the host; for a read at both ends; null if none had left",
            ),
            messages,
            |m| us_or_null(m.host),
        )
        .column(("network_us", "us", "the rest of it"), messages, |m| {
            let parts = m.completion().zip(m.host);
            us_or_null(parts.map(|(completion, host)| completion.saturating_sub(host)))
        })
        .column(
            (
                "ideal_us",
                "us",
                "completion if the sender put its packets, headers included, on its link one after the \
                 other from when it was posted, each switch of its path stored and forwarded them, and \
                 nothing else were in the network; for a read after its request of one packet. Over an \
                 island its bytes over the rate, and the latency. Token buckets of ports are full at the beginning. \
                 Windows, handshakes and acknowledgements do not count, nor changes of links' rates. With \
                 spray that of one of the paths",
            ),
            messages,
            |m| m.ideal.as_us_f64(),
        )
        .column((
                "slowdown",
                "",
                "completion over ideal completion; below 1 where spray finds more or faster paths than one, \
                 or an event makes a link faster or changes routes",
            ),
            messages,
            |m| m.slowdown().unwrap_or(f64::NAN),
        )
}

fn message_deadlines(table: Table, messages: &[Message], end: Time) -> Table {
    let table = table
        .column(("deadline_us", "us", "time that it had; null without a deadline"), messages, |m| {
            us_or_null(m.deadline)
        })
        .column(
            (
                "met_deadline",
                "",
                "1 if it was complete by then, 0 if not; null without one, and if it could still be met when the \
                 run ended",
            ),
            messages,
            |m| one_or_zero(m.timing(end).met()),
        );
    if messages.iter().all(|message| message.deadline.is_none()) {
        return table;
    }
    table.column(
        (
            "late_us",
            "us",
            "from the deadline to its completion, below zero before it; null without one of the two. The column is \
             there where a message has a deadline",
        ),
        messages,
        |m| m.timing(end).late_us(),
    )
}

/// The messages of a traffic and of a range of sizes.
struct Bin {
    traffic: usize,
    from: Bytes,
    to: Bytes,
    completion: Quantiles,
    slowdown: Quantiles,
}

/// The percentiles in the table of bins.
const PERCENTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// The name and meaning of the percentiles' columns: of completion times and their bounds, of
/// slowdowns and their bounds.
const PERCENTILE_COLUMNS: [[(&str, &str); 4]; 4] = [
    [
        ("completion_p50_us", "completion time: median; null where that message was not delivered"),
        ("completion_p95_us", "completion time: 95th percentile; null in the same way"),
        ("completion_p99_us", "completion time: 99th percentile; null in the same way"),
        ("completion_p999_us", "completion time: 99.9th percentile; null in the same way"),
    ],
    [
        ("completion_p50_bound_us", "the median is at least this where it is null"),
        ("completion_p95_bound_us", "the 95th percentile is at least this where it is null"),
        ("completion_p99_bound_us", "the 99th percentile is at least this where it is null"),
        ("completion_p999_bound_us", "the 99.9th percentile is at least this where it is null"),
    ],
    [
        ("slowdown_p50", "slowdown: median; null where that message was not delivered"),
        ("slowdown_p95", "slowdown: 95th percentile; null in the same way"),
        ("slowdown_p99", "slowdown: 99th percentile; null in the same way"),
        ("slowdown_p999", "slowdown: 99.9th percentile; null in the same way"),
    ],
    [
        ("slowdown_p50_bound", "the median is at least this where it is null"),
        ("slowdown_p95_bound", "the 95th percentile is at least this where it is null"),
        ("slowdown_p99_bound", "the 99th percentile is at least this where it is null"),
        ("slowdown_p999_bound", "the 99.9th percentile is at least this where it is null"),
    ],
];

fn completion_table(built: &Built, work: &Work) -> Table {
    let bins = bins(built, work);
    let table =
        Table::new(
            "fct",
            "messages of one traffic and of a range of sizes, posted while measured; means are of those that were \
             delivered by the end of the run, percentiles of all, of which those that were not delivered are the \
             slowest; ideal completion is that of the table messages",
        )
            .column(("traffic", "", "the traffic's name"), &bins, |b| {
                built.plan.traffic[b.traffic].name.clone()
            })
            .column(("size_from_bytes", "B", "least payload"), &bins, |b| b.from.get())
            .column(("size_to_bytes", "B", "least payload above; 1 TB is no bound"), &bins, |b| {
                b.to.get()
            })
            .column(("posted", "", "messages posted"), &bins, |b| b.completion.len() as u64)
            .column(("finished", "", "of these delivered by the end of the run"), &bins, |b| {
                b.completion.known() as u64
            })
            .column(("completion_mean_us", "us", "completion time: mean of the delivered"), &bins, |b| {
                b.completion.mean()
            });
    let [completion, completion_bound, slowdown, slowdown_bound] = PERCENTILE_COLUMNS;
    let table = percentiles(table, &bins, "us", &completion, |b, q| b.completion.at(q));
    let table = percentiles(table, &bins, "us", &completion_bound, |b, q| b.completion.bound_at(q));
    let table = table.column(
        ("slowdown_mean", "", "completion over ideal completion: mean of the delivered"),
        &bins,
        |b| b.slowdown.mean(),
    );
    let table = percentiles(table, &bins, "", &slowdown, |b, q| b.slowdown.at(q));
    percentiles(table, &bins, "", &slowdown_bound, |b, q| b.slowdown.bound_at(q))
}

fn percentiles(
    table: Table,
    bins: &[Bin],
    unit: &'static str,
    columns: &[(&'static str, &'static str)],
    value: impl Fn(&Bin, f64) -> f64,
) -> Table {
    columns.iter().zip(PERCENTILES).fold(table, |table, (&(name, doc), q)| {
        table.column((name, unit, doc), bins, |bin| value(bin, q))
    })
}

fn bins(built: &Built, work: &Work) -> Vec<Bin> {
    let edges = &built.size_bins;
    let place = |bytes: Bytes| edges.partition_point(|&edge| edge <= bytes);
    let traffic = |message: &Message| built.flows[message.flow as usize].traffic as usize;
    let mut sorted: Vec<_> =
        work.measured().map(|message| (traffic(message), place(message.bytes), message)).collect();
    sorted.sort_by_key(|&(traffic, place, _)| (traffic, place));
    sorted
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|rows| {
            let (traffic, place, _) = rows[0];
            let messages = || rows.iter().map(|&(_, _, message)| message);
            Bin {
                traffic,
                from: if place == 0 { Bytes::ZERO } else { edges[place - 1] },
                to: edges.get(place).copied().unwrap_or(NO_BOUND),
                completion: Quantiles::of(messages().map(|m| m.observed_us(work.end))),
                slowdown: Quantiles::of(messages().map(|m| m.observed_slowdown(work.end))),
            }
        })
        .collect()
}

/// The upper bound of the last bin, larger than any size.
const NO_BOUND: Bytes = Bytes::from_kb(1_000_000_000);

fn load_table(built: &Built, work: &Work, measured: Span) -> Table {
    let gbps = |bytes: u64| bytes as f64 * 8.0 / measured.as_secs_f64() / 1e9;
    let rows: Vec<_> = (0..).zip(&built.plan.traffic).zip(&work.carried).collect();
    let begun = |number: usize| -> u64 {
        let owned = built.net.hosts().iter().zip(&built.plan.owners);
        let own = owned.flat_map(|(host, owners)| host.applications().iter().zip(owners));
        own.filter(|(_, owner)| **owner as usize == number)
            .map(|(application, _)| application.begun())
            .sum()
    };
    Table::new(
        "load",
        "one traffic, posted while it was measured; messages without end do not count",
    )
    .column(("traffic", "", "its name"), &rows, |((_, t), _)| t.name.clone())
    .column(
        (
            "asked_gbps",
            "Gb/s",
            "payload that its load asks for in that time, nothing before its start and after its stop; \
             null without a load",
        ),
        &rows,
        |((_, t), _)| t.offered_bps.map_or(f64::NAN, |bps| bps * measured_part(t, work.window) / 1e9),
    )
    .column(("offered_gbps", "Gb/s", "payload of messages that were posted"), &rows, |(_, c)| {
        gbps(c.posted_bytes)
    })
    .column(
        ("carried_gbps", "Gb/s", "payload that arrived in that time, of whole messages or not"),
        &rows,
        |((i, _), _)| work.carried_bps[*i] / 1e9,
    )
    .column(("posted", "", "messages posted"), &rows, |(_, c)| c.posted)
    .column(("completed", "", "of these delivered by the end of the run"), &rows, |(_, c)| {
        c.completed
    })
    .column(
        (
            "deadlines",
            "",
            "messages posted, with a deadline, that were delivered or whose deadline had passed by the end of \
             the run",
        ),
        &rows,
        |(_, c)| c.judged.deadlines,
    )
    .column(("deadlines_met", "", "of these delivered by then"), &rows, |(_, c)| c.judged.met)
    .column(
        ("requests", "", "requests and rounds begun, over the whole run"),
        &rows,
        |((i, _), _)| begun(*i),
    )
}

/// The part of the measured time for which a traffic lasts.
fn measured_part(traffic: &PlannedTraffic, (from, until): (Time, Time)) -> f64 {
    let (start, stop) = traffic.lasts;
    let span = |from: Time, until: Time| until.since(from.min(until)).as_secs_f64();
    span(start.max(from), stop.min(until)) / span(from, until)
}
