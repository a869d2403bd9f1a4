//! From the description of a network to its nodes and cables.

use crate::scenario::{HostGroup, Network};
use crate::topology::Topology;

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

    /// The names of its hosts.
    pub(crate) fn hosts(self) -> impl Iterator<Item = String> {
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
        match self {
            Self::Star(star) => star.hosts.iter().map(Named::of).collect(),
            Self::Dumbbell(dumbbell) => {
                dumbbell.left.iter().chain(&dumbbell.right).map(Named::of).collect()
            }
            Self::LeafSpine(fabric) => {
                let count = fabric.hosts.count.unwrap_or(1).saturating_mul(fabric.leaves);
                vec![Named { name: &fabric.hosts.name, count: Some(count) }]
            }
        }
    }

    /// The numbers of the hosts that `name` stands for, a group or one host, ascending: hosts are
    /// numbered group by group.
    pub(crate) fn hosts_called(&self, name: &str, net: &Topology) -> Vec<u32> {
        let mut first = 0;
        for group in self.groups() {
            let end = first + group.count.unwrap_or(1);
            if group.name == name {
                return (first..end).collect();
            }
            first = end;
        }
        (0..).zip(&net.hosts).filter(|(_, host)| *host == name).map(|(number, _)| number).collect()
    }
}

/// The network's nodes and cables.
pub(crate) fn topology(network: &Network) -> Topology {
    let mut net = Topology::default();
    let attach = |net: &mut Topology, groups: &[HostGroup], switch| {
        for group in groups {
            for name in Named::of(group).hosts() {
                let host = net.host(name);
                net.connect(host, switch, group.rate, group.delay);
            }
        }
    };
    match network {
        Network::Star(star) => {
            let switch = net.switch("switch".into());
            attach(&mut net, &star.hosts, switch);
        }
        Network::Dumbbell(dumbbell) => {
            let (left, right) =
                (net.switch("left-switch".into()), net.switch("right-switch".into()));
            attach(&mut net, &dumbbell.left, left);
            attach(&mut net, &dumbbell.right, right);
            net.connect(left, right, dumbbell.bottleneck.rate, dumbbell.bottleneck.delay);
        }
        Network::LeafSpine(fabric) => {
            let leaves: Vec<_> =
                (0..fabric.leaves).map(|i| net.switch(format!("leaf{i}"))).collect();
            let spines: Vec<_> =
                (0..fabric.spines).map(|i| net.switch(format!("spine{i}"))).collect();
            let per_leaf = fabric.hosts.count.unwrap_or(1) as usize;
            let names: Vec<_> = network.groups().into_iter().flat_map(Named::hosts).collect();
            for (place, name) in names.into_iter().enumerate() {
                let host = net.host(name);
                net.connect(host, leaves[place / per_leaf], fabric.hosts.rate, fabric.hosts.delay);
            }
            for &leaf in &leaves {
                for &spine in &spines {
                    net.connect(leaf, spine, fabric.uplink.rate, fabric.uplink.delay);
                }
            }
        }
    }
    net
}
