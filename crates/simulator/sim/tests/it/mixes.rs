//! Mixes: runs with several schemes, and with several kinds of routing.

use incast_sim::scenario::Document;
use incast_sim::{Report, TraceConfig};

use crate::common::mistakes;
use crate::common::{counts, document, numbers, run_with, texts};

/// Two groups of four hosts, each with a flow to one server. The first traffic starts in line 24.
fn mix(own: &str, rest: &str) -> String {
    format!(
        r#"title = "two groups into one server"
[run]
duration = "20ms"
warmup = "5ms"
schemes = ["newreno"]
[[network.star.hosts]]
name = "a"
count = 4
rate = "10Gbps"
delay = "2us"
[[network.star.hosts]]
name = "b"
count = 4
rate = "10Gbps"
delay = "2us"
[[network.star.hosts]]
name = "server"
rate = "10Gbps"
delay = "2us"
[switch]
queue_limit = "200KB"
telemetry = true
[[traffic]]
kind = "connections"
name = "own"
from = "a"
to = "server"
{own}
[[traffic]]
kind = "connections"
name = "others"
from = "b"
to = "server"
{rest}
[cc.cubic]
transport = "stream"
[cc.dctcp]
transport = "stream"
[cc.newreno]
transport = "stream"
"#
    )
}

fn run(text: &str, scheme: &str) -> Report {
    run_with(&document(text), scheme, 1, TraceConfig::default())
}

/// The bytes of a report, without the name of its scheme and what only mixes have.
fn bytes(report: &Report) -> String {
    let tables = report.tables.iter().filter(|table| table.name != "mix").map(|table| {
        let columns = table.columns.iter().filter(|column| column.name != "own_scheme");
        format!("{} {:?}", table.name, columns.collect::<Vec<_>>())
    });
    format!("{:?} {:?}", report.summary, tables.collect::<Vec<_>>())
}

#[test]
fn a_run_under_one_scheme_is_the_same_however_its_flows_get_it() {
    // Marks, telemetry and notifications are there, and PFC is not.
    let text = |own: &str| {
        mix(own, own).replace("telemetry = true", "telemetry = true\necn_threshold = \"60KB\"")
    };
    for scheme in ["cubic", "timely", "dctcp", "hpcc", "dcqcn"] {
        let plain = run(&text(""), scheme);
        assert!(plain.tables.iter().all(|table| table.name != "mix"));
        let named = text(&format!("scheme = \"{scheme}\""));
        for of_run in [scheme, "newreno"] {
            let mixed = run(&named, of_run);
            assert!(bytes(&plain) == bytes(&mixed), "{scheme} beside {of_run}");
            assert_eq!(counts(&mixed, "mix", "flows"), [4, 4], "a row for each traffic");
        }
    }
}

#[test]
fn both_transports_meet_on_one_port_and_results_tell_them_apart() {
    let report = run(&mix("scheme = \"timely\"", ""), "cubic");
    let schemes: Vec<_> =
        texts(&report, "flows", "own_scheme").iter().map(ToString::to_string).collect();
    assert_eq!(
        schemes,
        ["timely", "timely", "timely", "timely", "cubic", "cubic", "cubic", "cubic"]
    );
    let shares = numbers(&report, "mix", "goodput_share");
    assert_eq!(counts(&report, "mix", "flows"), [4, 4]);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    // Little: TIMELY and Cubic on one short queue starve each other.
    assert!(numbers(&report, "mix", "goodput_gbps").iter().all(|&gbps| gbps > 0.0));
    assert!(report.summary.throughput_gbps > 8.0, "{}", report.summary.throughput_gbps);
}

#[test]
fn a_share_of_flows_has_a_scheme_and_the_others_that_of_the_run() {
    let many = "connections = 50\nscheme = { name = \"ledbat\", share = 0.3 }";
    let report = run(&mix(many, ""), "cubic");
    let [ledbat, cubic] = counts(&report, "mix", "flows")[..2] else { panic!("two parts") };
    assert_eq!(ledbat + cubic, 200);
    // 60 of 200, with a standard deviation of sqrt(200 * 0.3 * 0.7) = 6.5. The part of the run's
    // scheme, number 0, comes first.
    assert!(cubic.abs_diff(60) < 26, "{cubic} of 200 are {ledbat}");
}

#[test]
fn spraying_and_hashing_run_side_by_side() {
    let text = |own: &str, rest: &str| {
        format!(
            r#"title = "two kinds of routing"
[run]
duration = "2ms"
schemes = ["line-rate"]
[network.leaf-spine]
leaves = 2
spines = 4
hosts = {{ name = "h", count = 4, rate = "10Gbps", delay = "1us" }}
uplink = {{ rate = "10Gbps", delay = "1us" }}
[[traffic]]
kind = "connections"
from = "h0"
to = "h4"
{own}
[[traffic]]
kind = "connections"
from = "h1"
to = "h5"
{rest}
[transport]
ack_priority = false
"#
        )
    };
    // The links from the first leaf to the spines that carry data.
    let used = |text: &str| {
        let report = run(text, "line-rate");
        let links =
            texts(&report, "links", "link").iter().zip(numbers(&report, "links", "utilisation"));
        let up = links.filter(|(link, _)| link.to_string().starts_with("leaf0->spine"));
        up.filter(|&(_, &utilisation)| utilisation > 0.01).count()
    };
    let single = "routing = \"single\"";
    assert_eq!(used(&text(single, single)), 1);
    assert_eq!(used(&text(single, "routing = \"spray\"")), 4);
    assert!(used(&text("routing = \"ecmp\"", "routing = \"ecmp\"")) <= 2);
    // The same bytes as with one kind for all.
    let whole = |kind: &str| format!("{}\n[routing]\nkind = \"{kind}\"\n", text("", ""));
    for kind in ["ecmp", "single", "spray", "valiant", "spanning-trees"] {
        let own = format!("routing = \"{kind}\"");
        let each = run(&text(&own, &own), "line-rate");
        assert_eq!(bytes(&run(&whole(kind), "line-rate")), bytes(&each), "{kind}");
    }
}

/// A ring of four switches, each host sending to the one two switches on.
fn ring(rest: &str) -> String {
    let links: Vec<_> = (0..4)
        .flat_map(|i| {
            [(format!("h{i}"), format!("s{i}")), (format!("s{i}"), format!("s{}", (i + 1) % 4))]
        })
        .map(|(a, b)| {
            format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"10Gbps\", delay = \"1us\" }},\n")
        })
        .collect();
    format!(
        "title = \"a ring\"\nrun = {{ duration = \"3ms\", schemes = [\"tcp-bolt\"] }}\n\
         [network.graph]\nhosts = [{{ name = \"h\", count = 4 }}]\n\
         switches = [{{ name = \"s\", count = 4 }}]\nlinks = [\n{}]\n{rest}\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"h0\"\nto = \"h2\"\n",
        links.concat()
    )
}

#[test]
fn schemes_of_traffic_that_there_are_not() {
    let whole = |own: &str| mix(own, "");
    let good = "scheme = \"cubic\"\nrouting = \"spray\"";
    let share = "scheme = { name = \"cubic\", share = 7 }";
    mistakes::check(
        good,
        whole,
        &[
            ("\"cubic\"", "\"cubik\"", (28, 10), &["\"cubik\"", "did you mean \"cubic\""]),
            (
                "\"cubic\"",
                "\"cubic[betta=0.5]\"",
                (28, 10),
                &["\"betta\"", "did you mean \"beta\""],
            ),
            ("scheme = \"cubic\"", share, (28, 10), &["expected a scheme such as", "0.01 to 1"]),
            ("scheme = \"cubic\"", "scheme = 3", (28, 10), &["expected a scheme such as"]),
            ("\"spray\"", "\"sprey\"", (29, 11), &["sprey", "spray"]),
        ],
    );
}

#[test]
fn ports_speak_one_language_in_a_run() {
    let parse = |own: &str, rest: &str, tables: &str| {
        Document::parse(format!("{}\n{tables}", mix(own, rest)), "f")
            .map_err(|error| error.to_string())
    };
    let (d3, rcp) = ("scheme = \"d3\"", "scheme = \"rcp\"");
    let both = "[switch.feedback.d3]\n[switch.feedback.rcp]";
    let error = parse(d3, rcp, both).unwrap_err();
    assert!(error.starts_with("f:28:10: d3 needs ports that speak d3, and rcp in the"), "{error}");
    assert!(error.ends_with("one language; run one after the other"), "{error}");
    let stamps = parse(d3, "scheme = \"hpcc\"", both).unwrap_err();
    assert!(stamps.contains("hpcc in the same run ports that speak int"), "{stamps}");
    // Who is not answered does not mind, but says that it lacks answers.
    assert!(parse(d3, rcp, "[switch.feedback.d3]").is_ok());
    let mixed = parse(d3, "", both).unwrap();
    let error = mixed.scenario().scheme("rcp").unwrap_err().to_string();
    assert!(error.starts_with("rcp needs ports that speak rcp, and d3"), "{error}");
    assert!(mixed.scenario().scheme("newreno").is_ok());
    // Nobody is under the scheme of the run.
    let all = parse(d3, d3, both).unwrap();
    assert!(all.scenario().scheme("rcp").is_ok());
}

#[test]
fn trees_that_a_network_does_not_have() {
    let good = "[routing]\nkind = \"spanning-trees\"\ntrees = 1\n";
    let failing = "trees = 1\n[[event]]\nat = \"1ms\"\nlink = [\"s0\", \"s1\"]\nstate = \"down\"";
    mistakes::check(
        good,
        ring,
        &[
            ("trees = 1", "trees = 2", (18, 9), &["2 trees", "the network has 1", "add links"]),
            ("trees = 1", "trees = 0", (18, 9), &["0 trees connect nothing"]),
            ("\"spanning-trees\"", "\"ecmp\"", (18, 9), &["1 trees that no traffic takes"]),
            ("trees = 1", failing, (22, 9), &["no other way around a link that fails"]),
        ],
    );
}
