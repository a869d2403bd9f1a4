//! Algorithms that hold a queue, each at a level of its own.

use incast_sim::Report;

use super::setting::{
    PACKET_KB, assert_in, assert_none_stands, between, mean, run, share, steps, streams,
    streams_into_a_shallow_port, with,
};
use crate::common::{completions_us, numbers, port};

/// The mean backlog of the port that all share, in KB.
fn backlog_kb(report: &Report) -> f64 {
    numbers(report, "queues", "mean_kb")[port(report, "switch->receiver")]
}

/// The queue that so many flows of `scheme` hold, which must not cost throughput.
fn queue_of(scheme: &str, flows: u32) -> f64 {
    let report = run(&streams(&[&format!("network.star.hosts.0.count={flows}")]), scheme);
    assert_in(&format!("share of the link of {flows} {scheme}"), share(&report), 0.999..=1.001);
    assert_eq!(report.summary.drops, 0);
    backlog_kb(&report)
}

#[test]
fn vegas_keeps_two_to_four_segments_of_each_flow_in_the_queue() {
    for flows in [1, 2, 4] {
        let each = queue_of("vegas", flows) / PACKET_KB / f64::from(flows);
        assert_in(&format!("packets of each of {flows}"), each, 2.0..=4.0);
    }
}

#[test]
fn fast_keeps_alpha_segments_of_each_flow_in_the_queue() {
    for flows in [1, 2, 4] {
        let each = queue_of("fast", flows) / PACKET_KB / f64::from(flows);
        assert_in(&format!("packets of each of {flows}, of 15"), each, 14.0..=16.0);
    }
}

#[test]
fn ledbat_keeps_its_target_whatever_the_number_of_flows() {
    // 50 us at 10 Gb/s are 62.5 KB.
    for flows in [1, 2, 4] {
        let queue = queue_of("ledbat:datacenter", flows);
        assert_in(&format!("KB of {flows} flows"), queue, 60.0..=65.0);
    }
}

/// How long a small request takes to be answered while a stream of `scheme` fills the port, in us:
/// the mean of one per 100 us. Requests wait in the stream's queue.
fn answer_us(scheme: &str) -> f64 {
    let second = r#"
        title = "requests behind a stream"
        [run]
        duration = "60ms"
        schemes = ["ledbat"]
        [[network.star.hosts]]
        name = "sender"
        rate = "20Gbps"
        delay = "10us"
        [[network.star.hosts]]
        name = "client"
        rate = "20Gbps"
        delay = "10us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "10Gbps"
        delay = "10us"
        [switch]
        queue_limit = "2MB"
        [transport]
        kind = "stream"
        [[traffic]]
        kind = "connections"
        from = "sender"
        to = "receiver"
        [[traffic]]
        kind = "connections"
        from = "client"
        to = "receiver"
        operation = "read"
        start = "40ms"
        message = "1B"
        count = 180
        every = "100us"
    "#;
    let report = run(&crate::common::document(second), scheme);
    let answers = completions_us(&report);
    assert!(answers.len() > 100, "{}", answers.len());
    mean(answers)
}

#[test]
fn requests_hardly_wait_behind_a_ledbat_stream_and_long_behind_newreno() {
    // 40 us of propagation and less than 1 us of anything else; ledbat adds its target.
    assert_in("us behind ledbat", answer_us("ledbat:datacenter"), 80.0..=100.0);
    // NewReno's queue is between what half of its window leaves and the 1,600 us of the buffer.
    assert_in("us behind newreno", answer_us("newreno"), 700.0..=1_650.0);
}

/// Swift's target of the fabric over two hops, in us, for a window in packets.
fn swift_target_us(window: f64) -> f64 {
    let alpha = 100.0 / (1.0 / 0.1_f64.sqrt() - 1.0 / 100.0_f64.sqrt());
    let scaled = alpha / window.sqrt() - alpha / 100.0_f64.sqrt();
    20.0 + 2.0 * 3.053 + scaled.clamp(0.0, 100.0)
}

/// Where Swift's delay is its target, in us, for flows that share 10 Gb/s: each has the window that
/// the delay makes of its share, and the target follows from the window
/// (`docs/algorithms/swift.md`).
fn swift_fixed_point_us(flows: f64) -> f64 {
    // A packet takes 1.2 us. The iteration's slope is between -1/2 and 0.
    (0..50).fold(50.0, |delay, _| swift_target_us(delay / 1.2 / flows))
}

/// Flows of Swift that share 10 Gb/s, on links of 1 us.
fn swift(flows: u32, more: &[&str]) -> Report {
    let count = format!("network.star.hosts.0.count={flows}");
    let star = [
        &count,
        "network.star.hosts.0.rate=10Gbps",
        "network.star.hosts.0.delay=1us",
        "network.star.hosts.1.delay=1us",
        "traffic.0.start_spread=100us",
    ];
    run(&streams(&[&star, more].concat()), "swift")
}

#[test]
fn swift_has_the_delay_that_is_the_target_of_its_windows() {
    for flows in [4, 16, 64] {
        let report = swift(flows, &["cc.swift.ai=0.1"]);
        let targets = (0..flows).map(|flow| {
            let steps = steps(&report, flow.into());
            mean(between(&steps, 0.02, 0.05).iter().map(|step| swift_target_us(step.window)))
        });
        // The packet's 1.2 us in the sender's NIC are no part of the fabric's delay.
        let off = report.summary.rtt_mean_us - 1.2 - mean(targets);
        // A window is whole packets, and between two answers of the path each flow adds `ai`.
        let step = 1.2 + 0.1 * f64::from(flows) * 1.2;
        assert_in(&format!("us above the target of {flows} flows"), off, -step..=step);
    }
}

#[test]
fn swift_holds_its_target_and_is_fair_with_more_flows_than_packets() {
    // The path without queues holds seven packets.
    for flows in [4, 16, 64] {
        let report = swift(flows, &[]);
        let summary = &report.summary;
        let what = |figure: &str| format!("{figure} of {flows} flows");
        assert_in(&what("share of the link"), share(&report), 0.99..=1.001);
        assert_in(&what("Jain's index"), summary.jain_index, 0.999..=1.0);
        // The delay of the fabric, and the packet's 1.2 us in the sender's NIC.
        let expected = swift_fixed_point_us(f64::from(flows)) + 1.2;
        assert_in(&what("RTT over the target"), summary.rtt_mean_us / expected, 0.95..=1.1);
        assert_eq!(summary.drops, 0);
    }
}

/// Four streams without end, and every 500 us four messages of 20 KB, which RTCP takes for urgent
/// ones.
const URGENT: &str = r#"
    title = "urgent messages among streams"
    [run]
    duration = "60ms"
    warmup = "10ms"
    schemes = ["rtcp"]
    [[network.star.hosts]]
    name = "sender"
    count = 4
    rate = "10Gbps"
    delay = "1us"
    [[network.star.hosts]]
    name = "urgent"
    count = 4
    rate = "10Gbps"
    delay = "1us"
    [[network.star.hosts]]
    name = "receiver"
    rate = "10Gbps"
    delay = "1us"
    [switch]
    queue_limit = "745KB"
    [transport]
    kind = "stream"
    [transport.stream]
    delayed_ack = 1
    [[traffic]]
    kind = "connections"
    from = "sender"
    to = "receiver"
    start_spread = "100us"
    [[traffic]]
    kind = "connections"
    from = "urgent"
    to = "receiver"
    start = "10ms"
    start_spread = "100us"
    message = "20KB"
    count = 90
    every = "500us"
"#;

#[test]
fn rtcp_serves_urgent_messages_first_and_keeps_the_queue_short() {
    let completion = |assignments: &[&str], scheme| {
        let report = run(&with(URGENT, assignments), scheme);
        assert_in(&format!("share of the link under {scheme}"), share(&report), 0.99..=1.001);
        (mean(completions_us(&report)), backlog_kb(&report))
    };
    let (urgent_us, queue) = completion(&[], "rtcp");
    let (as_all_us, _) = completion(&["cc.rtcp.w_urgent=12000"], "rtcp");
    let (reno_us, reno_queue) = completion(&[], "newreno");
    assert_in("completion over that with one weight", urgent_us / as_all_us, 0.7..=0.92);
    assert_in("completion over NewReno's", urgent_us / reno_us, 0.0..=0.3);
    assert_in("queue over NewReno's", queue / reno_queue, 0.0..=0.05);
}

#[test]
fn rtcp_leaves_no_flow_to_the_timer_of_delayed_acks() {
    for seed in [1, 2] {
        assert_none_stands(&streams_into_a_shallow_port(&[]), "rtcp:testbed-websearch-1to1", seed);
    }
}
