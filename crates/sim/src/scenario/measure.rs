//! What of a run is measured, and how finely.

use incast_cc::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use incast_schema::quantity;

/// What is measured, beside what always is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Where sizes are parted in the table of completion times (`fct`), ascending.
    #[serde(deserialize_with = "quantity::sizes")]
    #[schemars(with = "Vec<String>")]
    pub size_bins: Vec<Bytes>,
    /// Whether there are time series of each queue and of each connection that stays; absent, unless they
    /// would have more than two million rows.
    pub series: Option<bool>,
    /// Nodes whose packets, queues and flows traces record, where `--trace` asks for one; all if absent.
    pub trace: Option<Vec<String>>,
}

impl Default for Measure {
    fn default() -> Self {
        let kb = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];
        Self { size_bins: kb.map(Bytes::from_kb).into(), series: None, trace: None }
    }
}
