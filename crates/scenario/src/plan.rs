//! The plan of a scenario's traffic: connections, messages that are posted on them, and the
//! applications that decide the rest while the network runs.
//!
//! Everything here is drawn from the seed alone, so that schemes are compared on the same traffic.

mod demand;
#[cfg(test)]
mod tests;

use incast_plan::topology::Topology;
use incast_plan::{Plan, PlannedTraffic, Watch};

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

/// Flows without end that send all the time: sender, receiver and class.
pub fn lasting(scenario: &Scenario, topology: &Topology) -> Vec<(u32, u32, u8)> {
    let mut alone = scenario.clone();
    alone.traffic.retain(Traffic::is_endless);
    let flows = plan(&alone, topology, scenario.run.seed, &Watch::nobody()).flows;
    let ends =
        flows.iter().map(|flow| (flow.sender().0, flow.receiver().0, flows.treatment(flow).class));
    ends.collect()
}
