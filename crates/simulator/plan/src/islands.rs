//! Islands: groups of hosts with a fast fabric of their own, such as `NVLink` between the GPUs of a
//! server. Messages within an island go over its fabric as a whole, and not over the network.

use incast_cc::{Bytes, Rate, Span};

/// The islands of a network.
#[derive(Clone, Debug, Default)]
pub struct Islands {
    /// The number of the island of each host; [`NONE`] of other hosts. Empty without islands.
    of: Vec<u32>,
    fabrics: Vec<Fabric>,
}

/// The fabric of an island: each of its hosts sends to all others together at most at its rate, and
/// takes in as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// The rate of each host, in each direction.
    pub rate: Rate,
    /// The time from a host to another one of the island, above zero.
    pub latency: Span,
}

/// The number of no island.
const NONE: u32 = u32::MAX;

impl Islands {
    /// No islands yet, in a network of `hosts`.
    pub fn among(hosts: usize) -> Self {
        Self { of: vec![NONE; hosts], fabrics: Vec::new() }
    }

    /// Adds an island of `hosts`.
    #[expect(clippy::cast_possible_truncation, reason = "each island has hosts, which are bounded")]
    pub fn add(&mut self, hosts: &[u32], fabric: Fabric) {
        let number = self.fabrics.len() as u32;
        self.fabrics.push(fabric);
        for &host in hosts {
            self.of[host as usize] = number;
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.fabrics.is_empty()
    }

    /// The number of the island that a host is in.
    pub fn number(&self, host: u32) -> Option<u32> {
        self.of.get(host as usize).copied().filter(|&number| number != NONE)
    }

    /// The fabric that a host is connected to.
    pub fn fabric(&self, host: u32) -> Option<Fabric> {
        self.number(host).map(|number| self.fabrics[number as usize])
    }

    /// The fabric between two hosts of one island.
    pub fn between(&self, a: u32, b: u32) -> Option<Fabric> {
        let number = self.number(a)?;
        (self.number(b) == Some(number)).then(|| self.fabrics[number as usize])
    }
}

impl Fabric {
    /// The time of a message that has the fabric to itself.
    pub fn alone(self, bytes: Bytes) -> Span {
        self.rate.time_for(bytes) + self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_is_between_hosts_of_one_island() {
        let fabric = |gbps| Fabric { rate: Rate::from_gbps(gbps), latency: Span::from_ns(500) };
        let mut islands = Islands::among(6);
        assert!(islands.is_empty() && islands.between(0, 1).is_none());
        islands.add(&[0, 1], fabric(100));
        islands.add(&[2, 4], fabric(200));
        assert_eq!(islands.between(0, 1), Some(fabric(100)));
        assert_eq!(islands.between(4, 2), Some(fabric(200)));
        assert_eq!(islands.number(4), Some(1));
        for (a, b) in [(0, 2), (3, 5), (1, 3), (5, 4)] {
            assert_eq!(islands.between(a, b), None, "{a} {b}");
        }
        assert!(Islands::default().between(0, 1).is_none());
        // 1,000,000 B at 200 Gb/s are 40 us.
        assert_eq!(fabric(200).alone(Bytes::from_kb(1_000)), Span::from_ns(40_500));
    }
}
