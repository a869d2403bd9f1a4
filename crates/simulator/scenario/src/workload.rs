//! Sizes of flows.
//!
//! Measured distributions are tables of sizes and cumulative probabilities ([`SizeTable`]). Those
//! that the literature simulates with ship under a name ([`tables`]). Other distributions have a
//! formula ([`Sizes`]). A sample is a function of random bits, computed only with exact IEEE
//! arithmetic and `libm`: a seed gives the same sizes on every machine.

mod shipped;
mod sizes;
mod table;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "samples are held against the definition of PCG")]
mod tests;

use incast_cc::Bytes;

pub use shipped::{Shipped, named, tables};
pub use sizes::{Exponential, Pareto, Sizes, SizesError, Uniform};
pub use table::{Interpolation, SizeTable, TableError, TableProblem, Unit};

/// The largest size that a scenario can name. A larger sample, which no run would finish, is cut to
/// this, so that sums of sizes stay within 64 bits.
const LARGEST: u64 = 1_000_000_000_000;

/// The middle of one of 2^52 equal parts of the interval from 0 to 1: never 0, which has no
/// logarithm, and never 1.
fn unit_interval(random: u64) -> f64 {
    ((random >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
}

/// The size rounded to the nearest whole number of bytes, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to an integer saturates, and what follows bounds it"
)]
fn whole_bytes(size: f64) -> Bytes {
    Bytes::new((size.round() as u64).clamp(1, LARGEST))
}
