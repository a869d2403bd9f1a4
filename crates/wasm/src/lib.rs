//! The simulator as a WebAssembly module (`wasm32-unknown-unknown`), which imports nothing:
//!
//! ```text
//! cargo build --release -p incast-wasm --target wasm32-unknown-unknown
//! ```
//!
//! It has no clock, no files and no threads, and needs none. A scenario gives the same bytes there
//! as anywhere else, which the test of this crate compares.

#![expect(unsafe_code, reason = "names that a module exports")]

use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig, digest};

/// A fat tree of 16 hosts with streams, messages and telemetry.
const SCENARIO: &str = include_str!("../../../scenarios/fat-tree-web-search.toml");

/// Values of the scenario, changed to make the runs short.
const CHANGES: [&str; 4] =
    ["run.duration=400us", "run.warmup=100us", "run.cooldown=50us", "run.interval=20us"];

/// A digest of all tables of a small scenario, over all of its schemes. It is zero if the scenario
/// cannot be run.
#[unsafe(no_mangle)]
pub extern "C" fn incast_digest() -> u64 {
    let document = Document::parse(SCENARIO.into(), "fat-tree-web-search.toml");
    let Ok(document) = document.and_then(|document| document.with_set(&CHANGES)) else { return 0 };
    let scenario = document.scenario();
    let mut of_all = 0_u64;
    for scheme in &scenario.run.schemes {
        let run = Simulation::new(scenario, scheme, scenario.run.seed, TraceConfig::default());
        let Ok(mut run) = run else { return 0 };
        while run.advance(1 << 16) {}
        of_all = of_all.rotate_left(1) ^ digest(&run.finish().tables);
    }
    of_all
}
