//! The wiring of three tiers of switches, which fat trees and Clos networks share.

use incast_cc::{Rate, Span};
use incast_plan::topology::{Layer, Topology};

use super::parts::{HostGroup, Named};

/// Three tiers, with defaults filled in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiers {
    /// The number of pods.
    pub(super) pods: u32,
    /// The number of lowest switches of each pod.
    pub(super) leaves: u32,
    /// The number of aggregation switches of each pod.
    pub(super) aggregations: u32,
    /// The number of all core switches.
    pub(super) cores: u32,
    /// The number of hosts of each lowest switch.
    pub(super) hosts: u32,
    /// Rate and delay of the links between the lowest and the aggregation switches.
    pub(super) lower: (Rate, Span),
    /// Rate and delay of the links between aggregation and core switches.
    pub(super) upper: (Rate, Span),
}

impl Tiers {
    /// The names of the hosts, numbered consecutively.
    pub(super) fn names<'a>(&self, hosts: &'a HostGroup) -> Named<'a> {
        hosts.per_switch(self.hosts, self.pods.saturating_mul(self.leaves))
    }

    /// Adds all nodes and cables. The switches of the lowest tier are in the layer `lowest`.
    pub(super) fn build(&self, net: &mut Topology, lowest: Layer, hosts: &HostGroup) {
        let leaves = net.layer(lowest, self.pods * self.leaves);
        let aggregations = net.layer(Layer::Aggregation, self.pods * self.aggregations);
        let cores = net.layer(Layer::Core, self.cores);
        hosts.attach(net, &leaves, self.hosts);
        let pods = leaves.chunks(self.leaves as usize);
        let pods: Vec<_> = pods.zip(aggregations.chunks(self.aggregations as usize)).collect();
        for (leaves, aggregations) in &pods {
            for &leaf in *leaves {
                for &aggregation in *aggregations {
                    net.connect(leaf, aggregation, self.lower.0, self.lower.1);
                }
            }
        }
        let planes = cores.chunks((self.cores / self.aggregations) as usize);
        for (_, aggregations) in &pods {
            for (&aggregation, plane) in aggregations.iter().zip(planes.clone()) {
                for &core in plane {
                    net.connect(aggregation, core, self.upper.0, self.upper.1);
                }
            }
        }
    }
}
