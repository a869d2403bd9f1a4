//! Traffic that arrives: at random, on request, in bursts, in rounds.

use incast_cc::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::FlowSizes;
use incast_schema::quantity;

/// Flows that arrive at random, at each host by a Poisson process of its own. Each is one message on a new
/// connection.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Payload offered, as a share of what `of` can carry. Above 1 it never drains.
    pub load: f64,
    /// What the load is a share of.
    #[serde(default)]
    pub of: LoadOf,
    /// Sizes of the flows.
    pub sizes: FlowSizes,
    /// Who is at the other end.
    #[serde(default)]
    pub destinations: Destinations,
    /// The share of flows that stay in the rack of their source; as `destinations` has it if absent.
    pub rack_local: Option<f64>,
}

/// What a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// The links of the hosts of `from`: each offers the load times its own rate.
    #[default]
    Hosts,
    /// The links to the highest layer of switches, which carry what goes from part to part of the network:
    /// all of them together carry the load. (Flows that do not cross it come on top.)
    Core,
}

/// Who is at the other end of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destinations {
    /// Any host of `to` but oneself, each as likely.
    #[default]
    Uniform,
    /// For each host of `from` one host of `to`, drawn once; no two have the same while there are enough.
    Permutation,
    /// Any host of `to` that is as many switches away as any is.
    Farthest,
}

/// Requests of the hosts of `from` to hosts of `to`, on connections that stay: reads, which ask for payload, and
/// writes, which bring it. A request is complete when all of its messages are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Open loop: payload of requests that come at random, as a share of each client's link.
    pub load: Option<f64>,
    /// Closed loop: requests of each client that are under way at a time. 1 if there is no load.
    pub outstanding: Option<u32>,
    /// Closed loop: the mean of the exponentially distributed time from the end of a request to the next.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub think_time: Span,
    /// Sizes of what is read.
    pub sizes: FlowSizes,
    /// Sizes of what is written; those of reads if absent.
    pub write_sizes: Option<FlowSizes>,
    /// The share of requests that read.
    #[serde(default = "default_reads")]
    pub reads: f64,
    /// How many servers a read asks.
    #[serde(default)]
    pub fan_out: FanOut,
    /// Whether these servers share the size of the request; each gives all of it if not.
    #[serde(default)]
    pub split: bool,
    /// How many servers a write goes to; it is complete when all have acknowledged it.
    #[serde(default = "default_replicas")]
    pub replicas: u32,
    /// Which servers: of all alike, of those farthest away, or one of each client's own, drawn once.
    #[serde(default)]
    pub destinations: Destinations,
}

/// How many servers a request asks: a number, or several with their weights, such as
/// `[[1, 0.5], [2, 0.3], [8, 0.2]]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a number of servers, or pairs of a number and a weight such as [[1, 0.5], [8, 0.5]]"
)]
pub enum FanOut {
    /// Always so many.
    Always(u32),
    /// Drawn by weight.
    Weighted(Vec<(u32, f64)>),
}

impl Default for FanOut {
    fn default() -> Self {
        Self::Always(1)
    }
}

impl FanOut {
    /// All numbers with their weights.
    pub fn options(&self) -> Vec<(u32, f64)> {
        match self {
            Self::Always(fan_out) => vec![(*fan_out, 1.0)],
            Self::Weighted(options) => options.clone(),
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        let options = self.options();
        let total: f64 = options.iter().map(|&(_, weight)| weight).sum();
        options.iter().map(|&(fan_out, weight)| f64::from(fan_out) * weight).sum::<f64>() / total
    }
}

/// Many senders, drawn from `from`, send to one receiver, drawn from `to`, all at once, at random times.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Payload offered, as a share of the links of all hosts of `to` together.
    pub load: f64,
    /// Hosts that send at a time.
    pub senders: u32,
    /// What each of them sends.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub size: Bytes,
}

/// A collective operation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// What each host has to be reduced.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub size: Bytes,
    /// Rounds.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// From the end of a round at a host to its next.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub compute: Span,
}

/// The collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveKind {
    /// All hosts get the sum of what each has, in 2 (N - 1) steps around a ring.
    RingAllReduce,
}

const fn default_reads() -> f64 {
    1.0
}

const fn default_replicas() -> u32 {
    1
}

const fn default_rounds() -> u32 {
    1
}
