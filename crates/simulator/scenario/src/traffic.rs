//! The traffic of a scenario: who sends what to whom.
//!
//! A kind of traffic is one file here and one line in `traffic/kinds.rs`. The file holds the
//! settings, their checks, the flows and messages that they plan, the load that they put on links,
//! and the application, where the kind has one. The trait [`Kind`] lists these parts.
//! `docs/how-to/adding-a-traffic.md` adds a kind step by step.

mod amount;
pub(crate) mod checked;
pub(crate) mod context;
mod deadline;
mod demand;
mod fields;
#[macro_use]
mod kinds;
mod kind;
mod parts;
mod peers;
pub(crate) mod places;
pub(crate) mod read;
mod registry;
pub(crate) mod resolved;
mod schema;
mod scheme;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => { $(mod $module;)+ };
}
kinds!(modules);

use incast_cc::{Bytes, Span};
use incast_plan::RoutingKind;
use incast_plan::flows::Operation;
use schemars::JsonSchema;
use serde::Deserialize;

pub use amount::{Amount, Opens, amounts};
pub use checked::{Counts, counts};
pub use collective::{Collective, Placement, PlacementOrder, Straggler};
pub use connections::Connections;
pub use context::hosts_of;
pub use deadline::{Deadline, DeadlineLaw};
pub use demand::Demand;
pub use flows::{After, AfterEvent, FlowList, ListedFlow};
pub use incast::Incast;
pub use job::Job;
pub use peers::Destinations;
pub use ping_pong::PingPong;
pub use poisson::{LoadOf, Poisson};
pub use registry::{TRAFFIC_KINDS, TrafficKind};
pub use requests::{FanOut, Requests};
pub use resolved::ResolvedTraffic;
pub use scheme::{SharedScheme, TrafficScheme};

pub(crate) use kind::{Kind, Settings};

use super::Scenario;
use incast_schema::quantity;

/// A `[[traffic]]`: the settings that all kinds share, and those of its own kind.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The settings that all kinds share.
    pub common: Common,
    /// The settings of the kind.
    pub kind: TrafficKind,
}

/// The settings that all kinds of traffic share. Some kinds do not use all of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// The name in results; the name of the kind if absent.
    pub name: Option<String>,
    /// The hosts that start the traffic: a group, one host of it, or several such as `host[0-15]`.
    pub from: Option<String>,
    /// The hosts at the other end; the hosts of `from` if absent.
    pub to: Option<String>,
    /// The traffic class of the payload, by name; the lowest class if absent.
    pub class: Option<String>,
    /// The scheme of the flows, or of a share of them; the scheme of the run if absent.
    pub scheme: Option<TrafficScheme>,
    /// The kind of routing of the packets in both directions; `routing.kind` if absent.
    pub routing: Option<RoutingKind>,
    /// The weight relative to other flows, for algorithms that use weights (RTCP).
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// The time that a message, or a request as a whole, has from posting to completion. Results
    /// say which were in time, and algorithms know the deadline.
    pub deadline: Option<Deadline>,
    /// A class and a weight for small messages.
    pub urgent: Option<Urgent>,
    /// The time at which the traffic starts.
    #[serde(default, with = "quantity::Time")]
    pub start: Span,
    /// The time from which on nothing more is started; the end of the run if absent.
    #[serde(default, with = "quantity::OptionalTime")]
    pub stop: Option<Span>,
}

impl Common {
    /// The name of the hosts that start the traffic.
    pub fn sources(&self) -> &str {
        self.from.as_deref().unwrap_or_default()
    }

    /// The name of the hosts at the other end.
    pub fn destinations(&self) -> &str {
        self.to.as_deref().unwrap_or(self.sources())
    }
}

impl Traffic {
    /// The offered load as a share of links, where the traffic has one.
    pub fn load(&self) -> Option<f64> {
        self.kind.settings().load()
    }

    /// The direction of the payload.
    pub fn operation(&self) -> Operation {
        self.kind.settings().operation()
    }

    /// Whether each of the flows sends all the time.
    pub fn is_endless(&self) -> bool {
        self.kind.settings().is_endless()
    }

    /// Whether any of its messages or requests may have a deadline.
    pub fn has_deadlines(&self) -> bool {
        self.common.deadline.is_some() || self.kind.settings().has_deadlines()
    }

    /// The pairs of sender and receiver, for traffic that names them one by one instead of with
    /// `from` and `to`.
    pub fn pairs(&self) -> Option<impl Iterator<Item = (&str, &str)>> {
        self.kind.settings().pairs()
    }
}

impl Scenario {
    /// The name of a traffic in results: its own name or its kind, with its number where several
    /// traffics share the name.
    pub fn traffic_name(&self, number: usize) -> String {
        let own = |traffic: &Traffic| {
            traffic.common.name.clone().unwrap_or_else(|| traffic.kind.as_str().into())
        };
        let name = own(&self.traffic[number]);
        if self.traffic.iter().filter(|traffic| own(traffic) == name).count() > 1 {
            return format!("{name}-{number}");
        }
        name
    }
}

/// The settings of small messages, which are urgent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Urgent {
    /// Messages of fewer bytes are urgent.
    #[serde(with = "quantity::Size")]
    pub below: Bytes,
    /// The traffic class of urgent messages; as for the others if absent.
    pub class: Option<String>,
    /// The weight of urgent messages; as for the others if absent.
    pub weight: Option<u32>,
}

const fn default_weight() -> u32 {
    1
}
