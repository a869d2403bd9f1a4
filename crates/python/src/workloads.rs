//! The tables of flow sizes that ship.

use incast_sim::workload::{Shipped, tables};
use pyo3::prelude::*;

/// A measured distribution of flow sizes.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Workload {
    shipped: &'static Shipped,
}

#[pymethods]
impl Workload {
    #[getter]
    fn name(&self) -> &str {
        self.shipped.name
    }

    #[getter]
    fn what(&self) -> &str {
        &self.shipped.what
    }

    #[getter]
    fn source(&self) -> &str {
        &self.shipped.source
    }

    #[getter]
    fn note(&self) -> &str {
        &self.shipped.note
    }

    #[getter]
    fn mean_bytes(&self) -> f64 {
        self.shipped.table.mean()
    }

    #[getter]
    fn points(&self) -> Vec<(f64, f64)> {
        self.shipped.table.points().collect()
    }

    fn quantile(&self, probability: f64) -> f64 {
        self.shipped.table.quantile(probability)
    }

    fn __repr__(&self) -> String {
        format!("Workload({:?})", self.shipped.name)
    }
}

#[pyfunction]
pub(crate) fn workloads() -> Vec<Workload> {
    tables().iter().map(|shipped| Workload { shipped }).collect()
}
