//! The links, ways and messages from which the references of a run are computed.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Rate, Time};

/// The links of a network, and the ways over them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fabric {
    /// The rate of each link, in bytes per picosecond.
    pub(crate) rates: Vec<f64>,
    /// The ways, by number.
    pub(crate) ways: Vec<Vec<Part>>,
}

/// A link on a way, and the part of the way's bytes that takes it: 1 but where packets are sprayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) link: u32,
    pub(crate) part: f64,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// The time from which the message can be sent.
    pub(crate) released: Time,
    /// The bytes on the wire; [`None`] of a message without end.
    pub(crate) bytes: Option<Bytes>,
    pub(crate) way: u32,
    /// The connection, whose messages are sent in the order in which they are posted.
    pub(crate) connection: u32,
}

/// The bytes per picosecond of a rate.
pub(crate) fn bytes_per_ps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 8e12
}

impl Fabric {
    /// Takes from the ways the links `inside` that no traffic can fill: links as fast as all hosts
    /// together that send over them, or as all that receive over them. `ends` has the sending and
    /// the receiving host of each way.
    pub(crate) fn prune(&mut self, ends: &[(u32, u32)], inside: impl Fn(u32) -> bool) {
        let mut loads: BTreeMap<(u32, bool, u32), f64> = BTreeMap::new();
        for (way, &(from, to)) in self.ways.iter().zip(ends) {
            let (Some(first), Some(last)) = (way.first(), way.last()) else { continue };
            for part in way.iter().filter(|part| inside(part.link)) {
                for (sends, host, edge) in [(true, from, first), (false, to, last)] {
                    let most = part.part * self.rates[edge.link as usize];
                    let load = loads.entry((part.link, sends, host)).or_default();
                    *load = load.max(most);
                }
            }
        }
        let mut sums = vec![[0.0; 2]; self.rates.len()];
        for ((link, sends, _), most) in loads {
            sums[link as usize][usize::from(sends)] += most;
        }
        let fills = |link: u32| {
            let [sent, received] = sums[link as usize];
            sent.min(received) > self.rates[link as usize] * (1.0 + 1e-9)
        };
        for way in &mut self.ways {
            way.retain(|part| !inside(part.link) || fills(part.link));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_nobody_can_fill_is_no_part_of_a_way() {
        // Two hosts of 10 Gb/s send over link 2 to hosts behind links 3 and 4.
        let way = |links: [u32; 3]| links.map(|link| Part { link, part: 1.0 }).to_vec();
        let ways = vec![way([0, 2, 3]), way([1, 2, 4])];
        let pruned = |inside: u64| {
            let rates = [10, 10, inside, 10, 10].map(|gbps| bytes_per_ps(Rate::from_gbps(gbps)));
            let mut fabric = Fabric { rates: rates.to_vec(), ways: ways.clone() };
            fabric.prune(&[(0, 2), (1, 3)], |link| link == 2);
            fabric.ways[0].len()
        };
        assert_eq!((pruned(20), pruned(19)), (2, 3));
    }
}
