//! Bad networks, paths and events get one clear line: the place, the value, and what would be
//! right.

use incast_sim::scenario::Document;

use crate::common::mistakes::{self, Case};

/// The rest of a scenario with hosts h0 and h1; a network starts in line 4.
fn whole(network: &str) -> String {
    format!(
        "title = \"a network\"\nrun = {{ duration = \"10ms\", schemes = [\"timely\"] }}\n\n{network}\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"h0\"\nto = \"h1\"\n"
    )
}

fn parse(network: &str) -> Result<Document, String> {
    Document::parse(whole(network), "bad.toml").map_err(|error| error.to_string())
}

fn check(good: &str, cases: &[Case]) {
    mistakes::check(good, whole, cases);
}

const FAT_TREE: &str = r#"[network.fat-tree]
k = 4
hosts = { name = "h", rate = "10Gbps", delay = "1us" }
link = { rate = "10Gbps", delay = "1us" }
"#;

#[test]
fn fat_trees_have_an_even_number_of_ports_and_not_too_many_hosts() {
    check(
        FAT_TREE,
        &[
            ("k = 4", "k = 5", (5, 5), &["5 is out of range", "even number, 2 to 124"]),
            ("k = 4", "k = 0", (5, 5), &["0 is out of range"]),
            ("k = 4", "k = 126", (5, 5), &["126 is out of range"]),
            ("\"h\", ", "\"h\", count = 0, ", (6, 31), &["0 hosts; expected 1 to 1000000"]),
            // 8 edge switches.
            ("\"h\", ", "\"h\", count = 200000, ", (6, 31), &["1600000 hosts", "1000000"]),
            ("\"h\", ", "\"h\", count = 60001, ", (6, 31), &["60001 hosts at each", "60000"]),
            ("\"h\", ", "\"9h\", ", (6, 18), &["\"9h\" is no name for a host"]),
            ("\"h\", ", "\"edge\", ", (4, 2), &["both a host and a switch", "\"edge0\""]),
            ("link = {", "core = {", (4, 1), &["missing field `link`"]),
            ("link = {", "lnik = {", (7, 1), &["\"lnik\"", "mean \"link\""]),
        ],
    );
}

const CLOS: &str = r#"[network.clos]
pods = 2
leaves = 2
aggregations = 2
cores = 4
hosts = { name = "h", count = 4, rate = "10Gbps", delay = "1us" }
leaf_uplink = { rate = "10Gbps", delay = "1us" }
aggregation_uplink = { oversubscription = 2.5, delay = "1us" }
"#;

#[test]
fn tiers_of_a_clos_network_divide() {
    check(
        CLOS,
        &[
            ("cores = 4", "cores = 5", (8, 9), &["5 core switches", "multiple of 2"]),
            ("cores = 4", "cores = 0", (8, 9), &["0 is out of range; expected 1 to 4096"]),
            ("pods = 2", "pods = 5000", (5, 8), &["5000 is out of range"]),
            (
                "pods = 2\nleaves = 2",
                "pods = 4096\nleaves = 7",
                (5, 8),
                &["36868 switches", "32768"],
            ),
            ("leaves = 2", "leaves = 0", (6, 10), &["0 is out of range"]),
            ("count = 4", "count = 300000", (9, 31), &["1200000 hosts"]),
            (
                "leaf_uplink = { rate = \"10Gbps\"",
                "leaf_uplink = { rate = \"10Gbps\", oversubscription = 2",
                (10, 53),
                &["both rate and oversubscription"],
            ),
            ("oversubscription = 2.5, ", "", (11, 22), &["no rate; expected rate"]),
            ("oversubscription = 2.5", "oversubscription = 0", (11, 43), &["out of range"]),
        ],
    );
    // 2 x 400 Gb/s from below, 1/64 of it taken for 64 times as much, over two links.
    let text = CLOS.replace("2.5", "0.015625").replace("10Gbps", "400Gbps");
    let error = parse(&text).unwrap_err();
    assert!(error.contains("gives links of 25.6Tbps; expected 1Mbps to 8Tbps"), "{error}");
}

#[test]
fn leaves_and_spines_are_not_too_many_together() {
    let good = r#"[network.leaf-spine]
leaves = 2
spines = 2
hosts = { name = "h", count = 4, rate = "10Gbps", delay = "1us" }
uplink = { oversubscription = 3, delay = "1us" }
"#;
    check(
        good,
        &[
            ("spines = 2", "spines = 0", (6, 10), &["0 is out of range"]),
            ("oversubscription = 3", "oversubscription = \"x\"", (8, 31), &["\"x\""]),
        ],
    );
    let error = parse(&good.replace("= 2\n", "= 2048\n")).unwrap_err();
    assert!(error.contains("4194304 links between switches; expected 1 to 1000000"), "{error}");
}

#[test]
fn a_parking_lot_has_two_switches_at_least() {
    let good = r#"[network.parking-lot]
switches = 3
hosts = { name = "h", rate = "10Gbps", delay = "1us" }
link = { rate = "10Gbps", delay = "1us" }
"#;
    check(
        good,
        &[
            ("switches = 3", "switches = 1", (5, 12), &["1 is out of range; expected 2 to 4096"]),
            ("\"h\", ", "\"h\", count = 400000, ", (6, 31), &["1200000 hosts"]),
        ],
    );
}

const GRAPH: &str = r#"[network.graph]
hosts = [{ name = "h", count = 2 }, { name = "server" }]
switches = [{ name = "s", count = 3 }]
links = [
    { ends = ["h0", "s0"], rate = "10Gbps", delay = "1us" },
    { ends = ["h1", "s1"], rate = "10Gbps", delay = "1us" },
    { ends = ["server", "s2"], rate = "10Gbps", delay = "1us" },
    { ends = ["s0", "s1"], rate = "10Gbps", delay = "1us" },
    { ends = ["s1", "s2"], rate = "10Gbps", delay = "1us" },
]
"#;

#[test]
fn links_of_a_graph_connect_what_there_is() {
    check(
        GRAPH,
        &[
            (
                "\"server\", \"s2\"",
                "\"sever\", \"s2\"",
                (10, 15),
                &["\"sever\"", "mean \"server\""],
            ),
            ("\"s0\", \"s1\"", "\"s0\", \"s3\"", (11, 21), &["unknown node \"s3\"", "mean \"s0\""]),
            ("\"s0\", \"s1\"", "\"s0\", \"s0\"", (11, 14), &["\"s0\" is connected to itself"]),
            (
                "\"s1\", \"s2\"",
                "\"s1\", \"s0\"",
                (12, 14),
                &["second link between \"s1\" and \"s0\""],
            ),
            (
                "\"server\", \"s2\"",
                "\"server\", \"h0\"",
                (10, 14),
                &["are hosts; expected a switch"],
            ),
            ("\"s1\", \"s2\"", "\"s1\", \"h0\"", (12, 14), &["second link of host \"h0\""]),
            ("\"server\", \"s2\"", "\"s0\", \"s2\"", (7, 9), &["host \"server\" has no link"]),
            (
                "    { ends = [\"s0\", \"s1\"], rate = \"10Gbps\", delay = \"1us\" },\n",
                "",
                (17, 6),
                &["no way leads from host \"h0\" to host \"h1\"", "connect their switches"],
            ),
        ],
    );
}

#[test]
fn traffic_stays_within_a_part_of_the_network() {
    // Without the link from s1, server is a part of its own.
    let link = "    { ends = [\"s1\", \"s2\"], rate = \"10Gbps\", delay = \"1us\" },\n";
    let apart = whole(&GRAPH.replacen(link, "", 1));
    assert_ne!(apart, whole(GRAPH));
    let flow = |to: &str| {
        let network = apart.split("[[traffic]]").next().unwrap();
        let list = format!("list = [{{ from = \"h0\", to = \"{to}\", size = \"1KB\" }}]");
        format!("{network}[[traffic]]\nkind = \"flows\"\n{list}\n")
    };
    let parse = |text: String| Document::parse(text, "apart.toml").map_err(|e| e.to_string());
    parse(apart.clone()).unwrap();
    parse(flow("h1")).unwrap();
    let error = parse(flow("server")).unwrap_err();
    assert!(error.contains("no way leads from host \"h0\" to host \"server\""), "{error}");
    assert!(parse(apart.replacen("from = \"h0\"", "from = \"server\"", 1)).is_err());
}

#[test]
fn nodes_of_a_graph_have_names_of_their_own() {
    check(
        GRAPH,
        &[
            ("name = \"server\"", "name = \"h1\"", (5, 46), &["two hosts called \"h1\""]),
            ("name = \"s\"", "name = \"h\"", (6, 22), &["two switches called \"h0\""]),
            ("name = \"s\"", "name = \"s!\"", (6, 22), &["\"s!\" is no name for a switch"]),
            ("count = 3", "count = 0", (6, 35), &["0 switches; expected 1 to 32768"]),
            ("count = 3", "count = 32769", (6, 35), &["32769 switches"]),
            ("count = 2", "count = 1000001", (5, 32), &["1000001 hosts"]),
            ("[{ name = \"s\", count = 3 }]", "[]", (6, 12), &["no switches"]),
        ],
    );
}

#[test]
fn given_paths_follow_links() {
    let good = format!(
        "{GRAPH}[[routing.path]]\nfrom = \"h0\"\nto = \"server\"\nvia = [\"s0\", \"s1\", \"s2\"]\n"
    );
    check(
        &good,
        &[
            ("from = \"h0\"", "from = \"h9\"", (15, 8), &["unknown host \"h9\"", "mean"]),
            (
                "from = \"h0\"",
                "from = \"h\"",
                (15, 8),
                &["\"h1\" hangs on \"s1\", not on \"s0\", the first"],
            ),
            (
                "to = \"server\"",
                "to = \"h1\"",
                (16, 6),
                &["\"h1\" hangs on \"s1\", not on \"s2\", the last"],
            ),
            (
                "\"s1\", \"s2\"]\n",
                "\"s4\", \"s2\"]\n",
                (17, 14),
                &["unknown switch \"s4\"", "mean"],
            ),
            (
                "\"s0\", \"s1\", \"s2\"]",
                "\"s0\", \"s2\"]",
                (17, 14),
                &["no link from \"s0\" to \"s2\"", "h0, s1"],
            ),
            (
                "\"s0\", \"s1\", \"s2\"]",
                "\"s0\", \"s1\", \"s0\"]",
                (17, 20),
                &["\"s0\" is there twice"],
            ),
            ("[\"s0\", \"s1\", \"s2\"]", "[]", (17, 7), &["no switch"]),
            (
                "[[routing.path]]\n",
                "[[routing.path]]\nfrom = \"h0\"\nto = \"server\"\nvia = [\"s0\", \"s1\", \"s2\"]\n[[routing.path]]\n",
                (20, 6),
                &["second path from \"h0\" to \"server\""],
            ),
        ],
    );
}

#[test]
fn events_are_of_links_that_there_are_and_change_something() {
    let good = format!(
        "{GRAPH}[[event]]\nat = \"1ms\"\nlink = [\"s1\", \"s0\"]\nstate = \"down\"\n\
         [[event]]\nat = \"2ms\"\nlink = [\"s0\", \"s1\"]\nstate = \"up\"\n\
         [[event]]\nat = \"3ms\"\nlink = [\"s0\", \"h0\"]\nrate = \"1Gbps\"\n"
    );
    check(
        &good,
        &[
            (
                "\"s1\", \"s0\"]\nstate",
                "\"s1\", \"s9\"]\nstate",
                (16, 15),
                &["unknown node \"s9\""],
            ),
            (
                "\"s0\", \"h0\"]\nrate",
                "\"s2\", \"h0\"]\nrate",
                (24, 8),
                &["no link from \"s2\" to \"h0\"", "server, s1"],
            ),
            ("at = \"1ms\"", "at = \"10ms\"", (15, 6), &["event at 10ms is after the end at 10ms"]),
            ("at = \"1ms\"", "at = \"2ms\"", (19, 6), &["changes twice at 2ms"]),
            ("\"up\"", "\"down\"", (21, 9), &["is down already at 2ms"]),
            ("\"down\"", "\"up\"", (17, 9), &["is up already at 1ms"]),
            ("\"up\"", "\"pu\"", (21, 9), &["\"pu\"", "mean \"up\""]),
            ("rate = \"1Gbps\"", "", (22, 1), &["nothing happens; expected state or rate"]),
            (
                "rate = \"1Gbps\"",
                "rate = \"1Gbps\"\nstate = \"down\"",
                (25, 8),
                &["both state and rate"],
            ),
        ],
    );
}

#[test]
fn own_links_are_of_links_that_there_are_and_say_what_differs() {
    let good = format!(
        "{GRAPH}[[link]]\nfrom = \"h0\"\nto = \"s0\"\nrate = \"1Gbps\"\n\
         [[link]]\nfrom = \"s0\"\nto = \"s1\"\nrate = \"2Gbps\"\n"
    );
    check(
        &good,
        &[
            (
                "\"h0\"\nto",
                "\"g0\"\nto",
                (15, 8),
                &["unknown host or switch \"g0\"", "mean \"h0\""],
            ),
            ("\"s1\"\nrate", "\"s2\"\nrate", (20, 6), &["no link leads from \"s0\" to \"s2\""]),
            ("rate = \"1Gbps\"\n", "", (14, 1), &["nothing differs; expected rate or loss"]),
            ("rate = \"1Gbps\"", "rate = \"0bps\"", (17, 8), &["out of range"]),
            ("rate = \"1Gbps\"", "loss = 1.5", (17, 8), &["1.5", "out of range; expected 0 to 1"]),
            (
                "from = \"s0\"\nto = \"s1\"",
                "from = \"h0\"\nto = \"s0\"",
                (21, 8),
                &["a second rate of the link from \"h0\" to \"s0\"", "take one out"],
            ),
        ],
    );
}

#[test]
fn receivers_are_hosts_that_there_are_and_hold_a_packet() {
    let good = format!(
        "{GRAPH}[[receiver]]\nhosts = \"h[0-1]\"\nrate = \"1Gbps\"\nbuffer = \"60KB\"\n\
         start = \"1ms\"\nstop = \"2ms\"\n[[receiver]]\nhosts = \"server\"\nrate = \"0bps\"\n"
    );
    check(
        &good,
        &[
            ("\"h[0-1]\"", "\"h[0-2]\"", (15, 9), &["\"h[0-2]\" is no part of h[0-1]"]),
            ("\"server\"\nrate", "\"s0\"\nrate", (21, 9), &["unknown host \"s0\""]),
            ("\"server\"\nrate", "\"h1\"\nrate", (21, 9), &["host \"h1\" is a receiver already"]),
            ("\"60KB\"", "\"1KB\"", (17, 10), &["a buffer of 1KB does not hold a packet of 1.5KB"]),
            ("\"2ms\"", "\"1ms\"", (19, 8), &["a stop at 1ms is not after the start at 1ms"]),
            ("rate = \"1Gbps\"\n", "", (14, 1), &["missing field `rate`"]),
            ("\"0bps\"", "\"20Tbps\"", (22, 8), &["20Tbps"]),
        ],
    );
}

#[test]
fn kinds_of_routing_are_known() {
    let good = format!("{GRAPH}[routing]\nkind = \"ecmp\"\nhash_seed = 7\nconvergence = \"0us\"\n");
    check(
        &good,
        &[
            ("\"ecmp\"", "\"emcp\"", (15, 8), &["\"emcp\"", "mean \"ecmp\""]),
            ("hash_seed = 7", "hash_seed = -7", (16, 13), &["-7"]),
            ("hash_seed", "hash_sed", (16, 1), &["mean \"hash_seed\""]),
        ],
    );
}

#[test]
fn kinds_of_networks_come_with_the_nearest_known_one() {
    let error = parse(&FAT_TREE.replace("fat-tree", "fattree")).unwrap_err();
    assert!(error.contains("unknown network \"fattree\"; did you mean \"fat-tree\"?"), "{error}");
    let error = parse(&format!("{FAT_TREE}{GRAPH}")).unwrap_err();
    assert!(error.contains("both fat-tree and graph; expected one of them"), "{error}");
}
