//! Fluid max-min: each connection has its max-min fair rate at each instant, as if bytes were a
//! fluid and rates followed at once.
//!
//! Rates change only when a message arrives at a connection that was idle, or the last one of a
//! connection ends. Then they are [mended](shares) from the least rate that changes. Each event
//! also costs a short pass over the messages under way.

mod shares;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use super::fabric::{Fabric, Job};
use shares::Shares;

/// The time, in picoseconds, below which results differ in nothing: a message that would end so
/// soon has ended.
const INSTANT: f64 = 0.5;

/// The time at which the last byte of each message is sent, in picoseconds; [`None`] for messages
/// without end, and for messages behind one on its connection.
pub(crate) fn ends(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
    let mut arrivals: Vec<u32> = (0..).take(jobs.len()).collect();
    arrivals.sort_by_key(|&job| jobs[job as usize].released); // stable: the order of posting
    let mut arrivals = arrivals.into_iter().peekable();
    let released = |job: u32| jobs[job as usize].released.as_ps() as f64;
    let size = |job: u32| jobs[job as usize].bytes.map_or(f64::INFINITY, |all| all.get() as f64);
    let mut shares = Shares::new(fabric);
    // The messages under way, in the order of their flows: the job, and the bytes that are left.
    let (mut active, mut left): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
    // The connections with a message under way, and those behind it.
    let mut waiting: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
    let mut ends = vec![None; jobs.len()];
    let mut now = 0.0_f64;
    loop {
        let next = arrivals.peek().map_or(f64::INFINITY, |&job| released(job));
        let spans = left.iter().zip(&shares.rates).map(|(left, rate)| left / rate);
        let first = now + spans.fold(f64::INFINITY, f64::min);
        let at = first.min(next).max(now);
        if at.is_infinite() {
            return ends;
        }
        let passed = at - now;
        let mut soonest = f64::INFINITY;
        for (left, rate) in left.iter_mut().zip(&shares.rates) {
            *left -= rate * passed;
            soonest = soonest.min(*left - rate * INSTANT);
        }
        now = at;
        let mut changed = false;
        let mut flow = if soonest <= 0.0 { 0 } else { active.len() };
        while let (Some(&job), Some(&bytes)) = (active.get(flow), left.get(flow)) {
            if bytes > shares.rates[flow] * INSTANT {
                flow += 1;
                continue;
            }
            ends[job as usize] = Some(now);
            let connection = jobs[job as usize].connection;
            if let Some(behind) = waiting.get_mut(&connection).and_then(VecDeque::pop_front) {
                // The next message of a connection goes on at its rate.
                (active[flow], left[flow]) = (behind, size(behind));
                continue;
            }
            active.swap_remove(flow);
            left.swap_remove(flow);
            shares.remove(flow);
            waiting.remove(&connection);
            changed = true;
        }
        while let Some(job) = arrivals.next_if(|&job| released(job) <= now) {
            let Job { connection, way, .. } = jobs[job as usize];
            if let Some(queue) = waiting.get_mut(&connection) {
                queue.push_back(job);
                continue;
            }
            waiting.insert(connection, VecDeque::new());
            shares.add(way);
            active.push(job);
            left.push(size(job));
            changed = true;
        }
        if changed {
            shares.settle();
        }
    }
}
