//! The groups of a collective, and the order of the hosts that fill them.

use std::collections::{BTreeMap, BTreeSet};

use incast_plan::random::{distinct, purpose};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::checked::Checked;
use super::super::context::Context;
use super::Collective;

/// The order of the hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"packed\", \"spread\", \"random\", or a list of hosts")]
pub enum Placement {
    /// An order by name.
    Order(PlacementOrder),
    /// All hosts of `from`, one by one.
    Hosts(Vec<String>),
}

/// The orders that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementOrder {
    /// In the order of their numbers, so neighbours are in the same rack.
    Packed,
    /// The first host of each rack, then the second of each, and so on.
    Spread,
    /// At random.
    Random,
}

impl Default for Placement {
    fn default() -> Self {
        Self::Order(PlacementOrder::Packed)
    }
}

impl Collective {
    /// The number of hosts of each group.
    pub(super) fn group_sizes(&self, hosts: usize) -> Vec<usize> {
        if !self.groups.is_empty() {
            return self.groups.iter().map(|&size| size as usize).collect();
        }
        let size = self.group.map_or(hosts, |size| size as usize).max(1);
        vec![size; hosts / size]
    }
}

/// Checks that groups take all hosts, and that a list of hosts has all.
pub(super) fn check(collective: &Collective, checked: &Checked<'_>) -> Result<(), Fault> {
    let hosts = checked.from.len();
    if let Some(size) = collective.group {
        if !collective.groups.is_empty() {
            let message = "group beside groups; take one of them out".into();
            return Err(checked.at("group", message));
        }
        if size < 2 || !hosts.is_multiple_of(size as usize) {
            let message = format!(
                "groups of {size} do not divide the {hosts} hosts of `from`; expected a divisor of \
                 at least 2"
            );
            return Err(checked.at("group", message));
        }
    }
    if let Some(size) = collective.groups.iter().find(|&&size| size < 2) {
        let message = format!("a group of {size}; expected at least 2 hosts");
        return Err(checked.at("groups", message));
    }
    let taken: u64 = collective.groups.iter().map(|&size| u64::from(size)).sum();
    if !collective.groups.is_empty() && taken != hosts as u64 {
        let message =
            format!("groups take {taken} hosts of the {hosts} of `from`; expected all of them");
        return Err(checked.at("groups", message));
    }
    let Placement::Hosts(names) = &collective.placement else { return Ok(()) };
    let mut seen = BTreeSet::new();
    for name in names {
        let host = checked.net.hosts.iter().position(|host| host == name);
        let Some(host) = host.and_then(|host| u32::try_from(host).ok()) else {
            return Err(checked.at("placement", checked.unknown_host(name)));
        };
        if checked.from.binary_search(&host).is_err() {
            let message = format!("{name:?} is no host of `from`; take it out");
            return Err(checked.at("placement", message));
        }
        if !seen.insert(host) {
            let message = format!("{name:?} comes twice; take one of them out");
            return Err(checked.at("placement", message));
        }
    }
    if seen.len() < hosts {
        let message = format!("{} of the {hosts} hosts of `from`; expected all", seen.len());
        return Err(checked.at("placement", message));
    }
    Ok(())
}

/// The hosts of a collective in the order of its placement.
pub(super) fn in_order(placement: &Placement, context: &Context<'_>) -> Vec<u32> {
    let hosts = &context.sources;
    match placement {
        Placement::Order(PlacementOrder::Packed) => hosts.clone(),
        Placement::Order(PlacementOrder::Spread) => {
            let mut racks: BTreeMap<u32, u32> = BTreeMap::new();
            let mut places: Vec<_> = hosts
                .iter()
                .map(|&host| {
                    let rack = context.places.rack(host);
                    let place = racks.entry(rack).or_default();
                    *place += 1;
                    (*place, rack, host)
                })
                .collect();
            places.sort_unstable();
            places.into_iter().map(|(.., host)| host).collect()
        }
        Placement::Order(PlacementOrder::Random) => {
            let mut random = context.generator(purpose::PLACEMENT);
            let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
            let order = distinct(&mut random, count, count);
            order.into_iter().map(|place| hosts[place as usize]).collect()
        }
        Placement::Hosts(names) => {
            let number = |name: &String| {
                let place = context.topology.hosts.iter().position(|host| host == name);
                place.and_then(|place| u32::try_from(place).ok())
            };
            names.iter().filter_map(number).collect()
        }
    }
}
