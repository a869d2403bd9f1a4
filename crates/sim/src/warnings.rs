//! Sentences about what cannot work, told before a run: one each, with the value, its place and a value
//! that would do.
//!
//! What the algorithm needs of switches is in `scenario/scheme.rs`, what traffic asks of links in
//! `scenario/load.rs`. Here is what follows from the paths of the traffic: [`survey`] looks at them, the
//! algorithm says what it cannot do there ([`incast_cc::caution`]), [`cautions`] makes sentences of that,
//! [`timeouts`], [`buffers`] and [`bursts`] look at those of the transport; [`settings`] has what holds whatever the scheme.

mod buffers;
mod bursts;
mod cautions;
mod dead_locks;
mod survey;
#[cfg(test)]
mod tests;
mod timeouts;

use incast_cc::{Bytes, Span};

use incast_scenario::{Scenario, Scheme};

pub use dead_locks::dead_lock_warnings;
use survey::survey;

/// Everything that cannot work under `scheme`, which is called `name`: one sentence each.
pub fn warnings(scenario: &Scenario, name: &str, scheme: &Scheme) -> Vec<String> {
    let mut warnings = scenario.unmet_needs(name, scheme);
    warnings.extend(path_warnings(scenario, name, scheme));
    warnings
}

/// The warnings about the paths of the traffic.
fn path_warnings(scenario: &Scenario, name: &str, scheme: &Scheme) -> Vec<String> {
    let paths = survey(scenario, *scheme);
    let mut warnings = cautions::sentences(scenario, (name, scheme), &paths);
    warnings.extend(timeouts::sentence(scenario, (name, scheme), &paths));
    warnings.extend(buffers::sentence(scenario, (name, scheme), &paths));
    warnings.extend(bursts::sentence((name, scheme), &paths));
    warnings
}

/// Two digits, up.
fn rounded_up(bytes: Bytes) -> Bytes {
    Bytes::new(two_digits(bytes.get(), true))
}

/// Two digits, down.
fn rounded_down(bytes: Bytes) -> Bytes {
    Bytes::new(two_digits(bytes.get(), false))
}

/// Two digits, up.
fn rounded_span(span: Span) -> Span {
    Span::from_ps(two_digits(span.as_ps(), true))
}

fn two_digits(value: u64, up: bool) -> u64 {
    let mut unit = 1;
    while value / unit >= 100 {
        unit *= 10;
    }
    if up { value.div_ceil(unit) * unit } else { value / unit * unit }
}
