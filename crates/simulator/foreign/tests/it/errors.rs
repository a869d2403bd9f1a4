//! Every mistake in a file gets one line: the place, what is there, what is expected.

use incast_foreign::{
    self as foreign, ForeignError, Format, HpccConfig, HpccFct, HpccPfc, HpccTrace, HtsimMatrix,
    Options,
};

use super::relatives::RDMA_FLOWS;
use super::{CHAIN, CONFIG, FLOWS, LEAF_SPINE, THREE_TIERS, TOPOLOGY, failed_import};

/// A file without mistakes, and its reader.
type Read = (&'static str, fn(&str) -> Result<(), ForeignError>);

/// The file that a section of `errors.txt` is about.
fn file(section: &str) -> Read {
    match section {
        "topology of HPCC" => (TOPOLOGY, |text| foreign::graph(Format::Hpcc, "t", text).map(drop)),
        "flows of HPCC" => (FLOWS, |text| foreign::flows(Format::Hpcc, "f", text).map(drop)),
        "flows of ns3-rdma" => {
            (RDMA_FLOWS, |text| foreign::flows(Format::Ns3Rdma, "f", text).map(drop))
        }
        "configuration of HPCC" => (CONFIG, |text| HpccConfig::parse("c", text).map(drop)),
        "completed flows of HPCC" => {
            (include_str!("hpcc/fct.txt"), |text| HpccFct::parse("r", text).map(drop))
        }
        "pauses of HPCC" => {
            (include_str!("hpcc/pfc.txt"), |text| HpccPfc::parse("p", text).map(drop))
        }
        "import with the configuration" => (CONFIG, |text| {
            let files = [("config.txt", text), ("topology.txt", TOPOLOGY), ("flow.txt", FLOWS)];
            foreign::import(&files, &Options::default()).map(drop)
        }),
        "two tiers of htsim" => {
            (LEAF_SPINE, |text| foreign::graph(Format::Htsim, "t", text).map(drop))
        }
        "three tiers of htsim" => {
            (THREE_TIERS, |text| foreign::graph(Format::Htsim, "t", text).map(drop))
        }
        "matrix of htsim" => (CHAIN, |text| HtsimMatrix::parse("m", text)?.flows("m").map(drop)),
        _ => panic!("no file for [{section}]"),
    }
}

/// The complaint about a line of `errors.txt`, if its error is another one.
fn complaint((good, read): Read, line: &str) -> Option<String> {
    let line = line.replace("\\n", "\n");
    let [old, new, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
        return Some(format!("{line:?}: expected three parts"));
    };
    if !good.contains(old) {
        return Some(format!("{old:?} is not there"));
    }
    let error = read(&good.replacen(old, new, 1))
        .map_or_else(|error| error.to_string(), |()| "read".into());
    let right = match expected.strip_suffix("...") {
        Some(beginning) => error.starts_with(beginning),
        None => error == expected,
    };
    (!right).then(|| format!("{old:?} -> {new:?}: {error}\n    want {expected}"))
}

#[test]
fn a_mistake_is_told_with_its_place_and_what_is_expected() {
    let mut wrong = Vec::new();
    for section in include_str!("errors.txt").split("\n[").skip(1) {
        let (name, lines) = section.split_once("]\n").unwrap();
        let file = file(name);
        file.1(file.0).unwrap();
        let lines = lines.lines().filter(|line| !line.is_empty());
        wrong.extend(lines.filter_map(|line| complaint(file, line)));
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_file_that_ends_too_early() {
    let error = HpccTrace::parse("n", "3\n0 1\n").unwrap_err().to_string();
    assert_eq!(error, "n:2: found the end of the file; expected the id of node 3 of 3 to trace");
    let short = "3\n0 2 3 100 1500000 2\n";
    let error = foreign::flows(Format::Hpcc, "f", short).unwrap_err().to_string();
    let expected = "found the end of the file; expected flow 2 of the 3 announced in line 1";
    assert_eq!(error, format!("f:2: {expected}"));
}

#[test]
fn files_that_do_not_make_a_scenario() {
    let (topology, flows, chain) =
        (("topology.txt", TOPOLOGY), ("flow.txt", FLOWS), ("chain.cm", CHAIN));
    let [to_switch, beyond] = ["0 4 3", "0 7 3"].map(|ends| FLOWS.replacen("0 2 3", ends, 1));
    let odd = CHAIN.replace("Nodes 16", "Nodes 17");
    let cases: [(&[(&str, &str)], &str); 11] = [
        (&[], "no files; give at least a topology and flows"),
        (
            &[topology, ("readme", "hello")],
            "readme: found none of the formats that are known; name it, as one of hpcc-config, \
             hpcc-topology, hpcc-flows, ns3-rdma-flows, hpcc-trace, htsim-matrix, htsim-topology",
        ),
        (
            &[topology, ("fct.txt", include_str!("hpcc/fct.txt"))],
            "fct.txt: results of HPCC's simulator, of which no scenario is made; import them \
             alone, as a table",
        ),
        (&[topology, topology], "topology.txt and topology.txt are both hpcc-topology; give one"),
        (
            &[("config.txt", CONFIG), topology],
            "there is no hpcc-flows among the files: FLOW_FILE in the configuration is \
             experiments/flow.txt; give it as well",
        ),
        (&[topology, flows, chain], "files of HPCC's simulator and of htsim; give those of one"),
        (&[topology, ("flow.txt", &to_switch)], "flow.txt:2: node 4 is no host in topology.txt"),
        (&[topology, ("flow.txt", &beyond)], "flow.txt:2: node 7 is no host in topology.txt"),
        (
            &[chain, ("leaf-spine.topo", LEAF_SPINE)],
            "chain.cm is for 16 nodes, but leaf-spine.topo has 8; change Nodes in one of them",
        ),
        (
            &[("chain.cm", &odd)],
            "chain.cm has 17 nodes, which is no fat-tree (k^3/4 for an even k: 2, 16, 54, 128, \
             ...); give its topology file (.topo) as well",
        ),
        (
            &[chain, ("three-tiers.topo", THREE_TIERS)],
            "chain.cm:13: aggregation switch 3 has no link up 1; switches and their links count \
             from 0",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(failed_import(files), expected);
    }
}

#[test]
fn connections_that_a_scenario_cannot_say() {
    let cases = [
        (
            "1->0 start 0 size 1 recv_done_trigger 1\n2->0 start 0 size 1 recv_done_trigger 1\n\
             3->0 start 0 size 1 recv_done_trigger 1\n0->1 trigger 1 size 1",
            "barrier count 2",
            "m:7: the barrier 1 in line 8 is passed by any 2 of 3 connections; a flow waits for \
             one of them or for all",
        ),
        (
            "1->0 start 0 size 1 recv_done_trigger 1\n0->1 trigger 1 size 1\n\
             0->2 trigger 1 size 1",
            "multishot",
            "m:5: trigger 1 in line 7 is multishot and starts one more flow each time; with \
             several flows that wait for it a scenario cannot say which is next",
        ),
        (
            "0->1 trigger 1 size 1 send_done_trigger 1",
            "oneshot",
            "m:4: it never starts: what it waits for never ends, or waits for it",
        ),
        (
            "0->1 start 0 size 1 recv_done_trigger 1\n1->0 trigger 1 size 0",
            "oneshot",
            "m:5: it has no end and starts when trigger 1 fires; a flow without end starts at a \
             time",
        ),
        (
            "0->1 start 0 size 0 send_done_trigger 1\n0->1 trigger 1 size 1",
            "oneshot",
            "m:5: it never starts: what it waits for never ends, or waits for it",
        ),
    ];
    for (connections, trigger, expected) in cases {
        let count = connections.lines().count();
        let text = format!(
            "Nodes 4\nConnections {count}\nTriggers 1\n{connections}\ntrigger id 1 {trigger}\n"
        );
        assert_eq!(foreign::flows(Format::Htsim, "m", &text).unwrap_err().to_string(), expected);
    }
    let failure = foreign::flows(Format::Htsim, "m", CHAIN).unwrap_err().to_string();
    let expected = "m:13: a failed link belongs to the network; write it as an [[event]], or \
                    import the matrix together with its topology";
    assert_eq!(failure, expected);
}

#[test]
fn flows_that_need_too_long_say_what_to_lower() {
    let matrix = "Nodes 2\nConnections 1\n0->1 start 0 size 1000000000000000\n";
    let error = failed_import(&[("long.cm", matrix)]);
    assert!(error.starts_with("the flows need more than 1000 s"), "{error}");
    assert!(error.ends_with("; lower their sizes, or set them to 0, which is without end"));
    let endless = matrix.replace("1000000000000000", "0");
    foreign::import(&[("long.cm", &endless)], &Options::default()).unwrap();
}
