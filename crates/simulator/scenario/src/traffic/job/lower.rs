//! The graph of a job as the steps of its ranks.

use std::collections::BTreeMap;

use incast_cc::Span;
use incast_plan::collective::{self, Collective, Group};
use incast_plan::part::{Part, Peer, Script};

use crate::foreign::job::{JobGraph, Node, Operation, RankGraph};

/// The parts of all ranks, with computing times `scale` times as long.
pub(super) fn parts(graph: &JobGraph, scale: f64) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(graph.ranks.len());
    let first_lane = first_lane(graph);
    for rank in (0..).take(graph.ranks.len()) {
        let mut writer = Writer::new(graph, rank, scale, first_lane);
        for node in graph.order(rank) {
            writer.write(node);
        }
        parts.push(writer.script.finish(parts.last()));
    }
    parts
}

/// The first lane that no tag takes. Each group has lanes of its own from there on.
fn first_lane(graph: &JobGraph) -> u32 {
    let tags = graph.ranks.iter().flat_map(RankGraph::nodes).map(|node| match *node {
        Node::Send { tag, .. } => tag.saturating_add(1),
        _ => 0,
    });
    tags.max().unwrap_or(0)
}

/// No step: a node without one begins with the round.
const NONE: u32 = u32::MAX;

/// The steps of a rank while its nodes are written.
struct Writer<'a> {
    graph: &'a JobGraph,
    rank: u32,
    nodes: &'a RankGraph,
    scale: f64,
    script: Script,
    /// The step whose end is the start of a node that others wait for, and that of its end.
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// Whether others wait for the start of a node.
    watched: Vec<bool>,
    /// Whether several computations share a stream.
    shared: Vec<bool>,
    first_lane: u32,
    /// The end of the last collective of each group, which the next one of the group waits for.
    collectives: BTreeMap<u32, u32>,
}

impl<'a> Writer<'a> {
    fn new(graph: &'a JobGraph, rank: u32, scale: f64, first_lane: u32) -> Self {
        let nodes = &graph.ranks[rank as usize];
        let count = nodes.nodes().len();
        let mut watched = vec![false; count];
        let mut computing = Vec::new();
        for (number, node) in nodes.numbered() {
            for before in nodes.before(number).filter(|before| before.start) {
                watched[before.node as usize] = true;
            }
            if let Node::Compute { stream, span } = node
                && !span.is_zero()
            {
                let stream = stream as usize;
                computing.resize(computing.len().max(stream + 1), 0_u32);
                computing[stream] = computing[stream].saturating_add(1);
            }
        }
        let shared = computing.into_iter().map(|count| count > 1).collect();
        let (starts, ends) = (vec![NONE; count], vec![NONE; count]);
        let (script, collectives) = (Script::default(), BTreeMap::new());
        Self {
            graph,
            rank,
            nodes,
            scale,
            script,
            starts,
            ends,
            watched,
            shared,
            first_lane,
            collectives,
        }
    }

    fn write(&mut self, number: u32) {
        let mut after = Vec::new();
        for before in self.nodes.before(number) {
            let steps = if before.start { &self.starts } else { &self.ends };
            after.push(steps[before.node as usize]);
        }
        after.retain(|&step| step != NONE);
        let place = number as usize;
        let join = |script: &mut Script, after: &[u32]| script.join(after).unwrap_or(NONE);
        match self.nodes.nodes()[place] {
            // A message has at least a byte.
            Node::Send { to, tag, bytes } => {
                let to = Peer { rank: to, lane: tag };
                let step = self.script.send(to, bytes.max(1), &after);
                (self.starts[place], self.ends[place]) = (step, step);
            }
            Node::Receive { from, tag, .. } => {
                if self.watched[place] {
                    let start = join(&mut self.script, &after);
                    self.starts[place] = start;
                    after.clear();
                    after.extend((start != NONE).then_some(start));
                }
                let from = Peer { rank: from, lane: tag };
                self.ends[place] = self.script.receive(from, &after);
            }
            Node::Compute { stream, span } => {
                let span = scaled(span, self.scale);
                if self.shared.get(stream as usize) == Some(&true) && !span.is_zero() {
                    let claim = self.script.claim(stream.into(), span, &after);
                    self.starts[place] = claim;
                    self.ends[place] = self.script.compute(span, &[claim]);
                    return;
                }
                let start = if self.watched[place] || span.is_zero() {
                    join(&mut self.script, &after)
                } else {
                    NONE
                };
                self.starts[place] = start;
                self.ends[place] =
                    if span.is_zero() { start } else { self.script.compute(span, &after) };
            }
            Node::Collective { operation, group, bytes } => {
                after.extend(self.collectives.get(&group));
                let start = join(&mut self.script, &after);
                self.starts[place] = start;
                let after = (start != NONE).then_some(start);
                let after = after.as_slice();
                let ranks = &self.graph.groups[group as usize];
                let me = ranks.iter().position(|&rank| rank == self.rank).unwrap_or(0);
                let collective = Collective::usual(operation);
                let lane = self.first_lane.saturating_add(group * collective.lanes());
                let of = Group { ranks, me, lane };
                let parts = if operation == Operation::AllGather { ranks.len() as u64 } else { 1 };
                let bytes = bytes.saturating_mul(parts);
                let ends = collective::write(&mut self.script, &collective, &of, bytes, after);
                let end = join(&mut self.script, &ends);
                self.ends[place] = end;
                if end != NONE {
                    self.collectives.insert(group, end);
                }
            }
        }
    }
}

/// A time that is `scale` times as long, to the nearest picosecond.
fn scaled(span: Span, scale: f64) -> Span {
    #[expect(clippy::float_cmp, reason = "the usual factor changes nothing")]
    if scale == 1.0 {
        return span;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ps = (span.as_ps() as f64 * scale).round() as u64;
    Span::from_ps(ps)
}
