//! The steps of a ring all-reduce: every rank sends a chunk to its successor, 2 (N - 1) times. Each
//! chunk but the first leaves when the chunk of the step before has arrived from the predecessor.
//! (N - 1 steps reduce, N - 1 distribute the result: Patarasuk and Yuan, "Bandwidth optimal
//! all-reduce algorithms for clusters of workstations", 2009.)

use incast_cc::Bytes;
use incast_plan::part::{Part, Peer, Script};

/// The parts of a ring of `ranks`, at least two, that reduces `bytes`.
pub(super) fn parts(ranks: u32, bytes: Bytes) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for rank in 0..ranks {
        let mut script = Script::default();
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let chunk = bytes.get().div_ceil(u64::from(ranks));
        script.send(Peer::of(next), chunk, &[]);
        for _ in 1..2 * (ranks - 1) {
            let arrived = script.receive(Peer::of(before), &[]);
            script.send(Peer::of(next), chunk, &[arrived]);
        }
        script.receive(Peer::of(before), &[]);
        parts.push(script.finish(parts.last()));
    }
    parts
}
