//! The positions of hosts relative to each other.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use incast_cc::Rate;

use incast_plan::topology::{Node, Ports, Topology};

/// Racks, and the distances between them. A rack is the switch that its hosts are connected to.
pub(crate) struct Places<'a> {
    topology: &'a Topology,
    ports: Ports,
    /// The number of links from each switch to the nearest switch of the highest layer.
    depths: Vec<u32>,
    /// The number of links from a rack to all switches, for the racks asked about so far.
    distances: RefCell<BTreeMap<u32, Rc<Vec<u32>>>>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(topology: &'a Topology) -> Self {
        let ports = topology.ports();
        let core: Vec<_> = (0..)
            .zip(&topology.layers)
            .filter(|(_, layer)| layer.is_core())
            .map(|(switch, _)| switch)
            .collect();
        let depths = distances(topology, &ports, &core);
        Self { topology, ports, depths, distances: RefCell::default() }
    }

    /// The rate of a host's link, out of the host and into it.
    pub(crate) fn line_rates(&self, host: u32) -> [Rate; 2] {
        let (cable, end) = self.ports.hosts[host as usize][0];
        let rates = self.topology.cables[cable].rates;
        [rates[end], rates[1 - end]]
    }

    pub(crate) fn rack(&self, host: u32) -> u32 {
        self.topology.edge(host)
    }

    /// The number of links between the racks of two hosts.
    fn distance(&self, a: u32, b: u32) -> u32 {
        self.distances_from(self.rack(a))[self.rack(b) as usize]
    }

    fn distances_from(&self, rack: u32) -> Rc<Vec<u32>> {
        let mut known = self.distances.borrow_mut();
        let from = known.entry(rack);
        from.or_insert_with(|| Rc::new(distances(self.topology, &self.ports, &[rack]))).clone()
    }

    /// The hosts of `hosts` that are farthest from `host`, without `host` itself.
    pub(crate) fn farthest(&self, host: u32, hosts: &[u32]) -> Vec<u32> {
        let mut farthest = self.farthest_or_self(host, hosts);
        farthest.retain(|&other| other != host);
        farthest
    }

    /// The hosts of `hosts` that are farthest from `host`. The list is the same for all hosts of a
    /// rack: where their own rack is the farthest, it includes `host` itself.
    pub(crate) fn farthest_or_self(&self, host: u32, hosts: &[u32]) -> Vec<u32> {
        let from = self.distances_from(self.rack(host));
        let distance = |other: u32| from[self.rack(other) as usize];
        let most = hosts.iter().map(|&other| distance(other)).max();
        hosts.iter().copied().filter(|&other| Some(distance(other)) == most).collect()
    }

    /// The smallest number of farthest hosts of one of `sources`, and this source. Sources without
    /// any are left out.
    fn fewest_farthest(&self, sources: &[u32], hosts: &[u32]) -> Option<(usize, u32)> {
        let mut racks = BTreeMap::new();
        let count = |&source: &u32| {
            let farthest = racks
                .entry(self.rack(source))
                .or_insert_with(|| self.farthest_or_self(source, hosts));
            let own = usize::from(farthest.binary_search(&source).is_ok());
            (farthest.len() - own, source)
        };
        sources.iter().map(count).filter(|&(count, _)| count > 0).min()
    }

    /// Whether shortest paths between two hosts go through the highest layer of switches.
    pub(crate) fn crosses_core(&self, a: u32, b: u32) -> bool {
        let depth = |host| self.depths[self.rack(host) as usize];
        depth(a) != u32::MAX && self.distance(a, b) == depth(a).saturating_add(depth(b))
    }

    /// The sum of the rates of all links up to the highest layer, in bits per second.
    pub(crate) fn core_bps(&self) -> f64 {
        let depth = |node| match node {
            Node::Switch(switch) => self.depths[switch as usize],
            Node::Host(_) => u32::MAX,
        };
        let up = self.topology.cables.iter().filter_map(|cable| {
            let [a, b] = cable.ends.map(depth);
            let is_up = a.min(b) == 0 && a.max(b) != u32::MAX && a != b;
            is_up.then(|| cable.rates[usize::from(a < b)])
        });
        up.map(|rate| rate.as_bps() as f64).sum()
    }
}

/// The smallest number of `hosts` that are farthest from one of `sources`, and this source. Sources
/// without any are left out.
pub(crate) fn fewest_farthest(
    topology: &Topology,
    sources: &[u32],
    hosts: &[u32],
) -> Option<(usize, u32)> {
    Places::new(topology).fewest_farthest(sources, hosts)
}

/// The number of links from each switch to the nearest of `to`.
fn distances(topology: &Topology, ports: &Ports, to: &[u32]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; topology.switches.len()];
    let mut reached: VecDeque<_> = to.iter().copied().collect();
    for &switch in to {
        distance[switch as usize] = 0;
    }
    while let Some(switch) = reached.pop_front() {
        for &(cable, end) in &ports.switches[switch as usize] {
            if let Node::Switch(other) = topology.cables[cable].ends[1 - end]
                && distance[other as usize] == u32::MAX
            {
                distance[other as usize] = distance[switch as usize] + 1;
                reached.push_back(other);
            }
        }
    }
    distance
}
