//! Connections that stay.

use incast_cc::{Span, Time};
use rand_pcg::Pcg64Mcg;

use incast_plan::{Plan, PlannedPost};

use super::{Context, NewFlow};
use crate::Traffic;
use incast_plan::flows::Life;
use incast_plan::random::{below, distinct, purpose};

/// In the order of sources and destinations.
pub(super) fn plan(context: &Context<'_>, plan: &mut Plan) {
    let traffic = context.traffic;
    for &source in &context.sources {
        let others = || context.destinations.iter().copied().filter(|&host| host != source);
        let mut random = context.generator_of(source, purpose::LASTING);
        let picked: Vec<_> = match traffic.fan_out {
            None => others().collect(),
            Some(count) => pick(&others().collect::<Vec<_>>(), count, &mut random),
        };
        let connections = || 0..traffic.connections_per_pair();
        let all = picked.iter().flat_map(|&destination| connections().map(move |_| destination));
        for (before, destination) in (0..).zip(all) {
            let start = start(traffic, &mut random);
            let flow = context.flow(source, destination, traffic.message);
            let flow = NewFlow { before, life: Life::Lasting, ..flow }.add_to(plan);
            plan.posts.extend((0..u64::from(traffic.messages())).map(|message| PlannedPost {
                flow,
                at: start + traffic.every * message,
                bytes: traffic.message,
            }));
        }
    }
}

/// How many that are.
pub(super) fn count(context: &Context<'_>) -> usize {
    let all = context.destinations.len();
    let picked = |source: &u32| {
        let others = all - usize::from(context.destinations.binary_search(source).is_ok());
        context.traffic.fan_out.map_or(others, |count| others.min(count as usize))
    };
    let pairs: usize = context.sources.iter().map(picked).sum();
    pairs * context.traffic.connections_per_pair() as usize
}

/// So many of `hosts`, drawn without putting back.
fn pick(hosts: &[u32], count: u32, random: &mut Pcg64Mcg) -> Vec<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the hosts")]
    let places = distinct(random, count, hosts.len() as u32);
    places.into_iter().map(|place| hosts[place as usize]).collect()
}

fn start(traffic: &Traffic, random: &mut Pcg64Mcg) -> Time {
    let spread = traffic.start_spread.as_ps();
    let late = Span::from_ps(if spread == 0 { 0 } else { below(random, spread + 1) });
    Time::ZERO + traffic.start + late
}
