//! A star: hosts around one switch.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{HostGroup, Named, attach_groups, check_groups};

/// Hosts around one switch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// The hosts, in groups with equal links.
    pub hosts: Vec<HostGroup>,
}

impl NetworkKind for Star {
    const NAME: &'static str = "star";
    const SUMMARY: &'static str = "Hosts around one switch.";

    fn check(&self) -> Result<(), Fault> {
        check_groups(&[("hosts", &self.hosts)])
    }

    fn groups(&self) -> Vec<Named<'_>> {
        self.hosts.iter().map(Named::of).collect()
    }

    fn build(&self, net: &mut Topology) {
        let switch = net.switch("switch".into(), Layer::Switch);
        attach_groups(net, &self.hosts, switch);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;

    #[test]
    fn all_hosts_hang_on_the_switch() {
        let net = built::<Star>(
            "hosts = [\n\
             { name = \"host\", count = 3, rate = \"10Gbps\", delay = \"1us\" },\n\
             { name = \"server\", rate = \"40Gbps\", delay = \"2us\" }]",
        );
        assert_eq!(net.hosts, ["host0", "host1", "host2", "server"]);
        assert_eq!((net.switches.len(), net.cables.len()), (1, 4));
        assert_eq!(net.cables[3].rates[0].as_gbps_f64(), 40.0);
        assert!((0..4).all(|host| net.edge(host) == 0));
    }
}
