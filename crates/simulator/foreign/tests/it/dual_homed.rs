//! Hosts with several links in files of HPCC's simulator, such as its racks of two top-of-rack
//! switches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use incast_foreign::{self as foreign, Format, HpccTopology, Options};

use super::{CONFIG, TOPOLOGY};

/// Ten hosts with two NICs each: 0 to 4 at switches 10 and 11, 5 to 9 at 12 and 13, which two
/// spines join.
const DUAL: &str = include_str!("hpcc/dual-homed.txt");

/// A flow file of these pairs of hosts, `each` times.
fn flow_file(pairs: &[(u32, u32)], each: usize) -> String {
    let mut text = format!("{}\n", pairs.len() * each);
    for (from, to) in pairs {
        for _ in 0..each {
            writeln!(text, "{from} {to} 3 100 20000 2.0").unwrap();
        }
    }
    text
}

/// The scenario, and the ends of its flows.
fn imported(files: &[(&str, &str)]) -> (foreign::Imported, Vec<(String, String)>) {
    let imported = foreign::import(files, &Options::default()).unwrap();
    let scenario: toml::Table = imported.scenario_toml.parse().unwrap();
    let list = scenario["traffic"][0]["list"].as_array().unwrap();
    let end = |flow: &toml::Value, key: &str| flow[key].as_str().unwrap().to_owned();
    let ends = list.iter().map(|flow| (end(flow, "from"), end(flow, "to"))).collect();
    (imported, ends)
}

/// How many flows there are of each pair of ends.
fn counted(ends: &[(String, String)]) -> BTreeMap<(String, String), usize> {
    let mut count: BTreeMap<_, usize> = BTreeMap::new();
    for ends in ends {
        *count.entry(ends.clone()).or_default() += 1;
    }
    count
}

#[test]
fn each_nic_is_a_host_of_its_own() {
    let graph = foreign::graph(Format::Hpcc, "t", DUAL).unwrap();
    assert_eq!(graph.hosts.len(), 20);
    assert_eq!(graph.hosts[..3], ["host0nic0", "host0nic1", "host1nic0"]);
    let ends: Vec<_> = graph.links.iter().map(|link| link.ends.join(" ")).collect();
    assert_eq!(ends[..3], ["host0nic0 switch10", "host0nic1 switch11", "host1nic0 switch10"]);
    assert_eq!(graph.links.len(), 28);
    let note = "t: 10 hosts have several links; each NIC is a host of its own here";
    assert!(graph.notes[0].starts_with(note), "{:?}", graph.notes);
    // A second link to the same switch is no second NIC: the last one is the link, as there.
    let twice = TOPOLOGY.replacen("7 2 7", "7 2 8", 1);
    let twice = twice.trim_end().to_owned() + "\n0 4 50Gbps 1us 0\n";
    let graph = foreign::graph(Format::Hpcc, "t", &twice).unwrap();
    assert_eq!(graph.hosts[0], "host0");
    assert_eq!(graph.links.last().unwrap().rate, incast_cc::Rate::from_gbps(50));
}

#[test]
fn a_flow_within_a_rack_stays_at_one_switch_and_flows_spread_over_nics() {
    let flows = flow_file(&[(0, 4)], 400);
    let (_, ends) = imported(&[("topology.txt", DUAL), ("flow.txt", &flows)]);
    let count = counted(&ends);
    // By the other switch it would be four links in the place of two.
    let nics = |nic: usize| (format!("host0nic{nic}"), format!("host4nic{nic}"));
    assert_eq!(count.keys().cloned().collect::<Vec<_>>(), [nics(0), nics(1)]);
    assert!(count.values().all(|count| (160..=240).contains(count)), "{count:?}");
}

#[test]
fn a_flow_between_racks_has_any_nic_at_each_end() {
    let flows = flow_file(&[(0, 9), (9, 0)], 400);
    let (_, ends) = imported(&[("topology.txt", DUAL), ("flow.txt", &flows)]);
    let count = counted(&ends);
    assert_eq!(count.len(), 8, "{count:?}");
    assert!(count.values().all(|count| (65..=135).contains(count)), "{count:?}");
    // The same at every import.
    assert_eq!(imported(&[("topology.txt", DUAL), ("flow.txt", &flows)]).1, ends);
}

#[test]
fn a_nic_that_is_farther_away_has_no_flow() {
    // Host 0 loses its link to switch 11, and gets one to the spine 14: from there it is farther to
    // host 1, and nearer to host 9.
    let far = DUAL.replacen("0 11 25Gbps", "0 14 25Gbps", 1);
    let flows = flow_file(&[(0, 1), (0, 9)], 50);
    let (_, ends) = imported(&[("topology.txt", &far), ("flow.txt", &flows)]);
    let firsts: BTreeSet<_> = ends[..50].iter().cloned().collect();
    assert_eq!(firsts.len(), 1);
    assert!(firsts.contains(&("host0nic0".into(), "host1nic0".into())));
    assert!(ends[50..].iter().all(|(from, _)| from == "host0nic1"), "{ends:?}");
}

#[test]
fn failures_and_traces_name_nics() {
    let config = CONFIG.replacen("LINK_DOWN 5000 4 5", "LINK_DOWN 5000 11 3", 1);
    let flows = flow_file(&[(0, 9)], 1);
    let trace = "2\n3 10\n";
    let files = [("c", config.as_str()), ("t", DUAL), ("f", &flows), ("n", trace)];
    let (imported, _) = imported(&files);
    let scenario: toml::Table = imported.scenario_toml.parse().unwrap();
    let link = scenario["event"][0]["link"].as_array().unwrap();
    assert_eq!(link[..], ["switch11".into(), "host3nic1".into()]);
    let traced = scenario["measure"]["trace"].as_array().unwrap();
    assert_eq!(traced[..], ["host3nic0".into(), "host3nic1".into(), "switch10".into()]);
    let note = "LINK_DOWN of a host with several links: flows of that NIC wait";
    assert!(imported.notes.iter().any(|known| known.contains(note)), "{:?}", imported.notes);
}

#[test]
fn a_scenario_of_ones_own_names_nics() {
    // A node file in [network.file] and flows of `kind = "flows"` do not know each other.
    let topology = HpccTopology::parse("t", DUAL).unwrap();
    assert_eq!(topology.name(3), "host3");
    let graph = topology.graph("t").unwrap();
    assert!(!graph.hosts.contains(&"host3".to_owned()));
}
