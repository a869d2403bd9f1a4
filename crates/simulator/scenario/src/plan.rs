//! The plan of a scenario's traffic: connections, messages that are posted on them, and the
//! applications that decide the rest while the network runs.
//!
//! Everything here is drawn from the seed alone, so that schemes are compared on the same traffic.

mod demand;
#[cfg(test)]
mod tests;

use incast_cc::Fraction;
use incast_plan::flows::{Flow, Treatment};
use incast_plan::topology::Topology;
use incast_plan::{Plan, PlannedTraffic, RoutingKind, Watch};

use crate::traffic::context::Context;
use crate::traffic::places::Places;
use crate::{Scenario, Traffic};
pub use demand::demand;

/// Plans the traffic of a scenario.
pub fn plan(scenario: &Scenario, topology: &Topology, seed: u64, watch: &Watch<'_>) -> Plan {
    let mut plan = Plan::between(topology.hosts.len());
    let places = Places::new(topology);
    for (number, traffic) in (0..).zip(&scenario.traffic) {
        let context = Context::new(scenario, (topology, &places), seed, number).watched(watch);
        let offered = traffic.kind.settings().plan(&context, &mut plan);
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

/// The number of lasting flows in the plan of a scenario.
pub fn lasting_flows(scenario: &Scenario, topology: &Topology) -> usize {
    let places = Places::new(topology);
    let mut count = 0;
    for (number, traffic) in (0..).zip(&scenario.traffic) {
        let context = Context::new(scenario, (topology, &places), scenario.run.seed, number);
        count += traffic.kind.settings().lasting_flows(&context);
    }
    count
}

/// A flow without end that sends all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastingFlow {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// The traffic class.
    pub class: u8,
    /// The routing of its packets.
    pub routing: RoutingKind,
    /// The number of the scheme of its traffic ([`Scenario::mix`]).
    pub scheme: u8,
    /// Whether only a share of the traffic is under that scheme.
    pub shared: bool,
}

/// Flows without end that send all the time, of traffic that has no others.
pub fn lasting(scenario: &Scenario, topology: &Topology) -> Vec<LastingFlow> {
    lasting_of(scenario, topology, Traffic::is_endless)
}

/// Flows without end that send all the time, those in lists with others too.
pub fn all_lasting(scenario: &Scenario, topology: &Topology) -> Vec<LastingFlow> {
    lasting_of(scenario, topology, |traffic| traffic.kind.settings().has_endless())
}

fn lasting_of(
    scenario: &Scenario,
    topology: &Topology,
    which: impl FnMut(&Traffic) -> bool,
) -> Vec<LastingFlow> {
    let mut alone = scenario.clone();
    alone.traffic.retain(which);
    let flows = plan(&alone, topology, scenario.run.seed, &Watch::nobody()).flows;
    // The scenario with this traffic alone has fewer schemes.
    let (all, own) = (scenario.mixed_names(), alone.mixed_names());
    let number = |of_alone: u8| {
        let name = usize::from(of_alone).checked_sub(1).map(|place| own[place]);
        let place = name.and_then(|name| all.iter().position(|other| *other == name));
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
    };
    let lasting = |flow: &Flow| {
        let Treatment { class, routing, scheme, share, .. } = flows.treatment(flow);
        let ((from, _), (to, _)) = (flow.sender(), flow.receiver());
        let (scheme, shared) = (number(scheme), share < Fraction::ONE);
        LastingFlow { from, to, class, routing, scheme, shared }
    };
    flows.iter().filter(|flow| flow.is_lasting()).map(lasting).collect()
}
