//! Queue disciplines of switches: who goes first, who is dropped, and what becomes of the others.

use std::collections::BTreeMap;

use incast_sim::{Report, TraceConfig};

use crate::common::{counts, numbers, port, run, run_traced, run_with, shipped, table, texts};

/// Hosts of 10 Gb/s and 1 us per link, called `host0` and so on. The first three send 1 MB each to
/// the last at time zero, the fourth sends 20 KB after 200 us.
fn incast(switch: &str, rest: &str) -> String {
    format!(
        r#"
        title = "short after long"
        [run]
        duration = "20ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "host"
        count = 5
        rate = "10Gbps"
        delay = "1us"
        [switch]
        {switch}
        [transport]
        {rest}
        [[traffic]]
        kind = "connections"
        name = "long"
        from = "host[0-2]"
        to = "host4"
        message = "1MB"
        count = 1
        [[traffic]]
        kind = "connections"
        name = "short"
        from = "host3"
        to = "host4"
        message = "20KB"
        count = 1
        start = "200us"
        "#
    )
}

/// Completion times of the messages of some traffic, all of which must have been delivered.
fn completions(report: &Report, traffic: &str) -> Vec<f64> {
    let times = numbers(report, "messages", "completion_us");
    let of = texts(report, "messages", "traffic").iter().zip(times);
    let of: Vec<_> = of.filter(|(name, _)| *name == traffic).map(|(_, &time)| time).collect();
    assert!(of.iter().all(|time| time.is_finite()), "{traffic}: {of:?}");
    of
}

fn short(report: &Report) -> f64 {
    completions(report, "short")[0]
}

fn retransmissions(report: &Report) -> u64 {
    counts(report, "flows", "retransmissions").iter().sum()
}

/// A packet of 1,500 B on a link of 10 Gb/s.
const PACKET_US: f64 = 1.2;

#[test]
fn a_short_message_passes_long_ones_but_for_the_packet_that_is_being_sent() {
    for transport in ["", "kind = \"stream\""] {
        let text = |discipline: &str| incast(&format!("discipline = {discipline}"), transport);
        let alone = text("\"srpt\"").replace("\"1MB\"", "\"1KB\"");
        let alone = short(&run(&alone));
        let [fifo, srpt] = ["\"fifo\"", "{ kind = \"srpt\" }"].map(|kind| run(&text(kind)));
        // Three hosts at line rate leave two thirds of 200 us of the link in the queue. On streams
        // they begin with a window; what waits then is less.
        let queue = if transport.is_empty() { 300.0 } else { 10.0 };
        assert!(short(&fifo) > alone + queue, "{} {alone}", short(&fifo));
        let waits = short(&srpt) - alone;
        assert!((0.0..PACKET_US + 0.1).contains(&waits), "{waits} us, {transport}");
        assert_eq!(srpt.summary.drops, 0);
        if transport.is_empty() {
            // Packets of one flow stay in order: nothing looks lost. Streams that wait send probes.
            assert_eq!(retransmissions(&srpt), 0);
        }
    }
}

#[test]
fn of_equal_messages_the_first_to_get_ahead_is_served_first() {
    // 685 packets of a message take 822.8 us. First in first out, all three take three times as
    // long, but for a segment. Here an ACK gives one of them the lead, which it keeps.
    let [fifo, srpt] = ["fifo", "srpt"].map(|kind| {
        let report = run(&incast(&format!("discipline = \"{kind}\""), ""));
        let mut long = completions(&report, "long");
        long.sort_by(f64::total_cmp);
        long
    });
    assert!(fifo[0] > 2_300.0 && srpt[0] < 1_000.0, "{fifo:?} {srpt:?}");
    // The link is never idle, so the last one is done at the same time.
    assert!((fifo[2] - srpt[2]).abs() < PACKET_US, "{fifo:?} {srpt:?}");
}

#[test]
fn a_full_queue_drops_of_the_longest_and_the_short_one_loses_nothing() {
    let limited = |discipline: &str| {
        let switch = format!("discipline = \"{discipline}\"\nqueue_limit = \"36KB\"");
        run(&incast(&switch, "rto_min = \"45us\"\nrto_max = \"100us\""))
    };
    let srpt = limited("srpt");
    let row = port(&srpt, "switch->host4");
    let [all, limit] = ["drops", "drops_limit"].map(|column| counts(&srpt, "queues", column)[row]);
    assert!(all > 100 && all == limit, "{all} drops, {limit} by the limit");
    let of_short = texts(&srpt, "flows", "source").iter().position(|name| name == "host3");
    assert_eq!(counts(&srpt, "flows", "retransmissions")[of_short.unwrap()], 0);
    let alone = short(&run(&incast("discipline = \"srpt\"", "").replace("\"1MB\"", "\"1KB\"")));
    assert!(short(&srpt) < alone + PACKET_US + 0.1, "{} {alone}", short(&srpt));
    assert!(short(&limited("fifo")) > 2.0 * alone);
    assert_eq!(completions(&srpt, "long").len(), 3, "drops are repaired");
}

/// Twenty hosts send 30 KB each to another one at time zero.
fn incast_of_twenty(switch: &str) -> String {
    let text = incast(switch, "rto_initial = \"1ms\"\nrto_min = \"1ms\"");
    let text = text.replace("\"1MB\"", "\"30KB\"");
    let text = text.replace("host[0-2]", "host[0-18]").replace("count = 5", "count = 21");
    let text = text.replace("\"host3\"", "\"host19\"").replace("\"host4\"", "\"host20\"");
    text.replace("\"20KB\"", "\"30KB\"").replace("\"200us\"", "\"0us\"")
}

#[test]
fn an_incast_that_is_trimmed_loses_no_packet_and_sends_each_that_was_cut_again_once() {
    let last = |report: &Report| {
        let all = ["long", "short"].into_iter().flat_map(|name| completions(report, name));
        all.fold(0.0, f64::max)
    };
    let run = |discipline: &str| {
        let switch = format!("discipline = {discipline}\nqueue_limit = \"36KB\"");
        run_traced(&incast_of_twenty(&switch))
    };
    let fifo = run("\"fifo\"");
    assert!(fifo.summary.drops > 100, "or it shows nothing");
    for discipline in ["\"trim\"", "{ kind = \"trim\", class = \"ack\" }"] {
        let trim = run(discipline);
        let trims = counts(&trim, "queues", "trims")[port(&trim, "switch->host20")];
        assert!(trims > 100, "or it shows nothing: {trims}");
        assert_eq!((trim.summary.drops, retransmissions(&trim)), (0, trims));
        // The link of the receiver is never idle: it has 21 packets of each host, and the headers.
        let busy = 20.0 * 21.0 * PACKET_US + trims as f64 * 0.0512;
        let (trimmed, dropped) = (last(&trim), last(&fifo));
        assert!(trimmed < busy + 10.0 && trimmed < dropped, "{trimmed} {busy} {dropped}");
        assert!(trim.books.balance());
        let [events, kinds, places] =
            ["event", "kind", "place"].map(|column| texts(&trim, "trace_packets", column));
        let [flows, sequences, bytes] =
            ["flow", "sequence", "bytes"].map(|column| counts(&trim, "trace_packets", column));
        let (mut sent, mut cut) = (BTreeMap::new(), 0);
        for row in (0..events.len()).filter(|&row| *kinds[row] == *"data") {
            let times = sent.entry((flows[row], sequences[row])).or_insert(0);
            if places[row].starts_with("host") {
                *times += 1;
            } else if *events[row] == *"trimmed" {
                *times -= 1;
                cut += bytes[row] - 64;
            }
        }
        assert_eq!(sent.len(), 20 * 21);
        assert!(sent.values().all(|&times| times == 1), "once, and again for each cut: {sent:?}");
        assert_eq!(cut, trim.books.trimmed_bytes);
    }
    assert!(!table(&fifo, "queues").columns.iter().any(|column| column.name == "trims"));
}

#[test]
fn a_header_without_room_is_lost_as_the_packet_that_it_was() {
    // The class of headers holds one packet, which is 23 headers.
    let classes = "buffer = \"9MB\"\n[[class]]\nname = \"data\"\nqueue_limit = \"36KB\"\n\
        discipline = { kind = \"trim\", class = \"headers\" }\nweight = 99\n\
        [[class]]\nname = \"headers\"\nqueue_limit = \"1500B\"\nweight = 1\n";
    let report = run(&incast(classes, "")
        .replace("kind = \"connections\"", "kind = \"connections\"\n        class = \"data\""));
    let row = port(&report, "switch->host4");
    let [drops, limit, trims] =
        ["drops", "drops_limit", "trims"].map(|column| counts(&report, "queues", column)[row]);
    assert!(drops > 0 && drops == limit && trims > 0, "{drops} {limit} {trims}");
    assert!(report.books.dropped_bytes > drops * 1_400, "whole packets");
    assert!(report.books.balance());
    assert_eq!(completions(&report, "long").len(), 3, "drops are repaired");
}

#[test]
fn streams_lose_what_finds_no_room_since_their_receivers_would_not_use_the_header() {
    let run = |discipline: &str| {
        let switch = format!("discipline = \"{discipline}\"\nqueue_limit = \"36KB\"");
        run(&incast(&switch, "kind = \"stream\"\nack_priority = true"))
    };
    let [fifo, trim] = ["fifo", "trim"].map(run);
    assert!(fifo.summary.drops > 0, "or it shows nothing");
    assert_eq!(format!("{:?}", fifo.summary), format!("{:?}", trim.summary));
    assert_eq!(counts(&trim, "queues", "trims").iter().sum::<u64>(), 0);
}

#[test]
fn pfc_pauses_and_drops_nothing_whatever_the_order() {
    let text = incast("discipline = \"srpt\"\npfc = { enabled = true, xoff = \"30KB\" }", "");
    let report = run(&text);
    assert!(report.summary.pfc_pauses > 10, "or it shows nothing");
    assert_eq!((report.summary.drops, retransmissions(&report)), (0, 0));
    let alone = short(&run(&text.replace("\"1MB\"", "\"1KB\"")));
    assert!(short(&report) < alone + PACKET_US + 0.1, "{} {alone}", short(&report));
    assert_eq!(completions(&report, "long").len(), 3);
}

#[test]
fn classes_with_weights_share_a_port_whatever_their_disciplines() {
    let classes = "[switch.pfc]\nenabled = true\n\
        [[class]]\nname = \"bronze\"\nweight = 1\n\
        [[class]]\nname = \"gold\"\nweight = 3\ndiscipline = \"srpt\"\n";
    let stream = |from: &str, class: &str| {
        format!(
            "[[traffic]]\nkind = \"connections\"\nfrom = \"{from}\"\nto = \"host4\"\nclass = \"{class}\"\n"
        )
    };
    let text = incast("", "");
    let text = text.split("[switch]").next().unwrap();
    let report = run(&format!(
        "{text}{classes}{}{}",
        stream("host0", "bronze"),
        stream("host[1-2]", "gold")
    ));
    let goodput = numbers(&report, "flows", "goodput_gbps");
    let payload = 10.0 * 1_460.0 / 1_500.0;
    assert!((goodput[0] / payload - 0.25).abs() < 0.01, "{goodput:?}");
    assert!(((goodput[1] + goodput[2]) / payload - 0.75).abs() < 0.01, "{goodput:?}");
}

#[test]
fn one_flow_without_drops_is_the_same_in_any_order() {
    let run = |discipline: &str| {
        let text = incast(&format!("discipline = \"{discipline}\"\nbuffer = \"9MB\""), "");
        run(&text.replace("host[0-2]", "host0").replace("\"200us\"", "\"2ms\""))
    };
    let [fifo, srpt] = ["fifo", "srpt"].map(run);
    assert_eq!(completions(&fifo, "long"), completions(&srpt, "long"));
    assert_eq!(completions(&fifo, "short"), completions(&srpt, "short"));
}

#[test]
fn short_messages_beside_an_incast_are_near_their_ideal_as_in_pfabric() {
    let slowdowns = |assignments: &[&str]| {
        let report =
            run_with(&shipped("srpt", assignments), "line-rate", 1, TraceConfig::default());
        let names = texts(&report, "fct", "traffic");
        let of = |traffic: &str, column: &str| {
            let row = names.iter().position(|name| name == traffic).unwrap();
            numbers(&report, "fct", column)[row]
        };
        let short = ["slowdown_mean", "slowdown_p99"].map(|column| of("short", column));
        (short, of("long", "slowdown_mean"))
    };
    let ([mean, p99], long) = slowdowns(&[]);
    assert!(mean < 1.2 && p99 < 2.0, "{mean}, 99th percentile {p99}");
    let deep = ["switch.discipline=fifo", "switch.queue_limit=1MB"];
    let ([mean, _], long_of_fifo) = slowdowns(&deep);
    assert!(mean > 20.0, "{mean}");
    assert!(long < long_of_fifo, "{long} {long_of_fifo}");
    let ([mean, _], _) = slowdowns(&deep[..1]);
    assert!(mean > 50.0, "{mean}");
}
