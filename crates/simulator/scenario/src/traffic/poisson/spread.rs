//! The average rate that each host receives from random arrivals.
//!
//! Rates that all hosts of a rack receive alike are added up for the rack: going through the
//! destinations of each source would take time with the square of the number of hosts.

use std::collections::BTreeMap;

use super::peers::{Far, Peers};

/// The rates that hosts receive, while sources are added one by one.
pub(super) struct Spread<'a> {
    peers: &'a Peers<'a>,
    /// The rate of each host on top of the common rates below; it may be negative.
    own: Vec<f64>,
    /// The rate that each destination receives.
    everybody: f64,
    racks: BTreeMap<u32, OfRack>,
}

/// The rates that hosts receive from the sources of one rack.
#[derive(Clone, Copy, Debug, Default)]
struct OfRack {
    /// The rate of each destination in the same rack, on top of the common rate; it may be
    /// negative.
    near: f64,
    /// The rate of each of the hosts farthest from the rack.
    farthest: f64,
}

impl<'a> Spread<'a> {
    pub(super) fn new(peers: &'a Peers<'a>) -> Self {
        let own = vec![0.0; peers.context.topology.hosts.len()];
        Self { peers, own, everybody: 0.0, racks: BTreeMap::new() }
    }

    /// Adds a source that sends `bps` bits per second. A source does not send to itself, so its
    /// share of the common rates is subtracted.
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

    /// The rate that each host receives, in bits per second.
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
