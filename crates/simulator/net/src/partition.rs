//! The partition of a network into domains, for runs in several threads.
//!
//! A host goes with its switch. Domains of about equal work are built in three steps:
//!
//! * Each domain grows from the first free switch, by the neighbour that has the greatest part of
//!   its links in the domain.
//! * Switches of the highest layer are spread over the domains.
//! * Switches with more links to another domain move there.
//!
//! Shorter links are not cut as long as that costs little balance: the least delay that is cut is
//! how long domains can run without each other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{Rate, Span};

use incast_plan::topology::{Cable, Node, Topology};

/// The fewest packets for each thread, of 1,500 B, that all links together can carry in a window.
/// Threads wait for each other.
const PACKETS_PER_THREAD: u64 = 400;

/// The domains of each thread: the more, the more even.
const DOMAINS_PER_THREAD: usize = 4;

/// The domain of every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The number of domains.
    pub domains: usize,
    /// The domain of each host.
    pub hosts: Vec<usize>,
    /// The domain of each switch.
    pub switches: Vec<usize>,
}

/// The tolerated excess weight, as a divisor (10 means 1/10): of a domain over the mean after
/// moves, and, for longer windows, of the heaviest domain over the best balance.
const SLACK: u64 = 10;

/// The number of delays that are tried as the least one that is cut, the longest first.
const MOST_DELAYS: usize = 8;

/// The number of rounds in which all switches may move.
const ROUNDS: usize = 8;

/// The owner of an atom that has no domain yet: it may be taken, or is one of the tops.
const FREE: usize = usize::MAX;
const LATER: usize = usize::MAX - 1;

/// The work of a host per bit; a switch's is 1 for each bit that it sends.
const HOST_WORK: u64 = 2;

impl Partition {
    /// The domains for a run in up to `most` threads, and its number of threads: all of them, or
    /// with `as_useful` as many as the network has work for. One thread runs the network in one
    /// piece.
    pub fn for_threads(topology: &Topology, most: usize, as_useful: bool) -> (Self, usize) {
        if most == 1 {
            return (Self::new(topology, 1), 1);
        }
        let partition = Self::new(topology, most * DOMAINS_PER_THREAD);
        let useful = partition.packets_per_window(topology) / PACKETS_PER_THREAD;
        let useful = usize::try_from(useful).unwrap_or(usize::MAX);
        if !as_useful || useful >= most {
            return (partition, most);
        }
        match useful {
            0 | 1 => (Self::new(topology, 1), 1),
            threads => (Self::new(topology, threads * DOMAINS_PER_THREAD), threads),
        }
    }

    /// The packets of 1,500 B that all links together can carry in the least delay between two
    /// domains.
    fn packets_per_window(&self, topology: &Topology) -> u64 {
        let domain = |end: Node| match end {
            Node::Host(host) => self.hosts[host as usize],
            Node::Switch(switch) => self.switches[switch as usize],
        };
        let crossing = |cable: &&Cable| domain(cable.ends[0]) != domain(cable.ends[1]);
        let delays = topology.cables.iter().filter(crossing).map(|cable| cable.delay);
        let Some(window) = delays.min() else { return 0 };
        let bytes = topology.cables.iter().flat_map(|cable| cable.rates);
        let bytes = bytes.map(|rate| rate.bytes_in(window).get());
        bytes.sum::<u64>() / 1_500
    }

    /// A partition into at most `domains` domains of about equal work.
    pub fn new(topology: &Topology, domains: usize) -> Self {
        let cables = switch_cables(topology);
        let delays: BTreeSet<_> = cables.iter().map(|cable| cable.delay).collect();
        let mut tried: Vec<_> = (delays.iter().rev().take(MOST_DELAYS))
            .chain(delays.first())
            .map(|&shortest| {
                let atoms = Atoms::new(topology, &cables, shortest);
                let domains = atoms.part(domains.max(1));
                (atoms.heaviest(&domains), Reverse(shortest), atoms.of_switches(&domains))
            })
            .collect();
        let best = tried.iter().map(|&(heaviest, ..)| heaviest).min().unwrap_or(0);
        tried.retain(|&(heaviest, ..)| heaviest <= best + best / SLACK);
        let longest = tried.into_iter().min_by_key(|&(_, shortest, _)| shortest);
        let switches =
            longest.map_or_else(|| vec![0; topology.switches.len()], |(.., switches)| switches);
        Self::of_switches(topology, switches)
    }

    /// The partition with these domains of switches; hosts follow their switches.
    pub fn of_switches(topology: &Topology, switches: Vec<usize>) -> Self {
        let edges = (0..).zip(&topology.hosts).map(|(host, _)| topology.edge(host) as usize);
        let hosts = edges.map(|edge| switches[edge]).collect();
        let domains = switches.iter().max().map_or(0, |last| last + 1);
        Self { domains, hosts, switches }
    }
}

/// The mean rate of both links of a cable, in Mb/s and above zero.
fn mbps(cable: &Cable) -> u64 {
    let [there, back] = cable.rates.map(Rate::as_bps);
    u64::midpoint(there, back) / 1_000_000 + 1
}

/// A cable between switches.
struct Trunk {
    ends: [usize; 2],
    mbps: u64,
    delay: Span,
}

fn switch_cables(topology: &Topology) -> Vec<Trunk> {
    let cables = topology.cables.iter().filter_map(|cable| {
        let [Node::Switch(a), Node::Switch(b)] = cable.ends else { return None };
        let ends = [a as usize, b as usize];
        Some(Trunk { ends, mbps: mbps(cable), delay: cable.delay })
    });
    cables.collect()
}

/// Atoms, groups of switches that stay together, and the links between them.
struct Atoms {
    /// The atom of each switch.
    of_switch: Vec<usize>,
    /// The expected work: the rates of all ports.
    weights: Vec<u64>,
    /// The neighbours of each atom, with the rates of the links to them.
    near: Vec<BTreeMap<usize, u64>>,
    hosts: Vec<bool>,
}

impl Atoms {
    /// Joins switches with cables shorter than `shortest` between them to one atom.
    fn new(topology: &Topology, cables: &[Trunk], shortest: Span) -> Self {
        let of_switch = joined(topology.switches.len(), cables, shortest);
        let count = of_switch.iter().max().map_or(0, |last| last + 1);
        let mut weights = vec![0; count];
        let (mut near, mut hosts) = (vec![BTreeMap::new(); count], vec![false; count]);
        for cable in &topology.cables {
            let mbps = mbps(cable);
            for end in cable.ends {
                match end {
                    Node::Switch(switch) => weights[of_switch[switch as usize]] += mbps,
                    Node::Host(host) => {
                        let atom = of_switch[topology.edge(host) as usize];
                        weights[atom] += mbps * HOST_WORK;
                        hosts[atom] = true;
                    }
                }
            }
        }
        for &Trunk { ends, mbps, .. } in cables {
            let [a, b] = ends.map(|switch| of_switch[switch]);
            if a != b {
                *near[a].entry(b).or_default() += mbps;
                *near[b].entry(a).or_default() += mbps;
            }
        }
        Self { of_switch, weights, near, hosts }
    }

    /// The domain of each atom.
    fn part(&self, domains: usize) -> Vec<usize> {
        let tops = self.tops();
        let mut owners = self.grow(domains, &tops);
        self.spread(&mut owners, domains, &tops);
        self.exchange(&mut owners, domains);
        dense(&owners)
    }

    /// The atoms that are farthest from hosts, such as spines and the core, unless all have hosts.
    /// Such atoms have links everywhere, and would draw parts of other pods into the first domain
    /// that takes them.
    fn tops(&self) -> Vec<usize> {
        let mut far = vec![usize::MAX; self.weights.len()];
        let mut level: Vec<_> = (0..far.len()).filter(|&atom| self.hosts[atom]).collect();
        let mut tops = Vec::new();
        for distance in 0.. {
            level.retain(|&atom| far[atom] == usize::MAX);
            level.sort_unstable();
            level.dedup();
            if level.is_empty() {
                break;
            }
            for &atom in &level {
                far[atom] = distance;
            }
            let next = level.iter().flat_map(|&atom| self.near[atom].keys().copied()).collect();
            tops = std::mem::replace(&mut level, next);
        }
        if tops.iter().all(|&atom| far[atom] == 0) { Vec::new() } else { tops }
    }

    /// Grows domains over all but the tops.
    fn grow(&self, domains: usize, tops: &[usize]) -> Vec<usize> {
        let mut owners = vec![FREE; self.weights.len()];
        for &top in tops {
            owners[top] = LATER;
        }
        let placed = (0..owners.len()).filter(|&atom| owners[atom] == FREE);
        let mut left: u64 = placed.map(|atom| self.weights[atom]).sum();
        for domain in 0..domains {
            let parts = (domains - domain) as u64;
            let target = left / parts;
            let mut weight = 0;
            // The rates of the links to the domain, by free atom.
            let mut pull: BTreeMap<usize, u64> = BTreeMap::new();
            while let Some(atom) = self.pulled(&pull).or_else(|| self.seed(&owners)) {
                let own = self.weights[atom];
                if weight > 0 && parts > 1 && weight + own / 2 > target {
                    break;
                }
                owners[atom] = domain;
                weight += own;
                pull.remove(&atom);
                for (&other, &mbps) in &self.near[atom] {
                    if owners[other] == FREE {
                        *pull.entry(other).or_default() += mbps;
                    }
                }
            }
            left -= weight;
        }
        owners
    }

    /// Gives each of the tops to the domain that has most of its links, among those with room; of
    /// equal domains, to the lightest.
    fn spread(&self, owners: &mut [usize], domains: usize, tops: &[usize]) {
        let mut weights = vec![0; domains];
        for (&owner, weight) in
            owners.iter().zip(&self.weights).filter(|(owner, _)| **owner != LATER)
        {
            weights[owner] += weight;
        }
        let mean = self.weights.iter().sum::<u64>() / domains as u64;
        for &top in tops {
            let weight = self.weights[top];
            let mut links = vec![0; domains];
            for (&other, mbps) in
                self.near[top].iter().filter(|(other, _)| owners[**other] != LATER)
            {
                links[owners[other]] += mbps;
            }
            let best = (0..domains).max_by_key(|&to| {
                let room = weights[to] + weight <= mean + mean / SLACK;
                (room, if room { links[to] } else { 0 }, Reverse(weights[to]), Reverse(to))
            });
            owners[top] = best.unwrap_or(0);
            weights[owners[top]] += weight;
        }
    }

    /// The atom that has the greatest part of its links in the domain.
    fn pulled(&self, pull: &BTreeMap<usize, u64>) -> Option<usize> {
        let all = |atom: usize| self.near[atom].values().sum::<u64>();
        let mut best: Option<(usize, u128, u128)> = None;
        for (&atom, &mbps) in pull {
            let (mbps, all) = (u128::from(mbps), u128::from(all(atom)));
            if best.is_none_or(|(_, best, of)| mbps * of > best * all) {
                best = Some((atom, mbps, all));
            }
        }
        best.map(|(atom, ..)| atom)
    }

    /// The first free atom, with hosts if possible.
    fn seed(&self, owners: &[usize]) -> Option<usize> {
        let mut free = (0..owners.len()).filter(|&atom| owners[atom] == FREE);
        free.clone().find(|&atom| self.hosts[atom]).or_else(|| free.next())
    }

    /// Moves atoms to where they have more links, if there is room.
    fn exchange(&self, owners: &mut [usize], domains: usize) {
        let mut weights = vec![0; domains];
        owners.iter().zip(&self.weights).for_each(|(&owner, weight)| weights[owner] += weight);
        let mean = self.weights.iter().sum::<u64>() / domains as u64;
        for _ in 0..ROUNDS {
            let mut moved = false;
            for (atom, &weight) in self.weights.iter().enumerate() {
                let own = owners[atom];
                let mut links: BTreeMap<usize, u64> = BTreeMap::new();
                for (&other, &mbps) in &self.near[atom] {
                    *links.entry(owners[other]).or_default() += mbps;
                }
                let here = links.get(&own).copied().unwrap_or(0);
                let most = mean + mean / SLACK;
                let room = links.iter().filter(|&(&to, _)| weights[to] + weight <= most);
                let best = room.max_by_key(|&(&to, &mbps)| (mbps, Reverse(to)));
                if let Some((&to, &mbps)) = best
                    && mbps > here
                {
                    weights[own] -= weight;
                    weights[to] += weight;
                    owners[atom] = to;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    fn heaviest(&self, owners: &[usize]) -> u64 {
        let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
        for (&owner, weight) in owners.iter().zip(&self.weights) {
            *weights.entry(owner).or_default() += weight;
        }
        weights.into_values().max().unwrap_or(0)
    }

    fn of_switches(&self, owners: &[usize]) -> Vec<usize> {
        self.of_switch.iter().map(|&atom| owners[atom]).collect()
    }
}

/// Groups switches joined by cables shorter than `shortest`, numbered in the order of the first of
/// each.
fn joined(switches: usize, cables: &[Trunk], shortest: Span) -> Vec<usize> {
    let mut first: Vec<_> = (0..switches).collect();
    let root = |first: &[usize], mut at: usize| {
        while first[at] != at {
            at = first[at];
        }
        at
    };
    for cable in cables.iter().filter(|cable| cable.delay < shortest) {
        let [a, b] = cable.ends.map(|end| root(&first, end));
        first[a.max(b)] = a.min(b);
    }
    let roots: Vec<_> = (0..switches).map(|switch| root(&first, switch)).collect();
    dense(&roots)
}

/// Renumbers groups from 0 without gaps, in the order of the first of each.
fn dense(groups: &[usize]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    for &group in groups {
        let next = numbers.len();
        numbers.entry(group).or_insert(next);
    }
    groups.iter().map(|group| numbers[group]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_scenario::Document;
    use incast_scenario::topology;

    fn network(network: &str) -> Topology {
        let text = format!(
            "title = \"a network\"\nrun = {{ duration = \"1ms\", schemes = [\"timely\"] }}\n\
             traffic = [{{ kind = \"connections\", from = \"host0\", to = \"host1\" }}]\n[network.{network}"
        );
        let document = Document::parse(text, "network.toml").unwrap_or_else(|e| panic!("{e}"));
        topology(document.scenario())
    }

    fn fat_tree(k: u32) -> Topology {
        network(&format!(
            "fat-tree]\nk = {k}\nhosts = {{ name = \"host\", rate = \"100Gbps\", delay = \"1us\" }}\n\
             link = {{ rate = \"100Gbps\", delay = \"1us\" }}"
        ))
    }

    fn star() -> Topology {
        network(
            "star]\nhosts = [{ name = \"host\", count = 99, rate = \"10Gbps\", delay = \"1us\" }]",
        )
    }

    /// The weight of the heaviest domain over the mean, and the share of cables between switches
    /// that are cut.
    fn quality(topology: &Topology, partition: &Partition) -> (f64, f64) {
        let cables = switch_cables(topology);
        let atoms = Atoms::new(topology, &cables, Span::ZERO);
        let mean = atoms.weights.iter().sum::<u64>() as f64 / partition.domains as f64;
        let cut = cables.iter().filter(|cable| {
            let [a, b] = cable.ends.map(|end| partition.switches[end]);
            a != b
        });
        let heaviest = atoms.heaviest(&partition.switches) as f64;
        (heaviest / mean, cut.count() as f64 / cables.len() as f64)
    }

    #[test]
    fn pods_of_a_fat_tree_stay_together() {
        let tree = fat_tree(8);
        let partition = Partition::new(&tree, 8);
        assert_eq!(partition.domains, 8);
        let pod = |switch: &String| -> usize {
            let number = switch.trim_start_matches(char::is_alphabetic);
            number.parse::<usize>().unwrap() / 4
        };
        for (switch, &domain) in tree.switches.iter().zip(&partition.switches) {
            assert!(switch.starts_with("core") || pod(switch) == domain, "{switch} in {domain}");
        }
        let (heaviest, cut) = quality(&tree, &partition);
        assert!(heaviest < 1.01 && cut <= 0.5, "{heaviest} {cut}");
    }

    #[test]
    fn domains_are_about_equal_and_hosts_are_with_their_switch() {
        for (tree, domains) in [(fat_tree(4), 2), (fat_tree(8), 3), (fat_tree(8), 16)] {
            let partition = Partition::new(&tree, domains);
            assert_eq!(partition.domains, domains);
            let (heaviest, _) = quality(&tree, &partition);
            assert!(heaviest < 1.3, "{heaviest} of {domains}");
            for host in 0..tree.hosts.len() {
                let edge = tree.edge(u32::try_from(host).unwrap()) as usize;
                assert_eq!(partition.hosts[host], partition.switches[edge]);
            }
        }
    }

    #[test]
    fn short_links_are_not_cut_where_long_ones_do() {
        // Two sites of two switches each, 1 us inside, 50 us between them.
        let link = |ends: [&str; 2], delay: &str| {
            format!(
                "{{ ends = [\"{}\", \"{}\"], rate = \"10Gbps\", delay = \"{delay}\" }},",
                ends[0], ends[1]
            )
        };
        let links = [
            link(["host0", "s0"], "1us"),
            link(["host1", "s1"], "1us"),
            link(["host2", "s2"], "1us"),
            link(["host3", "s3"], "1us"),
            link(["s0", "s2"], "1us"),
            link(["s1", "s3"], "1us"),
            link(["s0", "s1"], "50us"),
            link(["s2", "s3"], "50us"),
        ];
        let sites = network(&format!(
            "graph]\nhosts = [{{ name = \"host\", count = 4 }}]\n\
             switches = [{{ name = \"s\", count = 4 }}]\nlinks = [{}]",
            links.concat()
        ));
        assert_eq!(Partition::new(&sites, 2).switches, [0, 1, 0, 1]);
        // Four domains are not possible without cutting the short links.
        assert_eq!(Partition::new(&sites, 4).domains, 4);
    }

    #[test]
    fn one_switch_is_one_domain_however_many_are_asked_for() {
        for (most, as_useful) in [(1, false), (2, false), (256, false), (2, true)] {
            let (partition, _) = Partition::for_threads(&star(), most, as_useful);
            assert_eq!(partition.domains, 1);
        }
    }

    #[test]
    fn one_thread_has_one_domain_and_each_of_several_has_four() {
        for k in [4, 16] {
            let of = |threads| {
                let (partition, threads) = Partition::for_threads(&fat_tree(k), threads, false);
                (partition.domains, threads)
            };
            assert_eq!([of(1), of(2), of(3)], [(1, 1), (8, 2), (12, 3)], "k = {k}");
        }
    }
}
