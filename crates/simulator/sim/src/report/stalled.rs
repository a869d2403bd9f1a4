//! The table of steps that wait for what will not come.

use incast_plan::application::{Awaiting, Outcome};
use incast_plan::job::{self, Job};
use incast_table::Table;

use super::iterations::GROUP;
use crate::build::Built;

/// A step that waits.
struct Row<'a> {
    job: &'a Job,
    group: u64,
    host: u32,
    awaiting: Awaiting,
    /// The host that does not send, or does not acknowledge.
    peer: Option<u32>,
}

/// The table, if the run came to where nothing is left to happen and steps of jobs still wait.
pub(super) fn table(built: &Built) -> Option<Table> {
    if built.plan.jobs.is_empty() || !built.net.has_drained() {
        return None;
    }
    let hosts = built.net.hosts();
    let application =
        |host: u32, number: u16| &*hosts[host as usize].applications()[number as usize];
    let waiting = |(group, job)| {
        let row = move |(host, number, awaiting): (u32, u16, Awaiting)| Row {
            job,
            group,
            host,
            awaiting,
            peer: peer(built, (host, number), awaiting),
        };
        Job::awaiting(job, application).into_iter().map(row)
    };
    let rows: Vec<_> = job::numbered(&built.plan.jobs).flat_map(waiting).collect();
    if rows.is_empty() {
        return None;
    }
    let name = |host: u32| built.topology.hosts[host as usize].clone();
    let table = Table::new(
        "stalled",
        "one step of a job that waits for what will not come: every message has arrived and was acknowledged, and \
         no host has anything to do; the table is there where there are such steps",
    )
    .column(("traffic", "", "the traffic's name"), &rows, |r| {
        built.plan.traffic[r.job.traffic as usize].name.clone()
    })
    .column(GROUP, &rows, |r| r.group)
    .column(("host", "", "host that waits"), &rows, |r| name(r.host))
    .column(("step", "", "number of the step in its round, from 0"), &rows, |r| {
        u64::from(r.awaiting.step)
    })
    .column(("kind", "", "receive, or acknowledged, as in the table steps"), &rows, |r| {
        let kind = match r.awaiting.outcome {
            Outcome::Received => "receive",
            Outcome::Sent => "acknowledged",
        };
        kind.to_owned()
    })
    .column(
        ("peer", "", "host whose message or acknowledgement it waits for; empty if nobody sends it"),
        &rows,
        |r| r.peer.map_or_else(String::new, name),
    );
    Some(table)
}

/// The host at the far end of the flow that an application knows by a slot.
fn peer(built: &Built, (host, application): (u32, u16), awaiting: Awaiting) -> Option<u32> {
    let at_source = awaiting.outcome == Outcome::Sent;
    let followed = |&(flow, _): &(u32, _)| {
        built.flows.follower(flow, at_source) == Some((application, awaiting.slot))
    };
    let own = (0..)
        .zip(built.flows.iter())
        .filter(|(_, flow)| host == if at_source { flow.source } else { flow.destination });
    let (_, flow) = own.into_iter().find(followed)?;
    Some(if at_source { flow.destination } else { flow.source })
}
