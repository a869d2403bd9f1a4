//! The traffic of a scenario.

use incast_cc::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity;

/// Who sends what to whom.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// The hosts that start it: a group, or one host of it.
    pub from: String,
    /// The hosts at the other end.
    pub to: String,
    /// Each host of `from` picks so many of `to` at random; absent, all of them.
    pub fan_out: Option<u32>,
    /// Connections for each pair of hosts.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// Whether the payload goes to the other end or comes from there.
    #[serde(default)]
    pub operation: Operation,
    /// When it starts.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start: Span,
    /// Each connection starts later than `start` by a random time of up to this.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub start_spread: Span,
    /// Size of a message; absent is one message without end.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub message: Option<Bytes>,
    /// Messages of each connection.
    #[serde(default = "default_count")]
    pub count: u32,
    /// From one message of a connection to the next; zero posts all at once.
    #[serde(default, deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub every: Span,
}

/// Which way the payload goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// RDMA write: `from` sends and is paced.
    #[default]
    Write,
    /// RDMA read: `from` asks, `to` sends and is paced.
    Read,
}

impl Operation {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

const fn default_connections() -> u32 {
    1
}

const fn default_count() -> u32 {
    1
}
