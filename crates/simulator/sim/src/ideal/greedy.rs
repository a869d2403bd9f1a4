//! The greedy schedule: at each instant, messages in the order of the bytes that they have left get
//! all of their way that those before them have not taken.
//!
//! Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport" (SIGCOMM'13), has it as
//! the ideal that pFabric is compared with: a message takes its way if all of it is free. With
//! links of one rate that is so here. A faster link takes as many messages as it has room for, the
//! last of them at the rate that is left.
//!
//! The mean completion time is near the best one and no bound of it: a schedule that looks ahead,
//! and leaves a link free for a message to come, may be better.

use std::cmp::Ordering;

use super::fabric::{Fabric, Job, Part};

/// The part of a link's rate that counts as none, since rounding leaves it.
const NONE: f64 = 1e-9;
/// The time, in picoseconds, below which results differ in nothing: a message that would end so
/// soon has ended.
const INSTANT: f64 = 0.5;

/// The time at which the last byte of each message is sent, in picoseconds; [`None`] for messages
/// without end. Messages of one connection may overtake each other.
///
/// Each event costs a pass over the messages under way. Waiting messages keep their order, and most
/// of them wait for the same link as before.
pub(crate) fn ends(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
    let mut arrivals: Vec<u32> = (0..).take(jobs.len()).collect();
    arrivals.sort_by_key(|&job| jobs[job as usize].released); // stable: the order of posting
    let mut arrivals = arrivals.into_iter().peekable();
    let released = |job: u32| jobs[job as usize].released.as_ps() as f64;
    let mut schedule = Schedule::new(fabric);
    let mut ends = vec![None; jobs.len()];
    let mut now = 0.0;
    loop {
        let next = arrivals.peek().map_or(f64::INFINITY, |&job| released(job));
        let sent = schedule.sent.iter();
        let first = sent.map(|(one, rate)| now + one.left / rate).fold(f64::INFINITY, f64::min);
        let at = first.min(next).max(now);
        if at.is_infinite() {
            return ends;
        }
        schedule.sent.retain_mut(|(one, rate)| {
            one.left -= *rate * (at - now);
            let ends_now = one.left <= *rate * INSTANT;
            if ends_now {
                ends[one.job as usize] = Some(at);
            }
            !ends_now
        });
        now = at;
        while let Some(job) = arrivals.next_if(|&job| released(job) <= now) {
            let Job { bytes, way, .. } = jobs[job as usize];
            let left = bytes.map_or(f64::INFINITY, |bytes| bytes.get() as f64);
            let behind = fabric.ways[way as usize].first().map_or(0, |part| part.link);
            schedule.sent.push((Active { left, job, way, behind }, 0.0));
        }
        schedule.share();
    }
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Active {
    /// The bytes that are left; infinite without an end.
    left: f64,
    job: u32,
    way: u32,
    /// A link on the message's way: the last that it has waited for, if any.
    behind: u32,
}

impl Active {
    /// Which of two messages goes before the other.
    fn order(&self, other: &Self) -> Ordering {
        self.left.total_cmp(&other.left).then(self.job.cmp(&other.job))
    }
}

/// The messages under way.
struct Schedule<'a> {
    fabric: &'a Fabric,
    /// Messages that are sent, with rates in bytes per picosecond; new messages have none.
    sent: Vec<(Active, f64)>,
    /// Messages that wait, in their order.
    waiting: Vec<Active>,
    /// The rate of each link that is not given away.
    left: Vec<f64>,
    /// Space for the lists of the next event.
    spare: (Vec<(Active, f64)>, Vec<Active>),
}

impl<'a> Schedule<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let (sent, waiting, left) = (Vec::new(), Vec::new(), fabric.rates.clone());
        Self { fabric, sent, waiting, left, spare: (Vec::new(), Vec::new()) }
    }

    /// Gives all messages their rates, in their order.
    fn share(&mut self) {
        self.left.copy_from_slice(&self.fabric.rates);
        self.sent.sort_by(|(one, _), (other, _)| one.order(other));
        let (mut sent, mut waiting) = std::mem::take(&mut self.spare);
        sent.clear();
        waiting.clear();
        let (mut moving, mut still) = (0, 0);
        loop {
            let first = match (self.sent.get(moving), self.waiting.get(still)) {
                (Some((one, _)), other) if other.is_none_or(|other| one.order(other).is_lt()) => {
                    moving += 1;
                    *one
                }
                (_, Some(other)) => {
                    still += 1;
                    *other
                }
                (None | Some(_), None) => break,
            };
            match self.take(first) {
                Ok(rate) => sent.push((first, rate)),
                Err(behind) => waiting.push(Active { behind, ..first }),
            }
        }
        let before = std::mem::replace(&mut self.sent, sent);
        self.spare = (before, std::mem::replace(&mut self.waiting, waiting));
    }

    /// The rate that is left for a message, or the link that it waits for.
    fn take(&mut self, one: Active) -> Result<f64, u32> {
        let Self { fabric, left, .. } = self;
        let is_full = |link: u32| left[link as usize] <= fabric.rates[link as usize] * NONE;
        if is_full(one.behind) {
            return Err(one.behind);
        }
        let way = &fabric.ways[one.way as usize];
        if let Some(full) = way.iter().find(|part| is_full(part.link)) {
            return Err(full.link);
        }
        let room = |part: &Part| left[part.link as usize] / part.part;
        let rate = way.iter().map(room).fold(f64::INFINITY, f64::min);
        for part in way {
            left[part.link as usize] -= part.part * rate;
        }
        Ok(rate)
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::parts::random::Random;
    use incast_cc::{Bytes, Time};

    use super::*;

    fn fabric(rates: &[f64], ways: &[&[u32]]) -> Fabric {
        let part = |&link: &u32| Part { link, part: 1.0 };
        let ways = ways.iter().map(|way| way.iter().map(part).collect()).collect();
        Fabric { rates: rates.to_vec(), ways }
    }

    fn job(ps: u64, bytes: u64, way: u32) -> Job {
        let bytes = Some(Bytes::new(bytes));
        Job { released: Time::from_ps(ps), bytes, way, connection: 0 }
    }

    #[test]
    fn the_least_left_goes_first() {
        // 1 B/ps. 600 B from 0, 100 B from 200, 300 B from 250. At 200 the first has 400 left and
        // gives way to the second until 300, then to the third until 600, and ends at 1,000.
        let jobs = [job(0, 600, 0), job(200, 100, 0), job(250, 300, 0)];
        let found = ends(&fabric(&[1.0], &[&[0]]), &jobs);
        assert_eq!(found, [Some(1_000.0), Some(300.0), Some(600.0)]);
    }

    #[test]
    fn a_message_that_waits_leaves_its_links_to_others() {
        // Hosts 0 and 1 send, 2 and 3 receive. 0 -> 2 is shortest and goes first. 0 -> 3 has no
        // sender and 1 -> 2 no receiver; 1 -> 3 is the longest and goes at once.
        let net = fabric(&[1.0; 4], &[&[0, 2], &[0, 3], &[1, 2], &[1, 3]]);
        let jobs = [job(0, 100, 0), job(0, 200, 1), job(0, 300, 2), job(0, 400, 3)];
        // At 100: 0 -> 3 (200), 1 -> 2 (300) get their way, 1 -> 3 with 300 left waits until 400.
        let found = ends(&net, &jobs);
        assert_eq!(found, [Some(100.0), Some(300.0), Some(400.0), Some(700.0)]);
    }

    #[test]
    fn a_faster_link_takes_as_many_as_it_has_room_for() {
        // Senders of 1 B/ps over 1.5 B/ps to receivers of 1 B/ps: 1, then 1/2.
        let net = fabric(&[1.0, 1.0, 1.5, 1.0, 1.0], &[&[0, 2, 3], &[1, 2, 4]]);
        let found = ends(&net, &[job(0, 100, 0), job(0, 300, 1)]);
        assert_eq!(found, [Some(100.0), Some(350.0)]);
    }

    /// The ends where all messages are sorted anew at each arrival and each end.
    fn from_nothing(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
        let at = |job: usize| jobs[job].released.as_ps() as f64;
        let mut left: Vec<_> = jobs
            .iter()
            .map(|job| job.bytes.map_or(f64::INFINITY, |all| all.get() as f64))
            .collect();
        let (mut ends, mut now) = (vec![None; jobs.len()], 0.0);
        loop {
            let posted = (0..jobs.len()).filter(|&job| at(job) <= now && ends[job].is_none());
            let mut order: Vec<_> = posted.collect();
            order.sort_by(|&a, &b| left[a].total_cmp(&left[b]).then(a.cmp(&b)));
            let (mut free, mut rates) = (fabric.rates.clone(), vec![0.0; jobs.len()]);
            for &job in &order {
                let way = &fabric.ways[jobs[job].way as usize];
                let room = |part: &Part| free[part.link as usize] / part.part;
                let rate = way.iter().map(room).fold(f64::INFINITY, f64::min);
                rates[job] = if rate > 1e-9 { rate } else { 0.0 };
                for part in way {
                    free[part.link as usize] -= part.part * rates[job];
                }
            }
            let sent = order.iter().filter(|&&job| rates[job] > 0.0);
            let first = sent.map(|&job| now + left[job] / rates[job]);
            let next = (0..jobs.len()).map(at).filter(|&at| at > now);
            let until = first.chain(next).fold(f64::INFINITY, f64::min);
            if until.is_infinite() {
                return ends;
            }
            for &job in &order {
                left[job] -= rates[job] * (until - now);
                if left[job] <= rates[job] * INSTANT {
                    ends[job] = Some(until);
                }
            }
            now = until;
        }
    }

    #[test]
    fn messages_end_as_if_all_were_sorted_anew_each_time() {
        let mut random = Random::new(7);
        let mut compared = 0;
        for _ in 0..150 {
            let part = [1.0, 1.0, 0.5][random.below(3) as usize];
            let rates: Vec<_> = (0..6).map(|_| f64::from(1 + random.below(4))).collect();
            let ways = (0..12).map(|way| [way % 3, 3 + random.below(3)].to_vec());
            let parts = |way: Vec<u32>| way.into_iter().map(|link| Part { link, part }).collect();
            let fabric = Fabric { rates, ways: ways.map(parts).collect() };
            let jobs: Vec<_> = (0..60)
                .map(|_| {
                    job(
                        random.below(30_000).into(),
                        (1 + random.below(4_000)).into(),
                        random.below(12),
                    )
                })
                .collect();
            for (found, wanted) in ends(&fabric, &jobs).iter().zip(from_nothing(&fabric, &jobs)) {
                let (found, wanted) = (found.unwrap(), wanted.unwrap());
                assert!((found - wanted).abs() <= 1.0 + wanted * 1e-9, "{found}, not {wanted}");
                compared += u32::from(wanted > 30_000.0);
            }
        }
        assert!(compared > 800, "or little waits: {compared}");
    }
}
