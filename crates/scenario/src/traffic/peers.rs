//! Who may be at the other end, for kinds of traffic that draw it.

use std::collections::BTreeMap;

use incast_plan::random::{below, distinct, purpose};
use rand_core::Rng;
use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;

/// Who is at the other end of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destinations {
    /// Any host of `to` but oneself, each as likely.
    #[default]
    Uniform,
    /// For each host of `from` one host of `to`, drawn once; no two have the same while there are
    /// enough.
    Permutation,
    /// Any host of `to` that is as many switches away as any is.
    Farthest,
}

/// One host of the destinations for each source, drawn at random; different ones while there are
/// enough.
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
    // Around again, a source that meets itself has the one after. A single destination is the
    // same again, and the source has none.
    let pairs = context.sources.iter().enumerate().filter_map(|(place, &source)| {
        let next = [place, place + 1].map(|place| drawn[place % drawn.len()]);
        next.into_iter().find(|&host| host != source).map(|host| (source, host))
    });
    pairs.collect()
}

/// One of some hosts, each as likely.
pub(super) fn one_of(hosts: &[u32], random: &mut impl Rng) -> u32 {
    hosts[number_below(random, hosts.len())]
}

/// The place of the `place`-th thing, from 0, of those that are left when the one at `without` is
/// not there.
pub(super) fn skip(place: usize, without: Option<usize>) -> usize {
    place + usize::from(without.is_some_and(|without| without <= place))
}

#[expect(clippy::cast_possible_truncation, reason = "below the number of hosts")]
pub(super) fn number_below(random: &mut impl Rng, end: usize) -> usize {
    below(random, end as u64) as usize
}
