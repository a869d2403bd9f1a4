//! Checks of islands: each host is on one at most, all have their size, and no flow without end
//! goes over one.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Scenario, all_lasting};
use crate::hosts::unknown_host;
use incast_plan::islands::Islands;
use incast_plan::topology::Topology;
use incast_schema::Fault;

pub(super) fn check_islands(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let mut told = BTreeSet::new();
    for (i, own) in scenario.islands.iter().enumerate() {
        let at = |field: &'static str, message: String| {
            Err(Fault::at([&"island", &i, &field as &dyn std::fmt::Display], message))
        };
        let hosts = scenario.network.hosts_called(&own.hosts, net);
        if hosts.is_empty() {
            return at("hosts", unknown_host(&scenario.network, net, &own.hosts, &[]));
        }
        if let Some(&twice) = hosts.iter().find(|&&host| !told.insert(host)) {
            let name = &net.hosts[twice as usize];
            let message = format!("host {name:?} is on an island already; take it out of one");
            return at("hosts", message);
        }
        if own.size < 2 {
            let message =
                format!("an island of {} has no other host; expected 2 or more", own.size);
            return at("size", message);
        }
        let rest = hosts.len() % own.size as usize;
        if rest > 0 {
            let message = format!(
                "{} hosts do not divide into islands of {}: {rest} would be left; name hosts that \
                 do, or a size that divides them",
                hosts.len(),
                own.size
            );
            return at("size", message);
        }
    }
    Ok(())
}

/// Checks that no flow without end may go over an island, whose turn would never end.
pub(super) fn check_endless(scenario: &Scenario, net: &Topology) -> Result<(), Fault> {
    let islands = scenario.islands(net);
    if islands.is_empty() {
        return Ok(());
    }
    let refused = |number: usize, [from, to]: [u32; 2]| {
        let [from, to] = [from, to].map(|host| &net.hosts[host as usize]);
        let message = format!(
            "a flow without end from {from:?} to {to:?} would go over their island; give it a \
             size, or name hosts of different islands"
        );
        Err(Fault::at([&"traffic", &number], message))
    };
    for (number, traffic) in scenario.traffic.iter().enumerate() {
        let called = |name| scenario.network.hosts_called(name, net);
        if traffic.kind.has("from") {
            if traffic.is_endless() {
                let from = called(traffic.common.sources());
                let to = called(traffic.common.destinations());
                if let Some(pair) = neighbours(&islands, &from, &to) {
                    return refused(number, pair);
                }
            }
            continue;
        }
        let mut alone = scenario.clone();
        alone.traffic = vec![traffic.clone()];
        let mut flows = all_lasting(&alone, net).into_iter();
        if let Some(flow) = flows.find(|flow| islands.between(flow.from, flow.to).is_some()) {
            return refused(number, [flow.from, flow.to]);
        }
    }
    Ok(())
}

/// A host of `from` and another one of `to` on one island.
fn neighbours(islands: &Islands, from: &[u32], to: &[u32]) -> Option<[u32; 2]> {
    let mut some: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &host in to {
        let Some(number) = islands.number(host) else { continue };
        // Two hosts of each island are enough: one of them is not the sender.
        let of_island = some.entry(number).or_default();
        if of_island.len() < 2 {
            of_island.push(host);
        }
    }
    from.iter().find_map(|&host| {
        let others = some.get(&islands.number(host)?)?;
        others.iter().find(|&&other| other != host).map(|&other| [host, other])
    })
}
