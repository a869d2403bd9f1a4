//! The tables of steps and of critical paths of jobs whose ends of steps are kept.

use std::collections::BTreeMap;

use incast_cc::Span;
use incast_plan::application::Outcome;
use incast_plan::critical::{Done, Stretch, StretchKind, Trail};
use incast_plan::job::{self, Iteration, Job, Kept};
use incast_plan::steps::Step;
use incast_table::Table;

use super::QueueResult;
use super::iterations::GROUP;
use super::messages::Message;
use super::tables::{port_names, us, us_or_null};
use crate::build::Built;

/// A step that a host has ended.
struct StepRow<'a> {
    job: &'a Job,
    group: u64,
    rank: u32,
    done: Done,
    kind: &'static str,
    /// The host at the far end of its message.
    peer: Option<u32>,
    message: Option<&'a Message>,
}

/// A part of a critical path, by its place from the beginning.
struct PathRow<'a> {
    job: &'a Job,
    group: u64,
    iteration: u64,
    place: u64,
    stretch: Stretch,
    peer: Option<u32>,
    message: Option<&'a Message>,
    /// The port on the message's way whose queue was longest, and its length in bytes.
    port: Option<(usize, f64)>,
}

/// The tables, if there are jobs whose ends of steps are kept.
pub(super) fn tables(built: &Built, messages: &[Message], queues: &[QueueResult]) -> Vec<Table> {
    let application = |host, number| built.application(host, number);
    let links = built.topology.ports().switches.into_iter().flatten();
    let ports: BTreeMap<_, _> = links.zip(0..).collect();
    let (mut steps, mut paths, mut kept) = (Vec::new(), Vec::new(), false);
    for (group, job) in job::numbered(&built.plan.jobs) {
        let Some((ranks, of)) = job.ranks(application).zip(job.kept.as_ref()) else { continue };
        kept = true;
        let look = Look { built, job, group, kept: of, messages, queues, ports: &ports };
        let trail = Trail::of(&ranks);
        for rank in (0..).take(ranks.len()) {
            steps.extend(trail.done(rank).iter().map(|&done| look.step(rank, done)));
        }
        for (number, iteration) in (0..).zip(job.iterations(application)) {
            paths.extend(look.path(&trail, number, iteration));
        }
    }
    if kept { vec![step_table(built, &steps), path_table(built, &paths)] } else { Vec::new() }
}

/// The kind of a step that awaits an outcome.
pub(super) const fn awaits(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Received => "receive",
        Outcome::Sent => "acknowledged",
    }
}

/// A job with what the rows of its tables are made of.
struct Look<'a> {
    built: &'a Built,
    job: &'a Job,
    group: u64,
    kept: &'a Kept,
    /// All messages of the run, by flow and number.
    messages: &'a [Message],
    queues: &'a [QueueResult],
    /// The switch port of each link that leaves one.
    ports: &'a BTreeMap<(usize, usize), usize>,
}

impl<'a> Look<'a> {
    fn step(&self, rank: u32, done: Done) -> StepRow<'a> {
        let Self { job, group, .. } = *self;
        let part = &self.kept.parts[rank as usize];
        let (kind, far, message) = match part.steps.all()[done.step as usize] {
            Step::Compute(_) => ("compute", None, None),
            Step::Claim { .. } => ("wait", None, None),
            Step::Send { to, .. } => {
                ("send", Some(part.to[to as usize]), self.message(rank, to, done.message))
            }
            Step::Await { slot, outcome } => {
                let ends = match outcome {
                    Outcome::Received => &part.from,
                    Outcome::Sent => &part.to,
                };
                (awaits(outcome), Some(ends[slot as usize]), None)
            }
        };
        StepRow { job, group, rank, done, kind, peer: far.map(|far| self.host(far.rank)), message }
    }

    fn path(
        &self,
        trail: &Trail<'_>,
        number: usize,
        iteration: Iteration,
    ) -> impl Iterator<Item = PathRow<'a>> {
        let last = self.job.members.iter().position(|&(host, _)| host == iteration.last);
        let last = last.filter(|_| iteration.end.is_some()).and_then(|last| last.try_into().ok());
        let stretches = last.map_or_else(Vec::new, |last| trail.critical_path(last, number));
        let row = |(place, stretch): (u64, Stretch)| {
            let (peer, message, port) = match stretch.kind {
                StretchKind::Compute => (None, None, None),
                StretchKind::Message { to, message, .. } => {
                    let far = self.kept.parts[stretch.rank as usize].to[to as usize];
                    let flow = self.kept.flows[stretch.rank as usize][to as usize];
                    let message = self.message(stretch.rank, to, message);
                    (Some(self.host(far.rank)), message, self.longest_queue(flow))
                }
            };
            let (job, group, iteration) = (self.job, self.group, number as u64);
            PathRow { job, group, iteration, place, stretch, peer, message, port }
        };
        (0..).zip(stretches).map(row).collect::<Vec<_>>().into_iter()
    }

    fn host(&self, rank: u32) -> u32 {
        self.job.members[rank as usize].0
    }

    fn message(&self, rank: u32, to: u32, number: u32) -> Option<&'a Message> {
        let flow = self.kept.flows[rank as usize][to as usize];
        let key = |message: &Message| (message.flow, message.number);
        let place = self.messages.binary_search_by_key(&(flow, number), key).ok()?;
        Some(&self.messages[place])
    }

    /// The port on the way of a flow whose queue was longest in measured time, and its length;
    /// [`None`] where packets of the flow take several ways.
    fn longest_queue(&self, flow: u32) -> Option<(usize, f64)> {
        let built = self.built;
        let sender = built.flows[flow as usize].sender();
        let direction = built.flows.directions(flow, sender)[0];
        if !built.host_paths.is_fixed(direction) {
            return None;
        }
        let links = built.host_paths.links(direction);
        let on_way = links.iter().filter_map(|link| self.ports.get(link));
        let lengths = on_way.map(|&port| (port, self.queues[port].lengths.max));
        let known = lengths.filter(|(_, most)| !most.is_nan());
        known.max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
    }
}

fn step_table(built: &Built, rows: &[StepRow<'_>]) -> Table {
    let name = |host: u32| built.topology.hosts[host as usize].clone();
    Table::new(
        "steps",
        "one step of a host in a round of a job, that it had ended by the end of the run; the table is there with \
         measure.steps, and for traffic of up to 100,000 steps of all ranks and rounds",
    )
    .column(("traffic", "", "the traffic's name"), rows, |r| {
        built.plan.traffic[r.job.traffic as usize].name.clone()
    })
    .column(GROUP, rows, |r| r.group)
    .column(("iteration", "", "number of the round, from 0"), rows, |r| r.done.round as u64)
    .column(("rank", "", "number of the host in the job, from 0"), rows, |r| u64::from(r.rank))
    .column(("host", "", "host"), rows, |r| name(r.job.members[r.rank as usize].0))
    .column(("step", "", "number in the round, from 0"), rows, |r| u64::from(r.done.step))
    .column(
        (
            "kind",
            "",
            "compute, wait (for its stream of computations), send, receive, or acknowledged: it awaits that the peer acknowledges",
        ),
        rows,
        |r| r.kind.to_owned(),
    )
    .column(("peer", "", "host at the other end of its message; empty of a computation"), rows, |r| {
        r.peer.map_or_else(String::new, name)
    })
    .column(("ready_us", "us", "when all that it waits for had ended"), rows, |r| us(r.done.ready))
    .column(("end_us", "us", "when it ended; a send ends when its message is posted"), rows, |r| {
        us(r.done.end)
    })
    .column(("bytes", "B", "of a send the payload of its message, else 0"), rows, |r| {
        r.message.map_or(0, |message| message.bytes.get())
    })
    .column(
        ("first_sent_us", "us", "of a send when the first packet left the host; null if none did"),
        rows,
        |r| r.message.and_then(|message| message.first_sent).map_or(f64::NAN, us),
    )
    .column(
        ("arrived_us", "us", "of a send when its message had arrived; null if it had not"),
        rows,
        |r| r.message.and_then(|message| message.completed).map_or(f64::NAN, us),
    )
}

fn path_table(built: &Built, rows: &[PathRow<'_>]) -> Table {
    let name = |host: u32| built.topology.hosts[host as usize].clone();
    let ports = port_names(&built.topology);
    let ideal = |row: &PathRow<'_>| row.message.map(|message| message.ideal);
    let took = |row: &PathRow<'_>| row.stretch.end.since(row.stretch.start);
    Table::new(
        "critical_path",
        "one part of the chain of messages and computations that a complete iteration lasted for: each part begins \
         when the one before ended, and the last ends with the iteration; the table is there with the table steps",
    )
    .column(("traffic", "", "the traffic's name"), rows, |r| {
        built.plan.traffic[r.job.traffic as usize].name.clone()
    })
    .column(GROUP, rows, |r| r.group)
    .column(("iteration", "", "number of the iteration, from 0"), rows, |r| r.iteration)
    .column(("place", "", "place in the chain, from 0"), rows, |r| r.place)
    .column(
        (
            "kind",
            "",
            "compute, message (from posting to arrival), or acknowledged (from posting to its acknowledgement)",
        ),
        rows,
        |r| kind(r.stretch.kind).to_owned(),
    )
    .column(("host", "", "host that computes or sends"), rows, |r| {
        name(r.job.members[r.stretch.rank as usize].0)
    })
    .column(("peer", "", "host that the message goes to; empty of a computation"), rows, |r| {
        r.peer.map_or_else(String::new, name)
    })
    .column(("bytes", "B", "payload of the message, else 0"), rows, |r| {
        r.message.map_or(0, |message| message.bytes.get())
    })
    .column(("start_us", "us", "its beginning"), rows, |r| us(r.stretch.start))
    .column(("end_us", "us", "its end"), rows, |r| us(r.stretch.end))
    .column(
        ("waited_us", "us", "of a message the wait at its host before its first packet left"),
        rows,
        |r| us_or_null(r.message.and_then(|message| message.host)),
    )
    .column(
        ("ideal_us", "us", "of a message the ideal completion, as in the table messages"),
        rows,
        |r| us_or_null(ideal(r)),
    )
    .column(
        ("late_us", "us", "of a message its time beyond the ideal"),
        rows,
        |r| us_or_null(ideal(r).map(|ideal| Span::saturating_sub(took(r), ideal))),
    )
    .column(
        (
            "port",
            "",
            "switch port on the message's way that had the longest queue in measured time, whoever waited there then; \
             empty where packets take several ways",
        ),
        rows,
        |r| r.port.map_or_else(String::new, |(port, _)| ports[port].clone()),
    )
    .column(("port_max_kb", "KB", "longest queue of that port"), rows, |r| {
        r.port.map_or(f64::NAN, |(_, bytes)| bytes / 1e3)
    })
}

const fn kind(kind: StretchKind) -> &'static str {
    match kind {
        StretchKind::Compute => "compute",
        StretchKind::Message { until: Outcome::Received, .. } => "message",
        StretchKind::Message { until: Outcome::Sent, .. } => "acknowledged",
    }
}
