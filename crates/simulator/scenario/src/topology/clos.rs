//! A Clos network: three tiers, each with its own number of switches and rates.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{HostGroup, Named, Uplink, in_range, not_too_many};
use super::tiers::Tiers;

/// Pods of leaf and aggregation switches, and core switches in planes. Each leaf of a pod is
/// connected to each of its aggregation switches. There are as many planes as a pod has aggregation
/// switches: the switches of a plane are connected to the aggregation switch with the plane's
/// number in every pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clos {
    /// The number of pods.
    pub pods: u32,
    /// The number of leaf switches of each pod.
    pub leaves: u32,
    /// The number of aggregation switches of each pod.
    pub aggregations: u32,
    /// The number of all core switches: a multiple of `aggregations`.
    pub cores: u32,
    /// The hosts of each leaf; they are numbered consecutively, leaf by leaf.
    pub hosts: HostGroup,
    /// The links between leaf and aggregation switches.
    pub leaf_uplink: Uplink,
    /// The links between aggregation and core switches.
    pub aggregation_uplink: Uplink,
}

impl Clos {
    fn tiers(&self) -> Tiers {
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

impl NetworkKind for Clos {
    const NAME: &'static str = "clos";
    const SUMMARY: &'static str = "Three tiers with numbers and rates of their own.";

    fn check(&self) -> Result<(), Fault> {
        let Self { pods, leaves, aggregations, cores, .. } = *self;
        for (field, count) in
            [("pods", pods), ("leaves", leaves), ("aggregations", aggregations), ("cores", cores)]
        {
            in_range(field, count, 1)?;
        }
        if !cores.is_multiple_of(aggregations) {
            let message = format!(
                "{cores} core switches do not divide among the {aggregations} aggregation switches \
                 of a pod; expected a multiple of {aggregations}"
            );
            return Err(Fault::at([&"cores"], message));
        }
        let [pods, leaves, aggregations, cores] =
            [pods, leaves, aggregations, cores].map(u64::from);
        let switches = pods * (leaves + aggregations) + cores;
        not_too_many("pods", switches, pods * (leaves * aggregations + cores))?;
        let tiers = self.tiers();
        self.hosts.check("hosts", tiers.hosts, tiers.pods * tiers.leaves)?;
        self.leaf_uplink.check("leaf_uplink", tiers.lower.0)?;
        self.aggregation_uplink.check("aggregation_uplink", tiers.upper.0)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.tiers().names(&self.hosts)]
    }

    fn build(&self, net: &mut Topology) {
        self.tiers().build(net, Layer::Leaf, &self.hosts);
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::Rate;
    use incast_plan::topology::{Cable, Node};

    use super::super::tests::{built, layer_of};
    use super::*;

    #[test]
    fn clos_planes_connect_one_aggregation_switch_of_every_pod() {
        let net = built::<Clos>(
            "pods = 3\nleaves = 4\naggregations = 2\ncores = 6\n\
             hosts = { name = \"host\", count = 16, rate = \"25Gbps\", delay = \"1us\" }\n\
             leaf_uplink = { oversubscription = 2, delay = \"1us\" }\n\
             aggregation_uplink = { oversubscription = 4, delay = \"1us\" }",
        );
        assert_eq!(net.hosts.len(), 3 * 4 * 16);
        assert_eq!(net.switches.len(), 3 * (4 + 2) + 6);
        assert_eq!(net.cables.len(), 3 * 4 * 16 + 3 * 4 * 2 + 3 * 6);
        let between = |low: Layer, high: Layer| {
            let ends = |cable: &&Cable| cable.ends.map(|end| layer_of(&net, end));
            let found = net.cables.iter().filter(|cable| ends(cable) == [Some(low), Some(high)]);
            found.map(|cable| (cable.ends, cable.rates[0])).collect::<Vec<_>>()
        };
        // 16 x 25 = 400 Gb/s from below, half of that over two links; then 4 x 100 Gb/s from below,
        // a quarter of that over three links: 33,333,333,333 b/s.
        for (_, rate) in between(Layer::Leaf, Layer::Aggregation) {
            assert_eq!(rate, Rate::from_gbps(100));
        }
        for (ends, rate) in between(Layer::Aggregation, Layer::Core) {
            assert_eq!(rate, Rate::from_bps(33_333_333_333));
            let [Node::Switch(aggregation), Node::Switch(core)] = ends else { panic!("hosts") };
            // 12 leaves come first, then 6 aggregation switches, then 6 cores, three to a plane.
            assert_eq!((aggregation - 12) % 2, (core - 18) / 3);
        }
    }
}
