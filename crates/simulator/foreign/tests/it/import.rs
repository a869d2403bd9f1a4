//! From files to a scenario.

use incast_cc::{Bytes, Span};
use incast_foreign::{self as foreign, Format, Imported, Kind, Options, Start};
use toml::{Table, Value};

use super::{CHAIN, CONFIG, FLOWS, LEAF_SPINE, THREE_TIERS, TOPOLOGY, TRACE};

const HPCC: [(&str, &str); 4] = [
    ("mix/config.txt", CONFIG),
    ("topology.txt", TOPOLOGY),
    ("flow.txt", FLOWS),
    ("trace.txt", TRACE),
];

#[track_caller]
fn import(files: &[(&str, &str)]) -> (Table, Imported) {
    let imported =
        foreign::import(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let table = imported.scenario_toml.parse();
    (table.unwrap_or_else(|error| panic!("{error}\n{}", imported.scenario_toml)), imported)
}

/// With one thing of the configuration changed.
#[track_caller]
fn with(old: &str, new: &str) -> (Table, Imported) {
    let config = CONFIG.replacen(old, new, 1);
    assert_ne!(config, CONFIG, "{old:?} is not there");
    let mut files = HPCC;
    files[0].1 = &config;
    import(&files)
}

/// The value at a path of keys and places.
#[track_caller]
fn at<'a>(table: &'a Table, path: &str) -> &'a Value {
    let mut keys = path.split('/');
    let first = keys.next().unwrap();
    let mut value = table.get(first).unwrap_or_else(|| panic!("no {first}"));
    for key in keys {
        let next = match value {
            Value::Array(array) => array.get(key.parse::<usize>().unwrap()),
            other => other.get(key),
        };
        value = next.unwrap_or_else(|| panic!("no {key} of {path} in {table}"));
    }
    value
}

#[track_caller]
fn text<'a>(table: &'a Table, path: &str) -> &'a str {
    at(table, path).as_str().unwrap()
}

#[track_caller]
fn time(table: &Table, path: &str) -> Span {
    text(table, path).parse().unwrap()
}

#[test]
fn links_of_the_scenario_are_those_of_the_file() {
    let (scenario, _) = import(&HPCC);
    let graph = foreign::graph(Format::Hpcc, "topology.txt", TOPOLOGY).unwrap();
    let links = at(&scenario, "network/graph/links").as_array().unwrap();
    assert_eq!(links.len(), graph.links.len());
    for (written, link) in links.iter().zip(&graph.links) {
        let field = |key: &str| written.get(key).unwrap();
        let ends: Vec<_> =
            field("ends").as_array().unwrap().iter().map(|end| end.as_str().unwrap()).collect();
        assert_eq!(ends, link.ends);
        assert_eq!(field("rate").as_str().unwrap().parse(), Ok(link.rate));
        assert_eq!(field("delay").as_str().unwrap().parse(), Ok(link.delay));
    }
    // Host 6 comes after the switches 4 and 5: the hosts are no row from 0.
    let names = |key: &str| {
        let nodes = at(&scenario, &format!("network/graph/{key}")).as_array().unwrap().iter();
        nodes.map(|node| node["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("hosts"), graph.hosts);
    assert_eq!(names("switches"), ["switch4", "switch5"]);
}

#[test]
fn flows_of_the_scenario_are_those_of_the_file() {
    let (scenario, _) = import(&HPCC);
    let flows = foreign::flows(Format::Hpcc, "flow.txt", FLOWS).unwrap();
    let list = at(&scenario, "traffic/0/list").as_array().unwrap();
    assert_eq!(list.len(), flows.len());
    for (written, flow) in list.iter().zip(&flows) {
        let field = |key: &str| written.get(key).unwrap().as_str().unwrap();
        assert_eq!((field("from"), field("to")), (flow.from.as_str(), flow.to.as_str()));
        assert_eq!(field("size").parse().ok(), flow.size);
        assert_eq!(Start::At(field("start").parse().unwrap()), flow.start);
        assert!(written.get("class").is_none(), "one priority group needs no classes");
    }
}

#[test]
fn the_run_is_that_of_the_configuration() {
    let (scenario, imported) = import(&HPCC);
    assert_eq!(time(&scenario, "run/duration"), Span::from_ms(2_500));
    assert!(scenario["run"].get("drain").is_none(), "its own program stops then");
    // Nothing happens before the first flow at 2 s.
    assert_eq!(time(&scenario, "run/warmup"), Span::from_secs(2));
    assert_eq!(at(&scenario, "run/schemes").as_array().unwrap(), &["hpcc:hpcc-simulator".into()]);
    // LINK_DOWN counts microseconds from 2 s.
    assert_eq!(time(&scenario, "event/0/at"), Span::from_ms(2_005));
    assert_eq!(
        at(&scenario, "event/0/link").as_array().unwrap(),
        &["switch4".into(), "switch5".into()]
    );
    assert_eq!(text(&scenario, "event/0/state"), "down");
    let traced = "[measure]\ntrace = [\"host0\", \"switch4\"] # trace.txt; ENABLE_TRACE is 0";
    assert!(imported.scenario_toml.contains(traced), "{}", imported.scenario_toml);
}

#[test]
fn a_failure_after_the_end_is_noted() {
    // 2 s and 500 ms are the end of the run.
    let (scenario, imported) = with("LINK_DOWN 5000 4 5", "LINK_DOWN 500000 4 5");
    assert!(scenario.get("event").is_none());
    let note = "LINK_DOWN at 2.5s comes after the end at 2.5s";
    assert!(imported.notes.iter().any(|known| known.contains(note)), "{:?}", imported.notes);
}

#[test]
fn what_cannot_be_run_is_told() {
    // Headroom for 5 ms of a link is more than the buffer.
    let long = TOPOLOGY.replacen("25Gbps 0.001ms", "25Gbps 5ms", 1);
    let mut files = HPCC;
    files[1].1 = &long;
    let (_, imported) = import(&files);
    let told = imported.notes.last().unwrap();
    assert!(told.starts_with("line ") && told.contains("cannot be run as it is: the PFC headroom"));
    let (_, imported) = import(&HPCC);
    assert!(!imported.notes.iter().any(|note| note.contains("cannot be run as it is")));
}

#[test]
fn switches_are_those_of_the_configuration() {
    let (scenario, imported) = import(&HPCC);
    assert_eq!(text(&scenario, "switch/buffer").parse(), Ok(Bytes::new(8 << 20)));
    assert_eq!(at(&scenario, "switch/telemetry"), &true.into());
    // Five ports of 25 Gb/s against two of 100 Gb/s.
    let aqm = |key: &str| at(&scenario, &format!("switch/aqm/{key}")).clone();
    assert_eq!(
        (aqm("kind"), aqm("min"), aqm("max")),
        ("red".into(), "100KB".into(), "400KB".into())
    );
    assert_eq!(
        (aqm("max_probability"), aqm("gentle"), aqm("weight")),
        (0.2.into(), false.into(), 1.into())
    );
    assert_eq!((aqm("at"), aqm("drop")), ("departure".into(), false.into()));
    // Four times as much at 100 Gb/s.
    assert_eq!(aqm("rate"), "25Gbps".into());
    let told = imported.notes.iter().any(|note| note.contains("all ports mark as"));
    assert!(!told, "{:?}", imported.notes);
    assert_eq!(at(&scenario, "switch/pfc/enabled"), &true.into());
    assert_eq!(at(&scenario, "switch/pfc/alpha"), &0.125.into());
}

#[test]
fn thresholds_that_are_not_in_proportion_to_the_rate_are_noted() {
    let (scenario, imported) = with("100000000000 1600", "100000000000 1500");
    let other = "400KB to 1.5MB with up to 0.2 at 100Gbps";
    assert!(imported.notes.iter().any(|note| note.contains(other)), "{:?}", imported.notes);
    assert!(scenario["switch"]["aqm"].get("rate").is_none());
}

#[test]
fn equal_thresholds_are_a_step() {
    let mut config = CONFIG.replacen("KMIN_MAP 2 25000000000 100", "KMIN_MAP 2 25000000000 400", 1);
    config = config.replacen("CC_MODE 3", "CC_MODE 8", 1);
    let mut files = HPCC;
    files[0].1 = &config;
    let (scenario, _) = import(&files);
    assert_eq!(text(&scenario, "switch/ecn_threshold"), "400KB");
    assert_eq!(text(&scenario, "switch/ecn_at"), "departure");
    assert!(scenario["switch"].get("aqm").is_none());
    // 1/256, as the file has it.
    assert_eq!(text(&scenario, "cc/dctcp/g"), "0.00390625");
}

#[test]
fn a_ramp_from_an_empty_queue_stays_one() {
    let with = |low: &str, high: &str| {
        let config = CONFIG
            .replacen("KMIN_MAP 2 25000000000 100", &format!("KMIN_MAP 2 25000000000 {low}"), 1)
            .replacen("KMAX_MAP 2 25000000000 400", &format!("KMAX_MAP 2 25000000000 {high}"), 1);
        let mut files = HPCC;
        files[0].1 = &config;
        import(&files).0
    };
    let scenario = with("0", "400");
    let aqm = |key: &str| at(&scenario, &format!("switch/aqm/{key}")).clone();
    assert_eq!((aqm("min"), aqm("max")), ("1B".into(), "400KB".into()));
    assert_eq!(aqm("max_probability"), 0.2.into());
    assert!(scenario["switch"].get("ecn_threshold").is_none());
}

#[test]
fn packets_have_the_sizes_that_they_have_there() {
    // 14 B of PPP, 20 of IP, 8 of UDP, 6 of sequence number and priority group: 48 B. HPCC adds 42
    // B of INT, five hops of 8 B and 2 B; TIMELY a time stamp of 8 B.
    for (mode, header) in [("3", 90), ("7", 56), ("1", 48), ("8", 48)] {
        let (scenario, _) = import(&[
            ("c", &CONFIG.replacen("CC_MODE 3", &format!("CC_MODE {mode}"), 1)),
            ("topology.txt", TOPOLOGY),
            ("flow.txt", FLOWS),
        ]);
        let size =
            |key: &str| text(&scenario, &format!("transport/{key}")).parse::<Bytes>().unwrap();
        assert_eq!(size("header"), Bytes::new(header), "CC_MODE {mode}");
        assert_eq!((size("segment"), size("mtu")), (Bytes::new(1_000), Bytes::new(1_000 + header)));
        assert_eq!(at(&scenario, "transport/ack_priority"), &false.into());
    }
}

#[test]
fn parameters_of_each_scheme_are_taken_over() {
    let (scenario, _) = import(&HPCC);
    let hpcc = at(&scenario, "cc/hpcc:hpcc-simulator");
    for (key, value) in
        [("eta", "0.95"), ("rate_ai", "20Mbps"), ("min_rate", "100Mbps"), ("reference", "0bps")]
    {
        assert_eq!(hpcc[key].as_str(), Some(value), "{key}");
    }
    assert_eq!(hpcc["max_stage"].as_integer(), Some(0));

    let (scenario, _) = with(
        "CC_MODE 3\nRATE_AI 20Mb/s\nRATE_HAI 20Mb/s",
        "CC_MODE 7\nRATE_AI 25Mb/s\nRATE_HAI 125Mb/s",
    );
    let timely = at(&scenario, "cc/timely:zhu");
    for (key, value) in
        [("delta", "25Mbps"), ("delta_reference", "0bps"), ("initial_rate", "line-rate")]
    {
        assert_eq!(timely[key].as_str(), Some(value), "{key}");
    }
    assert_eq!(timely["hai_n"].as_integer(), Some(5));

    let more = "CC_MODE 1\nRP_TIMER 300\nALPHA_RESUME_INTERVAL 1.5\nRATE_DECREASE_INTERVAL 4\n\
                CLAMP_TARGET_RATE 0\nFAST_RECOVERY_TIMES 1";
    let (scenario, _) = with("CC_MODE 3", more);
    let dcqcn = at(&scenario, "cc/dcqcn:hpcc-simulator");
    for (key, value) in [
        ("rate_timer", "300us"),
        ("alpha_timer", "1.5us"),
        ("target", "after-increase"),
        ("rate_hai", "20Mbps"),
        ("g", "0.00390625"),
    ] {
        assert_eq!(dcqcn[key].as_str(), Some(value), "{key}");
    }
    assert_eq!(text(&scenario, "transport/cnp_interval"), "4us");
}

#[test]
fn what_is_not_taken_over_is_listed() {
    let (_, imported) = with("HAS_WIN 1", "HAS_WIN 1\nMY_OWN_KEY 7 8");
    for expected in [
        "HAS_WIN, VAR_WIN: what is in flight is bounded by the algorithm alone here",
        "L2_CHUNK_SIZE: ",
        "EWMA_GAIN, RATE_HAI: hpcc:hpcc-simulator has no such parameter",
        "MY_OWN_KEY: not known",
        "FCT_OUTPUT_FILE: ",
        "flow.txt:6: what follows the last announced flow is ignored",
    ] {
        let found = imported.notes.iter().any(|note| note.contains(expected));
        assert!(found, "{expected}\n{:#?}", imported.notes);
    }
    // Every note is a comment of the scenario, too.
    for note in &imported.notes {
        assert!(imported.scenario_toml.contains(&format!("# {note}\n")), "{note}");
    }
    let lossless = imported.notes.iter().all(|note| !note.contains("ERROR_RATE_PER_LINK"));
    assert!(lossless, "a rate of zero is taken over");
}

#[test]
fn priority_groups_become_classes() {
    let flows = "3\n0 2 3 100 1000 2\n1 2 0 100 1000 2\n6 2 1 100 1000 2\n";
    let (scenario, _) = import(&[("topology.txt", TOPOLOGY), ("flow.txt", flows)]);
    let class =
        |place: usize, key: &str| at(&scenario, &format!("class/{place}")).get(key).cloned();
    // Group 0 before all others, which share.
    assert_eq!(
        [0, 1, 2].map(|i| class(i, "name").unwrap()),
        ["group1", "group3", "group0"].map(Value::from)
    );
    assert_eq!([0, 1, 2].map(|i| class(i, "weight")), [Some(1.into()), Some(1.into()), None]);
    let of = |flow: usize| text(&scenario, &format!("traffic/0/list/{flow}/class")).to_owned();
    assert_eq!([0, 1, 2].map(of), ["group3", "group0", "group1"]);
}

#[test]
fn without_a_configuration_the_run_is_long_enough() {
    let flows = "2\n0 2 3 100 25000000 1\n1 2 3 100 25000000 1\n";
    let (scenario, imported) = import(&[("topology.txt", TOPOLOGY), ("flow.txt", flows)]);
    // 50 MB into a host at 25 Gb/s are 16 ms; twice that, and a millisecond.
    assert_eq!(time(&scenario, "run/duration"), Span::from_ms(1_000 + 33));
    assert_eq!(time(&scenario, "run/drain"), Span::from_ms(1_000 + 33));
    assert!(imported.notes.iter().any(|note| note.starts_with("no configuration")));
}

#[test]
fn many_flows_stay_in_their_file() {
    let flows: String = (0..10_001).map(|_| "0 2 3 100 1000 2\n").collect();
    let flows = format!("10001\n{flows}");
    let (scenario, imported) = import(&[("topology.txt", TOPOLOGY), ("a/flow.txt", &flows)]);
    assert_eq!(text(&scenario, "traffic/0/file"), "flow.txt");
    assert_eq!(text(&scenario, "traffic/0/format"), "hpcc");
    assert_eq!(imported.files, [("flow.txt".to_owned(), flows)]);
}

#[test]
fn a_large_topology_stays_in_its_file() {
    let links: Vec<_> = (1..=1_001).map(|host| format!("0 {host} 25Gbps 1us 0\n")).collect();
    let topology = format!("1002 1 1001\n0\n{}", links.concat());
    let flows = "1\n7 9 3 100 1000 2\n";
    let (scenario, imported) = import(&[("a/topology.txt", &topology), ("flow.txt", flows)]);
    assert_eq!(text(&scenario, "network/file/path"), "topology.txt");
    assert_eq!(text(&scenario, "network/file/format"), "hpcc");
    assert_eq!(text(&scenario, "traffic/0/list/0/from"), "host7");
    assert_eq!(imported.files, [("topology.txt".to_owned(), topology)]);
    let told = imported.notes.iter().any(|note| note.contains("has 1001 links and stays a file"));
    assert!(told, "{:?}", imported.notes);
}

#[test]
fn triggers_and_failures_of_htsim_are_taken_over() {
    let (scenario, imported) = import(&[("chain.cm", CHAIN)]);
    let flow = |place: usize| at(&scenario, &format!("traffic/0/list/{place}"));
    let after = flow(3)["after"].clone();
    assert_eq!(after, "a = { all = [2, 3], event = \"received\" }".parse::<Table>().unwrap()["a"]);
    assert_eq!(flow(3)["id"], 4.into());
    assert!(imported.notes.iter().any(|note| note.contains("prio, by which")));
    assert_eq!(flow(4)["start"], "2.5us".into());
    // In a fat-tree with k = 4, aggregation switch 3 is the second of its pod: its links up go to
    // the cores 1 and 3.
    assert_eq!(at(&scenario, "event/0/link").as_array().unwrap(), &["agg3".into(), "core3".into()]);
    assert_eq!(at(&scenario, "network/graph/hosts/0/count"), &16.into());
}

#[test]
fn one_link_less_of_a_bundle_is_a_lower_rate() {
    let matrix = "Nodes 16\nConnections 1\nFailures 1\n0->9 start 0 size 1000\n\
                  failure switch_type AGG switch_id 1 link_id 0\n";
    // Two links of 100 Gb/s in place of one of 200.
    let bundles = THREE_TIERS.replacen("Radix_Up 1\n", "Radix_Up 2\n", 1).replacen(
        "speed_Gbps 200\nRadix_Down 4",
        "speed_Gbps 100\nBundle 2\nRadix_Down 8",
        1,
    );
    let (scenario, _) = import(&[("one.cm", matrix), ("three.topo", &bundles)]);
    assert_eq!(at(&scenario, "event/0/link").as_array().unwrap(), &["agg1".into(), "core1".into()]);
    assert_eq!(text(&scenario, "event/0/rate"), "100Gbps");
    assert!(scenario["event"][0].get("state").is_none());
}

#[test]
fn queues_of_htsim_are_taken_over_where_they_are_equal() {
    let matrix = "Nodes 8\nConnections 1\n0->7 start 0 size 12500000\n";
    let (scenario, _) = import(&[("one.cm", matrix), ("leaf-spine.topo", LEAF_SPINE)]);
    assert_eq!(text(&scenario, "switch/queue_limit"), "150KB");
    // 12.5 MB at 100 Gb/s are 1 ms.
    assert_eq!(time(&scenario, "run/duration"), Span::from_ms(3));
    let different = LEAF_SPINE.replacen("Queue_Up 150000", "Queue_Up 300000", 1);
    let (scenario, imported) = import(&[("one.cm", matrix), ("leaf-spine.topo", &different)]);
    assert!(scenario.get("switch").is_none());
    assert!(imported.notes.iter().any(|note| note.contains("Queue_Up")));
}

#[test]
fn a_chain_of_flows_is_waited_for() {
    let matrix = "Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 12500000 recv_done_trigger \
                  1\n\
                  1->0 id 1 trigger 1 size 12500000\ntrigger id 1 oneshot\n";
    let (scenario, _) = import(&[("two.cm", matrix)]);
    // One after the other: 2 ms, doubled, and one more.
    assert_eq!(time(&scenario, "run/duration"), Span::from_ms(5));
    assert_eq!(time(&scenario, "run/drain"), Span::from_ms(5));
    let (scenario, _) = import(&[("endless.cm", "Nodes 2\nConnections 1\n0->1 start 0 size 0\n")]);
    assert!(scenario["run"].get("drain").is_none(), "nothing ends");
}

#[test]
fn kinds_that_are_told_win_over_what_is_found() {
    // Six nodes to trace look like a flow at first sight.
    let trace = "6\n0 1 2 3 4 5\n";
    let files = [("a", TOPOLOGY), ("b", FLOWS), ("c", trace)];
    let told = Options {
        kinds: vec![Kind::HpccTopology, Kind::HpccFlows, Kind::HpccTrace],
        title: Some("mine \"and\" yours".into()),
        ..Options::default()
    };
    let told = foreign::import(&files, &told).unwrap();
    let found = foreign::import(&files, &Options::default()).unwrap();
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(&told.scenario_toml), body(&found.scenario_toml));
    let table: Table = told.scenario_toml.parse().unwrap();
    assert_eq!(text(&table, "title"), "mine \"and\" yours");
    let swapped = Options {
        kinds: vec![Kind::HpccFlows, Kind::HpccTopology, Kind::HpccTrace],
        ..Options::default()
    };
    let error = foreign::import(&files, &swapped).unwrap_err().to_string();
    assert_eq!(error, "b:1: found 1 column; expected 3: the numbers of nodes, switches and links");
}

#[test]
fn names_of_files_cannot_break_out_of_comments_and_strings() {
    let files = [("x\n[run]\nseed = 2\".txt", TOPOLOGY), ("flow.txt", FLOWS)];
    let (scenario, _) = import(&files);
    assert!(scenario["run"].get("seed").is_none());
}

#[test]
fn imported_scenarios_load() {
    for files in [&HPCC[..], &HPCC[1..3], &[("chain.cm", CHAIN)]] {
        let (_, imported) = import(files);
        incast_scenario::Document::parse(imported.scenario_toml, "imported.toml").unwrap();
    }
}
