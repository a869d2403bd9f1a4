//! Bad input gets one clear line: the place, the value, and what would be right.

use std::path::Path;

use incast_cc::Span;
use incast_sim::scenario::{Document, ScenarioError};

use crate::common::mistakes::{self, Case, is_one_line};

/// A scenario in which all is right. Line 1 is the title.
const GOOD: &str = r#"title = "two groups"

[run]
duration = "10ms"
warmup = "1ms"
schemes = ["timely", "slow"]

[[network.star.hosts]]
name = "client"
count = 4
rate = "10Gbps"
delay = "2us"

[[network.star.hosts]]
name = "server"
rate = "25Gbps"
delay = "3us"

[switch]
buffer = "1MB"

[switch.pfc]
enabled = true
alpha = 0.125

[transport]
segment = "64KB"
mtu = "1500B"
header = "40B"

[[traffic]]
kind = "connections"
from = "client"
to = "server"
connections = 2

[[traffic]]
kind = "connections"
from = "server"
to = "client0"
message = "1MB"
start = "2ms"

[cc.slow]
algorithm = "timely"
preset = "zhu"
beta = 0.5
"#;

fn check(cases: &[Case]) {
    mistakes::check(GOOD, str::to_owned, cases);
}

#[test]
fn thresholds_that_are_never_reached_are_refused() {
    // 5 ports of 10 and 25 Gb/s keep some 40 KB of headroom of the buffer's 1 MB.
    check(&[("alpha = 0.125", "xoff = \"999KB\"", (24, 8), &["999KB", "never reached", "lower"])]);
}

#[test]
fn published_results_belong_to_a_scheme() {
    check(&[(
        "[cc.slow]",
        "[published.timley]\nrtt_mean = \"1us\"\n[cc.slow]",
        (44, 1),
        &["\"timley\"", "mean \"timely\""],
    )]);
}

#[test]
fn unknown_names_come_with_the_nearest_known_one() {
    check(&[
        ("warmup =", "warmpu =", (5, 1), &["field \"warmpu\"", "mean \"warmup\""]),
        ("delay = \"3us\"", "dleay = \"3us\"", (17, 1), &["\"dleay\"", "mean \"delay\""]),
        ("[switch.pfc]", "[switch.pcf]", (22, 9), &["\"pcf\"", "mean \"pfc\""]),
        ("[transport]", "[transprot]", (26, 2), &["\"transprot\"", "mean \"transport\""]),
        ("connections = 2", "conections = 2", (35, 1), &["mean \"connections\""]),
        // Nothing is near: all that there is.
        ("connections = 2", "xyzzy = 2", (35, 1), &["\"xyzzy\"", "expected one of fan_out,"]),
        ("message = \"1MB\"", "operation = \"reed\"", (41, 13), &["\"reed\"", "mean \"read\""]),
        ("from = \"client\"", "from = \"cleint\"", (33, 8), &["\"cleint\"", "mean \"client\""]),
        ("from = \"client\"", "from = \"client4\"", (33, 8), &["host \"client4\"", "mean"]),
        (
            "to = \"server\"",
            "to = \"moon\"",
            (34, 6),
            &["\"moon\"", "expected one of client, client0,"],
        ),
        (
            "\"timely\", \"slow\"",
            "\"timely\", \"timley\"",
            (6, 22),
            &["\"timley\"", "mean \"timely\""],
        ),
        ("\"timely\", \"slow\"", "\"timely:zuh\"", (6, 12), &["preset \"zuh\"", "mean \"zhu\""]),
        ("algorithm = \"timely\"", "algorithm = \"tymely\"", (45, 13), &["mean \"timely\""]),
        ("preset = \"zhu\"", "preset = \"zuh\"", (46, 10), &["\"zuh\" of timely", "mean \"zhu\""]),
        ("beta = 0.5", "bta = 0.5", (47, 7), &["parameter \"bta\" of timely", "mean \"beta\""]),
        (
            "[cc.slow]",
            "[cc.fsat]\n[cc.slow]",
            (44, 1),
            &["\"fsat\", and cc.fsat.algorithm is not set; did you mean \"fast\"?"],
        ),
    ]);
}

#[test]
fn quantities_need_their_unit() {
    check(&[
        ("\"10Gbps\"", "\"10us\"", (11, 8), &["\"10us\" has the wrong unit", "\"10Gbps\" (bps,"]),
        ("\"10Gbps\"", "\"10\"", (11, 8), &["\"10\" has no unit", "a rate such as"]),
        ("\"10Gbps\"", "10", (11, 8), &["\"10\" has no unit", "a rate such as"]),
        ("\"10Gbps\"", "\"fast\"", (11, 8), &["\"fast\" is not a number", "a rate such as"]),
        ("\"10Gbps\"", "true", (11, 8), &["true is no such value", "a rate such as"]),
        ("\"10Gbps\"", "[\"10Gbps\"]", (11, 8), &["a list; expected", "a rate such as"]),
        ("\"3us\"", "\"3\"", (17, 9), &["\"3\" has no unit", "a time such as"]),
        ("\"3us\"", "\"3 KB\"", (17, 9), &["\"3 KB\" has the wrong unit", "a time such as"]),
        ("\"3us\"", "\"0.1ps\"", (17, 9), &["\"0.1ps\" is too fine", "a time such as"]),
        (
            "buffer = \"1MB\"",
            "buffer = \"1ms\"",
            (20, 10),
            &["\"1ms\" has the wrong unit", "a size"],
        ),
        ("buffer = \"1MB\"", "buffer = 1e6", (20, 10), &["\"1000000\" has no unit", "a size such"]),
        ("\"10ms\"", "\"10MB\"", (4, 12), &["\"10MB\" has the wrong unit", "a time such as"]),
        ("\"10ms\"", "10", (4, 12), &["\"10\" has no unit", "a time such as"]),
        ("0.125", "\"12%\"", (24, 9), &["\"12%\" has the wrong unit", "a number such as"]),
        ("beta = 0.5", "t_low = \"5\"", (47, 9), &["t_low = \"5\" has no unit", "a time such as"]),
    ]);
}

#[test]
fn quantities_must_be_possible() {
    check(&[
        ("\"10Gbps\"", "\"0Gbps\"", (11, 8), &["\"0Gbps\"", "expected 1Mbps to 8Tbps"]),
        ("\"10Gbps\"", "\"-10Gbps\"", (11, 8), &["\"-10Gbps\" is negative", "a rate such as"]),
        ("\"10Gbps\"", "\"99Tbps\"", (11, 8), &["\"99Tbps\"", "expected 1Mbps to 8Tbps"]),
        ("\"10Gbps\"", "\"99999999999999999999Tbps\"", (11, 8), &["is too large", "a rate such"]),
        ("\"3us\"", "\"0us\"", (17, 9), &["\"0us\"", "expected 1ns to 1s"]),
        ("\"3us\"", "\"-3us\"", (17, 9), &["\"-3us\" is negative", "a time such as"]),
        ("\"3us\"", "\"3s\"", (17, 9), &["\"3s\"", "expected 1ns to 1s"]),
        ("buffer = \"1MB\"", "buffer = \"0B\"", (20, 10), &["\"0B\"", "expected 1B to 1000GB"]),
        ("buffer = \"1MB\"", "buffer = \"-1MB\"", (20, 10), &["\"-1MB\" is negative"]),
        ("buffer = \"1MB\"", "buffer = \"2000GB\"", (20, 10), &["\"2000GB\"", "1B to 1000GB"]),
        ("\"10ms\"", "\"0s\"", (4, 12), &["\"0s\"", "expected 1us to 1000s"]),
        ("\"10ms\"", "\"-1s\"", (4, 12), &["\"-1s\" is negative"]),
        ("\"10ms\"", "\"5000s\"", (4, 12), &["\"5000s\"", "expected 1us to 1000s"]),
        ("\"64KB\"", "\"0B\"", (27, 11), &["\"0B\"", "expected 1B"]),
        ("\"1500B\"", "\"63B\"", (28, 7), &["\"63B\"", "expected 64B to 9.216KB"]),
        ("\"1500B\"", "\"9217B\"", (28, 7), &["\"9217B\"", "expected 64B to 9.216KB"]),
        ("0.125", "0", (24, 9), &["\"0\"", "expected 0.000977 to 64"]),
        ("0.125", "-1.5", (24, 9), &["\"-1.5\" is negative"]),
        ("0.125", "nan", (24, 9), &["\"NaN\" is not a number", "a number such as"]),
        ("0.125", "1e9", (24, 9), &["\"1000000000\" is too large"]),
        ("message = \"1MB\"", "message = \"0B\"", (41, 11), &["\"0B\"", "expected 1B"]),
        ("beta = 0.5", "beta = 7", (47, 8), &["beta = \"7\"", "expected 0 to 1"]),
        ("beta = 0.5", "beta = \"much\"", (47, 8), &["beta = \"much\" is not a number"]),
    ]);
}

#[test]
fn values_must_fit_each_other() {
    check(&[
        (
            "warmup = \"1ms\"",
            "warmup = \"10ms\"",
            (5, 10),
            &["run.warmup = 10ms", "less than 10ms"],
        ),
        ("warmup = \"1ms\"", "warmup = \"1s\"", (5, 10), &["run.warmup = 1s", "less than 10ms"]),
        (
            "warmup = \"1ms\"",
            "cooldown = \"10ms\"",
            (5, 12),
            &["run.cooldown = 10ms leave nothing of run.duration = 10ms"],
        ),
        ("warmup = \"1ms\"", "interval = \"20ms\"", (5, 12), &["20ms", "expected 1 to 100000"]),
        ("warmup = \"1ms\"", "threads = 0", (5, 11), &["threads 0", "\"auto\"", "1 to 256"]),
        ("warmup = \"1ms\"", "threads = -1", (5, 11), &["threads -1", "\"auto\"", "1 to 256"]),
        ("warmup = \"1ms\"", "threads = 1000", (5, 11), &["threads 1000", "1 to 256"]),
        ("warmup = \"1ms\"", "threads = 1.5", (5, 11), &["1.5", "\"auto\" or a number"]),
        ("warmup = \"1ms\"", "threads = \"many\"", (5, 11), &["threads \"many\"", "\"auto\""]),
        ("[\"timely\", \"slow\"]", "[]", (6, 11), &["no scheme", "such as [\"timely\"]"]),
        ("\"slow\"]", "\"timely\"]", (6, 22), &["\"timely\" is there twice"]),
        (
            "\"1500B\"",
            "\"100B\"",
            (27, 11),
            &["transport.segment of 64KB has 1067 packets", "7.68KB or less", "larger mtu"],
        ),
        (
            "\"64KB\"",
            "\"1MB\"",
            (27, 11),
            &["transport.segment of 1MB has 685 packets", "186.88KB or less", "larger mtu"],
        ),
        (
            "\"1500B\"\nheader = \"40B\"",
            "\"64B\"\nheader = \"64B\"",
            (29, 10),
            &["64B", "MTU of 64B"],
        ),
        ("\"64KB\"", "\"64KB\"\nrto_min = \"2s\"", (28, 11), &["rto_min of 2s", "rto_max of 1s"]),
        ("buffer = \"1MB\"", "buffer = \"1000B\"", (20, 10), &["buffer of 1KB", "1.5KB"]),
        ("buffer = \"1MB\"", "buffer = \"20KB\"", (20, 10), &["headroom", "20KB", "larger"]),
        ("buffer = \"1MB\"", "queue_limit = \"10MB\"", (20, 15), &["10MB", "9MB"]),
        ("to = \"client0\"", "to = \"server\"", (40, 6), &["\"server\"", "itself", "another host"]),
        ("start = \"2ms\"", "start = \"10ms\"", (42, 9), &["10ms", "end at 10ms"]),
        ("message = \"1MB\"", "count = 5", (41, 9), &["set the size of a message"]),
        ("name = \"server\"", "name = \"client2\"", (15, 8), &["\"client2\"", "rename"]),
        ("name = \"server\"", "name = \"client\"", (15, 8), &["\"client\"", "rename"]),
        ("name = \"server\"", "name = \"a b\"", (15, 8), &["\"a b\"", "expected a letter"]),
        ("name = \"server\"", "name = \"\"", (15, 8), &["\"\" is no name", "expected a letter"]),
        ("connections = 2", "connections = 0", (35, 15), &["0 connections", "expected 1 to"]),
        (
            "connections = 2",
            "connections = 4000000000",
            (35, 15),
            &["16000000000", "1 to 1000000000"],
        ),
        ("connections = 2", "connections = -2", (35, 15), &["-2 is out of range"]),
        ("count = 4", "count = 0", (10, 9), &["0 hosts", "expected 1 to 60000"]),
        ("count = 4", "count = 200000", (10, 9), &["200000 hosts", "expected 1 to 60000"]),
        ("count = 4", "count = 1.5", (10, 9), &["1.5 is a number; expected a whole number"]),
    ]);
}

#[test]
fn toml_that_is_none_has_its_place() {
    check(&[
        ("\"10ms\"", "10ms", (4, 12), &["quoted"]),
        ("\"10ms\"", "\"10ms", (4, 17), &["string", "expected `\"`"]),
        ("[switch]", "[switch", (19, 8), &["unclosed", "expected `]`"]),
        ("[switch]", "[run]", (19, 2), &["duplicate"]),
        (
            "title = \"two groups\"",
            "title = 1",
            (1, 9),
            &["1 is a whole number", "expected a text in quotes"],
        ),
        ("title = \"two groups\"", "", (1, 1), &["missing field `title`"]),
        ("duration = \"10ms\"", "", (3, 1), &["missing field `duration`"]),
        (
            "[\"timely\", \"slow\"]",
            "\"timely\"",
            (6, 11),
            &["\"timely\" is a text; expected a list"],
        ),
        ("enabled = true", "enabled = \"yes\"", (23, 11), &["\"yes\"", "expected true or false"]),
        // Columns count characters, not bytes.
        ("warmup = \"1ms\"", "\"\u{b5}\" = 1", (5, 1), &["\"\u{b5}\""]),
        ("to = \"client0\"", "operation = \"\u{e4}\u{f6}\", x = 1", (40, 17), &[]),
    ]);
    for text in ["", "\n\n", "[", "=", "\0", "title", "a.b.c = [[[["] {
        let error = Document::parse(text.to_owned(), "bad.toml").unwrap_err().to_string();
        assert!(error.starts_with("bad.toml:") && is_one_line(&error), "{text:?}: {error}");
    }
}

// What follows is apart because each was found wrong by this file at first.

#[test]
fn two_kinds_of_network_are_named() {
    check(&[
        (
            "[[network.star.hosts]]\nname = \"server\"",
            "[[network.ring.hosts]]\nname = \"server\"",
            (14, 11),
            &["\"ring\"", "star", "dumbbell"],
        ),
        (
            "[switch]",
            "[network.dumbbell.bottleneck]\nrate = \"1Gbps\"\ndelay = \"1us\"\n[switch]",
            (19, 10),
            &["dumbbell", "star"],
        ),
    ]);
}

#[test]
fn parameters_in_conflict_are_shown_with_their_values() {
    // Its place is the value in the file; t_low has the preset's, 50 us.
    check(&[("beta = 0.5", "t_high = \"1us\"", (47, 10), &["t_low", "t_high", "50us", "1us"])]);
}

#[test]
fn a_count_of_zero_is_called_zero() {
    // Eight connections, eight messages and four hosts came before: the sum is not what is wrong.
    check(&[
        ("start = \"2ms\"", "count = 0", (42, 9), &["0 messages"]),
        ("start = \"2ms\"", "connections = 0", (42, 15), &["0 connections"]),
        ("name = \"server\"", "name = \"server\"\ncount = 0", (16, 9), &["0 hosts"]),
    ]);
}

#[test]
fn a_late_start_is_found_where_it_stands_and_has_a_remedy() {
    check(&[
        ("start = \"2ms\"", "start_spread = \"9s\"", (42, 16), &["9s", "end at 10ms"]),
        ("start = \"2ms\"", "start = \"1s\"", (42, 9), &["1s", "end at 10ms", "earlier"]),
    ]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    for path in ["/nonexistent/scenario.toml", env!("CARGO_MANIFEST_DIR")] {
        let error = Document::load(Path::new(path)).unwrap_err();
        assert!(matches!(error, ScenarioError::Unreadable { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("cannot read {path}: ")) && is_one_line(&text), "{text}");
    }
}

#[test]
fn schemes_from_outside_are_checked_too() {
    let document = Document::parse(GOOD.to_owned(), "good.toml").unwrap();
    for (scheme, says) in [
        ("timley", "unknown algorithm \"timley\"; did you mean \"timely\"?"),
        ("slwo", "unknown algorithm \"slwo\"; did you mean \"slow\"?"),
        ("xxxxxx", "unknown algorithm \"xxxxxx\"; expected one of timely, "),
        ("timely:zhuu", "unknown preset \"zhuu\" of timely; did you mean \"zhu\"?"),
        ("timely:", "unknown preset \"\" of timely; expected one of authors-snippet, zhu, erpc"),
        ("", "unknown algorithm \"\"; expected one of"),
        (
            "timely[t_high=100us",
            "timely[t_high=100us: \"[\" without \"]\"; expected such as timely[",
        ),
        ("timely]", "timely]: \"]\" without \"[\"; expected such as timely["),
        ("timely[beta=0.5]x", "timely[beta=0.5]x: \"x\" behind the brackets; expected such as"),
        ("timely[]", "timely[]: \"\" is not PARAMETER=VALUE; expected such as timely["),
        ("timely[beta]", "timely[beta]: \"beta\" is not PARAMETER=VALUE; expected such as"),
        ("timely[beta=0.5,beta=0.6]", "timely[beta=0.5,beta=0.6]: beta is set twice; set it once"),
        ("timely[t_hgh=1us]", "unknown parameter \"t_hgh\" of timely; did you mean \"t_high\"?"),
        ("timely[beta=much]", "beta = \"much\" "),
        ("timely[noise=1us]", "noise is no parameter of timely; expected one in brackets"),
        ("timley[beta=0.5]", "unknown algorithm \"timley\"; did you mean \"timely\"?"),
        ("timely:zhuu[beta=0.5]", "unknown preset \"zhuu\" of timely; did you mean \"zhu\"?"),
    ] {
        let error = document.scenario().scheme(scheme).unwrap_err().to_string();
        assert!(error.starts_with(says) && is_one_line(&error), "{scheme:?}: {error}");
    }
}

#[test]
fn brackets_set_parameters_of_one_scheme() {
    let document = Document::parse(GOOD.to_owned(), "good.toml").unwrap();
    let set = document.with_set(&["cc.timely.beta=0.5", "cc.timely.t_high=100us"]).unwrap();
    let scheme = |document: &Document, name| document.scenario().scheme(name).unwrap();
    let expected = scheme(&set, "timely");
    for name in ["timely[beta=0.5,t_high=100us]", " timely[ t_high = 100us, beta = 0.5 ]"] {
        assert_eq!(scheme(&document, name), expected, "{name}");
    }
    // On top of the scheme's own section, and only there.
    assert_eq!(scheme(&set, "timely[t_high=100us]"), expected);
    assert_ne!(scheme(&set, "timely[t_high=200us]"), expected);
    assert_ne!(scheme(&document, "timely"), expected);
    // A preset, and a scheme that the scenario names.
    let text = format!("{GOOD}\n[cc.\"timely:zhu\"]\nbeta = 0.7\n");
    let named = Document::parse(text, "good.toml").unwrap();
    assert_eq!(scheme(&named, "timely:zhu[beta=0.7]"), scheme(&named, "timely:zhu"));
    let in_run = document.with_set(&["run.schemes=[\"timely[beta=0.5]\", \"timely\"]"]).unwrap();
    assert_eq!(in_run.scenario().run.schemes[0], "timely[beta=0.5]");
    let wrong = document.with_set(&["run.schemes=[\"timely[bta=0.5]\"]"]).unwrap_err();
    assert!(wrong.to_string().contains("unknown parameter \"bta\" of timely"), "{wrong}");
    let text = format!("{GOOD}\n[cc.\"timely[beta=0.5]\"]\nbeta = 0.7\n");
    let wrong = Document::parse(text, "good.toml").unwrap_err().to_string();
    assert!(wrong.contains("brackets in the name of a section; expected such as"), "{wrong}");
}

#[test]
fn assignments_of_nonsense_are_refused_with_the_assignment() {
    let document = Document::parse(GOOD.to_owned(), "good.toml").unwrap();
    let wrong: Vec<_> = [
        ("run.duration", "expected KEY=VALUE"),
        ("=5", "expected KEY=VALUE"),
        ("run.=5", "expected KEY=VALUE"),
        ("", "expected KEY=VALUE"),
        ("run.durtion=5ms", "unknown field \"durtion\"; did you mean \"duration\"?"),
        ("run..x=5", "unknown field \"\""),
        ("a b=c", "unknown field \"a b\"; expected one of title,"),
        ("run.duration=5", "\"5\" has no unit"),
        ("run.duration=", "\"\" is not a number"),
        ("run.duration=5ms=6ms", "\"5ms=6ms\" has the wrong unit"),
        ("run.warmup=1s", "set run.warmup to less than 10ms, or run.duration to more"),
        ("title.x=2", "title is a value"),
        ("traffic.7.connections=2", "expected traffic.N with N from 0 to 1"),
        ("traffic.x.connections=2", "expected traffic.N with N from 0 to 1"),
        ("traffic.0=2", "2 is a whole number; expected a table"),
        ("traffic=2", "2 is a whole number; expected a list"),
        ("network.star.hosts.0.rate=0Gbps", "\"0Gbps\" is out of range; expected 1Mbps to"),
        ("transport.segment=[", "\"[\" is not a number"),
        ("transport.nic=segment", "unknown word \"segment\"; did you mean \"segments\"?"),
        ("transport.nic=spt", "unknown word \"spt\"; did you mean \"srpt\"?"),
        (
            "transport.segment=1MB",
            "transport.segment of 1MB has 685 packets at transport.mtu of 1.5KB, more than 128; \
             set segment to 186.88KB or less, or a larger mtu",
        ),
        ("transport.mtu=256B", "segment of 64KB has 297 packets at transport.mtu of 256B"),
        ("cc.slow.beta=99", "beta = \"99\" is out of range; expected 0 to 1"),
        ("cc.slow.algorithm=tmely", "unknown algorithm \"tmely\"; did you mean \"timely\"?"),
    ]
    .iter()
    .filter_map(|(assignment, says)| match document.with_set(&[assignment]) {
        Ok(_) => Some(format!("{assignment:?}: accepted")),
        Err(error) => {
            let text = error.to_string();
            let good = text.starts_with(&format!("{assignment}: "))
                && text.contains(says)
                && is_one_line(&text);
            (!good).then(|| format!("{assignment:?}: {text}"))
        }
    })
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_assignment_of_several_lines_is_an_error_of_one() {
    let document = Document::parse(GOOD.to_owned(), "good.toml").unwrap();
    for assignment in ["run.duration=5\n6", "x\ny", "run.\n=1"] {
        let error = document.with_set(&[assignment]).unwrap_err().to_string();
        assert!(is_one_line(&error), "{error:?}");
    }
}

#[test]
fn assignments_are_judged_together() {
    let document = Document::parse(GOOD.to_owned(), "good.toml").unwrap();
    // Each alone is wrong: a warm-up longer than the run.
    let set = ["run.warmup=20ms", "run.duration=50ms"];
    assert!(document.with_set(&set[..1]).is_err());
    for set in [set, [set[1], set[0]]] {
        assert_eq!(document.with_set(&set).unwrap().scenario().run.warmup, Span::from_ms(20));
    }
}

#[test]
fn an_error_names_the_assignments_that_it_takes() {
    let document = Document::parse(GOOD.to_owned(), "good.toml").unwrap();
    let blamed = |set: &[&str]| document.with_set(set).unwrap_err().to_string();
    for (set, culprits) in [
        (&["run.duration=9ms", "run.warmup=1sec", "run.seed=3"][..], "run.warmup=1sec"),
        (&["run.seed=3", "run.durtion=5ms"], "run.durtion=5ms"),
        // Wrong in two ways, of which the first is told.
        (&["transport.segment=1MB", "run.warmup=1sec", "run.seed=3"], "run.warmup=1sec"),
        // Each of the two alone is right.
        (&["run.warmup=8ms", "run.seed=3", "run.duration=7ms"], "run.warmup=8ms, run.duration=7ms"),
        // Without the first, the second is wrong: it is blamed for nothing else.
        (&["run.duration=50ms", "run.warmup=20ms", "cc.slow.beta=99"], "cc.slow.beta=99"),
    ] {
        let text = blamed(set);
        assert!(text.starts_with(&format!("{culprits}: ")), "{set:?}: {text}");
    }
}
