//! The scenarios of the benchmark are what they say.

use incast_sim::scenario::Document;
use incast_sim::{Report, TraceConfig};

use crate::common::{counts, repository, run_with, texts};

fn run(name: &str, assignments: &[&str]) -> Report {
    let path = repository(&format!("bench/{name}.toml"));
    let document = Document::load(&path).and_then(|document| document.with_set(assignments));
    let document = document.unwrap_or_else(|error| panic!("{error}"));
    run_with(&document, &document.scenario().run.schemes[0], 1, TraceConfig::default())
}

#[test]
fn ten_streams_share_a_port_that_marks() {
    let report = run("star", &["run.duration=20ms", "run.warmup=10ms"]);
    let summary = &report.summary;
    // 1,448 B of payload in packets of 1,490 B at 10 Gb/s.
    assert!((9.6..9.72).contains(&summary.throughput_gbps), "{}", summary.throughput_gbps);
    assert!(summary.drops == 0 && summary.ecn_marks > 0, "{summary:?}");
    assert_eq!(counts(&report, "flows", "delivered_bytes").len(), 10);
}

/// All of `hosts` send, each to one host of another group of `size` hosts, and each receives.
fn all_send_to_another_group(report: &Report, (hosts, size): (usize, usize)) {
    let number = |name: &str| name.strip_prefix("host").unwrap().parse::<usize>().unwrap();
    let ends = |column| texts(report, "flows", column).iter().map(|name| number(name));
    assert!(ends("source").zip(ends("destination")).all(|(from, to)| from / size != to / size));
    for column in ["source", "destination"] {
        let mut found: Vec<_> = ends(column).collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..hosts), "{column}");
    }
    let delivered = counts(report, "flows", "delivered_bytes");
    assert!(delivered.iter().all(|bytes| *bytes > 0), "{delivered:?}");
}

#[test]
fn streams_fill_a_fabric_that_marks() {
    let report = run("leaf-spine-tcp", &["run.duration=2ms", "run.warmup=1ms"]);
    all_send_to_another_group(&report, (96, 16));
    let summary = &report.summary;
    assert!(summary.throughput_gbps > 650.0, "{}", summary.throughput_gbps);
    assert!(summary.drops == 0 && summary.ecn_marks > 0, "{summary:?}");
}

#[test]
fn messages_fill_the_same_fabric_over_pfc() {
    let report = run("leaf-spine-messages", &["run.duration=2ms", "run.warmup=1ms"]);
    all_send_to_another_group(&report, (96, 16));
    assert!(report.summary.throughput_gbps > 450.0, "{}", report.summary.throughput_gbps);
    assert_eq!(report.summary.drops, 0);
}

#[test]
fn streams_cross_fat_trees_from_pod_to_pod_without_a_drop() {
    for (name, hosts, pod) in [("fat-tree-128", 128, 16), ("fat-tree-1024", 1_024, 64)] {
        let report = run(name, &["run.duration=50us", "run.warmup=0us"]);
        all_send_to_another_group(&report, (hosts, pod));
        assert_eq!(report.summary.drops, 0, "{name}");
    }
}
