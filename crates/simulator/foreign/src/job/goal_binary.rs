//! GOAL as bytes: the form that `LogGOPSim` runs, which its converter makes of a text.
//!
//! All numbers are little-endian, without gaps. Offsets count from the ninth byte.

use std::io::{BufRead, Read};

use incast_cc::Span;
use incast_scenario::foreign::job::{Draft, JobGraph, MOST_NODES, Naming, Node};

use super::Opened;
use super::bytes::failed;
use crate::ForeignError;

/// The number that such a file begins with.
const MAGIC: u64 = 4_223;
/// The number of a file that a run has used as its memory.
const USED: u64 = 2_342;
/// The length of a node.
const NODE: usize = 39;
/// The largest message, as in files of other simulators.
pub(super) const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// Whether a file begins as such a file.
pub(super) fn begins(head: &[u8]) -> bool {
    let magic = head.first_chunk().map(|first| u64::from_le_bytes(*first));
    matches!(magic, Some(MAGIC | USED))
}

pub(super) fn read(file: Opened) -> Result<JobGraph, ForeignError> {
    let Opened { name, bytes } = file;
    let mut input = Input { name: &name, bytes, at: 0 };
    if input.u64()? == USED {
        let message = format!(
            "{name}: a run of LogGOPSim with --save-mem has used this file up; convert its text \
             again"
        );
        return Err(ForeignError::Together(message));
    }
    input.at = 0;
    let count = input.u32()?;
    if count > 1_000_000 {
        return Err(input.refused(format!("{count} ranks; expected at most 1000000")));
    }
    input.skip(2)?;
    let mut places = Vec::with_capacity(count.min(1 << 16) as usize);
    for rank in 0..count {
        let (start, end) = (input.u64()?, input.u64()?);
        let before = places.last().map_or(0, |&(_, end)| end);
        if start < before || end < start {
            return Err(input.refused(format!(
                "rank {rank} has the bytes {start} to {end}; expected an end after the start, and \
                 a start after rank {} at {before}",
                rank.saturating_sub(1)
            )));
        }
        places.push((start, end));
    }
    let mut ranks = Vec::with_capacity(places.len());
    for (rank, (start, end)) in (0..).zip(places) {
        if start < input.at {
            let at = input.at;
            return Err(input.refused(format!("rank {rank} begins at {start}, before {at}")));
        }
        input.skip(start - input.at)?;
        ranks.push(rank_of(&mut input, rank, end - start)?.into());
    }
    let files = vec![name.clone()];
    Ok(JobGraph { files, naming: Naming::Numbers, ranks, groups: vec![], notes: vec![] })
}

/// The followers of a node: how many, and their first place in the list of all.
#[derive(Clone, Copy)]
struct Followers {
    count: u32,
    first: u32,
}

#[expect(clippy::cast_possible_truncation, reason = "bounded by MOST_NODES")]
fn rank_of(input: &mut Input<'_>, rank: u32, length: u64) -> Result<Draft, ForeignError> {
    let start = input.at;
    let (nodes, roots) = (u64::from(input.u32()?), u64::from(input.u32()?));
    let fixed = 8 + 4 * roots + NODE as u64 * nodes;
    if nodes > MOST_NODES as u64 || roots > nodes || fixed > length {
        return Err(input.refused(format!(
            "rank {rank} has {nodes} nodes and {roots} roots in {length} B; expected at least \
             {fixed} B"
        )));
    }
    input.skip(4 * roots)?;
    let mut draft = Draft::default();
    let mut followers = Vec::new();
    let mut needs = Vec::new();
    for number in 0..nodes as u32 {
        let node = input.array::<NODE>()?;
        let u32_at =
            |at: usize| u32::from_le_bytes([node[at], node[at + 1], node[at + 2], node[at + 3]]);
        let size = u64::from(u32_at(9)) | u64::from(u32_at(13)) << 32;
        let (peer, tag) = (u32_at(5), u32_at(17));
        let refused =
            |reason: String| Err(input.refused(format!("node {number} of rank {rank}: {reason}")));
        let computes = node[4] == 3;
        if !computes && size > MOST_BYTES {
            return refused(format!("{size} B; expected at most 10^15"));
        }
        let read = match node[4] {
            1 => Node::Send { to: peer, tag, bytes: size },
            2 => Node::Receive { from: peer, tag, bytes: size },
            3 => match size.checked_mul(1_000) {
                Some(ps) => Node::Compute { stream: node[21].into(), span: Span::from_ps(ps) },
                None => return refused(format!("{size} ns; expected less than 200 days")),
            },
            kind => {
                let reason =
                    format!("unknown type {kind}; expected 1 (send), 2 (recv) or 3 (calc)");
                return refused(reason);
            }
        };
        draft.add(read, None);
        needs.push(u32_at(0));
        let of = |at| Followers { count: u32_at(at), first: u32_at(at + 4) };
        followers.push([of(23), of(31)]);
    }
    let all = (length - fixed) / 4;
    let mut appendix = Vec::new();
    for _ in 0..all {
        appendix.push(input.u32()?);
    }
    for (number, of_node) in (0..).zip(followers) {
        for (Followers { count, first }, start) in of_node.into_iter().zip([false, true]) {
            let end = u64::from(first) + u64::from(count);
            if count > 0 && end > all {
                return Err(input.refused(format!(
                    "node {number} of rank {rank}: its followers are up to {end}, of {all}"
                )));
            }
            for place in 0..count {
                let follower = appendix[(first + place) as usize];
                let Some(left) = needs.get_mut(follower as usize) else {
                    return Err(input.refused(format!(
                        "node {number} of rank {rank}: node {follower} follows, of {nodes} nodes"
                    )));
                };
                *left = left.wrapping_sub(1);
                draft.wait(follower, number, start);
            }
        }
    }
    if let Some(number) = needs.iter().position(|&left| left != 0) {
        return Err(input.refused(format!(
            "node {number} of rank {rank}: it waits for another number of nodes than name it; \
             convert the text again"
        )));
    }
    input.skip((start + length).saturating_sub(input.at))?;
    Ok(draft)
}

/// The bytes, and how many of them have been read.
struct Input<'a> {
    name: &'a str,
    bytes: Box<dyn BufRead>,
    at: u64,
}

impl Input<'_> {
    fn refused(&self, reason: impl std::fmt::Display) -> ForeignError {
        ForeignError::Together(format!("{}: {reason}", self.name))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ForeignError> {
        let mut bytes = [0; N];
        self.bytes.read_exact(&mut bytes).map_err(|error| failed(self.name, &error))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ForeignError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ForeignError> {
        self.array().map(u64::from_le_bytes)
    }

    fn skip(&mut self, count: u64) -> Result<(), ForeignError> {
        let copied = std::io::copy(&mut self.bytes.by_ref().take(count), &mut std::io::sink());
        let copied = copied.map_err(|error| failed(self.name, &error))?;
        self.at += copied;
        if copied < count {
            return Err(failed(self.name, &std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(())
    }
}
