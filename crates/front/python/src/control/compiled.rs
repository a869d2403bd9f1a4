//! Algorithms of native functions: compiled from Python, or of a crate of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use incast_cc::guest::{Guest, GuestAlgorithm, GuestControl};
use incast_cc::param::{Info, Param, SetError};
use incast_cc::{AnyAlgorithm, Reads, Time, contract};
use incast_native::calls::Calls;
use incast_native::control::{Mistake, Native, NativeControl};
use incast_native::{facts, loaded};
use incast_sim::scenario::guests;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::parameters::{Value, kept};
use super::{Declared, description, failure};
use crate::algorithms::Algorithm;
use crate::errors::ParameterError;

/// An algorithm of compiled functions, with its parameters.
struct CompiledAlgorithm {
    info: &'static Info,
    params: &'static [Param],
    declared: &'static [Py<Declared>],
    values: Vec<Value>,
    native: &'static Native,
}

/// The parameters as compiled functions read them: eight bytes each.
fn block(declared: &[Py<Declared>], values: &[Value]) -> &'static [u64] {
    let each = declared.iter().zip(values).map(|(declared, &value)| declared.get().word(value));
    each.collect::<Vec<_>>().leak()
}

impl GuestAlgorithm for CompiledAlgorithm {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn with(&self, name: &str, text: &str) -> Result<Guest, SetError> {
        let place = self.params.iter().position(|param| param.name == name);
        let place = place.ok_or(SetError::Unknown)?;
        let mut values = self.values.clone();
        values[place] = self.declared[place].get().value(text)?;
        let parameters = block(self.declared, &values).as_ptr().cast();
        let native = Box::leak(Box::new(Native { parameters, ..*self.native }));
        Ok(Guest::keep(Self { values, native, ..*self }))
    }

    fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let place = self.params.iter().position(|param| param.name == name).ok_or(fmt::Error)?;
        write!(out, "{}", self.values[place])
    }

    #[expect(unsafe_code, reason = "the functions were compiled at run time")]
    fn start(&self, flow: &contract::Flow) -> Box<dyn GuestControl> {
        // SAFETY: `know_compiled` is for functions that `incast.api.compiled` has compiled with the
        // types of `native_fields`, and with the state of that size. They share nothing.
        Box::new(unsafe { NativeControl::start(self.native, flow) })
    }
}

/// Keeps a mistake until the run is looked at; takes no lock of the interpreter.
fn report(name: &'static str, seed: u64, at: Time, method: &'static str, mistake: Mistake) {
    failure::keep(name, seed, at, method, PyValueError::new_err(mistake.to_string()));
}

/// Makes an algorithm of compiled functions known to this process; returns its description.
///
/// It takes the place of one that had its name before. `about` and `reads` are as in
/// `know_algorithm`. `functions` has addresses of C functions by name, which stay there for good
/// and take the structs of `native_fields`; each parameter is eight bytes, and the state of a flow
/// `state_size` bytes. `gauges` are the names of gauges.
/// Raises `ParameterError` where a word is unknown, or the name is that of another algorithm.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts collections by value")]
#[expect(unsafe_code, reason = "the functions were compiled at run time")]
pub(crate) fn know_compiled(
    about: BTreeMap<String, String>,
    parameters: Vec<Py<Declared>>,
    functions: BTreeMap<String, usize>,
    state_size: usize,
    gauges: Vec<String>,
    reads: BTreeSet<String>,
) -> PyResult<Algorithm> {
    let info = description::info(&about)?;
    let reads = description::reads(info.name, &reads)?;
    let addresses = Calls::NAMES.map(|name| functions.get(name).copied().unwrap_or(0));
    // SAFETY: the caller, `incast.api.compiled`, has compiled them with these types and keeps them.
    let calls = unsafe { Calls::at(addresses) };
    let values: Vec<_> = parameters.iter().map(|one| one.get().default).collect();
    let declared: &'static [_] = parameters.leak();
    let native = Native {
        name: info.name,
        calls,
        parameters: block(declared, &values).as_ptr().cast(),
        state_size,
        gauge_names: gauges.iter().map(|name| kept(name)).collect::<Vec<_>>().leak(),
        reads: Reads { sent: calls.on_sent.is_some(), ..reads },
        report,
    };
    let guest = Guest::keep(CompiledAlgorithm {
        info,
        params: declared.iter().map(|one| one.get().param).collect::<Vec<_>>().leak(),
        declared,
        values,
        native: Box::leak(Box::new(native)),
    });
    guests::make_known(guest).map_err(|error| ParameterError::new_err(error.to_string()))?;
    Ok(Algorithm::of(AnyAlgorithm::Guest(guest)))
}

/// Makes the algorithm of a crate of its own known to this process; returns its description.
///
/// `address` is that of the table that `incast_algorithm` of the crate returns.
/// Raises `ParameterError` where the crate was built with another version of the interface, or the
/// name is that of another algorithm.
#[pyfunction]
#[expect(unsafe_code, reason = "a table is at an address")]
pub(crate) fn know_table(address: usize) -> PyResult<Algorithm> {
    if address == 0 {
        return Err(ParameterError::new_err("address = 0; expected that of a table"));
    }
    // SAFETY: `incast.api.plugins` has it from the function that a package names as its algorithm.
    // Modules of Python are not unloaded.
    let guest = unsafe { loaded::load(address as *const _, report) };
    let guest = guest.map_err(|error| ParameterError::new_err(error.to_string()))?;
    guests::make_known(guest).map_err(|error| ParameterError::new_err(error.to_string()))?;
    Ok(Algorithm::of(AnyAlgorithm::Guest(guest)))
}

/// The structs that compiled functions take, by name: their fields, each of eight bytes.
///
/// The type of a field is `f` for a float, `i` for an integer, `u` for an unsigned one, or the name
/// of a struct.
#[pyfunction]
pub(crate) fn native_fields() -> BTreeMap<&'static str, Vec<(&'static str, &'static str)>> {
    [
        ("Flow", facts::Flow::FIELDS),
        ("Rtt", facts::Rtt::FIELDS),
        ("Delivery", facts::Delivery::FIELDS),
        ("Ack", facts::Ack::FIELDS),
        ("Hop", facts::Hop::FIELDS),
        ("Loss", facts::Loss::FIELDS),
        ("Spurious", facts::Spurious::FIELDS),
        ("Sent", facts::Sent::FIELDS),
        ("Demand", facts::Demand::FIELDS),
        ("Moment", facts::Moment::FIELDS),
        ("Answer", facts::Answer::FIELDS),
    ]
    .map(|(name, fields)| (name, fields.to_vec()))
    .into()
}
