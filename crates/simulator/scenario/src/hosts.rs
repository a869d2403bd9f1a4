//! The hosts of a network, found by name.

use std::ops::{Range, RangeInclusive};

use incast_plan::topology::Topology;
use incast_schema::suggestion;

use crate::Network;

impl Network {
    pub(crate) fn group_names(&self) -> Vec<&str> {
        let groups = self.groups().into_iter();
        groups.filter(|group| group.count.is_some()).map(|group| group.name).collect()
    }

    /// The numbers of the hosts that `name` stands for: a group, one host, or part of a group such
    /// as `host[0-15]`. Ascending, since hosts are numbered group by group.
    pub fn hosts_called(&self, name: &str, net: &Topology) -> Vec<u32> {
        if let Some(all) = self.group_called(name) {
            return all.collect();
        }
        if let Some(host) = net.hosts.iter().position(|host| host == name) {
            return (0..).skip(host).take(1).collect();
        }
        let some = part_of_group(name).and_then(|(group, part)| {
            let all = self.group_called(group)?;
            let some =
                all.start.checked_add(*part.start())?..=all.start.checked_add(*part.end())?;
            (some.start() <= some.end() && *some.end() < all.end).then_some(some)
        });
        some.into_iter().flatten().collect()
    }

    /// The numbers of the hosts of a group.
    pub(crate) fn group_called(&self, name: &str) -> Option<Range<u32>> {
        let mut first = 0;
        for group in self.groups() {
            let end = first + group.count.unwrap_or(1);
            if group.name == name {
                return Some(first..end);
            }
            first = end;
        }
        None
    }
}

/// Reads part of a group such as `host[0-15]`: the group, and its first and last number.
fn part_of_group(name: &str) -> Option<(&str, RangeInclusive<u32>)> {
    let (group, part) = name.strip_suffix(']')?.split_once('[')?;
    let (first, last) = part.split_once('-')?;
    Some((group, first.parse().ok()?..=last.parse().ok()?))
}

/// The sentence for `name`, which is neither a host nor one of the `others`.
pub(crate) fn unknown_host(
    network: &Network,
    net: &Topology,
    name: &str,
    others: &[String],
) -> String {
    if let Some((group, _)) = part_of_group(name)
        && let Some(hosts) = network.group_called(group)
    {
        let last = hosts.len() - 1;
        return format!("{name:?} is no part of {group}[0-{last}], which is all of that group");
    }
    let mut known = network.group_names();
    known.extend(net.hosts.iter().chain(others).map(String::as_str));
    format!("unknown host {name:?}{}", suggestion(name, &known))
}
