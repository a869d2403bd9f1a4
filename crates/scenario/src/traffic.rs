//! The traffic of a scenario: who sends what to whom.
//!
//! A kind of traffic is one file here and one line in `traffic/kinds.rs`. The file holds the
//! settings, their checks, the flows and messages that they plan, the load that they put on links,
//! and the application, where the kind has one; [`Kind`] is what every kind gives.
//! `docs/adding-a-traffic.md` adds one step by step.

mod amount;
pub(crate) mod checked;
pub(crate) mod context;
mod demand;
mod fields;
#[macro_use]
mod kinds;
mod kind;
mod peers;
pub(crate) mod places;
pub(crate) mod read;
mod registry;
pub(crate) mod resolved;
mod schema;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => { $(mod $module;)+ };
}
kinds!(modules);

use incast_cc::{Bytes, Span};
use incast_plan::flows::Operation;
use schemars::JsonSchema;
use serde::Deserialize;

pub use amount::{Amount, Opens, amounts};
pub use checked::{Counts, counts};
pub use collective::{Collective, CollectiveOperation};
pub use connections::Connections;
pub use context::hosts_of;
pub use demand::Demand;
pub use flows::{After, AfterEvent, FlowList, ListedFlow};
pub use incast::Incast;
pub use peers::Destinations;
pub use ping_pong::PingPong;
pub use poisson::{LoadOf, Poisson};
pub use registry::{TRAFFIC_KINDS, TrafficKind};
pub use requests::{FanOut, Requests};
pub use resolved::ResolvedTraffic;

pub(crate) use kind::{Kind, Settings};

use super::Scenario;
use incast_schema::quantity;

/// One `[[traffic]]`: the settings that all kinds share, and those of its own kind.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The settings that all kinds share.
    pub common: Common,
    /// The settings of its kind.
    pub kind: TrafficKind,
}

/// The settings that all kinds of traffic share. A kind may do without some of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// The name in results; the kind if absent.
    pub name: Option<String>,
    /// The hosts that start it: a group, one host of it, or several such as `host[0-15]`.
    pub from: Option<String>,
    /// The hosts at the other end; those of `from` if absent.
    pub to: Option<String>,
    /// The traffic class of its payload, by name; the lowest if absent.
    pub class: Option<String>,
    /// Its share relative to other flows, for algorithms that know weights (RTCP).
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// The time that a message has from posting to completion: results say which were in time, and
    /// algorithms are told.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Span>,
    /// A class and a weight for small messages.
    pub urgent: Option<Urgent>,
    /// The time at which it starts.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start: Span,
    /// The time from which on nothing more is started; the end of the run if absent.
    #[serde(default, deserialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>")]
    pub stop: Option<Span>,
}

impl Common {
    /// The hosts that start it, by name.
    pub fn sources(&self) -> &str {
        self.from.as_deref().unwrap_or_default()
    }

    /// The hosts at the other end, by name.
    pub fn destinations(&self) -> &str {
        self.to.as_deref().unwrap_or(self.sources())
    }
}

impl Traffic {
    /// The offered load as a share of links, where the traffic has one.
    pub fn load(&self) -> Option<f64> {
        self.kind.settings().load()
    }

    /// The direction of its payload.
    pub fn operation(&self) -> Operation {
        self.kind.settings().operation()
    }

    /// Whether each of its flows sends all the time.
    pub fn is_endless(&self) -> bool {
        self.kind.settings().is_endless()
    }

    /// The pairs of sender and receiver that the settings name one by one, where they do so in
    /// place of `from` and `to`.
    pub fn pairs(&self) -> Option<impl Iterator<Item = (&str, &str)>> {
        self.kind.settings().pairs()
    }
}

impl Scenario {
    /// The name of a traffic in results: its own or its kind, with its number where several share
    /// it.
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

/// Small messages are urgent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Urgent {
    /// Messages of fewer bytes are urgent.
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
