//! Requests of clients to servers.

mod client;

use std::ops::Range;
use std::sync::Arc;

use incast_cc::{Bytes, Span};
use incast_plan::flows::{Flows, Operation};
use incast_plan::random::{mean_gap, purpose};
use incast_plan::{Plan, PlannedApplication};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Opens, Sent};
use super::checked::{Checked, Counts};
use super::context::{Context, NewFlow};
use super::demand::Demand;
use super::peers::permutation;
use super::places::fewest_farthest;
use super::{Destinations, Kind, Settings};
use crate::FlowSizes;
use crate::input::Files;
use client::{Client, Pace, Server, Slots, Workload};

const MAX_OUTSTANDING: u32 = 100_000;

/// The shortest time of a request and its answer, in seconds: clients that wait for answers send at
/// most one request in this time.
const ROUND_TRIP_S: f64 = 5e-6;

/// Requests of the hosts of `from` to hosts of `to` on lasting connections: reads, which fetch
/// payload, and writes, which send it. A request is complete when all of its messages are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Open loop: the payload of requests that arrive at random, as a share of each client's link,
    /// in the direction of most payload.
    pub load: Option<f64>,
    /// Closed loop: the number of requests of each client under way at a time. 1 if there is no
    /// load.
    pub outstanding: Option<u32>,
    /// Closed loop: the mean of the exponentially distributed time from the end of a request to the
    /// next one.
    #[serde(default, with = "quantity::OptionalTime")]
    pub think_time: Option<Span>,
    /// The sizes of reads.
    pub sizes: FlowSizes,
    /// The sizes of writes; the sizes of reads if absent.
    pub write_sizes: Option<FlowSizes>,
    /// The share of requests that are reads.
    #[serde(default = "default_reads")]
    pub reads: f64,
    /// The number of servers of a read.
    #[serde(default)]
    pub fan_out: FanOut,
    /// Whether the servers of a read share its size; if not, each sends all of it.
    #[serde(default)]
    pub split: bool,
    /// The number of servers of a write, which is complete when all have acknowledged it.
    #[serde(default = "one")]
    pub replicas: u32,
    /// The choice of servers: from all with equal probability, from those farthest away, or one
    /// server for each client, drawn once.
    #[serde(default)]
    pub destinations: Destinations,
    /// The number of connections for each pair of hosts.
    #[serde(default = "one")]
    pub connections: u32,
}

/// The number of servers of a request: a number, or several with their weights, such as
/// `[[1, 0.5], [2, 0.3], [8, 0.2]]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a number of servers, or pairs of a number and a weight such as \
                 [[1, 0.5], [8, 0.5]]"
)]
pub enum FanOut {
    /// A fixed number of servers.
    Always(u32),
    /// A number of servers drawn by weight.
    Weighted(Vec<(u32, f64)>),
}

impl Default for FanOut {
    fn default() -> Self {
        Self::Always(1)
    }
}

impl FanOut {
    /// All numbers with their weights.
    pub fn options(&self) -> Vec<(u32, f64)> {
        match self {
            Self::Always(fan_out) => vec![(*fan_out, 1.0)],
            Self::Weighted(options) => options.clone(),
        }
    }

    /// The mean number of servers.
    pub fn mean(&self) -> f64 {
        let options = self.options();
        let total: f64 = options.iter().map(|&(_, weight)| weight).sum();
        options.iter().map(|&(fan_out, weight)| f64::from(fan_out) * weight).sum::<f64>() / total
    }
}

impl Settings for Requests {
    const NAME: &'static str = "requests";
}

impl Kind for Requests {
    fn read_files(&mut self, files: &mut Files) -> Result<(), Fault> {
        self.sizes.fill(files, "sizes")?;
        self.write_sizes.as_mut().map_or(Ok(()), |sizes| sizes.fill(files, "write_sizes"))
    }

    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        if let Some(load) = self.load {
            checked.check_load(load)?;
            let closed = [
                ("outstanding", self.outstanding.is_some()),
                ("think_time", self.think_time.is_some()),
            ];
            if let Some((field, _)) = closed.iter().find(|(_, set)| *set) {
                let message = format!("a load is an open loop, {field} a closed one; take one out");
                return Err(checked.at(field, message));
            }
        }
        let outstanding = self.outstanding.unwrap_or(1);
        checked.in_range("outstanding", outstanding, (1, MAX_OUTSTANDING))?;
        checked.in_range("reads", self.reads, (0.0, 1.0))?;
        let servers = Servers::of(checked, self.destinations);
        servers.check(checked, "replicas", self.replicas)?;
        if let FanOut::Weighted(options) = &self.fan_out
            && (options.is_empty()
                || options.iter().any(|&(_, weight)| !weight.is_finite() || weight <= 0.0))
        {
            let message = "expected a number, or pairs of a number and a weight above 0";
            return Err(checked.at("fan_out", message.into()));
        }
        for (fan_out, _) in self.fan_out.options() {
            servers.check(checked, "fan_out", fan_out)?;
        }
        let urgent = if checked.traffic.common.urgent.is_some() { 2 } else { 1 };
        let kinds = u64::from(self.reads > 0.0) * 2 + u64::from(self.reads < 1.0);
        let pairs = match self.destinations {
            Destinations::Permutation => checked.from.len() as u64,
            Destinations::Uniform | Destinations::Farthest => checked.pairs(),
        };
        let connections = pairs * u64::from(self.connections) * kinds * urgent;
        let mean = self.sizes.known().mean();
        let messages = self.load.map_or(1, |load| checked.arrivals(load, mean, &checked.from));
        Ok(Counts { connections, messages })
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        let (bytes_read, bytes_written) = self.bytes_per_request();
        let bytes = bytes_read + bytes_written;
        let urgent = context.common.urgent.as_ref();
        let workload = Arc::new(Workload {
            reads: self.reads,
            read_sizes: self.sizes.known().clone(),
            write_sizes: self.sizes_written().known().clone(),
            fan_out: self.fan_out.options(),
            replicas: self.replicas,
            split: self.split,
            urgent_below: urgent.map_or(Bytes::ZERO, |urgent| urgent.below),
            think_time: self.think_time(),
            until: context.stop(),
        });
        let mut offered = self.load.map(|_| 0.0);
        let servers_of = self.servers(context);
        for &host in &context.sources {
            let servers = servers_of(host);
            if servers.is_empty() {
                continue;
            }
            let application = plan.next_application(host, context.number);
            let mut slots = 0;
            let mut open = |server, operation, urgent: bool, wanted: bool| -> Range<u32> {
                let end = |plan: &Plan| u32::try_from(plan.flows.len()).unwrap_or(u32::MAX);
                let first = end(plan);
                let count = if wanted { self.connections } else { 0 };
                for _ in 0..count {
                    let size = if urgent { Bytes::ZERO } else { Bytes::MAX };
                    let flow = context.flow(host, server, Some(size));
                    let flow = NewFlow { operation, before: slots, ..flow }.add_to(plan);
                    plan.flows.follow(flow, true, (application, slots));
                    slots += 1;
                }
                first..end(plan)
            };
            let (reads, writes) = (self.reads > 0.0, self.reads < 1.0);
            let servers: Vec<_> = servers
                .into_iter()
                .map(|server| {
                    [
                        open(server, Operation::Read, false, reads),
                        open(server, Operation::Read, true, reads && urgent.is_some()),
                        open(server, Operation::Write, false, writes),
                        open(server, Operation::Write, true, writes && urgent.is_some()),
                    ]
                })
                .collect();
            let pace = match self.load {
                Some(load) => {
                    let bps = self.client_bps(context, host);
                    offered = offered.map(|offered| offered + load * bps);
                    Pace::Open { gap: mean_gap(bytes, load, bps) }
                }
                None => Pace::Closed { outstanding: self.outstanding.unwrap_or(1) },
            };
            let (workload, start) = (Arc::clone(&workload), context.start());
            let random = context.generator_of(host, purpose::REQUESTS);
            let thoughts = context.generator_of(host, purpose::THINK_TIMES);
            let deadlines = context.deadlines_of(host);
            plan.applications.push(PlannedApplication::new(host, move |flows| {
                let servers = servers.iter().map(|ranges| connected(ranges, flows)).collect();
                Client::new(workload, servers, (random, thoughts), deadlines, start, pace)
            }));
        }
        offered
    }

    /// The payload and messages of clients. Each request goes to several servers at once.
    fn sent(&self, links: &Links<'_>) -> Sent {
        let reads = self.reads * self.fan_out.mean();
        let written = (1.0 - self.reads) * f64::from(self.replicas);
        let share = if self.split { 1.0 / self.fan_out.mean() } else { 1.0 };
        let bytes = reads * share * self.sizes.known().mean()
            + written * self.sizes_written().known().mean();
        let most = links.sends / 8.0 * links.seconds / bytes.max(1.0);
        let each = f64::from(self.outstanding.unwrap_or(1)) * links.seconds
            / (ROUND_TRIP_S + self.think_time().as_secs_f64());
        let closed = || most.min(each * links.hosts.0 as f64);
        let asked = self.load.map_or_else(closed, |load| most * load);
        // A read has a message for the request and one for the answer.
        Sent::messages(asked * bytes, Some(asked * (reads * 2.0 + written)))
    }

    fn opens(&self) -> Opens {
        Opens::SomeUsed
    }

    fn load(&self) -> Option<f64> {
        self.load
    }

    fn waits(&self) -> bool {
        self.load.is_none()
    }

    fn demand(&self, context: &Context<'_>, demand: &mut Demand) {
        let Some(load) = self.load else { return };
        let (reads, writes) = self.bytes_per_request();
        let transport = &context.scenario.transport;
        // A request that is split counts as one message: each part has at most one packet more.
        let wire = |sizes: &FlowSizes| transport.wire(sizes.known());
        let (of_reads, of_writes) = (wire(&self.sizes), wire(self.sizes_written()));
        let servers_of = self.servers(context);
        for &client in &context.sources {
            let bps = load * self.client_bps(context, client);
            let (read, written) = (
                bps * of_reads * reads / (reads + writes),
                bps * of_writes * writes / (reads + writes),
            );
            let servers = servers_of(client);
            if servers.is_empty() {
                continue;
            }
            demand.receives[client as usize] += read;
            demand.sends[client as usize] += written;
            for &server in &servers {
                demand.sends[server as usize] += read / servers.len() as f64;
                demand.receives[server as usize] += written / servers.len() as f64;
            }
        }
    }
}

impl Requests {
    fn sizes_written(&self) -> &FlowSizes {
        self.write_sizes.as_ref().unwrap_or(&self.sizes)
    }

    fn think_time(&self) -> Span {
        self.think_time.unwrap_or(Span::ZERO)
    }

    /// The rate of a client's link in the direction of most payload, in bits per second.
    fn client_bps(&self, context: &Context<'_>, client: u32) -> f64 {
        let (reads, writes) = self.bytes_per_request();
        if reads > writes { context.incoming_bps(client) } else { context.line_bps(client) }
    }

    /// The mean payload of a request over all of its messages: of reads, and of writes.
    fn bytes_per_request(&self) -> (f64, f64) {
        let times = |servers: f64| if self.split { 1.0 } else { servers };
        let (read, written) = (self.sizes.known().mean(), self.sizes_written().known().mean());
        (
            self.reads * read * times(self.fan_out.mean()),
            (1.0 - self.reads) * written * times(f64::from(self.replicas)),
        )
    }

    /// The servers of each client.
    fn servers(&self, context: &Context<'_>) -> impl Fn(u32) -> Vec<u32> {
        let destinations = self.destinations;
        let partners = (destinations == Destinations::Permutation).then(|| permutation(context));
        move |client| match &partners {
            Some(partners) => partners.get(&client).copied().into_iter().collect(),
            None if destinations == Destinations::Farthest => {
                context.places.farthest(client, &context.destinations)
            }
            None => context.destinations.iter().copied().filter(|&host| host != client).collect(),
        }
    }
}

/// The smallest number of servers of a client, among clients that have any.
struct Servers {
    fewest: u32,
    whose: Whose,
}

/// The servers of a client.
enum Whose {
    /// All servers except the client itself.
    All,
    /// The servers farthest away, for the client that has the fewest.
    Farthest(u32),
    /// A server that no other client has.
    Partner,
}

impl Servers {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    fn of(checked: &Checked<'_>, destinations: Destinations) -> Self {
        let (fewest, whose) = match destinations {
            Destinations::Uniform => (checked.others(), Whose::All),
            Destinations::Permutation => (checked.others().min(1), Whose::Partner),
            Destinations::Farthest => {
                match fewest_farthest(checked.net, &checked.from, &checked.to) {
                    Some((fewest, client)) => (fewest, Whose::Farthest(client)),
                    None => (checked.others(), Whose::All),
                }
            }
        };
        Self { fewest: fewest as u32, whose }
    }

    /// Checks that a setting does not exceed the number of servers that each client has.
    fn check(&self, checked: &Checked<'_>, field: &str, value: u32) -> Result<(), Fault> {
        let most = self.fewest;
        if (1..=most).contains(&value) {
            return Ok(());
        }
        let whose = match self.whose {
            Whose::All => String::new(),
            Whose::Farthest(from) => {
                format!(", the servers farthest from {}", checked.net.hosts[from as usize])
            }
            Whose::Partner => ", the server that a permutation gives each client".into(),
        };
        let message = format!("{value} is out of range; expected 1 to {most}{whose}");
        Err(checked.at(field, message))
    }
}

/// The slots of one server: reads, urgent reads, writes and urgent writes, each with its flows.
fn connected(ranges: &[Range<u32>; 4], flows: &Flows) -> Server {
    // The flows of a range are consecutive in slots and in connections of the host.
    let slots = |range: &Range<u32>| {
        let (Some(first), true) = (flows.get(range.start as usize), !range.is_empty()) else {
            return Slots::default();
        };
        Slots {
            first: flows.follower(range.start, true).map_or(0, |(_, slot)| slot),
            connection: first.posting(),
            count: range.end - range.start,
            step: first.connections(),
        }
    };
    let [reads, urgent_reads, writes, urgent_writes] = ranges;
    Server {
        reads: [slots(reads), slots(urgent_reads)],
        writes: [slots(writes), slots(urgent_writes)],
    }
}

const fn default_reads() -> f64 {
    1.0
}

const fn one() -> u32 {
    1
}
