//! Ping-pong: pairs of hosts send a message back and forth, as benchmarks of latency do.
//!
//! The host of `from` sends, its partner answers as soon as the message has arrived, and the next
//! round begins when the answer has arrived.

use std::sync::Arc;

use incast_cc::{Bytes, Span};
use incast_plan::application::Outcome;
use incast_plan::steps::{Listing, Rounds, Step, Timed, Told, Worker};
use incast_plan::{Plan, PlannedApplication};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::{Kind, Settings};

/// Messages back and forth between pairs: the first host of `from` and the first of `to`, the
/// second and the second, and so on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingPong {
    /// The size of the message.
    #[serde(with = "quantity::Size")]
    pub size: Bytes,
    /// The size of the answer; the size of the message if absent.
    #[serde(default, with = "quantity::OptionalSize")]
    pub answer: Option<Bytes>,
    /// The number of rounds of each pair.
    pub rounds: u32,
    /// The time from an answer to the next message.
    #[serde(default, with = "quantity::Time")]
    pub pause: Span,
}

impl Settings for PingPong {
    const NAME: &'static str = "ping-pong";
    const WITHOUT: &'static [&'static str] = &["stop"];
}

impl Kind for PingPong {
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        let (from, to) = (&checked.from, &checked.to);
        if from.len() != to.len() {
            let message =
                format!("{} hosts for {} of `from`; expected one for each", to.len(), from.len());
            return Err(checked.at("to", message));
        }
        if let Some((&host, _)) = from.iter().zip(to).find(|(a, b)| a == b) {
            let name = &checked.net.hosts[host as usize];
            let message = format!("{name:?} would be its own partner; expected other hosts");
            return Err(checked.at("to", message));
        }
        checked.in_range("rounds", self.rounds, (1, 1_000_000))?;
        let connections = 2 * from.len() as u64;
        Ok(Counts { connections, messages: connections * u64::from(self.rounds) })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let (message, answer) = (self.size, self.answer.unwrap_or(self.size));
        for (&host, &partner) in context.sources.iter().zip(&context.destinations) {
            let there = context.flow(host, partner, Some(message)).add_to(plan);
            let back = context.flow(partner, host, Some(answer)).add_to(plan);
            let start = context.start();
            let [deadlines, of_answers] = [host, partner].map(|host| context.deadlines_of(host));
            // Each application is told of messages that arrive at its own host, on its slot 0.
            let arrival = Step::Await { slot: 0, outcome: Outcome::Received };
            let send = |bytes: Bytes| Step::Send { to: 0, bytes: bytes.get() };
            let mut asks = Listing::default();
            let asked = asks.after(&[], send(message));
            asks.after(&[asked], arrival);
            let told = Told { kind: Self::NAME, bytes: message, fan_out: 2 };
            let timed = Timed { start, pause: self.pause };
            let count = u64::from(self.rounds);
            let rounds = Rounds { count, timed: Some(timed), told: Some(told) };
            let mut add = |host, flow, (of, deadlines), steps: Listing, rounds| {
                let application = plan.next_application(host, context.number);
                plan.flows.follow(of, false, (application, 0));
                let steps = Arc::new(steps.finish());
                plan.applications.push(PlannedApplication::new(host, move |flows| {
                    let connections = vec![flows[flow as usize].posting()];
                    Worker::new(steps, connections, rounds, deadlines)
                }));
            };
            add(host, there, (back, deadlines), asks, rounds);
            let mut answers = Listing::default();
            let arrived = answers.after(&[], arrival);
            answers.after(&[arrived], send(answer));
            let rounds = Rounds { count: u64::MAX, ..Rounds::ONCE };
            add(partner, back, (there, of_answers), answers, rounds);
        }
        None
    }

    fn waits(&self) -> bool {
        true
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let round = self.size.get() + self.answer.unwrap_or(self.size).get();
        let rounds = links.hosts.0 as f64 * f64::from(self.rounds);
        Sent::messages(rounds * round as f64, None)
    }
}
