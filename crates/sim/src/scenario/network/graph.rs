//! A network in which each link is named.

use incast_cc::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::quantity;

/// Hosts, switches and links, each named.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The hosts; each has one link, to a switch.
    pub hosts: Vec<NodeGroup>,
    /// The switches.
    pub switches: Vec<NodeGroup>,
    /// The links; two nodes have at most one. A switch's ports are numbered in their order.
    pub links: Vec<GraphLink>,
}

/// Hosts or switches with a common name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    /// The name; with a count, the nodes' names are this and a number from 0.
    pub name: String,
    /// How many; absent is a single node called by the name.
    pub count: Option<u32>,
}

/// One cable of a graph.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The nodes at its ends.
    pub ends: [String; 2],
    /// Rate of both directions.
    #[serde(deserialize_with = "quantity::rate")]
    #[schemars(with = "String")]
    pub rate: Rate,
    /// Propagation delay, one way.
    #[serde(deserialize_with = "quantity::delay")]
    #[schemars(with = "String")]
    pub delay: Span,
}
