//! Files of other simulators, as scenarios see them: the formats by name, and what a file holds.
//!
//! A scenario may name a file of another simulator for its network or its flows. This crate reads
//! none of them: `incast-foreign` does, which stands above it and brings [`Formats`].

mod error;
pub mod job;

use incast_cc::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

pub use error::{FilePlace, ForeignError};

use job::{JobGraph, JobSource};

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

/// The readers of files of other simulators. Each gets the name of the file, for errors, and its
/// text.
#[derive(Clone, Copy, Debug)]
pub struct Formats {
    /// Reads the network in a topology file.
    pub graph: fn(Format, &str, &str) -> Result<Graph, ForeignError>,
    /// Reads the flows in a file.
    pub flows: fn(Format, &str, &str) -> Result<Vec<Flow>, ForeignError>,
    /// Reads the graph of a job.
    pub job: fn(JobSource<'_>) -> Result<JobGraph, ForeignError>,
}

impl Formats {
    /// No readers: a scenario that names a file of another simulator is refused.
    pub const NONE: Self = Self {
        graph: |format, file, _| Err(unknown(format, file)),
        flows: |format, file, _| Err(unknown(format, file)),
        job: |_| {
            let message = "this program reads no traces of jobs; expected one with \
                           incast-foreign's readers";
            Err(ForeignError::Together(message.into()))
        },
    };
}

fn unknown(format: Format, file: &str) -> ForeignError {
    ForeignError::Together(format!(
        "{file}: this program reads no files of {}; expected one with incast-foreign's readers",
        format.as_str()
    ))
}
