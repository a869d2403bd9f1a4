//! Distributions of flow sizes: those that come with incast, and the user's own files.

use std::borrow::Cow;

use incast_sim::workload::{Interpolation, Shipped, SizeTable, Unit, tables};
use pyo3::prelude::*;

use crate::errors::ScenarioError;

/// The payload of a packet in published scripts, and in scenarios that do not set it.
const PAYLOAD: incast_cc::Bytes = incast_cc::Bytes::new(1_460);

/// A distribution of flow sizes: one that ships, or a file of your own.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Workload {
    name: String,
    shipped: Option<&'static Shipped>,
    table: Cow<'static, SizeTable>,
}

impl Workload {
    fn shipped(shipped: &'static Shipped) -> Self {
        let name = shipped.name.to_owned();
        Self { name, shipped: Some(shipped), table: Cow::Borrowed(&shipped.table) }
    }
}

#[pymethods]
impl Workload {
    /// A table of two columns, sizes and cumulative probabilities; `name` is for errors.
    ///
    /// Sizes are in bytes, or in packets of 1,460 B; between two points all sizes are equally
    /// likely, or with `step` only the upper one is there. Raises `ScenarioError`.
    #[staticmethod]
    #[pyo3(signature = (text, name, *, packets = false, step = false))]
    fn parse(text: &str, name: String, packets: bool, step: bool) -> PyResult<Self> {
        let unit = if packets { Unit::Packets(PAYLOAD) } else { Unit::Bytes };
        let interpolation = if step { Interpolation::Step } else { Interpolation::Linear };
        let table = SizeTable::parse(text, &name, unit, interpolation)
            .map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Ok(Self { name, shipped: None, table: Cow::Owned(table) })
    }

    /// The name in scenarios: `sizes = "web-search"`.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The measured workload.
    #[getter]
    fn what(&self) -> &str {
        self.shipped.map_or("a file of your own", |shipped| &shipped.what)
    }

    /// Repository, commit and path of the file with these points; empty for one of your own.
    #[getter]
    fn source(&self) -> &str {
        self.shipped.map_or("", |shipped| &shipped.source)
    }

    /// A further note; empty where there is none.
    #[getter]
    fn note(&self) -> &str {
        self.shipped.map_or("", |shipped| &shipped.note)
    }

    /// The interpolation between two points: `linear` or `step`.
    #[getter]
    fn interpolation(&self) -> &'static str {
        self.table.interpolation().as_str()
    }

    /// The mean, with the interpolation of its source.
    #[getter]
    fn mean_bytes(&self) -> f64 {
        self.table.mean()
    }

    /// Sizes in bytes and the probability that a flow is not larger.
    #[getter]
    fn points(&self) -> Vec<(f64, f64)> {
        self.table.points().collect()
    }

    /// The size in bytes that a flow does not exceed with this probability.
    fn quantile(&self, probability: f64) -> f64 {
        self.table.quantile(probability)
    }

    fn __repr__(&self) -> String {
        format!("Workload({:?})", self.name)
    }
}

/// The distributions of flow sizes that ship.
#[pyfunction]
pub(crate) fn workloads() -> Vec<Workload> {
    tables().iter().map(Workload::shipped).collect()
}
