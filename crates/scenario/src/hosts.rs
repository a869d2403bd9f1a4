//! The hosts of a network by their names.

use std::ops::{Range, RangeInclusive};

use crate::{HostGroup, Network, NodeGroup, Tiers};
use incast_plan::topology::Topology;

/// Hosts with a common name: a group's are this and a number from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    /// Absent is a single host called by the name.
    pub(crate) count: Option<u32>,
}

impl<'a> Named<'a> {
    pub(crate) fn of(group: &'a HostGroup) -> Self {
        Self { name: &group.name, count: group.count }
    }

    pub(crate) fn nodes(group: &'a NodeGroup) -> Self {
        Self { name: &group.name, count: group.count }
    }

    /// So many hosts on each of so many switches, numbered through.
    fn per_switch(group: &'a HostGroup, each: u32, switches: u32) -> Self {
        Self { name: &group.name, count: Some(each.saturating_mul(switches)) }
    }

    /// The names of its nodes.
    pub(crate) fn names(self) -> impl Iterator<Item = String> {
        let name = self.name.to_owned();
        (0..self.count.unwrap_or(1)).map(move |i| match self.count {
            Some(_) => format!("{name}{i}"),
            None => name.clone(),
        })
    }
}

impl Network {
    pub(crate) fn group_names(&self) -> Vec<&str> {
        let groups = self.groups().into_iter();
        groups.filter(|group| group.count.is_some()).map(|group| group.name).collect()
    }

    /// All hosts, in the order of their numbers.
    pub(crate) fn groups(&self) -> Vec<Named<'_>> {
        let three_tiers = |hosts, tiers: &Tiers| {
            Named::per_switch(hosts, tiers.hosts, tiers.pods.saturating_mul(tiers.leaves))
        };
        match self {
            Self::Star(star) => star.hosts.iter().map(Named::of).collect(),
            Self::Dumbbell(dumbbell) => {
                dumbbell.left.iter().chain(&dumbbell.right).map(Named::of).collect()
            }
            Self::LeafSpine(fabric) => {
                vec![Named::per_switch(&fabric.hosts, fabric.rack().0, fabric.leaves)]
            }
            Self::FatTree(fabric) => vec![three_tiers(&fabric.hosts, &fabric.tiers())],
            Self::Clos(fabric) => vec![three_tiers(&fabric.hosts, &fabric.tiers())],
            Self::ParkingLot(lot) => {
                let each = lot.hosts.count.unwrap_or(1);
                vec![Named::per_switch(&lot.hosts, each, lot.switches)]
            }
            Self::Graph(graph) => graph.hosts.iter().map(Named::nodes).collect(),
            Self::File(_) => Vec::new(), // a graph, once it has been read
        }
    }

    /// The numbers of the hosts that `name` stands for: a group, one host, or some of a group such as
    /// `host[0-15]`. Ascending: hosts are numbered group by group.
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

/// Reads `host[0-15]`: a group, and the first and last of its numbers.
pub(crate) fn part_of_group(name: &str) -> Option<(&str, RangeInclusive<u32>)> {
    let (group, part) = name.strip_suffix(']')?.split_once('[')?;
    let (first, last) = part.split_once('-')?;
    Some((group, first.parse().ok()?..=last.parse().ok()?))
}
