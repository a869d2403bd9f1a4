//! Lasting connections from each host of `from` to each of `to`.

use incast_cc::{Bytes, Span, Time};
use incast_plan::Plan;
use incast_plan::flows::{Life, Operation};
use incast_plan::random::{below, distinct, purpose};
use incast_schema::{Fault, quantity};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::{Context, NewFlow};
use super::{Kind, Settings};

/// Lasting connections from each host of `from` to each of `to`, with messages at given times or
/// one message without end.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// The number of hosts of `to` that each host of `from` picks at random; all if absent.
    pub fan_out: Option<u32>,
    /// The number of connections for each pair of hosts.
    #[serde(default = "one")]
    pub connections: u32,
    /// The direction of the payload: to the other end (write), or from there (read).
    #[serde(default)]
    pub operation: Operation,
    /// The longest random delay of a connection's start after `start`; drawn for each connection.
    #[serde(default, with = "quantity::Time")]
    pub start_spread: Span,
    /// The size of a message; one message without end if absent.
    #[serde(default, with = "quantity::OptionalSize")]
    pub message: Option<Bytes>,
    /// The number of messages on each connection.
    #[serde(default = "one")]
    pub count: u32,
    /// The time from one message to the next; zero posts all at once.
    #[serde(default, with = "quantity::Time")]
    pub every: Span,
}

impl Settings for Connections {
    const NAME: &'static str = "connections";
    const WITHOUT: &'static [&'static str] = &["stop"];
}

impl Kind for Connections {
    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        let (start, end) = (checked.traffic.common.start, checked.scenario.run.duration);
        if start + self.start_spread >= end {
            let message = format!(
                "starts at {start} plus up to {}, after the end at {end}; start earlier or run \
                 longer",
                self.start_spread
            );
            return Err(checked.at("start_spread", message));
        }
        let pairs = match self.fan_out {
            None => checked.pairs(),
            Some(fan_out) => {
                let most = checked.others();
                if fan_out == 0 || fan_out as usize > most {
                    let but = if checked.some_at_both_ends() { " but oneself" } else { "" };
                    let message = format!(
                        "{fan_out} is out of range; expected 1 to {most}, the hosts of `to`{but}"
                    );
                    return Err(checked.at("fan_out", message));
                }
                checked.from.len() as u64 * u64::from(fan_out)
            }
        };
        if self.message.is_none() && self.count > 1 {
            let message = "messages without end come one by one; set the size of a message".into();
            return Err(checked.at("count", message));
        }
        let connections = pairs * u64::from(self.connections);
        // A number of connections of zero is refused first, by name, before zero messages.
        let messages = connections.max(1) * u64::from(self.count);
        Ok(Counts { connections, messages })
    }

    /// Plans connections in the order of sources and destinations.
    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        for &source in &context.sources {
            let others = || context.destinations.iter().copied().filter(|&host| host != source);
            let mut random = context.generator_of(source, purpose::LASTING);
            let mut deadlines = context.deadlines_of(source);
            let picked: Vec<_> = match self.fan_out {
                None => others().collect(),
                Some(count) => pick(&context.destinations, source, count, &mut random),
            };
            let connections = || 0..self.connections;
            let all = picked.iter().flat_map(|&host| connections().map(move |_| host));
            for (before, destination) in (0..).zip(all) {
                let start = self.start(context.start(), &mut random);
                let flow = context.flow(source, destination, self.message);
                let flow = NewFlow { before, life: Life::Lasting, ..flow }.add_to(plan);
                for message in 0..u64::from(self.count) {
                    let deadline = self.message.and_then(|bytes| deadlines.draw(bytes));
                    plan.post(flow, start + self.every * message, self.message, deadline);
                }
            }
        }
        None
    }

    fn lasting_flows(&self, context: &Context<'_>) -> usize {
        let all = context.destinations.len();
        let picked = |source: &u32| {
            let others = all - usize::from(context.destinations.binary_search(source).is_ok());
            self.fan_out.map_or(others, |count| others.min(count as usize))
        };
        let pairs: usize = context.sources.iter().map(picked).sum();
        pairs * self.connections as usize
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let Some(size) = self.message else {
            return Sent { bytes: 0.0, endless: links.most, messages: None };
        };
        let (from, to) = links.hosts;
        let pairs =
            from as f64 * self.fan_out.map_or(to as f64, f64::from) * f64::from(self.connections);
        Sent::messages(pairs * f64::from(self.count) * size.get() as f64, None)
    }

    fn operation(&self) -> Operation {
        self.operation
    }

    fn is_endless(&self) -> bool {
        self.message.is_none()
    }
}

impl Connections {
    /// The time at which a connection starts.
    fn start(&self, earliest: Time, random: &mut Pcg64Mcg) -> Time {
        let spread = self.start_spread.as_ps();
        earliest + Span::from_ps(if spread == 0 { 0 } else { below(random, spread + 1) })
    }
}

/// Different hosts among `hosts`, which ascend, but for one of them.
fn pick(hosts: &[u32], but: u32, count: u32, random: &mut Pcg64Mcg) -> Vec<u32> {
    let place = hosts.binary_search(&but).ok();
    let others = hosts.len() - usize::from(place.is_some());
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    let places = distinct(random, count, others as u32).into_iter();
    // A list without that host, for each host, would be work that grows as the square.
    let of = |other: u32| {
        hosts[other as usize + usize::from(place.is_some_and(|at| other as usize >= at))]
    };
    places.map(of).collect()
}

const fn one() -> u32 {
    1
}
