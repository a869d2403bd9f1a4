//! The load that traffic puts on the links of hosts and of the core, before anything is drawn.

use incast_plan::topology::Topology;

use crate::traffic::context::Context;
use crate::traffic::places::Places;
use crate::{Demand, Scenario};

/// The demand of each traffic that has a load.
pub fn demand(scenario: &Scenario, topology: &Topology) -> Vec<Demand> {
    let mut all = Vec::new();
    let places = Places::new(topology);
    for (number, traffic) in scenario.traffic.iter().enumerate() {
        if traffic.load().is_none() {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "one section of a file each")]
        let context = Context::new(scenario, (topology, &places), scenario.run.seed, number as u16);
        let none = || vec![0.0; topology.hosts.len()];
        let mut demand = Demand { traffic: number, sends: none(), receives: none(), core: 0.0 };
        traffic.kind.settings().demand(&context, &mut demand);
        all.push(demand);
    }
    all
}
