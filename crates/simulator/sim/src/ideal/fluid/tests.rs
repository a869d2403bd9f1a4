//! Tests of the fluid.

use incast_cc::parts::random::Random;
use incast_cc::{Bytes, Time};

use super::*;
use crate::ideal::fabric::Part;

fn way(links: &[u32]) -> Vec<Part> {
    links.iter().map(|&link| Part { link, part: 1.0 }).collect()
}

fn rates(fabric: &Fabric, ways: &[u32]) -> Vec<f64> {
    let mut shares = Shares::new(fabric);
    for &way in ways {
        shares.add(way);
    }
    shares.settle();
    shares.rates
}

fn job(ps: u64, bytes: u64, way: u32, connection: u32) -> Job {
    let bytes = (bytes > 0).then_some(Bytes::new(bytes));
    Job { released: Time::from_ps(ps), bytes, way, connection }
}

#[test]
fn two_messages_on_a_link_share_it_until_one_has_ended() {
    // 2 B/ps. The first of 4,000 B is alone for 1,000 ps, 2,000 B are left. Both have 1 B/ps
    // until the second, of 1,000 B, has ended after 1,000 ps more. The last 1,000 B of the
    // first take 500 ps.
    let fabric = Fabric { rates: vec![2.0], ways: vec![way(&[0])] };
    let jobs = [job(0, 4_000, 0, 0), job(1_000, 1_000, 0, 1)];
    assert_eq!(ends(&fabric, &jobs), [Some(2_500.0), Some(2_000.0)]);
    // On one connection they take turns: 2,000 ps, and 500 ps more.
    let jobs = [job(0, 4_000, 0, 0), job(1_000, 1_000, 0, 0)];
    assert_eq!(ends(&fabric, &jobs), [Some(2_000.0), Some(2_500.0)]);
}

#[test]
fn a_message_without_end_takes_its_share_for_good() {
    let fabric = Fabric { rates: vec![2.0], ways: vec![way(&[0])] };
    let jobs = [job(0, 0, 0, 0), job(1_000, 1_000, 0, 1), job(5_000, 1, 0, 0)];
    assert_eq!(ends(&fabric, &jobs), [None, Some(2_000.0), None]);
}

#[test]
fn a_parking_lot_is_max_min_fair() {
    // Links of 1, 2 and 1 B/ps in a row. One flow over all, one over the first, two over the
    // second. The first is full at 1/2 each. On the second, 3/2 are left for two: 3/4 each.
    let ways = vec![way(&[0, 1, 2]), way(&[0]), way(&[1])];
    let fabric = Fabric { rates: vec![1.0, 2.0, 1.0], ways };
    assert_eq!(rates(&fabric, &[0, 1, 2, 2]), [0.5, 0.5, 0.75, 0.75]);
    // A flow that is sprayed over two links of 1 B/ps has 2 B/ps. Beside another flow on the
    // first link both have x with x / 2 + x = 1.
    let halves = [0, 1].map(|link| Part { link, part: 0.5 }).to_vec();
    let fabric = Fabric { rates: vec![1.0, 1.0], ways: vec![halves, way(&[0])] };
    assert_eq!(rates(&fabric, &[0]), [2.0]);
    assert_eq!(rates(&fabric, &[0, 1]), [2.0 / 3.0, 2.0 / 3.0]);
}

/// A network of up to eight links, and twenty ways over up to four of them; some are sprayed.
fn random_fabric(random: &mut Random) -> Fabric {
    let count = 1 + random.below(8);
    let rates = (0..count).map(|_| f64::from(1 + random.below(40))).collect();
    let ways = (0..20).map(|_| {
        let mut links: Vec<_> = (0..=random.below(4)).map(|_| random.below(count)).collect();
        links.sort_unstable();
        links.dedup();
        let part = [1.0, 0.5, 0.25][random.below(3) as usize];
        links.into_iter().map(|link| Part { link, part }).collect()
    });
    Fabric { rates, ways: ways.collect() }
}

#[test]
fn no_link_has_more_than_it_carries_and_each_flow_has_a_bottleneck_as_flows_come_and_go() {
    let mut random = Random::new(5);
    for _ in 0..200 {
        let fabric = random_fabric(&mut random);
        let mut shares = Shares::new(&fabric);
        let mut ways: Vec<u32> = Vec::new();
        for _ in 0..30 {
            for _ in 0..=random.below(4) {
                let gone = random.below(16) as usize;
                if gone < ways.len() {
                    ways.swap_remove(gone);
                    shares.remove(gone);
                } else {
                    ways.push(random.below(20));
                    shares.add(ways[ways.len() - 1]);
                }
            }
            shares.settle();
            let flows = || ways.iter().copied().zip(shares.rates.iter().copied());
            let mut loads = vec![0.0; fabric.rates.len()];
            let mut most = loads.clone();
            for (way, rate) in flows() {
                for part in &fabric.ways[way as usize] {
                    loads[part.link as usize] += part.part * rate;
                    most[part.link as usize] = rate.max(most[part.link as usize]);
                }
            }
            for (load, rate) in loads.iter().zip(&fabric.rates) {
                assert!(*load <= rate * (1.0 + 1e-8), "{loads:?} over {:?}", fabric.rates);
            }
            for (way, rate) in flows() {
                let stops = fabric.ways[way as usize].iter().any(|part| {
                    let link = part.link as usize;
                    loads[link] >= fabric.rates[link] * (1.0 - 1e-8)
                        && rate >= most[link] * (1.0 - 1e-8)
                });
                assert!(stops, "{rate} of {:?} could be raised", shares.rates);
            }
        }
    }
}

/// Max-min fair rates by filling from nothing: the link that is full first stops its flows.
fn filled(fabric: &Fabric, ways: &[u32]) -> Vec<f64> {
    let mut left = fabric.rates.clone();
    let mut rates = vec![-1.0; ways.len()];
    loop {
        let mut weights = vec![0.0; left.len()];
        for (&way, _) in ways.iter().zip(&rates).filter(|(_, rate)| **rate < 0.0) {
            fabric.ways[way as usize].iter().for_each(|p| weights[p.link as usize] += p.part);
        }
        let levels = (0_u32..).zip(left.iter().zip(&weights));
        let used = levels.filter(|(_, (_, weight))| **weight > 0.0);
        let least = used.map(|(link, (left, weight))| (link, left.max(0.0) / weight));
        let Some((full, level)) = least.min_by(|a, b| a.1.total_cmp(&b.1)) else { return rates };
        for (&way, rate) in ways.iter().zip(&mut rates).filter(|(_, rate)| **rate < 0.0) {
            let way = &fabric.ways[way as usize];
            if way.iter().any(|part| part.link == full) {
                *rate = level;
                for part in way {
                    left[part.link as usize] -= part.part * level;
                }
            }
        }
    }
}

/// The ends of messages where all rates are worked out anew at each arrival and each end.
fn from_nothing(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
    let mut ends = vec![None; jobs.len()];
    let mut left: Vec<_> =
        jobs.iter().map(|job| job.bytes.map_or(f64::INFINITY, |all| all.get() as f64)).collect();
    let mut now = 0.0;
    loop {
        let at = |job: usize| jobs[job].released.as_ps() as f64;
        let mut active: Vec<usize> = Vec::new();
        let mut posted: Vec<_> = (0..jobs.len()).filter(|&job| at(job) <= now).collect();
        posted.sort_by_key(|&job| jobs[job].released);
        for job in posted.into_iter().filter(|&job| ends[job].is_none()) {
            if active.iter().all(|&other| jobs[other].connection != jobs[job].connection) {
                active.push(job);
            }
        }
        let rates = filled(fabric, &active.iter().map(|&job| jobs[job].way).collect::<Vec<_>>());
        let first = active.iter().zip(&rates).map(|(&job, rate)| now + left[job] / rate);
        let next = (0..jobs.len()).map(at).filter(|&at| at > now);
        let until = first.chain(next).fold(f64::INFINITY, f64::min);
        if until.is_infinite() {
            return ends;
        }
        for (&job, rate) in active.iter().zip(&rates) {
            left[job] -= rate * (until - now);
            if left[job] <= rate * 0.01 {
                ends[job] = Some(until);
            }
        }
        now = until;
    }
}

#[test]
fn messages_end_as_if_all_rates_were_worked_out_anew_each_time() {
    let mut random = Random::new(11);
    let (mut compared, mut queued) = (0, 0);
    for _ in 0..150 {
        let mut fabric = random_fabric(&mut random);
        fabric.rates.iter_mut().for_each(|rate| *rate /= 8e3);
        let mut jobs: Vec<_> = (0..40)
            .map(|_| {
                let endless = random.below(60) == 0;
                let bytes = if endless { 0 } else { 1 + random.below(20_000) };
                job(u64::from(random.below(40_000_000)), bytes.into(), 0, random.below(30))
            })
            .collect();
        // A connection has one way.
        for job in &mut jobs {
            job.way = job.connection % 20;
        }
        let (found, wanted) = (ends(&fabric, &jobs), from_nothing(&fabric, &jobs));
        for (job, (found, wanted)) in jobs.iter().zip(found.iter().zip(&wanted)) {
            assert_eq!(found.is_some(), wanted.is_some(), "{job:?}");
            let Some((found, wanted)) = found.zip(*wanted) else { continue };
            // Picoseconds, after some microseconds.
            assert!(
                (found - wanted).abs() <= 2.0 + wanted * 1e-8,
                "{found}, not {wanted}: {job:?}"
            );
            compared += 1;
            queued += u32::from(wanted > job.released.as_ps() as f64 + 1e7);
        }
    }
    assert!(compared > 4_000 && queued > 400, "or it says little: {compared}, {queued}");
}
