//! The queues of a port, one file for each kind.
//!
//! * [`management`]: queue management (AQM), which tells senders of congestion before a queue is
//!   full. It marks or drops packets as they come or leave.
//! * [`discipline`]: queue disciplines, which say which packet leaves next, and which one goes when
//!   room is short.
//!
//! A kind is its settings, the checks of them, and what it does, in one file; a line in `kinds.rs`
//! registers it. The crate knows no network: whoever owns a queue hands in packets, bytes and the
//! time.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

#[macro_use]
mod kinds;

pub mod discipline;
pub mod management;

/// A field, and the sentence that says what is wrong with it.
pub type Wrong = (&'static str, String);
