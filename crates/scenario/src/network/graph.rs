//! A network in which each link is named.

use incast_cc::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::quantity;
use crate::foreign;

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

/// A network in a file of another simulator.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkFile {
    /// What the file is.
    pub format: foreign::Format,
    /// The file, relative to the scenario's own.
    pub path: String,
}

impl Graph {
    /// The network that a file of another simulator describes.
    pub(crate) fn foreign(format: foreign::Format, file: &str, text: &str) -> Result<Self, String> {
        let graph = foreign::graph(format, file, text).map_err(|error| error.to_string())?;
        let single = |name: String| NodeGroup { name, count: None };
        let numbered = (0..).zip(&graph.hosts).all(|(i, name)| *name == format!("host{i}"));
        let hosts = match u32::try_from(graph.hosts.len()) {
            // One group, so that traffic can name all of them.
            Ok(count) if numbered => vec![NodeGroup { name: "host".into(), count: Some(count) }],
            _ => graph.hosts.into_iter().map(single).collect(),
        };
        let link = |link: foreign::Link| {
            let foreign::Link { ends, rate, delay } = link;
            GraphLink { ends, rate, delay }
        };
        Ok(Self {
            hosts,
            switches: graph.switches.into_iter().map(|switch| single(switch.name)).collect(),
            links: graph.links.into_iter().map(link).collect(),
        })
    }
}
