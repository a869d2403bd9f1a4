//! The worked example of `docs/how-to/adding-a-queue.md`, driven by hand: `cargo run -p
//! incast-queue --example fair` prints the order in which packets of three flows leave.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[expect(
    clippy::wildcard_imports,
    reason = "fair.rs is written with `crate` for `incast_queue`"
)]
use incast_queue::*;

use incast_queue::discipline::{Discipline, Job, Packet, Settings};

#[expect(unreachable_pub, reason = "written as a module of the library")]
mod fair;

/// A packet that bears the name of its flow.
#[derive(Debug)]
struct Named(char);

impl Packet for Named {
    fn wire(&self) -> u64 {
        1_500
    }
}

fn main() {
    let mut queue = fair::Fair::default().start();
    for name in "aaaaabbc".chars() {
        queue.push(Named(name), || Job { flow: u64::from(u32::from(name)), remaining: 1 });
    }
    if let Some(Named(longest)) = queue.evict(Job { flow: 0, remaining: 1 }) {
        println!("without room, a packet of {longest} goes");
    }
    while let Some(Named(name)) = queue.pop() {
        println!("{name}");
    }
}
