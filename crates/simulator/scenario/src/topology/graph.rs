//! A graph: hosts, switches and links, each named.
//!
//! Links are between existing nodes. Each host has one link. There may be no way between some
//! hosts, such as those of different planes: traffic between them is refused.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{Rate, Span};
use incast_plan::topology::{Layer, Topology};
use incast_schema::{Fault, quantity, suggestion};
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{MAX_HOSTS, MAX_LINKS, MAX_SWITCHES, Named, Names};
use crate::bounds::out_of_bounds;

/// Hosts, switches and links, each named.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The hosts; each has one link, to a switch.
    pub hosts: Vec<NodeGroup>,
    /// The switches.
    pub switches: Vec<NodeGroup>,
    /// The links, at most one between two nodes. A switch's ports are numbered in their order.
    pub links: Vec<GraphLink>,
}

/// Hosts or switches with a common name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    /// The name. With a count, the nodes are called by this name and a number from 0.
    pub name: String,
    /// The number of nodes; if absent, a single node called by the name.
    pub count: Option<u32>,
}

/// A cable of a graph.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The names of the nodes at both ends.
    pub ends: [String; 2],
    /// Rate of both directions.
    #[serde(with = "quantity::Rate")]
    pub rate: Rate,
    /// Propagation delay, one way.
    #[serde(with = "quantity::Delay")]
    pub delay: Span,
    /// The probability that a packet is damaged on the way, in either direction.
    #[serde(default, with = "quantity::Probability")]
    pub loss: f64,
}

impl NodeGroup {
    fn named(&self) -> Named<'_> {
        Named { name: &self.name, count: self.count }
    }
}

impl NetworkKind for Graph {
    const NAME: &'static str = "graph";
    const SUMMARY: &'static str = "Hosts, switches and links, each named.";

    fn check(&self) -> Result<(), Fault> {
        let mut names = Names::default();
        for (side, groups, most) in
            [("hosts", &self.hosts, MAX_HOSTS), ("switches", &self.switches, MAX_SWITCHES)]
        {
            if groups.is_empty() {
                let message = format!("no {side}; expected at least one");
                return Err(Fault::at([&side], message));
            }
            names.added = 0;
            for (i, group) in groups.iter().enumerate() {
                let added = names.add(group.named(), (side, most));
                added.map_err(|fault| fault.within(&[&side, &i]))?;
            }
        }
        let nodes = Nodes::of(self);
        check_links(self, &nodes)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        self.hosts.iter().map(NodeGroup::named).collect()
    }

    fn build(&self, net: &mut Topology) {
        let mut nodes = BTreeMap::new();
        for name in self.hosts.iter().flat_map(|group| group.named().names()) {
            nodes.insert(name.clone(), net.host(name));
        }
        for name in self.switches.iter().flat_map(|group| group.named().names()) {
            nodes.insert(name.clone(), net.switch(name, Layer::Switch));
        }
        for link in &self.links {
            // The check has made sure that the names are known.
            if let [Some(&a), Some(&b)] = link.ends.each_ref().map(|name| nodes.get(name)) {
                net.connect(a, b, link.rate, link.delay).loss = [link.loss; 2];
            }
        }
    }
}

/// The nodes by name, numbered consecutively with hosts first.
struct Nodes {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    hosts: usize,
}

impl Nodes {
    fn of(graph: &Graph) -> Self {
        let names_of = |groups: &[NodeGroup]| -> Vec<String> {
            groups.iter().flat_map(|group| group.named().names()).collect()
        };
        let mut names = names_of(&graph.hosts);
        let hosts = names.len();
        names.extend(names_of(&graph.switches));
        let numbers = names.iter().cloned().zip(0..).collect();
        Self { names, numbers, hosts }
    }
}

fn check_links(graph: &Graph, nodes: &Nodes) -> Result<(), Fault> {
    let links = graph.links.len() as u64;
    if links > MAX_LINKS {
        let message = out_of_bounds(links, links, MAX_LINKS, "links");
        return Err(Fault::at([&"links"], message));
    }
    let mut pairs = BTreeSet::new();
    let mut ports = vec![0_u32; nodes.names.len()];
    for (i, link) in graph.links.iter().enumerate() {
        let at_link = |message| Err(Fault::at([&"links", &i, &"ends"], message));
        let mut ends = [0; 2];
        for (j, name) in link.ends.iter().enumerate() {
            let Some(&node) = nodes.numbers.get(name) else {
                let known: Vec<_> = nodes.names.iter().map(String::as_str).collect();
                let message = format!("unknown node {name:?}{}", suggestion(name, &known));
                return Err(Fault::at([&"links", &i, &"ends", &j], message));
            };
            ends[j] = node;
        }
        let [a, b] = &link.ends;
        ends.sort_unstable();
        if ends[0] == ends[1] {
            return at_link(format!("{a:?} is connected to itself; expected two nodes"));
        }
        if ends[1] < nodes.hosts {
            return at_link(format!("{a:?} and {b:?} are hosts; expected a switch at one end"));
        }
        if !pairs.insert(ends) {
            return at_link(format!(
                "a second link between {a:?} and {b:?}; add up their rates in one"
            ));
        }
        for node in ends {
            ports[node] += 1;
            if node < nodes.hosts && ports[node] > 1 {
                let name = &nodes.names[node];
                return at_link(format!("a second link of host {name:?}; a host has one"));
            }
            if ports[node] > u32::from(u16::MAX) {
                let name = &nodes.names[node];
                return at_link(format!("more than 65535 ports of {name:?}; use more switches"));
            }
        }
    }
    match ports[..nodes.hosts].iter().position(|&ports| ports == 0) {
        Some(host) => {
            let message =
                format!("host {:?} has no link; connect it to a switch", nodes.names[host]);
            Err(Fault::at([&"links"], message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;

    #[test]
    fn a_graph_is_as_it_is_written() {
        let net = built::<Graph>(
            "hosts = [{ name = \"host\", count = 2 }]\n\
             switches = [{ name = \"s\", count = 2 }, { name = \"t\" }]\nlinks = [\n\
             { ends = [\"host0\", \"s0\"], rate = \"10Gbps\", delay = \"1us\" },\n\
             { ends = [\"t\", \"s0\"], rate = \"20Gbps\", delay = \"2us\" },\n\
             { ends = [\"s1\", \"t\"], rate = \"30Gbps\", delay = \"3us\" },\n\
             { ends = [\"s1\", \"host1\"], rate = \"40Gbps\", delay = \"4us\" }]",
        );
        assert_eq!(net.hosts, ["host0", "host1"]);
        assert_eq!(net.switches, ["s0", "s1", "t"]);
        let rates: Vec<_> = net.cables.iter().map(|cable| cable.rates[0].as_gbps_f64()).collect();
        assert_eq!(rates, [10.0, 20.0, 30.0, 40.0]);
        assert_eq!((net.edge(0), net.edge(1)), (0, 1));
    }
}
