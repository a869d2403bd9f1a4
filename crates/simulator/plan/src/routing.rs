//! Kinds of routing: the choice of a path among several.

use schemars::JsonSchema;
use serde::Deserialize;

/// The kind of routing.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingKind {
    /// Each connection takes one of the shortest paths, by a hash that differs at each switch.
    #[default]
    Ecmp,
    /// All packets take the same shortest path: the lowest port of each switch.
    Single,
    /// Each packet takes one of the shortest paths, at random at each switch.
    Spray,
    /// Each connection goes first to a random group of switches, then to its destination, both on a
    /// shortest path.
    Valiant,
    /// Each connection stays in one of several trees that share no link, by a hash. PFC cannot
    /// dead-lock on them.
    SpanningTrees,
}

impl RoutingKind {
    /// The word of scenarios.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ecmp => "ecmp",
            Self::Single => "single",
            Self::Spray => "spray",
            Self::Valiant => "valiant",
            Self::SpanningTrees => "spanning-trees",
        }
    }
}
