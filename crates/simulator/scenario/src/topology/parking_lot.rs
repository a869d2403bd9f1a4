//! A parking lot: a chain of switches with hosts on each.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{Cable, HostGroup, Named, in_range};

/// A chain of switches with hosts on each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// The number of switches, at least two.
    pub switches: u32,
    /// The hosts of each switch; they are numbered consecutively, switch by switch.
    pub hosts: HostGroup,
    /// The links between neighbouring switches.
    pub link: Cable,
}

impl ParkingLot {
    /// The number of hosts of each switch.
    fn each(&self) -> u32 {
        self.hosts.count.unwrap_or(1)
    }
}

impl NetworkKind for ParkingLot {
    const NAME: &'static str = "parking-lot";
    const SUMMARY: &'static str = "A chain of switches with hosts on each.";

    fn check(&self) -> Result<(), Fault> {
        in_range("switches", self.switches, 2)?;
        self.hosts.check("hosts", self.each(), self.switches)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.hosts.per_switch(self.each(), self.switches)]
    }

    fn build(&self, net: &mut Topology) {
        let switches = net.layer(Layer::Switch, self.switches);
        self.hosts.attach(net, &switches, self.each());
        for pair in switches.windows(2) {
            net.connect(pair[0], pair[1], self.link.rate, self.link.delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;

    #[test]
    fn a_parking_lot_is_a_chain() {
        let net = built::<ParkingLot>(
            "switches = 4\n\
             hosts = { name = \"host\", count = 2, rate = \"10Gbps\", delay = \"1us\" }\n\
             link = { rate = \"10Gbps\", delay = \"1us\" }",
        );
        assert_eq!((net.hosts.len(), net.switches.len(), net.cables.len()), (8, 4, 8 + 3));
        assert_eq!((0..8).map(|host| net.edge(host)).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
        let ports = net.ports().switches.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(ports, [3, 4, 4, 3]);
    }
}
