//! The traffic of a scenario.

mod arrivals;
mod flows;

use incast_cc::{Bytes, Span};
use incast_plan::flows::Operation;
use schemars::JsonSchema;
use serde::Deserialize;

pub use arrivals::{
    Collective, CollectiveKind, Destinations, FanOut, Incast, LoadOf, Poisson, Requests,
};
pub use flows::{After, AfterEvent, FlowList, ListedFlow};

use super::Scenario;
use incast_schema::quantity;

/// Who sends what to whom. Without `poisson`, `requests`, `incast`, `collective` or `flows`: connections that
/// stay, from each host of `from` to each of `to`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// What results call it; its kind if absent.
    pub name: Option<String>,
    /// The hosts that start it: a group, one host of it, or several such as `host[0-15]`. Not for `flows`, which name their hosts.
    pub from: Option<String>,
    /// The hosts at the other end; those of `from` if absent.
    pub to: Option<String>,
    /// The traffic class of its payload, by name; the lowest if absent.
    pub class: Option<String>,
    /// Its share relative to other flows, for algorithms that know weights (RTCP).
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// Messages should be complete so long after they were posted: results say which were, and algorithms
    /// are told.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Span>,
    /// Small messages are urgent: they have a class and a weight of their own.
    pub urgent: Option<Urgent>,
    /// When it starts.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start: Span,
    /// When nothing more is started; the end of the run if absent. Not for connections that stay, nor for
    /// `flows`.
    #[serde(default, deserialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>")]
    pub stop: Option<Span>,
    /// Connections that stay: each host of `from` picks so many of `to` at random; absent, all of them.
    pub fan_out: Option<u32>,
    /// Connections for each pair of hosts; 1 if absent.
    pub connections: Option<u32>,
    /// Connections that stay, and random arrivals: whether the payload goes to the other end or comes from
    /// there.
    #[serde(default)]
    pub operation: Operation,
    /// Connections that stay: each starts later than `start` by a random time of up to this.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start_spread: Span,
    /// Connections that stay: size of a message; absent is one message without end.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub message: Option<Bytes>,
    /// Connections that stay: messages of each; 1 if absent.
    pub count: Option<u32>,
    /// Connections that stay: from one message to the next; zero posts all at once.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub every: Span,
    /// Flows that arrive at random, whatever becomes of those before.
    pub poisson: Option<Poisson>,
    /// Requests of clients, answered or taken by servers.
    pub requests: Option<Requests>,
    /// Many senders at once into one receiver, again and again.
    pub incast: Option<Incast>,
    /// A collective operation of the hosts of `from`, in the order of their numbers.
    pub collective: Option<Collective>,
    /// Flows one by one.
    pub flows: Option<FlowList>,
}

/// The kinds of traffic.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// Connections that stay.
    Lasting,
    /// Flows that arrive at random.
    Poisson(&'a Poisson),
    /// Requests of clients.
    Requests(&'a Requests),
    /// Many senders into one receiver.
    Incast(&'a Incast),
    /// A collective operation.
    Collective(&'a Collective),
    /// Flows one by one.
    Flows(&'a FlowList),
}

impl Kind<'_> {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lasting => "connections",
            Self::Poisson(_) => "poisson",
            Self::Requests(_) => "requests",
            Self::Incast(_) => "incast",
            Self::Collective(_) => "collective",
            Self::Flows(_) => "flows",
        }
    }
}

impl Traffic {
    /// All kinds that it is said to be.
    pub(super) fn kinds(&self) -> Vec<Kind<'_>> {
        let kinds = [
            self.poisson.as_ref().map(Kind::Poisson),
            self.requests.as_ref().map(Kind::Requests),
            self.incast.as_ref().map(Kind::Incast),
            self.collective.as_ref().map(Kind::Collective),
            self.flows.as_ref().map(Kind::Flows),
        ];
        kinds.into_iter().flatten().collect()
    }

    /// Its kind.
    pub fn kind(&self) -> Kind<'_> {
        self.kinds().first().copied().unwrap_or(Kind::Lasting)
    }

    /// The hosts that start it, by name.
    pub fn sources(&self) -> &str {
        self.from.as_deref().unwrap_or_default()
    }

    /// The hosts at the other end, by name.
    pub fn destinations(&self) -> &str {
        self.to.as_deref().unwrap_or(self.sources())
    }

    /// Connections for each pair of hosts.
    pub fn connections_per_pair(&self) -> u32 {
        self.connections.unwrap_or(1)
    }

    /// Messages of each connection that stays.
    pub fn messages(&self) -> u32 {
        self.count.unwrap_or(1)
    }
}

impl Scenario {
    /// What results call a traffic: its own name or its kind, with its number where several share it.
    pub fn traffic_name(&self, number: usize) -> String {
        let own = |traffic: &Traffic| {
            traffic.name.clone().unwrap_or_else(|| traffic.kind().as_str().into())
        };
        let name = own(&self.traffic[number]);
        if self.traffic.iter().filter(|traffic| own(traffic) == name).count() > 1 {
            return format!("{name}-{number}");
        }
        name
    }
}

/// Small messages are urgent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Urgent {
    /// Messages of fewer bytes are.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub below: Bytes,
    /// Their traffic class; that of the others if absent.
    pub class: Option<String>,
    /// Their weight; that of the others if absent.
    pub weight: Option<u32>,
}

const fn default_weight() -> u32 {
    1
}
