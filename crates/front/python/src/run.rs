//! Runs and their tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use incast_sim::scenario::Threads;
use incast_sim::{Figure, LargePages, Report, Simulation};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control;
use crate::errors::{ParameterError, raise};
use crate::heard::{Raised, heard};
use crate::scenario::Scenario;
use crate::table::Table;
use crate::traces::trace_config;

/// Events between two calls of `progress`: some 10 to 30 a second, more in several threads.
const EVENTS_PER_CALL: u64 = 1 << 19;

/// The number of events between two checks for a signal: as many as take some hundredths of a
/// second. That is few while connections are opened, since a host opens all connections that it
/// posts on in a single event.
struct Pace {
    events: u64,
    /// The number of events at the last call of `progress`.
    told: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { events: 1 << 5, told: 0 }
    }
}

impl Pace {
    #[expect(
        clippy::disallowed_methods,
        reason = "how often the caller is looked at changes no result"
    )]
    fn advance(&mut self, simulation: &mut Simulation) -> bool {
        let began = Instant::now();
        let more = simulation.advance(self.events);
        let took = began.elapsed();
        if took < Duration::from_millis(20) {
            self.events = (self.events * 2).min(EVENTS_PER_CALL);
        } else if took > Duration::from_millis(100) {
            self.events = (self.events / 4).max(1 << 3);
        }
        more
    }

    /// Whether to report progress at this number of events.
    fn tells(&mut self, events: u64) -> bool {
        let tells = events >= self.told + EVENTS_PER_CALL;
        if tells {
            self.told = events;
        }
        tells
    }
}

/// The run of one scheme in one scenario.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Run {
    /// The report, without its tables.
    report: Report,
    tables: Arc<[incast_sim::Table]>,
}

impl From<Report> for Run {
    fn from(mut report: Report) -> Self {
        let tables = std::mem::take(&mut report.tables).into();
        Self { report, tables }
    }
}

#[pymethods]
impl Run {
    /// `algorithm` or `algorithm:preset`.
    #[getter]
    fn scheme(&self) -> &str {
        &self.report.scheme
    }

    /// The seed that was used.
    #[getter]
    fn seed(&self) -> u64 {
        self.report.seed
    }

    /// Whether the simulation reached its end.
    #[getter]
    fn complete(&self) -> bool {
        self.report.complete
    }

    /// The figures of the whole run, units in the keys.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, figure) in self.report.summary.entries() {
            match figure {
                Figure::Number(number) => dict.set_item(name, number)?,
                Figure::Count(count) => dict.set_item(name, count)?,
            }
        }
        Ok(dict)
    }

    /// The interval of the time series in microseconds.
    #[getter]
    fn series_interval_us(&self) -> f64 {
        self.report.interval.as_us_f64()
    }

    /// All tables of the run, traces included.
    #[getter]
    fn tables(&self) -> Vec<Table> {
        Table::each(&self.tables)
    }

    fn __repr__(&self) -> String {
        let ended = if self.report.complete { "" } else { ", incomplete" };
        format!("Run({:?}, seed {}{ended})", self.report.scheme, self.report.seed)
    }
}

/// Simulates one scheme.
///
/// `threads` is `auto` or a number, in place of what the scenario says; results are the same.
///
/// `progress(simulated_seconds, events)` is called some 20 to 50 times a second, and at the end;
/// when it returns False, or at Ctrl-C, the run stops with what there is and says `complete` False.
/// The GIL is released between calls. Ctrl-C while the network is built, or while results are made
/// of what was simulated, raises `KeyboardInterrupt` at once.
///
/// With `only_posting` no message is sent, which is enough for the ideal, and for the list of what
/// is posted; where applications post, all is simulated.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts a list by value")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[pyo3(signature = (scenario, scheme, *, seed = None, traces = Vec::new(), threads = None, progress = None, only_posting = false))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    scheme: &str,
    seed: Option<u64>,
    traces: Vec<String>,
    threads: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
    only_posting: bool,
) -> PyResult<Run> {
    let document = &*scenario.document;
    let seed = seed.unwrap_or(document.scenario().run.seed);
    let traces = trace_config(&traces)?;
    let threads = threads.map(str::parse::<Threads>).transpose();
    let threads = threads.map_err(|error| ParameterError::new_err(error.to_string()))?;
    // A browser starts none.
    let threads = if cfg!(target_os = "emscripten") { Some(Threads::Count(1)) } else { threads };
    let raised = Raised::default();
    let simulation = py
        .detach(|| {
            let go_on = || raised.nothing();
            let built = Simulation::new_while(document.scenario(), scheme, seed, traces, &go_on)?;
            let built = built.map(|built| match threads {
                Some(threads) => built.in_threads(threads),
                None => built,
            });
            Ok(if only_posting { built.map(Simulation::only_posting) } else { built })
        })
        .map_err(raise)?;
    let Some(mut simulation) = simulation else {
        return Err(raised.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(())));
    };
    let mut pace = Pace::default();
    let mut pages = LargePages::of(&simulation);
    let mut stopped = false;
    while py.detach(|| {
        pages.ask(&simulation);
        pace.advance(&mut simulation)
    }) {
        if let Some(error) = control::failure(py, &simulation) {
            return Err(error);
        }
        let call = |progress: &Bound<'_, PyAny>| {
            let simulated = simulation.simulated().as_secs_f64();
            progress.call1((simulated, simulation.events()))?.is_truthy()
        };
        let progress = progress.filter(|_| pace.tells(simulation.events()));
        // A run that is stopped keeps its results so far, so the interruption ends here.
        let go_on = py.check_signals().and_then(|()| progress.map_or(Ok(true), call));
        match go_on {
            Ok(true) => {}
            Ok(false) => stopped = true,
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => stopped = true,
            Err(error) => return Err(error),
        }
        if stopped {
            break;
        }
    }
    if let (false, Some(progress)) = (stopped, progress) {
        progress.call1((simulation.simulated().as_secs_f64(), simulation.events()))?;
    }
    if let Some(error) = control::failure(py, &simulation) {
        return Err(error);
    }
    heard(py, move || simulation.finish()).map(Run::from)
}

/// Name, unit and meaning of each figure of `Run.summary`.
#[pyfunction]
pub(crate) fn summary_figures() -> Vec<(&'static str, &'static str, &'static str)> {
    incast_sim::FIGURES.to_vec()
}
