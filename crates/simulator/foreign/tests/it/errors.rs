//! Every mistake in a file gets one line: the place, what is there, what is expected. Files of
//! HPCC's simulator, and files together.

use incast_foreign::{self as foreign, Format, HpccConfig, HpccFct, HpccPfc, HpccTrace};

use super::{CHAIN, CONFIG, FLOWS, TOPOLOGY, check, failed_import as import};

#[test]
fn topologies_of_hpcc_that_do_not_add_up() {
    check(
        TOPOLOGY,
        |text| foreign::graph(Format::Hpcc, "t", text),
        &[
            (
                "7 2 7",
                "7 2",
                "t:1: found 2 columns; expected 3: the numbers of nodes, switches and links",
            ),
            ("7 2 7", "7 two 7", "t:1:3: found \"two\"; expected the number of switches"),
            ("7 2 7", "7 7 7", "t:1:3: found \"7\"; expected fewer switches than the 7 nodes"),
            (
                "7 2 7",
                "9999999999 2 7",
                "t:1:1: found \"9999999999\"; expected the number of nodes",
            ),
            (
                "7 2 7",
                "7 2 8",
                "t:9: found the end of the file; expected link 8 of the 8 announced in line 1",
            ),
            ("7 2 7", "8 2 7", "t:1: host 7 of the 8 nodes has no link"),
            ("4 5\n", "4 7\n", "t:2:3: found \"7\"; expected the number of a node, from 0 to 6"),
            ("4 5\n", "4 4\n", "t:2:3: switch 4 is there twice"),
            (
                "4 5\n",
                "4 5 6\n",
                "t:2:5: found \"6\"; expected the ids of 2 switches, and then the links",
            ),
            (
                "0 4 25Gbps",
                "0 7 25Gbps",
                "t:3:3: found \"7\"; expected the number of a node, from 0 to 6",
            ),
            (
                "0 4 25Gbps",
                "0 -1 25Gbps",
                "t:3:3: found \"-1\"; expected the number of a node, from 0 to 6",
            ),
            ("0 4 25Gbps", "4 4 25Gbps", "t:3:3: node 4 is linked to itself"),
            (
                "0 4 25Gbps",
                "0 1 25Gbps",
                "t:3: hosts 0 and 1 are linked to each other; expected a switch at one end",
            ),
            ("1 4 25Gbps", "0 5 25Gbps", "t:1: host 1 of the 7 nodes has no link"),
            (
                "25Gbps 0.001ms 0\n",
                "25Gbps 0.001ms\n",
                "t:3: found 4 columns; expected 5: a b rate delay error_rate",
            ),
            ("25Gbps", "25Gps", "t:3:5: found \"25Gps\"; expected a rate such as 100Gbps"),
            ("25Gbps", "0.5Mbps", "t:3:5: found \"0.5Mbps\"; expected a rate from 1Mbps to 8Tbps"),
            (
                "0.001ms",
                "0ms",
                "t:3:12: found \"0ms\"; expected a delay from 1ns to 1s, such as 0.001ms or 1000ns",
            ),
            (
                "0.001ms 0\n",
                "0.001ms 2\n",
                "t:3:20: found \"2\"; expected the part of the packets that is lost, from 0 to 1",
            ),
        ],
    );
}

#[test]
fn flows_of_hpcc_that_do_not_add_up() {
    check(
        FLOWS,
        |text| foreign::flows(Format::Hpcc, "f", text),
        &[
            ("3\n", "three\n", "f:1:1: found \"three\"; expected the number of flows"),
            (
                "3\n",
                "4\n",
                "f:6: found 8 columns; expected 6: src dst priority_group dst_port size_bytes \
                 start_seconds",
            ),
            (
                "3\n0 2 3 100 1500000 2\n",
                "3\n0 2 3 100 1500000\n",
                "f:2: found 5 columns; expected 6: src dst priority_group dst_port size_bytes \
                 start_seconds",
            ),
            ("0 2 3", "x 2 3", "f:2:1: found \"x\"; expected the id of the sending host"),
            ("0 2 3", "0 0 3", "f:2:3: host 0 sends to itself"),
            ("0 2 3", "0 2 8", "f:2:5: found \"8\"; expected a priority group, from 0 to 7"),
            ("1500000 2", "0 2", "f:2:11: found \"0\"; expected a size from 1 to 10^15 bytes"),
            ("1500000 2", "1.5 2", "f:2:11: found \"1.5\"; expected a size from 1 to 10^15 bytes"),
            ("1500000 2", "1500000 -2", "f:2:19: found \"-2\"; expected a start in seconds"),
            (
                "1500000 2",
                "1500000 2000",
                "f:2:19: found \"2000\"; expected a start in seconds, at most 1000 seconds",
            ),
            (
                "2.001",
                "1.999",
                "f:4:19: a start at 1.999s after one at 2000000000.002ns in line 3; sort the flows \
                 by their start, as \
          HPCC's simulator needs them",
            ),
        ],
    );
    let short = "3\n0 2 3 100 1500000 2\n";
    let error = foreign::flows(Format::Hpcc, "f", short).unwrap_err().to_string();
    assert_eq!(
        error,
        "f:2: found the end of the file; expected flow 2 of the 3 announced in line 1"
    );
}

#[test]
fn configurations_of_hpcc_with_wrong_values() {
    check(
        CONFIG,
        |text| HpccConfig::parse("c", text),
        &[
            ("CC_MODE 3", "CC_MODE", "c:13: found CC_MODE alone; expected CC_MODE and a value"),
            (
                "CC_MODE 3",
                "CC_MODE 3 7",
                "c:13:11: found \"7\"; expected the end of the line: CC_MODE has one value",
            ),
            ("CC_MODE 3", "CC_MODE hpcc", "c:13:9: found \"hpcc\"; expected a whole number"),
            (
                "CC_MODE 3",
                "mode 3",
                "c:13:1: found \"mode\"; expected a key in capital letters, such as CC_MODE",
            ),
            (
                "RATE_AI 20Mb/s",
                "RATE_AI quick",
                "c:14:9: found \"quick\"; expected a rate such as 100Gbps",
            ),
            (
                "LINK_DOWN 5000 4 5",
                "LINK_DOWN 5000 4",
                "c:29: found 3 columns; expected 4: LINK_DOWN microseconds node node",
            ),
            (
                "KMAX_MAP 2 25000000000 400 100000000000 1600",
                "KMAX_MAP 2 25000000000 400",
                "c:32: found the end of the line; expected a count, and so many pairs of a rate \
                 and a value",
            ),
            (
                "BUFFER_SIZE 8",
                "BUFFER_SIZE 0",
                "c:35:13: found \"0\"; expected a buffer in MiB, above zero and at most 100000",
            ),
            (
                "PACKET_PAYLOAD_SIZE 1000",
                "PACKET_PAYLOAD_SIZE 65536",
                "c:4:21: found \"65536\"; expected a payload from 1 to 9000 bytes",
            ),
        ],
    );
}

#[test]
fn traces_and_results_of_hpcc_with_wrong_columns() {
    let error = HpccTrace::parse("n", "3\n0 1\n").unwrap_err().to_string();
    assert_eq!(error, "n:2: found the end of the file; expected the id of node 3 of 3 to trace");
    check(
        include_str!("hpcc/fct.txt"),
        |text| HpccFct::parse("r", text),
        &[
            (
                "0b000001 ",
                "0b000001 7 7 ",
                "r:1: found 10 columns; expected 8: sip dip sport dport size_bytes start_ns fct_ns \
                 standalone_fct_ns",
            ),
            (
                "0b000001",
                "0a000001",
                "r:1:1: found \"0a000001\"; expected a host: its id, or its address such as \
                 0b000101",
            ),
            (
                "0b000001",
                "0b000002",
                "r:1:1: found \"0b000002\"; expected a host: its id, or its address such as \
                 0b000101",
            ),
            ("501000", "0", "r:1:56: found \"0\"; expected a time above zero"),
        ],
    );
    check(
        include_str!("hpcc/pfc.txt"),
        |text| HpccPfc::parse("p", text),
        &[
            (
                "4 1 2 1",
                "4 1 2",
                "p:1: found 4 columns; expected 5: time_ns node node_type interface type",
            ),
            ("4 1 2 1", "4 1 2 2", "p:1:18: found \"2\"; expected 0 for go on or 1 for pause"),
        ],
    );
}

#[test]
fn files_that_do_not_make_a_scenario() {
    let (topology, flows) = (("topology.txt", TOPOLOGY), ("flow.txt", FLOWS));
    assert_eq!(import(&[]), "no files; give at least a topology and flows");
    assert_eq!(
        import(&[topology, ("readme", "hello")]),
        "readme: found none of the formats that are known; name it, as one of hpcc-config, \
         hpcc-topology, \
         hpcc-flows, ns3-rdma-flows, hpcc-trace, htsim-matrix, htsim-topology"
    );
    assert_eq!(
        import(&[topology, ("fct.txt", include_str!("hpcc/fct.txt"))]),
        "fct.txt: results of HPCC's simulator, of which no scenario is made; import them alone, as a table"
    );
    assert_eq!(
        import(&[topology, topology]),
        "topology.txt and topology.txt are both hpcc-topology; give one"
    );
    assert_eq!(
        import(&[("config.txt", CONFIG), topology]),
        "there is no hpcc-flows among the files: FLOW_FILE in the configuration is \
         experiments/flow.txt; give it as \
         well"
    );
    assert_eq!(
        import(&[topology, flows, ("chain.cm", CHAIN)]),
        "files of HPCC's simulator and of htsim; give those of one"
    );
    let to_switch = FLOWS.replacen("0 2 3", "0 4 3", 1);
    assert_eq!(
        import(&[topology, ("flow.txt", &to_switch)]),
        "flow.txt:2: node 4 is no host in topology.txt"
    );
    let beyond = FLOWS.replacen("0 2 3", "0 7 3", 1);
    assert_eq!(
        import(&[topology, ("flow.txt", &beyond)]),
        "flow.txt:2: node 7 is no host in topology.txt"
    );
}

#[test]
fn configurations_that_cannot_be_taken_over() {
    let with = |old: &str, new: &str| {
        let config = CONFIG.replacen(old, new, 1);
        assert_ne!(config, CONFIG);
        import(&[("config.txt", &config), ("topology.txt", TOPOLOGY), ("flow.txt", FLOWS)])
    };
    assert_eq!(
        with("CC_MODE 3", "CC_MODE 10"),
        "config.txt:13: CC_MODE 10 is HPCC-PINT, whose sampled telemetry is not modelled here; 3 \
         is HPCC with INT"
    );
    assert_eq!(
        with("CC_MODE 3", "CC_MODE 2"),
        "config.txt:13: CC_MODE 2 is not known; expected 1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 \
         (DCTCP)"
    );
    assert_eq!(
        with("LINK_DOWN 5000 4 5", "LINK_DOWN 5000 0 5"),
        "config.txt:29: LINK_DOWN names nodes 0 and 5, which no link connects"
    );
    assert_eq!(
        with("KMIN_MAP 2 25000000000 100", "KMIN_MAP 2 40000000000 100"),
        "config.txt:33: KMIN_MAP has no value for links of 25Gbps; add it"
    );
    assert_eq!(
        with("SIMULATOR_STOP_TIME 2.5", "SIMULATOR_STOP_TIME 2"),
        "the first flow starts at 2s, but the run ends at 2s (SIMULATOR_STOP_TIME)"
    );
    let error = with("U_TARGET 0.95", "U_TARGET 1.5");
    assert!(
        error.starts_with("config.txt: U_TARGET as eta of hpcc:hpcc-simulator: \"1.5\""),
        "{error}"
    );
}
