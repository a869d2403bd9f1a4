//! Warnings of a first retransmission timeout that ends before an answer can come.

use super::rounded_span;
use super::survey::Surveyed;
use incast_scenario::{Scenario, Scheme};

/// A warning if the first timeout was set, and is below the longest RTT without queues. A timeout
/// that was not set follows the path.
pub(super) fn sentence(
    scenario: &Scenario,
    (name, scheme): (&str, &Scheme),
    paths: &[Surveyed],
) -> Option<String> {
    let path = paths.iter().max_by_key(|path| path.rtt)?;
    let transport = &scenario.transport;
    let timeout = transport.rto_initial?;
    let (_, least, _) = transport.timeouts(scheme.transport);
    if timeout.max(least) >= path.rtt {
        return None;
    }
    let [from, to] = &path.ends;
    Some(format!(
        "{name}: the first segments are sent again before they can be answered, since transport.rto_initial = \
         {timeout} is below the {} that a round trip from {from} to {to} takes without queues; set it to {} or \
         more, or leave it out",
        rounded_span(path.rtt),
        rounded_span(path.rtt * 2),
    ))
}
