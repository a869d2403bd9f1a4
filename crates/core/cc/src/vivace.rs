//! PCC Vivace: climbs the gradient of a utility of rate, latency and loss.
//!
//! Dong, Meng, Zarchy, Arslan, Gilad, Godfrey and Schapira, "PCC Vivace: Online-Learning Congestion
//! Control", NSDI 2018. As in [`crate::allegro`] the flow sends for about a round trip at one rate,
//! and a utility makes one number of what came of it; here one that is concave in the rate and pays
//! for a rising RTT as well as for loss, so that senders with it have one equilibrium and need no
//! loss to find it. Trials of a higher and a lower rate give the gradient of the utility; the rate
//! moves along it, by more the longer it has moved the same way (the confidence amplifier), but by
//! no more than a share of itself that grows as it is reached (the dynamic change boundary).
//! `docs/algorithms/vivace.md` has the equations, the sources of the constants, and the departures.

use crate::caution::{Caution, PathFacts};
use crate::contract::{Algorithm, Flow};
use crate::param::{Configurable, Info, Kind, Preset, Transport};
use crate::parts::{Phase, Report, Search, SearchControl, SearchLaw, Setup, Trial, Trials};
use crate::units::{Fraction, Rate, Span};
use crate::{configurable_by_name, parameters};

/// Shorthand of the parameter sources.
macro_rules! src {
    (paper) => {
        "PCC Vivace, NSDI 2018, and released code, PCC-Uspace"
    };
    (code) => {
        "released code, PCC-Uspace"
    };
}

parameters! {
    /// Vivace's parameters. The default is the preset `released-code`.
    pub struct Vivace {
        /// Exponent of the rate in the utility.
        pub exponent: Fraction = Fraction::from_ratio(9, 10), in "0.01" to "1", source src!(paper);
        /// Cost of a rising RTT.
        pub latency_cost: Fraction = Fraction::from_ratio(900, 1), in "0" to "4000",
            source src!(paper);
        /// Cost of loss.
        pub loss_cost: Fraction = Fraction::from_ratio(1_135, 100), in "0" to "4000",
            source src!(paper);
        /// RTT gradients below count as none.
        pub latency_filter: Fraction = Fraction::from_ratio(1, 100), in "0" to "1",
            source "this project, after the low-pass filter of PCC Vivace, NSDI 2018";
        /// Distance of the trials from the rate.
        pub epsilon: Fraction = Fraction::from_ratio(5, 100), in "0.0001" to "0.5",
            source src!(code);
        /// Pairs of trials: most of them must want more, or all of them less.
        pub pairs: u32 = 3, in "1" to "3", source src!(code);
        /// Mb/s that one of gradient moves the rate by.
        pub conversion: Fraction = Fraction::ONE, in "0.001" to "1000", source src!(code);
        /// Exponent of the confidence amplifier.
        pub amplifier: Fraction = Fraction::from_ratio(12, 10), in "0" to "3", source src!(code);
        /// The change boundary at first, a share of the rate.
        pub boundary: Fraction = Fraction::from_ratio(5, 100), in "0.0001" to "0.5",
            source src!(code);
        /// Growth of the boundary when a change would exceed it.
        pub boundary_step: Fraction = Fraction::from_ratio(5, 100), in "0" to "0.5",
            source src!(code);
        /// The least change.
        pub min_change: Rate = Rate::from_bps(500_000), in "0bps" to "1Tbps", source src!(code);
        /// The rate never falls below.
        pub min_rate: Rate = Rate::from_bps(500_000), in "1bps" to "1Tbps", source src!(code);
        /// The length of a monitor interval, in RTTs.
        pub interval: Fraction = Fraction::ONE, in "0.1" to "10", source src!(code);
        /// Transmissions that an interval has at least: packets of a stream, segments of messages.
        pub min_packets: u32 = 5, in "2" to "1000", source src!(code);
        /// Packets of the first RTT; at 0 the flow's initial window.
        pub initial_packets: u32 = 0, in "0" to "1000", source src!(code);
        /// The RTT before the first sample, where the operator knows none.
        pub initial_rtt: Span = Span::from_ms(1), in "1us" to "1s", source "this project";
    }
}

impl Algorithm for Vivace {
    type Control = VivaceControl;
    const NAME: &'static str = "vivace";

    fn start(&self, flow: &Flow) -> VivaceControl {
        let setup = Setup {
            initial_packets: self.initial_packets,
            initial_rtt: self.initial_rtt,
            min_rate: self.min_rate,
            length: (self.interval, self.interval),
            min_packets: self.min_packets,
        };
        SearchControl::new(flow, setup, VivaceLaw { params: *self, raised: 0 })
    }
}

impl Configurable for Vivace {
    const INFO: Info = Info {
        name: Self::NAME,
        summary: "the rate climbs the gradient of a utility of throughput, RTT and loss",
        kind: Kind::Rate,
        signal: "RTT gradient and loss of monitor intervals",
        needs: &[],
        transport: Transport::Stream,
        source: "Dong et al., NSDI 2018",
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "released-code",
            source: "PCC-Uspace, its Vivace sender and utility",
            values: &[],
        },
        Preset {
            name: "loss-only",
            source: "PCC Vivace, NSDI 2018: the utility without latency",
            values: &[("latency_cost", "0")],
        },
    ];
    configurable_by_name!();

    fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
        path.least_rate("min_rate", self.min_rate, emit);
        let effect = "rates change more slowly than the queue that they answer";
        let least = path.segment * u64::from(self.min_packets);
        // Where no packet is dropped, a utility without latency answers no queue.
        if path.queue.is_some() || self.latency_cost > Fraction::ZERO {
            path.coarse(("an interval has", least), effect, emit);
        }
        let packets = path.share.time_for(path.mss * u64::from(self.min_packets));
        let interval = path.network_rtt.max(packets).as_secs_f64();
        let noise = path.jitter.as_secs_f64() / interval.max(1e-9);
        if self.latency_cost > Fraction::ZERO && noise > self.latency_filter.as_f64() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive and below a thousand"
            )]
            let noise = Fraction::from_ratio((noise.min(1.0) * 1000.0) as u32 + 1, 1000);
            let (param, value) = ("latency_filter", self.latency_filter);
            emit(Caution::Noise { param, value, noise });
        }
    }
}

impl Vivace {
    /// The utility of an interval: x^0.9 - 900 x dRTT/dt - 11.35 x L, with x in Mb/s and the
    /// gradient no less than zero.
    fn utility(&self, report: &Report) -> f64 {
        let sent_mbps = report.sent_bps / 1e6;
        // A slope is noise if the samples lie further from its line than the line rises in all.
        let noise = report.rtt_slope <= report.rtt_error.max(self.latency_filter.as_f64());
        let rtt_slope = if noise { 0.0 } else { report.rtt_slope };
        let cost = self.latency_cost.as_f64() * rtt_slope + self.loss_cost.as_f64() * report.loss;
        libm::pow(sent_mbps, self.exponent.as_f64()) - sent_mbps * cost
    }
}

/// A flow under Vivace.
pub type VivaceControl = SearchControl<VivaceLaw>;

/// The rules of Vivace and the state of one flow beside its search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VivaceLaw {
    params: Vivace,
    /// The number of times by which the change boundary is raised.
    raised: u32,
}

/// A move along the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    up: bool,
    /// The rounds in which the gradient has pointed the same way.
    rounds: u32,
    /// The trial before the last change.
    before: Trial,
}

impl VivaceLaw {
    /// The change of the rate by a `gradient`, utility per Mb/s: within the boundary, which widens
    /// when it is reached and narrows when it is not.
    fn change_bps(&mut self, rate_bps: f64, gradient: f64, amplifier: f64) -> f64 {
        let change_bps = self.params.conversion.as_f64() * gradient * amplifier * 1e6;
        let boundary = self.params.boundary.as_f64()
            + self.params.boundary_step.as_f64() * f64::from(self.raised);
        let most_bps = boundary * rate_bps;
        self.raised = if change_bps > most_bps {
            self.raised.saturating_add(1)
        } else {
            self.raised.saturating_sub(1)
        };
        change_bps.min(most_bps).max(self.params.min_change.as_bps() as f64)
    }
}

impl SearchLaw for VivaceLaw {
    type Move = Move;

    fn utility(&self, report: &Report) -> f64 {
        self.params.utility(report)
    }

    fn probe(&self, search: &mut Search<Move>) {
        search.try_around(self.params.pairs, self.params.epsilon.as_f64());
    }

    /// Moves to what won, and from there along the gradient.
    fn on_trials(&mut self, search: &mut Search<Move>, trials: &Trials) {
        let (higher, lower) = trials.votes();
        let up = higher > trials.count() / 2;
        let at_floor = search.prober.at_floor(search.rate_bps);
        if up || lower == trials.count() {
            let sign = if up { 1.0 } else { -1.0 };
            // Of the pairs that agree, over the number of all.
            let mut gain = 0.0;
            let mut before = Trial::default();
            let mut distance_bps = 0.0;
            for (high, low) in trials.pairs() {
                if (high.utility - low.utility) * sign > 0.0 {
                    gain += (high.utility - low.utility).abs() / trials.count() as f64;
                    distance_bps = high.rate_bps - low.rate_bps;
                    before = if up { high } else { low };
                }
            }
            search.rate_bps = before.rate_bps;
            self.raised = 0;
            let change_bps = self.change_bps(search.rate_bps, gain * 1e6 / distance_bps, 1.0);
            search.rate_bps = search.prober.clamp(search.rate_bps + sign * change_bps);
            search.phase = Phase::Moving(Move { up, rounds: 1, before });
        } else {
            self.probe(search);
        }
        // From the floor it starts anew, once a probe has not led away.
        if at_floor && search.prober.at_floor(search.rate_bps) {
            self.raised = 0;
            search.restart();
        }
    }

    /// Goes on as long as the gradient points the same way, back by one change and to new
    /// trials when it does not.
    fn on_move(&mut self, search: &mut Search<Move>, made: Move, trial: Trial) {
        let Move { up, rounds, before } = made;
        let gradient = (trial.utility - before.utility) * 1e6 / (trial.rate_bps - before.rate_bps);
        if !gradient.is_finite() {
            // At a bound, the rate did not change.
            self.probe(search);
            return;
        }
        let onwards = if up { gradient > 0.0 } else { gradient < 0.0 };
        let rounds = rounds.saturating_add(u32::from(onwards));
        // Every second round counts: 1, 1, 2, 2, 3 ... to the power of 1.2.
        let confidence = f64::from(rounds.saturating_add(1) / 2);
        let amplifier = libm::pow(confidence, self.params.amplifier.as_f64());
        let change_bps = self.change_bps(search.rate_bps, gradient.abs(), amplifier);
        let sign = if up == onwards { 1.0 } else { -1.0 };
        search.rate_bps = search.prober.clamp(search.rate_bps + sign * change_bps);
        if onwards {
            search.phase = Phase::Moving(Move { up, rounds, before: trial });
        } else {
            self.probe(search);
        }
    }
}

#[cfg(test)]
mod tests;
