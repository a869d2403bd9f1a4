//! The table of iterations: how long all hosts of a job took for a round.

use super::tables::{us, us_or_null};
use crate::build::Built;
use incast_plan::job::{End, Iteration, Job};
use incast_table::Table;

/// An iteration with its job and its number there.
struct Row<'a> {
    job: &'a Job,
    number: u64,
    iteration: Iteration,
}

impl Row<'_> {
    const fn end(&self) -> Option<End> {
        self.iteration.end
    }
}

/// The table, if there are jobs.
pub(super) fn table(built: &Built) -> Option<Table> {
    if built.plan.jobs.is_empty() {
        return None;
    }
    let hosts = built.net.hosts();
    let application =
        |host: u32, number: u16| &*hosts[host as usize].applications()[number as usize];
    let of_job = |job| {
        (0..).zip(Job::iterations(job, application)).map(move |(number, iteration)| Row {
            job,
            number,
            iteration,
        })
    };
    let rows: Vec<_> = built.plan.jobs.iter().flat_map(of_job).collect();
    let end = built.net.now();
    let table = Table::new(
        "iterations",
        "one round of a collective at all of its hosts together, which one of them had begun, complete or \
         not, over the whole run",
    )
    .column(("traffic", "", "the traffic's name"), &rows, |r| {
        built.plan.traffic[r.job.traffic as usize].name.clone()
    })
    .column(("iteration", "", "number within the traffic, from 0"), &rows, |r| r.number)
    .column(("hosts", "", "hosts that take part"), &rows, |r| r.job.members.len() as u64)
    .column(("start_us", "us", "when the first of them began"), &rows, |r| us(r.iteration.start))
    .column(
        (
            "finished",
            "",
            "1 if all of them had ended it by the end of the run, 0 if not: when and how long is then null",
        ),
        &rows,
        |r| u64::from(r.end().is_some()),
    )
    .column(("hosts_finished", "", "of the hosts, those that had ended it by then"), &rows, |r| {
        r.iteration.ended as u64
    });
    let table = table
        .column(("end_us", "us", "when the last of them ended it"), &rows, |r| {
            r.end().map_or(f64::NAN, |end| us(end.at))
        })
        .column(("duration_us", "us", "from start to end"), &rows, |r| {
            us_or_null(r.end().map(|end| end.at.since(r.iteration.start)))
        })
        .column(
            (
                "elapsed_us",
                "us",
                "of one that was not complete, from its start to the end of the run: it takes longer; null of \
                 others",
            ),
            &rows,
            |r| us_or_null(r.end().is_none().then(|| end.since(r.iteration.start))),
        )
        .column(
            (
                "last_host",
                "",
                "host that ended it last, or of one that was not complete, the first that had not ended it; of \
                 hosts that ended it at the same time the first",
            ),
            &rows,
            |r| built.topology.hosts[r.iteration.last as usize].clone(),
        )
        .column(
            (
                "after_median_us",
                "us",
                "from the end of the median host, of nearest rank, to that of the last; null if it was not \
                 complete",
            ),
            &rows,
            |r| us_or_null(r.end().map(|end| end.after_median)),
        );
    Some(table)
}
