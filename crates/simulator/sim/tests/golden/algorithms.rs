//! Every algorithm on one incast, as a table that a person can review.

use std::fmt::Write as _;

use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use incast_sim::TraceConfig;

use crate::assert_golden;
use crate::run::run_with;
use crate::scenario::shipped;

fn table() -> String {
    let mut text = String::from(
        "# Ten senders, one receiver, 10 Gb/s links of 1 us, a drop-tail queue of 500 packets of 1,490 B\n\
         # that marks above 65 (packets that may be marked) and stamps INT; 100 ms, of which the second\n\
         # half is measured, seed 1: scenarios/tcp-incast.toml with an ACK for each segment. RDMA\n\
         # algorithms send messages in segments of 16 KB, the others streams. RTTs of messages leave out\n\
         # the serialization of the segment. Drops are of the whole run.\n\
         # Renew: INCAST_UPDATE_GOLDEN=1 cargo test -p incast-sim --test golden\n\
         # and say in the commit why the figures moved.\n\n",
    );
    let _ = writeln!(
        text,
        "{:16} {:9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>7}",
        "algorithm",
        "transport",
        "throughput",
        "RTT mean",
        "RTT p99",
        "queue mean",
        "queue p95",
        "drops",
        "marks",
        "Jain's"
    );
    let _ = writeln!(
        text,
        "{:16} {:9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>7}",
        "", "", "Gb/s", "us", "us", "KB", "KB", "packets", "packets", "index"
    );
    for name in NAMES {
        let kind = AnyAlgorithm::named(name).unwrap().info().transport.as_str();
        let transport = format!("transport.kind={kind}");
        let document = shipped(
            "tcp-incast",
            &[
                "switch.ecn_threshold=96850B",
                "switch.telemetry=true",
                "switch.feedback.d3={}",
                "switch.feedback.rcp={}",
                "switch.feedback.vcp={ interval = \"1ms\" }",
                "transport.stream.delayed_ack=1",
                "transport.segment=16KB",
                &transport,
            ],
        );
        let s = run_with(&document, name, 1, TraceConfig::default()).summary;
        let _ = writeln!(
            text,
            "{name:16} {kind:9} {:10.3} {:10.1} {:10.1} {:10.1} {:10.1} {:8} {:8} {:7.4}",
            s.throughput_gbps,
            s.rtt_mean_us,
            s.rtt_p99_us,
            s.queue_mean_kb,
            s.queue_p95_kb,
            s.drops,
            s.ecn_marks,
            s.jain_index,
        );
    }
    text
}

#[test]
fn golden_table_of_all_algorithms() {
    assert_golden("algorithms.txt", &table());
}
