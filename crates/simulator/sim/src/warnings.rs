//! Warnings, told before a run: sentences about settings that cannot work, each with the value, its
//! place and a value that would do.
//!
//! The scenario itself tells of needs that switches do not meet ([`Scenario::unmet_needs`]) and of
//! links that the traffic overloads ([`Scenario::load_warnings`]). The warnings here follow from
//! the paths of the traffic:
//!
//! * [`survey`](mod@survey) finds the paths;
//! * [`cautions`] makes sentences of the things that the algorithm cannot do on them
//!   ([`incast_cc::caution`]);
//! * [`timeouts`], [`buffers`] and [`bursts`] look at the settings of the transport;
//! * [`dead_locks`] looks for paths on which PFC can dead-lock.

mod buffers;
mod bursts;
mod cautions;
mod dead_locks;
mod survey;
#[cfg(test)]
mod tests;
mod timeouts;

use incast_cc::{Bytes, Span};

use incast_scenario::{NamedScheme, Scenario, Scheme};
use incast_transport::facts;

pub use dead_locks::dead_lock_warnings;
pub(crate) use survey::{Scope, Surveyed, survey};

/// All warnings under `scheme`, which is called `name`: a sentence each.
pub fn warnings(scenario: &Scenario, name: &str, scheme: &Scheme) -> Vec<String> {
    let mix = scenario.mix(name, *scheme);
    let mut warnings = Vec::new();
    for (number, NamedScheme { name, scheme }) in (0..).zip(mix.all()) {
        if number == 0 && !scenario.uses_run_scheme() {
            warnings.push(format!(
                "{name}: no flow is under it, since all [[traffic]] has a scheme of its own; take \
                 scheme out of one, or run a single scheme"
            ));
            continue;
        }
        warnings.extend(scenario.unmet_needs(name, scheme));
        if !facts(scheme.transport).is_tcp && scenario.transport.stream.handshake == Some(true) {
            warnings.push(format!(
                "{name}: it sends messages, whose connections are open from the start, so \
                 transport.stream.handshake = true has no effect; set it to false, or transport.kind \
                 to \"stream\""
            ));
        }
        warnings.extend(path_warnings(scenario, name, scheme, Scope::Scheme(number)));
    }
    warnings
}

/// The warnings about the paths of some traffic.
fn path_warnings(scenario: &Scenario, name: &str, scheme: &Scheme, scope: Scope) -> Vec<String> {
    let paths = survey(scenario, *scheme, scope);
    let mut warnings = cautions::sentences(scenario, (name, scheme), &paths);
    warnings.extend(timeouts::sentence(scenario, (name, scheme), &paths));
    warnings.extend(buffers::sentence(scenario, (name, scheme), &paths));
    warnings.extend(bursts::sentence((name, scheme), &paths));
    warnings
}

/// Bytes rounded up to two digits.
fn rounded_up(bytes: Bytes) -> Bytes {
    Bytes::new(two_digits(bytes.get(), true))
}

/// Bytes rounded down to two digits.
fn rounded_down(bytes: Bytes) -> Bytes {
    Bytes::new(two_digits(bytes.get(), false))
}

/// A time rounded up to two digits.
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
