//! Graphs: links between nodes that there are, one for each host, and a way between any two hosts.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::{Graph, NodeGroup};
use super::super::out_of_bounds;
use super::{MAX_HOSTS, MAX_LINKS, MAX_SWITCHES, Names, at_least_two, fault};
use crate::hosts::Named;
use incast_schema::{Fault, suggestion};

const KIND: &str = "graph";

pub(super) fn check(graph: &Graph) -> Result<(), Fault> {
    let mut names = Names::default();
    for (side, groups, most) in
        [("hosts", &graph.hosts, MAX_HOSTS), ("switches", &graph.switches, MAX_SWITCHES)]
    {
        if groups.is_empty() {
            let message = format!("no {side}; expected at least one");
            return Err(fault(&[&KIND, &side], message));
        }
        names.added = 0;
        for (i, group) in groups.iter().enumerate() {
            names.add(Named::nodes(group), (side, most), &[&KIND, &side, &i])?;
        }
        if side == "hosts" {
            at_least_two(names.added)?;
        }
    }
    let nodes = Nodes::of(graph);
    check_links(graph, &nodes)?;
    check_connected(graph, &nodes)
}

/// The nodes by name: numbered through, hosts first.
struct Nodes {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    hosts: usize,
}

impl Nodes {
    fn of(graph: &Graph) -> Self {
        let names_of = |groups: &[NodeGroup]| -> Vec<String> {
            groups.iter().flat_map(|group| Named::nodes(group).names()).collect()
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
        return Err(fault(&[&KIND, &"links"], message));
    }
    let mut pairs = BTreeSet::new();
    let mut ports = vec![0_u32; nodes.names.len()];
    for (i, link) in graph.links.iter().enumerate() {
        let at_link = |message| Err(fault(&[&KIND, &"links", &i, &"ends"], message));
        let mut ends = [0; 2];
        for (j, name) in link.ends.iter().enumerate() {
            let Some(&node) = nodes.numbers.get(name) else {
                let known: Vec<_> = nodes.names.iter().map(String::as_str).collect();
                let message = format!("unknown node {name:?}{}", suggestion(name, &known));
                return Err(fault(&[&KIND, &"links", &i, &"ends", &j], message));
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
            Err(fault(&[&KIND, &"links"], message))
        }
        None => Ok(()),
    }
}

/// Whether a way leads from the first host to all others.
fn check_connected(graph: &Graph, nodes: &Nodes) -> Result<(), Fault> {
    let mut neighbours = vec![vec![]; nodes.names.len()];
    for link in &graph.links {
        let [a, b] = link.ends.each_ref().map(|name| nodes.numbers[name]);
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut seen = vec![false; nodes.names.len()];
    seen[0] = true;
    let mut reached = vec![0];
    while let Some(node) = reached.pop() {
        for &other in &neighbours[node] {
            if !std::mem::replace(&mut seen[other], true) {
                reached.push(other);
            }
        }
    }
    match seen[..nodes.hosts].iter().position(|seen| !seen) {
        Some(host) => {
            let message = format!(
                "no way leads from host {:?} to host {:?}; connect their switches",
                nodes.names[0], nodes.names[host]
            );
            Err(fault(&[&KIND, &"links"], message))
        }
        None => Ok(()),
    }
}
