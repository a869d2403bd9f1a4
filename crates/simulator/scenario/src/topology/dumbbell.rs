//! A dumbbell: two switches with hosts on both sides.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{Cable, HostGroup, Named, attach_groups, check_groups};

/// Two switches with hosts on both sides.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// The hosts on the first switch.
    pub left: Vec<HostGroup>,
    /// The hosts on the second switch.
    pub right: Vec<HostGroup>,
    /// The link between the switches.
    pub bottleneck: Cable,
}

impl NetworkKind for Dumbbell {
    const NAME: &'static str = "dumbbell";
    const SUMMARY: &'static str = "Two switches with hosts on both sides.";

    fn check(&self) -> Result<(), Fault> {
        check_groups(&[("left", &self.left), ("right", &self.right)])
    }

    fn groups(&self) -> Vec<Named<'_>> {
        self.left.iter().chain(&self.right).map(Named::of).collect()
    }

    fn build(&self, net: &mut Topology) {
        let [left, right] =
            ["left-switch", "right-switch"].map(|name| net.switch(name.into(), Layer::Switch));
        attach_groups(net, &self.left, left);
        attach_groups(net, &self.right, right);
        net.connect(left, right, self.bottleneck.rate, self.bottleneck.delay);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;

    #[test]
    fn the_bottleneck_is_the_only_link_between_the_sides() {
        let net = built::<Dumbbell>(
            "\
             left = [{ name = \"host\", count = 2, rate = \"10Gbps\", delay = \"1us\" }]\n\
             right = [{ name = \"server\", rate = \"10Gbps\", delay = \"1us\" }]\n\
             bottleneck = { rate = \"5Gbps\", delay = \"3us\" }",
        );
        assert_eq!(net.switches, ["left-switch", "right-switch"]);
        assert_eq!((0..3).map(|host| net.edge(host)).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!((net.cables.len(), net.cables[3].rates[0].as_gbps_f64()), (4, 5.0));
    }
}
