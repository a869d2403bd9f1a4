//! From the traffic of a scenario to what happens: connections, what is posted on them and when, and the
//! applications that decide the rest while the network runs.
//!
//! All of it is drawn here, from the seed alone, so that schemes are compared on the same traffic.

mod arriving;
mod asking;
mod demand;
mod lasting;
mod listed;
mod peers;
mod places;
mod spread;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use incast_cc::{Bytes, Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::network::application::{Pace, Trigger, Workload};
use crate::network::flows::{Flows, Life, Treatment};
use crate::random::generator;
use crate::scenario::{Destinations, Kind, Operation, Requests, Scenario, Traffic};
use crate::topology::Topology;
use crate::watch::Watch;
pub(crate) use demand::{Demand, demand, offered_bps};
use places::Places;
pub(crate) use places::fewest_farthest;

/// A flow that is to be added to those of the plan.
#[derive(Clone, Copy, Debug)]
struct NewFlow {
    traffic: u16,
    treatment: Treatment,
    source: u32,
    destination: u32,
    operation: Operation,
    /// Others of its traffic, or of its traffic and its source, that come before it.
    before: u32,
    life: Life,
}

/// What results say of one traffic of the scenario.
#[derive(Clone, Debug)]
pub(crate) struct PlannedTraffic {
    pub(crate) name: String,
    /// What it is asked to offer while it lasts; [`None`] where it has no load.
    pub(crate) offered_bps: Option<f64>,
    /// From when until when it lasts.
    pub(crate) lasts: (Time, Time),
}

/// A message that is posted whatever happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) flow: u32,
    pub(crate) at: Time,
    /// [`None`] has no end.
    pub(crate) bytes: Option<Bytes>,
}

/// Flows that belong together: an incast.
#[derive(Clone, Debug)]
pub(crate) struct Gathering {
    pub(crate) traffic: u16,
    pub(crate) receiver: u32,
    pub(crate) at: Time,
    pub(crate) flows: Range<u32>,
    pub(crate) bytes: Bytes,
}

/// A client before it knows its connections.
#[derive(Debug)]
pub(super) struct PlannedClient {
    pub(super) host: u32,
    pub(super) workload: Arc<Workload>,
    /// For each server, the flows of reads and of writes, common and urgent.
    pub(super) servers: Vec<[Range<u32>; 4]>,
    pub(super) start: Time,
    pub(super) pace: Pace,
    /// Of its requests, and of its think times.
    pub(super) random: Pcg64Mcg,
    pub(super) thoughts: Pcg64Mcg,
}

/// A member of a ring: it sends on one flow.
#[derive(Debug)]
pub(super) struct PlannedMember {
    pub(super) host: u32,
    pub(super) flow: u32,
    pub(super) members: u64,
    pub(super) bytes: Bytes,
    pub(super) rounds: u64,
    pub(super) compute: Span,
    pub(super) start: Time,
}

/// The flows of one host that wait for others, before it knows their connections.
#[derive(Debug)]
pub(super) struct PlannedChain {
    pub(super) host: u32,
    pub(super) triggers: Vec<Vec<Trigger>>,
    /// Flow, payload, and how many triggers it takes.
    pub(super) dependents: Vec<(u32, Bytes, u32)>,
}

/// An application before it knows its connections.
#[derive(Debug)]
pub(super) enum PlannedApplication {
    Client(PlannedClient),
    Member(PlannedMember),
    Chain(PlannedChain),
}

/// Everything that the traffic of a scenario asks for.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) flows: Flows,
    pub(super) posts: Vec<Planned>,
    pub(crate) gatherings: Vec<Gathering>,
    pub(super) applications: Vec<PlannedApplication>,
    pub(crate) traffic: Vec<PlannedTraffic>,
    /// The names of all traffic classes, once the scheme is known.
    pub(crate) classes: Vec<String>,
    /// For each host, the traffic that each of its applications belongs to.
    pub(crate) owners: Vec<Vec<u16>>,
}

/// What the builders of all kinds need.
struct Context<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    places: &'a Places<'a>,
    seed: u64,
    /// The hosts of the traffic in hand, and its number.
    number: u16,
    traffic: &'a Traffic,
    sources: Vec<u32>,
    destinations: Vec<u32>,
    /// Who may stop the planning, if anybody.
    watch: Option<&'a Watch<'a>>,
}

/// Plans the traffic of a scenario.
pub(super) fn plan(scenario: &Scenario, topology: &Topology, seed: u64, watch: &Watch<'_>) -> Plan {
    let mut plan = Plan {
        owners: vec![Vec::new(); topology.hosts.len()],
        flows: Flows::between(topology.hosts.len()),
        ..Plan::default()
    };
    let places = Places::new(topology);
    for (number, traffic) in (0..).zip(&scenario.traffic) {
        let context = Context {
            watch: Some(watch),
            ..Context::new(scenario, (topology, &places), seed, number)
        };
        let offered = match traffic.kind() {
            Kind::Poisson(poisson) => Some(arriving::poisson(&context, &mut plan, poisson)),
            Kind::Incast(incast) => Some(arriving::incast(&context, &mut plan, incast)),
            Kind::Requests(requests) => asking::requests(&context, &mut plan, requests),
            kind => {
                match kind {
                    Kind::Collective(collective) => {
                        asking::collective(&context, &mut plan, collective);
                    }
                    Kind::Flows(list) => listed::plan(&context, &mut plan, list),
                    _ => lasting::plan(&context, &mut plan),
                }
                None
            }
        };
        plan.traffic.push(PlannedTraffic {
            name: scenario.traffic_name(number as usize),
            offered_bps: offered,
            lasts: (context.start(), context.stop()),
        });
    }
    plan.flows.post_once(plan.posts.iter().map(|post| post.flow));
    plan.flows.finish();
    plan
}

/// How many flows of a scenario will be lasting ones.
pub(crate) fn lasting_flows(scenario: &Scenario, topology: &Topology) -> usize {
    let places = Places::new(topology);
    let mut count = 0;
    for (number, traffic) in (0..).zip(&scenario.traffic) {
        let context = Context::new(scenario, (topology, &places), scenario.run.seed, number);
        count += match traffic.kind() {
            Kind::Lasting => lasting::count(&context),
            Kind::Collective(_) => context.sources.len(),
            Kind::Flows(list) => list.list.iter().filter(|flow| flow.size.is_none()).count(),
            Kind::Poisson(_) | Kind::Incast(_) | Kind::Requests(_) => 0,
        };
    }
    count
}

/// Flows without end, of which each sends all the time: sender, receiver and class.
pub(crate) fn lasting(scenario: &Scenario, topology: &Topology) -> Vec<(u32, u32, u8)> {
    let mut alone = scenario.clone();
    alone.traffic.retain(|traffic| match traffic.kind() {
        Kind::Lasting => traffic.message.is_none(),
        _ => false,
    });
    let flows = plan(&alone, topology, scenario.run.seed, &Watch::nobody()).flows;
    let ends =
        flows.iter().map(|flow| (flow.sender().0, flow.receiver().0, flows.treatment(flow).class));
    ends.collect()
}

/// The hosts that start a traffic, and those at its other end.
pub(crate) fn hosts_of(
    scenario: &Scenario,
    topology: &Topology,
    number: usize,
) -> (Vec<u32>, Vec<u32>) {
    let traffic = &scenario.traffic[number];
    let hosts = |name| scenario.network.hosts_called(name, topology);
    (hosts(traffic.sources()), hosts(traffic.destinations()))
}

impl<'a> Context<'a> {
    fn new(
        scenario: &'a Scenario,
        (topology, places): (&'a Topology, &'a Places<'a>),
        seed: u64,
        number: u16,
    ) -> Self {
        let traffic = &scenario.traffic[number as usize];
        let hosts = |name| scenario.network.hosts_called(name, topology);
        let (sources, destinations) = (hosts(traffic.sources()), hosts(traffic.destinations()));
        let watch = None;
        Self { scenario, topology, places, seed, number, traffic, sources, destinations, watch }
    }

    /// A flow of messages of up to `bytes`, the first of its kind.
    fn flow(&self, source: u32, destination: u32, bytes: Option<Bytes>) -> NewFlow {
        if let Some(watch) = self.watch {
            watch.step();
        }
        let urgent = self.traffic.urgent.as_ref();
        let urgent = urgent.filter(|urgent| bytes.is_some_and(|bytes| bytes < urgent.below));
        let class = urgent.and_then(|urgent| urgent.class.as_ref()).or(self.traffic.class.as_ref());
        NewFlow {
            traffic: self.number,
            treatment: Treatment {
                class: class.map_or(0, |name| self.scenario.class_number(name).unwrap_or(0)),
                weight: urgent.and_then(|urgent| urgent.weight).unwrap_or(self.traffic.weight),
                deadline: self.traffic.deadline,
            },
            source,
            destination,
            operation: self.traffic.operation,
            before: 0,
            life: Life::OnDemand,
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + self.traffic.start
    }

    /// Nothing starts from then on.
    fn stop(&self) -> Time {
        let end = self.scenario.run.duration;
        Time::ZERO + self.traffic.stop.map_or(end, |stop| stop.min(end))
    }

    /// The servers of each client.
    fn servers(&self, requests: &Requests) -> impl Fn(u32) -> Vec<u32> {
        let destinations = requests.destinations;
        let partners =
            (destinations == Destinations::Permutation).then(|| arriving::permutation(self));
        move |client| match &partners {
            Some(partners) => partners.get(&client).copied().into_iter().collect(),
            None if destinations == Destinations::Farthest => {
                self.places.farthest(client, &self.destinations)
            }
            None => self.destinations.iter().copied().filter(|&host| host != client).collect(),
        }
    }

    /// The rate of a host's link in bits per second.
    fn line_bps(&self, host: u32) -> f64 {
        self.places.line_rate(host).as_bps() as f64
    }

    /// The generator of what all of this traffic draws for one purpose.
    fn generator(&self, purpose: &str) -> Pcg64Mcg {
        generator(self.seed, purpose, &[u64::from(self.number)])
    }

    /// The generator of what one of its hosts draws.
    fn generator_of(&self, host: u32, purpose: &str) -> Pcg64Mcg {
        generator(self.seed, purpose, &[u64::from(self.number), u64::from(host)])
    }
}

impl Plan {
    fn add(&mut self, flow: NewFlow) -> u32 {
        let NewFlow { traffic, treatment, source, destination, operation, before, life } = flow;
        self.flows.add((source, destination), (traffic, operation), before, treatment, life)
    }

    /// The number that one more application on `host` will have: they are numbered host by host, in the
    /// order in which they are planned.
    fn next_application(&mut self, host: u32, traffic: u16) -> u16 {
        let owners = &mut self.owners[host as usize];
        owners.push(traffic);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "one per traffic, which 16 bits number"
        )]
        let number = owners.len() as u16 - 1;
        number
    }
}
