//! Fluid max-min: each connection has its max-min fair rate at each instant, as if bytes were a
//! fluid and rates followed at once.
//!
//! Progressive filling gives the rates. All connections are raised alike until a link is full; those
//! over it keep their rate, and the others are raised on. So each has a link that is full and on
//! which nobody has more. The level at which a link is full only rises while others are fixed, so a
//! heap of levels, corrected when they come to the top, finds the next full link.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::course::{self, Active, Order};
use super::fabric::{Fabric, Job};

/// The time at which the last byte of each message is sent, in picoseconds; [`None`] of those
/// without end, and of those behind one on its connection.
pub(crate) fn ends(fabric: &Fabric, jobs: &[Job]) -> Vec<Option<f64>> {
    let mut filling = Filling::new(fabric);
    course::run(jobs, Order::ByConnection, |active| filling.fill(active))
}

/// The state of progressive filling, with space that is used again.
struct Filling<'a> {
    fabric: &'a Fabric,
    links: Vec<Link>,
    /// The links in use.
    used: Vec<u32>,
    /// The flows over each link in use, those of one link together.
    over: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Copy, Default)]
struct Link {
    /// The rate that is not given away.
    left: f64,
    /// The parts of those that are still raised, added up, and their number.
    weight: f64,
    raised: u32,
    /// The place of its flows in `over`: the first, and the one after the last.
    from: u32,
    to: u32,
}

/// The rate of a flow that is still raised.
const RAISED: f64 = -1.0;

impl<'a> Filling<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let links = vec![Link::default(); fabric.rates.len()];
        Self { fabric, links, used: Vec::new(), over: Vec::new(), heap: BinaryHeap::new() }
    }

    fn fill(&mut self, active: &mut [Active]) {
        self.count(active);
        let Self { fabric, links, used, over, heap } = self;
        // Levels are positive, and positive numbers have the order of their bits.
        let level = |link: &Link| link.left.max(0.0) / link.weight;
        heap.clear();
        heap.extend(used.iter().map(|&i| Reverse((level(&links[i as usize]).to_bits(), i))));
        while let Some(Reverse((bits, number))) = heap.pop() {
            let link = links[number as usize];
            if link.raised == 0 {
                continue;
            }
            let (noted, rate) = (f64::from_bits(bits), level(&link));
            if rate > noted * (1.0 + 1e-12) {
                heap.push(Reverse((rate.to_bits(), number)));
                continue;
            }
            for &flow in &over[link.from as usize..link.to as usize] {
                let one = &mut active[flow as usize];
                if one.rate >= 0.0 {
                    continue;
                }
                one.rate = rate;
                for part in &fabric.ways[one.way as usize] {
                    let other = &mut links[part.link as usize];
                    other.left -= part.part * rate;
                    other.weight -= part.part;
                    other.raised -= 1;
                }
            }
        }
    }

    /// Counts the flows over each link, and forgets their rates.
    #[expect(clippy::cast_possible_truncation, reason = "flows are numbered in 32 bits")]
    fn count(&mut self, active: &mut [Active]) {
        let Self { fabric, links, used, over, .. } = self;
        for link in used.drain(..) {
            links[link as usize] = Link::default();
        }
        for one in &mut *active {
            one.rate = RAISED;
            for part in &fabric.ways[one.way as usize] {
                let link = &mut links[part.link as usize];
                if link.raised == 0 {
                    link.left = fabric.rates[part.link as usize];
                    used.push(part.link);
                }
                link.raised += 1;
                link.weight += part.part;
            }
        }
        let mut place = 0;
        for &number in &*used {
            let link = &mut links[number as usize];
            (link.from, link.to) = (place, place);
            place += link.raised;
        }
        over.clear();
        over.resize(place as usize, 0);
        for (flow, one) in active.iter().enumerate() {
            for part in &fabric.ways[one.way as usize] {
                let link = &mut links[part.link as usize];
                over[link.to as usize] = flow as u32;
                link.to += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::parts::random::Random;
    use incast_cc::{Bytes, Time};

    use super::super::fabric::Part;
    use super::*;

    fn way(links: &[u32]) -> Vec<Part> {
        links.iter().map(|&link| Part { link, part: 1.0 }).collect()
    }

    fn rates(fabric: &Fabric, ways: &[u32]) -> Vec<f64> {
        let one = |&way| Active { job: 0, way, left: 1.0, rate: 0.0 };
        let mut active: Vec<_> = ways.iter().map(one).collect();
        Filling::new(fabric).fill(&mut active);
        active.iter().map(|one| one.rate).collect()
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
        // One that is sprayed over two links of 1 B/ps has 2 B/ps, and beside another 1 on the
        // first of them: x / 2 + x = 1.
        let halves = [0, 1].map(|link| Part { link, part: 0.5 }).to_vec();
        let fabric = Fabric { rates: vec![1.0, 1.0], ways: vec![halves, way(&[0])] };
        assert_eq!(rates(&fabric, &[0]), [2.0]);
        assert_eq!(rates(&fabric, &[0, 1]), [2.0 / 3.0, 2.0 / 3.0]);
    }

    #[test]
    fn no_link_has_more_than_it_carries_and_each_flow_has_a_bottleneck() {
        let mut random = Random::new(5);
        for _ in 0..2_000 {
            let count = 1 + random.below(8);
            let fabric = Fabric {
                rates: (0..count).map(|_| f64::from(1 + random.below(40))).collect(),
                ways: (0..20)
                    .map(|_| {
                        let mut links: Vec<_> =
                            (0..=random.below(4)).map(|_| random.below(count)).collect();
                        links.sort_unstable();
                        links.dedup();
                        let part = [1.0, 0.5, 0.25][random.below(3) as usize];
                        links.into_iter().map(|link| Part { link, part }).collect()
                    })
                    .collect(),
            };
            let ways: Vec<_> = (0..=random.below(30)).map(|_| random.below(20)).collect();
            let rates = rates(&fabric, &ways);
            let mut loads = vec![0.0; fabric.rates.len()];
            let mut most = loads.clone();
            for (&way, &rate) in ways.iter().zip(&rates) {
                for part in &fabric.ways[way as usize] {
                    loads[part.link as usize] += part.part * rate;
                    most[part.link as usize] = rate.max(most[part.link as usize]);
                }
            }
            for (load, rate) in loads.iter().zip(&fabric.rates) {
                assert!(*load <= rate * (1.0 + 1e-9), "{loads:?} over {:?}", fabric.rates);
            }
            for (&way, &rate) in ways.iter().zip(&rates) {
                let stops = fabric.ways[way as usize].iter().any(|part| {
                    let link = part.link as usize;
                    loads[link] >= fabric.rates[link] * (1.0 - 1e-9)
                        && rate >= most[link] * (1.0 - 1e-9)
                });
                assert!(stops, "{rate} of {rates:?} could be raised");
            }
        }
    }
}
