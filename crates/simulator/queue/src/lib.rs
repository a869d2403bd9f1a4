//! The queues of a port, one file for each kind.
//!
//! * [`management`]: queue management (AQM), which signals congestion to senders before a queue is
//!   full. It marks or drops packets as they come or leave.
//! * [`discipline`]: queue disciplines, which say which packet leaves next, and which one is
//!   dropped when room is short.
//! * [`feedback`]: explicit answers to senders, in the packets that leave.
//!
//! The file of a kind holds its settings, their checks, and its behaviour; a line in `kinds.rs`
//! registers it. The crate knows no network: the owner of a queue passes packets, bytes and the
//! time.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

#[macro_use]
mod kinds;

pub mod discipline;
pub mod feedback;
pub mod management;

/// The name of a field, and a sentence that says what is wrong with it.
pub type Wrong = (&'static str, String);
