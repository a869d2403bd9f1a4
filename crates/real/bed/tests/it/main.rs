//! The tests of loads, of the lab and of cables. Bare sockets have theirs beside them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test may say why it is skipped")]

#[path = "../../../udp/tests/it/namespaces.rs"]
mod namespaces;
#[allow(dead_code, reason = "the tests of nodes use more of it")]
#[path = "../../../udp/tests/it/nodes.rs"]
mod nodes;

mod cable;
mod lab;
mod load;
