//! What traffic with a load asks of the links of hosts and of the core, before anything is drawn.

use super::{Context, Places};
use crate::Scenario;
use incast_plan::topology::Topology;

/// The load that one traffic puts on links on average, in bits of payload per second.
#[derive(Debug)]
pub struct Demand {
    /// Number of the traffic.
    pub traffic: usize,
    /// The rate that each host is to send.
    pub sends: Vec<f64>,
    /// The rate that each host is to receive.
    pub receives: Vec<f64>,
    /// The share of all links to the core, for a load that is given as one of the core.
    pub core: f64,
}

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
