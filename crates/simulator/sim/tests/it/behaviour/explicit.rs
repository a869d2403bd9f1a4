//! Switches that tell senders explicitly: D3, RCP, VCP; and HULL, whose phantom queues mark early.

use incast_sim::scenario::Document;
use incast_sim::{Summary, TraceConfig};

use crate::common::{numbers, run_with};

/// Four streams from hosts of 1 Gb/s into a port of as much, with a round trip of 100 us.
const NET: &str = r#"title = "explicit"

[run]
duration = "60ms"
warmup = "30ms"
schemes = ["d3"]

[[network.star.hosts]]
name = "sender"
count = 4
rate = "1Gbps"
delay = "25us"

[[network.star.hosts]]
name = "receiver"
rate = "1Gbps"
delay = "25us"

[switch]
queue_limit = "300KB"

[switch.feedback.d3]

[switch.feedback.rcp]

[switch.feedback.vcp]
interval = "1ms"

[transport]
kind = "stream"

[[traffic]]
kind = "connections"
from = "sender"
to = "receiver"
start_spread = "1ms"
"#;

/// The schemes of this file, by the names of their algorithms.
const NAMES: [&str; 4] = ["d3", "rcp", "vcp", "hull"];

fn summary(scheme: &str, set: &[&str]) -> Summary {
    assert!(NAMES.iter().any(|name| scheme.starts_with(name)) || scheme == "dctcp");
    let document = Document::parse(NET.to_owned(), "net.toml").unwrap().with_set(set).unwrap();
    run_with(&document, scheme, 1, TraceConfig::default()).summary
}

#[test]
fn d3_and_rcp_share_the_port_equally_with_hardly_a_packet_waiting() {
    for (scheme, least) in [("d3", 0.95), ("rcp", 0.85)] {
        let s = summary(scheme, &[]);
        assert!(s.throughput_gbps > least, "{scheme}: {}", s.throughput_gbps);
        assert!(s.queue_mean_kb < 3.0 && s.drops == 0, "{scheme}: {s:?}");
        assert!(s.jain_index > 0.99, "{scheme}: {}", s.jain_index);
    }
}

#[test]
fn d3_keeps_deadlines_where_the_port_cannot_keep_all() {
    // Answers of 50 KB, with 20 ms: the port carries 48 of 60 in time.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../python/incast/papers/d3/scenarios/senders.toml"
    );
    let set = [
        "run.duration=250ms",
        "network.star.hosts.0.count=30",
        "network.star.hosts.1.count=30",
        "traffic.0.message=50KB",
        "traffic.1.message=50KB",
        "traffic.0.deadline=20ms",
        "traffic.1.deadline=20ms",
        "traffic.0.count=3",
        "traffic.1.count=3",
    ];
    let text = std::fs::read_to_string(path).unwrap();
    let document = Document::parse(text, path).unwrap().with_set(&set).unwrap();
    let report = run_with(&document, "d3", 1, TraceConfig::default());
    let late = numbers(&report, "messages", "late_us");
    let met = late.iter().filter(|&&late| late <= 0.0).count();
    assert_eq!(late.len(), 180);
    assert!((115..=144).contains(&met), "{met} of 180 are in time; 144 could be");
}

#[test]
fn vcp_keeps_the_load_near_its_target() {
    let s = summary("vcp:datacenter", &["run.duration=400ms", "run.warmup=200ms"]);
    assert!(s.throughput_gbps > 0.85, "{}", s.throughput_gbps);
    assert!(s.drops == 0, "{s:?}");
}

#[test]
fn hull_gives_a_tenth_of_the_port_for_an_empty_queue() {
    let phantom = ["switch.aqm.kind=phantom", "switch.aqm.drain=0.9"];
    let hull = summary("hull:nsdi12-1g", &phantom);
    let dctcp = summary("dctcp", &["switch.ecn_threshold=30KB"]);
    assert!(hull.throughput_gbps > 0.7, "{}", hull.throughput_gbps);
    assert!(hull.queue_mean_kb < dctcp.queue_mean_kb / 3.0, "{hull:?}");
}

#[test]
fn without_answers_a_flow_sends_a_packet_in_a_round_trip() {
    let text = NET.replace("[switch.feedback.d3]\n", "").replace("[switch.feedback.rcp]\n", "");
    let document = Document::parse(text, "net.toml").unwrap();
    for scheme in ["d3", "rcp"] {
        let s = run_with(&document, scheme, 1, TraceConfig::default()).summary;
        // Four times 1,460 B in some 140 us.
        assert!((0.2..0.5).contains(&s.throughput_gbps), "{scheme}: {}", s.throughput_gbps);
    }
}
