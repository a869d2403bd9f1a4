//! A leaf-spine network: racks of hosts, each with a leaf switch connected to every spine switch.

use incast_cc::Rate;
use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{HostGroup, Named, Uplink, in_range, not_too_many};

/// Racks of hosts, each with a leaf switch that is connected to every spine switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// The number of leaf switches.
    pub leaves: u32,
    /// The number of spine switches.
    pub spines: u32,
    /// The hosts of each rack; they are numbered consecutively, rack by rack.
    pub hosts: HostGroup,
    /// The links between leaves and spines.
    pub uplink: Uplink,
}

impl LeafSpine {
    /// The number of hosts of each leaf, and the rate of its uplinks.
    fn rack(&self) -> (u32, Rate) {
        let hosts = self.hosts.count.unwrap_or(1);
        (hosts, self.uplink.rate_above(hosts, self.hosts.rate, self.spines))
    }
}

impl NetworkKind for LeafSpine {
    const NAME: &'static str = "leaf-spine";
    const SUMMARY: &'static str =
        "Racks of hosts, each with a leaf switch that is connected to every spine switch.";

    fn check(&self) -> Result<(), Fault> {
        in_range("leaves", self.leaves, 1)?;
        in_range("spines", self.spines, 1)?;
        let links = u64::from(self.leaves) * u64::from(self.spines);
        not_too_many("spines", u64::from(self.leaves + self.spines), links)?;
        let (hosts, rate) = self.rack();
        self.hosts.check("hosts", hosts, self.leaves)?;
        self.uplink.check("uplink", rate)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.hosts.per_switch(self.rack().0, self.leaves)]
    }

    fn build(&self, net: &mut Topology) {
        let leaves = net.layer(Layer::Leaf, self.leaves);
        let spines = net.layer(Layer::Spine, self.spines);
        let (hosts, rate) = self.rack();
        self.hosts.attach(net, &leaves, hosts);
        for &leaf in &leaves {
            for &spine in &spines {
                net.connect(leaf, spine, rate, self.uplink.delay);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{built, layers};
    use super::*;

    #[test]
    fn each_leaf_is_connected_to_each_spine() {
        let net = built::<LeafSpine>(
            "leaves = 3\nspines = 2\n\
             hosts = { name = \"host\", count = 4, rate = \"10Gbps\", delay = \"1us\" }\n\
             uplink = { oversubscription = 2, delay = \"1us\" }",
        );
        assert_eq!((layers(&net, Layer::Leaf), layers(&net, Layer::Spine)), (3, 2));
        assert_eq!((net.hosts.len(), net.cables.len()), (12, 12 + 3 * 2));
        // 4 x 10 Gb/s from below, half of that over two links.
        assert!(net.cables[12..].iter().all(|cable| cable.rates == [Rate::from_gbps(10); 2]));
        let ports = net.ports().switches.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(ports, [6, 6, 6, 3, 3]);
    }
}
