//! Many environments that take a step side by side, and their observations in one array.

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::environment::{Environment, LearnError, Setup};
use crate::observation::WIDTH;

/// An environment, and the results of its last step.
struct Place {
    environment: Environment,
    features: Vec<[f32; WIDTH]>,
    measures: Vec<[f64; WIDTH]>,
    rewards: Vec<f64>,
    /// For each flow whether it has ended.
    ended: Vec<bool>,
}

impl Place {
    fn read(&mut self, after_a_step: bool) {
        let agents = self.environment.flows().len();
        self.features.resize(agents, [0.0; WIDTH]);
        self.measures.resize(agents, [0.0; WIDTH]);
        self.rewards.resize(agents, 0.0);
        self.ended.resize(agents, false);
        for agent in 0..agents {
            let (observation, reward, ended) = self.environment.outcome(agent);
            self.features[agent] = observation.features;
            self.measures[agent] = observation.measures;
            self.rewards[agent] = if after_a_step { reward } else { 0.0 };
            self.ended[agent] = ended;
        }
    }
}

/// Environments of the same settings that take a step in one call, over several threads. Results do
/// not depend on the number of threads.
pub struct Environments {
    places: Vec<Place>,
    pool: Option<ThreadPool>,
}

impl Environments {
    /// This many environments, which take their steps in this many threads.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn new(setup: &Setup, count: usize, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let place = |_| Place {
            environment: Environment::new(setup.clone()),
            features: Vec::new(),
            measures: Vec::new(),
            rewards: Vec::new(),
            ended: Vec::new(),
        };
        let threads = threads.min(count);
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        Ok(Self { places: (0..count).map(place).collect(), pool: pool.transpose()? })
    }

    /// The number of environments.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Begins a run of an environment; see [`Environment::reset`].
    ///
    /// # Errors
    /// As there.
    pub fn reset(
        &mut self,
        number: usize,
        document: &Document,
        seed: u64,
    ) -> Result<(), LearnError> {
        let place = &mut self.places[number];
        place.environment.reset(document, seed)?;
        place.read(false);
        Ok(())
    }

    /// Takes a step in each environment that `takes` names, with an action for each flow of each
    /// environment, environment by environment.
    ///
    /// # Panics
    /// There are not as many actions as flows, or entries of `takes` as environments.
    pub fn step(&mut self, actions: &[f32], takes: &[bool]) {
        assert_eq!(takes.len(), self.places.len(), "a word for each environment");
        let mut rest = actions;
        let mut turns = Vec::with_capacity(takes.len());
        for (place, &takes) in self.places.iter_mut().zip(takes) {
            let (own, others) = rest.split_at(place.environment.flows().len());
            rest = others;
            if takes {
                turns.push((place, own));
            }
        }
        let turn = |(place, actions): (&mut Place, &[f32])| {
            place.environment.step(actions);
            place.read(true);
        };
        match &self.pool {
            Some(pool) => pool.install(|| turns.into_par_iter().with_max_len(1).for_each(turn)),
            None => turns.into_iter().for_each(turn),
        }
    }

    /// The learner's flows of an environment.
    pub fn flows(&self, number: usize) -> &[usize] {
        self.places[number].environment.flows()
    }

    /// The present runs.
    pub fn runs(&self) -> impl Iterator<Item = &Simulation> {
        self.places.iter().filter_map(|place| place.environment.run())
    }

    /// All features: environment by environment, flow by flow, in the order of
    /// [`FEATURES`](crate::FEATURES).
    pub fn features(&self) -> impl Iterator<Item = f32> + '_ {
        self.places.iter().flat_map(|place| place.features.as_flattened().iter().copied())
    }

    /// All measured values in their units, in the order of [`features`](Self::features).
    pub fn measures(&self) -> impl Iterator<Item = f64> + '_ {
        self.places.iter().flat_map(|place| place.measures.as_flattened().iter().copied())
    }

    /// The reward of each flow of each environment, of the last step; 0 after a reset.
    pub fn rewards(&self) -> impl Iterator<Item = f64> + '_ {
        self.places.iter().flat_map(|place| place.rewards.iter().copied())
    }

    /// Whether each flow of each environment has ended.
    pub fn ended(&self) -> impl Iterator<Item = bool> + '_ {
        self.places.iter().flat_map(|place| place.ended.iter().copied())
    }

    /// Whether the run of each environment is over.
    pub fn over(&self) -> impl Iterator<Item = bool> + '_ {
        self.places.iter().map(|place| place.environment.is_over())
    }

    /// The time simulated in each environment, in seconds.
    pub fn simulated(&self) -> impl Iterator<Item = f64> + '_ {
        self.places.iter().map(|place| place.environment.simulated().as_secs_f64())
    }

    /// Simulates the rest of a run, and reports the run; see [`Environment::finish`].
    pub fn finish(&mut self, number: usize) -> Option<Report> {
        self.places[number].environment.finish()
    }
}
