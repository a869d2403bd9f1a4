//! Scenarios: what is simulated, described once.
//!
//! A scenario is a TOML file. These types are its only definition: the Python package passes it
//! through, and the JSON Schema that editors complete from is generated from them
//! ([`json_schema`]). Quantities are written with their unit ("10Gbps", "5us", "64KB"); unknown
//! fields are refused, with the nearest name that is known.

mod check;
mod document;
mod error;
mod quantity;
mod scheme;
mod transport;

use std::collections::BTreeMap;

use incast_cc::{Bytes, Fraction, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use document::{Document, json_schema};
pub use error::{Place, ScenarioError};
pub use scheme::Scheme;
pub use transport::{Ecn, Signal, SignalKind, Stream, StreamPreset, Transport, TransportKind};

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
    pub traffic: Vec<Traffic>,
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
    /// Of all random numbers: start times.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Length of one interval of the time series; a 400th of the duration by default.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub interval: Option<Span>,
    /// Schemes that are compared when the command line names none.
    pub schemes: Vec<String>,
}

/// Hosts, switches and links.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Network {
    /// Hosts around one switch.
    Star(Star),
    /// Two switches with hosts on both sides.
    Dumbbell(Dumbbell),
    /// Racks of hosts, each with a leaf switch that is connected to every spine switch.
    LeafSpine(LeafSpine),
}

/// Hosts around one switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// The hosts, in groups with equal links.
    pub hosts: Vec<HostGroup>,
}

/// Two switches with hosts on both sides.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts on the first switch.
    pub left: Vec<HostGroup>,
    /// Hosts on the second switch.
    pub right: Vec<HostGroup>,
    /// The link between the switches.
    pub bottleneck: Cable,
}

/// Racks of hosts, each with a leaf switch that is connected to every spine switch. Packets from rack to
/// rack take the first spine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// The hosts of each rack; they are numbered through, rack by rack.
    pub hosts: HostGroup,
    /// The links between leaves and spines.
    pub uplink: Cable,
}

/// Hosts with equal links.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// The group's name; with a count, the hosts' names are this and a number from 0.
    pub name: String,
    /// How many; absent is a single host called by the group's name.
    pub count: Option<u32>,
    /// Rate of each link.
    #[serde(deserialize_with = "quantity::rate")]
    #[schemars(with = "String")]
    pub rate: Rate,
    /// Propagation delay of each link, one way.
    #[serde(deserialize_with = "quantity::delay")]
    #[schemars(with = "String")]
    pub delay: Span,
}

/// One cable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// Rate of both directions.
    #[serde(deserialize_with = "quantity::rate")]
    #[schemars(with = "String")]
    pub rate: Rate,
    /// Propagation delay, one way.
    #[serde(deserialize_with = "quantity::delay")]
    #[schemars(with = "String")]
    pub delay: Span,
}

/// All switches.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// The shared packet buffer, PFC headroom included.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub buffer: Bytes,
    /// What an egress queue that PFC does not protect may hold, as a multiple of the free buffer: all
    /// queues without PFC, those of ACKs in their own class with it.
    #[serde(deserialize_with = "quantity::alpha")]
    #[schemars(with = "f64")]
    pub alpha: Fraction,
    /// Most bytes of such a queue, instead of the dynamic threshold.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub queue_limit: Option<Bytes>,
    /// Marks (ECN) data packets that find more than this in their queue, themselves counted, if they say
    /// that they may be marked: messages do, streams where `transport.stream.ecn` has it so.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub ecn_threshold: Option<Bytes>,
    /// Stamps the state of a port into each packet that leaves it (INT), for HPCC. Takes no room in
    /// the packet.
    pub telemetry: bool,
    /// Priority flow control.
    pub pfc: Pfc,
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            buffer: Bytes::from_kb(9_000),
            alpha: Fraction::ONE,
            queue_limit: None,
            ecn_threshold: None,
            telemetry: false,
            pfc: Pfc::default(),
        }
    }
}

/// Priority flow control, which protects the data class.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Whether it is on.
    pub enabled: bool,
    /// What an ingress port may hold before it pauses its sender, as a multiple of the free buffer.
    #[serde(deserialize_with = "quantity::alpha")]
    #[schemars(with = "f64")]
    pub alpha: Fraction,
    /// A fixed XOFF threshold instead of the dynamic one.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub xoff: Option<Bytes>,
    /// How far below the XOFF threshold an ingress port must fall before its sender goes on.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub xon_offset: Bytes,
    /// Room kept for each ingress port for what arrives after XOFF; by default computed from its
    /// link: what travels during a round trip, and three packets.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub headroom: Option<Bytes>,
}

impl Default for Pfc {
    fn default() -> Self {
        Self {
            enabled: false,
            alpha: Fraction::from_ratio(1, 8),
            xoff: None,
            xon_offset: Bytes::from_kb(3),
            headroom: None,
        }
    }
}

/// Who sends what to whom.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// The hosts that start it: a group, or one host of it.
    pub from: String,
    /// The hosts at the other end.
    pub to: String,
    /// Each host of `from` picks so many of `to` at random; absent, all of them.
    pub fan_out: Option<u32>,
    /// Connections for each pair of hosts.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// Whether the payload goes to the other end or comes from there.
    #[serde(default)]
    pub operation: Operation,
    /// When it starts.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start: Span,
    /// Each connection starts later than `start` by a random time of up to this.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start_spread: Span,
    /// Size of a message; absent is one message without end.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub message: Option<Bytes>,
    /// Messages of each connection.
    #[serde(default = "default_count")]
    pub count: u32,
    /// From one message of a connection to the next; zero posts all at once.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub every: Span,
}

/// Which way the payload goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// RDMA write: `from` sends and is paced.
    #[default]
    Write,
    /// RDMA read: `from` asks, `to` sends and is paced.
    Read,
}

impl Operation {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
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

const fn default_connections() -> u32 {
    1
}

const fn default_count() -> u32 {
    1
}
