//! Scenarios.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use incast_cc::{Bytes, Span};
use incast_sim::foreign::FORMATS;
use incast_sim::scenario::{Document, Published, Traffic, TrafficKind, json_schema, topology};
use incast_sim::{Cost, Facts, Path};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::raise;
use crate::heard::heard;
use crate::resolved::to_dict;
use crate::settings;
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
    /// Reads a TOML file; raises `ScenarioError` when it cannot be read or is not a scenario.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        heard(py, move || FORMATS.load(&path))?.map(Self::from).map_err(raise)
    }

    /// Reads TOML text; `name` is what errors and results call it.
    #[staticmethod]
    #[pyo3(signature = (text, name = "<string>"))]
    fn parse(text: String, name: &str) -> PyResult<Self> {
        FORMATS.parse(text, name).map(Self::from).map_err(raise)
    }

    /// The scenario with values changed.
    ///
    /// Each is a text such as `transport.segment=16KB`, or a dictionary with keys such as
    /// `cc.timely.t_high`, or with dictionaries inside: `{"run": {"seed": 3}}`. Elements of lists
    /// have numbers: `traffic.0.load`. All are judged together, so their order does not matter.
    /// Raises `ParameterError`.
    #[pyo3(signature = (*assignments))]
    fn with_set(&self, py: Python<'_>, assignments: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let assignments = settings::assignments(assignments)?;
        let document = Arc::clone(&self.document);
        heard(py, move || document.with_set(&assignments))?.map(Self::from).map_err(raise)
    }

    /// The name of the file without its suffix.
    #[getter]
    fn name(&self) -> &str {
        self.document.name()
    }

    /// The title, in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.document.scenario().title
    }

    /// A description of the run and its reason, in some sentences.
    #[getter]
    fn description(&self) -> &str {
        &self.document.scenario().description
    }

    /// The schemes that are compared when none is asked for.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.document.scenario().run.schemes.clone()
    }

    /// The seed that is used when none is asked for.
    #[getter]
    fn seed(&self) -> u64 {
        self.document.scenario().run.seed
    }

    /// The number of threads of a run when none is asked for, or `auto`.
    #[getter]
    fn threads(&self) -> String {
        self.document.scenario().run.threads.to_string()
    }

    /// Simulated time of one run in seconds, the warm-up included.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.document.scenario().run.duration.as_secs_f64()
    }

    /// The part of it at the beginning that is not measured, in seconds.
    #[getter]
    fn warmup_s(&self) -> f64 {
        self.document.scenario().run.warmup.as_secs_f64()
    }

    /// The part of it at the end that is not measured, in seconds.
    #[getter]
    fn cooldown_s(&self) -> f64 {
        self.document.scenario().run.cooldown.as_secs_f64()
    }

    /// The most time after `duration_s` for messages under way, in seconds; None without.
    #[getter]
    fn drain_s(&self) -> Option<f64> {
        self.document.scenario().run.drain.map(Span::as_secs_f64)
    }

    /// The connections of the job that is this traffic, in the order of their flows.
    ///
    /// Each is the sending rank, the receiving rank, and the tag. None of any other traffic.
    fn job_connections(&self, number: usize) -> Option<Vec<(u32, u32, u32)>> {
        match &self.document.scenario().traffic.get(number)?.kind {
            TrafficKind::Job(job) => Some(job.connections().collect()),
            _ => None,
        }
    }

    /// The texts of the files that it names, by their names without folder.
    #[getter]
    fn inputs(&self) -> BTreeMap<&str, &str> {
        self.document.files().collect()
    }

    /// Published values by scheme.
    ///
    /// `throughput_gbps`, `rtt_mean_us` and `rtt_p99_us` where there are any, always `source`.
    #[getter]
    fn published<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<String, Bound<'py, PyDict>>> {
        let published = &self.document.scenario().published;
        published.iter().map(|(scheme, values)| Ok((scheme.clone(), dict(py, values)?))).collect()
    }

    /// The exact scenario as TOML, assignments included: enough to run it again.
    fn toml(&self) -> &str {
        self.document.text()
    }

    /// Raises what `run` would refuse before simulating anything.
    fn check(&self, scheme: &str) -> PyResult<()> {
        self.document.scenario().scheme(scheme).map(drop).map_err(raise)
    }

    /// Needs of the scheme that the network lacks, and the settings that would meet them.
    fn warnings(&self, scheme: &str) -> PyResult<Vec<String>> {
        let scenario = self.document.scenario();
        let resolved = scenario.scheme(scheme).map_err(raise)?;
        Ok(incast_sim::warnings(scenario, scheme, &resolved))
    }

    /// Number, name in results and kind of each traffic with a load.
    ///
    /// The kind is `poisson`, `requests` or `incast`: `traffic.<number>.<kind>.load` sets the load.
    fn open_loops(&self) -> Vec<(usize, String, &'static str)> {
        let scenario = self.document.scenario();
        let open = scenario.traffic.iter().enumerate().filter(|(_, one)| one.load().is_some());
        let named = |(n, one): (usize, &Traffic)| (n, scenario.traffic_name(n), one.kind.as_str());
        open.map(named).collect()
    }

    /// Links that are asked for more than they carry, and time series that would be too long.
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

    /// The estimated cost of a run, without building it.
    ///
    /// Bytes are those of the core and of the tables made of its results, right within a factor of
    /// two; of several runs, one after the other, the results stay. Seconds are of one core.
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

    /// The facts that are known before a run: size, base RTTs, buffers, oversubscription.
    ///
    /// The base RTT is that of a full packet without queues, from its first bit to its ACK. The
    /// bandwidth-delay product is the rate of the slowest link times the base RTT.
    fn facts<'py>(&self, py: Python<'py>, scheme: &str) -> PyResult<Bound<'py, PyDict>> {
        let resolved = self.document.scenario().scheme(scheme).map_err(raise)?;
        let document = Arc::clone(&self.document);
        let facts = heard(py, move || incast_sim::facts(document.scenario(), &resolved))?;
        facts_to_dict(py, &facts)
    }

    /// The plan of a run, with defaults filled in and names of hosts resolved.
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let document = Arc::clone(&self.document);
        let plan = heard(py, move || document.scenario().resolved())?;
        to_dict(py, &plan)
    }

    /// The network: names of hosts, switches with their layer, and cables.
    ///
    /// A cable has two nodes, and a link each way: the rate in Gb/s of the one out of its first
    /// node, and the delay in us.
    fn topology<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let document = Arc::clone(&self.document);
        let net = heard(py, move || topology(document.scenario()))?;
        let layers = net.layers.iter().map(|layer| layer.as_str());
        let cables = net.cables.iter().map(|cable| {
            let [one, other] = cable.ends.map(|end| net.name(end));
            (one, other, cable.rates[0].as_gbps_f64(), cable.delay.as_us_f64())
        });
        let dict = PyDict::new(py);
        dict.set_item("hosts", &net.hosts)?;
        dict.set_item("switches", net.switches.iter().zip(layers).collect::<Vec<_>>())?;
        dict.set_item("cables", cables.collect::<Vec<_>>())?;
        Ok(dict)
    }

    /// The hosts that traffic calls so, by name: a group, part of one, or one host.
    fn hosts_called(&self, py: Python<'_>, name: String) -> PyResult<Vec<String>> {
        let document = Arc::clone(&self.document);
        heard(py, move || {
            let scenario = document.scenario();
            let net = topology(scenario);
            let called = scenario.network.hosts_called(&name, &net);
            called.into_iter().map(|host| net.hosts[host as usize].clone()).collect()
        })
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?})", self.document.name())
    }

    fn __eq__(&self, other: &Self) -> bool {
        let same = |one: &Document, other: &Document| {
            one.name() == other.name() && one.text() == other.text() && one.texts() == other.texts()
        };
        same(&self.document, &other.document)
    }

    fn __hash__(&self) -> u64 {
        let mut state = DefaultHasher::new();
        (self.document.name(), self.document.text()).hash(&mut state);
        state.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let restore = py.import("incast._core")?.getattr("restore_scenario")?;
        let document = &self.document;
        let (text, file) = (document.text().to_owned(), document.file().to_owned());
        Ok((restore, (text, file, document.texts().clone())))
    }

    // Immutable: a copy is the scenario itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[expect(clippy::needless_pass_by_value, reason = "the protocol of Python")]
    fn __deepcopy__(slf: Py<Self>, memo: Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }
}

/// Text, file and files of a scenario.
type Parts = (String, String, BTreeMap<String, String>);

/// The scenario of a pickle: its text, the name of its file, and the files that it names.
#[pyfunction]
pub(crate) fn restore_scenario(
    text: String,
    file: &str,
    inputs: BTreeMap<String, String>,
) -> PyResult<Scenario> {
    FORMATS.restore(text, file, inputs).map(Scenario::from).map_err(raise)
}

fn facts_to_dict<'py>(py: Python<'py>, facts: &Facts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("network", facts.network)?;
    dict.set_item("hosts", facts.hosts)?;
    dict.set_item("switches", facts.switches)?;
    dict.set_item("links", facts.links)?;
    let paths: PyResult<Vec<_>> =
        facts.paths.iter().flatten().map(|path| path_to_dict(py, path)).collect();
    dict.set_item("paths", paths?)?;
    let over = facts.oversubscription.as_ref().map(|found| -> PyResult<_> {
        let dict = PyDict::new(py);
        dict.set_item("switch", &found.switch)?;
        dict.set_item("ratio", found.ratio())?;
        dict.set_item("below_gbps", found.below.as_gbps_f64())?;
        dict.set_item("above_gbps", found.above.as_gbps_f64())?;
        Ok(dict)
    });
    dict.set_item("oversubscription", over.transpose()?)?;
    let buffer = facts.buffer.as_ref().map(|buffer| -> PyResult<_> {
        let dict = PyDict::new(py);
        dict.set_item("switch", &buffer.switch)?;
        dict.set_item("total_bytes", buffer.total.get())?;
        dict.set_item("shared_bytes", buffer.shared.get())?;
        let headroom = buffer.headroom.as_ref().map(|headroom| -> PyResult<_> {
            let dict = PyDict::new(py);
            dict.set_item("classes", headroom.classes)?;
            dict.set_item("port_bytes", headroom.port.map(Bytes::get))?;
            dict.set_item("total_bytes", headroom.total.get())?;
            Ok(dict)
        });
        dict.set_item("headroom", headroom.transpose()?)?;
        Ok(dict)
    });
    dict.set_item("buffer", buffer.transpose()?)?;
    Ok(dict)
}

fn path_to_dict<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let [from, to] = &path.ends;
    dict.set_item("from", from)?;
    dict.set_item("to", to)?;
    dict.set_item("hops", path.hops)?;
    dict.set_item("base_rtt_us", path.base_rtt.as_us_f64())?;
    dict.set_item("rate_gbps", path.rate.as_gbps_f64())?;
    dict.set_item("bdp_bytes", path.product.get())?;
    Ok(dict)
}

fn costs<'py>(py: Python<'py>, cost: &Cost, runs: usize) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("hosts", cost.hosts)?;
    dict.set_item("links", cost.links)?;
    dict.set_item("connections", cost.connections)?;
    dict.set_item("messages", cost.messages)?;
    dict.set_item("packet_hops", cost.packet_hops)?;
    dict.set_item("seconds", cost.seconds())?;
    dict.set_item("faster", cost.times.first().map(|part| part.remedy))?;
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

/// The JSON Schema of a scenario, as a text.
#[pyfunction]
pub(crate) fn schema() -> String {
    json_schema()
}
