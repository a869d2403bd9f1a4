//! Routing: all shortest paths, the changes when links fail, detours (Valiant), and trees.

mod circles;
mod shares;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use incast_cc::Time;
use incast_cc::parts::random::{Random, derive};

use incast_net::{Detours, NO_EDGE, Path, RackPlace, RouteChange, Routes, Table, TableBuilder};
use incast_plan::RoutingKind;
use incast_plan::Watch;
use incast_plan::flows::Direction;
use incast_plan::random::purpose;
use incast_plan::topology::{Node, Ports, Topology};
use incast_plan::trees::{Tree, spanning_trees};
use incast_scenario::{LinkState, Scenario};

pub(crate) use circles::has_circle;

/// The routes of a network.
#[derive(Debug)]
pub(crate) struct Routing {
    /// The routes of each switch at the start.
    pub(crate) switches: Vec<Routes>,
    /// The later tables of switches, ascending in time.
    pub(crate) changes: Vec<RouteChange>,
    /// The given paths.
    pinned: Pinned,
    /// The kinds of routing of all traffic.
    kinds: BTreeSet<RoutingKind>,
    /// The trees for connections that stay in one, and the seed of the hash that draws a tree.
    trees: Vec<Tree>,
    tree_seed: u64,
    /// The switches with hosts, in the order of the tables.
    edges: Vec<usize>,
}

/// A hop of a path: a switch, and the port by which a packet leaves it.
pub(crate) type Hop = (u32, u16);

/// The switch and the port of each hop, by the sending and the receiving host.
type Pinned = BTreeMap<(u32, u32), Arc<[Hop]>>;

impl Routing {
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Topology,
        ports: &Ports,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Self {
        let seed = scenario.routing.hash_seed.unwrap_or(seed);
        let kinds = scenario.routing_kinds();
        let edges = Edges::of(topology, ports);
        let first = edges.tables(topology, ports, &|_| true, watch);
        let changes = changes(scenario, (topology, ports), &edges, &first, watch);
        let detours = kinds.contains(&RoutingKind::Valiant).then(|| {
            let groups = edges.switches.iter().map(|&switch| topology.groups[switch]).collect();
            Arc::new(Detours { seed: derive(seed, purpose::VALIANT, &[]), groups })
        });
        let switches = (0_u32..).zip(&edges.numbers).zip(first).map(|((switch, &edge), table)| {
            let seed_for = |purpose| derive(seed, purpose, &[switch.into()]);
            let spraying = Random::new(seed_for(purpose::SPRAYING));
            let places = edges.places.clone();
            let mut routes = Routes::new(places, edge, table, seed_for(purpose::ECMP), spraying);
            if let Some(detours) = &detours {
                routes.detour(Arc::clone(detours), topology.groups[switch as usize]);
            }
            routes
        });
        let switches = switches.collect();
        let pinned = pinned(scenario, topology, ports);
        let stays = kinds.contains(&RoutingKind::SpanningTrees);
        let trees =
            if stays { spanning_trees(topology, ports, scenario.routing.trees) } else { vec![] };
        let tree_seed = derive(seed, purpose::TREES, &[]);
        Self { switches, changes, pinned, kinds, trees, tree_seed, edges: edges.switches }
    }

    /// The path of packets whose ports are not written down. A given path has no detour.
    pub(crate) fn unknown(&self, Direction { from, to, label, routing }: Direction) -> Path {
        match routing {
            RoutingKind::Ecmp | RoutingKind::SpanningTrees => Path::labelled(label),
            RoutingKind::Single => Path::first(label),
            RoutingKind::Spray => Path::sprayed(label),
            RoutingKind::Valiant if self.pinned.contains_key(&(from, to)) => Path::labelled(label),
            RoutingKind::Valiant => Path::detour(label),
        }
    }

    /// The links that packets take, by the first routes: the cable of each, and its sending end.
    /// Where packets are sprayed, one of the possible paths.
    pub(crate) fn path(
        &self,
        topology: &Topology,
        ports: &Ports,
        direction @ Direction { from, to, .. }: Direction,
    ) -> Vec<(usize, usize)> {
        let mut written = self.unknown(direction);
        let given = self.given(topology, ports, direction);
        let mut link = ports.hosts[from as usize][0];
        let mut path = vec![link];
        while let Node::Switch(switch) = topology.far_end(link) {
            let given = given.iter().find(|hop| hop.0 == switch).map(|hop| hop.1);
            let port = given.or_else(|| self.switches[switch as usize].port_of(to, &mut written));
            let Some(port) = port else { break };
            link = ports.switches[switch as usize][port as usize];
            path.push(link);
        }
        path
    }

    /// Whether packets always take the same path.
    pub(crate) fn is_fixed(&self, direction: Direction) -> bool {
        self.changes.is_empty() && direction.routing != RoutingKind::Spray
    }

    /// The hops of a path that switches do not find in their tables: a given path, or the way in a
    /// tree.
    pub(crate) fn given(
        &self,
        topology: &Topology,
        ports: &Ports,
        direction: Direction,
    ) -> Arc<[Hop]> {
        let Direction { from, to, label, routing } = direction;
        if let Some(hops) = self.pinned.get(&(from, to)) {
            return Arc::clone(hops);
        }
        if routing != RoutingKind::SpanningTrees || self.trees.is_empty() {
            return Arc::default();
        }
        let count = u32::try_from(self.trees.len()).unwrap_or(u32::MAX);
        let tree = Random::new(label ^ self.tree_seed).below(count) as usize;
        let path = self.trees[tree].path(topology, topology.edge(from), topology.edge(to));
        path.into_iter().filter_map(|link| hop(topology, ports, link)).collect()
    }

    /// Whether any path is given, or in a tree.
    pub(crate) fn pins(&self) -> bool {
        !self.pinned.is_empty() || !self.trees.is_empty()
    }
}

/// The hop of a link that a switch sends on.
#[expect(clippy::cast_possible_truncation, reason = "a switch's ports fit 16 bits")]
fn hop(topology: &Topology, ports: &Ports, link @ (cable, end): (usize, usize)) -> Option<Hop> {
    let Node::Switch(switch) = topology.cables[cable].ends[end] else { return None };
    let port = ports.switches[switch as usize].iter().position(|&own| own == link)?;
    Some((switch, port as u16))
}

/// The switches with hosts, numbered among themselves.
struct Edges {
    switches: Vec<usize>,
    /// The number of each switch, or [`NO_EDGE`].
    numbers: Vec<u16>,
    /// The place of each host.
    places: Arc<[RackPlace]>,
}

impl Edges {
    #[expect(clippy::cast_possible_truncation, reason = "the scenario bounds switches and ports")]
    fn of(topology: &Topology, ports: &Ports) -> Self {
        let mut numbers = vec![NO_EDGE; topology.switches.len()];
        let mut places = vec![RackPlace { edge: NO_EDGE, port: 0 }; topology.hosts.len()];
        let mut switches = Vec::new();
        for (switch, links) in ports.switches.iter().enumerate() {
            for (port, &link) in links.iter().enumerate() {
                let Node::Host(host) = topology.far_end(link) else { continue };
                if numbers[switch] == NO_EDGE {
                    numbers[switch] = switches.len() as u16;
                    switches.push(switch);
                }
                places[host as usize] = RackPlace { edge: numbers[switch], port: port as u16 };
            }
        }
        Self { switches, numbers, places: places.into() }
    }

    /// The table of every switch, over the cables that are `up`.
    fn tables(
        &self,
        topology: &Topology,
        ports: &Ports,
        up: &dyn Fn(usize) -> bool,
        watch: &Watch<'_>,
    ) -> Vec<Table> {
        let neighbours: Vec<Vec<Neighbour>> = ports
            .switches
            .iter()
            .map(|links| {
                let links = (0..).zip(links).filter(|(_, link)| up(link.0));
                let switches = links.filter_map(|(port, &link)| match topology.far_end(link) {
                    Node::Switch(switch) => {
                        let length = topology.cables[link.0].length;
                        Some(Neighbour { port, switch, length })
                    }
                    Node::Host(_) => None,
                });
                switches.collect()
            })
            .collect();
        let mut tables: Vec<_> = neighbours.iter().map(|_| TableBuilder::default()).collect();
        let mut distances = Distances::default();
        let mut closer = Vec::new();
        for &edge in &self.switches {
            watch.steps(neighbours.len());
            let to = distances.to(edge, &neighbours);
            for ((table, neighbours), &own) in tables.iter_mut().zip(&neighbours).zip(to) {
                closer.clear();
                let nearer = neighbours.iter().filter(|next| {
                    own != FAR && to[next.switch as usize].saturating_add(next.length) == own
                });
                closer.extend(nearer.map(|next| next.port));
                table.push(&closer);
            }
        }
        tables.into_iter().map(TableBuilder::finish).collect()
    }
}

/// A switch at the other end of a link.
struct Neighbour {
    /// The port that leads there.
    port: u16,
    switch: u32,
    /// The length of the link.
    length: u32,
}

/// The distance of a switch from which no route leads.
const FAR: u32 = u32::MAX;

/// The distances of all switches to one switch, with space that is used again for the next one.
#[derive(Default)]
struct Distances {
    to: Vec<u32>,
    /// The switches to look at, by their distance.
    reached: Vec<Vec<u32>>,
}

impl Distances {
    /// The length of the shortest path from each switch to the switch `edge`. The search follows
    /// Dial, "Algorithm 360: Shortest-Path Forest with Topological Ordering", 1969: lengths are
    /// small numbers.
    #[expect(clippy::cast_possible_truncation, reason = "switches are numbered in 32 bits")]
    fn to(&mut self, edge: usize, neighbours: &[Vec<Neighbour>]) -> &[u32] {
        let Self { to, reached } = self;
        to.clear();
        to.resize(neighbours.len(), FAR);
        to[edge] = 0;
        reached.clear();
        reached.push(vec![edge as u32]);
        let mut distance = 0;
        while let Some(here) = reached.get_mut(distance as usize).map(std::mem::take) {
            for switch in here {
                if to[switch as usize] < distance {
                    continue; // there is a shorter path
                }
                for next in &neighbours[switch as usize] {
                    let far = distance + next.length;
                    if far < to[next.switch as usize] {
                        to[next.switch as usize] = far;
                        if reached.len() <= far as usize {
                            reached.resize(far as usize + 1, Vec::new());
                        }
                        reached[far as usize].push(next.switch);
                    }
                }
            }
            distance += 1;
        }
        to
    }
}

/// The tables after each failure and repair, without unchanged ones.
fn changes(
    scenario: &Scenario,
    (topology, ports): (&Topology, &Ports),
    edges: &Edges,
    first: &[Table],
    watch: &Watch<'_>,
) -> Vec<RouteChange> {
    let mut states: Vec<_> = scenario
        .link_events(topology)
        .filter_map(|(event, cable)| Some((event.at, cable, event.state?)))
        .collect();
    states.sort_by_key(|&(at, ..)| at);
    let mut down = vec![false; topology.cables.len()];
    let (mut now, mut changes) = (first.to_vec(), Vec::new());
    for simultaneous in states.chunk_by(|a, b| a.0 == b.0) {
        for &(_, cable, state) in simultaneous {
            down[cable] = state == LinkState::Down;
        }
        let at = Time::ZERO + simultaneous[0].0 + scenario.routing.convergence;
        let next = edges.tables(topology, ports, &|cable| !down[cable], watch);
        for ((switch, now), next) in (0..).zip(&mut now).zip(next) {
            if *now != next {
                now.clone_from(&next);
                changes.push(RouteChange { at, switch, table: next });
            }
        }
    }
    changes
}

/// The hops of each given path. The host's own port at the last switch is not needed.
#[expect(clippy::cast_possible_truncation, reason = "the scenario bounds the ports")]
fn pinned(scenario: &Scenario, topology: &Topology, ports: &Ports) -> Pinned {
    let mut pinned = BTreeMap::new();
    for path in &scenario.routing.paths {
        let via: Vec<_> = path.via.iter().filter_map(|name| topology.node(name)).collect();
        let hops: Arc<[_]> = via
            .windows(2)
            .filter_map(|pair| {
                let Node::Switch(switch) = pair[0] else { return None };
                let mut links = ports.switches[switch as usize].iter();
                let port = links.position(|&link| topology.far_end(link) == pair[1])?;
                Some((switch, port as u16))
            })
            .collect();
        let to = scenario.network.hosts_called(&path.to, topology);
        for from in scenario.network.hosts_called(&path.from, topology) {
            pinned.extend(to.iter().map(|&to| ((from, to), hops.clone())));
        }
    }
    pinned
}

#[cfg(test)]
mod tests;
