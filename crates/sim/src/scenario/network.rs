//! Hosts, switches and links of a scenario.

use incast_cc::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity;

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
