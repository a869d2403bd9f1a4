//! Files of other simulators: topologies, flows and configurations of HPCC's ns-3 simulator and its
//! relatives, and of htsim; traces of jobs in the formats of GOAL, Chakra, MSCCL and `SimAI`.
//!
//! [`graph`], [`flows`] and [`job`](job()) read what scenarios name: [`FORMATS`] has all of them.
//! [`import`](import()) turns a set of files into the text of a scenario with the same content, and
//! lists everything that it could not convert. Nothing is guessed in silence: inconsistent input is
//! refused with its line, and quantities are read as decimals, never through floating point.
//!
//! `docs/how-to/importing.md` describes the conversion.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod hpcc_columns;
mod hpcc_config;
mod hpcc_flows;
mod hpcc_graph;
mod hpcc_header;
mod hpcc_homes;
mod hpcc_results;
mod hpcc_topology;
mod hpcc_trace;
mod htsim_matrix;
mod htsim_tier;
mod htsim_topology;
mod htsim_triggers;
mod import;
mod job;
mod text;

use hpcc_columns::{BOTH, Reading};
use hpcc_flows::RDMA_PAYLOAD;

pub use hpcc_config::{Config as HpccConfig, LinkDown, Set};
pub use hpcc_flows::{Flows as HpccFlows, Message as HpccFlow};
pub use hpcc_results::{Fct as HpccFct, Pfc as HpccPfc, Results as HpccResults};
pub use hpcc_topology::{Cable as HpccCable, Topology as HpccTopology};
pub use hpcc_trace::Trace as HpccTrace;
pub use htsim_matrix::{Connection, Failure, Matrix as HtsimMatrix, Trigger, TriggerKind, When};
pub use htsim_tier::Tier;
pub use htsim_topology::Tree as HtsimTopology;
pub use import::{Imported, JobOptions, Kind, Options, import, import_job};
pub use incast_scenario::foreign::job::JobFormat;
pub use incast_scenario::foreign::{
    After, FilePlace, Flow, ForeignError, Format, Formats, Graph, Link, Start, Switch, What,
};
pub use job::{is_job, job};

/// The readers of all formats, for scenarios that name such files: `FORMATS.load(path)`.
pub const FORMATS: Formats = Formats { graph, flows, job };

/// The network in a topology file: HPCC's `topology.txt` or htsim's `.topo`.
///
/// # Errors
/// The file is not such a file, is inconsistent, or has a network that cannot be simulated here.
pub fn graph(format: Format, file: &str, text: &str) -> Result<Graph, ForeignError> {
    match format {
        Format::Hpcc | Format::Ns3Rdma => HpccTopology::parse(file, text)?.graph(file),
        Format::Htsim => HtsimTopology::parse(file, text)?.graph(file),
    }
}

/// Refuses flows of ns3-rdma where HPCC's were announced.
pub(crate) fn not_rdma(file: &str, content: &str, remedy: &str) -> Result<(), ForeignError> {
    if Reading::of(content) != Reading::Ns3Rdma {
        return Ok(());
    }
    let reason = format!(
        "flows of ns3-rdma (packets, a start, an end), not of HPCC's simulator (a port, bytes, a \
         start); {remedy}"
    );
    Err(text::refused(file, 1, reason))
}

/// The flows in a file: HPCC's `flow.txt` or htsim's `.cm`. Those of ns3-rdma have packets with a
/// payload of 1,000 B, the default there.
///
/// # Errors
/// The file is not such a file, is inconsistent, or has flows that a scenario cannot express.
pub fn flows(format: Format, file: &str, content: &str) -> Result<Vec<Flow>, ForeignError> {
    match format {
        Format::Hpcc => {
            not_rdma(file, content, "format = \"ns3-rdma\" reads them")?;
            Ok(HpccFlows::parse(file, content)?.named())
        }
        Format::Ns3Rdma => Ok(HpccFlows::rdma(file, content, RDMA_PAYLOAD)?.named()),
        Format::Htsim => {
            let matrix = HtsimMatrix::parse(file, content)?;
            if let Some(failure) = matrix.failures.first() {
                let reason = "a failed link belongs to the network; write it as an [[event]], or \
                              import the matrix together with its topology";
                return Err(text::refused(file, failure.line, reason));
            }
            matrix.flows(file)
        }
    }
}
