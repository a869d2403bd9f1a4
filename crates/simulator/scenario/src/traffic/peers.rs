//! The destinations of flows, for kinds of traffic that draw them.

use std::collections::BTreeMap;

use incast_plan::random::{below, distinct, purpose};
use rand_core::Rng;
use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;

/// The choice of a flow's destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destinations {
    /// Any host of `to` except the source itself, with equal probability.
    #[default]
    Uniform,
    /// A host of `to` for each host of `from`, drawn once. All are different while there are
    /// enough.
    Permutation,
    /// Any host of `to` at the largest distance, counted in switches.
    Farthest,
}

/// Draws a destination for each source at random. All are different while there are enough.
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
            // Swap with the neighbour, around the end: then neither of them has itself.
            let next = (place + 1) % drawn.len();
            drawn.swap(place, next);
        }
    }
    // Where destinations repeat, a source that meets itself takes the next one. With a single
    // destination that is itself again, and the source has none.
    let pairs = context.sources.iter().enumerate().filter_map(|(place, &source)| {
        let next = [place, place + 1].map(|place| drawn[place % drawn.len()]);
        next.into_iter().find(|&host| host != source).map(|host| (source, host))
    });
    pairs.collect()
}

/// Draws one of `hosts`, with equal probability.
pub(super) fn one_of(hosts: &[u32], random: &mut impl Rng) -> u32 {
    hosts[number_below(random, hosts.len())]
}

/// The index of the `place`-th thing, from 0, among those that are left without the one at
/// `without`.
pub(super) fn skip(place: usize, without: Option<usize>) -> usize {
    place + usize::from(without.is_some_and(|without| without <= place))
}

#[expect(clippy::cast_possible_truncation, reason = "below the number of hosts")]
pub(super) fn number_below(random: &mut impl Rng, end: usize) -> usize {
    below(random, end as u64) as usize
}
