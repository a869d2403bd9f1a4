//! Algorithms that are written in Python, as guests of the simulator.
//!
//! A flow is an object of the class of `incast.CongestionControl`. The core calls the methods that
//! the class overrides, then reads the limits and the next timer, and keeps both until the next
//! event. An exception ends the control: the flow keeps its last limits, and the run is stopped at
//! the next look.

mod compiled;
mod description;
mod failure;
mod limits;
mod parameters;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Info, Param, SetError};
use incast_cc::{AnyAlgorithm, CongestionControl, Reads, Span, Time, contract};
use incast_sim::scenario::guests;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::algorithms::Algorithm;
use crate::errors::ParameterError;

pub(crate) use self::compiled::{know_compiled, know_table, native_fields};
pub(crate) use self::failure::failure;
pub(crate) use self::limits::Limits;
pub(crate) use self::parameters::Declared;
use self::parameters::{Value, kept};
pub(crate) use self::views::{Ack, Delivery, Demand, Flow, Hop, Loss, RttSample, Sent, Spurious};

/// The methods that a class may override, by the calls that they answer.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a method")]
struct Overridden {
    sent: bool,
    loss: bool,
    demand: bool,
    restart: bool,
    spurious_loss: bool,
    notification: bool,
    timer: bool,
    mss_change: bool,
    gauges: bool,
}

impl Overridden {
    fn of(names: &BTreeSet<String>) -> Self {
        let has = |name: &str| names.contains(name);
        Self {
            sent: has("on_sent"),
            loss: has("on_loss"),
            demand: has("on_demand"),
            restart: has("on_restart"),
            spurious_loss: has("on_spurious_loss"),
            notification: has("on_notification"),
            timer: has("next_timer"),
            mss_change: has("on_mss_change"),
            gauges: has("gauges"),
        }
    }
}

/// An algorithm that is written in Python, with its parameters.
struct PythonAlgorithm {
    info: &'static Info,
    params: &'static [Param],
    declared: &'static [Py<Declared>],
    values: Vec<Value>,
    /// The object that each flow gets a copy of.
    template: &'static Py<PyAny>,
    overridden: Overridden,
    reads: Reads,
}

impl PythonAlgorithm {
    fn place(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }

    /// The object of a new flow, told of its start.
    fn object(&self, py: Python<'_>, flow: &contract::Flow) -> PyResult<Py<PyAny>> {
        let values = PyDict::new(py);
        for (declared, &value) in self.declared.iter().zip(&self.values) {
            values.set_item(declared.get().param.name, value.to_python(py)?)?;
        }
        let object = self.template.bind(py).call_method1("_of_a_flow", (values,))?;
        object.call_method1("on_start", (Flow(*flow),))?;
        Ok(object.unbind())
    }
}

impl GuestAlgorithm for PythonAlgorithm {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn with(&self, name: &str, text: &str) -> Result<Guest, SetError> {
        let place = self.place(name).ok_or(SetError::Unknown)?;
        let mut values = self.values.clone();
        values[place] = self.declared[place].get().value(text)?;
        Ok(Guest::keep(Self { values, ..*self }))
    }

    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let place = self.place(name).ok_or(fmt::Error)?;
        write!(out, "{}", self.values[place])
    }

    fn start(&self, flow: &contract::Flow) -> Box<dyn GuestControl> {
        let mut control = PythonControl {
            name: self.info.name,
            overridden: self.overridden,
            reads: self.reads,
            object: None,
            flow: *flow,
            limits: contract::Limits::window(flow.mss),
            next_timer: None,
        };
        let object = Python::attach(|py| self.object(py, flow));
        match object {
            Ok(object) => {
                control.object = Some(object);
                control.refresh(flow.now);
            }
            Err(error) => failure::keep(self.info.name, flow.seed, flow.now, "on_start", error),
        }
        Box::new(control)
    }
}

/// A flow under an algorithm that is written in Python.
struct PythonControl {
    name: &'static str,
    overridden: Overridden,
    reads: Reads,
    /// None after an exception.
    object: Option<Py<PyAny>>,
    flow: contract::Flow,
    limits: contract::Limits,
    next_timer: Option<Time>,
}

impl PythonControl {
    /// Calls a method, then reads the limits and the next timer.
    fn call<'py, A>(&mut self, now: Time, method: &'static str, arguments: A)
    where
        A: for<'a> pyo3::call::PyCallArgs<'a>,
    {
        let Some(object) = &self.object else { return };
        let done = Python::attach(|py| object.bind(py).call_method1(method, arguments).map(drop));
        match done {
            Ok(()) => self.refresh(now),
            Err(error) => self.fail(now, method, error),
        }
    }

    /// Reads the limits and the next timer.
    fn refresh(&mut self, now: Time) {
        let Some(object) = &self.object else { return };
        let read = Python::attach(|py| {
            let object = object.bind(py);
            let answer = object.call_method0("limits").map_err(|error| ("limits", error))?;
            let limits = limits::read(&answer, &self.flow).map_err(|error| ("limits", error))?;
            let timer = if self.overridden.timer {
                let answer = object.call_method0("next_timer");
                answer
                    .and_then(|answer| next_timer(&answer, now))
                    .map_err(|error| ("next_timer", error))?
            } else {
                None
            };
            Ok((limits, timer))
        });
        match read {
            Ok((limits, timer)) => (self.limits, self.next_timer) = (limits, timer),
            Err((method, error)) => self.fail(now, method, error),
        }
    }

    fn fail(&mut self, now: Time, method: &'static str, error: PyErr) {
        (self.object, self.next_timer) = (None, None);
        failure::keep(self.name, self.flow.seed, now, method, error);
    }
}

/// The instant of an answer, which lies ahead.
fn next_timer(answer: &Bound<'_, PyAny>, now: Time) -> PyResult<Option<Time>> {
    let Some(seconds) = answer.extract::<Option<f64>>()? else { return Ok(None) };
    let at = (seconds * 1e12).round();
    if at.is_nan() || at <= now.as_ps() as f64 {
        return Err(PyValueError::new_err(format!(
            "next_timer() returned {seconds}; expected an instant after now, {}, in seconds, or \
             None",
            now.as_secs_f64()
        )));
    }
    Ok(Some(Time::from_ps(limits::whole(at))))
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &contract::Ack<'_>) {
        if self.object.is_some() {
            self.call(ack.now, "on_ack", (Ack::owned(ack),));
        }
    }

    fn on_loss(&mut self, loss: &contract::Loss) {
        if self.overridden.loss {
            self.call(loss.now, "on_loss", (Loss(*loss),));
        }
    }

    fn limits(&self) -> contract::Limits {
        self.limits
    }

    fn on_sent(&mut self, sent: &contract::Sent) {
        if self.overridden.sent {
            self.call(sent.now, "on_sent", (Sent(*sent),));
        }
    }

    fn on_demand(&mut self, demand: &contract::Demand) {
        if self.overridden.demand {
            self.call(demand.now, "on_demand", (Demand(*demand),));
        }
    }

    fn on_restart(&mut self, now: Time, idle: Span) {
        if self.overridden.restart {
            self.call(now, "on_restart", (now.as_secs_f64(), idle.as_secs_f64()));
        }
    }

    fn on_spurious_loss(&mut self, spurious: &contract::Spurious) {
        if self.overridden.spurious_loss {
            self.call(spurious.now, "on_spurious_loss", (Spurious(*spurious),));
        }
    }

    fn on_notification(&mut self, notification: &contract::Notification) {
        if self.overridden.notification {
            let now = notification.now;
            self.call(now, "on_notification", (now.as_secs_f64(),));
        }
    }

    fn on_timer(&mut self, now: Time) {
        // Without this method the class would ask for the same instant for ever.
        self.call(now, "on_timer", (now.as_secs_f64(),));
    }

    fn next_timer(&self) -> Option<Time> {
        self.next_timer
    }

    fn reads(&self) -> Reads {
        self.reads
    }

    fn on_mss_change(&mut self, mss: incast_cc::Bytes) {
        self.flow.mss = mss;
        if self.overridden.mss_change {
            self.call(self.flow.now, "on_mss_change", (mss.get(),));
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let (true, Some(object)) = (self.overridden.gauges, &self.object) else { return };
        let gauges: PyResult<Vec<(String, f64)>> = Python::attach(|py| {
            let gauges = object.bind(py).call_method0("gauges")?;
            let gauges = gauges.cast::<PyDict>()?.iter();
            gauges.map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect()
        });
        match gauges {
            Ok(gauges) => gauges.into_iter().for_each(|(name, value)| {
                if value.is_finite() {
                    emit(gauge(&name), value);
                }
            }),
            Err(error) => {
                failure::keep(self.name, self.flow.seed, self.flow.now, "gauges", error);
            }
        }
    }
}

/// The name of a gauge for as long as the process lives.
fn gauge(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(name).copied().unwrap_or_else(|| {
        let name = kept(name);
        names.insert(name);
        name
    })
}

impl Clone for PythonControl {
    fn clone(&self) -> Self {
        let copied = self.object.as_ref().map(|object| {
            Python::attach(|py| {
                let copy = py.import("copy")?;
                Ok(copy.call_method1("deepcopy", (object,))?.unbind())
            })
        });
        let object = copied.and_then(|copied: PyResult<_>| match copied {
            Ok(object) => Some(object),
            Err(error) => {
                failure::keep(self.name, self.flow.seed, self.flow.now, "__deepcopy__", error);
                None
            }
        });
        let Self { name, overridden, reads, flow, limits, next_timer, .. } = *self;
        Self { name, overridden, reads, object, flow, limits, next_timer }
    }
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonControl").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Makes an algorithm of Python known to all scenarios of this process; returns its description.
///
/// It takes the place of one that had its name before.
///
/// `about` has name, summary, kind, signal, needs, transport and source. Each flow gets what
/// `template._of_a_flow(values)` returns; `methods` are the methods that its class overrides, and
/// `reads` the reports that it wants.
/// Raises `ParameterError` where a word is unknown, or the name is that of another algorithm.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts collections by value")]
pub(crate) fn know_algorithm(
    template: Py<PyAny>,
    about: BTreeMap<String, String>,
    parameters: Vec<Py<Declared>>,
    methods: BTreeSet<String>,
    reads: BTreeSet<String>,
) -> PyResult<Algorithm> {
    let info = description::info(&about)?;
    let reads = description::reads(info.name, &reads)?;
    let overridden = Overridden::of(&methods);
    let algorithm = PythonAlgorithm {
        info,
        params: parameters.iter().map(|one| one.get().param).collect::<Vec<_>>().leak(),
        values: parameters.iter().map(|one| one.get().default).collect(),
        declared: parameters.leak(),
        template: Box::leak(Box::new(template)),
        overridden,
        reads: Reads { sent: overridden.sent, ..reads },
    };
    let guest = Guest::keep(algorithm);
    guests::make_known(guest).map_err(|error| ParameterError::new_err(error.to_string()))?;
    Ok(Algorithm::of(AnyAlgorithm::Guest(guest)))
}
