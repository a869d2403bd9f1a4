//! Flows that arrive at random, one by one and in bursts.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Time};

use super::peers::{Peers, one_of, skip};
use incast_plan::{Gathering, Plan, PlannedPost};

use super::{Context, NewFlow};
use crate::{Incast, Poisson};
use incast_plan::random::{distinct, exponential, mean_gap, purpose};

/// Flows of a Poisson process at each source; returns the offered load in bits per second.
pub(super) fn poisson(context: &Context<'_>, plan: &mut Plan, poisson: &Poisson) -> f64 {
    let sizes = poisson.sizes.known();
    let peers = Peers::new(context, poisson);
    let (offered, all_bps) = (peers.offered_bps(poisson), peers.line_bps());
    for source in peers.senders() {
        let mut random = context.generator_of(source, purpose::ARRIVALS);
        let share = context.line_bps(source) / all_bps;
        let gap = mean_gap(sizes.mean(), share, offered);
        let mut at = context.start();
        for before in 0.. {
            at += exponential(&mut random, gap);
            if at >= context.stop() {
                break;
            }
            let bytes = sizes.sample(&mut random);
            let destination = peers.draw(source, &mut random);
            let flow = context.flow(source, destination, Some(bytes));
            single(plan, NewFlow { before, ..flow }, at, bytes);
        }
    }
    offered
}

/// A flow of one message.
fn single(plan: &mut Plan, flow: NewFlow, at: Time, bytes: Bytes) -> u32 {
    let flow = flow.add_to(plan);
    plan.posts.push(PlannedPost { flow, at, bytes: Some(bytes) });
    flow
}

/// One host of the destinations for each source, drawn at random; different ones while there are enough.
pub(super) fn permutation(context: &Context<'_>) -> BTreeMap<u32, u32> {
    let mut random = context.generator(purpose::PERMUTATION);
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    let count = context.destinations.len() as u32;
    let order = distinct(&mut random, count, count);
    let mut drawn: Vec<_> =
        order.iter().map(|&place| context.destinations[place as usize]).collect();
    let used = context.sources.len().min(drawn.len());
    for place in 0..used {
        if drawn[place] == context.sources[place] {
            // With its neighbour's, around the end: neither of them has itself then.
            let next = (place + 1) % drawn.len();
            drawn.swap(place, next);
        }
    }
    // Around again, a source that meets itself has the one after. Only of one alone that is the same.
    let pairs = context.sources.iter().enumerate().filter_map(|(place, &source)| {
        let next = [place, place + 1].map(|place| drawn[place % drawn.len()]);
        next.into_iter().find(|&host| host != source).map(|host| (source, host))
    });
    pairs.collect()
}

/// Bursts of many senders into one receiver; returns the offered load in bits per second.
pub(super) fn incast(context: &Context<'_>, plan: &mut Plan, incast: &Incast) -> f64 {
    let all_bps: f64 = context.destinations.iter().map(|&host| context.line_bps(host)).sum();
    let offered = incast.load * all_bps;
    let mut random = context.generator(purpose::INCASTS);
    let bytes = incast.size * u64::from(incast.senders);
    let gap = mean_gap(bytes.get() as f64, 1.0, offered);
    let (mut at, mut before): (Time, _) = (context.start(), 0);
    loop {
        at += exponential(&mut random, gap);
        if at >= context.stop() {
            return offered;
        }
        let receiver = one_of(&context.destinations, &mut random);
        // All sources but the receiver.
        let own = context.sources.binary_search(&receiver).ok();
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
        let others = (context.sources.len() - usize::from(own.is_some())) as u32;
        let mut flows = 0..0;
        for place in distinct(&mut random, incast.senders, others) {
            let sender = context.sources[skip(place as usize, own)];
            let flow = context.flow(sender, receiver, Some(incast.size));
            let flow = single(plan, NewFlow { before, ..flow }, at, incast.size);
            before += 1;
            flows = if flows.is_empty() { flow..flow + 1 } else { flows.start..flow + 1 };
        }
        let traffic = context.number;
        plan.gatherings.push(Gathering { traffic, receiver, at, flows, bytes });
    }
}
