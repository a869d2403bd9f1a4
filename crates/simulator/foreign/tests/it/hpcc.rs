//! Files of HPCC's simulator.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_foreign::{self as foreign, Format, HpccFct, HpccPfc, HpccResults, HpccTrace, Start};

use super::{FLOWS, TOPOLOGY, TRACE, pairs};

#[test]
fn ids_stay_in_the_names_of_hosts_and_switches() {
    let graph = foreign::graph(Format::Hpcc, "topology.txt", TOPOLOGY).unwrap();
    assert_eq!(graph.hosts, ["host0", "host1", "host2", "host3", "host6"]);
    let switches: Vec<_> = graph.switches.iter().map(|switch| switch.name.as_str()).collect();
    assert_eq!(switches, ["switch4", "switch5"]);
}

#[test]
fn links_have_the_rates_and_delays_of_their_lines() {
    let graph = foreign::graph(Format::Hpcc, "topology.txt", TOPOLOGY).unwrap();
    assert_eq!(graph.links.len(), 6);
    // 0.001ms, 1000ns and 1us are one delay.
    for link in &graph.links[..5] {
        assert_eq!((link.rate, link.delay), (Rate::from_gbps(25), Span::from_us(1)), "{link:?}");
    }
    assert_eq!(graph.links[5].ends, ["switch4", "switch5"]);
    assert_eq!(
        (graph.links[5].rate, graph.links[5].delay),
        (Rate::from_gbps(100), Span::from_us(2))
    );
}

#[test]
fn parallel_links_but_the_last_are_noted_and_error_rates_are_losses() {
    let lossy = TOPOLOGY.replacen("25Gbps 0.001ms 0", "25Gbps 0.001ms 0.01", 1);
    let graph = foreign::graph(Format::Hpcc, "topology.txt", &lossy).unwrap();
    assert_eq!(graph.notes.len(), 1, "{:?}", graph.notes);
    assert!(graph.notes[0].contains("1 of the links are left out"), "{:?}", graph.notes);
    let losses: Vec<_> = graph.links.iter().map(|link| link.loss).collect();
    assert_eq!(losses, [0.01, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn the_last_of_parallel_links_is_the_one() {
    let faster = TOPOLOGY.trim_end().to_owned() + "\n";
    let faster = faster.replacen("7 2 7", "7 2 8", 1) + "5 4 400Gbps 3us 0\n";
    let graph = foreign::graph(Format::Hpcc, "topology.txt", &faster).unwrap();
    let last = graph.links.last().unwrap();
    assert_eq!(graph.links.len(), 6);
    assert_eq!((last.rate, last.delay), (Rate::from_gbps(400), Span::from_us(3)));
}

#[test]
fn ids_of_switches_may_wrap() {
    let wrapped = TOPOLOGY.replacen("4 5\n", "4\n5\n", 1);
    let graph = |text: &str| foreign::graph(Format::Hpcc, "t", text).unwrap();
    assert_eq!(graph(&wrapped), graph(TOPOLOGY));
}

#[test]
fn starts_are_exact_to_the_picosecond() {
    let flows = foreign::flows(Format::Hpcc, "flow.txt", FLOWS).unwrap();
    let kb = Bytes::from_kb;
    assert_eq!(
        pairs(&flows),
        [
            ("host0", "host2", kb(1_500)),
            ("host1", "host2", Bytes::new(500)),
            ("host6", "host0", kb(2_000))
        ]
    );
    let starts: Vec<_> = flows.iter().map(|flow| flow.start.clone()).collect();
    // 2 s; 1.5 ps later, rounded up; 2.001 s.
    let expected = [2_000_000_000_000, 2_000_000_000_002, 2_001_000_000_000].map(Span::from_ps);
    assert_eq!(starts, expected.map(Start::At));
    assert!(flows.iter().all(|flow| flow.group == Some(3)));
}

#[test]
fn what_follows_the_announced_flows_is_not_read() {
    let two = FLOWS.replacen('3', "2", 1);
    assert_eq!(foreign::flows(Format::Hpcc, "flow.txt", &two).unwrap().len(), 2);
}

#[test]
fn traced_nodes_are_counted() {
    assert_eq!(HpccTrace::parse("trace.txt", TRACE).unwrap().nodes, [0, 4]);
    assert!(HpccTrace::parse("trace.txt", "0").unwrap().nodes.is_empty());
}

#[test]
fn completed_flows_give_their_slowdowns() {
    let rows = HpccFct::parse("fct.txt", include_str!("hpcc/fct.txt")).unwrap();
    // 11.0.0.1 is node 0, 11.0.2.1 node 2 and 11.1.0.1 node 256; the third line has ids.
    let ends: Vec<_> = rows.iter().map(|row| (row.from, row.to)).collect();
    assert_eq!(ends, [(0, 2), (256, 2), (1, 2)]);
    assert_eq!(rows[0].size, Bytes::new(1_500_000));
    assert_eq!(rows[0].start, Time::ZERO + Span::from_secs(2));
    assert_eq!(rows[0].fct, Span::from_ns(1_002_000));
    let slowdowns: Vec<_> = rows.iter().map(HpccFct::slowdown).collect();
    assert_eq!(slowdowns, [2.0, 1.0, 2.0]);
}

#[test]
fn pauses_and_resumes_are_read() {
    let rows = HpccPfc::parse("pfc.txt", include_str!("hpcc/pfc.txt")).unwrap();
    let at = Time::ZERO + Span::from_ns(2_000_010_500);
    assert_eq!(rows[0], HpccPfc { at, node: 4, switch: true, interface: 2, pause: true });
    assert_eq!((rows[1].switch, rows[1].pause), (false, false));
}

#[test]
fn results_are_known_by_their_first_line() {
    let known = [
        (include_str!("hpcc/fct.txt"), Some(HpccResults::Fct)),
        (include_str!("hpcc/pfc.txt"), Some(HpccResults::Pfc)),
        ("\n2000010500 4 1 2 1\nbroken", Some(HpccResults::Pfc)),
        ("", None),
        (include_str!("hpcc/topology.txt"), None),
        (include_str!("hpcc/flow.txt"), None),
        (include_str!("hpcc/trace.txt"), None),
        (include_str!("hpcc/config.txt"), None),
        (include_str!("htsim/chain.cm"), None),
    ];
    for (text, expected) in known {
        assert_eq!(HpccResults::of(text), expected, "{text}");
    }
    let rows = |text| HpccResults::Pfc.table("pfc.txt", text).map(|table| table.rows());
    assert_eq!(rows("").unwrap(), 0, "a run without pauses");
    let error = rows("2000010500 4 1 2 1\nbroken").unwrap_err().to_string();
    assert!(error.starts_with("pfc.txt:2:"), "{error}");
}
