//! PCC Allegro: tries a higher and a lower rate, and moves to the one that was worth more.
//!
//! Dong, Li, Zarchy, Godfrey and Schapira, "PCC: Re-architecting Congestion Control for Consistent
//! High Performance", NSDI 2015. No single packet says what to do. The flow sends for about a round
//! trip at one rate, a monitor interval, and a utility makes one number of the throughput and loss
//! that came of it. It doubles the rate as long as that pays; then it tries a little more and a
//! little less, twice in random order so that chance is not taken for an effect; and it moves, in
//! growing steps, as long as the utility rises. Senders with this utility share a bottleneck
//! fairly, with less than 5 % lost. `docs/algorithms/allegro.md` has the equations, the sources of
//! the constants, and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Algorithm, Flow};
use crate::param::{Configurable, Conflict, Info, Kind, Preset, Transport};
use crate::parts::{Phase, Report, Search, SearchControl, SearchLaw, Setup, Trial, Trials};
use crate::units::{Fraction, Rate, Span};
use crate::{configurable_by_name, parameters};

/// Shorthand of the parameter sources.
macro_rules! src {
    (paper) => {
        "PCC, NSDI 2015"
    };
    (code) => {
        "released code, PCC-Uspace"
    };
}

parameters! {
    /// Allegro's parameters. The default is the preset `nsdi15`.
    pub struct Allegro {
        /// The loss that is borne: around it the sigmoid takes the utility away.
        pub loss_tolerance: Fraction = Fraction::from_ratio(5, 100), in "0" to "1",
            source src!(paper);
        /// Steepness of that sigmoid.
        pub loss_slope: Fraction = Fraction::from_ratio(100, 1), in "0" to "4000",
            source src!(paper);
        /// Steepness of a second sigmoid, which takes the utility away when the RTT grows in an
        /// interval; without it at zero.
        pub rtt_slope: Fraction = Fraction::ZERO, in "0" to "4000", source src!(paper);
        /// Changes of the RTT that count as none.
        pub rtt_tolerance: Fraction = Fraction::from_ratio(5, 100), in "0" to "1",
            source src!(code);
        /// Distance of the trials from the rate at first, and what it grows by when they are
        /// inconclusive.
        pub epsilon_min: Fraction = Fraction::from_ratio(1, 100), in "0.0001" to "0.5",
            source src!(paper);
        /// The largest distance of the trials.
        pub epsilon_max: Fraction = Fraction::from_ratio(5, 100), in "0.0001" to "0.5",
            source src!(paper);
        /// Pairs of trials that must agree.
        pub pairs: u32 = 2, in "1" to "3", source src!(paper);
        /// The nth step of a move is n times this share of the rate.
        pub step: Fraction = Fraction::from_ratio(1, 100), in "0.0001" to "0.5", source src!(paper);
        /// The largest step; the paper sets no bound.
        pub max_step: Fraction = Fraction::from_ratio(1, 10), in "0.0001" to "0.5",
            source src!(code);
        /// The shortest monitor interval, in RTTs; drawn between this and `interval_max`.
        pub interval_min: Fraction = Fraction::from_ratio(17, 10), in "0.1" to "10",
            source src!(paper);
        /// The longest monitor interval, in RTTs.
        pub interval_max: Fraction = Fraction::from_ratio(22, 10), in "0.1" to "10",
            source src!(paper);
        /// Transmissions that an interval has at least: packets of a stream, segments of messages.
        pub min_packets: u32 = 10, in "2" to "1000", source src!(paper);
        /// Packets of the first RTT; at 0 the flow's initial window.
        pub initial_packets: u32 = 2, in "0" to "1000", source src!(paper);
        /// The RTT before the first sample, where the operator knows none.
        pub initial_rtt: Span = Span::from_ms(1), in "1us" to "1s", source "this project";
        /// The rate never falls below.
        pub min_rate: Rate = Rate::from_bps(500_000), in "1bps" to "1Tbps", source src!(code);
    }
}

impl Algorithm for Allegro {
    type Control = AllegroControl;
    const NAME: &'static str = "allegro";

    fn start(&self, flow: &Flow) -> AllegroControl {
        let law = AllegroLaw { params: *self, epsilon: self.epsilon_min.as_f64() };
        SearchControl::new(flow, self.setup(), law)
    }
}

impl Configurable for Allegro {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate moves to what trials show to be worth more in throughput and loss",
        kind: Kind::Rate,
        signal: "throughput and loss of monitor intervals",
        needs: &[],
        transport: Transport::Stream,
        source: "Dong et al., NSDI 2015",
    };
    const PRESETS: &'static [Preset] = &[
        Preset { name: "nsdi15", source: "PCC, NSDI 2015", values: &[] },
        Preset {
            name: "released-code",
            source: "PCC-Uspace, its Allegro utility and rate control",
            values: &[
                ("loss_slope", "1000"),
                ("rtt_slope", "200"),
                ("epsilon_min", "0.05"),
                ("pairs", "3"),
                ("step", "0.02"),
                ("interval_min", "1"),
                ("interval_max", "1"),
                ("min_packets", "5"),
                ("initial_packets", "0"),
            ],
        },
    ];
    configurable_by_name!();

    fn check(&self) -> Result<(), Conflict> {
        let rule = "must not be above";
        if self.epsilon_min > self.epsilon_max {
            return Err(Conflict { name: "epsilon_min", rule, other: "epsilon_max" });
        }
        if self.interval_min > self.interval_max {
            return Err(Conflict { name: "interval_min", rule, other: "interval_max" });
        }
        Ok(())
    }

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_rate("min_rate", self.min_rate, emit);
        let effect = "rates change more slowly than the queue that they answer";
        let least = path.segment * u64::from(self.min_packets);
        // Where no packet is dropped, trials without a price of the RTT answer no queue.
        if path.queue.is_some() || self.rtt_slope > Fraction::ZERO {
            path.coarse(("an interval has", least), effect, emit);
        }
    }
}

impl Allegro {
    /// The utility of an interval, in Mb/s: `T S(L - 5 %) - x L`, with the throughput `T` = `x (1 -
    /// L)` of what was sent at `x` with a loss of `L`; the sigmoid S falls from one to zero.
    fn utility(&self, report: &Report) -> f64 {
        let sent_mbps = report.sent_bps / 1e6;
        let over = report.loss - self.loss_tolerance.as_f64();
        let mut worth = (1.0 - report.loss) * sigmoid(self.loss_slope.as_f64() * over);
        if self.rtt_slope > Fraction::ZERO {
            // Below one when the RTT has grown.
            let change = 1.0 - report.rtt_ratio;
            let change = if change.abs() < self.rtt_tolerance.as_f64() { 0.0 } else { change };
            worth *= sigmoid(self.rtt_slope.as_f64() * change);
        }
        sent_mbps * (worth - report.loss)
    }

    fn setup(&self) -> Setup {
        Setup {
            initial_packets: self.initial_packets,
            initial_rtt: self.initial_rtt,
            min_rate: self.min_rate,
            length: (self.interval_min, self.interval_max),
            min_packets: self.min_packets,
        }
    }
}

/// 1 / (1 + e^y).
fn sigmoid(y: f64) -> f64 {
    1.0 / (1.0 + libm::exp(y))
}

/// A flow under Allegro.
pub type AllegroControl = SearchControl<AllegroLaw>;

/// The rules of Allegro and the state of one flow beside its search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllegroLaw {
    params: Allegro,
    /// The distance of trials.
    epsilon: f64,
}

/// A move up or down in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    up: bool,
    /// The steps so far.
    steps: u32,
    /// The trial before the last step.
    best: Trial,
}

impl AllegroLaw {
    /// The step number `steps` of a move, from the rate of `best`.
    fn step(&self, search: &mut Search<Move>, up: bool, steps: u32, best: Trial) {
        let share = self.params.step.as_f64() * f64::from(steps);
        let share = share.min(self.params.max_step.as_f64());
        let factor = if up { 1.0 + share } else { 1.0 - share };
        search.rate_bps = search.prober.clamp(best.rate_bps * factor);
        search.phase = Phase::Moving(Move { up, steps, best });
    }
}

impl SearchLaw for AllegroLaw {
    type Move = Move;

    fn utility(&self, report: &Report) -> f64 {
        self.params.utility(report)
    }

    fn probe(&self, search: &mut Search<Move>) {
        search.try_around(self.params.pairs, self.epsilon);
    }

    /// If every pair says the same, that is the way to go.
    fn on_trials(&mut self, search: &mut Search<Move>, trials: &Trials) {
        let (higher, lower) = trials.votes();
        let up = higher == trials.count();
        let winner = trials.pairs().last().map(|(high, low)| if up { high } else { low });
        match winner {
            Some(winner) if up || lower == trials.count() => {
                self.epsilon = self.params.epsilon_min.as_f64();
                self.step(search, up, 1, winner);
            }
            _ => {
                let epsilon = self.epsilon + self.params.epsilon_min.as_f64();
                self.epsilon = epsilon.min(self.params.epsilon_max.as_f64());
                self.probe(search);
            }
        }
    }

    fn on_move(&mut self, search: &mut Search<Move>, made: Move, trial: Trial) {
        if trial.utility > made.best.utility {
            self.step(search, made.up, made.steps.saturating_add(1), trial);
        } else {
            search.rate_bps = made.best.rate_bps;
            self.probe(search);
        }
    }

    /// A rate that is known to be good.
    fn holding_bps(&self, search: &Search<Move>) -> f64 {
        match &search.phase {
            Phase::Starting(best) => best.rate_bps,
            Phase::Trying(_) => search.rate_bps,
            Phase::Moving(made) => search.rate_bps.min(made.best.rate_bps),
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("epsilon", self.epsilon);
    }
}

#[cfg(test)]
mod tests;
