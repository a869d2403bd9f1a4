//! The networks of these tests, and figures from their reports.

use std::ops::RangeInclusive;

use incast_sim::scenario::Document;
use incast_sim::{Report, TraceConfig};

use crate::common::{counts, document, numbers, run_with};

/// Wire bytes of a full packet, and the payload in it.
pub(crate) const PACKET_KB: f64 = 1.5;
pub(crate) const PAYLOAD: f64 = 1_460.0;

/// The share of a link's rate that full packets leave to payload.
pub(crate) const PAYLOAD_SHARE: f64 = PAYLOAD / 1_500.0;

const FLOWS: TraceConfig = TraceConfig { queues: false, flows: true, packets: false };

/// Streams from hosts called sender to one receiver, through one switch: 10 Gb/s, 42 us without
/// queues. Each segment is acknowledged at once.
pub(crate) fn streams(assignments: &[&str]) -> Document {
    with(
        r#"
        title = "streams into one port"
        [run]
        duration = "50ms"
        warmup = "20ms"
        schemes = ["newreno"]
        [[network.star.hosts]]
        name = "sender"
        count = 1
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
        [transport.stream]
        delayed_ack = 1
        [[traffic]]
        kind = "connections"
        from = "sender"
        to = "receiver"
        "#,
        assignments,
    )
}

/// Streams through 1 Gb/s with 1 ms, a queue of 40 packets (half of the bandwidth-delay product)
/// and an ACK for two segments.
pub(crate) fn streams_over_a_city(assignments: &[&str]) -> Document {
    let city = [
        "run.duration=400ms",
        "run.warmup=100ms",
        "network.star.hosts.0.rate=10Gbps",
        "network.star.hosts.1.rate=1Gbps",
        "network.star.hosts.0.delay=250us",
        "network.star.hosts.1.delay=250us",
        "switch.queue_limit=60KB",
        "transport.stream.delayed_ack=2",
    ];
    streams(&[&city, assignments].concat())
}

/// Streams through 100 Mb/s with 100 ms, 833 packets, and a queue of 200.
pub(crate) fn streams_over_an_ocean(assignments: &[&str]) -> Document {
    let ocean = [
        "run.duration=40s",
        "run.warmup=5s",
        "run.interval=100ms",
        "network.star.hosts.0.rate=1Gbps",
        "network.star.hosts.1.rate=100Mbps",
        "network.star.hosts.0.delay=25ms",
        "network.star.hosts.1.delay=25ms",
        "switch.queue_limit=300KB",
        "transport.rto_min=200ms",
        "transport.stream.delayed_ack=2",
    ];
    streams(&[&ocean, assignments].concat())
}

/// Streams through 100 Mb/s with 20 ms, 167 packets: a link of the Internet, for algorithms that
/// were made for it.
pub(crate) fn streams_over_a_country(assignments: &[&str]) -> Document {
    let country = [
        "run.interval=100ms",
        "network.star.hosts.0.rate=1Gbps",
        "network.star.hosts.1.rate=100Mbps",
        "network.star.hosts.0.delay=5ms",
        "network.star.hosts.1.delay=5ms",
        "transport.rto_min=200ms",
        "transport.stream.delayed_ack=2",
    ];
    streams(&[&country, assignments].concat())
}

/// Two streams from each of ten hosts through 1 Gb/s and a queue of 40 packets, as Linux has them:
/// receivers acknowledge two segments at once, and one after 40 ms.
pub(crate) fn streams_into_a_shallow_port(assignments: &[&str]) -> Document {
    let shallow = [
        "run.duration=4s",
        "run.warmup=1s",
        "network.star.hosts.0.count=10",
        "network.star.hosts.0.rate=10Gbps",
        "network.star.hosts.1.rate=1Gbps",
        "network.star.hosts.0.delay=1us",
        "network.star.hosts.1.delay=1us",
        "switch.queue_limit=60KB",
        "transport.stream.preset=linux",
        "transport.stream.delayed_ack=2",
        "traffic.0.connections=2",
    ];
    streams(&[&shallow, assignments].concat())
}

/// Checks that no flow is left to a timer of delayed ACKs: a window that stays at one segment has
/// 1,460 B per 40 ms, 0.29 Mb/s.
#[track_caller]
pub(crate) fn assert_none_stands(document: &Document, scheme: &str, seed: u64) {
    let report = run_with(document, scheme, seed, TraceConfig::default());
    let goodputs = numbers(&report, "flows", "goodput_gbps");
    let slow = goodputs.iter().filter(|&&gbps| gbps < 0.001).count();
    assert_eq!(slow, 0, "below 1 Mb/s under {scheme} with seed {seed}: {goodputs:?}");
    assert_in("p99 of RTTs in us", report.summary.rtt_p99_us, 0.0..=10_000.0);
}

/// Messages in segments of 16 KB from ten hosts to one, 10 Gb/s, 10 us without queues, PFC.
pub(crate) fn messages(assignments: &[&str]) -> Document {
    with(
        r#"
        title = "messages into one port"
        [run]
        duration = "200ms"
        warmup = "100ms"
        schemes = ["timely"]
        [[network.star.hosts]]
        name = "sender"
        count = 10
        rate = "10Gbps"
        delay = "2us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "10Gbps"
        delay = "2us"
        [switch.pfc]
        enabled = true
        [transport]
        segment = "16KB"
        [[traffic]]
        kind = "connections"
        from = "sender"
        to = "receiver"
        start_spread = "1ms"
        "#,
        assignments,
    )
}

pub(crate) fn with(text: &str, assignments: &[&str]) -> Document {
    document(text).with_set(assignments).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn run(document: &Document, scheme: &str) -> Report {
    run_by(document, scheme, 1)
}

pub(crate) fn run_by(document: &Document, scheme: &str, seed: u64) -> Report {
    run_with(document, scheme, seed, FLOWS)
}

/// The throughput as a share of what 10 Gb/s carry.
pub(crate) fn share(report: &Report) -> f64 {
    report.summary.throughput_gbps / (10.0 * PAYLOAD_SHARE)
}

/// Says what is not as it should be.
#[track_caller]
pub(crate) fn assert_in(what: &str, value: f64, range: RangeInclusive<f64>) {
    assert!(range.contains(&value), "{what}: {value}, expected {range:?}");
}

/// An RTT sample, and the sender's state after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) at_s: f64,
    pub(crate) rtt_s: f64,
    pub(crate) rate_gbps: f64,
    /// The window in segments, for algorithms that have one.
    pub(crate) window: f64,
}

/// All of a flow's samples. The trace has a window as a rate, over the smoothed RTT (RFC 6298),
/// which is computed here again.
pub(crate) fn steps(report: &Report, flow: u64) -> Vec<Step> {
    let column = |name| numbers(report, "trace_flows", name);
    let (times, rtts, rates) = (column("time_us"), column("rtt_us"), column("rate_gbps"));
    let mut srtt = None;
    let samples = times.iter().zip(rtts).zip(rates).zip(counts(report, "trace_flows", "flow"));
    samples
        .filter(|&(_, &of)| of == flow)
        .map(|(((&at, &rtt), &rate), _)| {
            let smoothed = srtt.map_or(rtt, |srtt: f64| (srtt * 7.0 + rtt) / 8.0);
            srtt = Some(smoothed);
            Step {
                at_s: at / 1e6,
                rtt_s: rtt / 1e6,
                rate_gbps: rate,
                window: rate * 1e3 * smoothed / 8.0 / PAYLOAD,
            }
        })
        .collect()
}

/// A window that falls by more than a part of itself that growth cannot explain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) at_s: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// The reductions of a window, in order.
pub(crate) fn cuts(steps: &[Step]) -> Vec<Cut> {
    let pairs = steps.windows(2).filter(|pair| pair[1].window < 0.97 * pair[0].window);
    pairs.map(|pair| Cut { at_s: pair[1].at_s, from: pair[0].window, to: pair[1].window }).collect()
}

/// The steps between two times.
pub(crate) fn between(steps: &[Step], from_s: f64, to_s: f64) -> &[Step] {
    let place = |at_s: f64| steps.partition_point(|step| step.at_s < at_s);
    &steps[place(from_s)..place(to_s)]
}

/// By how many segments a window grows per round trip.
pub(crate) fn growth_per_round(steps: &[Step]) -> f64 {
    let rounds: f64 =
        steps.windows(2).map(|pair| (pair[1].at_s - pair[0].at_s) / pair[1].rtt_s).sum();
    (steps[steps.len() - 1].window - steps[0].window) / rounds
}

/// The window at an instant.
pub(crate) fn window_at(steps: &[Step], at_s: f64) -> f64 {
    steps[steps.partition_point(|step| step.at_s < at_s)].window
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / count
}

/// The goodput of one flow in each interval, with the interval's end, in Gb/s and seconds.
pub(crate) fn goodputs(report: &Report, flow: u64) -> Vec<(f64, f64)> {
    let times = numbers(report, "series_flows", "time_us").iter();
    let rows = times.zip(numbers(report, "series_flows", "goodput_gbps"));
    let rows = rows.zip(counts(report, "series_flows", "flow")).filter(|&(_, &of)| of == flow);
    rows.map(|((&us, &gbps), _)| (us / 1e6, gbps)).collect()
}
