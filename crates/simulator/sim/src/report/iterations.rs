//! The table of iterations: how long all hosts of a job took for a round.

use incast_cc::Span;
use incast_plan::application::{Application, Finished};
use incast_plan::job::{self, End, Iteration, Job};
use incast_table::Table;

use super::tables::{us, us_or_null};
use crate::build::Built;

/// An iteration with its job and its number there.
struct Row<'a> {
    job: &'a Job,
    /// The job's number among those of its traffic.
    group: u64,
    number: u64,
    iteration: Iteration,
    /// The round at the first host, where that has ended it.
    round: Option<Finished>,
}

impl Row<'_> {
    const fn end(&self) -> Option<End> {
        self.iteration.end
    }

    fn duration(&self) -> Option<Span> {
        self.end().map(|end| end.at.since(self.iteration.start))
    }

    /// The time for which every host computed nothing, of the host that computed most.
    fn exposed(&self) -> Option<Span> {
        Some(self.duration()?.saturating_sub(self.iteration.computed?))
    }

    /// The size over the time, in GB/s.
    fn algorithm_bandwidth(&self) -> f64 {
        let of =
            |(round, took): (Finished, Span)| round.bytes.get() as f64 / took.as_secs_f64() / 1e9;
        self.round.zip(self.duration()).map_or(f64::NAN, of)
    }

    /// The bandwidth that the busiest link needs at least for the algorithm bandwidth, in GB/s.
    fn bus_bandwidth(&self) -> f64 {
        let factor = self.round.and_then(|round| bus_factor(round.kind, self.job.members.len()));
        self.algorithm_bandwidth() * factor.unwrap_or(f64::NAN)
    }
}

/// Bus bandwidth over algorithm bandwidth of a collective among `ranks`, as nccl-tests counts (its
/// doc/PERFORMANCE.md); [`None`] of rounds of another kind.
fn bus_factor(kind: &str, ranks: usize) -> Option<f64> {
    let others = (ranks as f64 - 1.0) / ranks as f64;
    match kind {
        "all-reduce" => Some(2.0 * others),
        "reduce-scatter" | "all-gather" | "all-to-all" => Some(others),
        "broadcast" | "reduce" => Some(1.0),
        _ => None,
    }
}

/// The column of the group, which all tables of jobs have.
pub(super) const GROUP: (&str, &str, &str) = (
    "group",
    "",
    "number of the job among those of the traffic, from 0: its groups work side by side",
);

/// The iterations of a job.
fn rows<'a>(
    (group, job): (u64, &'a Job),
    application: impl Fn(u32, u16) -> &'a dyn Application,
) -> impl Iterator<Item = Row<'a>> {
    let (host, own) = job.members[0];
    let rounds = application(host, own).finished();
    (0_u64..).zip(job.iterations(application)).zip(0_usize..).map(
        move |((number, iteration), place)| Row {
            job,
            group,
            number,
            iteration,
            round: rounds.get(place).copied(),
        },
    )
}

/// The table, if there are jobs.
pub(super) fn table(built: &Built) -> Option<Table> {
    if built.plan.jobs.is_empty() {
        return None;
    }
    let application = |host, number| built.application(host, number);
    let rows: Vec<_> =
        job::numbered(&built.plan.jobs).flat_map(|job| rows(job, application)).collect();
    let end = built.net.now();
    let table = Table::new(
        "iterations",
        "one round of a collective at all of its hosts together, which one of them had begun, complete or \
         not, over the whole run",
    )
    .column(("traffic", "", "the traffic's name"), &rows, |r| {
        built.plan.traffic[r.job.traffic as usize].name.clone()
    })
    .column(GROUP, &rows, |r| r.group)
    .column(("iteration", "", "number within the group, from 0"), &rows, |r| r.number)
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
            us_or_null(r.duration())
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
    Some(bandwidths(table, &rows))
}

/// The columns of computing, of exposed communication, and of bandwidths.
fn bandwidths(table: Table, rows: &[Row<'_>]) -> Table {
    table
        .column(
            (
                "computed_us",
                "us",
                "time for which a host computed in it, of the host that computed most; computations side by side count \
                 once, and the pause between rounds does not; null if it was not complete",
            ),
            rows,
            |r| us_or_null(r.iteration.computed),
        )
        .column(
            (
                "exposed_us",
                "us",
                "exposed communication: duration_us less computed_us; null if it was not complete",
            ),
            rows,
            |r| us_or_null(r.exposed()),
        )
        .column(
            (
                "algbw_gb_per_s",
                "GB/s",
                "algorithm bandwidth as nccl-tests prints it: the size over duration_us, 1 GB = 1e9 B; null if it was not \
                 complete",
            ),
            rows,
            Row::algorithm_bandwidth,
        )
        .column(
            (
                "busbw_gb_per_s",
                "GB/s",
                "bus bandwidth as nccl-tests prints it: algbw_gb_per_s times 2 (n - 1) / n of an all-reduce of n hosts, \
                 times (n - 1) / n of a reduce-scatter, an all-gather and an all-to-all, times 1 of a broadcast and a \
                 reduce; null of other rounds",
            ),
            rows,
            Row::bus_bandwidth,
        )
}
