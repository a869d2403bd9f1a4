//! Algorithms that go by the terms of a message: its size, what it has sent, its deadline; and the
//! one that starts at line rate.

use incast_sim::TraceConfig;

use crate::common::{document, numbers, run_with, texts};

/// Ten hosts of 10 Gb/s, 5 us from the switch, whose ports mark above 97.5 KB.
fn star(switch: &str, traffic: &str) -> String {
    let classes: Vec<_> =
        (0..8).map(|class| format!("[[class]]\nname = \"class{class}\"\n")).collect();
    let classes = classes.concat();
    format!(
        "title = \"terms of messages\"\n[run]\nduration = \"60ms\"\nschemes = [\"dctcp\"]\n\
         [[network.star.hosts]]\nname = \"host\"\ncount = 10\nrate = \"10Gbps\"\ndelay = \"5us\"\n\
         [transport]\nkind = \"stream\"\n[transport.stream]\ndelayed_ack = 1\n\
         [switch]\necn_threshold = \"97.5KB\"\necn_scope = \"port\"\n{switch}\n{classes}{traffic}"
    )
}

/// A message from a host to the last one.
fn message(name: &str, from: u32, size: &str, rest: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"connections\"\nname = \"{name}\"\nfrom = \"host{from}\"\n\
         to = \"host9\"\nmessage = \"{size}\"\n{rest}\n"
    )
}

/// Messages of 20 MB from four hosts.
fn long_messages() -> String {
    (0..4).map(|host| message(&format!("long{host}"), host, "20MB", "")).collect()
}

/// The completion time of a traffic's only message, in milliseconds.
fn completion_ms(text: &str, scheme: &str, traffic: &str) -> f64 {
    let report = run_with(&document(text), scheme, 1, TraceConfig::default());
    let names = texts(&report, "messages", "traffic");
    let place = names.iter().position(|name| *name == traffic).unwrap();
    numbers(&report, "messages", "completion_us")[place] / 1e3
}

#[test]
fn d2tcp_gives_more_to_the_nearer_deadline() {
    // Both take 16 ms at an equal share.
    let near = message("near", 0, "10MB", "deadline = \"11ms\"");
    let text = star("", &(near + &message("far", 1, "10MB", "deadline = \"1s\"")));
    let [near, far] = ["near", "far"].map(|of| completion_ms(&text, "d2tcp", of));
    let equal = completion_ms(&text, "dctcp", "near");
    assert!(near < 0.9 * far && near < 0.95 * equal, "{near} {far} {equal}");
}

#[test]
fn mcp_sends_no_faster_than_the_deadline_asks() {
    let text = star("", &message("alone", 0, "5MB", "deadline = \"40ms\""));
    let [mcp, dctcp] = ["mcp", "dctcp"].map(|scheme| completion_ms(&text, scheme, "alone"));
    assert!(mcp < 40.0 && mcp > 1.5 * dctcp, "{mcp} {dctcp}");
}

#[test]
fn karuna_meets_a_deadline_beside_long_messages() {
    let long = long_messages();
    let text = star("", &(long + &message("due", 5, "2MB", "start = \"5ms\"\ndeadline = \"5ms\"")));
    let [karuna, dctcp] = ["karuna", "dctcp"].map(|scheme| completion_ms(&text, scheme, "due"));
    assert!(karuna < 5.0 && dctcp > 5.0, "{karuna} {dctcp}");
}

#[test]
fn pias_and_pfabric_let_a_short_message_pass_long_ones() {
    let long = long_messages();
    let short = message("short", 5, "100KB", "start = \"10ms\"");
    let text = star("", &(long.clone() + &short));
    let [pias, dctcp] = ["pias", "dctcp"].map(|scheme| completion_ms(&text, scheme, "short"));
    assert!(pias < 0.6 * dctcp, "{pias} {dctcp}");
    let text = star("discipline = \"srpt\"", &(long + &short));
    let pfabric = completion_ms(&text, "pfabric", "short");
    // 100 KB take 0.08 ms at 10 Gb/s, and the way 0.02 ms.
    assert!(pfabric < 0.3, "{pfabric}");
}

#[test]
fn tcp_bolt_starts_at_line_rate() {
    let text = star("pfc = { enabled = true }", &message("alone", 0, "100KB", ""));
    let [bolt, dctcp] = ["tcp-bolt", "dctcp"].map(|scheme| completion_ms(&text, scheme, "alone"));
    assert!(bolt < 0.9 * dctcp, "{bolt} {dctcp}");
}
