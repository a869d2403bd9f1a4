//! What traffic with a load asks of the links of hosts and of the core, before anything is drawn.

use super::peers::Peers;
use super::{Context, Places};
use crate::{Incast, Kind, LoadOf, Operation, Poisson, Requests, Scenario};
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
    for number in 0..scenario.traffic.len() {
        #[expect(clippy::cast_possible_truncation, reason = "one section of a file each")]
        let context = Context::new(scenario, (topology, &places), scenario.run.seed, number as u16);
        let none = || vec![0.0; topology.hosts.len()];
        let mut demand = Demand { traffic: number, sends: none(), receives: none(), core: 0.0 };
        let has_load = match context.traffic.kind() {
            Kind::Poisson(poisson) => demand.add_poisson(&context, poisson),
            Kind::Incast(incast) => demand.add_incast(&context, incast),
            Kind::Requests(requests) => demand.add_requests(&context, requests),
            Kind::Lasting | Kind::Collective(_) | Kind::Flows(_) => false,
        };
        if has_load {
            all.push(demand);
        }
    }
    all
}

/// What all flows of a load of the core offer, in bits per second; none where no flow crosses it.
pub fn offered_bps(
    scenario: &Scenario,
    topology: &Topology,
    number: usize,
    poisson: &Poisson,
) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "one section of a file each")]
    let number = number as u16;
    let places = Places::new(topology);
    let context = Context::new(scenario, (topology, &places), scenario.run.seed, number);
    let peers = Peers::new(&context, poisson);
    let crosses = peers.senders().any(|source| peers.crossing(source) > 0.0);
    crosses.then(|| peers.offered_bps(poisson))
}

impl Demand {
    fn add_poisson(&mut self, context: &Context<'_>, poisson: &Poisson) -> bool {
        let peers = Peers::new(context, poisson);
        let (offered, all_bps) = (peers.offered_bps(poisson), peers.line_bps());
        let mut spread = peers.spread();
        for source in peers.senders() {
            let bps = offered * context.line_bps(source) / all_bps;
            self.sends[source as usize] += bps;
            spread.add(source, bps);
        }
        self.receives = spread.received();
        if poisson.of == LoadOf::Core {
            self.core += poisson.load;
        }
        if context.traffic.operation == Operation::Read {
            std::mem::swap(&mut self.sends, &mut self.receives);
        }
        true
    }

    fn add_incast(&mut self, context: &Context<'_>, incast: &Incast) -> bool {
        let all_bps: f64 = context.destinations.iter().map(|&host| context.line_bps(host)).sum();
        let each = incast.load * all_bps / context.destinations.len() as f64;
        // A receiver's senders are drawn from all others alike.
        let mut everybody = 0.0;
        for &receiver in &context.destinations {
            self.receives[receiver as usize] += each;
            let itself = context.sources.binary_search(&receiver).is_ok();
            let from_each = each / (context.sources.len() - usize::from(itself)) as f64;
            everybody += from_each;
            if itself {
                self.sends[receiver as usize] -= from_each;
            }
        }
        context.sources.iter().for_each(|&sender| self.sends[sender as usize] += everybody);
        true
    }

    fn add_requests(&mut self, context: &Context<'_>, requests: &Requests) -> bool {
        let Some(load) = requests.load else { return false };
        let (reads, writes) = super::asking::bytes_per_request(requests);
        let servers_of = context.servers(requests);
        for &client in &context.sources {
            let bps = load * context.line_bps(client);
            let (read, written) = (bps * reads / (reads + writes), bps * writes / (reads + writes));
            let servers = servers_of(client);
            if servers.is_empty() {
                continue;
            }
            self.receives[client as usize] += read;
            self.sends[client as usize] += written;
            for &server in &servers {
                self.sends[server as usize] += read / servers.len() as f64;
                self.receives[server as usize] += written / servers.len() as f64;
            }
        }
        true
    }
}
