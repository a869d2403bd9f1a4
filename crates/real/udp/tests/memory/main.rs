//! The tests that measure the memory of their process, in a program of their own, in which one
//! runs at a time.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test may say how long it took, and what it found")]

#[allow(dead_code, reason = "the other tests use more of it")]
#[path = "../it/connect.rs"]
mod connect;
#[allow(dead_code, reason = "the other tests use more of it")]
#[path = "../it/damage.rs"]
mod damage;
#[allow(dead_code, reason = "the other tests use more of it")]
#[path = "../it/forger.rs"]
mod forger;
#[allow(dead_code, reason = "the other tests use more of it")]
#[path = "../it/frames.rs"]
mod frames;
#[allow(dead_code, reason = "the other tests use more of it")]
#[path = "../it/nodes.rs"]
mod nodes;

mod allocation;
mod connections;
mod fuzz_node;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The right of a test to have the memory of this process for itself.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}
