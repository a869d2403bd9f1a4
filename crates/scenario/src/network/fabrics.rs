//! Networks of a regular shape.

use incast_cc::{Fraction, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::quantity;
use super::{Cable, HostGroup};

/// Racks of hosts, each with a leaf switch that is connected to every spine switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// The hosts of each rack; they are numbered through, rack by rack.
    pub hosts: HostGroup,
    /// The links between leaves and spines.
    pub uplink: Uplink,
}

/// Pods of k/2 edge and k/2 aggregation switches, each connected to each, and (k/2)^2 core switches,
/// each connected to one aggregation switch of every pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of each switch, and pods: even, 2 to 64.
    pub k: u32,
    /// The hosts of each edge switch, k/2 unless `count` says otherwise; they are numbered through, edge
    /// switch by edge switch.
    pub hosts: HostGroup,
    /// The links between edge and aggregation switches, and those to the core unless `core` is there.
    pub link: Cable,
    /// The links between aggregation and core switches.
    pub core: Option<Cable>,
}

/// Pods of leaf and aggregation switches, each connected to each, and core switches in as many planes as a
/// pod has aggregation switches: a plane's are connected to the aggregation switch of that place in every
/// pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clos {
    /// Pods.
    pub pods: u32,
    /// Leaf switches of each pod.
    pub leaves: u32,
    /// Aggregation switches of each pod.
    pub aggregations: u32,
    /// Core switches in all: a multiple of `aggregations`.
    pub cores: u32,
    /// The hosts of each leaf; they are numbered through, leaf by leaf.
    pub hosts: HostGroup,
    /// The links between leaf and aggregation switches.
    pub leaf_uplink: Uplink,
    /// The links between aggregation and core switches.
    pub aggregation_uplink: Uplink,
}

/// A chain of switches with hosts on each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Switches, at least two.
    pub switches: u32,
    /// The hosts of each switch; they are numbered through, switch by switch.
    pub hosts: HostGroup,
    /// The links between neighbours.
    pub link: Cable,
}

/// The links from one tier to the next: their rate, or the factor by which what comes from below
/// exceeds it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uplink {
    /// Rate of each link, both directions.
    #[serde(default, deserialize_with = "quantity::optional_rate")]
    #[schemars(with = "Option<String>")]
    pub rate: Option<Rate>,
    /// Instead of `rate`: the rates of a switch's links downwards, added up, over those of its links
    /// upwards.
    #[serde(default, deserialize_with = "quantity::optional_oversubscription")]
    #[schemars(with = "Option<f64>")]
    pub oversubscription: Option<Fraction>,
    /// Propagation delay, one way.
    #[serde(deserialize_with = "quantity::delay")]
    #[schemars(with = "String")]
    pub delay: Span,
}

impl Uplink {
    /// The rate of each of `links` uplinks of a switch to which `below` links of the rate `each` lead;
    /// rounded down to a bit per second.
    pub(crate) fn rate_above(&self, below: u32, each: Rate, links: u32) -> Rate {
        let factor = self.oversubscription.unwrap_or(Fraction::ONE);
        self.rate.unwrap_or_else(|| {
            let incoming = (u128::from(each.as_bps()) * u128::from(below)) << Fraction::BITS;
            let bps = incoming / (u128::from(links.max(1)) * u128::from(factor.bits().max(1)));
            Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
        })
    }
}

/// Three tiers, as fat trees and Clos networks have them, with all that was left open filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiers {
    /// Pods.
    pub(crate) pods: u32,
    /// Lowest switches of each pod.
    pub(crate) leaves: u32,
    /// Aggregation switches of each pod.
    pub(crate) aggregations: u32,
    /// Core switches in all.
    pub(crate) cores: u32,
    /// Hosts of each lowest switch.
    pub(crate) hosts: u32,
    /// Rate and delay of the links between the lowest and the aggregation switches.
    pub(crate) lower: (Rate, Span),
    /// Rate and delay of the links between aggregation and core switches.
    pub(crate) upper: (Rate, Span),
}

impl FatTree {
    /// Its three tiers.
    pub(crate) fn tiers(&self) -> Tiers {
        let half = self.k / 2;
        let core = self.core.as_ref().unwrap_or(&self.link);
        Tiers {
            pods: self.k,
            leaves: half,
            aggregations: half,
            cores: half * half,
            hosts: self.hosts.count.unwrap_or(half),
            lower: (self.link.rate, self.link.delay),
            upper: (core.rate, core.delay),
        }
    }
}

impl Clos {
    /// Its three tiers.
    pub(crate) fn tiers(&self) -> Tiers {
        let hosts = self.hosts.count.unwrap_or(1);
        let lower = self.leaf_uplink.rate_above(hosts, self.hosts.rate, self.aggregations);
        let planes = self.cores / self.aggregations.max(1);
        let upper = self.aggregation_uplink.rate_above(self.leaves, lower, planes);
        Tiers {
            pods: self.pods,
            leaves: self.leaves,
            aggregations: self.aggregations,
            cores: self.cores,
            hosts,
            lower: (lower, self.leaf_uplink.delay),
            upper: (upper, self.aggregation_uplink.delay),
        }
    }
}

impl LeafSpine {
    /// Hosts of each leaf, and the rate of its uplinks.
    pub(crate) fn rack(&self) -> (u32, Rate) {
        let hosts = self.hosts.count.unwrap_or(1);
        (hosts, self.uplink.rate_above(hosts, self.hosts.rate, self.spines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversubscription_is_what_comes_from_below_over_what_goes_up() {
        let uplink =
            |factor| Uplink { rate: None, oversubscription: Some(factor), delay: Span::from_us(1) };
        // 16 hosts at 25 Gb/s are 400 Gb/s; 4 uplinks carry 400 / 2 / 4 = 50 Gb/s each.
        let rate = uplink(Fraction::from_ratio(2, 1)).rate_above(16, Rate::from_gbps(25), 4);
        assert_eq!(rate, Rate::from_gbps(50));
        // 100 Gb/s over 3 links: 33,333,333,333.3 b/s.
        let rate = uplink(Fraction::ONE).rate_above(10, Rate::from_gbps(10), 3);
        assert_eq!(rate, Rate::from_bps(33_333_333_333));
    }
}
