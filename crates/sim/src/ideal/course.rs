//! The course of a run without packets: messages that are sent at rates which change only when one
//! of them arrives or ends.
//!
//! Each event costs a pass over the messages that are under way. So n messages of which m are under
//! way at once cost about n · m steps.

use std::collections::{BTreeMap, VecDeque};

use super::fabric::Job;

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub(super) job: u32,
    pub(super) way: u32,
    /// The bytes that are left; infinite without an end.
    pub(super) left: f64,
    /// The rate that it has until the next event, in bytes per picosecond.
    pub(super) rate: f64,
}

/// Who may send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first message of each connection.
    ByConnection,
    /// All messages.
    All,
}

/// The time at which each message ends, in picoseconds, if `share` gives those under way their
/// rates; [`None`] of those that never do.
pub(super) fn run(
    jobs: &[Job],
    order: Order,
    mut share: impl FnMut(&mut Vec<Active>),
) -> Vec<Option<f64>> {
    let mut arrivals: Vec<u32> = (0..).take(jobs.len()).collect();
    arrivals.sort_by_key(|&job| jobs[job as usize].released); // stable: the order of posting
    let mut arrivals = arrivals.into_iter().peekable();
    let start = |job: u32| {
        let Job { bytes, way, .. } = jobs[job as usize];
        Active { job, way, left: bytes.map_or(f64::INFINITY, |b| b.get() as f64), rate: 0.0 }
    };
    let released = |job: u32| jobs[job as usize].released.as_ps() as f64;
    let mut waiting: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
    let mut active: Vec<Active> = Vec::new();
    let mut ends = vec![None; jobs.len()];
    let mut now = 0.0;
    loop {
        let next = arrivals.peek().map_or(f64::INFINITY, |&job| released(job));
        let first = active.iter().map(|a| now + a.left / a.rate).fold(f64::INFINITY, f64::min);
        let at = first.min(next).max(now);
        if at.is_infinite() {
            return ends;
        }
        for one in &mut active {
            one.left -= one.rate * (at - now);
        }
        now = at;
        let mut changed = order == Order::All;
        let mut place = 0;
        while let Some(one) = active.get(place).copied() {
            // Half a picosecond is below what results can tell.
            if one.left > one.rate * 0.5 {
                place += 1;
                continue;
            }
            ends[one.job as usize] = Some(now);
            let connection = jobs[one.job as usize].connection;
            let behind = waiting.get_mut(&connection).and_then(VecDeque::pop_front);
            if let Some(job) = behind {
                // The next one of a connection goes on at its rate.
                active[place] = Active { rate: one.rate, ..start(job) };
            } else {
                active.swap_remove(place);
                waiting.remove(&connection);
                changed = true;
            }
        }
        while let Some(job) = arrivals.next_if(|&job| released(job) <= now) {
            let connection = jobs[job as usize].connection;
            if order == Order::ByConnection {
                if let Some(queue) = waiting.get_mut(&connection) {
                    queue.push_back(job);
                    continue;
                }
                waiting.insert(connection, VecDeque::new());
            }
            active.push(start(job));
            changed = true;
        }
        if changed && !active.is_empty() {
            share(&mut active);
        }
    }
}
