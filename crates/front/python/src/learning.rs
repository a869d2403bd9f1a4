//! Environments for learning, and trees as algorithms.

use std::sync::{Arc, Mutex, PoisonError};

use incast_cc::{AnyAlgorithm, Span};
use incast_learn::{Control, FEATURES, LearnError, Learner, Reward, Setup, Tree, TreeError};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::algorithms::Algorithm;
use crate::control;
use crate::errors::{ParameterError, ScenarioError, raise};
use crate::run::Run;
use crate::scenario::Scenario;

/// Runs in which some flows are a learner's, which take a step side by side in threads.
///
/// Arrays travel as bytes of native order. Each has an entry, or a row of features, for each flow
/// of each environment: environment by environment, flow by flow.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Environments {
    environments: Mutex<incast_learn::Environments>,
}

/// Features, measures, rewards and ends of all flows, and the environments that are over.
type State<'py> = (
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Vec<bool>,
);

#[pymethods]
impl Environments {
    /// Environments of the same settings.
    ///
    /// `flows` are numbers of flows or names of traffic; `reward` has the weights of throughput,
    /// latency and loss. Raises `ParameterError` where a setting cannot be.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "named ones, of Python")]
    #[pyo3(signature = (count, *, threads, flows, others, interval, action, step, initial, reward))]
    fn new(
        count: usize,
        threads: usize,
        flows: Vec<Flow>,
        others: String,
        interval: &str,
        action: &str,
        step: f64,
        initial: f64,
        reward: [f64; 3],
    ) -> PyResult<Self> {
        let length: Span = interval
            .parse()
            .map_err(|error| ParameterError::new_err(format!("interval = {interval:?} {error}")))?;
        let control = Control::of(length, action, step, initial)
            .map_err(|error| ParameterError::new_err(error.to_string()))?;
        let [throughput, latency, loss] = reward;
        let reward = Reward { throughput, latency, loss };
        let learners = flows.into_iter().map(Learner::from).collect();
        let setup = Setup { learners, others, control, reward };
        let environments = incast_learn::Environments::new(&setup, count, threads)
            .map_err(|error| PyOSError::new_err(format!("{threads} threads: {error}")))?;
        Ok(Self { environments: Mutex::new(environments) })
    }

    /// Begins a run of an environment, and returns the numbers of the learner's flows.
    ///
    /// Raises `ParameterError` where the scenario has no such flows, or the scheme of the others is
    /// none, and `ScenarioError` where it has no flows at all.
    fn reset(
        &self,
        py: Python<'_>,
        number: usize,
        scenario: &Scenario,
        seed: u64,
    ) -> PyResult<Vec<usize>> {
        let document = Arc::clone(&scenario.document);
        py.detach(|| {
            let mut environments = self.lock();
            environments.reset(number, &document, seed)?;
            Ok(environments.flows(number).to_vec())
        })
        .map_err(|error: LearnError| match error {
            LearnError::Scenario(error) => raise(error),
            LearnError::NoFlows(_) => ScenarioError::new_err(error.to_string()),
            _ => ParameterError::new_err(error.to_string()),
        })
    }

    /// Simulates an interval in each environment that `takes` is true for.
    ///
    /// `actions` are 32-bit numbers, one for each flow of all environments. The GIL is released.
    /// Raises `ParameterError` where there are too few or too many, and `AlgorithmError` where the
    /// others' algorithm is of Python and has raised an exception.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts a list by value")]
    fn step(&self, py: Python<'_>, actions: &Bound<'_, PyBytes>, takes: Vec<bool>) -> PyResult<()> {
        let given = actions.as_bytes().chunks_exact(4);
        let actions: Vec<f32> = given
            .map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        py.detach(|| {
            let mut environments = self.lock();
            let flows: usize = (0..environments.len()).map(|n| environments.flows(n).len()).sum();
            if (actions.len(), takes.len()) != (flows, environments.len()) {
                return Err(format!(
                    "{} actions for {} environments; expected {flows} for {}",
                    actions.len(),
                    takes.len(),
                    environments.len()
                ));
            }
            environments.step(&actions, &takes);
            Ok(())
        })
        .map_err(ParameterError::new_err)?;
        let failure = self.lock().runs().find_map(|run| control::failure(py, run));
        failure.map_or(Ok(()), Err)
    }

    /// The arrays of the last step, and whether environments are over.
    ///
    /// Features are 32-bit numbers, measures and rewards 64-bit numbers; whether flows have ended
    /// are bytes.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let environments = self.lock();
        let features: Vec<f32> = environments.features().collect();
        let measures: Vec<f64> = environments.measures().collect();
        let rewards: Vec<f64> = environments.rewards().collect();
        let ended: Vec<u8> = environments.ended().map(u8::from).collect();
        Ok((
            filled(py, &features, f32::to_ne_bytes)?,
            filled(py, &measures, f64::to_ne_bytes)?,
            filled(py, &rewards, f64::to_ne_bytes)?,
            PyByteArray::new(py, &ended),
            environments.over().collect(),
        ))
    }

    /// The time simulated in each environment, in seconds.
    fn simulated(&self) -> Vec<f64> {
        self.lock().simulated().collect()
    }

    /// Simulates what is left of a run under the last actions, and reports the whole of it.
    ///
    /// None where no run has begun, or it was reported before.
    fn finish(&self, py: Python<'_>, number: usize) -> Option<Run> {
        py.detach(|| self.lock().finish(number)).map(Run::from)
    }
}

impl Environments {
    fn lock(&self) -> std::sync::MutexGuard<'_, incast_learn::Environments> {
        self.environments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A flow by its number, or the flows of a traffic by its name.
#[derive(FromPyObject)]
enum Flow {
    Number(usize),
    Traffic(String),
}

impl From<Flow> for Learner {
    fn from(flow: Flow) -> Self {
        match flow {
            Flow::Number(number) => Self::Flow(number),
            Flow::Traffic(name) => Self::Traffic(name),
        }
    }
}

/// An array of these numbers, which may be written to.
fn filled<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    numbers: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, numbers.len() * N, |buffer| {
        for (place, &number) in buffer.chunks_exact_mut(N).zip(numbers) {
            place.copy_from_slice(&bytes(number));
        }
        Ok(())
    })
}

/// Name, unit, scale, least and greatest value, and definition of a feature.
type Described = (&'static str, &'static str, &'static str, f32, f32, &'static str);

/// Name, unit, scale, bounds and definition of each feature of an observation.
#[pyfunction]
pub(crate) fn observation_features() -> Vec<Described> {
    let all = FEATURES.iter();
    all.map(|one| (one.name, one.unit, one.scale, one.low, one.high, one.doc)).collect()
}

/// Makes a decision tree known as an algorithm by this name, and returns its description.
///
/// `text` is JSON as `incast.learning.Tree` writes it. Raises `ParameterError` where it is none, or
/// another algorithm has the name.
#[pyfunction]
pub(crate) fn know_tree(name: &str, text: &str) -> PyResult<Algorithm> {
    let wrong = |error: TreeError| ParameterError::new_err(format!("{name}: {error}"));
    let tree = Tree::parse(text).map_err(wrong)?;
    let guest = incast_learn::make_known(name, tree).map_err(wrong)?;
    Ok(Algorithm::of(AnyAlgorithm::Guest(guest)))
}

/// Raises `ParameterError` where the text is no decision tree.
#[pyfunction]
pub(crate) fn check_tree(text: &str) -> PyResult<()> {
    Tree::parse(text).map(drop).map_err(|error| ParameterError::new_err(error.to_string()))
}
