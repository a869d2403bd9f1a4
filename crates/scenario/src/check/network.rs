//! Nodes that have names of their own, and not too many.

mod fabrics;
mod graph;

use std::collections::BTreeSet;
use std::fmt::Display;

use super::super::{HostGroup, Network, Scenario};
use super::out_of_bounds;
use crate::hosts::Named;
use incast_plan::topology::Topology;
use incast_schema::{Fault, suggestion};

/// Slips of the pen should not fill the memory. A switch's ports, and the switches with hosts, are
/// numbered in 16 bits.
const MAX_HOSTS: u64 = 60_000;
const MAX_SWITCHES: u64 = 16_384;
const MAX_LINKS: u64 = 1_000_000;

/// Where a field is: under the network, by keys and places.
type Where<'a> = &'a [&'a dyn Display];

/// One kind of network, which the parser only counts.
pub(crate) fn kinds(text: &str) -> Result<(), Fault> {
    let known =
        ["star", "dumbbell", "leaf-spine", "fat-tree", "clos", "parking-lot", "graph", "file"];
    let Ok(toml::Value::Table(document)) = text.parse::<toml::Table>().map(toml::Value::Table)
    else {
        return Ok(()); // the parser says it better
    };
    let Some(network) = document.get("network").and_then(toml::Value::as_table) else {
        return Ok(());
    };
    for kind in network.keys() {
        if !known.contains(&kind.as_str()) {
            let message = format!("unknown network {kind:?}{}", suggestion(kind, &known));
            return Err(Fault::at([&"network", kind], message));
        }
    }
    if network.len() > 1 {
        let mut kinds: Vec<_> = network.keys().map(String::as_str).collect();
        kinds.sort_by_key(|kind| known.iter().position(|known| known == kind));
        let message = format!("both {}; expected one of them", kinds.join(" and "));
        return Err(Fault::at([&"network", &kinds[kinds.len() - 1]], message));
    }
    Ok(())
}

/// What can be said before the network is built.
pub(super) fn check_network(scenario: &Scenario) -> Result<(), Fault> {
    match &scenario.network {
        Network::Star(star) => check_groups("star", &[("hosts", &star.hosts)]),
        Network::Dumbbell(dumbbell) => {
            check_groups("dumbbell", &[("left", &dumbbell.left), ("right", &dumbbell.right)])
        }
        Network::LeafSpine(fabric) => fabrics::leaf_spine(fabric),
        Network::FatTree(fabric) => fabrics::fat_tree(fabric),
        Network::Clos(fabric) => fabrics::clos(fabric),
        Network::ParkingLot(lot) => fabrics::parking_lot(lot),
        Network::Graph(graph) => graph::check(graph),
        Network::File(_) => Ok(()), // a graph, once it has been read
    }
}

/// Links are named by their ends: no host has the name of a switch.
pub(super) fn check_names(net: &Topology) -> Result<(), Fault> {
    let switches: BTreeSet<_> = net.switches.iter().collect();
    match net.hosts.iter().find(|host| switches.contains(host)) {
        Some(host) => {
            let message =
                format!("both a host and a switch would be called {host:?}; rename hosts");
            Err(Fault::at([&"network"], message))
        }
        None => Ok(()),
    }
}

fn check_groups(kind: &str, sides: &[(&str, &[HostGroup])]) -> Result<(), Fault> {
    let mut names = Names::default();
    for &(side, groups) in sides {
        if groups.is_empty() {
            let message = format!("no hosts in {side}; expected at least one group");
            return Err(fault(&[&kind, &side], message));
        }
        for (i, group) in groups.iter().enumerate() {
            names.add(Named::of(group), ("hosts", MAX_HOSTS), &[&kind, &side, &i])?;
        }
    }
    at_least_two(names.added)
}

fn at_least_two(hosts: u64) -> Result<(), Fault> {
    if hosts < 2 {
        return Err(Fault::at([&"network"], "one host alone; expected at least two".into()));
    }
    Ok(())
}

fn fault(place: Where<'_>, message: String) -> Fault {
    let mut path = vec!["network".to_owned()];
    path.extend(place.iter().map(ToString::to_string));
    Fault::Path(path, message)
}

/// The names so far, and the number of nodes that were added last.
#[derive(Debug, Default)]
struct Names {
    names: BTreeSet<String>,
    added: u64,
}

impl Names {
    /// Adds the nodes of a group: `what` they are, and how many there may be in all.
    fn add(
        &mut self,
        group: Named<'_>,
        (what, most): (&str, u64),
        place: Where<'_>,
    ) -> Result<(), Fault> {
        let at = |field: &dyn Display, message| Err(fault(&[place, &[field]].concat(), message));
        let one = if what == "hosts" { "host" } else { "switch" };
        if let Err(message) = check_name(group.name, one) {
            return at(&"name", message);
        }
        let count = u64::from(group.count.unwrap_or(1));
        self.added += count;
        if count == 0 || self.added > most {
            return at(&"count", out_of_bounds(count, self.added, most, what));
        }
        for name in group.names().chain(group.count.map(|_| group.name.to_owned())) {
            if !self.names.insert(name.clone()) {
                let message = format!("there are two {what} called {name:?}; rename a group");
                return at(&"name", message);
            }
        }
        Ok(())
    }
}

fn check_name(name: &str, what: &str) -> Result<(), String> {
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if well_formed {
        return Ok(());
    }
    Err(format!(
        "{name:?} is no name for a {what}; expected a letter, then letters, digits, - and _"
    ))
}
