//! Files of the relatives of HPCC's simulator: ns3-rdma, ConWeave, inet-tub's and SimAI's.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Rate, Span};
use incast_foreign::{self as foreign, Format, Imported, Kind, Options, Start};
use incast_scenario::Document;
use toml::Table;

use super::{CONFIG, FLOWS, TOPOLOGY, failed_import, pairs};

/// Three hosts at a switch.
const STAR: &str = "4 1 3\n0\n0 1 40Gbps 0.001ms 0\n0 2 40Gbps 0.001ms 0\n0 3 40Gbps 0.001ms 0\n";
/// Packets, a start and an end.
pub(crate) const RDMA_FLOWS: &str =
    "2\n2 1 3 2000000 2.0 9.5\n3 1 3 10 2.5 9.5\n\nsrc dst priority packet# ...\n";
/// Either formats' columns: 100 packets from 2 s to 9 s, or 2 bytes to port 100 at 9 s.
const EITHER: &str = "1\n2 1 3 100 2 9\n";
/// Two servers of two GPUs, each with an NVSwitch (4, 5), whose NICs are in two planes (6, 7).
const GPUS: &str = include_str!("hpcc/gpus.txt");

fn with(files: &[(&str, &str)], options: &Options) -> (Table, Imported) {
    let imported = foreign::import(files, options).unwrap_or_else(|error| panic!("{error}"));
    (imported.scenario_toml.parse().unwrap(), imported)
}

fn import(files: &[(&str, &str)]) -> (Table, Imported) {
    with(files, &Options::default())
}

/// The value of a flow of the scenario.
fn of_flow<'a>(scenario: &'a Table, flow: usize, key: &str) -> &'a str {
    scenario["traffic"][0]["list"][flow][key].as_str().unwrap()
}

fn told(imported: &Imported, part: &str) -> bool {
    imported.notes.iter().any(|note| note.contains(part))
}

#[test]
fn packets_and_ends_of_ns3_rdma_are_no_bytes_and_starts() {
    let (scenario, imported) = import(&[("topology.txt", STAR), ("flow.txt", RDMA_FLOWS)]);
    let first = ["from", "to", "size", "start"].map(|key| of_flow(&scenario, 0, key));
    assert_eq!(first, ["host2", "host1", "2GB", "2s"]);
    assert_eq!(of_flow(&scenario, 1, "size"), "10KB");
    // 2,000,010,000 B into 40 Gb/s from 2.5 s on, doubled, from 2 s, and a millisecond.
    assert_eq!(scenario["run"]["duration"].as_str().unwrap(), "3.802s");
    assert!(!told(&imported, "the ends of flows"), "{:?}", imported.notes);
    let soon = RDMA_FLOWS.replace("9.5", "2.6");
    let (scenario, _) = import(&[("topology.txt", STAR), ("flow.txt", &soon)]);
    assert_eq!(scenario["run"]["duration"].as_str().unwrap(), "2.6s", "nothing is sent after it");
    assert!(scenario["run"].get("drain").is_none());
}

#[test]
fn packets_have_the_payload_of_the_configuration() {
    let config = "PACKET_PAYLOAD_SIZE 500\nKMIN 40\nKMAX 1000\nPMAX 0.5\nDCTCP_GAIN 0.0625\n\
                  CNP_INTERVAL 50\nRATE_AI 40Mb/s\nFAST_RECOVERY_TIMES 5\nBYTE_COUNTER 300000\n\
                  SIMULATOR_STOP_TIME 3.01\nAPP_START_TIME 1.0\n";
    let files = [("config.txt", config), ("topology.txt", STAR), ("flow.txt", RDMA_FLOWS)];
    let (scenario, imported) = import(&files);
    assert_eq!(of_flow(&scenario, 0, "size"), "1GB");
    assert_eq!(scenario["run"]["schemes"][0].as_str(), Some("dcqcn:ns3-rdma"));
    let cc = &scenario["cc"]["dcqcn:ns3-rdma"];
    assert_eq!((cc["g"].as_str(), cc["fast_recovery"].as_integer()), (Some("0.0625"), Some(4)));
    assert_eq!(cc["byte_counter"].as_str(), Some("300KB"));
    let aqm = &scenario["switch"]["aqm"];
    assert_eq!((aqm["min"].as_str(), aqm["max"].as_str()), (Some("41.2KB"), Some("1.03MB")));
    assert_eq!(aqm["max_probability"].as_float(), Some(0.5));
    assert_eq!(aqm["at"].as_str(), Some("departure"));
    assert_eq!(scenario["transport"]["cnp_interval"].as_str(), Some("50us"));
    assert!(told(&imported, "APP_START_TIME: not known"), "{:?}", imported.notes);
    let tcp = format!("{config}TCP_FLOW_FILE mix/tcp.txt\n");
    let error = failed_import(&[("config.txt", &tcp), ("tcp.txt", "0\n"), files[1], files[2]]);
    assert_eq!(
        error,
        "tcp.txt: flows over TCP (TCP_FLOW_FILE in the configuration) are not read; leave it out"
    );
}

#[test]
fn flows_of_two_readings_are_asked_about() {
    let files = [("topology.txt", STAR), ("flow.txt", EITHER)];
    assert_eq!(
        failed_import(&files),
        "flow.txt:2: the columns may be HPCC's (a port, bytes, a start) or ns3-rdma's (packets, a \
         start, an end); say which with --as hpcc or --as ns3-rdma"
    );
    let as_one = |format| Options { format: Some(format), ..Options::default() };
    let size = |options: &Options| of_flow(&with(&files, options).0, 0, "size").to_owned();
    assert_eq!(size(&as_one(Format::Hpcc)), "2B");
    assert_eq!(size(&as_one(Format::Ns3Rdma)), "100KB");
    let kinds = |flows| Options { kinds: vec![Kind::HpccTopology, flows], ..Options::default() };
    assert_eq!(size(&kinds(Kind::HpccFlows)), "2B");
    assert_eq!(size(&kinds(Kind::Ns3RdmaFlows)), "100KB");
    let error = foreign::import(&files, &as_one(Format::Htsim)).unwrap_err().to_string();
    assert_eq!(
        error,
        "topology.txt is hpcc-topology, which is no file of htsim; take out --as, or name another \
         simulator"
    );
}

#[test]
fn a_format_that_contradicts_the_flows_is_refused() {
    let kinds = vec![Kind::HpccTopology, Kind::HpccFlows];
    let options = Options { kinds, ..Options::default() };
    let files = [("topology.txt", STAR), ("flow.txt", RDMA_FLOWS)];
    let error = foreign::import(&files, &options).unwrap_err().to_string();
    assert_eq!(
        error,
        "flow.txt:1: flows of ns3-rdma (packets, a start, an end), not of HPCC's simulator (a \
         port, bytes, a start); name them ns3-rdma-flows"
    );
    let error = foreign::flows(Format::Hpcc, "f", RDMA_FLOWS).unwrap_err().to_string();
    assert!(error.ends_with("; format = \"ns3-rdma\" reads them"), "{error}");
    let flows = foreign::flows(Format::Ns3Rdma, "f", RDMA_FLOWS).unwrap();
    let sizes =
        [("host2", "host1", Bytes::from_kb(2_000_000)), ("host3", "host1", Bytes::from_kb(10))];
    assert_eq!(pairs(&flows), sizes);
}

#[test]
fn flows_of_conweave_have_no_port() {
    let flows: String = FLOWS.replace(" 100 ", " ").replace(" 101 ", " ");
    let read = foreign::flows(Format::Hpcc, "flow.txt", &flows).unwrap();
    let known = foreign::flows(Format::Hpcc, "flow.txt", FLOWS).unwrap();
    assert_eq!(read, known);
    let (scenario, _) = import(&[("topology.txt", TOPOLOGY), ("L_0.60.txt", &flows)]);
    assert_eq!(of_flow(&scenario, 0, "size"), "1.5MB");
}

#[test]
fn keys_of_conweave_are_known() {
    let config = format!(
        "{}FLOWGEN_START_TIME 2.0\nFLOWGEN_STOP_TIME 2.1\nENABLE_PFC 0\nENABLE_IRN 1\n\
         LB_MODE 9\nCONWEAVE_REPLY_TIMEOUT_EXTRA 4\nLOAD 50\nSW_MONITORING_INTERVAL 10000\n",
        CONFIG.replace("SIMULATOR_STOP_TIME 2.5\n", "")
    );
    let files = |config| [("config.txt", config), ("topology.txt", TOPOLOGY), ("flow.txt", FLOWS)];
    let (scenario, imported) = import(&files(config.as_str()));
    assert_eq!(scenario["run"]["duration"].as_str().unwrap(), "2.1s");
    assert!(scenario["run"].get("drain").is_some(), "the run goes on until all have finished");
    assert!(!scenario["switch"]["pfc"]["enabled"].as_bool().unwrap());
    assert!(told(&imported, "CONWEAVE_REPLY_TIMEOUT_EXTRA: ConWeave's rerouting is not"));
    assert!(told(&imported, "LB_MODE: routing.kind has ECMP here"));
    assert!(told(&imported, "ENABLE_IRN: what is lost is sent again alone"));
    assert!(!told(&imported, ": not known"), "{:?}", imported.notes);
    let config = config.replace("LB_MODE 9", "LB_MODE 0").replace("ENABLE_IRN 1", "ENABLE_IRN 0");
    let (_, imported) = import(&files(&config));
    assert!(!told(&imported, "LB_MODE") && !told(&imported, "ENABLE_IRN"));
}

#[test]
fn astra_sims_configuration_has_no_congestion_control() {
    let config = CONFIG.replace("CC_MODE 3", "CC_MODE 12\nNIC_TOTAL_PAUSE_TIME 0");
    let config = config.replace("experiments/flow.txt", "{{INPUT_DIR}}/flow.txt");
    let files = [("config.txt", config.as_str()), ("topology.txt", TOPOLOGY), ("flow.txt", FLOWS)];
    let (scenario, imported) = import(&files);
    assert_eq!(scenario["run"]["schemes"][0].as_str().unwrap(), "line-rate");
    assert!(!told(&imported, ": not known"), "{:?}", imported.notes);
}

#[test]
fn long_lists_of_nodes_are_shortened() {
    let nodes: Vec<_> = (100..120).map(|node| node.to_string()).collect();
    let trace = format!("20\n{}\n", nodes.join(" "));
    let files = [
        ("config.txt", CONFIG),
        ("topology.txt", TOPOLOGY),
        ("flow.txt", FLOWS),
        ("trace.txt", trace.as_str()),
    ];
    let (_, imported) = import(&files);
    let said = "nodes 100, 101, 102, 103, 104, 105, 106, 107, ... (12 more) are not";
    assert!(told(&imported, said), "{:?}", imported.notes);
}

#[test]
fn headers_of_inet_tub_count_top_of_rack_switches_too() {
    let plain = foreign::graph(Format::Hpcc, "t", TOPOLOGY).unwrap();
    for header in ["7 2 2 7", "7 2 1 7 25000000000 100000000000", "7 2 2 7 25e9 1e11"] {
        let text = TOPOLOGY.replacen("7 2 7", header, 1);
        assert_eq!(foreign::graph(Format::Hpcc, "t", &text).unwrap(), plain, "{header}");
        let files = [("config.txt", CONFIG), ("topology.txt", &text), ("flow.txt", FLOWS)];
        let (_, imported) = import(&files);
        assert!(told(&imported, "PowerTCP is CC_MODE 3 there"), "{:?}", imported.notes);
    }
    let six = TOPOLOGY.replacen("7 2 7", "7 2 2 8 25000000000 25000000000", 1);
    let error = foreign::graph(Format::Hpcc, "t", &six).unwrap_err().to_string();
    assert_eq!(
        error,
        "t:9: found the end of the file; expected link 8 of the 8 announced in line 1"
    );
}

#[test]
fn gpus_reach_those_of_their_server_over_nvlink_and_others_over_their_nics() {
    let graph = foreign::graph(Format::Hpcc, "gpus", GPUS).unwrap();
    assert_eq!(graph.hosts.len(), 8);
    assert_eq!(graph.links[0].rate, Rate::from_gbps(2_880));
    assert_eq!(graph.links[0].delay, Span::from_ns(25));
    let flows = "3\n0 1 3 100 1000000 0\n0 2 3 100 1000000 0\n3 1 3 100 1000000 0\n";
    let (scenario, _) = import(&[("gpus", GPUS), ("flow.txt", flows)]);
    let ends = |flow| ["from", "to"].map(|key| of_flow(&scenario, flow, key));
    assert_eq!(ends(0), ["host0nic0", "host1nic0"]);
    assert_eq!(ends(1), ["host0nic1", "host2nic1"]);
    assert_eq!(ends(2), ["host3nic1", "host1nic1"]);
}

#[test]
fn nvlink_wins_where_a_switch_is_as_near() {
    // All GPUs at one switch, as in DCN+: two links each way, over either.
    let one = GPUS.replace(" 7 400", " 6 400").replacen("8 2 2 2 8", "7 2 2 1 8", 1);
    let one = one.replacen("4 5 6 7", "4 5 6", 1);
    let flows = format!("40\n{}", "0 1 3 100 1000 0\n".repeat(40));
    let (scenario, _) = import(&[("dcn", &one), ("flow.txt", &flows)]);
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    for flow in 0..40 {
        *of.entry(of_flow(&scenario, flow, "from")).or_default() += 1;
    }
    assert_eq!(of, BTreeMap::from([("host0nic0", 40)]));
}

#[test]
fn a_topology_of_simai_alone_says_what_is_missing() {
    let error = failed_import(&[("gpus", GPUS)]);
    assert_eq!(
        error,
        "gpus is SimAI's, whose flows come from a workload that is not read here; give flows in \
         HPCC's columns as well, or name the topology in [network.file] of a scenario of your own"
    );
}

#[test]
fn a_stop_time_that_never_comes_ends_with_the_flows() {
    let config = "SIMULATOR_STOP_TIME 40000000000000.00\nCC_MODE 1\n\
                  KMIN_MAP 1 400000000000 800\nKMAX_MAP 1 400000000000 3200\n\
                  PMAX_MAP 1 400000000000 0.2\n";
    let flows = "1\n0 2 3 100 50000000 0\n";
    let (scenario, imported) =
        import(&[("SimAI.conf", config), ("gpus", GPUS), ("flow.txt", flows)]);
    // 50 MB at 400 Gb/s are 1 ms; twice that, and a millisecond.
    assert_eq!(scenario["run"]["duration"].as_str(), Some("3ms"));
    assert!(told(&imported, "SIMULATOR_STOP_TIME is beyond 1000 s"), "{:?}", imported.notes);
    assert!(told(&imported, "NVSwitches"), "no marks for 2880 Gb/s: {:?}", imported.notes);
}

#[test]
fn flows_that_never_end_name_the_key_that_ends_the_run() {
    let flows = "2\n0 2 3 10000 100000000000000 0.13\n1 2 3 10001 1000000000000 0.15\n";
    let error = failed_import(&[("topology.txt", TOPOLOGY), ("flow.txt", flows)]);
    assert!(
        error.ends_with("; give the configuration as well, whose SIMULATOR_STOP_TIME ends the run"),
        "{error}"
    );
    let config = CONFIG.replace("SIMULATOR_STOP_TIME 2.5", "SIMULATOR_STOP_TIME 4e13");
    let files = [("config.txt", &*config), ("topology.txt", TOPOLOGY), ("flow.txt", flows)];
    let error = failed_import(&files);
    let remedy = "; lower SIMULATOR_STOP_TIME in the configuration to 1000 or less";
    assert!(error.ends_with(remedy), "{error}");
}

#[test]
fn nodes_to_trace_are_told_from_flows_by_their_count() {
    for (trace, nodes) in [
        ("12\n0 1 2 3 4 5\n6 0 1 2 3 4\n", "host0"),
        ("5\n0 1 2 3 4\n", "host0"),
        ("6\n6 1 2 3 4 5\n\nFirst line: the number of nodes\n", "host6"),
    ] {
        let (scenario, _) = import(&[("a", TOPOLOGY), ("b", FLOWS), ("c", trace)]);
        assert_eq!(scenario["measure"]["trace"][0].as_str(), Some(nodes), "{trace}");
    }
}

#[test]
fn many_flows_of_ns3_rdma_stay_in_their_file_only_with_its_default_payload() {
    let flows = format!("10001\n{}", "2 1 3 1 2.0 9.5\n".repeat(10_001));
    let (scenario, imported) = import(&[("topology.txt", STAR), ("flow.txt", &flows)]);
    assert_eq!(scenario["traffic"][0]["format"].as_str(), Some("ns3-rdma"));
    assert_eq!(imported.files.len(), 1);
    let config = "PACKET_PAYLOAD_SIZE 500\nKMIN 40\nKMAX 400\n";
    let (scenario, imported) =
        import(&[("c", config), ("topology.txt", STAR), ("flow.txt", &flows)]);
    assert_eq!((of_flow(&scenario, 10_000, "size"), imported.files.len()), ("500B", 0));
}

#[test]
fn pairs_beyond_the_count_and_flows_beyond_the_end_are_ignored_as_there() {
    // Reverie's configuration announces a pair less than it has.
    let config = CONFIG.replacen("KMAX_MAP 2 ", "KMAX_MAP 2 100000000000 1600 ", 1);
    let flows = FLOWS.replacen("2.001", "2.75", 1);
    let files = [("config.txt", &*config), ("topology.txt", TOPOLOGY), ("flow.txt", &flows)];
    let (scenario, imported) = import(&files);
    assert_eq!(scenario["traffic"][0]["list"].as_array().unwrap().len(), 2);
    let pairs = "config.txt:32: what follows the announced pairs of KMAX_MAP is ignored, as there";
    assert!(told(&imported, pairs), "{:?}", imported.notes);
    let late = "flow.txt: flows that start after the end at 2.5s are left out: 1";
    assert!(told(&imported, late), "{:?}", imported.notes);
    Document::parse(imported.scenario_toml, "late.toml").unwrap();
}

#[test]
fn starts_of_ns3_rdma_may_go_back() {
    let flows = "2\n2 1 3 100 2.5 9\n3 1 3 100 2.25 9\n";
    let read = foreign::flows(Format::Ns3Rdma, "f", flows).unwrap();
    let starts: Vec<_> = read.into_iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [2_500, 2_250].map(|ms| Start::At(Span::from_ms(ms))));
}
