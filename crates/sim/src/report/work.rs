//! The tables of what applications asked for and got.

use incast_cc::{Bytes, Span, Time};

use super::messages::{self, Carried, Message};
use super::tables::us;
use crate::build::{Built, PlannedTraffic};
use crate::network::application::{Application, Finished, FinishedKind};
use crate::table::Table;

/// Everything about messages in one run.
pub(super) struct Work {
    pub(super) messages: Vec<Message>,
    pub(super) carried: Vec<Carried>,
    /// Payload that arrived of each traffic, in bits per second.
    pub(super) carried_bps: Vec<f64>,
    pub(super) requests: Vec<Request>,
    /// What was posted from the first to before the second was measured.
    pub(super) window: (Time, Time),
}

/// A request that is complete, and whose it was.
pub(super) struct Request {
    pub(super) traffic: u16,
    pub(super) client: u32,
    pub(super) number: u64,
    pub(super) finished: Finished,
}

impl Work {
    pub(super) fn of(built: &Built, window: (Time, Time), carried_bps: Vec<f64>) -> Self {
        let (messages, carried) = messages::messages(built, window);
        let requests = requests(built, &messages);
        Self { messages, carried, carried_bps, requests, window }
    }

    /// Messages that were posted while it was measured.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Message> {
        let (from, until) = self.window;
        self.messages.iter().filter(move |message| message.posted >= from && message.posted < until)
    }

    pub(super) fn tables(&self, built: &Built) -> Vec<Table> {
        let measured = self.window.1.since(self.window.0);
        vec![
            message_table(built, &self.messages),
            request_table(built, &self.requests),
            completion_table(built, self),
            load_table(built, self, measured),
        ]
    }
}

fn requests(built: &Built, messages: &[Message]) -> Vec<Request> {
    let mut requests = Vec::new();
    for (client, host) in (0..).zip(&built.net.hosts) {
        for (application, &traffic) in
            host.applications.iter().zip(&built.plan.owners[client as usize])
        {
            let finished = application.finished().iter();
            requests.extend((0..).zip(finished).map(|(number, &finished)| Request {
                traffic,
                client,
                number,
                finished,
            }));
        }
    }
    // Incasts have no application: their flows are known in advance.
    let mut completed = vec![None; built.flows.len()];
    for message in messages {
        completed[message.flow as usize] = Some(message.completed);
    }
    for (number, gathering) in (0..).zip(&built.plan.gatherings) {
        let flows = &completed[gathering.flows.start as usize..gathering.flows.end as usize];
        if let Some(ends) = flows.iter().copied().collect::<Option<Vec<_>>>()
            && let Some(&last) = ends.iter().max()
        {
            let finished = Finished {
                kind: FinishedKind::Incast,
                posted: gathering.at,
                completed: last,
                bytes: gathering.bytes,
                fan_out: gathering.flows.end - gathering.flows.start,
            };
            let (traffic, client) = (gathering.traffic, gathering.receiver);
            requests.push(Request { traffic, client, number, finished });
        }
    }
    requests.sort_by_key(|request| (request.traffic, request.client, request.number));
    requests
}

fn message_table(built: &Built, messages: &[Message]) -> Table {
    let (plan, hosts) = (&built.plan, &built.topology.hosts);
    let flow = |message: &Message| &built.flows[message.flow as usize];
    let treatment = |message: &Message| built.flows.treatment(flow(message));
    let traffic = |message: &Message| &plan.traffic[flow(message).traffic as usize];
    let deadline = |message: &Message| treatment(message).deadline;
    Table::new("messages", "one message that was delivered, over the whole run")
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
            plan.classes[treatment(m).class as usize].clone()
        })
        .column(("bytes", "B", "payload"), messages, |m| m.bytes.get())
        .column(("posted_us", "us", "asked for by the application"), messages, |m| us(m.posted))
        .column(("first_sent_us", "us", "its first packet left the sender"), messages, |m| {
            us(m.first_sent)
        })
        .column(("completed_us", "us", "its last byte, and all before it, arrived"), messages, |m| {
            us(m.completed)
        })
        .column(("completion_us", "us", "from posted to completed"), messages, |m| {
            m.completion().as_us_f64()
        })
        .column(
            (
                "host_us",
                "us",
                "of it, before the first packet left: behind other messages, the window, the pacer and \
                 other connections of the host; for a read at both ends",
            ),
            messages,
            |m| m.host.as_us_f64(),
        )
        .column(("network_us", "us", "the rest of it"), messages, |m| {
            m.completion().saturating_sub(m.host).as_us_f64()
        })
        .column(
            (
                "ideal_us",
                "us",
                "completion if the sender put its packets, headers included, on its link one after the \
                 other from when it was posted, each switch of its path stored and forwarded them, and \
                 nothing else were in the network; for a read after its request of one packet. \
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
                 or an event makes a link faster",
            ),
            messages,
            Message::slowdown,
        )
        .column(("deadline_us", "us", "time that it had; null without a deadline"), messages, |m| {
            deadline(m).map_or(f64::NAN, Span::as_us_f64)
        })
        .column(
            ("met_deadline", "", "1 if it was complete by then, 0 if not; null without one"),
            messages,
            |m| deadline(m).map_or(f64::NAN, |d| f64::from(u8::from(m.completion() <= d))),
        )
}

fn request_table(built: &Built, requests: &[Request]) -> Table {
    Table::new(
        "requests",
        "one request, incast, or round of a collective at one host, that was completed, over the whole run",
    )
    .column(("traffic", "", "the traffic's name"), requests, |r| {
        built.plan.traffic[r.traffic as usize].name.clone()
    })
    .column(("client", "", "host that asked; of an incast the receiver"), requests, |r| {
        built.topology.hosts[r.client as usize].clone()
    })
    .column(("request", "", "number at the client, in the order of completion"), requests, |r| {
        r.number
    })
    .column(("kind", "", "read, write, incast or all-reduce"), requests, |r| {
        r.finished.kind.as_str().to_owned()
    })
    .column(("fan_out", "", "messages that it took"), requests, |r| u64::from(r.finished.fan_out))
    .column(("bytes", "B", "its size"), requests, |r| r.finished.bytes.get())
    .column(("posted_us", "us", "when it was asked for"), requests, |r| us(r.finished.posted))
    .column(("completed_us", "us", "when the last of its messages was complete"), requests, |r| {
        us(r.finished.completed)
    })
    .column(("completion_us", "us", "from posted to completed"), requests, |r| {
        r.finished.completed.since(r.finished.posted).as_us_f64()
    })
}

/// The quantiles of a set of numbers: nearest rank, so that each is one of them.
pub(super) struct Quantiles(Vec<f64>);

impl Quantiles {
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = values.collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the length")]
    pub(super) fn at(&self, q: f64) -> f64 {
        let rank = (q * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

struct Bin {
    traffic: usize,
    from: Bytes,
    to: Bytes,
    completion: Quantiles,
    slowdown: Quantiles,
}

fn completion_table(built: &Built, work: &Work) -> Table {
    let edges = &built.size_bins;
    let place = |bytes: Bytes| edges.partition_point(|&edge| edge <= bytes);
    let traffic = |message: &Message| built.flows[message.flow as usize].traffic as usize;
    let mut sorted: Vec<_> =
        work.measured().map(|message| (traffic(message), place(message.bytes), message)).collect();
    sorted.sort_by_key(|&(traffic, place, _)| (traffic, place));
    let bins: Vec<_> = sorted
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|rows| {
            let (traffic, place, _) = rows[0];
            let messages = || rows.iter().map(|&(_, _, message)| message);
            Bin {
                traffic,
                from: if place == 0 { Bytes::ZERO } else { edges[place - 1] },
                to: edges.get(place).copied().unwrap_or(NO_BOUND),
                completion: Quantiles::of(messages().map(|m| m.completion().as_us_f64())),
                slowdown: Quantiles::of(messages().map(Message::slowdown)),
            }
        })
        .collect();
    let table =
        Table::new(
            "fct",
            "messages of one traffic and of a range of sizes, posted while measured and delivered by the \
             end of the run; ideal completion is that of the table messages",
        )
            .column(("traffic", "", "the traffic's name"), &bins, |b| {
                built.plan.traffic[b.traffic].name.clone()
            })
            .column(("size_from_bytes", "B", "least payload"), &bins, |b| b.from.get())
            .column(("size_to_bytes", "B", "least payload above; 1 TB is no bound"), &bins, |b| {
                b.to.get()
            })
            .column(("count", "", "messages"), &bins, |b| b.completion.len() as u64)
            .column(("completion_mean_us", "us", "completion time: mean"), &bins, |b| {
                b.completion.mean()
            })
            .column(("completion_p50_us", "us", "completion time: median"), &bins, |b| {
                b.completion.at(0.5)
            })
            .column(("completion_p95_us", "us", "completion time: 95th percentile"), &bins, |b| {
                b.completion.at(0.95)
            })
            .column(("completion_p99_us", "us", "completion time: 99th percentile"), &bins, |b| {
                b.completion.at(0.99)
            })
            .column(
                ("completion_p999_us", "us", "completion time: 99.9th percentile"),
                &bins,
                |b| b.completion.at(0.999),
            );
    table
        .column(("slowdown_mean", "", "completion over ideal completion: mean"), &bins, |b| {
            b.slowdown.mean()
        })
        .column(("slowdown_p50", "", "slowdown: median"), &bins, |b| b.slowdown.at(0.5))
        .column(("slowdown_p95", "", "slowdown: 95th percentile"), &bins, |b| b.slowdown.at(0.95))
        .column(("slowdown_p99", "", "slowdown: 99th percentile"), &bins, |b| b.slowdown.at(0.99))
        .column(("slowdown_p999", "", "slowdown: 99.9th percentile"), &bins, |b| {
            b.slowdown.at(0.999)
        })
}

/// Stands for no upper bound of a size.
const NO_BOUND: Bytes = Bytes::from_kb(1_000_000_000);

fn load_table(built: &Built, work: &Work, measured: Span) -> Table {
    let gbps = |bytes: u64| bytes as f64 * 8.0 / measured.as_secs_f64() / 1e9;
    let rows: Vec<_> = (0..).zip(&built.plan.traffic).zip(&work.carried).collect();
    let begun = |number: usize| -> u64 {
        let owned = built.net.hosts.iter().zip(&built.plan.owners);
        let own = owned.flat_map(|(host, owners)| host.applications.iter().zip(owners));
        own.filter(|(_, owner)| **owner as usize == number)
            .map(|(application, _)| Application::begun(application))
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
        |(_, c)| c.deadlines,
    )
    .column(("deadlines_met", "", "of these delivered by then"), &rows, |(_, c)| c.deadlines_met)
    .column(
        ("requests", "", "requests and rounds begun, over the whole run"),
        &rows,
        |((i, _), _)| begun(*i),
    )
}

/// For which part of the measured time a traffic lasts.
fn measured_part(traffic: &PlannedTraffic, (from, until): (Time, Time)) -> f64 {
    let (start, stop) = traffic.lasts;
    let span = |from: Time, until: Time| until.since(from.min(until)).as_secs_f64();
    span(start.max(from), stop.min(until)) / span(from, until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let values = Quantiles::of((1..=200).rev().map(f64::from));
        assert_eq!([0.5, 0.99, 0.999, 1.0].map(|q| values.at(q)), [100.0, 198.0, 200.0, 200.0]);
        assert_eq!(values.mean(), 100.5);
        assert!(Quantiles::of(std::iter::empty()).at(0.5).is_nan());
    }
}
