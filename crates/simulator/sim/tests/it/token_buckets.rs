//! Ports that are token buckets: a burst passes at once, and then the rate, to the packet.

use crate::closed_forms::{HUNDRED, TEN, completions, overload, pair};
use crate::common::{numbers, ps, run, texts};

/// The settings of a switch whose ports have token buckets.
fn bucket(settings: &str) -> String {
    format!("\n[switch]\n{settings}")
}

#[test]
fn a_burst_passes_a_bucket_at_once_and_then_the_rate() {
    // 65,760 B at 100 Gb/s, 80 ps a byte, into 10 Gb/s: with tokens for all of them the last packet
    // of 1,260 B leaves as it comes, at 1 ps a byte.
    let at_once = 65_760 * 80 + 1_000_000 + 1_260 + 5_000_000;
    // With 15,000 B the bucket is full when the first packet comes, and never again: the last one
    // has its tokens when those of the other 50,760 B have come, 800 ps each.
    let then = 120_000 + 1_000_000 + 50_760 * 800 + 1_260 + 5_000_000;
    for (settings, expected) in [
        ("burst = \"70KB\"", at_once),
        ("burst = \"15KB\"", then),
        // 15,000 B at 10 Gb/s are 12 us; a port has the larger of the two.
        ("burst_time = \"12us\"", then),
        ("burst = \"3KB\"\nburst_time = \"12us\"", then),
        ("burst = \"15KB\"\nburst_time = \"2us\"", then),
    ] {
        let report = run(&pair(HUNDRED, TEN, &bucket(settings), "message = \"64KB\""));
        assert_eq!(completions(&report), [expected], "{settings}");
    }
}

#[test]
fn a_packet_waits_for_the_tokens_that_are_missing() {
    // A packet of 1,500 B each us, and 1,250 B of tokens. Of 3,000 B there are 1,500 when the first
    // has left, 250 less with each that follows. The seventh takes the last ones; from the eighth
    // on 250 B more are missing each time, which take 200 ns.
    let traffic = "message = \"1460B\"\ncount = 10\nevery = \"1us\"";
    let report = run(&pair(HUNDRED, TEN, &bucket("burst = \"3KB\""), traffic));
    let waits = [0, 0, 0, 0, 0, 0, 0, 200_000, 400_000, 600_000];
    let expected = waits.map(|wait| 120_000 + 1_000_000 + wait + 1_500 + 5_000_000);
    assert_eq!(completions(&report), expected);
}

#[test]
fn a_bucket_keeps_the_rate_to_the_packet() {
    // 15 Gb/s into 10 Gb/s with 20,000 B of tokens, which are full when the first packets come, at
    // 1.8 us, and never again. Packet k of 1,000 B comes 1.6 us * (k - 1) / 3 later, and has its
    // tokens after 800 ns * (k - 20).
    let report = overload("2ms", "buffer = \"9MB\"\nburst = \"20KB\"");
    let events = texts(&report, "trace_packets", "event");
    let ports = texts(&report, "trace_packets", "place");
    let times = numbers(&report, "trace_packets", "time_us");
    let rows = events.iter().zip(ports).zip(times);
    let sent: Vec<_> = rows
        .filter(|((event, port), _)| *event == "sent" && *port == "switch->server")
        .map(|(_, &us)| ps(us))
        .collect();
    // (20,000 B + 1,998.2 us * 1.25 B/ns) / 1,000 B.
    assert_eq!(sent.len(), 2_517);
    for (k, &at) in (1_u64..).zip(&sent) {
        let (comes, tokens) = ((k - 1) / 3 * 1_600_000, k.saturating_sub(20) * 800_000);
        let expected = 1_800_000 + comes.max(tokens);
        // Packets that come at one instant leave one after the other, 1 ns each.
        assert!((expected..=expected + 3_000).contains(&at), "packet {k}: {at}, {expected}");
    }
    assert_eq!((report.summary.drops, report.books.balance()), (0, true));
}

#[test]
fn pauses_hold_a_burst_without_loss() {
    // A trunk whose port passes 100 KB at once, into a link of a tenth of its rate.
    let report = run(&format!(
        r#"
        title = "a burst through a trunk"
        [run]
        duration = "3ms"
        schemes = ["line-rate"]
        [[network.dumbbell.left]]
        name = "a"
        count = 4
        rate = "10Gbps"
        delay = "1us"
        [[network.dumbbell.right]]
        name = "b"
        rate = "1Gbps"
        delay = "1us"
        [network.dumbbell.bottleneck]
        rate = "10Gbps"
        delay = "7us"
        {}
        buffer = "600KB"
        [switch.pfc]
        enabled = true
        xoff = "10KB"
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b"
        "#,
        bucket("burst = \"100KB\"")
    ));
    assert!(report.summary.pfc_pauses > 10, "{}", report.summary.pfc_pauses);
    assert_eq!((report.summary.drops, report.books.balance()), (0, true));
}
