//! Warnings of stream buffers that hold less than the path.

use super::rounded_up;
use super::survey::Surveyed;
use incast_scenario::{Scenario, Scheme};
use incast_transport::facts;

/// A warning if a buffer of fixed size holds less than a flow's share of the bandwidth-delay
/// product, on the path that is worst off.
pub(super) fn sentence(
    scenario: &Scenario,
    (name, scheme): (&str, &Scheme),
    paths: &[Surveyed],
) -> Option<String> {
    if !facts(scheme.transport).is_tcp {
        return None;
    }
    let [send, receive] = scenario.transport.buffers();
    let limits = [("send_buffer", send), ("receive_buffer", receive)].into_iter();
    let (buffer, field) = limits.filter_map(|(field, buffer)| Some((buffer?, field))).min()?;
    let path = paths.iter().max_by_key(|path| path.facts.product)?;
    let product = path.facts.product;
    if product <= buffer {
        return None;
    }
    let percent = (buffer.get() as f64 / product.get() as f64 * 100.0).max(0.1);
    let [from, to] = &path.ends;
    Some(format!(
        "{name}: a stream from {from} to {to} gets {percent:.1} % of its share of the path, since \
         transport.stream.{field} = {buffer} is below the {} that the share holds (bandwidth times RTT); \
         set it to {} or more",
        rounded_up(product),
        rounded_up(product * 2),
    ))
}
