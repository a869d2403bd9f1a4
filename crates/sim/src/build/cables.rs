//! From the description of a network to its nodes and cables.

use std::collections::BTreeMap;

use super::hosts::Named;
use crate::scenario::{Graph, HostGroup, LeafSpine, Network, Scenario, Tiers};
use crate::topology::{Layer, Node, Topology};

/// The scenario's nodes and cables, with the greatest rate that each cable will have.
pub(crate) fn topology(scenario: &Scenario) -> Topology {
    let mut net = nodes_and_cables(&scenario.network);
    let rates: Vec<_> = scenario
        .link_events(&net)
        .filter_map(|(event, cable)| Some((cable, event.rate?)))
        .collect();
    for (cable, rate) in rates {
        let peak = &mut net.cables[cable].peak;
        *peak = rate.max(*peak);
    }
    net
}

fn nodes_and_cables(network: &Network) -> Topology {
    let mut net = Topology::default();
    match network {
        Network::Star(star) => {
            let switch = net.switch("switch".into(), Layer::Switch);
            attach_groups(&mut net, &star.hosts, switch);
        }
        Network::Dumbbell(dumbbell) => {
            let [left, right] =
                ["left-switch", "right-switch"].map(|name| net.switch(name.into(), Layer::Switch));
            attach_groups(&mut net, &dumbbell.left, left);
            attach_groups(&mut net, &dumbbell.right, right);
            net.connect(left, right, dumbbell.bottleneck.rate, dumbbell.bottleneck.delay);
        }
        Network::LeafSpine(fabric) => leaf_spine(&mut net, fabric),
        Network::FatTree(fabric) => {
            three_tiers(&mut net, Layer::Edge, &fabric.hosts, &fabric.tiers());
        }
        Network::Clos(fabric) => {
            three_tiers(&mut net, Layer::Leaf, &fabric.hosts, &fabric.tiers());
        }
        Network::ParkingLot(lot) => {
            let switches = net.layer(Layer::Switch, lot.switches);
            attach(&mut net, &lot.hosts, &switches, lot.hosts.count.unwrap_or(1));
            for pair in switches.windows(2) {
                net.connect(pair[0], pair[1], lot.link.rate, lot.link.delay);
            }
        }
        Network::Graph(graph) => connect_graph(&mut net, graph),
    }
    net
}

/// Hosts of groups of their own, all on one switch.
fn attach_groups(net: &mut Topology, groups: &[HostGroup], switch: Node) {
    for group in groups {
        for name in Named::of(group).names() {
            let host = net.host(name);
            net.connect(host, switch, group.rate, group.delay);
        }
    }
}

/// So many hosts on each switch, numbered through.
fn attach(net: &mut Topology, hosts: &HostGroup, switches: &[Node], each: u32) {
    let places = switches.iter().flat_map(|&switch| (0..each).map(move |_| switch));
    for (number, switch) in places.enumerate() {
        let host = net.host(format!("{}{number}", hosts.name));
        net.connect(host, switch, hosts.rate, hosts.delay);
    }
}

fn leaf_spine(net: &mut Topology, fabric: &LeafSpine) {
    let (leaves, spines) =
        (net.layer(Layer::Leaf, fabric.leaves), net.layer(Layer::Spine, fabric.spines));
    let (hosts, rate) = fabric.rack();
    attach(net, &fabric.hosts, &leaves, hosts);
    for &leaf in &leaves {
        for &spine in &spines {
            net.connect(leaf, spine, rate, fabric.uplink.delay);
        }
    }
}

fn three_tiers(net: &mut Topology, lowest: Layer, hosts: &HostGroup, tiers: &Tiers) {
    let leaves = net.layer(lowest, tiers.pods * tiers.leaves);
    let aggregations = net.layer(Layer::Aggregation, tiers.pods * tiers.aggregations);
    let cores = net.layer(Layer::Core, tiers.cores);
    attach(net, hosts, &leaves, tiers.hosts);
    let pods = leaves.chunks(tiers.leaves as usize);
    let pods: Vec<_> = pods.zip(aggregations.chunks(tiers.aggregations as usize)).collect();
    for (leaves, aggregations) in &pods {
        for &leaf in *leaves {
            for &aggregation in *aggregations {
                net.connect(leaf, aggregation, tiers.lower.0, tiers.lower.1);
            }
        }
    }
    let planes = cores.chunks((tiers.cores / tiers.aggregations) as usize);
    for (_, aggregations) in &pods {
        for (&aggregation, plane) in aggregations.iter().zip(planes.clone()) {
            for &core in plane {
                net.connect(aggregation, core, tiers.upper.0, tiers.upper.1);
            }
        }
    }
}

fn connect_graph(net: &mut Topology, graph: &Graph) {
    let mut nodes = BTreeMap::new();
    for name in graph.hosts.iter().flat_map(|group| Named::nodes(group).names()) {
        nodes.insert(name.clone(), net.host(name));
    }
    for name in graph.switches.iter().flat_map(|group| Named::nodes(group).names()) {
        nodes.insert(name.clone(), net.switch(name, Layer::Switch));
    }
    for link in &graph.links {
        // The check has seen to it that the names are known.
        if let [Some(&a), Some(&b)] = link.ends.each_ref().map(|name| nodes.get(name)) {
            net.connect(a, b, link.rate, link.delay);
        }
    }
}
