//! From the traffic of a scenario to what happens: connections, what is posted on them and when, and the
//! applications that decide the rest while the network runs.
//!
//! All of it is drawn here, from the seed alone, so that schemes are compared on the same traffic.

mod arriving;
mod asking;
mod chain;
mod client;
mod demand;
mod lasting;
mod listed;
mod peers;
mod places;
mod ring;
mod spread;
#[cfg(test)]
mod tests;

use incast_cc::{Bytes, Time};
use incast_plan::flows::{Life, Operation, Treatment};
use incast_plan::random::generator;
use incast_plan::topology::Topology;
use incast_plan::{Plan, PlannedTraffic, Watch};
use rand_pcg::Pcg64Mcg;

use crate::{Destinations, Kind, Requests, Scenario, Traffic};
pub use demand::{Demand, demand, offered_bps};
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
pub fn plan(scenario: &Scenario, topology: &Topology, seed: u64, watch: &Watch<'_>) -> Plan {
    let mut plan = Plan::between(topology.hosts.len());
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
pub fn lasting_flows(scenario: &Scenario, topology: &Topology) -> usize {
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
pub fn lasting(scenario: &Scenario, topology: &Topology) -> Vec<(u32, u32, u8)> {
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
pub fn hosts_of(scenario: &Scenario, topology: &Topology, number: usize) -> (Vec<u32>, Vec<u32>) {
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

impl NewFlow {
    /// Adds the flow to a plan, and returns its number.
    fn add_to(self, plan: &mut Plan) -> u32 {
        let Self { traffic, treatment, source, destination, operation, before, life } = self;
        plan.flows.add((source, destination), (traffic, operation), before, treatment, life)
    }
}
