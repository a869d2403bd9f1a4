//! Scenarios from files of other simulators, in whole runs. `incast-foreign` tests what is read.

use incast_sim::foreign::{FORMATS, Options, import};
use incast_sim::{Report, TraceConfig};

use crate::common::{numbers, repository, run_with};

const TOPOLOGIES: [&str; 2] = [
    include_str!("../../../foreign/tests/it/hpcc/dual-homed.txt"),
    include_str!("../../../foreign/tests/it/hpcc/gpus.txt"),
];

/// The run of a scenario that is made of files.
fn run(files: &[(&str, &str)]) -> Report {
    let imported = import(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let document = FORMATS.parse(imported.scenario_toml, "imported.toml").unwrap();
    run_with(&document, "timely", 1, TraceConfig::default())
}

#[test]
fn hosts_with_two_nics_complete_all_flows() {
    let pairs = (0..10).map(|host| (host, (host * 3 + 5) % 10)).filter(|(from, to)| from != to);
    let lines = pairs.map(|(from, to)| format!("{from} {to} 3 100 20000 2.0\n").repeat(3));
    let lines: Vec<_> = lines.collect();
    let flows = format!("{}\n{}", lines.len() * 3, lines.concat());
    let report = run(&[("topology.txt", TOPOLOGIES[0]), ("flow.txt", &flows)]);
    let done = numbers(&report, "messages", "completed_us");
    assert_eq!(done.iter().filter(|at| at.is_finite()).count(), lines.len() * 3);
}

#[test]
fn gpus_of_a_server_have_nvlink_between_them() {
    let flows = "3\n0 1 3 100 1000000 0\n0 2 3 100 1000000 0\n3 1 3 100 1000000 0\n";
    let report = run(&[("gpus", TOPOLOGIES[1]), ("flow.txt", flows)]);
    let done = numbers(&report, "messages", "completion_us");
    // 1 MB takes 2.8 us at 2,880 Gb/s, and 20 us at 400 Gb/s.
    assert!(done[0] < 4.0 && done[1..].iter().all(|&us| us > 20.0), "{done:?}");
}

#[test]
fn a_connection_without_end_runs_to_the_end() {
    let text = "Nodes 2\nConnections 2\n0->1 start 2000000 size 0\n1->0 start 0 size 1000\n";
    let report = run(&[("f.cm", text)]);
    // Host 0 sends from 2 us to the end on a link of 100 Gb/s.
    assert!(report.summary.throughput_gbps > 80.0, "{}", report.summary.throughput_gbps);
}

#[test]
fn a_scenario_that_names_a_file_of_another_simulator_runs() {
    let document = FORMATS.load(&repository("fuzz/corpus/scenario/file")).unwrap();
    let report = run_with(&document, "timely", 1, TraceConfig::default());
    assert!(report.summary.throughput_gbps > 20.0, "{}", report.summary.throughput_gbps);
}
