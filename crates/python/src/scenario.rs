//! Scenarios.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use incast_sim::Cost;
use incast_sim::scenario::{Document, Published, Traffic, json_schema};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::raise;
use crate::heard::heard;
use crate::resolved::to_dict;
use crate::traces::trace_config;

/// A scenario: network, traffic, transport and measurement. Immutable.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Scenario {
    pub(crate) document: Arc<Document>,
    /// The load warnings. They are computed once, since that takes a while for a large network.
    load_warnings: OnceLock<Vec<String>>,
}

impl From<Document> for Scenario {
    fn from(document: Document) -> Self {
        Self { document: Arc::new(document), load_warnings: OnceLock::new() }
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        heard(py, move || Document::load(&path))?.map(Self::from).map_err(raise)
    }

    #[staticmethod]
    #[pyo3(signature = (text, name = "<string>"))]
    fn parse(text: String, name: &str) -> PyResult<Self> {
        Document::parse(text, name).map(Self::from).map_err(raise)
    }

    #[pyo3(signature = (*assignments))]
    fn with_set(&self, py: Python<'_>, assignments: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let assignments: Vec<String> = assignments.extract()?;
        let document = Arc::clone(&self.document);
        heard(py, move || document.with_set(&assignments))?.map(Self::from).map_err(raise)
    }

    #[getter]
    fn name(&self) -> &str {
        self.document.name()
    }

    #[getter]
    fn title(&self) -> &str {
        &self.document.scenario().title
    }

    #[getter]
    fn description(&self) -> &str {
        &self.document.scenario().description
    }

    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.document.scenario().run.schemes.clone()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.document.scenario().run.seed
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.document.scenario().run.duration.as_secs_f64()
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        self.document.scenario().run.warmup.as_secs_f64()
    }

    #[getter]
    fn cooldown_s(&self) -> f64 {
        self.document.scenario().run.cooldown.as_secs_f64()
    }

    /// The texts of the files that the scenario names, by file name without folder.
    #[getter]
    fn inputs(&self) -> BTreeMap<&str, &str> {
        self.document.files().collect()
    }

    #[getter]
    fn published<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<String, Bound<'py, PyDict>>> {
        let published = &self.document.scenario().published;
        published.iter().map(|(scheme, values)| Ok((scheme.clone(), dict(py, values)?))).collect()
    }

    fn toml(&self) -> &str {
        self.document.text()
    }

    fn check(&self, scheme: &str) -> PyResult<()> {
        self.document.scenario().scheme(scheme).map(drop).map_err(raise)
    }

    fn warnings(&self, scheme: &str) -> PyResult<Vec<String>> {
        let scenario = self.document.scenario();
        let resolved = scenario.scheme(scheme).map_err(raise)?;
        Ok(incast_sim::warnings(scenario, scheme, &resolved))
    }

    /// The number, name and kind of each traffic with a load.
    fn open_loops(&self) -> Vec<(usize, String, &'static str)> {
        let scenario = self.document.scenario();
        let open = scenario.traffic.iter().enumerate().filter(|(_, one)| one.load().is_some());
        let named = |(n, one): (usize, &Traffic)| (n, scenario.traffic_name(n), one.kind.as_str());
        open.map(named).collect()
    }

    fn load_warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        if let Some(known) = self.load_warnings.get() {
            return Ok(known.clone());
        }
        let document = Arc::clone(&self.document);
        let warnings = heard(py, move || {
            let scenario = document.scenario();
            let mut warnings = scenario.load_warnings();
            warnings.extend(scenario.setting_warnings());
            warnings.extend(incast_sim::dead_lock_warnings(scenario));
            warnings.extend(scenario.series_warnings());
            warnings
        })?;
        Ok(self.load_warnings.get_or_init(|| warnings).clone())
    }

    #[pyo3(signature = (scheme, *, traces = Vec::new(), runs = 1))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts a list by value")]
    fn cost<'py>(
        &self,
        py: Python<'py>,
        scheme: &str,
        traces: Vec<String>,
        runs: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let traces = trace_config(&traces)?;
        let resolved = self.document.scenario().scheme(scheme).map_err(raise)?;
        let document = Arc::clone(&self.document);
        let cost = heard(py, move || incast_sim::cost(document.scenario(), &resolved, traces))?;
        costs(py, &cost, runs)
    }

    /// The plan of a run, with defaults filled in and names resolved.
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let document = Arc::clone(&self.document);
        let plan = heard(py, move || document.scenario().resolved())?;
        to_dict(py, &plan)
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?})", self.document.name())
    }
}

fn costs<'py>(py: Python<'py>, cost: &Cost, runs: usize) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("hosts", cost.hosts)?;
    dict.set_item("links", cost.links)?;
    dict.set_item("connections", cost.connections)?;
    dict.set_item("messages", cost.messages)?;
    dict.set_item("packet_hops", cost.packet_hops)?;
    dict.set_item("seconds", cost.seconds)?;
    dict.set_item("memory_bytes", cost.memory(runs))?;
    let parts = cost.parts.iter().map(|part| (part.what.as_str(), part.bytes, part.remedy));
    dict.set_item("parts", parts.collect::<Vec<_>>())?;
    Ok(dict)
}

fn dict<'py>(py: Python<'py>, published: &Published) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Some(throughput) = published.throughput {
        dict.set_item("throughput_gbps", throughput.as_gbps_f64())?;
    }
    if let Some(mean) = published.rtt_mean {
        dict.set_item("rtt_mean_us", mean.as_us_f64())?;
    }
    if let Some(p99) = published.rtt_p99 {
        dict.set_item("rtt_p99_us", p99.as_us_f64())?;
    }
    dict.set_item("source", &published.source)?;
    Ok(dict)
}

#[pyfunction]
pub(crate) fn schema() -> String {
    json_schema()
}
