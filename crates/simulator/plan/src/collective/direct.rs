//! Direct exchange: each rank sends each other one its part. All begin with their successor, then
//! comes the rank after it, so that no two send to the same rank at a time.

use std::collections::VecDeque;

use super::pen::{After, Block, Pen};
use super::{Collective, Operation};

/// The steps of an all-to-all, or of an all-to-all-v.
pub(super) fn write(pen: &mut Pen<'_>, collective: &Collective, data: Block) -> Vec<u32> {
    let (me, ranks) = (pen.me(), pen.ranks());
    let skewed = collective.operation == Operation::AllToAllV;
    let bounds = skewed.then(|| bounds(data, ranks, collective.skew));
    let part = |place: u32| match &bounds {
        Some(bounds) => {
            let [at, end] = [place, place + 1].map(|place| bounds[place as usize]);
            Block { at: data.at + at, bytes: end - at }
        }
        None => data.part(place, ranks),
    };
    let mine = part(me);
    let mut under_way = VecDeque::new();
    let mut ends = Vec::new();
    for distance in 1..ranks {
        let (to, from) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
        let full = collective.window.is_some_and(|window| under_way.len() >= window as usize);
        let after = if full { under_way.pop_front() } else { None };
        pen.send(to, part(to), After::All(after.as_slice()));
        if collective.window.is_some() && part(to).bytes > 0 {
            under_way.push_back(pen.acknowledged(to));
        }
        ends.extend(pen.copy(from, mine.returned_by(from)).last());
    }
    ends
}

/// The first byte of the part of each rank, and the end of the last. Place n has a share that is
/// proportional to (n + 1)^-skew.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the data")]
fn bounds(data: Block, ranks: u32, skew: f64) -> Vec<u64> {
    let weights = (1..=ranks).map(|number| libm::pow(f64::from(number), -skew));
    let sums = weights.scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let sums: Vec<_> = std::iter::once(0.0).chain(sums).collect();
    let all = sums[ranks as usize];
    let bound = |sum: &f64| (data.bytes as f64 * (sum / all)).round() as u64;
    let mut bounds: Vec<_> = sums.iter().map(bound).collect();
    bounds[ranks as usize] = data.bytes;
    bounds
}
