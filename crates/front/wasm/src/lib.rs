//! The simulator as a WebAssembly module (`wasm32-unknown-unknown`), which imports nothing:
//!
//! ```text
//! cargo build --release -p incast-wasm --target wasm32-unknown-unknown
//! ```
//!
//! The module has no clock, no files and no threads. A scenario gives the same bytes there as
//! anywhere else, which the test of this crate compares.
//!
//! * [`Session`] has a scenario and a run of it. It is asked in JSON ([`ask`]) and answers in JSON,
//!   or with the bytes of a table.
//! * `abi` has the functions that the module exports.
//!
//! The page in `web/` has an instance of the module, with one session, for each scheme.

pub mod abi;
mod about;
pub mod ask;
mod opened;
mod session;
mod tables;

pub use session::{Answer, Session};
