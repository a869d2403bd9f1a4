//! Steps: a host's actions and the order between them, once or round by round.
//!
//! A step sends a message, computes for a time, or awaits that a message arrives or is
//! acknowledged. It begins when the steps that it waits for have ended. Collectives, pipelines and
//! traces of jobs are all of this kind. A round is never unrolled: each begins with the same steps,
//! which hosts may share.

mod waiting;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use incast_cc::{Bytes, Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::application::{Application, Awaiting, Finished, Outcome, Post, UnderWay};
use crate::random::below;
use crate::record::Record;
use waiting::{Opening, Waiting};

/// A step of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Posts a message, which ends the step at once.
    Send {
        /// The connection, by its place among the [`Worker`]'s connections.
        to: u32,
        /// Payload, or [`ENDLESS`](crate::application::ENDLESS).
        bytes: u64,
    },
    /// Takes the next outcome of this kind on a slot: the first of such steps that is ready gets
    /// the first outcome. An outcome that came before waits for its step.
    Await {
        /// The slot.
        slot: u32,
        /// The outcome.
        outcome: Outcome,
    },
    /// Takes this time.
    Compute(Span),
    /// Takes a stream of the host for a time, and ends where that begins: streams are taken one
    /// after another, in the order in which steps ask for them.
    Claim {
        /// The stream.
        stream: u32,
        /// The time for which it is taken.
        span: Span,
    },
}

/// The steps of a round, each with the steps that wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    all: Vec<Step>,
    /// The number of steps whose end each step waits for.
    needs: Vec<u32>,
    /// The first entry of each step in `followers`, and the end of the last.
    first: Vec<u32>,
    followers: Vec<u32>,
    /// The number of slots.
    slots: usize,
    /// The number of streams.
    streams: usize,
}

/// Steps that are being listed.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    steps: Vec<Step>,
    needs: Vec<u32>,
    /// Pairs of a step and a step that waits for it, in the order of listing.
    edges: Vec<(u32, u32)>,
}

impl Listing {
    /// Adds a step that begins when all of `after` have ended, or at the start of the round.
    pub fn after(&mut self, after: &[u32], step: Step) -> u32 {
        self.step(after, after.len(), step)
    }

    /// Adds a step that begins when the first of `after` has ended.
    pub fn after_any(&mut self, after: &[u32], step: Step) -> u32 {
        self.step(after, 1, step)
    }

    #[expect(clippy::cast_possible_truncation, reason = "as many steps do not fit the memory")]
    fn step(&mut self, after: &[u32], needs: usize, step: Step) -> u32 {
        let number = self.steps.len() as u32;
        self.steps.push(step);
        self.needs.push(needs as u32);
        self.edges.extend(after.iter().map(|&before| (before, number)));
        number
    }

    /// The steps, ready to be done.
    #[expect(clippy::cast_possible_truncation, reason = "as many steps do not fit the memory")]
    pub fn finish(mut self) -> Steps {
        self.edges.sort_by_key(|&(before, _)| before);
        let first = |step: usize| {
            self.edges.partition_point(|&(before, _)| (before as usize) < step) as u32
        };
        let first = (0..=self.steps.len()).map(first).collect();
        let slots = self.steps.iter().map(|step| match step {
            Step::Await { slot, .. } => *slot as usize + 1,
            _ => 0,
        });
        let streams = self.steps.iter().map(|step| match step {
            Step::Claim { stream, .. } => *stream as usize + 1,
            _ => 0,
        });
        Steps {
            slots: slots.max().unwrap_or(0),
            streams: streams.max().unwrap_or(0),
            followers: self.edges.into_iter().map(|(_, follower)| follower).collect(),
            all: self.steps,
            needs: self.needs,
            first,
        }
    }
}

impl Steps {
    /// Whether a step awaits an outcome of this kind on a slot.
    pub fn awaits(&self, outcome: Outcome) -> bool {
        let awaits =
            |step: &Step| matches!(step, Step::Await { outcome: own, .. } if *own == outcome);
        self.all.iter().any(awaits)
    }

    /// The number of messages that a round takes in.
    pub fn arrivals(&self) -> usize {
        let arrives = |step: &&Step| matches!(step, Step::Await { outcome: Outcome::Received, .. });
        self.all.iter().filter(arrives).count()
    }

    /// The steps, by number.
    pub fn all(&self) -> &[Step] {
        &self.all
    }

    /// The number of steps whose end each step waits for.
    pub(crate) fn needs(&self) -> &[u32] {
        &self.needs
    }

    /// The steps that wait for one.
    pub(crate) fn after(&self, step: u32) -> &[u32] {
        let [first, end] = [step, step + 1].map(|step| self.first[step as usize] as usize);
        &self.followers[first..end]
    }
}

/// The repetitions of a worker's steps.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The number of rounds.
    pub count: u64,
    /// The start of the first round; [`None`] begins each as soon as it may, without a timer.
    pub timed: Option<Timed>,
    /// The things that results say of each round; [`None`] where they are silent.
    pub told: Option<Told>,
}

impl Rounds {
    /// A single round from the beginning of the run on, of which results say nothing.
    pub const ONCE: Self = Self { count: 1, timed: None, told: None };
}

/// The times of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The start of the first round.
    pub start: Time,
    /// The time from the end of a round to the start of the next.
    pub pause: Span,
}

/// The facts of a round that results tell.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// The kind's name.
    pub kind: &'static str,
    /// Payload.
    pub bytes: Bytes,
    /// The number of messages that a round takes.
    pub fan_out: u32,
}

/// A source of deadlines for the messages that a worker sends.
pub trait Due: Debug + Send {
    /// The deadline of the message of a step.
    fn due(&mut self, step: u32, bytes: Bytes) -> Option<Span>;
}

/// A host that does its steps.
#[derive(Debug)]
pub struct Worker<D> {
    steps: Arc<Steps>,
    connections: Vec<u32>,
    rounds: Rounds,
    dues: D,
    /// The steps that each step of the round still waits for.
    left: Vec<u32>,
    /// The number of steps of the round that have not ended, and of messages that have not come.
    open: usize,
    missing: u32,
    /// The steps that await an outcome.
    waiting: Waiting,
    /// The steps that compute or wait for a stream, with their ends.
    computing: BinaryHeap<Reverse<(Time, u32)>>,
    /// The time until which each stream is taken.
    taken: Vec<Time>,
    /// The connections that are not open yet.
    opening: Opening,
    /// The most that is added to the time before a round, and the generator that draws it.
    jitter: Option<(Span, Pcg64Mcg)>,
    /// Steps that may begin.
    ready: VecDeque<u32>,
    /// The start of the round under way, or of the next one.
    starts: Time,
    /// The number of rounds that have ended.
    ended: u64,
    finished: Vec<Finished>,
    record: Record,
}

impl<D: Due> Worker<D> {
    /// A worker that posts on these connections.
    ///
    /// # Panics
    /// When a round without a time sends or computes before it awaits anything.
    pub fn new(steps: Arc<Steps>, connections: Vec<u32>, rounds: Rounds, dues: D) -> Self {
        let streams = steps.streams;
        let starts = rounds.timed.as_ref().map_or(Time::ZERO, |timed| timed.start);
        let mut worker = Self {
            left: Vec::new(),
            open: 0,
            missing: 0,
            waiting: Waiting::new(&steps),
            computing: BinaryHeap::new(),
            taken: vec![Time::ZERO; streams],
            opening: Opening::default(),
            jitter: None,
            ready: VecDeque::new(),
            starts,
            ended: 0,
            finished: Vec::new(),
            record: Record::default(),
            steps,
            connections,
            rounds,
            dues,
        };
        if worker.rounds.timed.is_none() {
            let mut posts = Vec::new();
            worker.begin(Time::ZERO, &mut posts);
            assert!(posts.is_empty() && worker.computing.is_empty(), "it begins by awaiting");
        }
        worker
    }

    /// This worker, which keeps the end of each step if `kept`.
    #[must_use]
    pub fn recording(mut self, kept: bool) -> Self {
        if kept {
            self.record.keep_steps();
        }
        self
    }

    /// This worker, whose rounds each begin later by a random time of up to `most`.
    #[must_use]
    pub fn with_jitter(mut self, most: Span, random: Pcg64Mcg) -> Self {
        if most > Span::ZERO {
            self.jitter = Some((most, random));
            let late = self.draw_jitter();
            self.starts += late;
        }
        self
    }

    /// This worker, which takes a time to set up a connection before its first message on it.
    #[must_use]
    pub fn with_set_up(mut self, takes: Span) -> Self {
        self.opening = Opening::new(takes, self.connections.len());
        self
    }

    fn draw_jitter(&mut self) -> Span {
        let draw = |(most, random): &mut (Span, Pcg64Mcg)| below(random, most.as_ps() + 1);
        Span::from_ps(self.jitter.as_mut().map_or(0, draw))
    }

    /// Whether a round is under way.
    const fn runs(&self) -> bool {
        self.open > 0
    }

    /// Begins the next round.
    #[expect(clippy::cast_possible_truncation, reason = "as many steps do not fit the memory")]
    fn begin(&mut self, now: Time, posts: &mut Vec<Post>) {
        let steps = Arc::clone(&self.steps);
        self.starts = now;
        self.record.began(now);
        self.left.clone_from(&steps.needs);
        self.open = steps.all.len();
        self.missing = steps.arrivals() as u32;
        let free = (0..).zip(&steps.needs).filter(|(_, needs)| **needs == 0);
        self.ready.extend(free.map(|(step, _): (u32, _)| step));
        self.go_on(now, posts);
    }

    /// Runs all steps that are ready, and ends the round with its last step.
    fn go_on(&mut self, now: Time, posts: &mut Vec<Post>) {
        while let Some(step) = self.ready.pop_front() {
            match self.steps.all[step as usize] {
                Step::Send { to, bytes } => {
                    if self.opening.holds(now, to, step) {
                        continue;
                    }
                    let connection = self.connections[to as usize];
                    let deadline = self.dues.due(step, Bytes::new(bytes));
                    posts.push(Post { at: now, connection, bytes, deadline });
                    self.end(now, step);
                }
                Step::Await { slot, outcome } => {
                    if self.waiting.begin(slot, outcome, step) {
                        self.missing -= u32::from(outcome == Outcome::Received);
                        self.end(now, step);
                    }
                }
                Step::Compute(Span::ZERO) => self.end(now, step),
                Step::Compute(span) => {
                    self.record.computes(now);
                    self.computing.push(Reverse((now + span, step)));
                }
                Step::Claim { stream, span } => {
                    let taken = &mut self.taken[stream as usize];
                    let begins = (*taken).max(now);
                    *taken = begins + span;
                    if begins > now {
                        self.computing.push(Reverse((begins, step)));
                    } else {
                        self.end(now, step);
                    }
                }
            }
        }
        if !self.runs() {
            self.end_round(now, posts);
        }
    }

    /// Ends a step, and makes the steps that waited for it alone ready.
    fn end(&mut self, now: Time, step: u32) {
        self.record.ended(now, step);
        self.open -= 1;
        for &follower in self.steps.after(step) {
            let left = &mut self.left[follower as usize];
            if *left > 0 {
                *left -= 1;
                if *left == 0 {
                    self.ready.push_back(follower);
                }
            }
        }
    }

    fn end_round(&mut self, now: Time, posts: &mut Vec<Post>) {
        self.ended += 1;
        self.record.ended_round();
        if let Some(Told { kind, bytes, fan_out }) = self.rounds.told {
            let (posted, completed, deadline) = (self.starts, now, None);
            self.finished.push(Finished { kind, posted, completed, bytes, fan_out, deadline });
        }
        match &self.rounds.timed {
            Some(Timed { pause, .. }) => {
                let pause = *pause;
                self.starts = now + pause + self.draw_jitter();
            }
            None if self.ended < self.rounds.count => self.begin(now, posts),
            None => {}
        }
    }
}

impl<D: Due> Application for Worker<D> {
    fn next_timer(&self) -> Time {
        let next = self.computing.peek().map_or(Time::MAX, |&Reverse((at, _))| at);
        let next = next.min(self.opening.next());
        let begins = !self.runs() && self.ended < self.rounds.count;
        if begins { next.min(self.starts) } else { next }
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Post>) {
        while let Some(&Reverse((at, step))) = self.computing.peek()
            && at <= now
        {
            self.computing.pop();
            if matches!(self.steps.all[step as usize], Step::Compute(_)) {
                self.record.computed_one(now);
            }
            self.end(now, step);
            self.go_on(now, posts);
        }
        while let Some(step) = self.opening.opened(now) {
            self.ready.push_back(step);
            self.go_on(now, posts);
        }
        if self.next_timer() <= now {
            self.begin(now, posts);
        }
    }

    fn on_outcome(&mut self, now: Time, slot: u32, outcome: Outcome, posts: &mut Vec<Post>) {
        if let Some(step) = self.waiting.end(slot, outcome) {
            self.missing -= u32::from(outcome == Outcome::Received);
            self.end(now, step);
            self.go_on(now, posts);
        }
    }

    fn finished(&self) -> &[Finished] {
        &self.finished
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let told = self.rounds.told.filter(|_| self.runs());
        let round = told.map(|Told { kind, bytes, fan_out }| {
            let (posted, missing, deadline) = (self.starts, self.missing, None);
            UnderWay { kind, posted, bytes, fan_out, missing, deadline }
        });
        round.into_iter().collect()
    }

    fn record(&self) -> Option<&Record> {
        Some(&self.record)
    }

    fn awaiting(&self) -> Vec<Awaiting> {
        self.waiting.all()
    }

    fn begun(&self) -> u64 {
        if self.rounds.told.is_some() { self.ended + u64::from(self.runs()) } else { 0 }
    }
}

#[cfg(test)]
mod tests;
