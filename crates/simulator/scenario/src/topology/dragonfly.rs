//! A dragonfly: groups of fully connected routers, with long links between all groups.
//!
//! Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.
//! In the paper's letters, a group has a routers. Each router has p hosts, a - 1 local links and h
//! global links. There are g groups, up to a h + 1. With a = 2 p = 2 h, no kind of link is a
//! bottleneck under uniform traffic (section 3.1).
//!
//! Global links have the consecutive arrangement. The a h global ports of a group are numbered
//! router by router. Port k of group i leads to group i + 1 + (k mod (g - 1)), modulo g.

use incast_plan::topology::{Layer, Topology};
use incast_schema::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NetworkKind;
use super::parts::{Cable, HostGroup, Named, in_range, not_too_many};

/// The length of global links for routing. Minimal routing crosses at most one of them (section
/// 4.1), so two must be longer than a global link between two local ones.
const GLOBAL_LENGTH: u32 = 3;

/// Groups of fully connected routers, with long links between all groups.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dragonfly {
    /// The number of groups (g). All pairs of groups have the same number of links: `routers` x
    /// `global_links` is a multiple of the number of other groups.
    pub groups: u32,
    /// The number of routers of each group (a).
    pub routers: u32,
    /// The number of links of each router to other groups (h), each to a different group.
    pub global_links: u32,
    /// The hosts of each router (p); they are numbered consecutively, router by router.
    pub hosts: HostGroup,
    /// The links within groups.
    pub local: Cable,
    /// The links between groups.
    pub global: Cable,
}

impl Dragonfly {
    /// The number of hosts of each router.
    fn each(&self) -> u32 {
        self.hosts.count.unwrap_or(1)
    }

    /// Whether `groups` groups divide the global links of a group evenly.
    fn fits(&self, groups: u32) -> bool {
        let (ports, others) = (self.routers * self.global_links, groups - 1);
        (self.global_links..=ports).contains(&others) && ports.is_multiple_of(others)
    }

    /// The far end of global port `port` of a group: the group, and the port there.
    fn far_end(&self, group: u32, port: u32) -> (u32, u32) {
        let others = self.groups - 1;
        let (round, place) = (port / others, port % others);
        ((group + 1 + place) % self.groups, round * others + (others - 1 - place))
    }
}

impl NetworkKind for Dragonfly {
    const NAME: &'static str = "dragonfly";
    const SUMMARY: &'static str = "Groups of routers: all connected within a group, and by long \
                                   links from each group to each.";

    fn check(&self) -> Result<(), Fault> {
        let Self { groups, routers, global_links, .. } = *self;
        in_range("groups", groups, 2)?;
        in_range("routers", routers, 1)?;
        in_range("global_links", global_links, 1)?;
        let [g, a, h] = [groups, routers, global_links].map(u64::from);
        not_too_many("groups", g * a, g * a * (a - 1 + h) / 2)?;
        if !self.fits(groups) {
            let below = (2..groups).rev().find(|&other| self.fits(other));
            let above = (groups + 1..=routers * global_links + 1).find(|&other| self.fits(other));
            let fitting: Vec<_> =
                below.into_iter().chain(above).map(|groups| groups.to_string()).collect();
            let message = format!(
                "{groups} groups do not share out the {routers} x {global_links} global links of \
                 each evenly; expected {}",
                fitting.join(" or ")
            );
            return Err(Fault::at([&"groups"], message));
        }
        self.hosts.check("hosts", self.each(), groups * routers)
    }

    fn groups(&self) -> Vec<Named<'_>> {
        vec![self.hosts.per_switch(self.each(), self.groups.saturating_mul(self.routers))]
    }

    fn build(&self, net: &mut Topology) {
        let routers = net.layer(Layer::Router, self.groups * self.routers);
        self.hosts.attach(net, &routers, self.each());
        let groups: Vec<_> = routers.chunks(self.routers as usize).collect();
        for group in &groups {
            net.group(group);
            for (place, &router) in group.iter().enumerate() {
                for &other in &group[place + 1..] {
                    net.connect(router, other, self.local.rate, self.local.delay);
                }
            }
        }
        let router =
            |group: u32, port: u32| groups[group as usize][(port / self.global_links) as usize];
        for group in 0..self.groups {
            for port in 0..self.routers * self.global_links {
                let (other, there) = self.far_end(group, port);
                if group < other {
                    let ends = (router(group, port), router(other, there));
                    let cable = net.connect(ends.0, ends.1, self.global.rate, self.global.delay);
                    cable.length = GLOBAL_LENGTH;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, VecDeque};

    use incast_plan::topology::Node;

    use super::super::tests::{built, refused};
    use super::*;

    fn text(groups: u32, routers: u32, hosts: u32, global_links: u32) -> String {
        format!(
            "groups = {groups}\nrouters = {routers}\n\
             global_links = {global_links}\n\
             hosts = {{ name = \"host\", count = {hosts}, rate = \"10Gbps\", delay = \"1us\" }}\n\
             local = {{ rate = \"20Gbps\", delay = \"1us\" }}\n\
             global = {{ rate = \"40Gbps\", delay = \"5us\" }}"
        )
    }

    fn switch(node: Node) -> Option<u32> {
        if let Node::Switch(switch) = node { Some(switch) } else { None }
    }

    /// The links between switches, as pairs of numbers.
    fn links(net: &Topology) -> Vec<[u32; 2]> {
        let ends = net.cables.iter().filter_map(|cable| {
            let [a, b] = cable.ends.map(switch);
            Some([a?, b?])
        });
        ends.collect()
    }

    /// The largest number of links between two switches on a shortest path.
    fn diameter(net: &Topology) -> u32 {
        let mut neighbours = vec![vec![]; net.switches.len()];
        for [a, b] in links(net) {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        let farthest = |from: usize| {
            let mut distance = vec![u32::MAX; net.switches.len()];
            distance[from] = 0;
            let mut reached = VecDeque::from([from]);
            while let Some(switch) = reached.pop_front() {
                for &other in &neighbours[switch] {
                    if distance[other as usize] == u32::MAX {
                        distance[other as usize] = distance[switch] + 1;
                        reached.push_back(other as usize);
                    }
                }
            }
            distance.into_iter().max().unwrap()
        };
        (0..net.switches.len()).map(farthest).max().unwrap()
    }

    #[test]
    fn a_dragonfly_has_the_numbers_of_the_paper() {
        // Balanced dragonflies with a = 2 p = 2 h, and others, with the largest number of groups.
        for (a, p, h) in [(2, 1, 1), (4, 2, 2), (8, 4, 4), (1, 3, 5), (3, 1, 1), (5, 2, 3)] {
            let g = a * h + 1;
            let net = built::<Dragonfly>(&text(g, a, p, h));
            let [routers, hosts] = [g * a, g * a * p].map(|count| count as usize);
            assert_eq!((net.switches.len(), net.hosts.len()), (routers, hosts), "{a} {p} {h}");
            let links = links(&net);
            let count = g * a * (a - 1) / 2 + g * (g - 1) / 2;
            assert_eq!(links.len(), count as usize);
            assert_eq!(net.cables.len(), hosts + links.len());
            // Each router has k = p + (a - 1) + h ports.
            let ports = (p + a - 1 + h) as usize;
            assert!(net.ports().switches.iter().all(|own| own.len() == ports));
            // Each pair of groups has exactly one global link, and each kind of link has its rate.
            let mut between = BTreeMap::new();
            for (cable, [one, other]) in net.cables[hosts..].iter().zip(&links) {
                let (one, other) = (one / a, other / a);
                assert!(one <= other);
                let rate = if one == other { 20.0 } else { 40.0 };
                assert_eq!(cable.rates[0].as_gbps_f64(), rate);
                *between.entry((one, other)).or_insert(0_u32) += u32::from(one != other);
            }
            let pairs = (0..g).flat_map(|one| (one + 1..g).map(move |other| (one, other)));
            assert!(pairs.clone().all(|pair| between[&pair] == 1));
            // Local, global, local; with one router in a group only a global link.
            assert_eq!(diameter(&net), if a == 1 { 1 } else { 3 });
        }
    }

    #[test]
    fn fewer_groups_have_several_links_between_each_two() {
        // Each group has 8 global links, to 4 others.
        let net = built::<Dragonfly>(&text(5, 4, 2, 2));
        let mut between = BTreeMap::new();
        let links = links(&net);
        for [one, other] in &links {
            if one / 4 != other / 4 {
                *between.entry((one / 4, other / 4)).or_insert(0) += 1;
            }
        }
        assert_eq!(between.len(), 5 * 4 / 2);
        assert!(between.values().all(|&links| links == 2));
        assert_eq!(links.iter().collect::<BTreeSet<_>>().len(), links.len(), "no two alike");
        assert!(net.ports().switches.iter().all(|own| own.len() == 2 + 3 + 2));
        assert!(diameter(&net) <= 3);
    }

    #[test]
    fn global_links_are_consecutive() {
        // Router 1 of group 0 has global ports 2 and 3, which lead to groups 3 and 4.
        let net = built::<Dragonfly>(&text(9, 4, 2, 2));
        let far = |router: u32| {
            let own = links(&net).into_iter().filter(|ends| ends.contains(&router));
            let others = own.map(|[a, b]| if a == router { b } else { a });
            others.filter(|other| other / 4 != router / 4).collect::<Vec<_>>()
        };
        // There they arrive at ports 8 - 1 - 2 and 8 - 1 - 3, both of router 2.
        assert_eq!(far(1), [3 * 4 + 2, 4 * 4 + 2]);
        assert_eq!(net.hosts.len(), 72);
        assert_eq!(net.switches[net.edge(17) as usize], "router8");
        assert!((0..36).all(|router| net.groups[router as usize] == router / 4 * 4));
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        for (groups, routers, hosts, links, expected) in [
            (7, 4, 2, 2, "groups: 7 groups do not share out the 4 x 2 global links of each evenly"),
            (7, 4, 2, 2, "expected 5 or 9"),
            (10, 4, 2, 2, "10 groups do not share out"),
            (10, 4, 2, 2, "expected 9"),
            // Both global links of a router would lead to the one other group.
            (2, 4, 2, 2, "expected 3"),
            (1, 4, 2, 2, "groups: 1 is out of range; expected 2 to 4096"),
            (9, 0, 2, 2, "routers: 0 is out of range"),
            (9, 4, 0, 2, "hosts.count: 0 hosts"),
            (9, 4, 2, 0, "global_links: 0 is out of range"),
            (4096, 4096, 1, 1, "groups: 16777216 switches; expected 1 to 32768"),
        ] {
            let said = refused::<Dragonfly>(&text(groups, routers, hosts, links));
            assert!(said.contains(expected), "{said}: {expected}");
        }
    }
}
