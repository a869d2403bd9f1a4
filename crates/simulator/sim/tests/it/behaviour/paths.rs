//! Streams over paths that are long, fast or shared by many: what a timer, a buffer or a first
//! guess of the RTT must not cost.

use incast_sim::Report;

use super::setting::{PAYLOAD_SHARE, assert_in, goodputs, mean, run, with};
use crate::common::{counts, document, numbers};

/// Streams into one port, an ACK for two segments or after 500 us.
const MANY: &str = r#"
    title = "many streams into one port"
    [run]
    duration = "40ms"
    warmup = "20ms"
    schemes = ["swift"]
    [[network.star.hosts]]
    name = "sender"
    count = 100
    rate = "10Gbps"
    delay = "1us"
    [[network.star.hosts]]
    name = "receiver"
    rate = "10Gbps"
    delay = "1us"
    [switch]
    queue_limit = "5MB"
    [transport]
    kind = "stream"
    [[traffic]]
    kind = "connections"
    from = "sender"
    to = "receiver"
    start_spread = "100us"
"#;

/// The share of the port that all flows have, and the least and the mean goodput of one in Gb/s.
fn shares(report: &Report) -> (f64, f64, f64) {
    let flows = numbers(report, "flows", "goodput_gbps");
    let least = flows.iter().copied().fold(f64::INFINITY, f64::min);
    let average = mean(flows.iter().copied());
    (report.summary.throughput_gbps / (10.0 * PAYLOAD_SHARE), least, average)
}

#[test]
fn a_hundred_swift_flows_share_a_port_whatever_the_timer_of_delayed_acks() {
    // Each has a window of less than two packets. An ACK for two of them waits for its timer.
    for (settings, carried, fair) in [
        (&[][..], 0.95, 0.7),
        (&["transport.stream.preset=linux"], 0.95, 0.7),
        (&["transport.stream.delayed_ack=2"], 0.8, 0.2), // which is warned of
    ] {
        let (share, least, average) = shares(&run(&with(MANY, settings), "swift"));
        assert_in(&format!("share of the port with {settings:?}"), share, carried..=1.001);
        assert_in(&format!("least over mean with {settings:?}"), least / average, fair..=1.001);
    }
}

#[test]
fn rtcp_does_not_take_the_timer_of_ns_3_for_congestion() {
    // Twenty flows, 200 ms for a delayed ACK: an RTT of 200 ms would be more than any queue here.
    let settings = [
        "network.star.hosts.0.count=20",
        "transport.stream.delayed_ack_timeout=200ms",
        "run.duration=600ms",
        "run.warmup=300ms",
    ];
    let (share, least, average) = shares(&run(&with(MANY, &settings), "rtcp"));
    assert_in("share of the port", share, 0.9..=1.001);
    assert_in("least over mean", least / average, 0.1..=1.001);
}

/// A stream over links of `rate`, with `delay` each way.
fn long_path(rate: &str, delay: &str, duration: &str, more: &str) -> String {
    format!(
        r#"
        title = "a long path"
        [run]
        duration = "{duration}"
        schemes = ["newreno"]
        [[network.star.hosts]]
        name = "host"
        count = 2
        rate = "{rate}"
        delay = "{delay}"
        [transport]
        kind = "stream"
        {more}
        [[traffic]]
        kind = "connections"
        from = "host0"
        to = "host1"
        "#
    )
}

#[test]
fn a_stream_starts_over_an_rtt_far_above_its_first_timeout() {
    // The first timeout is 16 ms, the most 1 s. Slow start from ten segments of 1,460 B doubles
    // them every round trip: half of 1 Gb/s x 200 ms, 8,560 segments, takes ten, of 1 Gb/s x 1 s
    // twelve and a half.
    for (delay, rtt_s, rounds, duration) in
        [("50ms", 0.2, 12.0, "2500ms"), ("250ms", 1.0, 15.0, "15500ms")]
    {
        let text = long_path("1Gbps", delay, duration, "");
        let interval = format!("run.interval={rtt_s}s");
        for scheme in ["newreno", "cubic"] {
            let report = run(&with(&text, &[&interval]), scheme);
            let half = goodputs(&report, 0).into_iter().find(|&(_, gbps)| gbps > 0.5);
            let (at, _) = half.unwrap_or_else(|| panic!("{scheme} over {rtt_s} s never has half"));
            assert_in(
                &format!("RTTs of {rtt_s} s until half under {scheme}"),
                at / rtt_s,
                5.0..=rounds,
            );
            // The first segment, which the timeouts of the first round trip sent again, and a
            // probe.
            let again = counts(&report, "flows", "retransmissions")[0];
            assert!(again <= 12, "{scheme} over {rtt_s} s: {again} sent again");
        }
    }
}

#[test]
fn buffers_grow_with_the_path_unless_they_are_set() {
    // 400 Gb/s x 1 ms are 50 MB.
    let text = |more| long_path("400Gbps", "250us", "30ms", more);
    let share = |text: &str, scheme| {
        let report = run(&with(text, &["run.warmup=20ms", "transport.mtu=9000B"]), scheme);
        report.summary.throughput_gbps / (400.0 * 8_960.0 / 9_000.0)
    };
    for scheme in ["cubic", "newreno", "line-rate"] {
        assert_in(
            &format!("share of 400 Gb/s under {scheme}"),
            share(&text(""), scheme),
            0.8..=1.001,
        );
    }
    let set = text("[transport.stream]\nsend_buffer = \"4MB\"");
    assert_in("share with 4 MB", share(&set, "cubic"), 0.07..=0.085);
    let warnings = |text: &str| {
        let document = document(text);
        let scheme = document.scenario().scheme("line-rate").unwrap();
        let all = incast_sim::warnings(document.scenario(), "line-rate", &scheme);
        all.into_iter().filter(|text| !text.contains("PFC")).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&text("")), [""; 0]);
    let [warning] = &warnings(&set)[..] else { panic!("one warning") };
    let (first, last) = ("line-rate: a stream from host0 to host1 gets 8.0 % of its share", "51MB");
    assert!(warning.starts_with(first) && warning.contains(last), "{warning}");
    let linux = text("[transport.stream]\npreset = \"linux\"");
    assert!(warnings(&linux)[0].contains("send_buffer = 4194.304KB"), "{:?}", warnings(&linux));
}
