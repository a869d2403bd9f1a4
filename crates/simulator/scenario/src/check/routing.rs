//! Checks of routing: paths and events name links that exist.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{LinkEvent, LinkState, RoutingPath, Scenario};
use crate::hosts::unknown_host;
use incast_plan::RoutingKind;
use incast_plan::topology::{Node, Topology};
use incast_plan::trees::spanning_trees;
use incast_schema::{Fault, suggestion};

/// The most pairs of hosts with given paths, so that a typing error does not fill the memory.
const MAX_PAIRS: usize = 1_000_000;

pub(super) fn check_routing(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let mut pairs = BTreeSet::new();
    for (i, path) in scenario.routing.paths.iter().enumerate() {
        check_path(scenario, net, i, path, &mut pairs)?;
    }
    check_events(scenario, net)?;
    check_trees(scenario, net)
}

fn check_path(
    scenario: &Scenario,
    net: &Topology,
    i: usize,
    path: &RoutingPath,
    pairs: &mut BTreeSet<(u32, u32)>,
) -> Result<(), Fault> {
    let at = |field: &'static str, message| {
        Err(Fault::at([&"routing", &"path", &i, &field as &dyn std::fmt::Display], message))
    };
    let via = check_via(net, i, &path.via)?;
    let mut ends = Vec::new();
    for (field, name, place) in
        [("from", &path.from, 0), ("to", &path.to, path.via.len().saturating_sub(1))]
    {
        let hosts = scenario.network.hosts_called(name, net);
        if hosts.is_empty() {
            return at(field, unknown_host(&scenario.network, net, name, &[]));
        }
        if let Some(host) = hosts.iter().find(|&&host| net.edge(host) != via[place]) {
            let (host, edge) = (&net.hosts[*host as usize], net.edge(*host) as usize);
            let (word, switch) = (if place == 0 { "first" } else { "last" }, &path.via[place]);
            let edge = &net.switches[edge];
            return at(
                field,
                format!("host {host:?} hangs on {edge:?}, not on {switch:?}, the {word} of `via`"),
            );
        }
        ends.push(hosts);
    }
    if ends[0].len().saturating_mul(ends[1].len()) > MAX_PAIRS - pairs.len() {
        return at("to", format!("more than {MAX_PAIRS} pairs of hosts; name fewer"));
    }
    for &from in &ends[0] {
        for &to in &ends[1] {
            if !pairs.insert((from, to)) {
                let [from, to] = [from, to].map(|host| &net.hosts[host as usize]);
                return at("to", format!("a second path from {from:?} to {to:?}; take one out"));
            }
        }
    }
    Ok(())
}

/// The numbers of the switches of a path.
fn check_via(net: &Topology, i: usize, via: &[String]) -> Result<Vec<u32>, Fault> {
    let Some(last) = via.len().checked_sub(1) else {
        let message = "no switch; expected at least the one that the hosts hang on".into();
        return Err(Fault::at([&"routing", &"path", &i, &"via"], message));
    };
    let mut switches = Vec::with_capacity(last + 1);
    for (j, name) in via.iter().enumerate() {
        let at = |message| Err(Fault::at([&"routing", &"path", &i, &"via", &j], message));
        let Some(node @ Node::Switch(switch)) = net.node(name) else {
            let known: Vec<_> = net.switches.iter().map(String::as_str).collect();
            return at(format!("unknown switch {name:?}{}", suggestion(name, &known)));
        };
        if switches.contains(&switch) {
            return at(format!("{name:?} is there twice; a path has no loop"));
        }
        if let Some(&before) = switches.last()
            && net.cable_between(Node::Switch(before), node).is_none()
        {
            return at(not_connected(net, Node::Switch(before), node));
        }
        switches.push(switch);
    }
    Ok(switches)
}

/// The sentence for two nodes that have no link, with the links that the first one has.
fn not_connected(net: &Topology, a: Node, b: Node) -> String {
    let neighbours = net.cables.iter().filter_map(|cable| match cable.ends {
        [from, to] | [to, from] if from == a => Some(net.name(to)),
        _ => None,
    });
    let names: Vec<_> = neighbours.take(8).collect();
    let (a, b) = (net.name(a), net.name(b));
    format!("no link from {a:?} to {b:?}; {a:?} is connected to {}", names.join(", "))
}

fn check_events(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let mut cables = Vec::with_capacity(scenario.events.len());
    for (i, event) in scenario.events.iter().enumerate() {
        cables.push((i, event, check_event(scenario, net, i, event)?));
    }
    cables.sort_by_key(|(_, event, _)| event.at);
    let mut down = BTreeMap::new();
    let mut last = BTreeMap::new();
    for (i, event, cable) in cables {
        let [a, b] = &event.link;
        let link = format!("the link from {a:?} to {b:?}");
        if last.insert((cable, event.state.is_some()), event.at) == Some(event.at) {
            let message = format!("{link} changes twice at {}; take one out", event.at);
            return Err(Fault::at([&"event", &i, &"at"], message));
        }
        let Some(state) = event.state else { continue };
        let before = down.insert(cable, state).unwrap_or(LinkState::Up);
        if before == state {
            let word = if state == LinkState::Up { "up" } else { "down" };
            let message = format!("{link} is {word} already at {}; take one out", event.at);
            return Err(Fault::at([&"event", &i, &"state"], message));
        }
    }
    Ok(())
}

/// Checks that there are trees for traffic that stays in them.
fn check_trees(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let asked = scenario.routing.trees;
    let at = |field: &'static str, message| Err(Fault::at([&"routing", &field], message));
    if !scenario.routing_kinds().contains(&RoutingKind::SpanningTrees) {
        return match asked {
            Some(trees) => at(
                "trees",
                format!(
                    "{trees} trees that no traffic takes; set routing.kind to \"spanning-trees\""
                ),
            ),
            None => Ok(()),
        };
    }
    if let Some((i, _)) = scenario.events.iter().enumerate().find(|(_, own)| own.state.is_some()) {
        let message = "a tree of \"spanning-trees\" has no other way around a link that fails; \
                       take the event out, or choose \"ecmp\""
            .into();
        return Err(Fault::at([&"event", &i, &"state"], message));
    }
    if asked == Some(0) {
        return at("trees", "0 trees connect nothing; expected 1 or more".into());
    }
    let found = spanning_trees(net, &net.ports(), asked).len();
    match asked {
        Some(asked) if asked as usize > found => at(
            "trees",
            format!(
                "{asked} trees that share no link, of which the network has {found}; set it to \
                 {found} or less, or add links"
            ),
        ),
        _ => Ok(()),
    }
}

/// The cable of an event.
fn check_event(
    scenario: &Scenario,
    net: &Topology,
    i: usize,
    event: &LinkEvent,
) -> Result<usize, Fault> {
    let mut ends = Vec::new();
    for (j, name) in event.link.iter().enumerate() {
        let Some(node) = net.node(name) else {
            let nodes = net.switches.iter().chain(&net.hosts);
            let known: Vec<_> = nodes.map(String::as_str).collect();
            let message = format!("unknown node {name:?}{}", suggestion(name, &known));
            return Err(Fault::at([&"event", &i, &"link", &j], message));
        };
        ends.push(node);
    }
    let Some(cable) = net.cable_between(ends[0], ends[1]) else {
        return Err(Fault::at([&"event", &i, &"link"], not_connected(net, ends[0], ends[1])));
    };
    if event.at >= scenario.run.duration {
        let message = format!(
            "an event at {} is after the end at {}; let it be earlier or run longer",
            event.at, scenario.run.duration
        );
        return Err(Fault::at([&"event", &i, &"at"], message));
    }
    match (event.state, event.rate) {
        (Some(_), Some(_)) => {
            let message = "both state and rate; expected one of them".into();
            Err(Fault::at([&"event", &i, &"rate"], message))
        }
        (None, None) => {
            let message = "nothing happens; expected state or rate".into();
            Err(Fault::at([&"event", &i], message))
        }
        _ => Ok(cable),
    }
}
