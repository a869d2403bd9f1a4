//! From the description of a network to its nodes and cables.

use std::collections::BTreeMap;

use crate::hosts::Named;
use crate::{Graph, HostGroup, LeafSpine, Network, Scenario, Tiers};
use incast_plan::topology::{Layer, Node, Topology};

/// The scenario's nodes and cables, with the greatest rate that each cable will have.
pub fn topology(scenario: &Scenario) -> Topology {
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
        Network::File(file) => unreachable!("{} was read with the scenario", file.path),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;
    use incast_cc::Rate;
    use incast_plan::topology::Cable;

    fn network(text: &str) -> Topology {
        let text = format!(
            "title = \"a network\"\nrun = {{ duration = \"1ms\", schemes = [\"timely\"] }}\n{text}\n\
             [[traffic]]\nfrom = \"host\"\nto = \"host\"\nfan_out = 1"
        );
        let document = Document::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
        topology(document.scenario())
    }

    fn fat_tree(k: u32) -> Topology {
        network(&format!(
            "[network.fat-tree]\nk = {k}\n\
             hosts = {{ name = \"host\", rate = \"10Gbps\", delay = \"1us\" }}\n\
             link = {{ rate = \"40Gbps\", delay = \"2us\" }}\n\
             core = {{ rate = \"100Gbps\", delay = \"5us\" }}"
        ))
    }

    fn layers(net: &Topology, layer: Layer) -> usize {
        net.layers.iter().filter(|&&other| other == layer).count()
    }

    fn layer_of(net: &Topology, node: Node) -> Option<Layer> {
        let Node::Switch(switch) = node else { return None };
        Some(net.layers[switch as usize])
    }

    #[test]
    fn a_fat_tree_has_the_numbers_of_its_formula() {
        for k in [2, 4, 6, 8, 16] {
            let (net, k) = (fat_tree(k), k as usize);
            assert_eq!(net.hosts.len(), k * k * k / 4);
            assert_eq!(layers(&net, Layer::Edge), k * k / 2);
            assert_eq!(layers(&net, Layer::Aggregation), k * k / 2);
            assert_eq!(layers(&net, Layer::Core), k * k / 4);
            // As many links in each of the three stages as there are hosts.
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
            net.cables[cable].rate
        };
        assert_eq!(rate("host0", "edge0"), Rate::from_gbps(10));
        assert_eq!(rate("edge0", "aggregation1"), Rate::from_gbps(40));
        assert_eq!(rate("aggregation1", "core2"), Rate::from_gbps(100));
        // The second aggregation switch of a pod has the second half of the core.
        let at = |a: &str, b: &str| net.cable_between(net.node(a).unwrap(), net.node(b).unwrap());
        assert_eq!(at("aggregation1", "core1"), None);
        assert!(at("aggregation0", "core1").is_some() && at("aggregation6", "core1").is_some());
    }

    #[test]
    fn clos_planes_connect_one_aggregation_switch_of_every_pod() {
        let net = network(
            "[network.clos]\npods = 3\nleaves = 4\naggregations = 2\ncores = 6\n\
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
            found.map(|cable| (cable.ends, cable.rate)).collect::<Vec<_>>()
        };
        // 16 x 25 = 400 Gb/s from below, half of it over two links; then 4 x 100 Gb/s from below, a
        // quarter of it over three links: 33,333,333,333 b/s.
        for (_, rate) in between(Layer::Leaf, Layer::Aggregation) {
            assert_eq!(rate, Rate::from_gbps(100));
        }
        for (ends, rate) in between(Layer::Aggregation, Layer::Core) {
            assert_eq!(rate, Rate::from_bps(33_333_333_333));
            let [Node::Switch(aggregation), Node::Switch(core)] = ends else { panic!("hosts") };
            // 12 leaves, then 6 aggregation switches, then 6 cores, three to a plane.
            assert_eq!((aggregation - 12) % 2, (core - 18) / 3);
        }
    }

    #[test]
    fn a_parking_lot_is_a_chain() {
        let net = network(
            "[network.parking-lot]\nswitches = 4\n\
             hosts = { name = \"host\", count = 2, rate = \"10Gbps\", delay = \"1us\" }\n\
             link = { rate = \"10Gbps\", delay = \"1us\" }",
        );
        assert_eq!((net.hosts.len(), net.switches.len(), net.cables.len()), (8, 4, 8 + 3));
        assert_eq!((0..8).map(|host| net.edge(host)).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
        let ports = net.ports().switches.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(ports, [3, 4, 4, 3]);
    }

    #[test]
    fn a_graph_is_as_it_is_written() {
        let net = network(
            "[network.graph]\nhosts = [{ name = \"host\", count = 2 }]\n\
             switches = [{ name = \"s\", count = 2 }, { name = \"t\" }]\nlinks = [\n\
             { ends = [\"host0\", \"s0\"], rate = \"10Gbps\", delay = \"1us\" },\n\
             { ends = [\"t\", \"s0\"], rate = \"20Gbps\", delay = \"2us\" },\n\
             { ends = [\"s1\", \"t\"], rate = \"30Gbps\", delay = \"3us\" },\n\
             { ends = [\"s1\", \"host1\"], rate = \"40Gbps\", delay = \"4us\" }]",
        );
        assert_eq!(net.hosts, ["host0", "host1"]);
        assert_eq!(net.switches, ["s0", "s1", "t"]);
        let rates: Vec<_> = net.cables.iter().map(|cable| cable.rate.as_gbps_f64()).collect();
        assert_eq!(rates, [10.0, 20.0, 30.0, 40.0]);
        assert_eq!((net.edge(0), net.edge(1)), (0, 1));
    }
}
