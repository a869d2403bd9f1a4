//! A fat tree: three tiers of equal switches with k ports each.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{Cable, HostGroup, Named};
use super::tiers::Tiers;

/// Pods of k/2 edge and k/2 aggregation switches, and (k/2)^2 core switches. Each edge switch is
/// connected to each aggregation switch of its pod, and each core switch to one aggregation switch
/// of every pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// The number of ports of each switch, and of pods: even, 2 to 124.
    pub k: u32,
    /// The hosts of each edge switch, k/2 unless `count` says otherwise; they are numbered
    /// consecutively, edge switch by edge switch.
    pub hosts: HostGroup,
    /// The links between edge and aggregation switches, and those to the core unless `core` is set.
    pub link: Cable,
    /// The links between aggregation and core switches.
    pub core: Option<Cable>,
}

impl FatTree {
    fn tiers(&self) -> Tiers {
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

impl NetworkKind for FatTree {
    const NAME: &'static str = "fat-tree";
    const SUMMARY: &'static str = "Three tiers of equal switches with k ports each.";

    fn check(&self) -> Result<(), Fault> {
        let k = self.k;
        if !(2..=124).contains(&k) || !k.is_multiple_of(2) {
            let message = format!("{k} is out of range; expected an even number, 2 to 124");
            return Err(Fault::at([&"k"], message));
        }
        let tiers = self.tiers();
        self.hosts.check("hosts", tiers.hosts, tiers.pods * tiers.leaves)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.tiers().names(&self.hosts)]
    }

    fn build(&self, net: &mut Topology) {
        self.tiers().build(net, Layer::Edge, &self.hosts);
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::Rate;
    use incast_plan::topology::Node;

    use super::super::tests::{built, layer_of, layers};
    use super::*;

    fn fat_tree(k: u32) -> Topology {
        built::<FatTree>(&format!(
            "k = {k}\n\
             hosts = {{ name = \"host\", rate = \"10Gbps\", delay = \"1us\" }}\n\
             link = {{ rate = \"40Gbps\", delay = \"2us\" }}\n\
             core = {{ rate = \"100Gbps\", delay = \"5us\" }}"
        ))
    }

    #[test]
    fn a_fat_tree_has_the_numbers_of_its_formula() {
        for k in [2, 4, 6, 8, 16] {
            let (net, k) = (fat_tree(k), k as usize);
            assert_eq!(net.hosts.len(), k * k * k / 4);
            assert_eq!(layers(&net, Layer::Edge), k * k / 2);
            assert_eq!(layers(&net, Layer::Aggregation), k * k / 2);
            assert_eq!(layers(&net, Layer::Core), k * k / 4);
            // Each of the three stages has as many links as there are hosts.
            assert_eq!(net.cables.len(), 3 * k * k * k / 4);
            assert!(net.ports().switches.iter().all(|ports| ports.len() == k));
            assert!(net.ports().hosts.iter().all(|ports| ports.len() == 1));
            // Half of the pods reach the core by one link for each of their hosts: full bisection.
            let half = k * k / 4;
            let up =
                net.cables.iter().filter(|cable| match cable.ends.map(|end| layer_of(&net, end)) {
                    [Some(Layer::Aggregation), Some(Layer::Core)] => {
                        let Node::Switch(aggregation) = cable.ends[0] else { return false };
                        (aggregation as usize) < k * k / 2 + half
                    }
                    _ => false,
                });
            assert_eq!(up.count(), net.hosts.len() / 2);
            for host in 0..net.hosts.len() {
                let edge = net.edge(u32::try_from(host).unwrap()) as usize;
                assert_eq!(net.switches[edge], format!("edge{}", host / (k / 2)));
            }
        }
    }

    #[test]
    fn stages_of_a_fat_tree_have_their_own_rates() {
        let net = fat_tree(4);
        let rate = |a: &str, b: &str| {
            let cable = net.cable_between(net.node(a).unwrap(), net.node(b).unwrap()).unwrap();
            net.cables[cable].rates[0]
        };
        assert_eq!(rate("host0", "edge0"), Rate::from_gbps(10));
        assert_eq!(rate("edge0", "aggregation1"), Rate::from_gbps(40));
        assert_eq!(rate("aggregation1", "core2"), Rate::from_gbps(100));
        // The second aggregation switch of a pod has the second half of the core.
        let at = |a: &str, b: &str| net.cable_between(net.node(a).unwrap(), net.node(b).unwrap());
        assert_eq!(at("aggregation1", "core1"), None);
        assert!(at("aggregation0", "core1").is_some() && at("aggregation6", "core1").is_some());
    }
}
