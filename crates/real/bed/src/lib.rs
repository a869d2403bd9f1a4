//! Measuring tools of test beds for the message transport over UDP.
//!
//! * [`load`] makes calls at a rate, and answers them.
//! * [`bare`] has sockets without any transport, to compare with.
//! * [`lab`] carries the traffic of a test bed: nodes in network namespaces of one machine.
//! * [`cable`] delays frames between two virtual devices, where the kernel has no netem.
//!
//! The tools use nothing of nodes and hosts that other programs do not have. The crate is for Linux,
//! and is empty elsewhere.

#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

pub mod bare;
pub mod cable;
pub mod lab;
pub mod load;
