//! Mistakes in the switches and traffic classes of a scenario: each error names place and remedy.

use incast_sim::scenario::Document;

use crate::common::mistakes::{self, Case};

/// Two classes besides that of ACKs, PFC off.
const GOOD: &str = r#"title = "classes"

[run]
duration = "10ms"
schemes = ["timely"]

[[network.star.hosts]]
name = "host"
count = 3
rate = "10Gbps"
delay = "2us"

[[class]]
name = "bulk"
weight = 2

[[class]]
name = "urgent"

[switch]
buffer = "1MB"

[[traffic]]
kind = "connections"
from = "host"
to = "host0"
"#;

fn check(cases: &[Case]) {
    mistakes::check(GOOD, str::to_owned, cases);
}

#[test]
fn classes_have_names_of_their_own() {
    check(&[
        ("\"urgent\"", "\"bulk\"", (18, 8), &["\"bulk\" is there twice", "rename"]),
        ("\"urgent\"", "\" \"", (18, 8), &["without a name", "such as \"bulk\""]),
        ("\"urgent\"", "\"ack\"", (18, 8), &["transport.ack_priority adds", "\"ack\"", "false"]),
        ("name = \"bulk\"\n", "", (13, 1), &["name"]),
        ("weight = 2", "wieght = 2", (15, 1), &["\"wieght\"", "mean \"weight\""]),
    ]);
    let named = GOOD.replace("\"urgent\"", "\"ack\"") + "[transport]\nack_priority = false";
    assert!(Document::parse(named, "good.toml").is_ok(), "nothing adds another");
}

#[test]
fn a_buffer_is_not_larger_than_its_books_can_count() {
    check(&[("\"1MB\"", "\"4294967296B\"", (21, 10), &["4.29GB", "make it smaller"])]);
    let largest = GOOD.replace("\"1MB\"", "\"4294967295B\"");
    assert!(Document::parse(largest, "good.toml").is_ok());
}

#[test]
fn there_are_eight_classes_at_most() {
    let more = |count: usize, rest: &str| {
        let classes: Vec<_> = (0..count).map(|i| format!("[[class]]\nname = \"c{i}\"\n")).collect();
        let classes = classes.concat();
        Document::parse(format!("{GOOD}{classes}{rest}"), "f").map_err(|error| error.to_string())
    };
    assert!(more(5, "").is_ok(), "seven and that of ACKs");
    let error = more(6, "").unwrap_err();
    // The added ones start at line 27, two lines each; the sixth of them is the eighth in all.
    assert!(
        error.starts_with("f:37:1: 8 classes are too many; expected at most 7 besides"),
        "{error}"
    );
    assert!(more(6, "[transport]\nack_priority = false").is_ok());
    let error = more(7, "[transport]\nack_priority = false").unwrap_err();
    assert!(error.contains("9 classes are too many; expected at most 8"), "{error}");
}

#[test]
fn weights_are_whole_numbers_above_zero() {
    check(&[
        ("weight = 2", "weight = 0", (15, 10), &["0 is out of range", "1 to 1000"]),
        ("weight = 2", "weight = 1001", (15, 10), &["1001 is out of range", "1 to 1000"]),
        ("weight = 2", "weight = -1", (15, 10), &["-1"]),
        ("weight = 2", "weight = 0.5", (15, 10), &["0.5"]),
    ]);
}

#[test]
fn limits_hold_a_packet_and_fit_the_buffer() {
    check(&[
        ("buffer = \"1MB\"", "queue_limit = \"10MB\"", (21, 15), &["10MB does not fit", "9MB"]),
        ("buffer = \"1MB\"", "port_limit = \"10MB\"", (21, 14), &["10MB does not fit", "9MB"]),
        (
            "buffer = \"1MB\"",
            "queue_limit = \"1KB\"",
            (21, 15),
            &["1KB drops every packet", "1.5KB"],
        ),
        (
            "buffer = \"1MB\"",
            "port_limit = \"1KB\"",
            (21, 14),
            &["1KB drops every packet", "1.5KB"],
        ),
        ("weight = 2", "queue_limit = \"2MB\"", (15, 15), &["2MB does not fit", "1MB"]),
        ("weight = 2", "queue_limit = \"1KB\"", (15, 15), &["1KB drops every packet", "larger"]),
    ]);
}

#[test]
fn a_bucket_has_tokens_for_every_packet() {
    check(&[
        (
            "buffer = \"1MB\"",
            "burst = \"1KB\"",
            (21, 9),
            &["1KB", "switch", "10Gbps", "never has the tokens for a packet of 1.5KB", "larger"],
        ),
        (
            "buffer = \"1MB\"",
            "burst_time = \"1us\"",
            (21, 14),
            &["1.25KB", "never has the tokens for a packet of 1.5KB", "larger"],
        ),
        (
            "buffer = \"1MB\"",
            "burst = \"2000MB\"",
            (21, 9),
            &["2GB", "is more than 1GB", "make it smaller"],
        ),
        ("buffer = \"1MB\"", "burst = \"0B\"", (21, 9), &["0", "expected"]),
        ("buffer = \"1MB\"", "bursts = \"9KB\"", (21, 1), &["\"bursts\"", "mean \"burst\""]),
    ]);
    let good = GOOD.replace("buffer = \"1MB\"", "burst = \"1500B\"");
    assert!(Document::parse(good, "good.toml").is_ok(), "one packet");
}

#[test]
fn settings_that_would_say_nothing_are_refused() {
    check(&[
        (
            "weight = 2",
            "queue_limit = \"100KB\"\nalpha = 2",
            (16, 9),
            &["\"bulk\" has a queue_limit and an alpha", "take one out"],
        ),
        ("weight = 2", "pfc = true", (15, 7), &["PFC is off", "\"bulk\"", "switch.pfc.enabled"]),
        (
            "weight = 2",
            "alpha = 2\n[switch.pfc]\nenabled = true\n[[class]]\nname = \"free\"",
            (15, 9),
            &["PFC protects class \"bulk\"", "pfc to false"],
        ),
        (
            "buffer = \"1MB\"",
            "ecn_threshold = \"100KB\"\naqm = { kind = \"codel\" }",
            (22, 7),
            &["[switch] has an ecn_threshold and an aqm", "take one out"],
        ),
        (
            "weight = 2",
            "ecn_threshold = \"100KB\"\naqm = { kind = \"codel\" }",
            (16, 7),
            &["class \"bulk\" has an ecn_threshold and an aqm", "take one out"],
        ),
        (
            "buffer = \"1MB\"",
            "ecn_scope = \"port\"",
            (21, 13),
            &["ecn_scope = \"port\" has no threshold", "switch.ecn_threshold"],
        ),
        (
            "buffer = \"1MB\"",
            "ecn_at = \"departure\"",
            (21, 10),
            &["ecn_at = \"departure\" has no threshold", "set switch.ecn_threshold"],
        ),
        (
            "weight = 2",
            "ecn_at = \"departure\"",
            (15, 10),
            &["class \"bulk\" has no threshold", "ecn_at", "give it an ecn_threshold"],
        ),
        (
            "weight = 2",
            "ecn_threshold = \"9KB\"\necn_at = \"depart\"",
            (16, 10),
            &["unknown word \"depart\"", "mean \"departure\""],
        ),
        (
            "weight = 2",
            "aqm = { kind = \"phantom\" }",
            (15, 7),
            &["phantom queue", "whole port", "[switch.aqm]"],
        ),
    ]);
}

#[test]
fn mistakes_in_the_queue_management_of_a_class_are_found_where_they_are() {
    check(&[
        (
            "weight = 2",
            "aqm = { kind = \"cdel\" }",
            (15, 16),
            &["unknown kind \"cdel\"", "mean \"codel\""],
        ),
        (
            "weight = 2",
            "aqm = { kind = \"codel\", targt = \"1ms\" }",
            (15, 25),
            &["\"targt\"", "mean \"target\""],
        ),
        (
            "weight = 2",
            "aqm = { kind = \"red\", min = \"9KB\", max = \"8KB\" }",
            (15, 29),
            &["min = 9KB is above max = 8KB"],
        ),
        (
            "weight = 2",
            "aqm = { kind = \"red\", min = \"1KB\", max = \"8KB\", at = \"departure\" }",
            (15, 54),
            &["at = \"departure\" only marks", "set drop = false"],
        ),
        (
            "weight = 2",
            "aqm = { target = \"1ms\" }",
            (15, 7),
            &["no kind", "expected one of", "codel"],
        ),
    ]);
}

#[test]
fn mistakes_in_a_discipline_are_found_where_they_are() {
    check(&[
        (
            "buffer = \"1MB\"",
            "discipline = \"srtp\"",
            (21, 14),
            &["unknown word \"srtp\"", "mean \"srpt\""],
        ),
        (
            "weight = 2",
            "discipline = { kind = \"srpt\", size = 3 }",
            (15, 31),
            &["unknown field \"size\""],
        ),
        (
            "weight = 2",
            "discipline = \"srpt\"\naqm = { kind = \"codel\" }",
            (15, 14),
            &["(codel)", "in the order in which they came", "srpt", "take one out"],
        ),
        (
            "buffer = \"1MB\"",
            "discipline = \"srpt\"\naqm = { kind = \"pie\" }",
            (13, 1),
            &["(pie)", "in the order in which they came", "srpt", "take one out"],
        ),
    ]);
    check(&[
        (
            "weight = 2",
            "discipline = { kind = \"trim\", class = \"urgnt\" }",
            (15, 39),
            &["unknown class \"urgnt\"", "mean \"urgent\""],
        ),
        (
            "weight = 2",
            "discipline = { kind = \"trim\", class = \"bulk\" }",
            (15, 39),
            &["class \"bulk\" would stay in that class", "name another one", "\"fifo\""],
        ),
        (
            "buffer = \"1MB\"",
            "discipline = \"trim\"\n[transport]\nack_priority = false",
            (21, 14),
            &["class \"urgent\" would stay", "\"fifo\""],
        ),
        (
            "buffer = \"1MB\"",
            "discipline = \"trim\"\npfc = { enabled = true }",
            (21, 14),
            &["PFC protects class \"bulk\"", "no packet of it is cut", "\"fifo\""],
        ),
    ]);
    let trim = GOOD.replace("buffer = \"1MB\"", "discipline = \"trim\"\naqm = { kind = \"pie\" }");
    assert!(
        Document::parse(trim, "good.toml").is_ok(),
        "it keeps the order, and ACKs have a class"
    );
    let phantom = "discipline = \"srpt\"\naqm = { kind = \"phantom\" }";
    let phantom = GOOD.replace("buffer = \"1MB\"", phantom);
    assert!(Document::parse(phantom, "good.toml").is_ok(), "it judges no order");
}

#[test]
fn watchdogs_have_patience_and_an_action() {
    let pfc =
        |rest: &str| format!("buffer = \"1MB\"\n[switch.pfc]\nenabled = true\nwatchdog = {rest}");
    let error = |rest: &str| {
        let text = GOOD.replace("buffer = \"1MB\"", &pfc(rest));
        Document::parse(text, "f").map(|_| ()).unwrap_err().to_string()
    };
    let after = error("{ after = \"0us\" }");
    assert!(after.starts_with("f:24:22: \"0us\" is out of range; expected 1us"), "{after}");
    let action = error("{ action = \"dorp\" }");
    assert!(
        action.starts_with("f:24:23: unknown word \"dorp\"; did you mean \"drop\"?"),
        "{action}"
    );
}

#[test]
fn headroom_of_every_protected_class_must_fit() {
    // Three ports with 4 us and three packets each keep 10 Gb/s * 4 us + 3 * 1,500 B + 64 B for
    // each class that is protected, some 9.6 KB: 28.9 KB with one class, 57.9 KB with two.
    let with = |rest: &str| {
        let pfc = format!("buffer = \"40KB\"\n[switch.pfc]\nenabled = true\n{rest}");
        let text = GOOD.replace("buffer = \"1MB\"", &pfc).replace("weight = 2", "");
        Document::parse(text, "f").map_err(|error| error.to_string())
    };
    let error = with("").map(|_| ()).unwrap_err();
    assert!(error.contains("switch's 3 ports and 2 classes takes 57"), "{error}");
    assert!(error.contains("make the buffer larger"), "{error}");
    assert!(with("[[class]]\nname = \"free\"\npfc = false").is_err(), "the others still do not");
    let one = GOOD
        .replace("weight = 2", "pfc = false")
        .replace("buffer = \"1MB\"", "buffer = \"40KB\"\n[switch.pfc]\nenabled = true");
    assert!(Document::parse(one, "f").is_ok());
}

#[test]
fn feedback_is_of_a_kind_and_has_values_that_do_something() {
    check(&[
        ("[[traffic]]", "[switch.feedback.d4]\n\n[[traffic]]", (23, 18), &["\"d4\"", "d3"]),
        (
            "[[traffic]]",
            "[switch.feedback.d3]\ndrain = 11\n\n[[traffic]]",
            (24, 9),
            &["drain = 11 is out of range", "0 to 10"],
        ),
        (
            "[[traffic]]",
            "[switch.feedback.vcp]\ninterval = \"1us\"\n\n[[traffic]]",
            (24, 12),
            &["interval = 1us is too short", "20us or more"],
        ),
    ]);
}

#[test]
fn algorithms_that_switches_answer_name_the_table_that_is_missing() {
    let lacks = |name: &str, added: &str| {
        let document = Document::parse(format!("{GOOD}\n{added}"), "good.toml").unwrap();
        let scenario = document.scenario();
        scenario.unmet_needs(name, &scenario.scheme(name).unwrap())
    };
    for name in ["d3", "rcp", "vcp"] {
        let expected = format!(
            "{name} needs answers of switches, but no port speaks {name}; add a table \
             [switch.feedback.{name}]"
        );
        let says = |added: &str| {
            let mut sentences = lacks(name, added);
            sentences.retain(|sentence| !sentence.contains("needs deadlines"));
            sentences
        };
        assert_eq!(says(""), [expected]);
        assert!(says(&format!("[switch.feedback.{name}]")).is_empty());
    }
    let differs = "vcp:datacenter grows by intervals of 1ms, but ports measure their load over \
                   200ms; set switch.feedback.vcp.interval to \"1ms\"";
    assert_eq!(lacks("vcp:datacenter", "[switch.feedback.vcp]"), [differs]);
    let same = "[switch.feedback.vcp]\ninterval = \"1ms\"";
    assert!(lacks("vcp:datacenter", same).is_empty());
    assert!(lacks("hpcc", "[switch.feedback.int]").is_empty());
    let sentences = lacks("hull", "");
    let phantom = "hull needs phantom queues, but no switch has one; set switch.aqm to { kind = \
                   \"phantom\" }";
    assert!(sentences.iter().any(|sentence| sentence == phantom), "{sentences:?}");
    assert!(lacks("hull", "[switch.aqm]\nkind = \"phantom\"").is_empty());
}
