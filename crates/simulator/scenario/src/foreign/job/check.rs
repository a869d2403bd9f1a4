//! The faults of a job's graph that can be told before it runs.

use std::collections::BTreeMap;

use super::super::ForeignError;
use super::{ANY, JobGraph, Node, Operation, order, walk};

/// The most ranks: one for each host of the largest network.
const MOST_RANKS: usize = 1_000_000;

pub(super) fn check(job: &JobGraph) -> Result<(), ForeignError> {
    let count = job.ranks.len();
    let first = || job.files.first().map_or("", String::as_str);
    if !(2..=MOST_RANKS).contains(&count) {
        let message =
            format!("{}: a job of {count} ranks; expected from 2 to {MOST_RANKS}", first());
        return Err(ForeignError::Together(message));
    }
    if job.nodes() == 0 {
        let message = format!("{}: a job without nodes; expected one or more", first());
        return Err(ForeignError::Together(message));
    }
    groups(job)?;
    for (rank, graph) in (0..).zip(&job.ranks) {
        for (number, node) in graph.numbered() {
            peer(job, (rank, number), node)?;
        }
        if order::order(graph).is_none() {
            return Err(walk::local_cycle(job, rank));
        }
    }
    messages(job)?;
    collectives(job)?;
    walk::all_begin(job)
}

fn groups(job: &JobGraph) -> Result<(), ForeignError> {
    let file = job.files.first().map_or("", String::as_str);
    for (number, group) in job.groups.iter().enumerate() {
        let mut sorted = group.clone();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        if let Some(rank) = twice {
            let message = format!("{file}: group {number} has rank {rank} twice; take one out");
            return Err(ForeignError::Together(message));
        }
        if let Some(rank) = sorted.last().filter(|&&rank| rank as usize >= job.ranks.len()) {
            let message = format!(
                "{file}: group {number} has rank {rank}, of {} ranks; expected fewer than that",
                job.ranks.len()
            );
            return Err(ForeignError::Together(message));
        }
    }
    Ok(())
}

/// Checks that the far end of a node is there.
fn peer(job: &JobGraph, (rank, number): (u32, u32), node: Node) -> Result<(), ForeignError> {
    let fail = |reason: String| Err(job.refused(rank, number, reason));
    let ranks = job.ranks.len();
    let named = match node {
        Node::Send { to, .. } => to,
        Node::Receive { from, .. } if from != ANY => from,
        Node::Receive { .. } | Node::Compute { .. } => return Ok(()),
        Node::Collective { operation, group, .. } => {
            let members = &job.groups[group as usize];
            let name = operation.as_str();
            if members.len() < 2 {
                return fail(format!("{name} of one rank; expected a group of at least two"));
            }
            if !members.contains(&rank) {
                let message = format!("{name} of group {group}, which rank {rank} is not in");
                return fail(format!("{message}; add it to the group"));
            }
            return Ok(());
        }
    };
    if named as usize >= ranks {
        return fail(format!("rank {named} does not exist; expected 0 to {}", ranks - 1));
    }
    if named == rank {
        return fail(format!("rank {rank} sends to itself; expected another rank"));
    }
    Ok(())
}

/// A send or a receive: both ends and the tag, the place, and the payload.
type End = ((u32, u32, u32), u32, u64);

/// Checks that sends and receives meet: the n-th of a pair and tag with the n-th.
fn messages(job: &JobGraph) -> Result<(), ForeignError> {
    let (mut sends, mut receives): (Vec<End>, Vec<End>) = (Vec::new(), Vec::new());
    // The receives of each rank that take messages of several pairs and tags.
    let mut open: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (rank, graph) in (0..).zip(&job.ranks) {
        for (number, node) in graph.numbered() {
            match node {
                Node::Send { to, tag, bytes } => sends.push(((to, rank, tag), number, bytes)),
                Node::Receive { .. } if node.is_open() => {
                    open.entry(rank).or_default().push(number);
                }
                Node::Receive { from, tag, bytes } => {
                    receives.push(((rank, from, tag), number, bytes));
                }
                Node::Compute { .. } | Node::Collective { .. } => {}
            }
        }
    }
    sends.sort_unstable();
    receives.sort_unstable();
    // Messages to each rank that receives of one pair and tag leave over.
    let mut left: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    let (mut send, mut receive) = (0, 0);
    while send < sends.len() || receive < receives.len() {
        let (sent, received) = (sends.get(send), receives.get(receive));
        let keys = (sent.map(|end| end.0), received.map(|end| end.0));
        match (sent, received) {
            (Some(sent), Some(received)) if sent.0 == received.0 => {
                if sent.2 != received.2 {
                    return Err(sizes(job, *sent, *received));
                }
                (send, receive) = (send + 1, receive + 1);
            }
            (Some(&((to, from, tag), node, _)), _) if keys.1.is_none() || keys.0 < keys.1 => {
                if !open.contains_key(&to) {
                    let reason = format!(
                        "sends to rank {to} with tag {tag}, which receives no such message; add \
                         the receive, or take the send out"
                    );
                    return Err(job.refused(from, node, reason));
                }
                left.entry(to).or_default().push((from, node));
                send += 1;
            }
            (_, Some(&((to, from, tag), node, _))) => {
                let reason = format!(
                    "receives from rank {from} with tag {tag}, which sends no such message; add \
                     the send, or take the receive out"
                );
                return Err(job.refused(to, node, reason));
            }
            _ => unreachable!("one of the lists has not ended"),
        }
    }
    for (rank, nodes) in open {
        let sent = left.get(&rank).map_or(0, Vec::len);
        if sent != nodes.len() {
            let reason = format!(
                "one of {} receives of rank {rank} from any rank or with any tag, for which {sent} \
                 messages are left; expected as many",
                nodes.len()
            );
            return Err(job.refused(rank, nodes[0], reason));
        }
    }
    Ok(())
}

fn sizes(job: &JobGraph, sent: End, received: End) -> ForeignError {
    let ((to, from, _), node, bytes) = sent;
    let reason = format!(
        "sends {bytes} B, for which {} expects {} B; make them the same",
        job.mark(to, received.1),
        received.2
    );
    job.refused(from, node, reason)
}

/// A collective of a rank: the node, the operation and the size.
type Done = (u32, Operation, u64);

/// Checks that all ranks of a group do the same collectives.
fn collectives(job: &JobGraph) -> Result<(), ForeignError> {
    let mut of_group: Vec<Option<(u32, Vec<Done>)>> = vec![None; job.groups.len()];
    for rank in (0..).take(job.ranks.len()) {
        let mut own: BTreeMap<u32, Vec<Done>> = BTreeMap::new();
        let nodes = job.ranks[rank as usize].nodes();
        if !nodes.iter().any(|node| matches!(node, Node::Collective { .. })) {
            continue;
        }
        for number in job.order(rank) {
            if let Node::Collective { operation, group, bytes } = nodes[number as usize] {
                own.entry(group).or_default().push((number, operation, bytes));
            }
        }
        for (group, all) in own {
            match &of_group[group as usize] {
                None => of_group[group as usize] = Some((rank, all)),
                Some((other, theirs)) => {
                    same(job, (rank, &all), (*other, theirs))?;
                }
            }
        }
    }
    for ((number, members), of_group) in (0..).zip(&job.groups).zip(&of_group) {
        let Some((rank, all)) = of_group else { continue };
        let own = |node: &Node| matches!(node, Node::Collective { group, .. } if *group == number);
        let does = |member: u32| job.ranks[member as usize].nodes().iter().any(own);
        if let Some(absent) = members.iter().find(|&&member| !does(member)) {
            let (node, operation, _) = all[0];
            let reason = format!(
                "{} of rank {rank}, which rank {absent} of its group does not do; add it there",
                operation.as_str()
            );
            return Err(job.refused(*rank, node, reason));
        }
    }
    Ok(())
}

/// Compares the collectives of two ranks of a group.
fn same(
    job: &JobGraph,
    (rank, ours): (u32, &[Done]),
    (other, theirs): (u32, &[Done]),
) -> Result<(), ForeignError> {
    for (&(node, operation, bytes), &(far, its, size)) in ours.iter().zip(theirs) {
        if (operation, bytes) != (its, size) {
            let reason = format!(
                "{} of {bytes} B, where {} is {} of {size} B; make them the same",
                operation.as_str(),
                job.mark(other, far),
                its.as_str()
            );
            return Err(job.refused(rank, node, reason));
        }
    }
    let longer =
        if ours.len() > theirs.len() { (rank, ours, other) } else { (other, theirs, rank) };
    let (rank, all, absent) = longer;
    if let Some(&(node, operation, _)) = all.get(ours.len().min(theirs.len())) {
        let reason = format!(
            "{} of rank {rank}, which rank {absent} of its group does not do; add it there",
            operation.as_str()
        );
        return Err(job.refused(rank, node, reason));
    }
    Ok(())
}
