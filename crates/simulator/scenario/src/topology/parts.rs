//! Pieces that several kinds of networks share: groups of hosts, links, and their checks.

use std::collections::BTreeSet;

use incast_cc::{FASTEST_LINE, Fraction, Rate, SLOWEST_LINE, Span};
use incast_plan::topology::{Node, Topology};
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds::out_of_bounds;

/// The most hosts of a network, so that a typing error does not fill the memory.
pub(super) const MAX_HOSTS: u64 = 1_000_000;
/// The most hosts at a switch: its ports are numbered in 16 bits, and have room for links to other
/// switches beside these.
const MAX_HOSTS_OF_SWITCH: u64 = 60_000;
/// The most switches: switches with hosts are numbered in 16 bits.
pub(super) const MAX_SWITCHES: u64 = 32_768;
/// The most links of a network.
pub(super) const MAX_LINKS: u64 = 1_000_000;

/// The largest count in a field: products of four such numbers fit 64 bits.
const MAX_COUNT: u32 = 4_096;

/// Hosts with equal links.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// The group's name. With a count, the hosts are called by this name and a number from 0.
    pub name: String,
    /// The number of hosts; if absent, a single host called by the group's name.
    pub count: Option<u32>,
    /// The rate of each link.
    #[serde(with = "quantity::Rate")]
    pub rate: Rate,
    /// Propagation delay of each link, one way.
    #[serde(with = "quantity::Delay")]
    pub delay: Span,
}

/// Hosts with a common name: the hosts of a group are called by this name and a number from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    /// The number of hosts; if absent, a single host called by the name.
    pub(crate) count: Option<u32>,
}

impl<'a> Named<'a> {
    pub(crate) fn of(group: &'a HostGroup) -> Self {
        Self { name: &group.name, count: group.count }
    }

    /// The number of hosts.
    pub(crate) fn hosts(self) -> u64 {
        u64::from(self.count.unwrap_or(1))
    }

    /// The names of the nodes.
    pub(crate) fn names(self) -> impl Iterator<Item = String> {
        let name = self.name.to_owned();
        (0..self.count.unwrap_or(1)).map(move |i| match self.count {
            Some(_) => format!("{name}{i}"),
            None => name.clone(),
        })
    }
}

/// A cable: a link in each direction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// Rate of both directions.
    #[serde(with = "quantity::Rate")]
    pub rate: Rate,
    /// Propagation delay, one way.
    #[serde(with = "quantity::Delay")]
    pub delay: Span,
}

/// The links from one tier to the next. Their rate is given, or follows from the oversubscription.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uplink {
    /// The rate of each link, in both directions.
    #[serde(default, with = "quantity::OptionalRate")]
    pub rate: Option<Rate>,
    /// Oversubscription, instead of `rate`: the sum of the rates of a switch's links down over the
    /// sum of its links up.
    #[serde(default, with = "quantity::OptionalOversubscription")]
    pub oversubscription: Option<Fraction>,
    /// Propagation delay, one way.
    #[serde(with = "quantity::Delay")]
    pub delay: Span,
}

impl HostGroup {
    /// The names of `each` hosts on each of `switches` switches, numbered consecutively.
    pub(super) fn per_switch(&self, each: u32, switches: u32) -> Named<'_> {
        Named { name: &self.name, count: Some(each.saturating_mul(switches)) }
    }

    /// Checks the name, and the number of `each` hosts on each of `switches` switches. `field`
    /// holds the group.
    pub(super) fn check(&self, field: &str, each: u32, switches: u32) -> Result<(), Fault> {
        check_name(&self.name, "host").map_err(|fault| fault.within(&[&field]))?;
        let all = u64::from(each) * u64::from(switches);
        let message = if all == 0 || all > MAX_HOSTS {
            out_of_bounds(u64::from(each), all, MAX_HOSTS, "hosts")
        } else if u64::from(each) > MAX_HOSTS_OF_SWITCH {
            format!("{each} hosts at each switch; expected 1 to {MAX_HOSTS_OF_SWITCH}")
        } else {
            return Ok(());
        };
        Err(Fault::at([&field, &"count"], message))
    }

    /// Adds `each` hosts on each switch, numbered consecutively.
    pub(super) fn attach(&self, net: &mut Topology, switches: &[Node], each: u32) {
        let places = switches.iter().flat_map(|&switch| (0..each).map(move |_| switch));
        for (number, switch) in places.enumerate() {
            let host = net.host(format!("{}{number}", self.name));
            net.connect(host, switch, self.rate, self.delay);
        }
    }
}

/// Adds the hosts of several groups, all on one switch.
pub(super) fn attach_groups(net: &mut Topology, groups: &[HostGroup], switch: Node) {
    for group in groups {
        for name in Named::of(group).names() {
            let host = net.host(name);
            net.connect(host, switch, group.rate, group.delay);
        }
    }
}

/// Checks the names and the numbers of several groups, by the fields that hold them. The groups of
/// a field hang on one switch.
pub(super) fn check_groups(sides: &[(&str, &[HostGroup])]) -> Result<(), Fault> {
    let mut names = Names::default();
    for &(side, groups) in sides {
        if groups.is_empty() {
            let message = format!("no hosts in {side}; expected at least one group");
            return Err(Fault::at([&side], message));
        }
        names.added = 0;
        for (i, group) in groups.iter().enumerate() {
            let added = names.add(Named::of(group), ("hosts", MAX_HOSTS_OF_SWITCH));
            added.map_err(|fault| fault.within(&[&side, &i]))?;
        }
    }
    Ok(())
}

impl Uplink {
    /// The rate of each of `links` uplinks of a switch with `below` links down of the rate `each`;
    /// rounded down to a bit per second.
    pub(super) fn rate_above(&self, below: u32, each: Rate, links: u32) -> Rate {
        let factor = self.oversubscription.unwrap_or(Fraction::ONE);
        self.rate.unwrap_or_else(|| {
            let incoming = (u128::from(each.as_bps()) * u128::from(below)) << Fraction::BITS;
            let bps = incoming / (u128::from(links.max(1)) * u128::from(factor.bits().max(1)));
            Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
        })
    }

    /// Checks the settings in `field`, which result in `rate`.
    pub(super) fn check(&self, field: &str, rate: Rate) -> Result<(), Fault> {
        match (self.rate, self.oversubscription) {
            (Some(_), Some(_)) => {
                let message = "both rate and oversubscription; expected one of them".into();
                Err(Fault::at([&field, &"oversubscription"], message))
            }
            (None, None) => {
                let message =
                    "no rate; expected rate, such as \"100Gbps\", or oversubscription".into();
                Err(Fault::at([&field], message))
            }
            (None, Some(factor)) if !(SLOWEST_LINE..=FASTEST_LINE).contains(&rate) => {
                let message = format!(
                    "an over-subscription of {factor} gives links of {rate}; expected \
                     {SLOWEST_LINE} to {FASTEST_LINE}"
                );
                Err(Fault::at([&field, &"oversubscription"], message))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that a field counts at least `least` things, and not absurdly many.
pub(super) fn in_range(field: &str, count: u32, least: u32) -> Result<(), Fault> {
    if (least..=MAX_COUNT).contains(&count) {
        return Ok(());
    }
    let message = format!("{count} is out of range; expected {least} to {MAX_COUNT}");
    Err(Fault::at([&field], message))
}

/// Checks the numbers of switches and of the links between them, which follow from `field`.
pub(super) fn not_too_many(field: &str, switches: u64, links: u64) -> Result<(), Fault> {
    for (count, most, what) in
        [(switches, MAX_SWITCHES, "switches"), (links, MAX_LINKS, "links between switches")]
    {
        if count > most {
            return Err(Fault::at([&field], out_of_bounds(count, count, most, what)));
        }
    }
    Ok(())
}

/// The names so far, and the number of nodes that were added last.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: BTreeSet<String>,
    pub(super) added: u64,
}

impl Names {
    /// Adds the nodes of a group; `what` names them in errors, and `most` limits their total
    /// number.
    pub(super) fn add(&mut self, group: Named<'_>, (what, most): (&str, u64)) -> Result<(), Fault> {
        let one = if what == "hosts" { "host" } else { "switch" };
        check_name(group.name, one)?;
        let count = group.hosts();
        self.added += count;
        if count == 0 || self.added > most {
            return Err(Fault::at([&"count"], out_of_bounds(count, self.added, most, what)));
        }
        for name in group.names().chain(group.count.map(|_| group.name.to_owned())) {
            if !self.names.insert(name.clone()) {
                let message = format!("there are two {what} called {name:?}; rename a group");
                return Err(Fault::at([&"name"], message));
            }
        }
        Ok(())
    }
}

fn check_name(name: &str, what: &str) -> Result<(), Fault> {
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if well_formed {
        return Ok(());
    }
    let message = format!(
        "{name:?} is no name for a {what}; expected a letter, then letters, digits, - and _"
    );
    Err(Fault::at([&"name"], message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversubscription_is_what_comes_from_below_over_what_goes_up() {
        let uplink =
            |factor| Uplink { rate: None, oversubscription: Some(factor), delay: Span::from_us(1) };
        // 16 hosts at 25 Gb/s are 400 Gb/s; 4 uplinks carry 400 / 2 / 4 = 50 Gb/s each.
        let rate = uplink(Fraction::from_ratio(2, 1)).rate_above(16, Rate::from_gbps(25), 4);
        assert_eq!(rate, Rate::from_gbps(50));
        // 100 Gb/s over 3 links: 33,333,333,333.3 b/s.
        let rate = uplink(Fraction::ONE).rate_above(10, Rate::from_gbps(10), 3);
        assert_eq!(rate, Rate::from_bps(33_333_333_333));
    }
}
