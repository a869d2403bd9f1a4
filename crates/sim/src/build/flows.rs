//! From the traffic of a scenario to connections.

use incast_cc::{Bytes, Span, Time};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::scenario::{Operation, Scenario, Traffic};
use crate::topology::Topology;

/// One connection of the scenario's traffic.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The host that starts it.
    pub(crate) source: u32,
    /// The host at the other end.
    pub(crate) destination: u32,
    pub(crate) operation: Operation,
    pub(crate) start: Time,
    /// Size of a message; [`None`] has no end.
    pub(crate) message: Option<Bytes>,
    pub(crate) count: u32,
    pub(crate) every: Span,
    /// Where payload leaves and where it arrives: host and connection.
    pub(crate) sender: (u32, u32),
    pub(crate) receiver: (u32, u32),
}

impl Flow {
    /// When a message is posted.
    pub(crate) fn posted_at(&self, message: u64) -> Time {
        self.start + self.every * message
    }
}

/// The scenario's connections, in the order of its traffic, sources and destinations. Start times do
/// not depend on the scheme, so that schemes are compared on the same run.
pub(super) fn flows(scenario: &Scenario, topology: &Topology, seed: u64) -> Vec<Flow> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut flows = Vec::new();
    for traffic in &scenario.traffic {
        let sources = scenario.network.hosts_called(&traffic.from, topology);
        let destinations = scenario.network.hosts_called(&traffic.to, topology);
        for &source in &sources {
            let others = || destinations.iter().copied().filter(|&host| host != source);
            let picked: Vec<_> = match traffic.fan_out {
                None => others().collect(),
                Some(count) => pick(others().collect(), count, &mut random),
            };
            for destination in picked {
                for _ in 0..traffic.connections {
                    flows.push(flow(traffic, source, destination, &mut random));
                }
            }
        }
    }
    flows
}

/// So many of `hosts`, drawn without putting back.
fn pick(mut hosts: Vec<u32>, count: u32, random: &mut Pcg64Mcg) -> Vec<u32> {
    let count = (count as usize).min(hosts.len());
    for place in 0..count {
        let rest = (hosts.len() - place) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of hosts")]
        let drawn = place + (random.next_u64() % rest) as usize;
        hosts.swap(place, drawn);
    }
    hosts.truncate(count);
    hosts
}

fn flow(traffic: &Traffic, source: u32, destination: u32, random: &mut Pcg64Mcg) -> Flow {
    let spread = traffic.start_spread.as_ps();
    let late = Span::from_ps(if spread == 0 { 0 } else { random.next_u64() % (spread + 1) });
    Flow {
        source,
        destination,
        operation: traffic.operation,
        start: Time::ZERO + traffic.start + late,
        message: traffic.message,
        count: traffic.count,
        every: traffic.every,
        sender: (0, 0),
        receiver: (0, 0),
    }
}
