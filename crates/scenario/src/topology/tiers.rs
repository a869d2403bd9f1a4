//! Three tiers of switches, as fat trees and Clos networks have them.

use incast_cc::{Rate, Span};
use incast_plan::topology::{Layer, Topology};

use super::parts::{HostGroup, Named};

/// Three tiers, with all that was left open filled in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiers {
    /// Pods.
    pub(super) pods: u32,
    /// Lowest switches of each pod.
    pub(super) leaves: u32,
    /// Aggregation switches of each pod.
    pub(super) aggregations: u32,
    /// Core switches in all.
    pub(super) cores: u32,
    /// Hosts of each lowest switch.
    pub(super) hosts: u32,
    /// Rate and delay of the links between the lowest and the aggregation switches.
    pub(super) lower: (Rate, Span),
    /// Rate and delay of the links between aggregation and core switches.
    pub(super) upper: (Rate, Span),
}

impl Tiers {
    /// The names of the hosts, numbered through.
    pub(super) fn names<'a>(&self, hosts: &'a HostGroup) -> Named<'a> {
        hosts.per_switch(self.hosts, self.pods.saturating_mul(self.leaves))
    }

    /// Adds all nodes and cables; switches of the lowest tier are of the layer `lowest`.
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
