//! Scenarios: a single description of a simulation.
//!
//! This crate knows no engine. It reads a scenario, checks it, and tells what its network looks
//! like ([`topology`]) and what its traffic does ([`plan`]).
//!
//! A scenario is a TOML file. These types are its only definition: the Python package passes the
//! file through, and the JSON Schema for completion in editors is generated from the types
//! ([`json_schema`]). Quantities are written with their unit ("10Gbps", "5us", "64KB"). Unknown
//! fields are refused, with the nearest known name.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test fails by panicking")
)]

mod bounds;
mod buffers;
mod check;
mod class;
mod document;
mod error;
pub mod foreign;
pub mod guests;
mod hosts;
mod input;
mod islands;
mod links;
mod load;
mod measure;
mod mix;
mod plan;
mod queues;
mod receivers;
mod resolved;
mod routing;
mod scheme;
mod section;
mod settings;
mod sizes;
mod switch;
mod threads;
mod topology;
mod traffic;
mod transport;
pub mod workload;

use std::collections::BTreeMap;

use incast_cc::{Rate, Span};
use incast_schema::quantity;
use schemars::JsonSchema;
use serde::Deserialize;

pub use buffers::{headroom, needed_headroom, shared_buffers};
pub use class::{Class, MOST_CLASSES, ResolvedClass};
pub use document::{Document, json_schema};
pub use error::ScenarioError;
pub use incast_plan::RoutingKind;
pub use incast_plan::flows::Operation;
pub use incast_queue::discipline::{QueueDiscipline, fifo::Fifo, srpt::Srpt};
pub use incast_queue::management::{
    Aqm, Moment, codel::Codel, phantom::Phantom, pi::Pi, pie::Pie, red::Red,
};
pub use incast_schema::{Place, suggestion};
pub use input::INPUTS;
pub use input::traces::Asked as AskedJob;
pub use islands::Island;
pub use links::OwnLink;
pub use measure::{MOST_SERIES_ROWS, Measure};
pub use mix::{MOST_SCHEMES, Mix, NamedScheme};
pub use plan::{LastingFlow, all_lasting, demand, lasting, lasting_flows, plan};
pub use receivers::Receiver;
pub use resolved::{Resolved, ResolvedHost, ResolvedQueue};
pub use routing::{LinkEvent, LinkState, Routing, RoutingPath};
pub use scheme::Scheme;
pub use section::Section;
pub use sizes::FlowSizes;
pub use switch::{EcnScope, Pfc, Switch, Watchdog, WatchdogAction};
pub use threads::{Threads, ThreadsError};
pub use topology::settings::*;
pub use topology::{Cable, GraphLink, HostGroup, NETWORKS, Network, NodeGroup, Uplink, topology};
pub use traffic::{
    After, AfterEvent, Amount, Collective, Common, Connections, Counts, Deadline, DeadlineLaw,
    Demand, Destinations, FanOut, FlowList, Incast, Job, ListedFlow, LoadOf, Opens, PingPong,
    Placement, PlacementOrder, Poisson, Requests, ResolvedTraffic, SharedScheme, Straggler,
    TRAFFIC_KINDS, Traffic, TrafficKind, TrafficScheme, Urgent, amounts, counts, hosts_of,
};
pub use transport::{
    Ecn, Nic, Recovery, Signal, SignalKind, Stack, Stream, StreamPreset, Transport, TransportKind,
};

/// A scenario: network, traffic, transport and measurement of a simulation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The title, in one line.
    pub title: String,
    /// The purpose of the scenario, the source of its numbers, and its assumptions.
    #[serde(default)]
    pub description: String,
    /// The duration, the seed, and the schemes that are compared.
    pub run: Run,
    /// The hosts, switches and links.
    pub network: Network,
    /// The choice among several paths.
    #[serde(default)]
    pub routing: Routing,
    /// Links that differ from the network's.
    #[serde(default, rename = "link")]
    pub links: Vec<OwnLink>,
    /// Hosts that take in less than their links bring.
    #[serde(default, rename = "receiver")]
    pub receivers: Vec<Receiver>,
    /// Groups of hosts with a fast fabric of their own, such as the GPUs of a server.
    #[serde(default, rename = "island")]
    pub islands: Vec<Island>,
    /// Links that fail, come back, or change their rate.
    #[serde(default, rename = "event")]
    pub events: Vec<LinkEvent>,
    /// The traffic classes, from the lowest to the highest priority; one for data if absent.
    #[serde(default)]
    pub class: Vec<Class>,
    /// The settings of all switches.
    #[serde(default)]
    pub switch: Switch,
    /// The transport of all hosts.
    #[serde(default)]
    pub transport: Transport,
    /// The RTT that algorithms get.
    #[serde(default)]
    pub signal: Signal,
    /// The traffic: who sends what to whom.
    #[serde(deserialize_with = "traffic::read::later")]
    #[schemars(with = "Vec<Traffic>")]
    pub traffic: Vec<Traffic>,
    /// Optional measurements.
    #[serde(default)]
    pub measure: Measure,
    /// The parameters of each scheme, by its name. A scheme is an algorithm, an algorithm with a
    /// preset ("timely:zhu"), or any name with the field `algorithm`. The field `preset` chooses a
    /// published set of values. The fields `transport` and `signal` replace the scenario's settings
    /// for this scheme. All other fields are parameters of the algorithm.
    #[serde(default)]
    #[schemars(
        with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>",
        extend("default" = {})
    )]
    pub cc: BTreeMap<String, Section>,
    /// Published results by scheme, shown beside the simulated ones.
    #[serde(default)]
    pub published: BTreeMap<String, Published>,
}

/// The duration, the seed, and the schemes that are compared.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The simulated time.
    #[serde(with = "quantity::Duration")]
    pub duration: Span,
    /// The time at the beginning that is not measured.
    #[serde(default, with = "quantity::Time")]
    pub warmup: Span,
    /// The time at the end that is not measured, so that messages posted before it can still be
    /// delivered.
    #[serde(default, with = "quantity::Time")]
    pub cooldown: Span,
    /// The most time after `duration` in which messages that were posted by then may still arrive.
    /// The run ends when the last message of known size has. Nothing begins by itself any more:
    /// rounds, and flows that wait for others, go on, and so do flows without end. If absent, the
    /// run ends with `duration`.
    #[serde(default, with = "quantity::OptionalDuration")]
    pub drain: Option<Span>,
    /// The seed of all random numbers, such as start times.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The length of one interval of the time series; a 400th of the duration by default.
    #[serde(default, with = "quantity::OptionalDuration")]
    pub interval: Option<Span>,
    /// The number of threads of one run, or "auto" for as many as there are cores and as the
    /// network has work for. Results do not depend on it.
    #[serde(default)]
    pub threads: Threads,
    /// The schemes that are compared when the command line names none.
    pub schemes: Vec<String>,
}

impl Run {
    /// The longest time that can be simulated.
    pub fn longest(&self) -> Span {
        self.duration + self.drain.unwrap_or(Span::ZERO)
    }
}

/// A published result.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The throughput of the bottleneck.
    #[serde(default, with = "quantity::OptionalRate")]
    pub throughput: Option<Rate>,
    /// The mean RTT.
    #[serde(default, with = "quantity::OptionalDuration")]
    pub rtt_mean: Option<Span>,
    /// The 99th percentile of the RTT.
    #[serde(default, with = "quantity::OptionalDuration")]
    pub rtt_p99: Option<Span>,
    /// The publication.
    #[serde(default)]
    pub source: String,
}

const fn default_seed() -> u64 {
    1
}
