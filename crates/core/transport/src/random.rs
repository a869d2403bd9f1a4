//! Generators of random numbers, for this crate and for carriers. Each user has a generator of its
//! own, and all of them are made here.

use incast_cc::parts::random;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The purpose of the jitter of an endpoint's ACKs.
pub const ACK_JITTER: &str = "ACK jitter";

/// The purpose of noise in the RTT samples of a connection.
pub const SIGNAL: &str = "signal";

/// The purpose of the seed of a connection's algorithm.
pub const ALGORITHM: &str = "algorithm";

/// The purpose of the seed of a connection that was opened without one; its owner is the
/// connection's index at the endpoint.
pub const CONNECTION: &str = "connection of an endpoint";

/// The generator of one `owner` for one `purpose`, which follows from `seed`. It shares nothing
/// with the generator of another seed, purpose or owner.
#[expect(clippy::disallowed_methods, reason = "the place where generators are seeded")]
pub fn generator(seed: u64, purpose: &str, owner: &[u64]) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(random::derive(seed, purpose, owner))
}

/// A uniform number from 0 to below 1.
#[inline]
pub fn unit(random: &mut impl Rng) -> f64 {
    random::fraction(random.next_u64())
}

/// A uniform number from 0 to below `end`; 0 when that is 0.
#[inline]
pub fn below(random: &mut impl Rng, end: u64) -> u64 {
    random::below(random.next_u64(), end)
}
