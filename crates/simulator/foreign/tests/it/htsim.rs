//! Files of htsim.

use std::collections::BTreeMap;

use incast_cc::{Rate, Span};
use incast_foreign::{
    self as foreign, After, Format, Graph, HtsimMatrix, HtsimTopology, Start, What,
};

use super::{CHAIN, LEAF_SPINE, THREE_TIERS};

/// How many links join two kinds of nodes, and the delay of each.
fn links(graph: &Graph) -> BTreeMap<(String, String), (usize, Span)> {
    let kind = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut links = BTreeMap::new();
    for link in &graph.links {
        let [a, b] = [kind(&link.ends[0]), kind(&link.ends[1])];
        let (count, delay) = links.entry((a, b)).or_insert((0, link.delay));
        assert_eq!(*delay, link.delay);
        *count += 1;
    }
    links
}

fn between(links: &BTreeMap<(String, String), (usize, Span)>, a: &str, b: &str) -> (usize, Span) {
    links[&(a.to_owned(), b.to_owned())]
}

#[test]
fn two_tiers_are_a_leaf_spine_with_bundles() {
    let graph = foreign::graph(Format::Htsim, "leaf-spine.topo", LEAF_SPINE).unwrap();
    // 8 hosts in racks of 4: 2 ToR switches with 2 links up, a bundle to the only spine.
    let links = links(&graph);
    assert_eq!((graph.hosts.len(), graph.switches.len()), (8, 3));
    assert_eq!(between(&links, "host", "tor").0, 8);
    assert_eq!(between(&links, "tor", "agg").0, 2);
    // Each is two links of 100 Gb/s.
    let up = graph.links.last().unwrap();
    assert_eq!((up.ends[1].as_str(), up.rate), ("agg0", Rate::from_gbps(200)));
}

#[test]
fn latencies_of_switches_are_in_the_links_of_every_path() {
    let graph = foreign::graph(Format::Htsim, "leaf-spine.topo", LEAF_SPINE).unwrap();
    let links = links(&graph);
    let (down, up) = (between(&links, "host", "tor").1, between(&links, "tor", "agg").1);
    // Within a rack: 2 links of 1000 ns and a switch of 300 ns.
    assert_eq!(down * 2, Span::from_ns(2_300));
    // Between racks: links of 1000 and 2000 ns twice, and switches of 300, 500 and 300 ns.
    assert_eq!(down * 2 + up * 2, Span::from_ns(6_000 + 1_100));
}

#[test]
fn three_tiers_are_pods_with_planes_of_cores() {
    let graph = foreign::graph(Format::Htsim, "three-tiers.topo", THREE_TIERS).unwrap();
    // 4 pods with 2 ToR and 2 aggregation switches each; one 200 Gb/s link up from each aggregation
    // switch, so one core in each of 2 planes.
    let links = links(&graph);
    assert_eq!((graph.hosts.len(), graph.switches.len()), (16, 8 + 8 + 2));
    assert_eq!(between(&links, "tor", "agg").0, 4 * 2 * 2);
    assert_eq!(between(&links, "agg", "core"), (8, Span::from_us(5)));
    let core = |link: &&foreign::Link| link.ends[0] == "agg5";
    let up = graph.links.iter().rfind(core).unwrap();
    assert_eq!((up.ends[1].as_str(), up.rate), ("core1", Rate::from_gbps(200)));
    // ToR 5 is the second of the third pod, whose aggregation switches are 4 and 5.
    let of_tor = graph.links.iter().filter(|link| link.ends[0] == "tor5");
    let above: Vec<_> = of_tor.map(|link| link.ends[1].as_str()).collect();
    assert_eq!(above, ["agg4", "agg5"]);
}

#[test]
fn fat_trees_without_a_file_have_k_cubed_over_four_hosts() {
    // k = 4: 16 hosts, 8 ToR, 8 aggregation and 4 core switches; 3 links per host in all.
    let graph = HtsimTopology::fat_tree(16).unwrap().graph("").unwrap();
    assert_eq!((graph.hosts.len(), graph.switches.len(), graph.links.len()), (16, 20, 48));
    assert!(HtsimTopology::fat_tree(17).is_none());
}

#[test]
fn triggers_become_what_a_host_waits_for() {
    let flows = HtsimMatrix::parse("chain.cm", CHAIN).unwrap().flows("chain.cm").unwrap();
    let after =
        |ids: &[u32]| Start::After(After { ids: ids.to_vec(), all: true, what: What::Received });
    let starts: Vec<_> = flows.iter().map(|flow| flow.start.clone()).collect();
    // Connection 2 starts where 1 arrives; 4 where 2 and 3 have arrived; starts are in picoseconds.
    let at = |us: u64| Start::At(Span::from_ps(us * 1_000_000));
    assert_eq!(starts[..4], [at(0), after(&[1]), at(1), after(&[2, 3])]);
    assert_eq!(starts[4], Start::At(Span::from_ns(2_500)));
    assert_eq!((flows[3].priority, flows[3].id, flows[4].id), (Some(1), Some(4), None));
}

#[test]
fn a_barrier_of_one_is_the_first_of_several() {
    let any = CHAIN.replace("barrier count 2", "barrier count 1");
    let flows = HtsimMatrix::parse("chain.cm", &any).unwrap().flows("chain.cm").unwrap();
    let what = What::Received;
    assert_eq!(flows[3].start, Start::After(After { ids: vec![2, 3], all: false, what }));
}

#[test]
fn a_connection_that_others_wait_for_gets_an_id() {
    let text = "Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1\n\
                0->1 id 7 trigger 1 size 1\ntrigger id 1 oneshot\n";
    let flows = foreign::flows(Format::Htsim, "f.cm", text).unwrap();
    assert_eq!(flows[0].id, Some(8));
    let what = What::Sent;
    assert_eq!(flows[1].start, Start::After(After { ids: vec![8], all: true, what }));
}

#[test]
fn starts_with_a_point_are_microseconds() {
    let text = "Nodes 2\nConnections 2\n0->1 start 1.500000 size 1\n1->0 start 2 size 1\n";
    let flows = foreign::flows(Format::Htsim, "f.cm", text).unwrap();
    let starts: Vec<_> = flows.iter().map(|flow| flow.start.clone()).collect();
    assert_eq!(starts, [Start::At(Span::from_ns(1_500)), Start::At(Span::from_us(2))]);
}

#[test]
fn a_connection_of_size_zero_never_ends() {
    let text = "Nodes 2\nConnections 2\n0->1 start 2000000 size 0\n1->0 start 0 size 1000\n";
    let flows = foreign::flows(Format::Htsim, "f.cm", text).unwrap();
    let sizes: Vec<_> = flows.iter().map(|flow| flow.size.map(incast_cc::Bytes::get)).collect();
    assert_eq!(sizes, [None, Some(1_000)]);
    let imported = foreign::import(&[("f.cm", text)], &foreign::Options::default()).unwrap();
    let scenario: toml::Table = imported.scenario_toml.parse().unwrap();
    let list = scenario["traffic"][0]["list"].as_array().unwrap();
    assert!(list[0].get("size").is_none() && list[0]["start"].as_str() == Some("2us"));
    let note = "f.cm: 1 of the connections have size 0 and never end, as there";
    assert!(imported.notes.iter().any(|known| known == note), "{:?}", imported.notes);
}
