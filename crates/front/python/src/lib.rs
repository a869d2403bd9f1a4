//! The extension module `incast._core`: conversions and exceptions, no logic.
//!
//! The module is documented in `python/incast/_core.pyi`, where Python users look.

mod algorithms;
mod control;
mod doubts;
mod errors;
mod foreign;
mod heard;
mod learning;
mod resolved;
mod run;
mod scenario;
mod settings;
mod table;
mod traces;
#[cfg(target_os = "linux")]
mod udp;
mod workloads;

use incast_sim::TraceConfig;
use incast_sim::doubts::LOOKED_AT;
use incast_sim::scenario::Threads;
use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::algorithms::{Algorithm, Parameter, Preset, algorithms};
    #[pymodule_export]
    use super::control::{
        Ack, Declared, Delivery, Demand, Flow, Hop, Limits, Loss, RttSample, Sent, Spurious,
        know_algorithm, know_compiled, know_table, native_fields,
    };
    #[pymodule_export]
    use super::doubts::{doubt_sentences, run_doubts};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::errors::SecurityError;
    #[pymodule_export]
    use super::errors::{AlgorithmError, IncastError, ParameterError, ScenarioError};
    #[pymodule_export]
    use super::foreign::{import_files, import_job, is_job, read_results};
    #[pymodule_export]
    use super::learning::{Environments, check_tree, know_tree, observation_features};
    #[pymodule_export]
    use super::run::{Run, run, summary_figures};
    #[pymodule_export]
    use super::scenario::{Scenario, restore_scenario, schema};
    #[pymodule_export]
    use super::table::{Table, described_stream};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::udp::{
        UdpCables, UdpHost, UdpNotices, UdpOptions, UdpPeer, UdpPending, UdpRequest, udp_bare,
        udp_lab, udp_load, udp_make_key, udp_public_key, udp_replay, udp_settings,
    };
    #[pymodule_export]
    use super::workloads::{Workload, workloads};

    use super::{Bound, LOOKED_AT, PyModule, PyModuleMethods, PyResult, Threads, TraceConfig};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("most_threads", Threads::MOST)?;
        module.add("trace_names", TraceConfig::NAMES)?;
        module.add("doubted_tables", LOOKED_AT.map(|(name, _)| name))?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
