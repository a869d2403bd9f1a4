//! Warnings of message segments that a queue does not hold.

use incast_cc::Bytes;

use super::survey::Surveyed;
use super::{rounded_down, rounded_up};
use incast_scenario::Scheme;
use incast_transport::facts;

/// A warning about the path that is worst off, if segments arrive faster than the bottleneck serves
/// them, and the backlog of four in a row, which a doubling window sends, is more than the queue
/// holds.
pub(super) fn sentence((name, scheme): (&str, &Scheme), paths: &[Surveyed]) -> Option<String> {
    if !facts(scheme.transport).segments {
        return None;
    }
    let worst = paths.iter().filter_map(|path| Some((left(path)?, path)));
    let (left, path) = worst.max_by_key(|&(left, _)| left)?;
    let Surveyed { ends: [from, to], facts, bottleneck: [at, towards], .. } = path;
    let queue = facts.queue.unwrap_or_default();
    let fits = facts.segment.get().saturating_mul(queue.get()) / left.get().max(1);
    Some(format!(
        "{name}: of four segments of {} in a row from {from} to {to} up to {left} wait at {at} to {towards}, which is \
         slower than the NIC and holds {queue}, so segments lose packets on an idle network; set transport.segment to \
         {} or less, or have a queue of {} or more",
        facts.segment,
        rounded_down(Bytes::new(fits).max(facts.mss)),
        rounded_up(left),
    ))
}

/// The part of four segments that waits at the bottleneck when the last packet arrives. None where
/// the queue holds it, or where a segment is a single packet.
fn left(path: &Surveyed) -> Option<Bytes> {
    let (facts, queue) = (&path.facts, path.facts.queue?);
    let burst = facts.segment * 4;
    let left = burst.saturating_sub(path.rate.bytes_in(facts.line_rate.time_for(burst)));
    (facts.segment > facts.mss && left > queue).then_some(left)
}
