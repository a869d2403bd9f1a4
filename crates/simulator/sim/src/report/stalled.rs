//! The table of steps that wait for what will not come.

use std::collections::BTreeMap;

use incast_plan::application::{Awaiting, Outcome};
use incast_plan::job::{self, Job};
use incast_table::Table;

use super::iterations::GROUP;
use super::steps::awaits;
use crate::build::Built;

/// A step that waits.
struct Row<'a> {
    job: &'a Job,
    group: u64,
    host: u32,
    /// The number of the application there.
    application: u16,
    awaiting: Awaiting,
}

/// The table, if the run came to where nothing is left to happen and steps of jobs still wait.
pub(super) fn table(built: &Built) -> Option<Table> {
    if built.plan.jobs.is_empty() || !built.net.has_drained() {
        return None;
    }
    let application = |host, number| built.application(host, number);
    let waiting = |(group, job)| {
        let row =
            move |(host, application, awaiting)| Row { job, group, host, application, awaiting };
        Job::awaiting(job, application).into_iter().map(row)
    };
    let rows: Vec<_> = job::numbered(&built.plan.jobs).flat_map(waiting).collect();
    if rows.is_empty() {
        return None;
    }
    let peers = peers(built);
    // The host that does not send, or does not acknowledge.
    let peer = |row: &Row<'_>| {
        let Awaiting { slot, outcome, .. } = row.awaiting;
        peers.get(&(outcome == Outcome::Sent, row.host, row.application, slot)).copied()
    };
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
        awaits(r.awaiting.outcome).to_owned()
    })
    .column(
        ("peer", "", "host whose message or acknowledgement it waits for; empty if nobody sends it"),
        &rows,
        |r| peer(r).map_or_else(String::new, name),
    );
    Some(table)
}

/// The far ends of flows that applications follow: by whether it is the flow's source, host,
/// application and slot.
type Peers = BTreeMap<(bool, u32, u16, u32), u32>;

fn peers(built: &Built) -> Peers {
    let mut peers = Peers::new();
    for (number, flow) in (0..).zip(built.flows.iter()) {
        let ends = [(true, flow.source, flow.destination), (false, flow.destination, flow.source)];
        for (at_source, host, peer) in ends {
            if let Some((application, slot)) = built.flows.follower(number, at_source) {
                peers.entry((at_source, host, application, slot)).or_insert(peer);
            }
        }
    }
    peers
}
