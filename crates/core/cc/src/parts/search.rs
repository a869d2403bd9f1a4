//! The shell of the two PCCs: a search for a better rate, one monitor interval after the other.

use super::{Prober, Report, Setup, Trial, Trials};
use crate::contract::{Ack, CongestionControl, Flow, Limits, Loss, Sent, Spurious};

/// The phases of a search; `M` is the state of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase<M> {
    /// Doubles the rate. Holds the best trial so far.
    Starting(Trial),
    /// Tries a higher and a lower rate, in pairs.
    Trying(Trials),
    /// Moves up or down.
    Moving(M),
}

/// A prober with the phase and the rate of its search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search<M> {
    /// The sender of monitor intervals.
    pub prober: Prober,
    /// The phase of the search.
    pub phase: Phase<M>,
    /// The rate under trial, or the one around which trials are made, in bits per second.
    pub rate_bps: f64,
}

impl<M> Search<M> {
    fn new(flow: &Flow, setup: Setup) -> Self {
        let prober = Prober::new(flow, setup);
        let rate_bps = prober.initial_bps();
        Self { prober, phase: Phase::Starting(Trial::before(rate_bps)), rate_bps }
    }

    /// Doubles from the rate of now.
    pub fn restart(&mut self) {
        self.phase = Phase::Starting(Trial::before(self.rate_bps));
    }

    /// Tries `pairs` of rates that are higher and lower by the part `epsilon`.
    pub fn try_around(&mut self, pairs: u32, epsilon: f64) {
        self.phase = Phase::Trying(self.prober.trials(pairs, self.rate_bps, epsilon));
    }

    /// The rate of the next monitor interval, if there is one to send before results come in.
    pub(crate) fn next_bps(&self) -> Option<f64> {
        match &self.phase {
            Phase::Trying(trials) => trials.next(self.prober.pending()),
            _ => (self.prober.pending() == 0).then_some(self.rate_bps),
        }
    }
}

/// The rules that are an algorithm's own. [`SearchControl`] does the rest.
pub trait SearchLaw: Sized {
    /// The state of a move.
    type Move: Copy;

    /// The utility of a monitor interval.
    fn utility(&self, report: &Report) -> f64;

    /// Tries a rate above the search's and one below it.
    fn probe(&self, search: &mut Search<Self::Move>);

    /// Decides where to go, as the last trial is in.
    fn on_trials(&mut self, search: &mut Search<Self::Move>, trials: &Trials);

    /// Decides how to go on after the move `made`, of which `trial` is the result.
    fn on_move(&mut self, search: &mut Search<Self::Move>, made: Self::Move, trial: Trial);

    /// The rate while results are awaited, in bits per second.
    fn holding_bps(&self, search: &Search<Self::Move>) -> f64 {
        search.rate_bps
    }

    /// Calls `emit` with the gauges that the search itself does not have.
    fn gauges(&self, _emit: &mut dyn FnMut(&'static str, f64)) {}
}

/// A flow that searches for its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchControl<L: SearchLaw> {
    /// The search, with the monitor intervals that are under way.
    pub search: Search<L::Move>,
    /// The algorithm's own rules and state.
    pub law: L,
}

impl<L: SearchLaw> SearchControl<L> {
    /// A search that starts by doubling the first rate.
    pub fn new(flow: &Flow, setup: Setup, law: L) -> Self {
        Self { search: Search::new(flow, setup), law }
    }

    pub(crate) fn on_report(&mut self, report: &Report) {
        let Self { search, law } = self;
        let trial = Trial { rate_bps: report.rate_bps, utility: law.utility(report) };
        match &mut search.phase {
            Phase::Starting(best) => {
                if best.improve(trial) {
                    search.rate_bps = search.prober.clamp(search.rate_bps * 2.0);
                } else {
                    search.rate_bps = search.prober.clamp(best.rate_bps);
                    law.probe(search);
                }
            }
            Phase::Trying(trials) => {
                if trials.add(trial.utility) {
                    let trials = *trials;
                    law.on_trials(search, &trials);
                }
            }
            Phase::Moving(made) => {
                let made = *made;
                law.on_move(search, made, trial);
            }
        }
    }

    fn take_reports(&mut self) {
        while let Some(report) = self.search.prober.report() {
            self.on_report(&report);
        }
    }
}

impl<L: SearchLaw> CongestionControl for SearchControl<L> {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if self.search.prober.on_ack(ack) {
            self.search.rate_bps = self.search.prober.initial_bps();
            self.search.restart();
        }
        self.take_reports();
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.search.prober.on_loss(loss);
        self.take_reports();
    }

    fn on_sent(&mut self, sent: &Sent) {
        let (next_bps, holding_bps) = (self.search.next_bps(), self.law.holding_bps(&self.search));
        self.search.prober.on_sent(sent, next_bps, holding_bps);
    }

    fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.search.prober.on_spurious_loss(spurious);
    }

    fn limits(&self) -> Limits {
        self.search.prober.limits()
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("rate_gbps", self.search.prober.rate().as_gbps_f64());
        emit("base_rate_gbps", self.search.rate_bps / 1e9);
        self.law.gauges(emit);
    }
}
