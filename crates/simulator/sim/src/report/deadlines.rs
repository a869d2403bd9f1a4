//! Deadlines of messages and requests: met or not, and by how much.

use incast_cc::{Span, Time};

/// A message or request with its deadline, if it has one, in a run that ended at `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) posted: Time,
    /// The time from posting to the deadline.
    pub(super) deadline: Option<Span>,
    pub(super) completed: Option<Time>,
    pub(super) end: Time,
}

impl Timing {
    /// Whether the deadline was met; [`None`] without one, and if it could still be met when the
    /// run ended.
    pub(super) fn met(&self) -> Option<bool> {
        let taken = self.completed.unwrap_or(self.end).since(self.posted);
        let in_time = taken <= self.deadline?;
        match self.completed {
            Some(_) => Some(in_time),
            None => (!in_time).then_some(false),
        }
    }

    /// The time from the deadline to the completion in microseconds, below zero before it; not a
    /// number without one of the two.
    pub(super) fn late_us(&self) -> f64 {
        let late = |(completed, deadline): (Time, Span)| {
            completed.since(self.posted).as_us_f64() - deadline.as_us_f64()
        };
        self.completed.zip(self.deadline).map_or(f64::NAN, late)
    }
}

/// The deadlines of a run that had been met or missed by its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judged {
    pub(super) deadlines: u64,
    pub(super) met: u64,
    /// The number of late messages and requests, and the sum of their delays.
    late: u64,
    late_us: f64,
}

impl Judged {
    pub(super) fn add(&mut self, timing: &Timing) {
        let Some(met) = timing.met() else { return };
        self.deadlines += 1;
        self.met += u64::from(met);
        let late_us = timing.late_us();
        if late_us > 0.0 {
            self.late += 1;
            self.late_us += late_us;
        }
    }

    /// The share of the deadlines that were missed, in percent.
    pub(super) fn missed_percent(&self) -> f64 {
        100.0 * (self.deadlines - self.met) as f64 / self.deadlines as f64
    }

    /// The mean delay of late messages and requests.
    pub(super) fn late_mean_us(&self) -> f64 {
        self.late_us / self.late as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(deadline: Option<u64>, completed: Option<u64>) -> Timing {
        let at = |us| Time::ZERO + Span::from_us(us);
        let (deadline, completed) = (deadline.map(Span::from_us), completed.map(at));
        Timing { posted: at(10), deadline, completed, end: at(100) }
    }

    #[test]
    fn a_deadline_is_met_missed_or_still_open() {
        assert_eq!(timing(None, Some(50)).met(), None);
        assert_eq!(timing(Some(40), Some(50)).met(), Some(true), "at the very instant");
        assert_eq!(timing(Some(39), Some(50)).met(), Some(false));
        assert_eq!(timing(Some(89), None).met(), Some(false), "it has passed");
        assert_eq!(timing(Some(90), None).met(), None, "it has not");
        assert_eq!(timing(Some(30), Some(50)).late_us(), 10.0);
        assert_eq!(timing(Some(60), Some(50)).late_us(), -20.0);
        assert!(timing(Some(60), None).late_us().is_nan());
    }

    #[test]
    fn a_run_counts_what_was_decided_and_how_late_the_late_were() {
        let mut judged = Judged::default();
        assert!(judged.missed_percent().is_nan() && judged.late_mean_us().is_nan());
        for (deadline, completed) in [
            (Some(40), Some(50)), // met
            (Some(30), Some(50)), // 10 us late
            (Some(10), Some(50)), // 30 us late
            (Some(20), None),     // missed, never complete
            (Some(200), None),    // open
            (None, Some(50)),
        ] {
            judged.add(&timing(deadline, completed));
        }
        assert_eq!((judged.deadlines, judged.met), (4, 1));
        assert_eq!((judged.missed_percent(), judged.late_mean_us()), (75.0, 20.0));
    }
}
