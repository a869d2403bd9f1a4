//! The algorithms and their parameters, for Python.

use std::collections::BTreeMap;

use incast_cc::AnyAlgorithm;
use incast_cc::param;
use incast_cc::registry::NAMES;
use pyo3::prelude::*;

/// An algorithm: its description, presets and parameters.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Algorithm {
    algorithm: AnyAlgorithm,
}

#[pymethods]
impl Algorithm {
    #[getter]
    fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    #[getter]
    fn summary(&self) -> &'static str {
        self.algorithm.info().summary
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.algorithm.info().kind.as_str()
    }

    #[getter]
    fn signal(&self) -> &'static str {
        self.algorithm.info().signal
    }

    #[getter]
    fn needs(&self) -> String {
        let needs: Vec<_> = self.algorithm.info().needs.iter().map(|need| need.as_str()).collect();
        if needs.is_empty() { "nothing".into() } else { needs.join(", ") }
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.algorithm.info().source
    }

    #[getter]
    fn presets(&self) -> Vec<Preset> {
        self.algorithm.presets().iter().map(|preset| Preset { preset }).collect()
    }

    #[getter]
    fn parameters(&self) -> Vec<Parameter> {
        let algorithm = self.algorithm;
        algorithm.params().iter().map(|param| Parameter { param, algorithm }).collect()
    }
}

/// A named set of parameters.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Preset {
    preset: &'static param::Preset,
}

#[pymethods]
impl Preset {
    #[getter]
    fn name(&self) -> &'static str {
        self.preset.name
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.preset.source
    }

    #[getter]
    fn values(&self) -> BTreeMap<&'static str, &'static str> {
        self.preset.values.iter().copied().collect()
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
    #[getter]
    fn name(&self) -> &'static str {
        self.param.name
    }

    #[getter]
    fn doc(&self) -> &'static str {
        self.param.doc.trim()
    }

    #[getter]
    fn unit(&self) -> &'static str {
        self.param.unit
    }

    #[getter]
    fn default(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail, and the parameter's name is one of the algorithm's own.
        let _ = self.algorithm.write(self.param.name, &mut text);
        text
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.param.source
    }

    #[getter]
    fn range(&self) -> &'static str {
        self.param.range
    }
}

#[pyfunction]
pub(crate) fn algorithms() -> Vec<Algorithm> {
    let named = NAMES.iter().filter_map(|name| AnyAlgorithm::named(name));
    named.map(|algorithm| Algorithm { algorithm }).collect()
}
