//! The facts of a network that are known before a run: its size, base RTTs, bandwidth-delay
//! products, oversubscription and PFC headroom.

use std::collections::VecDeque;

use incast_cc::{Bytes, Rate, Span};
use incast_plan::topology::{Node, Topology};
use incast_scenario::{Scenario, Scheme, headroom, shared_buffers, topology};

use crate::warnings::{Scope, Surveyed, survey};

/// The facts of a network and of the paths of its traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The kind of the network, such as `star`.
    pub network: &'static str,
    /// The number of hosts.
    pub hosts: usize,
    /// The number of switches.
    pub switches: usize,
    /// The number of links, two for each cable.
    pub links: usize,
    /// The shortest and the longest path of the traffic by base RTT; `None` without traffic.
    pub paths: Option<[Path; 2]>,
    /// The most oversubscribed switch; `None` where no switch has links to other switches.
    pub oversubscription: Option<Oversubscription>,
    /// The buffer of the switch with the least shared buffer; `None` without switches.
    pub buffer: Option<Buffer>,
}

/// A path between two hosts while the network is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The names of the sending and the receiving host.
    pub ends: [String; 2],
    /// The number of links one way.
    pub hops: u8,
    /// The RTT of a full packet without queues: from its first bit to its ACK.
    pub base_rtt: Span,
    /// The rate of the slowest link.
    pub rate: Rate,
    /// The bandwidth-delay product: the slowest rate times the base RTT.
    pub product: Bytes,
}

/// The capacity below a switch over the capacity of its links to switches above or beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Oversubscription {
    /// The name of the switch.
    pub switch: String,
    /// The sum of the rates of the links to hosts and to switches below.
    pub below: Rate,
    /// The sum of the rates of the links to switches above and beside it.
    pub above: Rate,
}

impl Oversubscription {
    /// The ratio, such as 2 for 2:1.
    pub fn ratio(&self) -> f64 {
        self.below.as_bps() as f64 / self.above.as_bps().max(1) as f64
    }
}

/// The parts of a switch's packet buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// The name of the switch.
    pub switch: String,
    /// The whole buffer.
    pub total: Bytes,
    /// The part that is left for queues.
    pub shared: Bytes,
    /// The PFC headroom; `None` where PFC protects no class.
    pub headroom: Option<Headroom>,
}

/// The PFC headroom of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Headroom {
    /// The number of classes that PFC protects.
    pub classes: usize,
    /// The least and the most headroom of a port for one class.
    pub port: [Bytes; 2],
    /// The headroom of all ports and classes.
    pub total: Bytes,
}

/// The facts of a scenario under `scheme`, without building its network.
pub fn facts(scenario: &Scenario, scheme: &Scheme) -> Facts {
    let net = topology(scenario);
    Facts {
        network: scenario.network.kind(),
        hosts: net.hosts.len(),
        switches: net.switches.len(),
        links: net.cables.len() * 2,
        paths: shortest_and_longest(&survey(scenario, *scheme, Scope::All)),
        oversubscription: oversubscription(&net),
        buffer: buffer(scenario, &net),
    }
}

fn shortest_and_longest(paths: &[Surveyed]) -> Option<[Path; 2]> {
    let path = |found: &Surveyed| Path {
        ends: found.ends.clone(),
        hops: found.facts.hop_count,
        base_rtt: found.packet_rtt,
        rate: found.slowest,
        product: found.slowest.bytes_in(found.packet_rtt),
    };
    let shortest = paths.iter().min_by_key(|path| path.packet_rtt)?;
    let longest = paths.iter().rev().max_by_key(|path| path.packet_rtt)?;
    Some([path(shortest), path(longest)])
}

/// The switch with the largest ratio; the first of equal ones.
fn oversubscription(net: &Topology) -> Option<Oversubscription> {
    let ports = net.ports();
    let levels = levels(net);
    let of = |(number, cables): (usize, &Vec<(usize, usize)>)| {
        let (mut below, mut above) = (0, 0);
        for &port in cables {
            let up = net.rate(port).as_bps();
            let down = net.cables[port.0].rates[1 - port.1].as_bps();
            match net.far_end(port) {
                Node::Switch(other) if levels[other as usize] >= levels[number] => above += up,
                _ => below += down,
            }
        }
        (below > 0 && above > 0).then(|| Oversubscription {
            switch: net.switches[number].clone(),
            below: Rate::from_bps(below),
            above: Rate::from_bps(above),
        })
    };
    let found = ports.switches.iter().enumerate().filter_map(of);
    found.reduce(|most, one| if one.ratio() > most.ratio() { one } else { most })
}

/// The number of links from each switch to the nearest switch with hosts.
fn levels(net: &Topology) -> Vec<u32> {
    let ports = net.ports();
    let mut levels = vec![u32::MAX; net.switches.len()];
    let mut reached = VecDeque::new();
    for (number, cables) in (0..).zip(&ports.switches) {
        if cables.iter().any(|&port| matches!(net.far_end(port), Node::Host(_))) {
            levels[number as usize] = 0;
            reached.push_back(number);
        }
    }
    while let Some(switch) = reached.pop_front() {
        for &port in &ports.switches[switch as usize] {
            if let Node::Switch(next) = net.far_end(port)
                && levels[next as usize] == u32::MAX
            {
                levels[next as usize] = levels[switch as usize] + 1;
                reached.push_back(next);
            }
        }
    }
    levels
}

fn buffer(scenario: &Scenario, net: &Topology) -> Option<Buffer> {
    let ports = net.ports();
    let classes = scenario.data_classes().iter().filter(|class| class.protected).count();
    let shared = shared_buffers(scenario, net, &ports);
    let left = |switch: &u32| shared[*switch as usize];
    let switch = (0..u32::try_from(net.switches.len()).unwrap_or(u32::MAX)).min_by_key(left)?;
    let of_ports: Vec<_> = ports.switches[switch as usize]
        .iter()
        .map(|&(cable, end)| headroom(scenario, &net.cables[cable], end))
        .collect();
    let bounds = of_ports.iter().min().zip(of_ports.iter().max());
    let headroom = bounds.filter(|_| classes > 0).map(|(&least, &most)| Headroom {
        classes,
        port: [least, most],
        total: of_ports.iter().copied().sum::<Bytes>() * classes as u64,
    });
    Some(Buffer {
        switch: net.name(Node::Switch(switch)).to_owned(),
        total: scenario.switch.buffer,
        shared: left(&switch),
        headroom,
    })
}
