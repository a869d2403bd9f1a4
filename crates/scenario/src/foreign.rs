//! Files that people already have: topologies, flows and configurations of HPCC's ns-3 simulator and its
//! descendants, and of htsim.
//!
//! [`graph`] and [`flows`] read one file each, for scenarios that name it; [`import`](crate::import()) turns a set of
//! files into the text of a scenario that says all that they said, and lists what it could not take
//! over. Nothing is guessed in silence: what does not add up is refused with its line, and quantities
//! are read as decimals, never through floating point.
//!
//! `docs/guide/importing.md` says how each thing maps.

mod error;
pub(crate) mod hpcc_config;
mod hpcc_flows;
mod hpcc_graph;
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

pub use error::{ForeignError, Place};
pub use hpcc_config::{Config as HpccConfig, LinkDown, Set};
pub use hpcc_flows::{Flows as HpccFlows, Message as HpccFlow};
pub use hpcc_results::{Fct as HpccFct, Pfc as HpccPfc, Results as HpccResults};
pub use hpcc_topology::{Cable as HpccCable, Topology as HpccTopology};
pub use hpcc_trace::Trace as HpccTrace;
pub use htsim_matrix::{Connection, Failure, Matrix as HtsimMatrix, Trigger, TriggerKind, When};
pub use htsim_tier::Tier;
pub use htsim_topology::Tree as HtsimTopology;

/// Whose files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// HPCC's ns-3 simulator and its descendants.
    Hpcc,
    /// htsim.
    Htsim,
}

impl Format {
    /// The formats by name.
    pub const NAMES: [(&'static str, Self); 2] = [("hpcc", Self::Hpcc), ("htsim", Self::Htsim)];
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The switches.
    pub switches: Vec<Switch>,
    /// The links; each host has one.
    pub links: Vec<Link>,
    /// What the file says and a graph cannot.
    pub notes: Vec<String>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Its layer.
    pub layer: &'static str,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The names of its ends.
    pub ends: [String; 2],
    /// Rate of both directions.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Span,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// When it starts.
    pub start: Start,
    /// Payload; absent is without end.
    pub size: Option<Bytes>,
    /// By which others wait for it.
    pub id: Option<u32>,
    /// HPCC: the priority group, a queue in every port.
    pub group: Option<u32>,
    /// htsim: the receiver serves low numbers first, in protocols that let it.
    pub priority: Option<u32>,
    /// Its line in the file.
    pub line: usize,
}

/// When a flow starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time.
    At(Span),
    /// After others.
    After(After),
}

/// What a flow waits for. The host that starts it sees all of it: what it sent or received itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// The flows.
    pub ids: Vec<u32>,
    /// Whether for all of them, or for the first.
    pub all: bool,
    /// What must happen to them.
    pub what: What,
}

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The sender knows that all has arrived.
    Sent,
    /// The receiver has all.
    Received,
}

impl What {
    /// The word for it.
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
/// It is not such a file, does not add up, or is a network that cannot be simulated here.
pub fn graph(format: Format, file: &str, text: &str) -> Result<Graph, ForeignError> {
    match format {
        Format::Hpcc => HpccTopology::parse(file, text)?.graph(file),
        Format::Htsim => HtsimTopology::parse(file, text)?.graph(file),
    }
}

/// The flows in a file: HPCC's `flow.txt` or htsim's `.cm`.
///
/// # Errors
/// It is not such a file, does not add up, or has flows that a scenario cannot say.
pub fn flows(format: Format, file: &str, content: &str) -> Result<Vec<Flow>, ForeignError> {
    match format {
        Format::Hpcc => Ok(HpccFlows::parse(file, content)?.named()),
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
