//! Requests, incasts and rounds of collectives: transfers that are complete as a whole, and their
//! results.

use incast_cc::{Bytes, Span, Time};

use super::deadlines::Timing;
use super::messages::Message;
use super::tables::{one_or_zero, us, us_or_null};
use crate::build::Built;
use incast_plan::application::UnderWay;
use incast_table::Table;

/// A request, and its client.
pub(super) struct Request {
    pub(super) traffic: u16,
    client: u32,
    number: u64,
    kind: &'static str,
    pub(super) posted: Time,
    /// The time of completion; none if it was after the end of the run.
    completed: Option<Time>,
    bytes: Bytes,
    fan_out: u32,
    /// The messages that were complete by the end of the run.
    done: u32,
    /// The time that the request had from posting to completion.
    pub(super) deadline: Option<Span>,
    /// The completion time in the fluid and in the greedy schedule, where they are known.
    pub(super) ideal: [Option<Span>; 2],
}

impl Request {
    /// The traffic, the client and the time, by which messages know their request.
    pub(super) const fn key(&self) -> (u16, u32, Time) {
        (self.traffic, self.client, self.posted)
    }

    /// Whether all messages of the request are posted when it is asked for, and are `messages`.
    pub(super) fn is_posted_at_once(&self, messages: u32) -> bool {
        ["read", "write", "incast"].contains(&self.kind) && self.fan_out == messages
    }

    /// The request by its deadline, in a run that ended at `end`.
    pub(super) fn timing(&self, end: Time) -> Timing {
        let &Self { posted, deadline, completed, .. } = self;
        Timing { posted, deadline, completed, end }
    }
}

/// All requests that were posted, in the order of traffic and client; complete ones first.
pub(super) fn requests(built: &Built, messages: &[Message]) -> Vec<Request> {
    let mut requests = Vec::new();
    for (client, host) in (0..).zip(built.net.hosts()) {
        for (application, &traffic) in
            host.applications().iter().zip(&built.plan.owners[client as usize])
        {
            let finished = application.finished().iter().map(|f| {
                let all = UnderWay {
                    kind: f.kind,
                    posted: f.posted,
                    bytes: f.bytes,
                    fan_out: f.fan_out,
                    missing: 0,
                    deadline: f.deadline,
                };
                (all, Some(f.completed))
            });
            let under_way = application.under_way().into_iter().map(|request| (request, None));
            let all = (0..).zip(finished.chain(under_way));
            requests.extend(all.map(|(number, (request, completed))| Request {
                traffic,
                client,
                number,
                kind: request.kind,
                posted: request.posted,
                completed,
                bytes: request.bytes,
                fan_out: request.fan_out,
                done: request.fan_out - request.missing,
                deadline: request.deadline,
                ideal: [None; 2],
            }));
        }
    }
    requests.extend(incasts(built, messages));
    requests.sort_by_key(|request| (request.traffic, request.client, request.number));
    requests
}

/// The incasts as requests. They have no application: their flows are known in advance.
fn incasts(built: &Built, messages: &[Message]) -> impl Iterator<Item = Request> {
    let mut of_flow = vec![None; built.flows.len()];
    for message in messages {
        of_flow[message.flow as usize] = Some(message.completed);
    }
    (0..).zip(&built.plan.gatherings).filter_map(move |(number, gathering)| {
        let flows = &of_flow[gathering.flows.start as usize..gathering.flows.end as usize];
        // All flows of an incast are posted at the same time, and none if the run ended before
        // that.
        let ends: Vec<Option<Time>> = flows.iter().copied().flatten().collect();
        if ends.is_empty() {
            return None;
        }
        let fan_out = gathering.flows.end - gathering.flows.start;
        let done = ends.iter().flatten().count();
        let last = ends.iter().flatten().max().copied();
        Some(Request {
            traffic: gathering.traffic,
            client: gathering.receiver,
            number,
            kind: "incast",
            posted: gathering.at,
            completed: last.filter(|_| done == flows.len()),
            bytes: gathering.bytes,
            fan_out,
            #[expect(clippy::cast_possible_truncation, reason = "at most the fan-out")]
            done: done as u32,
            deadline: gathering.deadline,
            ideal: [None; 2],
        })
    })
}

pub(super) fn table(built: &Built, requests: &[Request], end: Time) -> Table {
    let table = Table::new(
        "requests",
        "one request, incast, or round of a collective at one host, that was posted, complete or not, over the \
         whole run",
    )
    .column(("traffic", "", "the traffic's name"), requests, |r| {
        built.plan.traffic[r.traffic as usize].name.clone()
    })
    .column(("client", "", "host that asked; of an incast the receiver"), requests, |r| {
        built.topology.hosts[r.client as usize].clone()
    })
    .column(
        (
            "request",
            "",
            "number at the client, in the order of completion, those that are not complete last; of incasts in \
             the order of posting",
        ),
        requests,
        |r| r.number,
    )
    .column(("kind", "", "its kind, such as read, write, incast or all-reduce"), requests, |r| {
        r.kind.to_owned()
    })
    .column(("fan_out", "", "messages that it takes"), requests, |r| u64::from(r.fan_out))
    .column(("bytes", "B", "its size"), requests, |r| r.bytes.get())
    .column(("posted_us", "us", "when it was asked for"), requests, |r| us(r.posted))
    .column(
        (
            "finished",
            "",
            "1 if it was complete by the end of the run, 0 if not: when and how long is then null",
        ),
        requests,
        |r| u64::from(r.completed.is_some()),
    )
    .column(
        ("messages_finished", "", "of its messages, those that were complete by the end of the run"),
        requests,
        |r| u64::from(r.done),
    )
    .column(("completed_us", "us", "when the last of its messages was complete"), requests, |r| {
        r.completed.map_or(f64::NAN, us)
    })
    .column(("completion_us", "us", "from posted to completed"), requests, |r| {
        r.completed.map_or(f64::NAN, |completed| completed.since(r.posted).as_us_f64())
    })
    .column(
        (
            "elapsed_us",
            "us",
            "of one that was not complete, from posted to the end of the run: its completion takes longer; null of \
             others",
        ),
        requests,
        |r| r.completed.map_or_else(|| end.since(r.posted).as_us_f64(), |_| f64::NAN),
    );
    let table = if built.ideal && !requests.is_empty() { ideals(table, requests) } else { table };
    if requests.iter().all(|request| request.deadline.is_none()) {
        table
    } else {
        deadlines(table, requests, end)
    }
}

/// The columns of the ideal, which are there where a run has it.
fn ideals(table: Table, requests: &[Request]) -> Table {
    let doc = "completion of the last of its messages in the table ideal; null where messages wait \
               for others of it. The column is there with `measure.ideal`";
    table.column(("fluid_us", "us", doc), requests, |r| us_or_null(r.ideal[0])).column(
        ("greedy_us", "us", doc),
        requests,
        |r| us_or_null(r.ideal[1]),
    )
}

/// The columns of deadlines, which are there where a request has one.
fn deadlines(table: Table, requests: &[Request], end: Time) -> Table {
    table
        .column(
            (
                "deadline_us",
                "us",
                "time that it had from posting to completion; null without a deadline. This column and those after it \
                 are there where a request has a deadline",
            ),
            requests,
            |r| us_or_null(r.deadline),
        )
        .column(
            (
                "met_deadline",
                "",
                "1 if it was complete by then, 0 if not; null without one, and if it could still be met when the \
                 run ended",
            ),
            requests,
            |r| one_or_zero(r.timing(end).met()),
        )
        .column(
            (
                "late_us",
                "us",
                "from the deadline to its completion, below zero before it; null without one of the two",
            ),
            requests,
            |r| r.timing(end).late_us(),
        )
}
