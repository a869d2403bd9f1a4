//! Shortest remaining processing time first (SRPT) on one link: at each instant the message with
//! the fewest bytes left is sent.
//!
//! No other order of the link has a lower sum of completion times (Schrage, "A proof of the
//! optimality of the shortest remaining processing time discipline", Operations Research 16, 1968).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::Time;

/// A message for one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) released: Time,
    /// The time that the link takes for the message, in picoseconds.
    pub(crate) ps: u64,
}

/// The time at which each message ends.
pub(crate) fn ends(services: &[Service]) -> Vec<Time> {
    let mut arrivals: Vec<_> = (0..services.len()).collect();
    arrivals.sort_by_key(|&i| services[i].released);
    let mut arrivals = arrivals.into_iter().peekable();
    let mut ends = vec![Time::ZERO; services.len()];
    let mut waiting = BinaryHeap::new();
    let mut now = 0;
    loop {
        if waiting.is_empty() {
            let Some(&next) = arrivals.peek() else { return ends };
            now = now.max(services[next].released.as_ps());
        }
        while let Some(i) = arrivals.next_if(|&i| services[i].released.as_ps() <= now) {
            waiting.push(Reverse((services[i].ps, i)));
        }
        let until = arrivals.peek().map_or(u64::MAX, |&i| services[i].released.as_ps());
        let Some(Reverse((left, i))) = waiting.pop() else { continue };
        let end = now.saturating_add(left);
        if end <= until {
            ends[i] = Time::from_ps(end);
            now = end;
        } else {
            waiting.push(Reverse((left - (until - now), i)));
            now = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::parts::random::Random;

    use super::*;

    fn service((released, ps): (u64, u64)) -> Service {
        Service { released: Time::from_ps(released), ps }
    }

    #[test]
    fn three_jobs_by_hand() {
        // 7 from 0, 4 from 2, 1 from 4. Until 2 the first has 5 left. The second has 2 left at 4,
        // the third runs until 5, the second until 7, the first until 12.
        let found = ends(&[(0, 7), (2, 4), (4, 1)].map(service));
        assert_eq!(found, [12, 7, 5].map(Time::from_ps));
        // A gap, and two that are alike: the first of them goes first.
        let found = ends(&[(0, 1), (10, 3), (10, 3)].map(service));
        assert_eq!(found, [1, 13, 16].map(Time::from_ps));
    }

    #[test]
    fn no_order_of_whole_messages_has_a_lower_sum() {
        let mut random = Random::new(9);
        for _ in 0..500 {
            let jobs: Vec<_> = (0..5)
                .map(|_| service((random.below(20).into(), 1 + u64::from(random.below(10)))))
                .collect();
            let least: u64 = ends(&jobs).iter().map(|end| end.as_ps()).sum();
            let mut order: Vec<_> = (0..jobs.len()).collect();
            for _ in 0..30 {
                order.swap(random.below(5) as usize, random.below(5) as usize);
                let (mut now, mut sum) = (0, 0);
                for &i in &order {
                    now = jobs[i].released.as_ps().max(now) + jobs[i].ps;
                    sum += now;
                }
                assert!(least <= sum, "{jobs:?} in {order:?}");
            }
        }
    }
}
