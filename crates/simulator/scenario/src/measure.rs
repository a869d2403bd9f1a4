//! The optional measurements of a run.

use incast_cc::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use incast_schema::quantity;

use crate::{Scenario, lasting_flows, topology};

/// The most rows of a table of time series, unless `measure.series` asks for more.
pub const MOST_SERIES_ROWS: u64 = 2_000_000;

/// The most steps of a traffic, of all ranks and rounds, whose ends are kept unless `measure.steps`
/// says otherwise.
const MOST_STEPS: u64 = 100_000;

/// Optional measurements of a run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// The bounds between size ranges in the table of completion times (`fct`), ascending.
    #[serde(with = "quantity::Sizes")]
    pub size_bins: Vec<Bytes>,
    /// Whether there are time series of each queue and of each lasting connection. If absent, there
    /// are, unless they would have more than two million rows.
    pub series: Option<bool>,
    /// The nodes whose packets, queues and flows are recorded in the traces that `--trace` asks
    /// for; all if absent.
    pub trace: Option<Vec<String>>,
    /// Whether there is a table of the ideal (`ideal`): when each message would have been complete
    /// in the fluid max-min, in the greedy schedule, and in the bound by shortest remaining first.
    pub ideal: bool,
    /// Whether there are tables of the steps of jobs (`steps`) and of the critical paths of their
    /// iterations (`critical_path`). If absent, there are for traffic of up to 100,000 steps of all
    /// ranks and rounds.
    pub steps: Option<bool>,
}

impl Default for Measure {
    fn default() -> Self {
        let kb = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];
        Self {
            size_bins: kb.map(Bytes::from_kb).into(),
            series: None,
            trace: None,
            ideal: false,
            steps: None,
        }
    }
}

impl Scenario {
    /// The length of an interval of the time series.
    pub fn interval(&self) -> Span {
        let run = &self.run;
        run.interval.unwrap_or((run.duration / 400).max(Span::from_us(1)).min(run.duration))
    }

    /// The rows of a table of time series about `things` subjects.
    pub fn series_rows(&self, things: usize) -> u64 {
        things as u64 * (self.run.longest().as_ps() / self.interval().as_ps())
    }

    /// Whether the ends of a traffic's steps are kept, of this many in all rounds.
    pub(crate) fn keeps_steps(&self, steps: u64) -> bool {
        self.measure.steps.unwrap_or(steps <= MOST_STEPS)
    }

    /// The tables of time series that are left out because they would be too long: their names, and
    /// the rows that they would have.
    pub fn left_out_series(&self) -> Vec<(&'static str, u64)> {
        if self.measure.series.is_some() {
            return Vec::new();
        }
        let topology = topology(self);
        let ports = topology.ports().switches.iter().map(Vec::len).sum();
        let flows = self.series_rows(lasting_flows(self, &topology));
        [
            ("series_queues", self.series_rows(ports)),
            ("series_flows", flows),
            ("series_jain", flows),
        ]
        .into_iter()
        .filter(|&(_, rows)| rows > MOST_SERIES_ROWS)
        .collect()
    }
}
