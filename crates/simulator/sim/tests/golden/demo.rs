//! The whole second of the demo, and a part of it with other NICs.

#![expect(clippy::print_stdout, reason = "why nothing was run")]

use std::fmt::Write as _;

use incast_sim::TraceConfig;

use crate::assert_golden;
use crate::figures::figures;
use crate::run::run_with;
use crate::scenario::shipped;

const SHORT: &str = "run.duration=300ms";

/// The runs: a scheme, and what is changed in the demo.
const RUNS: [(&str, &[&str]); 6] = [
    ("timely", &[]),
    ("line-rate", &[]),
    ("timely", &[SHORT, "run.warmup=50ms", "transport.nic=packets"]),
    ("line-rate", &[SHORT, "run.warmup=50ms", "transport.nic=packets"]),
    // Whole segments at line rate.
    ("timely", &[SHORT, "run.warmup=50ms", "cc.timely.burst_rate=10Gbps"]),
    // A pause ends what a NIC knows of its packets.
    ("timely", &[SHORT, "run.warmup=50ms", "switch.pfc.xoff=40KB", "switch.pfc.xon_offset=20KB"]),
];

#[test]
fn golden_second_of_the_demo() {
    if cfg!(debug_assertions) {
        println!("Not run: a second of the demo takes a release build.");
        return;
    }
    let mut text = String::from(
        "# The demo, scenarios/incast.toml, and parts of it with other NICs, seed 1: a fault in what a NIC\n\
         # sends ahead of time shows after some hundred milliseconds. Only release builds run it.\n\
         # Renew: INCAST_UPDATE_GOLDEN=1 cargo test --release -p incast-sim --test golden\n\
         # and say in the commit why the figures moved. Digest: FNV-1a, 64 bits, of all tables.\n",
    );
    for (scheme, changes) in RUNS {
        let report = run_with(&shipped("incast", changes), scheme, 1, TraceConfig::default());
        let _ =
            write!(text, "\n[{}]\n{}", [&[scheme], changes].concat().join(", "), figures(&report));
    }
    assert_golden("demo.txt", &text);
}
