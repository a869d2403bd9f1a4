//! Routes: the ports of a switch that lead to each host.
//!
//! A switch knows the ports of shortest paths to each edge, that is, to each switch with hosts; a
//! host is reached only through its own switch. Ports are in sets, each kept once: most edges share
//! one. A connection takes a port of the set by a hash of its label, mixed with a seed of the
//! switch. With equal seeds, the connections that one switch sends to its first port would all take
//! the first port of the next switch, and leave the others empty (polarisation).
//!
//! A packet says if it is sprayed, or takes the first port of each set; so connections with
//! different routing share tables.
//!
//! Under Valiant routing a packet first goes to an edge in a random group of switches, then to its
//! destination. The edge follows from the label, so every switch knows it. The packet itself says
//! whether it has been in that group.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_cc::parts::random::Random;

use super::frame::Frame;
use super::path::Path;

/// The place of a host: its switch and its port there.
#[derive(Clone, Copy, Debug)]
pub struct RackPlace {
    /// The number of the host's switch among the switches with hosts.
    pub edge: u16,
    /// The host's port at that switch.
    pub port: u16,
}

/// The edge number of a switch without hosts.
pub const NO_EDGE: u16 = u16::MAX;

/// The ports of a switch towards every edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The number of the set of ports towards each edge.
    towards: Arc<[u16]>,
    sets: Arc<[Set]>,
    members: Arc<[u16]>,
}

/// A set of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set {
    /// The port itself if it is the only one; else the start of the set among the members.
    first: u32,
    count: u16,
}

impl Table {
    /// The ports towards an edge.
    #[inline]
    fn set(&self, edge: u16) -> Set {
        self.sets[self.towards[edge as usize] as usize]
    }
}

/// A table that is being put together.
#[derive(Debug, Default)]
pub struct TableBuilder {
    towards: Vec<u16>,
    sets: Vec<Set>,
    members: Vec<u16>,
    known: BTreeMap<Box<[u16]>, u16>,
}

impl TableBuilder {
    /// Adds the ports towards the next edge, ascending; none where no route leads there.
    #[expect(clippy::cast_possible_truncation, reason = "no more ports and edges than 16 bits")]
    pub fn push(&mut self, ports: &[u16]) {
        let number = self.known.get(ports).copied().unwrap_or_else(|| {
            let first =
                if let [port] = ports { u32::from(*port) } else { self.members.len() as u32 };
            if ports.len() > 1 {
                self.members.extend(ports);
            }
            self.sets.push(Set { first, count: ports.len() as u16 });
            let number = self.sets.len() as u16 - 1;
            self.known.insert(ports.into(), number);
            number
        });
        self.towards.push(number);
    }

    /// The table, once every edge has its ports.
    pub fn finish(self) -> Table {
        let (towards, sets) = (self.towards.into(), self.sets.into());
        Table { towards, sets, members: self.members.into() }
    }
}

/// The intermediate groups of Valiant routing.
#[derive(Debug)]
pub struct Detours {
    /// The seed of the hash that draws a connection's edge.
    pub seed: u64,
    /// The group of each edge.
    pub groups: Vec<u32>,
}

impl Detours {
    /// The edge in the intermediate group of a connection.
    #[expect(clippy::cast_possible_truncation, reason = "edges are numbered in 16 bits")]
    fn edge(&self, label: u64) -> u16 {
        Random::new(label ^ self.seed).below(self.groups.len() as u32) as u16
    }
}

/// The routes of one switch.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The place of every host.
    places: Arc<[RackPlace]>,
    /// The switch's own number among the edges.
    edge: u16,
    table: Table,
    seed: u64,
    /// The generator that draws a port for each packet that is sprayed.
    spray: Random,
    /// The ports of connections whose path is given, by the destination and the label.
    pinned: BTreeMap<(u32, u64), u16>,
    /// The intermediate groups under Valiant routing, and the switch's own group.
    detours: Option<(Arc<Detours>, u32)>,
}

impl Routes {
    /// The routes of a switch: the places of all hosts, the switch's own number among the edges,
    /// its table, the seed of its hash, and the generator for packets that are sprayed.
    pub fn new(
        places: Arc<[RackPlace]>,
        edge: u16,
        table: Table,
        seed: u64,
        spray: Random,
    ) -> Self {
        Self { places, edge, table, seed, spray, pinned: BTreeMap::new(), detours: None }
    }

    /// Sends packets that say so through intermediate groups; `group` is the switch's own.
    pub fn detour(&mut self, detours: Arc<Detours>, group: u32) {
        self.detours = Some((detours, group));
    }

    /// The port by which a frame leaves; [`None`] where no route leads to its destination.
    #[inline]
    pub(crate) fn port(&mut self, frame: &mut Frame) -> Option<u16> {
        if let Some(port) = frame.path.next() {
            return Some(port);
        }
        let place = self.places[frame.destination() as usize];
        if place.edge == self.edge {
            return Some(place.port);
        }
        let edge = self.aim(place.edge, &mut frame.path);
        self.towards(edge, frame.destination(), frame.path)
    }

    /// The next edge for a packet to the edge `last`: the one in its intermediate group, unless it
    /// has been there or no route leads there.
    #[inline]
    fn aim(&self, last: u16, path: &mut Path) -> u16 {
        if !path.is_detour() {
            return last;
        }
        if let Some((detours, group)) = &self.detours {
            let edge = detours.edge(path.label());
            let there = detours.groups[edge as usize] == *group;
            if !there && self.table.set(edge).count > 0 {
                return edge;
            }
        }
        *path = Path::labelled(path.label());
        last
    }

    /// The port towards another edge.
    fn towards(&mut self, edge: u16, destination: u32, path: Path) -> Option<u16> {
        let label = path.label();
        let Set { first, count } = self.set(edge, destination, label);
        let member = if count <= 1 || path.is_first() {
            0
        } else if path.is_sprayed() {
            self.spray.below(u32::from(count))
        } else {
            self.flow_hash(label, count)
        };
        self.member(first, count, member)
    }

    /// The port for a packet whose next port is not known; where packets are sprayed, a random one.
    /// Notes in `path` that the packet has been in its intermediate group.
    pub fn port_of(&self, destination: u32, path: &mut Path) -> Option<u16> {
        let place = self.places[destination as usize];
        if place.edge == self.edge {
            return Some(place.port);
        }
        let (edge, label) = (self.aim(place.edge, path), path.label());
        let Set { first, count } = self.set(edge, destination, label);
        let member = if path.is_first() { 0 } else { self.flow_hash(label, count) };
        self.member(first, count, member)
    }

    #[inline]
    fn set(&self, edge: u16, destination: u32, label: u64) -> Set {
        if !self.pinned.is_empty()
            && let Some(&port) = self.pinned.get(&(destination, label))
        {
            return Set { first: u32::from(port), count: 1 };
        }
        self.table.set(edge)
    }

    /// A number below `count` that depends on the label and on the switch.
    #[inline]
    fn flow_hash(&self, label: u64, count: u16) -> u32 {
        Random::new(label ^ self.seed).below(u32::from(count))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "what is first of one is a port")]
    fn member(&self, first: u32, count: u16, member: u32) -> Option<u16> {
        match count {
            0 => None,
            1 => Some(first as u16),
            _ => Some(self.table.members[(first + member) as usize]),
        }
    }

    /// The ports of shortest paths to an edge.
    pub fn ports_to(&self, edge: u16) -> Vec<u16> {
        let Set { first, count } = self.table.set(edge);
        (0..u32::from(count)).filter_map(|member| self.member(first, count, member)).collect()
    }

    /// Sets the port of a connection's packets.
    pub fn pin(&mut self, destination: u32, label: u64, port: u16) {
        self.pinned.insert((destination, label), port);
    }

    /// Replaces the seed of the switch's hash.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// The number of racks, and of different sets of ports towards them.
    pub fn sizes(&self) -> (usize, usize) {
        (self.table.towards.len(), self.table.sets.len())
    }

    /// Replaces the table after a change of routes.
    pub fn replace(&mut self, table: Table) {
        self.table = table;
    }
}
