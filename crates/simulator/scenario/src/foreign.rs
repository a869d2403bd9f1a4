//! Files of other simulators: topologies, flows and configurations of HPCC's ns-3 simulator and its
//! relatives, and of htsim.
//!
//! [`graph`] and [`flows`] read one file each, for scenarios that name it.
//! [`import`](crate::import()) turns a set of files into the text of a scenario with the same
//! content, and lists everything that it could not convert. Nothing is guessed in silence:
//! inconsistent input is refused with its line, and quantities are read as decimals, never through
//! floating point.
//!
//! `docs/how-to/importing.md` describes the conversion.

mod error;
mod hpcc_columns;
pub(crate) mod hpcc_config;
pub(crate) mod hpcc_flows;
mod hpcc_graph;
pub(crate) mod hpcc_header;
pub(crate) mod hpcc_homes;
mod hpcc_results;
pub(crate) mod hpcc_topology;
mod hpcc_trace;
mod htsim_matrix;
mod htsim_tier;
mod htsim_topology;
pub(crate) mod htsim_triggers;
pub(crate) mod text;

use incast_cc::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

pub use error::{FilePlace, ForeignError};
pub(crate) use hpcc_columns::{BOTH, Reading};
pub use hpcc_config::{Config as HpccConfig, LinkDown, Set};
use hpcc_flows::RDMA_PAYLOAD;
pub use hpcc_flows::{Flows as HpccFlows, Message as HpccFlow};
pub use hpcc_results::{Fct as HpccFct, Pfc as HpccPfc, Results as HpccResults};
pub use hpcc_topology::{Cable as HpccCable, Topology as HpccTopology};
pub use hpcc_trace::Trace as HpccTrace;
pub use htsim_matrix::{Connection, Failure, Matrix as HtsimMatrix, Trigger, TriggerKind, When};
pub use htsim_tier::Tier;
pub use htsim_topology::Tree as HtsimTopology;

/// The simulator whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// HPCC's ns-3 simulator and its descendants.
    Hpcc,
    /// ns3-rdma, from which HPCC's simulator was made. Its flows have packets and an end.
    #[serde(rename = "ns3-rdma")]
    Ns3Rdma,
    /// htsim.
    Htsim,
}

impl Format {
    /// The formats by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("hpcc", Self::Hpcc), ("ns3-rdma", Self::Ns3Rdma), ("htsim", Self::Htsim)];

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, format)| format)
    }

    /// The format's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The switches.
    pub switches: Vec<Switch>,
    /// The links; each host has one.
    pub links: Vec<Link>,
    /// Notes on content of the file that a graph cannot express.
    pub notes: Vec<String>,
}

/// A switch of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The name.
    pub name: String,
    /// The layer.
    pub layer: &'static str,
}

/// A link of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The names of both nodes.
    pub ends: [String; 2],
    /// Rate of both directions.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Span,
    /// The probability that a packet is damaged on the way, in either direction.
    pub loss: f64,
}

/// A flow of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// The start.
    pub start: Start,
    /// Payload; [`None`] is a flow without end.
    pub size: Option<Bytes>,
    /// The number by which other flows wait for this one.
    pub id: Option<u32>,
    /// HPCC: the priority group, which is a queue in every port.
    pub group: Option<u32>,
    /// htsim: the priority at the receiver, which serves low numbers first in protocols that allow
    /// it.
    pub priority: Option<u32>,
    /// The line in the file.
    pub line: usize,
}

/// The start of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time.
    At(Span),
    /// After other flows.
    After(After),
}

/// The condition for a flow's start. The host that starts the flow must see it: it sent or received
/// the other flows itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// The numbers of the other flows.
    pub ids: Vec<u32>,
    /// Whether the flow waits for all of them, or for the first.
    pub all: bool,
    /// The event that it waits for.
    pub what: What,
}

/// An event of a flow that others can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The sender knows that all payload has arrived.
    Sent,
    /// The receiver has all payload.
    Received,
}

impl What {
    /// The event's name in scenarios.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

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
