//! Collective operations in rounds: all-reduce, all-to-all and others, by the algorithms of
//! [`incast_plan::collective`].

mod groups;
mod stragglers;

use incast_cc::{Bytes, Span};
use incast_plan::Plan;
use incast_plan::collective::{self, Algorithm, Amount, Group, Operation};
use incast_plan::part::{Part, Script};
use incast_plan::steps::{Rounds, Timed, Told};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Error};

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::parts::{self, Pace};
use super::{Kind, Settings};
pub use groups::{Placement, PlacementOrder};
pub use stragglers::Straggler;

/// The most channels.
const MOST_CHANNELS: u32 = 64;
/// The largest skew of an all-to-all-v.
const MOST_SKEW: f64 = 10.0;

/// A collective operation among the hosts of `from`, all of them or in groups.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// The operation.
    #[serde(deserialize_with = "operation")]
    pub collective: Operation,
    /// The size of the data, as nccl-tests counts it: of each host for `all-reduce`,
    /// `reduce-scatter`, `all-to-all`, `broadcast`, `reduce` and `send-receive`, of all hosts
    /// together for `all-gather`. A `barrier` has none.
    #[serde(default, with = "quantity::OptionalSize")]
    pub size: Option<Bytes>,
    /// The number of rounds.
    #[serde(default = "default_one")]
    pub rounds: u32,
    /// The computing time of a host between the end of a round and its next round.
    #[serde(default, with = "quantity::Time")]
    pub compute: Span,
    /// The algorithm; the usual one of the operation if absent.
    pub algorithm: Option<Algorithm>,
    /// The number of channels: equal parts of the data, each on connections of its own.
    #[serde(default = "default_one")]
    pub channels: u32,
    /// The most bytes of a message. Larger ones are cut, and each part goes on as soon as it has
    /// come. All messages are whole if absent.
    #[serde(default, with = "quantity::OptionalSize")]
    pub chunk: Option<Bytes>,
    /// The place in its group of the host that a `broadcast` starts from or a `reduce` ends at.
    #[serde(default)]
    pub root: u32,
    /// The number of consecutive hosts in a node, for the algorithm `hierarchical`.
    pub node: Option<u32>,
    /// The most messages of an all-to-all that a host has under way; all at once if absent.
    pub window: Option<u32>,
    /// The skew of an `all-to-all-v`: the n-th host gets a share proportional to n^-skew.
    pub skew: Option<f64>,
    /// The number of hosts in a group; all in one if absent. Each group is a collective of its own.
    pub group: Option<u32>,
    /// The number of hosts in each group, where they differ.
    #[serde(default)]
    pub groups: Vec<u32>,
    /// The order of the hosts of `from`, which fill the groups one after another: `packed`,
    /// `spread`, `random`, or a list of all of them.
    #[serde(default)]
    pub placement: Placement,
    /// The most by which each round of a host begins later, at random.
    #[serde(default, with = "quantity::Time")]
    pub jitter: Span,
    /// Hosts that compute for longer.
    #[serde(default)]
    pub stragglers: Vec<Straggler>,
    /// The time that a host takes to set up a connection before its first message.
    #[serde(default, with = "quantity::Time")]
    pub set_up: Span,
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
        groups::check(self, checked)?;
        self.check_algorithm(checked)?;
        stragglers::check(&self.stragglers, checked)?;
        let Amount { connections, messages, .. } = self.amount(checked.from.len());
        Ok(Counts { connections, messages: messages.saturating_mul(u64::from(self.rounds)) })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let usual = Timed { start: context.start(), pause: self.compute };
        let late = stragglers::times(&self.stragglers, context, (usual.start, usual.pause));
        let told = Told { kind: self.collective.as_str(), bytes: self.bytes(), fan_out: 0 };
        let hosts = groups::in_order(&self.placement, context);
        let mut first = 0;
        for size in self.group_sizes(hosts.len()) {
            let members = &hosts[first..first + size];
            first += size;
            let parts = self.parts(size);
            parts::place(context, plan, (members, parts), |host| {
                let timed = late.get(&host).copied().unwrap_or(usual);
                let count = u64::from(self.rounds);
                let rounds = Rounds { count, timed: Some(timed), told: Some(told) };
                Pace { rounds, jitter: self.jitter, set_up: self.set_up }
            });
        }
        None
    }

    fn lasting_flows(&self, context: &Context<'_>) -> usize {
        let sizes = self.group_sizes(context.sources.len()).into_iter();
        let of_group = |size: usize| {
            let amount = self.operation(size).amount(size as u64, self.bytes().get());
            parts::lasting(usize::try_from(amount.connections).unwrap_or(usize::MAX), size)
        };
        sizes.map(of_group).sum()
    }

    fn waits(&self) -> bool {
        true
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let bytes = self.amount(links.hosts.0).bytes as f64;
        Sent::messages(bytes * f64::from(self.rounds), None)
    }
}

impl Collective {
    /// The data; a barrier has none.
    fn bytes(&self) -> Bytes {
        self.size.unwrap_or(Bytes::new(1))
    }

    /// The operation among the hosts of a group.
    fn operation(&self, hosts: usize) -> collective::Collective {
        let usual = collective::Collective::usual(self.collective);
        let all = u32::try_from(hosts).unwrap_or(u32::MAX);
        collective::Collective {
            algorithm: self.algorithm.unwrap_or(usual.algorithm),
            channels: self.channels,
            chunk: self.chunk.map(Bytes::get),
            root: self.root,
            node: self.node.unwrap_or(all),
            window: self.window,
            skew: self.skew.unwrap_or(0.0),
            ..usual
        }
    }

    /// The amount that all groups send in a round.
    fn amount(&self, hosts: usize) -> Amount {
        let of_group = |size: usize| self.operation(size).amount(size as u64, self.bytes().get());
        self.group_sizes(hosts).into_iter().map(of_group).fold(Amount::default(), |sum, one| {
            Amount {
                connections: sum.connections + one.connections,
                messages: sum.messages + one.messages,
                bytes: sum.bytes + one.bytes,
            }
        })
    }

    /// The parts of all ranks of a group.
    fn parts(&self, ranks: usize) -> Vec<Part> {
        let operation = self.operation(ranks);
        let numbers: Vec<_> = (0..).take(ranks).collect();
        let mut parts: Vec<Part> = Vec::with_capacity(ranks);
        for me in 0..ranks {
            let mut script = Script::default();
            let group = Group { ranks: &numbers, me, lane: 0 };
            collective::write(&mut script, &operation, &group, self.bytes().get(), &[]);
            parts.push(script.finish(&parts));
        }
        parts
    }

    /// Checks the algorithm and the settings that it has.
    fn check_algorithm(&self, checked: &Checked<'_>) -> Result<(), Fault> {
        let (operation, known) = (self.collective, self.collective.algorithms());
        let algorithm = self.algorithm.unwrap_or(known[0]);
        let name = operation.as_str();
        if !known.contains(&algorithm) {
            let known: Vec<_> = known.iter().map(|one| one.as_str()).collect();
            let message = format!(
                "{} is no algorithm of {name}; expected {}",
                algorithm.as_str(),
                known.join(" or ")
            );
            return Err(checked.at("algorithm", message));
        }
        let is_barrier = operation == Operation::Barrier;
        let exchanges = matches!(operation, Operation::AllToAll | Operation::AllToAllV);
        let skews = operation == Operation::AllToAllV;
        let has_root = matches!(operation, Operation::Broadcast | Operation::Reduce);
        let has_nodes = algorithm == Algorithm::Hierarchical;
        let unused = [
            ("size", is_barrier && self.size.is_some(), "a barrier has no data"),
            ("root", !has_root && self.root > 0, "broadcast and reduce alone have one"),
            (
                "node",
                !has_nodes && self.node.is_some(),
                "algorithm = \"hierarchical\" alone has one",
            ),
            ("window", !exchanges && self.window.is_some(), "an all-to-all alone has one"),
            ("skew", !skews && self.skew.is_some(), "all-to-all-v alone has one"),
        ];
        if let Some((field, _, why)) = unused.iter().find(|(_, unused, _)| *unused) {
            return Err(checked.at(field, format!("{why}; take it out")));
        }
        if self.size.is_none() && !is_barrier {
            let message = format!("{name} has no size; set it, such as size = \"1MB\"");
            return Err(checked.at("size", message));
        }
        checked.in_range("channels", self.channels, (1, MOST_CHANNELS))?;
        if let Some(window) = self.window {
            checked.in_range("window", window, (1, 1_000_000))?;
        }
        match self.skew {
            Some(skew) => checked.in_range("skew", skew, (0.0, MOST_SKEW))?,
            None if skews => {
                let message = "all-to-all-v has no skew; set it, such as skew = 0.5".into();
                return Err(checked.at("skew", message));
            }
            None => {}
        }
        let sizes = self.group_sizes(checked.from.len());
        let least = sizes.iter().copied().min().unwrap_or(0);
        if self.root as usize >= least {
            let message = format!(
                "{} is no place in a group of {least}; expected 0 to {}",
                self.root,
                least - 1
            );
            return Err(checked.at("root", message));
        }
        let divides = |node: u32| node > 0 && sizes.iter().all(|size| size % node as usize == 0);
        match self.node {
            None if has_nodes => {
                let message = "hierarchical has no node; set the number of hosts in one, such as \
                               node = 8";
                Err(checked.at("node", message.into()))
            }
            Some(node) if !divides(node) => {
                let message = format!(
                    "{node} does not divide the hosts of each group ({}); expected a divisor",
                    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                );
                Err(checked.at("node", message))
            }
            _ => Ok(()),
        }
    }
}

/// Reads an operation. The old name of a ring all-reduce gets the new spelling.
fn operation<'de, D: Deserializer<'de>>(input: D) -> Result<Operation, D::Error> {
    let name = String::deserialize(input)?;
    if name == "ring-all-reduce" {
        let message = "\"ring-all-reduce\" is written collective = \"all-reduce\", with algorithm = \
                       \"ring\", which is the usual one";
        return Err(D::Error::custom(message));
    }
    Operation::deserialize(StrDeserializer::new(&name))
}

const fn default_one() -> u32 {
    1
}
