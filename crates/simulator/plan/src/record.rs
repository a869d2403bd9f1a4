//! Records of workers: the time that a host computed in each round, and the end of each step.
//!
//! The computing time is always kept, for it costs a few instructions a computation. Ends of steps
//! are kept where someone asks for them ([`Record::keep_steps`]), since they take memory.

use incast_cc::{Span, Time};

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The moment.
    pub at: Time,
    /// The number of the step in its round.
    pub step: u32,
}

/// A worker's record.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The start of each round that has begun.
    starts: Vec<Time>,
    /// The computing time of each round that has ended.
    computed: Vec<Span>,
    /// The computing time of the round under way, without the computation under way.
    busy: Span,
    /// The number of computations under way, and the time since when there is one.
    computing: u32,
    since: Time,
    /// The ends of steps, in the order of ending: those of the first round, of the second, and so
    /// on, each round with all of its steps.
    ends: Option<Vec<Ended>>,
}

impl Record {
    /// Keeps the end of each step from now on.
    pub fn keep_steps(&mut self) {
        self.ends = Some(Vec::new());
    }

    /// Notes the start of a round.
    pub(crate) fn began(&mut self, now: Time) {
        self.starts.push(now);
    }

    /// Notes the start of a computation.
    pub(crate) fn computes(&mut self, now: Time) {
        if self.computing == 0 {
            self.since = now;
        }
        self.computing += 1;
    }

    /// Notes the end of a computation.
    pub(crate) fn computed_one(&mut self, now: Time) {
        self.computing -= 1;
        if self.computing == 0 {
            self.busy += now.since(self.since);
        }
    }

    /// Notes the end of a step.
    pub(crate) fn ended(&mut self, at: Time, step: u32) {
        if let Some(ends) = &mut self.ends {
            ends.push(Ended { at, step });
        }
    }

    /// Notes the end of a round.
    pub(crate) fn ended_round(&mut self) {
        self.computed.push(std::mem::take(&mut self.busy));
    }

    /// The time in a round that has ended for which the host computed: computations side by side
    /// count once.
    pub fn computed(&self, round: usize) -> Option<Span> {
        self.computed.get(round).copied()
    }

    /// The start of each round that has begun.
    pub fn starts(&self) -> &[Time] {
        &self.starts
    }

    /// The ends of steps, if they were kept.
    pub fn ends(&self) -> Option<&[Ended]> {
        self.ends.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn computations_side_by_side_count_once() {
        let mut record = Record::default();
        // From 1 to 4 one or two, from 6 to 7 one; then a round that computes nothing.
        record.computes(at(1));
        record.computes(at(2));
        record.computed_one(at(3));
        record.computed_one(at(4));
        record.computes(at(6));
        record.computed_one(at(7));
        record.ended_round();
        record.ended_round();
        let of = |round| record.computed(round);
        assert_eq!([of(0), of(1), of(2)], [Some(Span::from_us(4)), Some(Span::ZERO), None]);
    }

    #[test]
    fn ends_are_kept_where_someone_asks_for_them() {
        let mut record = Record::default();
        record.ended(at(1), 0);
        assert_eq!(record.ends(), None);
        record.keep_steps();
        record.ended(at(2), 1);
        assert_eq!(record.ends(), Some(&[Ended { at: at(2), step: 1 }][..]));
    }
}
