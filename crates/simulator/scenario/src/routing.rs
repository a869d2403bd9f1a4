//! Routing, and links that fail, come back or change their rate.

use std::collections::BTreeSet;

use incast_cc::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use incast_plan::RoutingKind;
use incast_plan::topology::Topology;
use incast_schema::quantity;

use crate::{Scenario, Traffic};

/// The choice among several paths.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// The kind of routing: shortest paths, or paths through a random group of switches.
    pub kind: RoutingKind,
    /// The seed of the switches' hashes, of the generators that spray, of the intermediate groups
    /// of Valiant routing, and of the hash that draws a tree; `run.seed` if absent.
    pub hash_seed: Option<u64>,
    /// The time from a link's failure or repair to the new routes of all switches.
    #[serde(with = "quantity::Time")]
    pub convergence: Span,
    /// With `spanning-trees`: the number of trees; if absent, as many as are found.
    pub trees: Option<u32>,
    /// Explicit paths, which apply whatever the kind of routing.
    #[serde(rename = "path")]
    pub paths: Vec<RoutingPath>,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            kind: RoutingKind::default(),
            hash_seed: None,
            convergence: Span::from_us(100),
            trees: None,
            paths: Vec::new(),
        }
    }
}

/// A path from some hosts to others; it does not apply to the way back.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingPath {
    /// The sending hosts: a group, or one host. They are connected to the first switch of `via`.
    pub from: String,
    /// The receiving hosts, which are connected to the last switch.
    pub to: String,
    /// The switches, in order, each connected to the next.
    pub via: Vec<String>,
}

/// A change of a link: it fails, comes back, or changes its rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkEvent {
    /// The time of the change.
    #[serde(with = "quantity::Time")]
    pub at: Span,
    /// The link, by the names of the nodes at its ends.
    pub link: [String; 2],
    /// The new state. While a link is down, nothing is sent on it; packets on it or waiting for it
    /// are lost.
    pub state: Option<LinkState>,
    /// The new rate of both directions, instead of `state`.
    #[serde(default, with = "quantity::OptionalRate")]
    pub rate: Option<Rate>,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// The link carries nothing.
    Down,
    /// The link carries packets.
    Up,
}

impl Scenario {
    /// The kinds of routing of all traffic.
    pub fn routing_kinds(&self) -> BTreeSet<RoutingKind> {
        let own = |traffic: &Traffic| traffic.common.routing.unwrap_or(self.routing.kind);
        self.traffic.iter().map(own).collect()
    }

    /// The events of links in the order of the scenario, each with its cable. Events of a link that
    /// does not exist are left out.
    pub fn link_events(&self, topology: &Topology) -> impl Iterator<Item = (&LinkEvent, usize)> {
        self.events.iter().filter_map(|event| {
            let [a, b] = event.link.each_ref().map(|name| topology.node(name));
            Some((event, topology.cable_between(a?, b?)?))
        })
    }
}
