//! Hosts, switches and links of a scenario.

mod fabrics;
mod graph;

use incast_cc::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use fabrics::Tiers;
pub use fabrics::{Clos, FatTree, LeafSpine, ParkingLot, Uplink};
pub use graph::{Graph, GraphLink, NetworkFile, NodeGroup};
use incast_schema::quantity;

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
    /// Three tiers of equal switches with k ports each.
    FatTree(FatTree),
    /// Three tiers with numbers and rates of their own.
    Clos(Clos),
    /// A chain of switches with hosts on each.
    ParkingLot(ParkingLot),
    /// Hosts, switches and links, each named.
    Graph(Graph),
    /// A file of another simulator, which becomes a graph when the scenario is read.
    File(NetworkFile),
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
