//! Jobs: hosts that do their rounds together, such as the members of a ring.
//!
//! Nobody tells a job anything while the network runs, so its hosts may be in different threads. At
//! the end of a run the job finds its iterations in the rounds that its members have ended.

use std::cmp::Reverse;

use incast_cc::{Span, Time};

use crate::application::{Application, Awaiting, Finished, UnderWay};
use crate::critical::Rank;
use crate::part::Part;
use crate::record::Record;

/// Hosts that do their rounds together. Round n of all of them is iteration n of the job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The number of the traffic that the job belongs to.
    pub traffic: u16,
    /// The hosts by rank, each with the number of its application.
    pub members: Vec<(u32, u16)>,
    /// The parts of the ranks, where the ends of their steps are kept.
    pub kept: Option<Kept>,
}

/// Jobs, each with its number among those of its traffic, which are side by side.
pub fn numbered(jobs: &[Job]) -> impl Iterator<Item = (u64, &Job)> {
    jobs.chunk_by(|one, next| one.traffic == next.traffic).flat_map(|own| (0..).zip(own))
}

/// The parts of a job whose ends of steps are kept, by rank.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The parts.
    pub parts: Vec<Part>,
    /// The flow to each far end of a part's sends.
    pub flows: Vec<Vec<u32>>,
}

/// An iteration that a host has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The earliest start of its hosts.
    pub start: Time,
    /// The number of hosts that have ended it.
    pub ended: usize,
    /// The host that ended it last, or the first that has not ended it. Of hosts that ended it at
    /// the same time it is the first.
    pub last: u32,
    /// The longest time for which one of its hosts computed in it; [`None`] where a host has not
    /// ended it.
    pub computed: Option<Span>,
    /// The end; [`None`] where a host has not ended it.
    pub end: Option<End>,
}

/// The end of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The latest end of its hosts.
    pub at: Time,
    /// The time from the end of the median host, by nearest rank, to the latest.
    pub after_median: Span,
}

/// A host of a job with its rounds.
struct Member<'a> {
    host: u32,
    ended: &'a [Finished],
    under_way: Vec<UnderWay>,
    record: Option<&'a Record>,
}

impl Job {
    /// The iterations that a host has begun, in their order. `application` gives that of a host
    /// with this number.
    pub fn iterations<'a>(
        &self,
        application: impl Fn(u32, u16) -> &'a dyn Application,
    ) -> impl Iterator<Item = Iteration> {
        let member = |&(host, number)| {
            let own = application(host, number);
            let (ended, under_way) = (own.finished(), own.under_way());
            Member { host, ended, under_way, record: own.record() }
        };
        let members: Vec<_> = self.members.iter().map(member).collect();
        (0..).map_while(move |number| iteration(&members, number))
    }

    /// The steps that await an outcome at this moment, each with its host and the number of its
    /// application there. `application` gives that of a host with this number.
    pub fn awaiting<'a>(
        &self,
        application: impl Fn(u32, u16) -> &'a dyn Application,
    ) -> Vec<(u32, u16, Awaiting)> {
        let of = |&(host, number): &(u32, u16)| {
            let waits = application(host, number).awaiting().into_iter();
            waits.map(move |awaiting| (host, number, awaiting)).collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of).collect()
    }

    /// The ranks, where the ends of their steps are kept. `application` gives that of a host with
    /// this number.
    pub fn ranks<'a>(
        &'a self,
        application: impl Fn(u32, u16) -> &'a dyn Application,
    ) -> Option<Vec<Rank<'a>>> {
        let parts = &self.kept.as_ref()?.parts;
        let rank = |(part, &(host, number))| {
            let record = application(host, number).record()?;
            Some(Rank { part, ends: record.ends()?, starts: record.starts() })
        };
        parts.iter().zip(&self.members).map(rank).collect()
    }
}

/// An iteration, if a host has begun it.
fn iteration(members: &[Member<'_>], number: usize) -> Option<Iteration> {
    let start = members.iter().filter_map(|member| member.start(number)).min()?;
    // A host that has not ended the iteration is later than all that have.
    let end = |member: &Member<'_>| member.ended.get(number).map_or(Time::MAX, |f| f.completed);
    let mut ends: Vec<_> = members.iter().map(|one| (end(one), Reverse(one.host))).collect();
    ends.sort_unstable();
    let (median, (at, Reverse(last))) = (ends[(ends.len() - 1) / 2].0, ends[ends.len() - 1]);
    let ended = ends.partition_point(|&(end, _)| end < Time::MAX);
    let end = (ended == ends.len()).then(|| End { at, after_median: at.since(median) });
    let computed =
        |member: &Member<'_>| member.record.map_or(Some(Span::ZERO), |r| r.computed(number));
    let computed = end.and_then(|_| members.iter().map(computed).max().flatten());
    Some(Iteration { start, ended, last, computed, end })
}

impl Member<'_> {
    /// The start of a round, if it has begun.
    fn start(&self, number: usize) -> Option<Time> {
        let ended = self.ended.get(number).map(|round| round.posted);
        ended.or_else(|| Some(self.under_way.get(number - self.ended.len())?.posted))
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::Bytes;

    use super::*;
    use crate::application::{Outcome, Post};
    use crate::part::{Peer, Script};
    use crate::steps::{Due, Rounds as Repeated, Timed, Told, Worker};

    /// Rounds that have ended, and the start of one that has not.
    #[derive(Debug)]
    struct Rounds(Vec<Finished>, Option<Time>);

    impl Application for Rounds {
        fn on_outcome(&mut self, _: Time, _: u32, _: Outcome, _: &mut Vec<Post>) {}

        fn finished(&self) -> &[Finished] {
            &self.0
        }

        fn under_way(&self) -> Vec<UnderWay> {
            let (kind, bytes, fan_out, missing, deadline) = (KIND, Bytes::new(10), 4, 1, None);
            let round = |posted| UnderWay { kind, posted, bytes, fan_out, missing, deadline };
            self.1.map(round).into_iter().collect()
        }
    }

    const KIND: &str = "all-reduce";

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn rounds(ended: &[(u64, u64)], under_way: Option<u64>) -> Rounds {
        let (bytes, fan_out, deadline) = (Bytes::new(10), 4, None);
        let round = |&(posted, completed): &(u64, u64)| {
            let (posted, completed) = (at(posted), at(completed));
            Finished { kind: KIND, posted, completed, bytes, fan_out, deadline }
        };
        Rounds(ended.iter().map(round).collect(), under_way.map(at))
    }

    /// The iterations of a job of hosts 5, 6 and so on, each with one application.
    fn iterations(hosts: &[Rounds]) -> Vec<Iteration> {
        let members = (5..).zip(hosts).map(|(host, _)| (host, 0)).collect();
        let job = Job { traffic: 0, members, kept: None };
        job.iterations(|host, _| &hosts[host as usize - 5]).collect()
    }

    fn ended(start: u64, last: u32, end: u64, after_median: u64) -> Iteration {
        let end = End { at: at(end), after_median: Span::from_us(after_median) };
        let computed = Some(Span::ZERO);
        Iteration { start: at(start), ended: 4, last, computed, end: Some(end) }
    }

    #[test]
    fn an_iteration_is_from_the_first_start_to_the_last_end() {
        // In the second one the host that starts late is the last, in the third all end together.
        let found = iterations(&[
            rounds(&[(1, 20), (21, 30), (31, 50)], None),
            rounds(&[(1, 22), (25, 32), (33, 50)], None),
            rounds(&[(2, 27), (28, 39), (40, 50)], None),
            rounds(&[(1, 21), (22, 31), (32, 50)], None),
        ]);
        assert_eq!(found, [ended(1, 7, 27, 6), ended(21, 7, 39, 8), ended(31, 5, 50, 0)]);
    }

    #[test]
    fn an_iteration_that_a_host_has_not_ended_has_no_end() {
        // Host 5 is ahead; host 7 is in the second round, and host 8 about to start it.
        let found = iterations(&[
            rounds(&[(1, 20), (21, 30)], Some(31)),
            rounds(&[(1, 20), (21, 33)], None),
            rounds(&[(1, 20)], Some(24)),
            rounds(&[(1, 22)], None),
        ]);
        let open = |start, ended, last| {
            let start = at(start);
            Iteration { start, ended, last, computed: None, end: None }
        };
        assert_eq!(found, [ended(1, 8, 22, 2), open(21, 2, 7), open(31, 0, 5)]);
    }

    #[test]
    fn jobs_of_a_traffic_are_numbered() {
        let job = |traffic| Job { traffic, members: Vec::new(), kept: None };
        let jobs = [job(0), job(2), job(2), job(3)];
        let numbers: Vec<_> = numbered(&jobs).map(|(number, job)| (job.traffic, number)).collect();
        assert_eq!(numbers, [(0, 0), (2, 0), (2, 1), (3, 0)]);
    }

    #[test]
    fn a_job_that_nobody_has_begun_has_no_iteration() {
        assert_eq!(iterations(&[rounds(&[], None), rounds(&[], None)]), []);
    }

    #[derive(Debug)]
    struct NoDues;

    impl Due for NoDues {
        fn due(&mut self, _: u32, _: Bytes) -> Option<Span> {
            None
        }
    }

    /// A rank that computes, then receives from rank 0.
    fn worker(computes_us: u64) -> Worker<NoDues> {
        let mut script = Script::default();
        let computed = script.compute(Span::from_us(computes_us), &[]);
        script.receive(Peer::of(0), &[computed]);
        let timed = Some(Timed { start: at(1), pause: Span::ZERO });
        let told = Some(Told { kind: KIND, bytes: Bytes::new(10), fan_out: 1 });
        let rounds = Repeated { count: 1, timed, told };
        let mut worker =
            Worker::new(script.finish(None).steps, Vec::new(), rounds, NoDues).recording(true);
        worker.on_timer(at(1), &mut Vec::new());
        worker.on_timer(at(1 + computes_us), &mut Vec::new());
        worker
    }

    #[test]
    fn an_iteration_knows_the_longest_computation_and_a_job_the_steps_that_wait() {
        let mut workers = [worker(5), worker(7)];
        let job = Job { traffic: 0, members: vec![(0, 0), (1, 0)], kept: None };
        let awaiting = Awaiting { step: 1, slot: 0, outcome: Outcome::Received };
        let found = job.awaiting(|host, _| &workers[host as usize]);
        assert_eq!(found, [(0, 0, awaiting), (1, 0, awaiting)]);
        workers[0].on_outcome(at(9), 0, Outcome::Received, &mut Vec::new());
        let iterations = |workers: &[Worker<NoDues>]| {
            let own = |host: u32, _| -> &dyn Application { &workers[host as usize] };
            job.iterations(own).map(|iteration| iteration.computed).collect::<Vec<_>>()
        };
        assert_eq!(iterations(&workers), [None]);
        assert_eq!(job.awaiting(|host, _| &workers[host as usize]), [(1, 0, awaiting)]);
        workers[1].on_outcome(at(9), 0, Outcome::Received, &mut Vec::new());
        assert_eq!(iterations(&workers), [Some(Span::from_us(7))]);
    }
}
