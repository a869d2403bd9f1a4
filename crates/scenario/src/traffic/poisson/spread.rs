//! How much of random arrivals each host receives on average.
//!
//! What all hosts of a rack get alike is added up for the rack: going through the destinations of
//! each source would take the square of the number of hosts.

use std::collections::BTreeMap;

use super::peers::{Far, Peers};

/// What hosts receive, while sources are added one by one.
pub(super) struct Spread<'a> {
    peers: &'a Peers<'a>,
    /// What single hosts receive more, or less, than all of those below.
    own: Vec<f64>,
    /// What each destination receives.
    everybody: f64,
    racks: BTreeMap<u32, OfRack>,
}

/// What hosts receive of the sources of one rack.
#[derive(Clone, Copy, Debug, Default)]
struct OfRack {
    /// Each of the same rack, more or less than everybody.
    near: f64,
    /// Each of those farthest from it.
    farthest: f64,
}

impl<'a> Spread<'a> {
    pub(super) fn new(peers: &'a Peers<'a>) -> Self {
        let own = vec![0.0; peers.context.topology.hosts.len()];
        Self { peers, own, everybody: 0.0, racks: BTreeMap::new() }
    }

    /// One source sends so many bits per second. It is no peer of its own, so it gives back what
    /// its rack gets.
    pub(super) fn add(&mut self, source: u32, bps: f64) {
        let (near, far) = (self.peers.near(source), self.peers.far(source));
        let local = match (near, far) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => self.peers.rack_local.unwrap_or(0.0),
        };
        let is_destination = self.peers.own(source).is_some();
        let rack = self.racks.entry(self.peers.context.places.rack(source)).or_default();
        let own = &mut self.own[source as usize];
        if near > 0 {
            let each = bps * local / near as f64;
            rack.near += each;
            *own -= if is_destination { each } else { 0.0 };
        }
        if far == 0 {
            return;
        }
        let each = bps * (1.0 - local) / far as f64;
        match &self.peers.far {
            Far::Others => {
                self.everybody += each;
                *own -= if is_destination { each } else { 0.0 };
            }
            Far::OtherRacks => {
                self.everybody += each;
                rack.near -= each;
            }
            Far::Farthest(lists) => {
                rack.farthest += each;
                let list = &lists[&self.peers.context.places.rack(source)];
                *own -= if list.binary_search(&source).is_ok() { each } else { 0.0 };
            }
            Far::One(pairs) => self.own[pairs[&source] as usize] += each,
        }
    }

    /// What each host receives, in bits per second.
    pub(super) fn received(self) -> Vec<f64> {
        let (destinations, mut received) = (&self.peers.context.destinations, self.own);
        for &host in destinations {
            received[host as usize] += self.everybody;
        }
        for (rack, of_rack) in &self.racks {
            for &place in self.peers.racks.get(rack).into_iter().flatten() {
                received[destinations[place as usize] as usize] += of_rack.near;
            }
            if let Far::Farthest(lists) = &self.peers.far {
                lists[rack].iter().for_each(|&host| received[host as usize] += of_rack.farthest);
            }
        }
        received
    }
}
