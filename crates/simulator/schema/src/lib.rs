//! Reading of TOML: a text becomes values, or one sentence that says what is wrong and where.
//!
//! * [`quantity`]: quantities with their unit ("10Gbps", "5us", "64KB"), within what can be
//!   simulated;
//! * [`Fault`]: an error on the way to its [`Place`];
//! * [`suggestion`]: the nearest name to one that is not known.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod fault;
pub mod quantity;
mod words;

pub use fault::{Fault, Located, Place, suggestion};
pub use words::DATE_FIELD;
