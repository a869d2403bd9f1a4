//! Collective operations: rounds of a ring all-reduce.

use incast_cc::{Bytes, Span};
use incast_plan::Plan;
use incast_plan::collective::{self, Group, Operation};
use incast_plan::part::{Part, Script};
use incast_plan::steps::{Rounds, Timed, Told};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::{Kind, Settings, parts};

/// The name of a round in results.
const ALL_REDUCE: &str = "all-reduce";

/// A collective operation among the hosts of `from`, in the order of their numbers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// The operation.
    pub collective: CollectiveOperation,
    /// The size of each host's data.
    #[serde(with = "quantity::Size")]
    pub size: Bytes,
    /// The number of rounds.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// The computing time of a host between the end of a round and its next round.
    #[serde(default, with = "quantity::Time")]
    pub compute: Span,
}

/// The collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveOperation {
    /// Ring all-reduce: all hosts get the sum of all data, in 2 (N - 1) steps around a ring.
    RingAllReduce,
}

impl Settings for Collective {
    const NAME: &'static str = "collective";
    const WITHOUT: &'static [&'static str] = &["to", "stop"];
}

impl Kind for Collective {
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        if checked.from.len() < 2 {
            let message = "a collective of one host; expected a group of at least two".into();
            return Err(checked.at("from", message));
        }
        checked.in_range("rounds", self.rounds, (1, 1_000_000))?;
        let members = checked.from.len() as u64;
        let messages = members * 2 * (members - 1) * u64::from(self.rounds);
        Ok(Counts { connections: members, messages })
    }

    /// Plans a ring around the hosts, in the order of their numbers.
    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let hosts = &context.sources;
        let parts = self.parts(hosts.len());
        let fan_out = u32::try_from(parts[0].steps.arrivals()).unwrap_or(u32::MAX);
        let told = Told { kind: ALL_REDUCE, bytes: self.size, fan_out };
        let timed = Timed { start: context.start(), pause: self.compute };
        let count = u64::from(self.rounds);
        let rounds = Rounds { count, timed: Some(timed), told: Some(told) };
        parts::place(context, plan, (hosts, parts), &rounds);
        None
    }

    fn lasting_flows(&self, context: &Context<'_>) -> usize {
        context.sources.len()
    }

    fn waits(&self) -> bool {
        true
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let members = links.hosts.0 as f64;
        let rounds = 2.0 * (members - 1.0) * f64::from(self.rounds);
        Sent::messages(rounds * self.size.get() as f64, None)
    }
}

impl Collective {
    /// The parts of all ranks.
    fn parts(&self, ranks: usize) -> Vec<Part> {
        let operation = collective::Collective::usual(Operation::AllReduce);
        let numbers: Vec<_> = (0..).take(ranks).collect();
        let mut parts: Vec<Part> = Vec::new();
        for me in 0..ranks {
            let mut script = Script::default();
            let group = Group { ranks: &numbers, me, lane: 0 };
            collective::write(&mut script, &operation, &group, self.size.get(), &[]);
            parts.push(script.finish(&parts));
        }
        parts
    }
}

const fn default_rounds() -> u32 {
    1
}
