//! Stragglers: hosts of a collective that compute for longer than the others.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{Span, Time};
use incast_plan::steps::Timed;
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::checked::Checked;
use super::super::context::Context;

/// Hosts that compute for longer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Straggler {
    /// The hosts: a group, one host of it, or several such as `host[0-15]`.
    pub hosts: String,
    /// The factor of their computing time.
    #[serde(default = "default_factor")]
    pub factor: f64,
    /// The time by which they begin each round later, the first one included.
    #[serde(default, with = "quantity::Time")]
    pub delay: Span,
}

/// The largest factor.
const MOST_FACTOR: f64 = 1_000.0;

/// Checks that stragglers are hosts of the collective.
pub(super) fn check(stragglers: &[Straggler], checked: &Checked<'_>) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for Straggler { hosts, factor, .. } in stragglers {
        let found = checked.scenario.network.hosts_called(hosts, checked.net);
        if found.is_empty() {
            return Err(checked.at("stragglers", checked.unknown_host(hosts)));
        }
        for host in found {
            let name = &checked.net.hosts[host as usize];
            if checked.from.binary_search(&host).is_err() {
                let message = format!("{name:?} is no host of `from`; name others");
                return Err(checked.at("stragglers", message));
            }
            if !seen.insert(host) {
                let message = format!("{name:?} comes twice; name it once");
                return Err(checked.at("stragglers", message));
            }
        }
        if !(1.0..=MOST_FACTOR).contains(factor) {
            let message = format!("factor {factor} is out of range; expected 1 to {MOST_FACTOR}");
            return Err(checked.at("stragglers", message));
        }
    }
    Ok(())
}

/// The times of each straggler's rounds, where the others compute for `compute`.
pub(super) fn times(
    stragglers: &[Straggler],
    context: &Context<'_>,
    (start, compute): (Time, Span),
) -> BTreeMap<u32, Timed> {
    let mut all = BTreeMap::new();
    for &Straggler { ref hosts, factor, delay } in stragglers {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let longer = Span::from_ps((compute.as_ps() as f64 * factor).round() as u64);
        let timed = Timed { start: start + delay, pause: longer + delay };
        let found = context.scenario.network.hosts_called(hosts, context.topology);
        all.extend(found.into_iter().map(|host| (host, timed)));
    }
    all
}

const fn default_factor() -> f64 {
    1.0
}
