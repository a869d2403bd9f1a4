//! Fluid max-min: each connection has its max-min fair rate at each instant, as if bytes were a
//! fluid and rates followed at once.
//!
//! Rates change only when a message arrives at a connection that was idle, or the last one of a
//! connection ends, and then few do ([`shares`]). Each message keeps its rate, and the time since
//! which it has it; a heap has the ends that follow from them. An end that was noted for an earlier
//! rate is stale.

mod shares;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::fabric::{Fabric, Job};
use shares::Shares;

/// The time, in picoseconds, that results cannot tell: ends so near each other are one event.
const INSTANT: f64 = 0.5;

/// The time at which the last byte of each message is sent, in picoseconds; [`None`] of those
/// without end, and of those behind one on its connection.
pub(crate) fn ends(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
    let mut arrivals: Vec<u32> = (0..).take(jobs.len()).collect();
    arrivals.sort_by_key(|&job| jobs[job as usize].released); // stable: the order of posting
    let mut arrivals = arrivals.into_iter().peekable();
    let released = |job: u32| jobs[job as usize].released.as_ps() as f64;
    let mut shares = Shares::new(fabric);
    let mut course = Course { jobs, active: Vec::new(), due: BinaryHeap::new() };
    // The connections with a message under way, and those behind it.
    let mut waiting: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
    let mut ends = vec![None; jobs.len()];
    let mut now = 0.0_f64;
    loop {
        let next = arrivals.peek().map_or(f64::INFINITY, |&job| released(job));
        let at = course.first().min(next).max(now);
        if at.is_infinite() {
            return ends;
        }
        now = at;
        let mut changed = false;
        while course.first() <= now + INSTANT {
            let (flow, job, end) = course.end();
            ends[job as usize] = Some(end);
            let connection = jobs[job as usize].connection;
            match waiting.get_mut(&connection).and_then(VecDeque::pop_front) {
                // The next one of a connection goes on at its rate.
                Some(job) => course.start(flow, job, end.max(now), course.rate(flow)),
                None => {
                    shares.remove(flow);
                    waiting.remove(&connection);
                    changed = true;
                }
            }
        }
        while let Some(job) = arrivals.next_if(|&job| released(job) <= now) {
            let Job { connection, way, .. } = jobs[job as usize];
            if let Some(queue) = waiting.get_mut(&connection) {
                queue.push_back(job);
                continue;
            }
            waiting.insert(connection, VecDeque::new());
            course.start(shares.add(way), job, now, 0.0);
            changed = true;
        }
        if changed {
            shares.settle(|flow, rate| course.change(flow, now, rate));
        }
    }
}

/// The messages under way, by the numbers that they have as flows.
struct Course<'a> {
    jobs: &'a [Job],
    active: Vec<Active>,
    /// When messages end, whose they are, and for which of its rates that was noted.
    due: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

/// A message under way.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    job: u32,
    /// The number of rates that messages of this number have had.
    rates: u32,
    /// The rate, in bytes per picosecond, and the time since which it is that.
    rate: f64,
    since: f64,
    /// The bytes that were left then; infinite without an end.
    left: f64,
}

impl Course<'_> {
    /// The time of the first end; infinite if there is none.
    fn first(&mut self) -> f64 {
        while let Some(&Reverse((end, flow, rates))) = self.due.peek() {
            if self.active[flow as usize].rates == rates {
                return f64::from_bits(end);
            }
            self.due.pop();
        }
        f64::INFINITY
    }

    /// Takes the [first](Self::first) end out: the flow, its message and the time.
    fn end(&mut self) -> (u32, u32, f64) {
        let Some(Reverse((end, flow, _))) = self.due.pop() else { unreachable!("there is one") };
        let one = &mut self.active[flow as usize];
        one.rates = one.rates.wrapping_add(1);
        (flow, one.job, f64::from_bits(end))
    }

    fn rate(&self, flow: u32) -> f64 {
        self.active[flow as usize].rate
    }

    /// Lets a flow send a message from `now` on.
    fn start(&mut self, flow: u32, job: u32, now: f64, rate: f64) {
        if flow as usize >= self.active.len() {
            self.active.resize(flow as usize + 1, Active::default());
        }
        let left = self.jobs[job as usize].bytes.map_or(f64::INFINITY, |all| all.get() as f64);
        let one = &mut self.active[flow as usize];
        (one.job, one.left, one.since, one.rate) = (job, left, now, 0.0);
        if rate > 0.0 {
            self.change(flow, now, rate);
        }
    }

    /// Gives a flow another rate from `now` on.
    fn change(&mut self, flow: u32, now: f64, rate: f64) {
        let one = &mut self.active[flow as usize];
        one.left = (one.left - one.rate * (now - one.since)).max(0.0);
        (one.since, one.rate) = (now, rate);
        one.rates = one.rates.wrapping_add(1);
        if one.left.is_finite() {
            // Times are not negative, and such numbers have the order of their bits.
            self.due.push(Reverse(((now + one.left / rate).to_bits(), flow, one.rates)));
        }
    }
}
