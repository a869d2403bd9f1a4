//! The greedy schedule: at each instant, messages in the order of the bytes that they have left get
//! all of their way that those before them have not taken.
//!
//! Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport" (SIGCOMM'13), has it as the
//! ideal that pFabric is compared with: a message takes its way if all of it is free. With links of
//! one rate that is so here. A faster link takes as many messages as it has room for, the last of
//! them at the rate that is left.
//!
//! The mean completion time is near the best one and no bound of it: a schedule that looks ahead,
//! and leaves a link free for a message to come, may be better.

use super::course::{self, Active, Order};
use super::fabric::{Fabric, Job};

/// The part of a link's rate that counts as none: what rounding leaves.
const NONE: f64 = 1e-9;

/// The time at which the last byte of each message is sent, in picoseconds; [`None`] of those
/// without end. Those of one connection may overtake each other.
pub(crate) fn ends(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
    let mut left = fabric.rates.clone();
    course::run(jobs, Order::All, |active| share(fabric, active, &mut left))
}

fn share(fabric: &Fabric, active: &mut [Active], left: &mut [f64]) {
    left.copy_from_slice(&fabric.rates);
    // The order before is nearly this one, which makes sorting cheap.
    active.sort_by(|a, b| a.left.total_cmp(&b.left).then(a.job.cmp(&b.job)));
    for one in active {
        let way = &fabric.ways[one.way as usize];
        let room = |part: &super::fabric::Part| {
            let free = left[part.link as usize];
            let none = free <= fabric.rates[part.link as usize] * NONE;
            if none { 0.0 } else { free / part.part }
        };
        one.rate = way.iter().map(room).fold(f64::INFINITY, f64::min);
        if one.rate > 0.0 {
            for part in way {
                left[part.link as usize] -= part.part * one.rate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::{Bytes, Time};

    use super::super::fabric::Part;
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
}
