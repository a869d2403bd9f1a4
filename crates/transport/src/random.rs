//! Generators of random numbers. Whoever draws has one of its own, and this is where all come from: those of
//! this crate and those of a carrier.

use incast_cc::parts::random;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Delays of an endpoint's ACKs.
pub const ACK_JITTER: &str = "ACK jitter";

/// Noise that is added to the RTT samples of a connection.
pub const SIGNAL: &str = "signal";

/// The seed of a connection's algorithm.
pub const ALGORITHM: &str = "algorithm";

/// The seed of a connection that nobody has given any, by its index at its endpoint.
pub const CONNECTION: &str = "connection of an endpoint";

/// The generator of what is drawn for one `purpose` by one `owner`, which follow from `seed`: it shares nothing with
/// that of another seed, purpose or owner.
#[expect(clippy::disallowed_methods, reason = "the place where generators are seeded")]
pub fn generator(seed: u64, purpose: &str, owner: &[u64]) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(random::derive(seed, purpose, owner))
}

/// Uniform, from 0 to below 1.
#[inline]
pub fn unit(random: &mut impl Rng) -> f64 {
    random::fraction(random.next_u64())
}

/// Uniform, from 0 to below `end`, 0 when that is 0.
#[inline]
pub fn below(random: &mut impl Rng, end: u64) -> u64 {
    random::below(random.next_u64(), end)
}
