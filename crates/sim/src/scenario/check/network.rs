//! Hosts that have names of their own, and not too many.

use std::collections::BTreeSet;

use super::super::error::{Fault, suggestion};
use super::super::{HostGroup, LeafSpine, Network, Scenario};
use super::out_of_bounds;
use crate::build::Named;

/// A slip of the pen should not fill the memory; a switch's ports are numbered in 16 bits.
const MAX_HOSTS: u64 = 60_000;

/// One kind of network, which the parser only counts.
pub(in crate::scenario) fn kinds(text: &str) -> Result<(), Fault> {
    let known = ["star", "dumbbell", "leaf-spine"];
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

pub(super) fn check_network(scenario: &Scenario) -> Result<(), Fault> {
    type Side<'a> = (&'static str, &'static str, &'a [HostGroup]);
    let sides: &[Side<'_>] = match &scenario.network {
        Network::Star(star) => &[("star", "hosts", &star.hosts)],
        Network::Dumbbell(dumbbell) => {
            &[("dumbbell", "left", &dumbbell.left), ("dumbbell", "right", &dumbbell.right)]
        }
        Network::LeafSpine(fabric) => return check_leaf_spine(fabric),
    };
    let (mut names, mut hosts) = (BTreeSet::new(), 0_u64);
    for &(kind, side, groups) in sides {
        if groups.is_empty() {
            let message = format!("no hosts in {side}; expected at least one group");
            return Err(Fault::at([&"network", &kind, &side], message));
        }
        for (i, group) in groups.iter().enumerate() {
            check_name(&group.name)
                .map_err(|message| Fault::at([&"network", &kind, &side, &i, &"name"], message))?;
            let count = u64::from(group.count.unwrap_or(1));
            hosts += count;
            if count == 0 || hosts > MAX_HOSTS {
                let message = out_of_bounds(count, hosts, MAX_HOSTS, "hosts");
                return Err(Fault::at([&"network", &kind, &side, &i, &"count"], message));
            }
            for name in Named::of(group).hosts().chain(group.count.map(|_| group.name.clone())) {
                if !names.insert(name.clone()) {
                    let message = format!("there are two hosts called {name:?}; rename a group");
                    return Err(Fault::at([&"network", &kind, &side, &i, &"name"], message));
                }
            }
        }
    }
    if hosts < 2 {
        return Err(Fault::at([&"network"], "one host alone; expected at least two".into()));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if well_formed {
        return Ok(());
    }
    Err(format!("{name:?} is no name for a host; expected a letter, then letters, digits, - and _"))
}

fn check_leaf_spine(fabric: &LeafSpine) -> Result<(), Fault> {
    const KIND: &str = "leaf-spine";
    check_name(&fabric.hosts.name)
        .map_err(|message| Fault::at([&"network", &KIND, &"hosts", &"name"], message))?;
    for (field, count) in [("leaves", fabric.leaves), ("spines", fabric.spines)] {
        if !(1..=4_096).contains(&count) {
            let message = format!("{count} is out of range; expected 1 to 4096");
            return Err(Fault::at([&"network", &KIND, &field], message));
        }
    }
    let count = u64::from(fabric.hosts.count.unwrap_or(1));
    let hosts = count * u64::from(fabric.leaves);
    if count == 0 || hosts > MAX_HOSTS {
        let message = out_of_bounds(count, hosts, MAX_HOSTS, "hosts");
        return Err(Fault::at([&"network", &KIND, &"hosts", &"count"], message));
    }
    if hosts < 2 {
        return Err(Fault::at([&"network"], "one host alone; expected at least two".into()));
    }
    Ok(())
}
