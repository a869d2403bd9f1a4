//! The critical path of an iteration: the chain of messages and computations that it lasted for.
//!
//! The search begins at the end. The last step of the last host began when another step had ended,
//! or ended when a message arrived, which its sender had posted when a step there had ended, and so
//! on to a step that waited for nothing.

use std::collections::BTreeMap;

use incast_cc::Time;

use crate::application::Outcome;
use crate::part::{Part, Peer};
use crate::record::Ended;
use crate::steps::{Step, Steps};

/// A rank of a job whose ends of steps were kept.
#[derive(Clone, Copy, Debug)]
pub struct Rank<'a> {
    /// The rank's part.
    pub part: &'a Part,
    /// The ends of its steps, of all rounds.
    pub ends: &'a [Ended],
    /// The start of each round that has begun.
    pub starts: &'a [Time],
}

/// A step that a rank has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The round.
    pub round: usize,
    /// The number of the step in its round.
    pub step: u32,
    /// The moment from which on nothing but its own work held it up.
    pub ready: Time,
    /// The end of the step.
    pub end: Time,
    /// The number of its message among all on its connection, of steps that have one.
    pub message: u32,
}

/// A part of a critical path. Parts follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The kind.
    pub kind: StretchKind,
    /// The rank that computes, or that sends.
    pub rank: u32,
    /// The beginning: of a message the moment of posting.
    pub start: Time,
    /// The end.
    pub end: Time,
}

/// The kind of a part of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchKind {
    /// A rank computes.
    Compute,
    /// A message is on its way, from posting to arrival, or to its acknowledgement at the sender.
    Message {
        /// The place of the far end among the sender's.
        to: u32,
        /// The number of the message among all to this far end.
        message: u32,
        /// The end that counts: its arrival or its acknowledgement.
        until: Outcome,
    },
}

/// The steps that the ranks of a job have ended, looked up by what happened to them.
#[derive(Debug)]
pub struct Trail<'a> {
    ranks: &'a [Rank<'a>],
    /// The steps of each rank that have ended, in the order of ending.
    done: Vec<Vec<Done>>,
    /// For each rank the places of its steps that send, by far end and in order.
    sent: Vec<Vec<Vec<usize>>>,
    /// The end before each step that made it ready, by its place among the rank's.
    causes: Vec<Vec<Option<usize>>>,
}

impl<'a> Trail<'a> {
    /// The trail of these ranks, by number.
    pub fn of(ranks: &'a [Rank<'a>]) -> Self {
        let all = ranks.iter().map(Rank::done);
        let (done, causes): (Vec<_>, Vec<_>) = all.unzip();
        let sent = ranks.iter().zip(&done).map(|(rank, done)| {
            let mut sent = vec![Vec::new(); rank.part.to.len()];
            for (place, one) in done.iter().enumerate() {
                if let Step::Send { to, .. } = rank.step(one) {
                    sent[to as usize].push(place);
                }
            }
            sent
        });
        Self { ranks, sent: sent.collect(), done, causes }
    }

    /// The steps of a rank that have ended, in the order of ending.
    pub fn done(&self, rank: u32) -> &[Done] {
        &self.done[rank as usize]
    }

    /// The critical path of a round that `last` ended last, from its beginning to its end.
    pub fn critical_path(&self, last: u32, round: usize) -> Vec<Stretch> {
        let mut found = Vec::new();
        let steps = self.ranks[last as usize].part.steps.all().len();
        // The last step of the round, if it has ended.
        let mut here = self.done(last).len().min((round + 1) * steps).checked_sub(1);
        let mut rank = last;
        while let Some(place) = here {
            let done = self.done(rank)[place];
            if done.round != round {
                break;
            }
            let of = &self.ranks[rank as usize];
            here = self.causes[rank as usize][place];
            let (start, end) = (done.ready, done.end);
            match of.step(&done) {
                Step::Send { .. } => {}
                // An outcome that came early held nothing up, nor did a stream that was free.
                _ if start == end => {}
                // While a step waits for a stream, another one computes there.
                Step::Compute(_) | Step::Claim { .. } => {
                    found.push(Stretch { kind: StretchKind::Compute, rank, start, end });
                }
                Step::Await { slot, outcome } => {
                    let sender = self.sender(rank, slot, outcome, done.message);
                    let Some((from, to, posted)) = sender else { break };
                    let kind = StretchKind::Message { to, message: done.message, until: outcome };
                    let start = self.done(from)[posted].end;
                    found.push(Stretch { kind, rank: from, start, end });
                    (rank, here) = (from, Some(posted));
                }
            }
        }
        found.reverse();
        found
    }

    /// The rank that sent the message of an outcome, the far end's place there, and the place of
    /// the step that posted it.
    fn sender(
        &self,
        rank: u32,
        slot: u32,
        outcome: Outcome,
        message: u32,
    ) -> Option<(u32, u32, usize)> {
        let (from, to) = match outcome {
            Outcome::Sent => (rank, slot),
            Outcome::Received => {
                let far = self.ranks[rank as usize].part.from[slot as usize];
                let back = Peer { rank, lane: far.lane };
                let places = &self.ranks[far.rank as usize].part.to;
                (far.rank, u32::try_from(places.iter().position(|own| *own == back)?).ok()?)
            }
        };
        let posted = self.sent[from as usize][to as usize].get(message as usize)?;
        Some((from, to, *posted))
    }
}

impl Rank<'_> {
    fn step(&self, done: &Done) -> Step {
        self.part.steps.all()[done.step as usize]
    }

    /// The steps that have ended, and the end before each that made it ready, by its place.
    fn done(&self) -> (Vec<Done>, Vec<Option<usize>>) {
        let steps = &self.part.steps;
        let mut messages: BTreeMap<(u32, Option<Outcome>), u32> = BTreeMap::new();
        let (mut done, mut all) = (Vec::new(), Vec::new());
        for (round, ends) in self.ends.chunks(steps.all().len().max(1)).enumerate() {
            let causes = causes(steps, ends);
            let before = done.len();
            for &Ended { at, step } in ends {
                let cause = causes[step as usize];
                let ready = cause.map_or(self.starts[round], |place| ends[place].at);
                let key = match steps.all()[step as usize] {
                    Step::Send { to, .. } => Some((to, None)),
                    Step::Await { slot, outcome } => Some((slot, Some(outcome))),
                    Step::Compute(_) | Step::Claim { .. } => None,
                };
                let message = key.map_or(0, |key| {
                    let next = messages.entry(key).or_default();
                    *next += 1;
                    *next - 1
                });
                done.push(Done { round, step, ready, end: at, message });
                all.push(cause.map(|place| before + place));
            }
        }
        (done, all)
    }
}

/// The end by which each step of a round became ready, by its place among `ends`, which are those
/// of the round; [`None`] for steps that were ready from its start, and for those that were not yet
/// ready. By step.
fn causes(steps: &Steps, ends: &[Ended]) -> Vec<Option<usize>> {
    let mut left = steps.needs().to_vec();
    let mut causes = vec![None; left.len()];
    for (place, ended) in ends.iter().enumerate() {
        for &follower in steps.after(ended.step) {
            let left = &mut left[follower as usize];
            if *left == 1 {
                causes[follower as usize] = Some(place);
            }
            *left = left.saturating_sub(1);
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use incast_cc::Span;

    use super::*;
    use crate::part::Script;
    use crate::steps::Listing;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn ends(of: &[(u64, u32)]) -> Vec<Ended> {
        of.iter().map(|&(us, step)| Ended { at: at(us), step }).collect()
    }

    #[test]
    fn a_step_is_ready_by_the_last_that_it_needs_or_by_the_first_of_several() {
        let mut list = Listing::default();
        let step = Step::Compute(Span::from_us(1));
        let (one, two) = (list.after(&[], step), list.after(&[], step));
        let all = list.after(&[one, two], step);
        let any = list.after_any(&[one, two], step);
        let late = list.after(&[all, any], step);
        let ends = [(1, two), (3, any), (4, one)].map(|(us, step)| Ended { at: at(us), step });
        let causes = causes(&list.finish(), &ends);
        assert_eq!(causes[all as usize], Some(2));
        assert_eq!(causes[any as usize], Some(0));
        assert_eq!(causes[late as usize], None, "one that it needs has not ended");
        assert_eq!(causes[one as usize], None, "it was ready from the start");
    }

    /// Rank 0 computes for 5 us and sends, rank 1 computes for 2 us, awaits the message, and
    /// computes for 1 us.
    fn two_ranks() -> [Part; 2] {
        let mut first = Script::default();
        let computed = first.compute(Span::from_us(5), &[]);
        first.send(Peer::of(1), 100, &[computed]);
        let mut second = Script::default();
        let computed = second.compute(Span::from_us(2), &[]);
        let arrived = second.receive(Peer::of(0), &[computed]);
        second.compute(Span::from_us(1), &[arrived]);
        [first.finish(None), second.finish(None)]
    }

    fn path(of: [&[(u64, u32)]; 2], starts: &[Time], last: u32, round: usize) -> Vec<Stretch> {
        let (parts, ends) = (two_ranks(), of.map(ends));
        let rank = |place: usize| Rank { part: &parts[place], ends: &ends[place], starts };
        Trail::of(&[rank(0), rank(1)]).critical_path(last, round)
    }

    fn computes(rank: u32, start: u64, end: u64) -> Stretch {
        Stretch { kind: StretchKind::Compute, rank, start: at(start), end: at(end) }
    }

    fn message(number: u32, start: u64, end: u64) -> Stretch {
        let kind = StretchKind::Message { to: 0, message: number, until: Outcome::Received };
        Stretch { kind, rank: 0, start: at(start), end: at(end) }
    }

    #[test]
    fn a_message_leads_to_the_computation_of_its_sender() {
        let found = path([&[(5, 0), (5, 1)], &[(2, 0), (9, 1), (10, 2)]], &[at(0)], 1, 0);
        assert_eq!(found, [computes(0, 0, 5), message(0, 5, 9), computes(1, 9, 10)]);
    }

    #[test]
    fn a_message_that_came_early_held_nothing_up() {
        // Rank 1 begins its second round at 20, long after the message has come.
        let rounds: [&[_]; 2] = [
            &[(5, 0), (5, 1), (12, 0), (12, 1)],
            &[(2, 0), (9, 1), (10, 2), (22, 0), (22, 1), (23, 2)],
        ];
        let found = path(rounds, &[at(0), at(20)], 1, 1);
        assert_eq!(found, [computes(1, 20, 22), computes(1, 22, 23)]);
    }

    #[test]
    fn an_acknowledgement_leads_back_to_the_own_send() {
        let mut script = Script::default();
        let sent = script.send(Peer::of(1), 100, &[]);
        script.acknowledged(Peer::of(1), &[sent]);
        let part = script.finish(None);
        let (ends, starts) = (ends(&[(3, 0), (7, 1)]), [at(3)]);
        let empty = Part { steps: Arc::default(), to: Vec::new(), from: Vec::new() };
        let other = Rank { part: &empty, ends: &[], starts: &[] };
        let ranks = [Rank { part: &part, ends: &ends, starts: &starts }, other];
        let kind = StretchKind::Message { to: 0, message: 0, until: Outcome::Sent };
        let expected = Stretch { kind, rank: 0, start: at(3), end: at(7) };
        assert_eq!(Trail::of(&ranks).critical_path(0, 0), [expected]);
    }

    #[test]
    fn a_round_that_nobody_has_begun_has_no_path() {
        assert_eq!(path([&[], &[]], &[], 1, 0), []);
    }
}
