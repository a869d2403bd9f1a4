//! Scenarios: what is simulated, described once.
//!
//! This crate knows no engine. It reads a scenario, checks it, and says what its network looks like
//! ([`topology`]) and what its traffic does ([`plan`]).
//!
//! A scenario is a TOML file. These types are its only definition: the Python package passes it
//! through, and the JSON Schema that editors complete from is generated from them
//! ([`json_schema`]). Quantities are written with their unit ("10Gbps", "5us", "64KB"); unknown
//! fields are refused, with the nearest name that is known.

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
mod hosts;
mod import;
mod input;
mod load;
mod measure;
mod plan;
mod queues;
mod resolved;
mod routing;
mod scheme;
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

pub use buffers::{headroom, shared_buffer};
pub use class::{Class, MOST_CLASSES, ResolvedClass};
pub use document::{Document, INPUTS, json_schema};
pub use error::ScenarioError;
pub use import::{Imported, Kind as ImportedKind, Options as ImportOptions, import};
pub use incast_plan::flows::Operation;
pub use incast_queue::discipline::{QueueDiscipline, fifo::Fifo, srpt::Srpt};
pub use incast_queue::management::{
    Aqm, codel::Codel, phantom::Phantom, pi::Pi, pie::Pie, red::Red,
};
pub use incast_schema::Place;
pub use measure::{MOST_SERIES_ROWS, Measure};
pub use plan::{demand, lasting, lasting_flows, plan};
pub use resolved::{Resolved, ResolvedHost, ResolvedQueue};
pub use routing::{LinkEvent, LinkState, Routing, RoutingKind, RoutingPath};
pub use scheme::Scheme;
pub use sizes::FlowSizes;
pub use switch::{Pfc, Switch, Watchdog, WatchdogAction};
pub use threads::Threads;
pub use topology::settings::*;
pub use topology::{
    Cable, GraphLink, HostGroup, NETWORKS, Network, NodeGroup, Uplink,
    settings::File as NetworkFile, topology,
};
pub use traffic::{
    After, AfterEvent, Amount, Collective, CollectiveOperation, Common, Connections, Counts,
    Demand, Destinations, FanOut, FlowList, Incast, ListedFlow, LoadOf, Opens, PingPong, Poisson,
    Requests, ResolvedTraffic, TRAFFIC_KINDS, Traffic, TrafficKind, Urgent, amounts, counts,
    hosts_of,
};
pub use transport::{
    Ecn, Nic, Recovery, Signal, SignalKind, Stack, Stream, StreamPreset, Transport, TransportKind,
};

/// What is simulated.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One line.
    pub title: String,
    /// What it shows, where its numbers come from, and what had to be assumed.
    #[serde(default)]
    pub description: String,
    /// How long, from which seed, and which schemes are compared.
    pub run: Run,
    /// Hosts, switches and links.
    pub network: Network,
    /// Which way packets take where there are several.
    #[serde(default)]
    pub routing: Routing,
    /// Links that fail, come back, or change their rate.
    #[serde(default, rename = "event")]
    pub events: Vec<LinkEvent>,
    /// Traffic classes, from the lowest to the highest priority; one for data if absent.
    #[serde(default)]
    pub class: Vec<Class>,
    /// All switches.
    #[serde(default)]
    pub switch: Switch,
    /// The transport of all hosts.
    #[serde(default)]
    pub transport: Transport,
    /// What algorithms get as their RTT.
    #[serde(default)]
    pub signal: Signal,
    /// Who sends what to whom.
    #[serde(deserialize_with = "traffic::read::later")]
    #[schemars(with = "Vec<Traffic>")]
    pub traffic: Vec<Traffic>,
    /// What is measured, beside what always is.
    #[serde(default)]
    pub measure: Measure,
    /// Parameters of each scheme, by its name. A scheme is an algorithm, an algorithm with a preset
    /// ("timely:zhu"), or any name with the field `algorithm`. The field `preset` chooses a
    /// published set of values, `transport` and `signal` say what carries this scheme if not what
    /// carries the others; all other fields are parameters of the algorithm.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")]
    pub cc: BTreeMap<String, BTreeMap<String, toml::Value>>,
    /// Published results, by scheme, to be shown beside the measured ones.
    #[serde(default)]
    pub published: BTreeMap<String, Published>,
}

/// How long, from which seed, and which schemes are compared.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated time.
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub duration: Span,
    /// The part of it at the beginning that is not measured.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub warmup: Span,
    /// The part of it at the end that is not measured: what was posted before has time to be delivered.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub cooldown: Span,
    /// Of all random numbers: start times.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Length of one interval of the time series; a 400th of the duration by default.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub interval: Option<Span>,
    /// How many threads one run has, a number or "auto": as many as there are cores, and as the network has work
    /// for. Results do not depend on it.
    #[serde(default)]
    pub threads: Threads,
    /// Schemes that are compared when the command line names none.
    pub schemes: Vec<String>,
}

/// A published result.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Throughput of the bottleneck.
    #[serde(default, deserialize_with = "quantity::optional_rate")]
    #[schemars(with = "Option<String>")]
    pub throughput: Option<Rate>,
    /// Mean RTT.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub rtt_mean: Option<Span>,
    /// 99th percentile of the RTT.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub rtt_p99: Option<Span>,
    /// Where it was published.
    #[serde(default)]
    pub source: String,
}

const fn default_seed() -> u64 {
    1
}
