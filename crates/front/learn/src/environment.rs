//! An environment: a run in which some flows are a learner's.

use std::sync::{Arc, Mutex};

use incast_cc::guest::Guest;
use incast_cc::line_rate::LineRate;
use incast_cc::{AnyAlgorithm, Span};
use incast_sim::scenario::{Document, Scenario, ScenarioError, Scheme, Threads};
use incast_sim::{Report, Simulation, TraceConfig};

use crate::action::Control;
use crate::learners::LearnersAlgorithm;
use crate::observation::Observation;
use crate::policy_control::{Exchange, lock};
use crate::reward::Reward;

/// A flow, or some, that a learner controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learner {
    /// The flow of this number, as results have it.
    Flow(usize),
    /// All flows of the traffic of this name, as results have it.
    Traffic(String),
}

/// The settings of an environment that stay from run to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The flows that are the learner's.
    pub learners: Vec<Learner>,
    /// The scheme of all other flows. All flows have its transport and signal.
    pub others: String,
    /// The control of the learner's flows.
    pub control: Control,
    /// The reward.
    pub reward: Reward,
}

/// The reason why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The scenario or the scheme is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// There is no flow at all.
    #[error("{0}: the scenario has no flows; give it a [[traffic]]")]
    NoFlows(String),
    /// There is no such flow.
    #[error("flow {flow}: no flow to learn with; {scenario} has flows 0 to {last}")]
    UnknownFlow {
        /// The flow that was asked for.
        flow: usize,
        /// The scenario.
        scenario: String,
        /// The last flow that there is.
        last: usize,
    },
    /// No traffic with flows has this name.
    #[error(
        "flows = {name:?}: no traffic of {scenario} with flows has this name; expected {known}"
    )]
    UnknownTraffic {
        /// The name that was asked for.
        name: String,
        /// The scenario.
        scenario: String,
        /// The names that there are.
        known: String,
    },
    /// The traffic of a learner's flow has a scheme of its own.
    #[error(
        "flow {flow}: its traffic {traffic} has a scheme of its own, which no learner replaces; \
         take scheme out of it"
    )]
    OwnScheme {
        /// The flow that was asked for.
        flow: usize,
        /// The name of its traffic.
        traffic: String,
    },
    /// A flow was named twice.
    #[error("flow {0} is named twice; name it once")]
    Twice(usize),
    /// The run is shorter than an interval.
    #[error("{scenario}: run.duration is shorter than an interval of {interval_us} us")]
    Short {
        /// The scenario.
        scenario: String,
        /// The length of an interval in microseconds.
        interval_us: f64,
    },
}

/// A run in which some flows are a learner's, and the runs that follow it. The learner's algorithm,
/// some 200 bytes, is kept for as long as the process lives.
pub struct Environment {
    setup: Setup,
    learners: LearnersAlgorithm,
    guest: Guest,
    run: Option<Simulation>,
    /// The flows of the learner, and their exchanges.
    flows: Vec<usize>,
    exchanges: Vec<Arc<Mutex<Exchange>>>,
    /// The number of steps that were taken.
    steps: u64,
}

impl Drop for Environment {
    fn drop(&mut self) {
        // The algorithm stays: it gives up its exchanges.
        self.learners.begin(AnyAlgorithm::LineRate(LineRate::default()));
    }
}

impl Environment {
    /// An environment whose first run has yet to begin.
    pub fn new(setup: Setup) -> Self {
        let learners =
            LearnersAlgorithm::new(setup.control, AnyAlgorithm::LineRate(LineRate::default()));
        let guest = learners.keep();
        Self {
            setup,
            learners,
            guest,
            run: None,
            flows: Vec::new(),
            exchanges: Vec::new(),
            steps: 0,
        }
    }

    /// Begins a run. Observations are [`Observation::NONE`] until the first step.
    ///
    /// # Errors
    /// The scheme of the others is none, or the scenario has no such flows; there is no run then.
    pub fn reset(&mut self, document: &Document, seed: u64) -> Result<(), LearnError> {
        (self.run, self.steps) = (None, 0);
        (self.flows, self.exchanges) = (Vec::new(), Vec::new());
        let scenario = document.scenario();
        if scenario.run.duration < self.setup.control.interval {
            let interval_us = self.setup.control.interval.as_us_f64();
            return Err(LearnError::Short { scenario: document.name().to_owned(), interval_us });
        }
        let others = scenario.scheme(&self.setup.others)?;
        self.learners.begin(others.algorithm);
        let scheme = Scheme { algorithm: AnyAlgorithm::Guest(self.guest), ..others };
        let name = (self.setup.others.as_str(), scheme);
        let run = Simulation::under(scenario, name, seed, TraceConfig::default());
        let run = run.in_threads(Threads::Count(1));
        self.flows = self.wanted(document.name(), scenario, &run)?;
        let seeds = self.flows.iter().map(|&flow| run.seed_of_flow(flow));
        self.exchanges = seeds.map(|seed| self.learners.exchange(seed)).collect();
        self.run = Some(run);
        Ok(())
    }

    /// The learner's flows of a run.
    fn wanted(
        &self,
        name: &str,
        scenario: &Scenario,
        run: &Simulation,
    ) -> Result<Vec<usize>, LearnError> {
        let Some(last) = run.flows().checked_sub(1) else {
            return Err(LearnError::NoFlows(name.to_owned()));
        };
        let mut wanted = Vec::new();
        for learner in &self.setup.learners {
            match learner {
                &Learner::Flow(flow) if flow <= last => wanted.push(flow),
                &Learner::Flow(flow) => {
                    let scenario = name.to_owned();
                    return Err(LearnError::UnknownFlow { flow, scenario, last });
                }
                Learner::Traffic(traffic) => {
                    let names: Vec<_> =
                        (0..scenario.traffic.len()).map(|n| scenario.traffic_name(n)).collect();
                    let before = wanted.len();
                    let is = |&flow: &usize| names[run.traffic_of_flow(flow)] == *traffic;
                    wanted.extend((0..=last).filter(is));
                    if wanted.len() == before {
                        let (name, scenario) = (traffic.clone(), name.to_owned());
                        let known = names.join(", ");
                        return Err(LearnError::UnknownTraffic { name, scenario, known });
                    }
                }
            }
        }
        let has_own =
            |&&flow: &&usize| scenario.traffic[run.traffic_of_flow(flow)].common.scheme.is_some();
        if let Some(&flow) = wanted.iter().find(has_own) {
            let traffic = scenario.traffic_name(run.traffic_of_flow(flow));
            return Err(LearnError::OwnScheme { flow, traffic });
        }
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(LearnError::Twice(pair[0])),
            None => Ok(wanted),
        }
    }

    /// The learner's flows of the present run, by their numbers in results.
    pub fn flows(&self) -> &[usize] {
        &self.flows
    }

    /// The present run, if one has begun.
    pub const fn run(&self) -> Option<&Simulation> {
        self.run.as_ref()
    }

    /// Takes a step: sets the actions of all learner's flows, and simulates an interval. Without a
    /// run nothing happens.
    ///
    /// # Panics
    /// There are not as many actions as flows.
    pub fn step(&mut self, actions: &[f32]) {
        let Some(run) = &mut self.run else { return };
        assert_eq!(actions.len(), self.exchanges.len(), "an action for each flow");
        for (exchange, &action) in self.exchanges.iter().zip(actions) {
            lock(exchange).action = Some(action);
        }
        self.steps += 1;
        let until = self.setup.control.interval.as_ps().saturating_mul(self.steps);
        run.run_until(Span::from_ps(until - 1));
    }

    /// The observation of a flow, the reward, and whether the flow has ended. A flow that has ended
    /// gives no more observations.
    pub fn outcome(&self, agent: usize) -> (Observation, f64, bool) {
        let exchange = lock(&self.exchanges[agent]);
        if exchange.has_ended() {
            return (Observation::NONE, 0.0, true);
        }
        (exchange.observation, self.setup.reward.of(&exchange.observation), false)
    }

    /// Whether the run has come to its end: less than an interval is left.
    pub fn is_over(&self) -> bool {
        let left = |run: &Simulation| {
            let interval = self.setup.control.interval.as_ps();
            interval.saturating_mul(self.steps + 1) > run.duration().as_ps()
        };
        self.run.as_ref().is_none_or(left)
    }

    /// The time simulated so far: a whole number of intervals.
    pub fn simulated(&self) -> Span {
        Span::from_ps(self.setup.control.interval.as_ps().saturating_mul(self.steps))
    }

    /// Simulates the rest of the run under the last actions, and reports the whole run. Nothing
    /// without a run.
    pub fn finish(&mut self) -> Option<Report> {
        let mut run = self.run.take()?;
        run.run_until(run.duration());
        Some(run.finish())
    }
}
