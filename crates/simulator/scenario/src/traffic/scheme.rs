//! The scheme of a traffic, which its flows have in place of the run's.

use incast_cc::Fraction;
use incast_schema::quantity;
use schemars::JsonSchema;
use serde::Deserialize;

/// The scheme of a traffic: a name, or a name and the share of flows that have it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a scheme such as \"cubic\", or a name and a share such as \
                 { name = \"ledbat\", share = 0.3 }, from 0.01 to 1"
)]
pub enum TrafficScheme {
    /// The scheme of all flows of the traffic, as `--cc` takes it.
    All(String),
    /// The scheme of a share of the flows. The others are under the scheme of the run.
    Some(SharedScheme),
}

/// The scheme of a share of a traffic's flows.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedScheme {
    /// The scheme, as `--cc` takes it.
    pub name: String,
    /// The share of the flows: each flow is drawn on its own.
    #[serde(with = "quantity::Share")]
    pub share: f64,
}

impl TrafficScheme {
    /// The name of the scheme.
    pub fn name(&self) -> &str {
        match self {
            Self::All(name) | Self::Some(SharedScheme { name, .. }) => name,
        }
    }

    /// Whether only a share of the flows have it.
    pub fn is_shared(&self) -> bool {
        self.share() < Fraction::ONE
    }

    /// The share of the flows that have it.
    pub fn share(&self) -> Fraction {
        match self {
            Self::All(_) => Fraction::ONE,
            Self::Some(SharedScheme { share, .. }) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "from 0.01 to 1"
                )]
                let millionths = (share * 1e6) as u32;
                Fraction::from_ratio(millionths, 1_000_000)
            }
        }
    }
}
