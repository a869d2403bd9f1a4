//! Which way packets take, and links that fail, come back or change.

use incast_cc::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use incast_plan::topology::Topology;
use incast_schema::quantity;

use crate::Scenario;

/// Which of several ways packets take.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// Which paths: of the shortest ones, or through a random group of switches.
    pub kind: RoutingKind,
    /// Of the switches' hashes, of the generators that spray, and of the intermediate groups of
    /// Valiant routing; from `run.seed` if absent.
    pub hash_seed: Option<u64>,
    /// From a link's failure or repair to the new routes of all switches.
    #[serde(deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub convergence: Span,
    /// Paths that are given, whatever the kind.
    #[serde(rename = "path")]
    pub paths: Vec<RoutingPath>,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            kind: RoutingKind::default(),
            hash_seed: None,
            convergence: Span::from_us(100),
            paths: Vec::new(),
        }
    }
}

/// Which of several paths packets take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoutingKind {
    /// Each connection one of them, by a hash that is another at each switch.
    #[default]
    Ecmp,
    /// All the same: the lowest port of each switch.
    Single,
    /// Each packet one of them, at random at each switch.
    Spray,
    /// Each connection first to a random group of switches, then to its destination; one of the
    /// shortest paths on both ways.
    Valiant,
}

/// The path from some hosts to others, and not back.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingPath {
    /// The sending hosts: a group, or one host. They hang on the first switch of `via`.
    pub from: String,
    /// The receiving hosts, which hang on the last switch.
    pub to: String,
    /// The switches, in order, each connected to the next.
    pub via: Vec<String>,
}

/// A link fails, comes back, or changes its rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkEvent {
    /// When.
    #[serde(deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub at: Span,
    /// The link, by the nodes at its ends.
    pub link: [String; 2],
    /// Down: what travels on it and what waits for it is lost, and nothing is sent until it is up.
    pub state: Option<LinkState>,
    /// Instead of `state`: the rate of both directions from then on.
    #[serde(default, deserialize_with = "quantity::optional_rate")]
    #[schemars(with = "Option<String>")]
    pub rate: Option<Rate>,
}

/// Whether a link carries anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// It does not.
    Down,
    /// It does.
    Up,
}

impl Scenario {
    /// The events of links in the order of the scenario, each with its cable. Events of a link that
    /// does not exist are left out.
    pub fn link_events(&self, topology: &Topology) -> impl Iterator<Item = (&LinkEvent, usize)> {
        self.events.iter().filter_map(|event| {
            let [a, b] = event.link.each_ref().map(|name| topology.node(name));
            Some((event, topology.cable_between(a?, b?)?))
        })
    }
}
