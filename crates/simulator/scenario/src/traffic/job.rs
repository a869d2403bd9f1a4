//! Jobs from traces: the ranks of a trace run on the hosts of `from`, in the order of their numbers.

mod lower;

use std::sync::Arc;

use incast_cc::{Bytes, Span};
use incast_plan::Plan;
use incast_plan::part::Part;
use incast_plan::steps::{Rounds, Step, Timed, Told};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::parts::{self, Pace};
use super::{Kind, Settings};
use crate::foreign::job::JobFormat;
use crate::input::Files;
use crate::input::traces::Asked;

/// A job that a trace describes: messages, computations and collectives that wait for each other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The file of the trace. Where each rank has a file, `{rank}` stands for its number.
    pub file: String,
    /// The format of the trace; its content tells if absent.
    pub format: Option<JobFormat>,
    /// The file that names the ranks of each process group of a Chakra trace; a group has all ranks
    /// if absent.
    pub groups: Option<String>,
    /// The size of the data that an MSCCL algorithm works on.
    #[serde(default, with = "quantity::OptionalSize")]
    pub size: Option<Bytes>,
    /// The number of times that each rank does its part.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// The factor of all computing times.
    #[serde(default = "default_scale")]
    pub scale: f64,
    /// The steps of the ranks, once the trace has been read.
    #[serde(skip)]
    read: Arc<Lowered>,
}

/// A trace as the steps of its ranks.
#[derive(Debug, Default)]
struct Lowered {
    parts: Vec<Part>,
    /// The messages of a round, and their payload.
    messages: u64,
    bytes: u64,
}

impl Settings for Job {
    const NAME: &'static str = "job";
    const WITHOUT: &'static [&'static str] = &["to", "stop", "urgent"];
}

/// The largest factor of computing times.
const MOST_SCALE: f64 = 1_000_000.0;

impl Kind for Job {
    fn read_files(&mut self, files: &mut Files) -> Result<(), Fault> {
        if !(0.0..=MOST_SCALE).contains(&self.scale) {
            let message = format!("{} is out of range; expected 0 to {MOST_SCALE}", self.scale);
            return Err(Fault::at([&"scale"], message));
        }
        let asked = Asked {
            path: &self.file,
            format: self.format,
            groups: self.groups.as_deref(),
            size: self.size.map(Bytes::get),
        };
        let fail = |message: String| Fault::at([&"file"], message);
        let graph = files.job(&asked).map_err(|error| fail(error.to_string()))?;
        graph.closed().map_err(|error| fail(error.to_string()))?;
        let parts = lower::parts(&graph, self.scale);
        let steps = parts.iter().flat_map(|part| part.steps.all());
        let sizes = steps.filter_map(|step| match step {
            Step::Send { bytes, .. } => Some(*bytes),
            _ => None,
        });
        let (mut messages, mut bytes) = (0, 0_u64);
        for size in sizes {
            (messages, bytes) = (messages + 1, bytes.saturating_add(size));
        }
        self.read = Arc::new(Lowered { parts, messages, bytes });
        Ok(())
    }

    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        let (hosts, ranks) = (checked.from.len(), self.read.parts.len());
        if hosts < ranks {
            let message = format!(
                "{hosts} hosts for {ranks} ranks of {}; expected at least one host for each",
                self.file
            );
            return Err(checked.at("from", message));
        }
        checked.in_range("rounds", self.rounds, (1, 1_000_000))?;
        let connections = self.count() as u64;
        if connections == 0 {
            let message = format!("{} sends no message; expected one or more", self.file);
            return Err(checked.at("file", message));
        }
        Ok(Counts { connections, messages: self.read.messages * u64::from(self.rounds) })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let parts = self.read.parts.clone();
        let hosts = &context.sources[..parts.len()];
        let told = Told { kind: Self::NAME, bytes: Bytes::new(self.read.bytes), fan_out: 0 };
        let timed = Timed { start: context.start(), pause: Span::ZERO };
        let count = u64::from(self.rounds);
        let rounds = Rounds { count, timed: Some(timed), told: Some(told) };
        let pace = |_| Pace { rounds: rounds.clone(), jitter: Span::ZERO, set_up: Span::ZERO };
        parts::place(context, plan, (hosts, parts), pace);
        None
    }

    fn lasting_flows(&self, _: &Context<'_>) -> usize {
        parts::lasting(self.count(), self.read.parts.len())
    }

    fn waits(&self) -> bool {
        true
    }

    fn sent(&self, _: &Links<'_>) -> Sent {
        Sent::messages(self.read.bytes as f64 * f64::from(self.rounds), None)
    }
}

impl Job {
    /// The number of connections.
    fn count(&self) -> usize {
        self.read.parts.iter().map(|part| part.to.len()).sum()
    }

    /// The connections in the order of their flows: the sending rank, the receiving rank, and the
    /// tag, or the lane of a collective.
    pub fn connections(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let of_rank = |(rank, part): (u32, &'_ Part)| {
            part.to.iter().map(move |far| (rank, far.rank, far.lane)).collect::<Vec<_>>()
        };
        (0..).zip(&self.read.parts).flat_map(of_rank)
    }
}

const fn default_rounds() -> u32 {
    1
}

const fn default_scale() -> f64 {
    1.0
}
