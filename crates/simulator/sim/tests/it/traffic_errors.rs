//! Bad traffic gets one clear line: the place, the value, and what would be right.

use std::path::PathBuf;

use incast_sim::scenario::Document;

use crate::common::mistakes::{self, Case};

/// A rack network in which all is right, and one traffic of each kind. Line 1 is the title.
const GOOD: &str = r#"title = "traffic"
run = { duration = "10ms", schemes = ["timely"] }

[network.leaf-spine]
leaves = 2
spines = 2
hosts = { name = "host", count = 4, rate = "10Gbps", delay = "1us" }
uplink = { rate = "10Gbps", delay = "1us" }

[[class]]
name = "bulk"

[[class]]
name = "fast"

[[traffic]]
kind = "poisson"
name = "arriving"
from = "host"
class = "bulk"
weight = 2
start = "1ms"
stop = "9ms"
urgent = { below = "30KB", class = "fast", weight = 3 }
load = 0.3
sizes = "web-search"
rack_local = 0.25

[[traffic]]
kind = "requests"
name = "asking"
from = "host0"
to = "host"
outstanding = 2
think_time = "10us"
sizes = { fixed = "64KB" }
reads = 0.5
replicas = 3
fan_out = [[1, 0.5], [2, 0.3], [7, 0.2]]

[[traffic]]
kind = "incast"
name = "burst"
from = "host"
to = "host1"
load = 0.2
senders = 7
size = "20KB"

[[traffic]]
kind = "collective"
name = "ring"
from = "host"
collective = "all-reduce"
size = "1MB"
rounds = 2

[[traffic]]
kind = "flows"
name = "listed"
list = [
    { from = "host0", to = "host1", size = "1MB", id = 1 },
    { from = "host1", to = "host2", size = "2MB", weight = 5, after = { all = [1] } },
]

[[traffic]]
kind = "connections"
name = "lasting"
from = "host2"
to = "host3"
message = "3MB"
count = 4
"#;

fn check(cases: &[Case]) {
    mistakes::check(GOOD, str::to_owned, cases);
}

#[test]
fn hosts_and_classes_are_known() {
    check(&[
        (
            "\"arriving\"\nfrom = \"host\"",
            "\"arriving\"\nfrom = \"hots\"",
            (19, 8),
            &["host \"hots\"", "mean \"host"],
        ),
        ("to = \"host1\"\nload", "to = \"host8\"\nload", (45, 6), &["host \"host8\"", "mean"]),
        ("from = \"host2\"\nto", "from = \"rack0\"\nto", (69, 8), &["unknown host \"rack0\""]),
        (
            "from = \"host2\"\nto",
            "from = \"host[6-99]\"\nto",
            (69, 8),
            &["\"host[6-99]\" is no part of host[0-7]"],
        ),
        ("from = \"host2\"\nto", "from = \"hosts[0-1]\"\nto", (69, 8), &["unknown host"]),
        ("from = \"host2\"\nto", "to", (66, 1), &["nobody starts it; set from"]),
        ("to = \"host3\"", "to = \"host2\"", (70, 6), &["\"host2\" would send to itself"]),
        ("class = \"bulk\"", "class = \"blk\"", (20, 9), &["class \"blk\"", "mean \"bulk\""]),
        ("class = \"fast\"", "class = \"slow\"", (24, 36), &["class \"slow\"", "bulk, fast, ack"]),
        (
            "{ from = \"host0\"",
            "{ from = \"host\"",
            (62, 14),
            &["\"host\" is a group", "such as \"host0\""],
        ),
        ("to = \"host1\", size", "to = \"host0\", size", (62, 28), &["send to itself"]),
        ("weight = 5,", "class = \"fats\",", (63, 59), &["class \"fats\"", "mean \"fast\""]),
    ]);
}

#[test]
fn deadlines_have_a_law_and_shares_are_at_most_all() {
    let says =
        |sentence: &'static str| -> &'static [&'static str] { Box::leak(Box::new([sentence])) };
    let weight = "class = \"bulk\"";
    let at = |text: &'static str, column, sentence| {
        let text: &'static str = Box::leak(format!("deadline = {text}").into_boxed_str());
        (weight, text, (20, column), says(sentence))
    };
    check(&[
        at("\"0us\"", 12, "\"0us\" is out of range; expected 1us to 1000s"),
        at("5", 12, "expected a time such as \"20ms\""),
        at("{ exponential = \"0ms\" }", 28, "\"0ms\" is out of range; expected 1us to 1000s"),
        at("{ least = \"3ms\" }", 12, "no law; expected fixed, exponential or factor"),
        at("{ mean = \"3ms\" }", 14, "unknown field \"mean\""),
        at("{ fixed = \"3ms\", factor = 2 }", 38, "factor beside fixed; take one of them out"),
        at(
            "{ fixed = \"3ms\", base = \"3ms\" }",
            36,
            "base belongs to factor; take it out, or set factor",
        ),
        at("{ factor = 0 }", 23, "0 is out of range; expected above 0, up to 1000000"),
        at(
            "{ share = 0.5, fixed = \"3ms\" }",
            22,
            "a share is of a list; put the table in brackets",
        ),
        at("[]", 12, "an empty list; expected tables, or leave it out"),
        at("[{ fixed = \"3ms\" }]", 13, "no share; set it, such as share = 0.5"),
        at(
            "[{ share = 1.5, fixed = \"3ms\" }]",
            23,
            "1.5 is out of range; expected above 0, up to 1",
        ),
        at(
            "[{ share = 0.5, fixed = \"3ms\" }, { share = 0.75, fixed = \"4ms\" }]",
            55,
            "0.75 makes the shares 1.25, more than all messages; lower it",
        ),
        (
            "message = \"3MB\"\ncount = 4",
            "deadline = \"3ms\"",
            (71, 12),
            &["a message without end is never complete; set its size, or take the deadline out"],
        ),
        (
            "to = \"host1\", size = \"1MB\", id = 1",
            "to = \"host1\", deadline = \"1ms\", id = 1",
            (62, 48),
            &["a message without end is never complete"],
        ),
        (
            "to = \"host1\", size = \"1MB\", id = 1",
            "to = \"host1\", deadline = { factor = -1 }, size = \"1MB\", id = 1",
            (62, 59),
            &["-1 is out of range"],
        ),
    ]);
}

#[test]
fn a_traffic_is_of_one_kind_and_has_its_settings_alone() {
    check(&[
        (
            "senders = 7\nsize = \"20KB\"",
            "fan_out = 7\nsize = \"20KB\"",
            (47, 1),
            &["incast has no fan_out, which is of connections and requests; take it out"],
        ),
        // A value that equals the default of another kind is refused, too.
        (
            "senders = 7",
            "operation = \"write\"",
            (47, 1),
            &["incast has no operation, which is of connections and poisson; take it out"],
        ),
        ("senders = 7", "every = \"0us\"", (47, 1), &["incast has no every, which is of conn"]),
        ("replicas = 3", "count = 3", (38, 1), &["requests has no count, which is of connections"]),
        ("rounds = 2", "stop = \"5ms\"", (56, 1), &["collective has no stop; take it out"]),
        ("rounds = 2", "to = \"host1\"", (56, 1), &["collective has no to; take it out"]),
        ("list = [", "from = \"host\"\nlist = [", (61, 1), &["flows has no from; take it out"]),
        ("message = \"3MB\"", "stop = \"5ms\"", (71, 1), &["connections has no stop; take it out"]),
        ("rounds = 2", "senders = 2", (56, 1), &["collective has no senders, which is of incast"]),
        (
            "rounds = 2",
            "round = 2",
            (56, 1),
            &["unknown field \"round\"; did you mean \"rounds\"?"],
        ),
        ("rounds = 2", "clas = 2", (56, 1), &["unknown field \"clas\"; did you mean \"class\"?"]),
        (
            "rounds = 2",
            "bananas = 2",
            (56, 1),
            &["unknown field \"bananas\"; expected one of collective, size, rounds", "name, from"],
        ),
        ("senders = 7\n", "", (41, 1), &["missing field `senders`"]),
        (
            "think_time = \"10us\"",
            "load = 0.5",
            (34, 15),
            &["a load is an open loop, outstanding a closed one"],
        ),
    ]);
}

#[test]
fn a_collective_has_an_algorithm_and_groups_that_fit() {
    let ring = "collective = \"all-reduce\"";
    let rounds = |text: &'static str, column, sentence: &'static str| -> Case {
        ("rounds = 2", text, (56, column), Box::leak(Box::new([sentence])))
    };
    check(&[
        (
            ring,
            "collective = \"ring-all-reduce\"",
            (54, 14),
            &["is written collective = \"all-reduce\", with algorithm = \"ring\""],
        ),
        (ring, "collective = \"all-reduces\"", (54, 14), &["all-reduces"]),
        (
            "rounds = 2",
            "algorithm = \"halving\"",
            (56, 13),
            &["halving is no algorithm of all-reduce; expected ring or tree or double-tree"],
        ),
        (
            "rounds = 2",
            "algorithm = \"hierarchical\"",
            (50, 1),
            &["hierarchical has no node; set the number of hosts in one, such as node = 8"],
        ),
        rounds("node = 4", 8, "algorithm = \"hierarchical\" alone has one; take it out"),
        rounds("window = 4", 10, "an all-to-all alone has one; take it out"),
        rounds("skew = 0.5", 8, "all-to-all-v alone has one; take it out"),
        rounds("root = 1", 8, "broadcast and reduce alone have one; take it out"),
        rounds("channels = 65", 12, "65 is out of range; expected 1 to 64"),
        rounds("group = 3", 9, "groups of 3 do not divide the 8 hosts of `from`"),
        rounds("groups = [4, 3]", 10, "groups take 7 hosts of the 8 of `from`; expected all"),
        rounds("groups = [7, 1]", 10, "a group of 1; expected at least 2 hosts"),
        rounds(
            "placement = \"sprea\"",
            13,
            "expected \"packed\", \"spread\", \"random\", or a list",
        ),
        rounds("placement = [\"host0\", \"host0\"]", 13, "\"host0\" comes twice; take one of"),
        rounds("placement = [\"host0\"]", 13, "1 of the 8 hosts of `from`; expected all"),
        rounds("placement = [\"host9\"]", 13, "unknown host \"host9\""),
        rounds("stragglers = [{ hosts = \"host9\" }]", 14, "unknown host \"host9\""),
        rounds(
            "stragglers = [{ hosts = \"host1\", factor = 0.5 }]",
            14,
            "factor 0.5 is out of range; expected 1 to 1000",
        ),
        ("size = \"1MB\"\nrounds = 2", "rounds = 2", (50, 1), &["all-reduce has no size; set it"]),
    ]);
}

#[test]
fn a_traffic_says_its_kind() {
    const KINDS: &str = "connections, poisson, requests, ";
    check(&[
        (
            "kind = \"incast\"\n",
            "",
            (41, 1),
            &[
                "no kind; expected one of",
                KINDS,
                "connections that stay are kind = \"connections\"",
            ],
        ),
        ("kind = \"incast\"", "kind = 3", (42, 8), &["no text; expected one of", KINDS]),
        (
            "kind = \"incast\"",
            "kind = \"incats\"",
            (42, 8),
            &["unknown kind \"incats\"; did you mean \"incast\"?"],
        ),
        ("kind = \"incast\"", "kind = \"bananas\"", (42, 8), &["expected one of", KINDS]),
    ]);
}

/// Scenarios that were written before traffic said its kind.
#[test]
fn a_kind_that_is_a_table_is_told_how_it_is_written() {
    const SAYS: &[&str] =
        &["poisson = { ... } is written kind = \"poisson\", with what is in its \
                            braces beside it"];
    check(&[
        ("kind = \"poisson\"\n", "poisson = { load = 0.1 }\n", (16, 1), SAYS),
        ("load = 0.3\nsizes", "[traffic.poisson]\nload = 0.3\nsizes", (25, 10), SAYS),
    ]);
}

#[test]
fn loads_are_above_zero_and_finite() {
    const SAYS: &[&str] = &["is out of range", "expected above 0"];
    check(&[
        (
            "load = 0.3",
            "load = -0.3",
            (25, 8),
            &["-0.3 is out of range", "expected above 0, up to 10"],
        ),
        ("load = 0.3", "load = 0.0", (25, 8), &["0 is out of range"]),
        ("load = 0.3", "load = nan", (25, 8), SAYS),
        ("load = 0.3", "load = inf", (25, 8), SAYS),
        (
            "load = 0.3",
            "load = 60",
            (25, 8),
            &["60 is out of range", "is it per cent? 60 % is 0.6"],
        ),
        ("load = 0.3", "load = 1001.0", (25, 8), &["1001 is out of range", "share of the links"]),
        ("load = 0.2", "load = -1.0", (46, 8), SAYS),
        ("outstanding = 2\nthink_time = \"10us\"", "load = 0.0", (34, 8), SAYS),
        ("outstanding = 2", "outstanding = 0", (34, 15), &["0 is out of range; expected 1 to"]),
        ("reads = 0.5", "reads = 1.5", (37, 9), &["1.5 is out of range; expected 0 to 1"]),
        ("rack_local = 0.25", "rack_local = -0.1", (27, 14), &["-0.1 is out of range"]),
        ("stop = \"9ms\"", "stop = \"1ms\"", (23, 8), &["stops at 1ms, before it starts"]),
        ("start = \"1ms\"", "start = \"10ms\"", (22, 9), &["after the end at 10ms"]),
    ]);
}

#[test]
fn loads_of_the_core_need_flows_that_cross_one() {
    check(&[
        (
            "rack_local = 0.25",
            "rack_local = 1.0\nof = \"core\"",
            (28, 6),
            &["none of these flows crosses the core", "other destinations"],
        ),
        (
            "rack_local = 0.25",
            "of = \"spine\"",
            (27, 6),
            &["\"spine\"", "expected one of hosts, core"],
        ),
    ]);
    let star = "title = \"a star\"\nrun = { duration = \"1ms\", schemes = [\"timely\"] }\n\
                [network.star]\nhosts = [{ name = \"h\", count = 2, rate = \"1Gbps\", delay = \"1us\" }]\n\
                [[traffic]]\nkind = \"poisson\"\nfrom = \"h\"\n\
                load = 0.1\nof = \"core\"\nsizes = \"solar\"\n";
    let error = Document::parse(star.to_owned(), "star.toml").unwrap_err().to_string();
    assert!(error.starts_with("star.toml:9:6: this network has no core"), "{error}");
}

#[test]
fn nobody_asks_more_hosts_than_there_are() {
    check(&[
        // Eight hosts of which the client is one.
        ("[7, 0.2]", "[8, 0.2]", (39, 11), &["8 is out of range; expected 1 to 7"]),
        ("[7, 0.2]", "[0, 0.2]", (39, 11), &["0 is out of range"]),
        ("[7, 0.2]", "[7, -0.2]", (39, 11), &["a number and a weight above 0"]),
        ("[7, 0.2]", "[7, 0.0]", (39, 11), &["a number and a weight above 0"]),
        ("[[1, 0.5], [2, 0.3], [7, 0.2]]", "[]", (39, 11), &["expected a number, or pairs"]),
        ("replicas = 3", "replicas = 8", (38, 12), &["8 is out of range; expected 1 to 7"]),
        ("replicas = 3", "replicas = 0", (38, 12), &["0 is out of range"]),
        // Of the two racks of four one is the farthest; of seven hosts, three are in the second.
        (
            "replicas = 3\n",
            "replicas = 3\ndestinations = \"farthest\"\n",
            (40, 11),
            &["7 is out of range; expected 1 to 4, the servers farthest from host0"],
        ),
        (
            "replicas = 3\nfan_out = [[1, 0.5], [2, 0.3], [7, 0.2]]",
            "replicas = 5\nfan_out = 4\ndestinations = \"farthest\"",
            (38, 12),
            &["5 is out of range; expected 1 to 4, the servers farthest from host0"],
        ),
        (
            "from = \"host0\"\nto = \"host\"\noutstanding = 2",
            "from = \"host\"\nto = \"host[1-6]\"\ndestinations = \"farthest\"",
            (39, 11),
            &["7 is out of range; expected 1 to 3, the servers farthest from host0"],
        ),
        // Each of eight has seven others.
        (
            "from = \"host2\"\nto = \"host3\"",
            "from = \"host\"\nfan_out = 8",
            (70, 11),
            &["8 is out of range; expected 1 to 7, the hosts of `to` but oneself"],
        ),
        // The receiver is one of the eight.
        (
            "senders = 7",
            "senders = 8",
            (47, 11),
            &["8 is out of range", "1 to 7", "but the receiver"],
        ),
        ("senders = 7", "senders = 0", (47, 11), &["0 is out of range; expected 1 to 7"]),
        (
            "name = \"ring\"\nfrom = \"host\"",
            "name = \"ring\"\nfrom = \"host0\"",
            (53, 8),
            &["would send to itself"],
        ),
        ("rounds = 2", "rounds = 0", (56, 10), &["0 is out of range"]),
        (
            "message = \"3MB\"",
            "message = \"3MB\"\nconnections = 0",
            (72, 15),
            &["0 connections; expected 1 to"],
        ),
    ]);
}

#[test]
fn those_who_have_nobody_but_themselves_do_not_bound_the_others() {
    for (from, to) in [
        ("from = \"host0\"\nto = \"host\"\n", "from = \"host\"\nto = \"host0\"\n"),
        ("from = \"host2\"\nto = \"host3\"\n", "from = \"host\"\nto = \"host3\"\nfan_out = 1\n"),
    ] {
        assert!(GOOD.contains(from));
        let text = GOOD.replace(from, to).replace("7, 0.2", "1, 0.2").replace("2, 0.3", "1, 0.3");
        let text = text.replace("replicas = 3", "replicas = 1");
        Document::parse(text, "good.toml").unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn weights_are_above_zero() {
    check(&[
        ("weight = 2", "weight = 0", (21, 10), &["0 is out of range; expected 1 to 1000"]),
        ("weight = 2", "weight = 1001", (21, 10), &["1001 is out of range"]),
        ("weight = 3", "weight = 0", (24, 53), &["0 is out of range; expected 1 to 1000"]),
        ("weight = 5", "weight = 0", (63, 60), &["0 is out of range; expected 1 to 1000"]),
    ]);
}

#[test]
fn sizes_are_known() {
    check(&[
        ("\"web-search\"", "\"websearch\"", (26, 9), &["\"websearch\"", "mean \"web-search\""]),
        ("\"web-search\"", "\"homa-w9\"", (26, 9), &["\"homa-w9\"", "mean \"homa-w"]),
        ("\"web-search\"", "\"xyzzy\"", (26, 9), &["\"xyzzy\"", "expected one of web-search,"]),
        ("\"web-search\"", "{ fixed = \"0B\" }", (26, 19), &["\"0B\" is out of range"]),
        ("\"web-search\"", "{ file = \"missing.cdf\" }", (26, 9), &["cannot read dir/missing.cdf"]),
        ("size = \"20KB\"", "size = \"20\"", (48, 8), &["\"20\"", "unit"]),
    ]);
}

#[test]
fn lists_of_flows_hang_together() {
    check(&[
        ("all = [1]", "all = [2]", (63, 71), &["no flow has the id 2; give it to one"]),
        ("all = [1]", "all = []", (63, 71), &["expected the ids of other flows in all, or in any"]),
        (
            "all = [1]",
            "all = [1], event = \"sent\"",
            (63, 71),
            &["host1 cannot see that flow 1 was sent, host0 does", "event = \"received\""],
        ),
        ("weight = 5,", "id = 1,", (63, 56), &["1 is there twice; change one of them"]),
        ("weight = 5,", "start = \"1ms\",", (63, 74), &["a size and no start"]),
        ("id = 1 }", "start = \"10ms\" }, # ", (62, 59), &["after the end at 10ms"]),
        ("list = [", "format = \"hpcc\"\nlist = [", (61, 10), &["a format needs a file"]),
    ]);
}

/// A folder of this test's own with a file of sizes in it, and a scenario beside it.
fn beside(test: &str, sizes: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("incast-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.cdf"), sizes).unwrap();
    let scenario = folder.join("traffic.toml");
    let text = GOOD.replace("\"web-search\"", "{ file = \"mine.cdf\" }");
    std::fs::write(&scenario, text).unwrap();
    scenario
}

#[test]
fn a_file_of_sizes_is_told_with_its_own_line_too() {
    for (sizes, says) in [
        ("0 0\n10000 0.5\n9000 1\n", "mine.cdf:3: the size falls from 10000 to 9000"),
        (
            "0 0\n10000 0.5\n20000 0.4\n30000 1\n",
            "mine.cdf:3: the probability falls from 0.5 to 0.4",
        ),
        ("0 0\n10000 half\n", "mine.cdf:2: \"half\" is not a number"),
        ("# nothing\n", "mine.cdf"),
    ] {
        let scenario = beside("sizes", sizes);
        let error = Document::load(&scenario).unwrap_err().to_string();
        let place = format!("{}:26:9: ", scenario.display());
        assert!(error.starts_with(&place) && error.contains(says), "{error}\n    want {says}");
        assert!(!error.contains('\n'), "{error}");
    }
    let scenario = beside("sizes", "0 0\n10000 0.5\n20000 1\n");
    let document = Document::load(&scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(document.files().collect::<Vec<_>>(), [("mine.cdf", "0 0\n10000 0.5\n20000 1\n")]);
    std::fs::remove_file(scenario.with_file_name("mine.cdf")).unwrap();
    let error = Document::load(&scenario).unwrap_err().to_string();
    assert!(error.contains("cannot read ") && error.contains("mine.cdf"), "{error}");
    std::fs::remove_dir_all(scenario.parent().unwrap()).unwrap();
}
