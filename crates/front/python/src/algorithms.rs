//! The algorithms and their parameters, for Python.

use std::collections::BTreeMap;

use incast_cc::AnyAlgorithm;
use incast_cc::param;
use incast_cc::registry::NAMES;
use pyo3::prelude::*;

/// The description of an algorithm.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Algorithm {
    algorithm: AnyAlgorithm,
}

impl Algorithm {
    pub(crate) const fn of(algorithm: AnyAlgorithm) -> Self {
        Self { algorithm }
    }
}

#[pymethods]
impl Algorithm {
    /// The name that `--cc` takes.
    #[getter]
    fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    /// A summary in one sentence.
    #[getter]
    fn summary(&self) -> &'static str {
        self.algorithm.info().summary
    }

    /// The controlled quantity: a rate or a window.
    #[getter]
    fn kind(&self) -> &'static str {
        self.algorithm.info().kind.as_str()
    }

    /// The congestion signal that it reacts to.
    #[getter]
    fn signal(&self) -> &'static str {
        self.algorithm.info().signal
    }

    /// Requirements on the network or the hosts.
    #[getter]
    fn needs(&self) -> String {
        let needs: Vec<_> = self.algorithm.info().needs.iter().map(|need| need.as_str()).collect();
        if needs.is_empty() { "nothing".into() } else { needs.join(", ") }
    }

    /// The publication.
    #[getter]
    fn source(&self) -> &'static str {
        self.algorithm.info().source
    }

    /// Named sets of parameters, the default one first.
    #[getter]
    fn presets(&self) -> Vec<Preset> {
        self.algorithm.presets().iter().map(|preset| Preset { preset }).collect()
    }

    /// The parameters in the order of the publication.
    #[getter]
    fn parameters(&self) -> Vec<Parameter> {
        let algorithm = self.algorithm;
        algorithm.params().iter().map(|param| Parameter { param, algorithm }).collect()
    }

    fn __repr__(&self) -> String {
        format!("Algorithm({:?})", self.algorithm.name())
    }
}

/// A named set of parameters.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Preset {
    preset: &'static param::Preset,
}

#[pymethods]
impl Preset {
    /// The name that follows the colon in `algorithm:preset`.
    #[getter]
    fn name(&self) -> &'static str {
        self.preset.name
    }

    /// The source of the values.
    #[getter]
    fn source(&self) -> &'static str {
        self.preset.source
    }

    /// Values by parameter, as they are written in a scenario.
    #[getter]
    fn values(&self) -> BTreeMap<&'static str, &'static str> {
        self.preset.values.iter().copied().collect()
    }

    fn __repr__(&self) -> String {
        format!("Preset({:?})", self.preset.name)
    }
}

/// A parameter of an algorithm.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Parameter {
    param: &'static param::Param,
    algorithm: AnyAlgorithm,
}

#[pymethods]
impl Parameter {
    /// The name in `cc.<algorithm>.<name>`.
    #[getter]
    fn name(&self) -> &'static str {
        self.param.name
    }

    /// The effect of the parameter.
    #[getter]
    fn doc(&self) -> &'static str {
        self.param.doc.trim()
    }

    /// The unit, empty for a pure number.
    #[getter]
    fn unit(&self) -> &'static str {
        self.param.unit
    }

    /// The default as it is written in a scenario.
    #[getter]
    fn default(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail, and the parameter's name is one of the algorithm's own.
        let _ = self.algorithm.write(self.param.name, &mut text);
        text
    }

    /// The source of the default.
    #[getter]
    fn source(&self) -> &'static str {
        self.param.source
    }

    /// The accepted values.
    #[getter]
    fn range(&self) -> &'static str {
        self.param.range
    }

    fn __repr__(&self) -> String {
        format!("Parameter({:?})", self.param.name)
    }
}

/// All algorithms, in the order of the registry.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<Algorithm> {
    let named = NAMES.iter().filter_map(|name| AnyAlgorithm::named(name));
    named.map(|algorithm| Algorithm { algorithm }).collect()
}
