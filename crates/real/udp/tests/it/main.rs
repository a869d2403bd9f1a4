//! The tests of sockets, nodes and hosts, in one program: linking one takes less time than linking
//! many. Those that measure the memory of their process are in `memory`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test may say how long it took, or why it is skipped")]

mod connect;
mod damage;
#[path = "../../../../../fuzz/datagrams.rs"]
mod datagrams;
mod flood;
mod forger;
mod frames;
mod kept;
mod namespaces;
mod nodes;
mod relays;

mod amplification;
mod bounds;
mod classes;
mod fuzz_handshake;
mod fuzz_wire;
mod group;
mod handshake;
mod host;
mod huge;
mod keys;
mod limits;
mod listener;
mod loopback;
mod mtu;
mod node;
mod processes;
mod record;
mod relay;
mod session;
mod stuck;
mod veth;
mod wire;
mod withdrawn;
