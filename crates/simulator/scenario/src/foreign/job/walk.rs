//! A job done without time: whether every node begins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::super::ForeignError;
use super::{JobGraph, Node, order};

/// The error for nodes of a rank that wait for each other.
pub(super) fn local_cycle(job: &JobGraph, rank: u32) -> ForeignError {
    let graph = &job.ranks[rank as usize];
    let (first, followers) = order::followers(graph);
    let mut needs = order::needs(graph);
    let numbers = (0..).take(graph.nodes().len());
    let mut ready: Vec<u32> = numbers.clone().filter(|&node| needs[node as usize] == 0).collect();
    while let Some(node) = ready.pop() {
        let range = first[node as usize] as usize..first[node as usize + 1] as usize;
        for &follower in &followers[range] {
            needs[follower as usize] -= 1;
            if needs[follower as usize] == 0 {
                ready.push(follower);
            }
        }
    }
    let waits = |node: u32| needs[node as usize] > 0;
    let start = numbers.clone().find(|&node| waits(node)).unwrap_or_default();
    let next = |node: u32| graph.before(node).map(|before| before.node).find(|&node| waits(node));
    let cycle = circle((rank, start), |(_, node)| next(node).map(|node| (rank, node)));
    told(job, cycle)
}

/// The circle that one comes to from `start`, in the order of waiting.
fn circle(start: (u32, u32), next: impl Fn((u32, u32)) -> Option<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut places = BTreeMap::new();
    let (mut way, mut node) = (Vec::new(), start);
    loop {
        if let Some(&place) = places.get(&node) {
            return way.split_off(place);
        }
        places.insert(node, way.len());
        way.push(node);
        match next(node) {
            Some(before) => node = before,
            None => return way,
        }
    }
}

/// The error about a circle, which is told from its first node in the file on.
fn told(job: &JobGraph, mut cycle: Vec<(u32, u32)>) -> ForeignError {
    let first = (0..cycle.len()).min_by_key(|&place| cycle[place]).unwrap_or_default();
    cycle.rotate_left(first);
    let (rank, node) = cycle.first().copied().unwrap_or_default();
    let reason = format!(
        "it never begins, since nodes wait for each other in a circle: {}; take one dependency out",
        job.marks(&cycle)
    );
    job.refused(rank, node, reason)
}

/// A way of messages: the receiving rank, the sending rank and the tag.
type Way = (u32, u32, u32);

/// The state of a rank.
struct Rank {
    order: Vec<u32>,
    first: Vec<u32>,
    followers: Vec<u32>,
    needs: Vec<u32>,
    done: Vec<bool>,
    ready: Vec<u32>,
    /// The collectives of each group that have not ended, in their order, and whether they are
    /// ready.
    collectives: BTreeMap<u32, VecDeque<(u32, bool)>>,
}

/// The messages of a way that have come and have no receive, or the receives that have no message.
#[derive(Default)]
struct Meeting {
    early: u32,
    waiting: BinaryHeap<Reverse<u32>>,
}

/// Checks that every node begins, whatever the times are. Receives of one way take messages in the
/// order of the file. A job with receives from any rank is not looked at, since its order depends
/// on times.
pub(super) fn all_begin(job: &JobGraph) -> Result<(), ForeignError> {
    if job.ranks.iter().any(|rank| rank.nodes().iter().any(|node| node.is_open())) {
        return Ok(());
    }
    let mut walk = Walk::new(job);
    walk.go();
    walk.stuck()
}

struct Walk<'a> {
    job: &'a JobGraph,
    ranks: Vec<Rank>,
    meetings: BTreeMap<Way, Meeting>,
    /// The number of members of each group that have come to its next collective.
    gathered: Vec<usize>,
    /// Ranks with nodes that are ready.
    busy: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(job: &'a JobGraph) -> Self {
        let rank = |number: u32| {
            let graph = &job.ranks[number as usize];
            let (first, followers) = order::followers(graph);
            let needs = order::needs(graph);
            let order = job.order(number);
            let free = order.iter().rev().copied();
            let ready = free.filter(|&node| needs[node as usize] == 0).collect();
            let done = vec![false; graph.nodes().len()];
            let mut collectives: BTreeMap<u32, VecDeque<_>> = BTreeMap::new();
            for &node in &order {
                if let Node::Collective { group, .. } = graph.nodes()[node as usize] {
                    collectives.entry(group).or_default().push_back((node, false));
                }
            }
            Rank { order, first, followers, needs, done, ready, collectives }
        };
        let count = u32::try_from(job.ranks.len()).unwrap_or(u32::MAX);
        Self {
            job,
            ranks: (0..count).map(rank).collect(),
            meetings: BTreeMap::new(),
            gathered: vec![0; job.groups.len()],
            busy: (0..count).collect(),
        }
    }

    fn go(&mut self) {
        while let Some(rank) = self.busy.pop() {
            while let Some(node) = self.ranks[rank as usize].ready.pop() {
                self.begin(rank, node);
            }
        }
    }

    fn begin(&mut self, rank: u32, node: u32) {
        match self.job.ranks[rank as usize].nodes()[node as usize] {
            Node::Compute { .. } => self.end(rank, node),
            Node::Send { to, tag, .. } => {
                let meeting = self.meetings.entry((to, rank, tag)).or_default();
                let waiting = meeting.waiting.pop();
                if waiting.is_none() {
                    meeting.early += 1;
                }
                self.end(rank, node);
                if let Some(Reverse(receive)) = waiting {
                    self.end(to, receive);
                    self.busy.push(to);
                }
            }
            Node::Receive { from, tag, .. } => {
                let meeting = self.meetings.entry((rank, from, tag)).or_default();
                if meeting.early > 0 {
                    meeting.early -= 1;
                    self.end(rank, node);
                } else {
                    meeting.waiting.push(Reverse(node));
                }
            }
            Node::Collective { group, .. } => {
                let all = self.ranks[rank as usize].collectives.entry(group).or_default();
                for own in all.iter_mut().filter(|own| own.0 == node) {
                    own.1 = true;
                }
                if all.front().is_some_and(|own| own.0 == node) {
                    self.gathered[group as usize] += 1;
                }
                self.gather(group);
            }
        }
    }

    /// Ends the collectives to which all ranks of a group have come.
    fn gather(&mut self, group: u32) {
        let members = &self.job.groups[group as usize];
        while self.gathered[group as usize] == members.len() {
            self.gathered[group as usize] = 0;
            for &rank in members {
                let all = self.ranks[rank as usize].collectives.entry(group).or_default();
                let Some((node, _)) = all.pop_front() else { continue };
                if all.front().is_some_and(|&(_, ready)| ready) {
                    self.gathered[group as usize] += 1;
                }
                self.end(rank, node);
                self.busy.push(rank);
            }
        }
    }

    fn end(&mut self, rank: u32, node: u32) {
        let Rank { first, followers, needs, done, ready, .. } = &mut self.ranks[rank as usize];
        done[node as usize] = true;
        for &follower in
            &followers[first[node as usize] as usize..first[node as usize + 1] as usize]
        {
            let left = &mut needs[follower as usize];
            *left -= 1;
            if *left == 0 {
                ready.push(follower);
            }
        }
    }

    /// The error, if a node has not ended.
    fn stuck(&self) -> Result<(), ForeignError> {
        let start = (0..).zip(&self.ranks).find_map(|(number, rank): (u32, _)| {
            let open = rank.order.iter().find(|&&node| !rank.done[node as usize]);
            open.map(|&node| (number, node))
        });
        let Some(start) = start else { return Ok(()) };
        Err(told(self.job, circle(start, |node| self.waits_for(node))))
    }

    /// A node that must end before this one.
    fn waits_for(&self, (rank, node): (u32, u32)) -> Option<(u32, u32)> {
        let graph = &self.job.ranks[rank as usize];
        let open = |rank: u32, node: u32| !self.ranks[rank as usize].done[node as usize];
        let local = graph.before(node).map(|before| before.node).find(|&node| open(rank, node));
        if let Some(before) = local {
            return Some((rank, before));
        }
        let first = |rank: u32, wanted: &dyn Fn(Node) -> bool| {
            let nodes = self.job.ranks[rank as usize].nodes();
            let order = self.ranks[rank as usize].order.iter().copied();
            let mut there = order.filter(|&node| open(rank, node) && wanted(nodes[node as usize]));
            there.next().map(|node| (rank, node))
        };
        match graph.nodes()[node as usize] {
            Node::Receive { from, tag, .. } => first(from, &|node| {
                matches!(node, Node::Send { to, tag: own, .. }
                    if (to, own) == (rank, tag))
            }),
            Node::Collective { group, .. } => {
                let come = |member: u32| {
                    let all = self.ranks[member as usize].collectives.get(&group);
                    all.and_then(VecDeque::front).is_some_and(|&(_, ready)| ready)
                };
                let mut members = self.job.groups[group as usize].iter();
                let late = members.find(|&&member| !come(member))?;
                first(*late, &|node| {
                    matches!(node, Node::Collective { group: own, .. }
                    if own == group)
                })
            }
            Node::Send { .. } | Node::Compute { .. } => None,
        }
    }
}
