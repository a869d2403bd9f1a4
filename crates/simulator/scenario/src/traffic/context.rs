//! The context of planning a traffic: its hosts, new flows, and generators of random numbers.

use incast_cc::{Bytes, Fraction, Span, Time};
use incast_plan::flows::{Life, Operation, Treatment};
use incast_plan::random::{generator, purpose};
use incast_plan::topology::Topology;
use incast_plan::{Plan, Watch};
use rand_pcg::Pcg64Mcg;

use super::deadline::DrawnDeadlines;
use super::places::Places;
use super::{Common, Traffic, TrafficScheme};
use crate::Scenario;

/// A flow that has not been added to the plan yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFlow {
    pub(crate) traffic: u16,
    pub(crate) treatment: Treatment,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) operation: Operation,
    /// The flow's rank: the number of other flows of its traffic, or of its traffic and its source,
    /// that come before it.
    pub(crate) before: u32,
    pub(crate) life: Life,
}

/// A traffic with its hosts, while it is planned.
pub(crate) struct Context<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) topology: &'a Topology,
    pub(crate) places: &'a Places<'a>,
    seed: u64,
    /// The number of the traffic in the file.
    pub(crate) number: u16,
    traffic: &'a Traffic,
    /// The number of the traffic's scheme.
    scheme: u8,
    /// The settings that all kinds share.
    pub(crate) common: &'a Common,
    /// The hosts of `from`, ascending.
    pub(crate) sources: Vec<u32>,
    /// The hosts of `to`, or of `from` where `to` is absent, ascending.
    pub(crate) destinations: Vec<u32>,
    /// The caller that may stop the planning, if any.
    watch: Option<&'a Watch<'a>>,
}

/// The hosts that start a traffic, and those at its other end.
pub fn hosts_of(scenario: &Scenario, topology: &Topology, number: usize) -> (Vec<u32>, Vec<u32>) {
    let common = &scenario.traffic[number].common;
    let hosts = |name| scenario.network.hosts_called(name, topology);
    (hosts(common.sources()), hosts(common.destinations()))
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        (topology, places): (&'a Topology, &'a Places<'a>),
        seed: u64,
        number: u16,
    ) -> Self {
        let traffic = &scenario.traffic[number as usize];
        let (sources, destinations) = hosts_of(scenario, topology, number as usize);
        let common = &traffic.common;
        let watch = None;
        Self {
            scenario,
            topology,
            places,
            seed,
            number,
            traffic,
            scheme: scenario.scheme_number(traffic),
            common,
            sources,
            destinations,
            watch,
        }
    }

    /// This context with a caller that may stop the planning.
    pub(crate) fn watched(self, watch: &'a Watch<'a>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// A flow for messages of up to `bytes`, with rank 0.
    pub(crate) fn flow(&self, source: u32, destination: u32, bytes: Option<Bytes>) -> NewFlow {
        if let Some(watch) = self.watch {
            watch.step();
        }
        let urgent = self.common.urgent.as_ref();
        let urgent = urgent.filter(|urgent| bytes.is_some_and(|bytes| bytes < urgent.below));
        let class = urgent.and_then(|urgent| urgent.class.as_ref()).or(self.common.class.as_ref());
        NewFlow {
            traffic: self.number,
            treatment: Treatment {
                class: class.map_or(0, |name| self.scenario.class_number(name).unwrap_or(0)),
                weight: urgent.and_then(|urgent| urgent.weight).unwrap_or(self.common.weight),
                scheme: self.scheme,
                share: self.common.scheme.as_ref().map_or(Fraction::ONE, TrafficScheme::share),
                routing: self.common.routing.unwrap_or(self.scenario.routing.kind),
            },
            source,
            destination,
            operation: self.traffic.operation(),
            before: 0,
            life: Life::OnDemand,
        }
    }

    /// The time at which the traffic starts.
    pub(crate) fn start(&self) -> Time {
        Time::ZERO + self.common.start
    }

    /// The time from which on nothing starts.
    pub(crate) fn stop(&self) -> Time {
        let end = self.scenario.run.duration;
        Time::ZERO + self.common.stop.map_or(end, |stop| stop.min(end))
    }

    /// The rate of a host's link in bits per second, out of the host.
    pub(crate) fn line_bps(&self, host: u32) -> f64 {
        self.places.line_rates(host)[0].as_bps() as f64
    }

    /// The rate of a host's link in bits per second, into the host.
    pub(crate) fn incoming_bps(&self, host: u32) -> f64 {
        self.places.line_rates(host)[1].as_bps() as f64
    }

    /// The deadlines of what a host starts.
    pub(crate) fn deadlines_of(&self, host: u32) -> DrawnDeadlines {
        let random = self.generator_of(host, purpose::DEADLINES);
        DrawnDeadlines::new(self.common.deadline.clone(), random, self.line_bps(host))
    }

    /// The deadlines of the whole traffic, which [`DrawnDeadlines::draw_on`] draws.
    pub(crate) fn deadlines(&self) -> DrawnDeadlines {
        let random = self.generator(purpose::DEADLINES);
        DrawnDeadlines::new(self.common.deadline.clone(), random, f64::NAN)
    }

    /// The generator for one purpose of the whole traffic.
    pub(crate) fn generator(&self, purpose: &str) -> Pcg64Mcg {
        generator(self.seed, purpose, &[u64::from(self.number)])
    }

    /// The generator for one purpose of a host in this traffic.
    pub(crate) fn generator_of(&self, host: u32, purpose: &str) -> Pcg64Mcg {
        generator(self.seed, purpose, &[u64::from(self.number), u64::from(host)])
    }
}

impl NewFlow {
    /// Adds the flow to a plan, and returns its number.
    pub(crate) fn add_to(self, plan: &mut Plan) -> u32 {
        let Self { traffic, treatment, source, destination, operation, before, life } = self;
        plan.flows.add((source, destination), (traffic, operation), before, treatment, life)
    }

    /// Adds the flow with a single message, and returns its number.
    pub(crate) fn add_single(
        self,
        plan: &mut Plan,
        at: Time,
        bytes: Bytes,
        deadline: Option<Span>,
    ) -> u32 {
        let flow = self.add_to(plan);
        plan.post(flow, at, Some(bytes), deadline);
        flow
    }
}
