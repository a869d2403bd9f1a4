//! Trees of links that connect all switches with hosts, and share no link with each other.
//!
//! PFC cannot dead-lock where each packet stays in one of these trees. A packet waits for the next
//! link on its way, which is another link of the same tree, and it never turns back. A circle of
//! links that wait for each other would be a walk in one tree that comes back to its start without
//! turning back, and a tree has none. Links of different trees never wait for each other, since no
//! packet leaves its tree. Links to hosts wait for nothing, and nothing waits for links from hosts.
//!
//! The construction is this project's own. Let each of n trees be found in turn: the tree of
//! shortest paths from a root over links that are free, without branches that lead to no host. The
//! root is taken whose tree has the fewest links, then the least sum of depths, then the lowest
//! number. A switch with hosts gives a tree no more than its share of links, so that links are left
//! for the others. n is the highest number for which all are found.

use std::collections::VecDeque;

use crate::topology::{Node, Ports, Topology};

/// A tree that connects all switches with hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The way of each switch towards the root; [`None`] for the root and outside of the tree.
    up: Vec<Option<Step>>,
    /// The number of links.
    links: usize,
    /// The sum of the depths of all switches with hosts.
    depths: usize,
}

/// A step from a switch to the next one towards the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    cable: usize,
    parent: u32,
}

impl Tree {
    /// The cables from a switch to another, each with its sending end.
    pub fn path(&self, topology: &Topology, from: u32, to: u32) -> Vec<(usize, usize)> {
        let (mut up, mut down) = (self.to_root(from), self.to_root(to));
        while up.last().is_some() && up.last() == down.last() {
            up.pop();
            down.pop();
        }
        let from_child = |step: Step| {
            let parent = Node::Switch(step.parent);
            (step.cable, usize::from(topology.cables[step.cable].ends[0] == parent))
        };
        let climbs = up.into_iter().map(from_child);
        let descends = down.into_iter().rev().map(|step| {
            let (cable, end) = from_child(step);
            (cable, 1 - end)
        });
        climbs.chain(descends).collect()
    }

    fn to_root(&self, from: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = from;
        while let Some(step) = self.up[at as usize] {
            steps.push(step);
            at = step.parent;
        }
        steps
    }

    /// The cables of the tree.
    pub fn cables(&self) -> impl Iterator<Item = usize> {
        self.up.iter().flatten().map(|step| step.cable)
    }
}

/// Trees that share no link and connect all switches with hosts: as many as are found, and `most`
/// at most. Empty where not all of these switches are connected.
pub fn spanning_trees(topology: &Topology, ports: &Ports, most: Option<u32>) -> Vec<Tree> {
    let graph = Graph::of(topology, ports);
    let most = most.map_or(usize::MAX, |most| most as usize);
    let count = graph.bound().min(most).max(1);
    (1..=count).rev().find_map(|count| graph.trees(count)).unwrap_or_default()
}

/// A link between switches.
struct Neighbour {
    cable: usize,
    switch: u32,
}

/// The links between switches.
struct Graph {
    neighbours: Vec<Vec<Neighbour>>,
    /// Whether each switch has hosts.
    is_edge: Vec<bool>,
    cables: usize,
}

impl Graph {
    fn of(topology: &Topology, ports: &Ports) -> Self {
        let far = |&port: &(usize, usize)| match topology.far_end(port) {
            Node::Switch(switch) => Some(Neighbour { cable: port.0, switch }),
            Node::Host(_) => None,
        };
        let is_host = |&port: &(usize, usize)| matches!(topology.far_end(port), Node::Host(_));
        Self {
            neighbours: ports
                .switches
                .iter()
                .map(|own| own.iter().filter_map(far).collect())
                .collect(),
            is_edge: ports.switches.iter().map(|own| own.iter().any(is_host)).collect(),
            cables: topology.cables.len(),
        }
    }

    /// A bound of the number of trees: each needs a link at every switch with hosts, and a link
    /// less than there are such switches.
    fn bound(&self) -> usize {
        let edges = || self.neighbours.iter().zip(&self.is_edge).filter(|(_, is_edge)| **is_edge);
        let least = edges().map(|(links, _)| links.len()).min().unwrap_or(0);
        let links = self.neighbours.iter().map(Vec::len).sum::<usize>() / 2;
        least.min(links / (edges().count().max(2) - 1))
    }

    /// `count` trees; [`None`] where not all are found.
    fn trees(&self, count: usize) -> Option<Vec<Tree>> {
        let mut used = vec![false; self.cables];
        let mut trees = Vec::with_capacity(count);
        for _ in 0..count {
            let roots = 0..u32::try_from(self.neighbours.len()).unwrap_or(u32::MAX);
            let found = roots.filter_map(|root| self.tree(root, &used, count));
            let tree = found.min_by_key(|tree| (tree.links, tree.depths))?;
            tree.cables().for_each(|cable| used[cable] = true);
            trees.push(tree);
        }
        Some(trees)
    }

    /// The tree of shortest paths from `root` over links that are not `used`, one of `count` trees.
    fn tree(&self, root: u32, used: &[bool], count: usize) -> Option<Tree> {
        let switches = self.neighbours.len();
        let (mut up, mut depth) = (vec![None; switches], vec![usize::MAX; switches]);
        depth[root as usize] = 0;
        let mut reached = VecDeque::from([root]);
        while let Some(switch) = reached.pop_front() {
            let own = &self.neighbours[switch as usize];
            // A tree is one tree's share of a switch's links, and never less than a way through.
            let share = own.len().div_ceil(count).max(2);
            let before = usize::from(switch != root);
            let most = if self.is_edge[switch as usize] { share - before } else { usize::MAX };
            let mut taken = 0;
            for next in own {
                if taken == most {
                    break;
                }
                if used[next.cable] || depth[next.switch as usize] != usize::MAX {
                    continue;
                }
                depth[next.switch as usize] = depth[switch as usize] + 1;
                up[next.switch as usize] = Some(Step { cable: next.cable, parent: switch });
                reached.push_back(next.switch);
                taken += 1;
            }
        }
        self.without_bare_branches(root, &up, &depth)
    }

    /// The tree without branches that lead to no host; [`None`] where it leaves out a switch with
    /// hosts.
    fn without_bare_branches(
        &self,
        root: u32,
        up: &[Option<Step>],
        depth: &[usize],
    ) -> Option<Tree> {
        let mut kept = vec![None; up.len()];
        let (mut links, mut depths) = (0, 0);
        for (switch, _) in (0..).zip(&self.is_edge).filter(|(_, is_edge)| **is_edge) {
            let mut at: u32 = switch;
            if depth[at as usize] == usize::MAX {
                return None;
            }
            depths += depth[at as usize];
            while at != root && kept[at as usize].is_none() {
                let step = up[at as usize]?;
                kept[at as usize] = Some(step);
                links += 1;
                at = step.parent;
            }
        }
        Some(Tree { up: kept, links, depths })
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::parts::random::Random;
    use incast_cc::{Rate, Span};

    use super::*;
    use crate::topology::Layer;

    /// Switches with these cables between them, of which the first `edges` have a host each.
    fn network(switches: u32, edges: u32, cables: &[(u32, u32)]) -> (Topology, Ports) {
        let mut topology = Topology::default();
        let all = topology.layer(Layer::Switch, switches);
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        for edge in 0..edges {
            let host = topology.host(format!("h{edge}"));
            topology.connect(host, all[edge as usize], rate, delay);
        }
        for &(a, b) in cables {
            topology.connect(all[a as usize], all[b as usize], rate, delay);
        }
        let ports = topology.ports();
        (topology, ports)
    }

    fn leaf_spine(leaves: u32, spines: u32) -> (Topology, Ports) {
        let cables = (0..leaves).flat_map(|leaf| (0..spines).map(move |s| (leaf, leaves + s)));
        network(leaves + spines, leaves, &cables.collect::<Vec<_>>())
    }

    /// Checks that the trees share no cable, and that each has a path between all switches with
    /// hosts.
    fn check(topology: &Topology, edges: u32, trees: &[Tree]) {
        let mut used = vec![false; topology.cables.len()];
        for tree in trees {
            for cable in tree.cables() {
                assert!(!std::mem::replace(&mut used[cable], true), "a cable of two trees");
            }
            for (from, to) in (0..edges).flat_map(|from| (0..edges).map(move |to| (from, to))) {
                let mut at = Node::Switch(from);
                for (cable, end) in tree.path(topology, from, to) {
                    assert_eq!(topology.cables[cable].ends[end], at);
                    at = topology.far_end((cable, end));
                }
                assert_eq!(at, Node::Switch(to));
            }
        }
    }

    #[test]
    fn a_leaf_spine_network_has_a_tree_for_each_spine() {
        let (topology, ports) = leaf_spine(6, 4);
        let trees = spanning_trees(&topology, &ports, None);
        assert_eq!(trees.len(), 4);
        check(&topology, 6, &trees);
        // Each goes over one spine: two links between any two leaves.
        assert!(trees.iter().all(|tree| tree.path(&topology, 1, 4).len() == 2));
        assert_eq!(spanning_trees(&topology, &ports, Some(3)).len(), 3);
    }

    #[test]
    fn a_ring_has_one_tree_and_a_line_its_own() {
        for (cables, longest) in [(&[(0, 1), (1, 2), (2, 3), (3, 0)][..], 3), (&[(0, 1)], 1)] {
            let switches = u32::try_from(cables.len()).unwrap().max(2);
            let (topology, ports) = network(switches, switches, cables);
            let trees = spanning_trees(&topology, &ports, None);
            assert_eq!(trees.len(), 1);
            check(&topology, switches, &trees);
            let all = (0..switches).flat_map(|a| (0..switches).map(move |b| (a, b)));
            let lengths = all.map(|(a, b)| trees[0].path(&topology, a, b).len());
            assert_eq!(lengths.max(), Some(longest));
        }
    }

    #[test]
    fn switches_that_are_not_connected_have_no_tree() {
        let (topology, ports) = network(3, 3, &[(0, 1)]);
        assert!(spanning_trees(&topology, &ports, None).is_empty());
        let (alone, ports) = network(1, 1, &[]);
        assert_eq!(spanning_trees(&alone, &ports, None).len(), 1, "no link is needed");
    }

    #[test]
    fn trees_of_random_networks_share_no_link() {
        let mut random = Random::new(5);
        let mut several = 0;
        for _ in 0..300 {
            let switches = 2 + random.below(14);
            let mut cables: Vec<_> = (1..switches).map(|s| (random.below(s), s)).collect();
            for _ in 0..random.below(40) {
                let (a, b) = (random.below(switches), random.below(switches));
                if a != b && !cables.contains(&(a, b)) && !cables.contains(&(b, a)) {
                    cables.push((a, b));
                }
            }
            let edges = 1 + random.below(switches);
            let (topology, ports) = network(switches, edges, &cables);
            let trees = spanning_trees(&topology, &ports, None);
            assert!(!trees.is_empty(), "a connected network has a tree");
            check(&topology, edges, &trees);
            several += u32::from(trees.len() > 1);
        }
        assert!(several > 50, "or it says little: {several}");
    }
}
