//! GOAL as text and as bytes: one and the same graph.

use std::fmt::Write;

use incast_cc::Span;
use incast_scenario::foreign::job::{ANY, Before, JobGraph, Node, RankGraph};
use proptest::prelude::*;

use super::{good, one, read};

/// The example of the format: rank 0 computes for a microsecond, and then sends.
const EXAMPLE: &str = "num_ranks 2\n\
    rank 0 {\na: calc 1000\nb: send 4096b to 1 tag 7 cpu 0 nic 0\nb requires a\n}\n\
    rank 1 {\nc: recv 4096b from 0 tag 7\n}\n";

/// A statement: the node, and what it waits for, by its end or by its start.
pub(super) type Statement = (Node, Vec<(u32, bool)>);

pub(super) fn text(ranks: &[Vec<Statement>]) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    let any = |number: u32| if number == ANY { "-1".into() } else { number.to_string() };
    for (rank, statements) in ranks.iter().enumerate() {
        writeln!(text, "rank {rank} {{").unwrap();
        for (number, (node, before)) in statements.iter().enumerate() {
            let statement = match *node {
                Node::Send { to, tag, bytes } => {
                    format!("send {bytes}b to {to} tag {tag}")
                }
                Node::Receive { from, tag, bytes } => {
                    let (from, tag) = (any(from), any(tag));
                    format!("recv {bytes}b from {from} tag {tag}")
                }
                Node::Compute { stream, span } => {
                    format!("calc {} cpu {stream}", span.as_ns())
                }
                Node::Collective { .. } => unreachable!("GOAL has none"),
            };
            writeln!(text, "l{number}: {statement}").unwrap();
            for (earlier, start) in before {
                let word = if *start { "irequires" } else { "requires" };
                writeln!(text, "l{number} {word} l{earlier}").unwrap();
            }
        }
        text += "}\n";
    }
    text
}

/// The bytes that the converter of `LogGOPSim` makes of the statements.
pub(super) fn binary(ranks: &[Vec<Statement>]) -> Vec<u8> {
    let schedules: Vec<_> = ranks.iter().map(|statements| schedule(statements)).collect();
    let mut bytes = 4_223_u64.to_le_bytes().to_vec();
    bytes.extend(u32::try_from(ranks.len()).unwrap().to_le_bytes());
    bytes.extend([0, 0]);
    let mut at = 6 + 16 * ranks.len() as u64;
    for schedule in &schedules {
        bytes.extend(at.to_le_bytes());
        at += schedule.len() as u64;
        bytes.extend(at.to_le_bytes());
    }
    bytes.extend(schedules.into_iter().flatten());
    bytes
}

fn schedule(statements: &[Statement]) -> Vec<u8> {
    let number = |number: u32| number.to_le_bytes();
    let count = |count: usize| u32::try_from(count).unwrap().to_le_bytes();
    let roots = (0..).zip(statements).filter(|(_, (_, before))| before.is_empty());
    let roots: Vec<u32> = roots.map(|(place, _)| place).collect();
    let mut bytes = count(statements.len()).to_vec();
    bytes.extend(count(roots.len()));
    bytes.extend(roots.iter().flat_map(|&root| number(root)));
    let mut appendix: Vec<u32> = Vec::new();
    for (place, (node, before)) in (0..).zip(statements) {
        let (kind, peer, size, tag, cpu) = match *node {
            Node::Send { to, tag, bytes } => (1, to, bytes, tag, 0),
            Node::Receive { from, tag, bytes } => (2, from, bytes, tag, 0),
            Node::Compute { stream, span } => {
                (3, 0, span.as_ns(), 0, u8::try_from(stream).unwrap())
            }
            Node::Collective { .. } => unreachable!("GOAL has none"),
        };
        bytes.extend(count(before.len()));
        bytes.push(kind);
        bytes.extend(number(peer));
        bytes.extend(size.to_le_bytes());
        bytes.extend(number(tag));
        bytes.extend([cpu, 0]);
        for start in [false, true] {
            let first = appendix.len();
            let all = (0..).zip(statements);
            let follow = all.filter(|(_, (_, before))| before.contains(&(place, start)));
            appendix.extend(follow.map(|(follower, _)| follower));
            bytes.extend(count(appendix.len() - first));
            bytes.extend(count(first));
        }
    }
    bytes.extend(appendix.iter().flat_map(|&follower| number(follower)));
    bytes
}

/// The nodes of each rank, with what they wait for.
fn content(job: &JobGraph) -> Vec<Vec<(Node, Vec<Before>)>> {
    let of_rank = |rank: &RankGraph| {
        rank.numbered().map(|(number, node)| (node, rank.before(number).collect())).collect()
    };
    job.ranks.iter().map(of_rank).collect()
}

/// Random jobs whose nodes all begin. Messages are added one by one, and each node waits for nodes
/// that were there before it: among them the one before it on its pair and tag, since otherwise it
/// would depend on times which receive takes which message.
fn jobs() -> impl Strategy<Value = Vec<Vec<Statement>>> {
    let message = (0..4_u32, 1..4_u32, 0..3_u32, 1..100_000_u64, 0..3_u16);
    let waits = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3);
    prop::collection::vec((message, waits.clone(), waits), 1..30).prop_map(|all| {
        let mut ranks: Vec<Vec<Statement>> = vec![Vec::new(); 4];
        for ((from, further, tag, bytes, stream), waits, more) in all {
            let to = (from + further) % 4;
            let compute = Node::Compute { stream, span: Span::from_ns(bytes) };
            let nodes = [
                (from, compute),
                (from, Node::Send { to, tag, bytes }),
                (to, Node::Receive { from, tag, bytes }),
            ];
            for ((rank, node), waits) in nodes.into_iter().zip([&waits, &more, &waits]) {
                let own = &mut ranks[rank as usize];
                let way = |node: &Node| match *node {
                    Node::Send { to, tag, .. } => Some((true, to, tag)),
                    Node::Receive { from, tag, .. } => Some((false, from, tag)),
                    _ => None,
                };
                let last = way(&node)
                    .and_then(|way_of| own.iter().rposition(|(node, _)| way(node) == Some(way_of)));
                let mut before: Vec<(u32, bool)> = waits
                    .iter()
                    .filter(|_| !own.is_empty())
                    .map(|(index, start)| (u32::try_from(index.index(own.len())).unwrap(), *start))
                    .collect();
                before.extend(last.map(|last| (u32::try_from(last).unwrap(), false)));
                before.sort_unstable();
                before.dedup_by_key(|wait| wait.0);
                own.push((node, before));
            }
        }
        ranks
    })
}

proptest! {
    #[test]
    fn text_and_bytes_are_the_same_graph(ranks in jobs()) {
        let (text, bytes) = (text(&ranks), binary(&ranks));
        let told = good(&[("x", text.as_bytes())]);
        let packed = good(&[("x", &bytes)]);
        prop_assert_eq!(content(&told), content(&packed));
        let expected = |(node, before): &Statement| {
            let wait = |&(node, start): &(u32, bool)| Before { node, start };
            let mut before: Vec<_> = before.iter().map(wait).collect();
            before.sort_unstable_by_key(|wait| (wait.start, wait.node));
            (*node, before)
        };
        let ranks: Vec<Vec<_>> =
            ranks.iter().map(|rank| rank.iter().map(expected).collect()).collect();
        prop_assert_eq!(content(&told), ranks);
    }
}

#[test]
fn the_example_of_the_format_as_text_and_as_its_191_bytes() {
    let compute = Node::Compute { stream: 0, span: Span::from_us(1) };
    let send = Node::Send { to: 1, tag: 7, bytes: 4096 };
    let receive = Node::Receive { from: 0, tag: 7, bytes: 4096 };
    let ranks = [vec![(compute, vec![]), (send, vec![(0, false)])], vec![(receive, vec![])]];
    let bytes = binary(&ranks);
    assert_eq!(bytes.len(), 191);
    let told = good(&[("x", EXAMPLE.as_bytes())]);
    assert_eq!(content(&told), content(&good(&[("x", &bytes)])));
    assert_eq!(told.ranks[0].nodes(), [compute, send]);
    assert_eq!(told.ranks[0].before(1).collect::<Vec<_>>(), [Before { node: 0, start: false }]);
}

#[test]
fn comments_blanks_and_defaults() {
    let text = "// a job\n/* of two\nranks */ num_ranks 2\n\nrank 0 { // the first\n\
        send 8b to 1\n/* a */ b : calc 5 cpu 2 // five\n}\nrank 1 {\n\trecv 8b from 0\n}\n";
    let job = one(text).unwrap();
    let compute = Node::Compute { stream: 2, span: Span::from_ns(5) };
    assert_eq!(job.ranks[0].nodes(), [Node::Send { to: 1, tag: 0, bytes: 8 }, compute]);
    assert_eq!(job.ranks[1].nodes(), [Node::Receive { from: 0, tag: 0, bytes: 8 }]);
}

#[test]
fn a_hundred_thousand_nodes_take_some_forty_bytes_each() {
    let mut text = String::from("num_ranks 2\nrank 0 {\n");
    for number in 0..50_000 {
        writeln!(text, "l{number}: send 8b to 1").unwrap();
        if number > 0 {
            writeln!(text, "l{number} requires l{}", number - 1).unwrap();
        }
    }
    text += "}\nrank 1 {\n";
    for number in 0..50_000 {
        writeln!(text, "l{number}: recv 8b from 0").unwrap();
    }
    text += "}\n";
    let job = good(&[("x", text.as_bytes())]);
    let bytes: usize = job.ranks.iter().map(RankGraph::memory).sum();
    assert_eq!((job.nodes(), bytes.div_ceil(job.nodes())), (100_000, 39));
    let error = read(&[("x", &text.as_bytes()[..text.len() - 2])], None, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x:150003: found the end of the file in rank 1 of 2; expected the rest"
    );
}
