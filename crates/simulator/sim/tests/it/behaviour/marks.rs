//! Where switches help: marks, notifications, telemetry.

use incast_sim::{Report, TraceConfig};

use super::setting::{
    PACKET_KB, assert_in, assert_none_stands, between, goodputs, mean, messages, run, share, steps,
    streams, streams_into_a_shallow_port, with,
};
use crate::common::{counts, numbers, port, run_with, texts};

/// Two streams over 206 us, 172 packets on the way, through a port that marks above 65 packets.
fn marked(scheme: &str, ecn: &str) -> Report {
    let document = streams(&[
        "run.duration=150ms",
        "run.warmup=50ms",
        "network.star.hosts.0.count=2",
        "network.star.hosts.0.delay=90us",
        "switch.ecn_threshold=97500B",
        &format!("transport.stream.ecn={ecn}"),
        "traffic.0.start_spread=100us",
    ]);
    run_with(&document, scheme, 1, TraceConfig { queues: true, flows: false, packets: false })
}

/// The least and the most packets in the shared port's queue after the warm-up.
fn extremes(report: &Report) -> (f64, f64) {
    let rows = numbers(report, "trace_queues", "time_us").iter();
    let rows = rows.zip(counts(report, "trace_queues", "queue_bytes"));
    let rows = rows.zip(texts(report, "trace_queues", "port"));
    let rows = rows.filter(|((at, _), of)| **at > 50e3 && *of == "switch->receiver");
    let packets = rows.map(|((_, &bytes), _)| bytes as f64 / 1e3 / PACKET_KB);
    packets.fold((f64::MAX, 0.0), |(least, most), now| (now.min(least), now.max(most)))
}

#[test]
fn dctcp_holds_the_queue_at_the_threshold_where_newreno_with_marks_drains_the_link() {
    // The analysis of the paper (3.3), N = 2 flows, C RTT = 172 and K = 65 packets: the queue peaks
    // at K + N, its amplitude is sqrt(2 N (C RTT + K)) / 2 = 15.4.
    let report = marked("dctcp", "auto");
    let amplitude = (2.0 * 2.0 * (172.0_f64 + 65.0)).sqrt() / 2.0;
    let (least, most) = extremes(&report);
    assert_in("most packets", most, 65.0..=69.0);
    assert_in("least packets", least, 67.0 - 1.3 * amplitude..=67.0 - 0.5 * amplitude);
    let mean = numbers(&report, "queues", "mean_kb")[port(&report, "switch->receiver")] / PACKET_KB;
    assert_in("mean packets", mean, 56.0..=65.0);
    assert_in("share of the link", share(&report), 0.999..=1.001);
    assert_eq!(report.summary.drops, 0);
    // NewReno halves its window, from 237 packets to fewer than are on the way.
    let report = marked("newreno", "classic");
    let (least, most) = extremes(&report);
    assert_in("most packets of newreno", most, 65.0..=69.0);
    assert_in("least packets of newreno", least, 0.0..=0.0);
    assert_in("share of the link of newreno", share(&report), 0.85..=0.96);
}

/// The amplitude of the queue in packets by the model of the paper (3.3): flows in step, each with
/// a window of W* = (C RTT + K) / N when marks begin, cut by half of alpha. Equation 6 gives alpha,
/// `alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2`, and equation 8 the amplitude.
fn amplitude_of_dctcp(flows: f64, product: f64, threshold: f64) -> f64 {
    let window = (product + threshold) / flows;
    let right = (2.0 * window + 1.0) / (window + 1.0).powi(2);
    let alpha = (0..50).fold(0.5_f64, |alpha, _| (right / (1.0 - alpha / 4.0)).sqrt());
    flows * (window + 1.0) * alpha / 2.0
}

#[test]
fn the_queue_of_dctcp_swings_as_far_as_the_model_says() {
    // The set-up of figure 12: 10 Gb/s, 100 us (links of 38 and 10 us, 1.2 us for each of two
    // packets, 1 us of turnaround), K = 40.
    const PRODUCT: f64 = 100.0 / 1.2;
    const K: f64 = 40.0;
    for flows in [2, 10, 40] {
        let document = streams(&[
            "run.duration=60ms",
            &format!("network.star.hosts.0.count={flows}"),
            "network.star.hosts.0.rate=10Gbps",
            "network.star.hosts.0.delay=38us",
            "switch.ecn_threshold=60KB",
            "traffic.0.start_spread=100us",
        ]);
        let traces = TraceConfig { queues: true, flows: false, packets: false };
        let report = run_with(&document, "dctcp", 1, traces);
        let rows = numbers(&report, "trace_queues", "time_us").iter();
        let rows = rows.zip(counts(&report, "trace_queues", "queue_bytes"));
        let rows = rows.zip(texts(&report, "trace_queues", "port"));
        let rows = rows.filter(|(_, of)| *of == "switch->receiver");
        let rows: Vec<_> = rows.map(|((&at, &bytes), _)| (at, bytes as f64 / 1_500.0)).collect();
        let flows = f64::from(flows);
        let amplitude = amplitude_of_dctcp(flows, PRODUCT, K);
        // Equation 9: as many round trips as the window of a flow has lost packets. In one and a
        // half of them there is a peak and the trough beside it.
        let period_us = amplitude / flows * (PRODUCT + K) * 1.2;
        let mut swings = Vec::new();
        let (mut from, mut peak) = (20e3, 0.0_f64);
        while from + 1.5 * period_us < 60e3 {
            let part = rows.iter().filter(|(at, _)| (from..from + 1.5 * period_us).contains(at));
            let (least, most) = part.fold((f64::MAX, 0.0_f64), |(least, most), &(_, now)| {
                (least.min(now), most.max(now))
            });
            swings.push(most - least);
            peak = peak.max(most);
            from += 1.5 * period_us;
        }
        let what = |figure: &str| format!("{figure} of {flows} flows");
        assert_in(&what("greatest queue over K + N"), peak - K - flows, -1.0..=3.0);
        // A packet at either end of eleven is 18 %. Forty flows are not in step, so that some rise
        // while others fall, as in the paper's figure: the model is an upper bound then.
        let least = if flows > 10.0 { 0.5 } else { 0.82 };
        let swing = mean(swings.iter().copied());
        assert_in(&what("amplitude over the model's"), swing / amplitude, least..=1.18);
    }
}

/// Three RDMA senders that start one after the other; the first has 10 ms, the first two have 30 ms
/// for themselves.
const LATECOMERS: &str = r#"
    title = "one after the other"
    [run]
    duration = "250ms"
    warmup = "200ms"
    interval = "5ms"
    schemes = ["dcqcn"]
    [[network.star.hosts]]
    name = "sender"
    count = 3
    rate = "10Gbps"
    delay = "1us"
    [[network.star.hosts]]
    name = "receiver"
    rate = "10Gbps"
    delay = "1us"
    [switch]
    ecn_threshold = "40KB"
    [switch.pfc]
    enabled = true
    [transport]
    segment = "4KB"
    [[traffic]]
    kind = "connections"
    from = "sender0"
    to = "receiver"
    [[traffic]]
    kind = "connections"
    from = "sender1"
    to = "receiver"
    start = "10ms"
    [[traffic]]
    kind = "connections"
    from = "sender2"
    to = "receiver"
    start = "40ms"
"#;

#[test]
fn dcqcn_halves_on_its_first_cnps_and_converges_to_equal_shares() {
    let report = run(&with(LATECOMERS, &[]), "dcqcn");
    // At line rate until the second sender comes; then a CNP for each 50 us of marks. Alpha is 1.
    let first = steps(&report, 0);
    assert!(between(&first, 0.0, 0.01).iter().all(|step| step.rate_gbps >= 10.0));
    let rates: Vec<_> = between(&first, 0.01, 0.0103).iter().map(|step| step.rate_gbps).collect();
    assert!(rates.contains(&10.0) && rates.contains(&5.0) && rates.contains(&2.5), "{rates:?}");
    // The third comes with alpha 1 between two whose alphas are small, and is cut most.
    let at = |flow, from: f64, to: f64| {
        let rows = goodputs(&report, flow).into_iter();
        mean(rows.filter(|(at, _)| (from..to).contains(at)).map(|(_, gbps)| gbps))
    };
    assert_in("the third's share of the first's", at(2, 0.05, 0.06) / at(0, 0.05, 0.06), 0.1..=0.5);
    assert_in("150 ms later", at(2, 0.2, 0.25) / at(0, 0.2, 0.25), 0.95..=1.05);
    assert_in("Jain's index", report.summary.jain_index, 0.999..=1.0);
    assert_in("share of the link", share(&report), 0.97..=1.0);
    assert_eq!((report.summary.drops, report.summary.pfc_pauses), (0, 0));
}

#[test]
fn marks_leave_no_flow_to_the_timer_of_delayed_acks() {
    // With two segments of each of 20 flows the queue is above the threshold for ever: all that
    // arrives is marked, also the one segment of a flow that begins anew after a timeout.
    let document =
        streams_into_a_shallow_port(&["switch.ecn_threshold=30KB", "transport.stream.ecn=classic"]);
    for scheme in ["newreno", "dctcp", "rtcp:testbed-websearch-1to1"] {
        assert_none_stands(&document, scheme, 1);
    }
}

#[test]
fn dcqcn_without_marks_stays_at_line_rate_and_leaves_the_rest_to_pfc() {
    let report = run(&messages(&["run.duration=20ms", "run.warmup=10ms"]), "dcqcn");
    assert!(steps(&report, 0).iter().all(|step| step.rate_gbps >= 10.0));
    assert!(report.summary.pfc_pauses > 100, "{}", report.summary.pfc_pauses);
}

/// So many HPCC streams into a port whose switch stamps, 44 us, 37 packets on the way.
fn stamped(flows: u32) -> Report {
    let document = streams(&[
        &format!("network.star.hosts.0.count={flows}"),
        "network.star.hosts.0.rate=10Gbps",
        "switch.telemetry=true",
        "traffic.0.start_spread=100us",
    ]);
    run(&document, "hpcc")
}

#[test]
fn hpcc_keeps_the_link_at_eta_with_hardly_a_packet_waiting() {
    for flows in [1, 4, 16] {
        let report = stamped(flows);
        let links = texts(&report, "links", "link");
        let link = links.iter().position(|link| link == "switch->receiver").unwrap();
        let used = numbers(&report, "links", "utilisation")[link];
        assert_in(&format!("utilisation by {flows} flows"), used, 0.94..=0.96);
        let row = port(&report, "switch->receiver");
        let waiting = numbers(&report, "queues", "mean_kb")[row] / PACKET_KB;
        assert_in(&format!("packets waiting of {flows} flows"), waiting, 0.0..=1.0);
        let most = numbers(&report, "queues", "p99_kb")[row] / PACKET_KB;
        assert_in(&format!("of 99 % of the time, {flows} flows"), most, 0.0..=3.0);
    }
}

/// Ten flows at 25 Gb/s and T = 6 us, a product of 12 packets.
fn stamped_nearby(increase: &str) -> Report {
    let document = streams(&[
        "run.duration=12ms",
        "run.warmup=6ms",
        "network.star.hosts.0.count=10",
        "network.star.hosts.0.rate=25Gbps",
        "network.star.hosts.1.rate=25Gbps",
        "network.star.hosts.0.delay=1us",
        "network.star.hosts.1.delay=1us",
        "switch.telemetry=true",
        "traffic.0.start_spread=100us",
        increase,
    ]);
    run(&document, "hpcc")
}

#[test]
fn hpcc_gives_up_what_waits_and_leaves_shares_unequal_where_a_packet_is_much() {
    // U counts the queue as a part of B T, 25 Gb/s for 4 us of links, 1 us of turnaround, twice
    // 0.48 us for a packet and twice 20 ns for an ACK.
    let product_kb = 25.0 / 8.0 * (4.0 + 1.0 + 2.0 * 0.48 + 2.0 * 0.02);
    for (increase, rate_ai, shares) in [("10Mbps", 0.01, 0.3..=0.8), ("125Mbps", 0.125, 0.99..=1.0)]
    {
        let report = stamped_nearby(&format!("cc.hpcc.rate_ai={increase}"));
        let links = texts(&report, "links", "link");
        let link = links.iter().position(|link| link == "switch->receiver").unwrap();
        let used = numbers(&report, "links", "utilisation")[link];
        let row = port(&report, "switch->receiver");
        let waiting = numbers(&report, "queues", "mean_kb")[row] / product_kb;
        let law = 0.95 + 10.0 * rate_ai / 25.0 - waiting;
        assert_in(&format!("utilisation with {increase}"), used, law - 0.01..=law + 0.015);
        assert_in(&format!("part of the product that waits with {increase}"), waiting, 0.04..=0.1);
        assert_in(&format!("Jain's index with {increase}"), report.summary.jain_index, shares);
    }
}

#[test]
fn hpcc_keeps_the_utilisation_that_its_equation_says() {
    // W = W eta / U + W_AI: U is eta + N W_AI / (B T), 0.95 + 8 x 10 Mb/s / 25 Gb/s. Of it 25 Gb/s
    // is the reference, and both rates are four times that here.
    let law = 0.95 + 8.0 * 0.01 / 25.0;
    for delay_us in [1.0, 5.0, 20.0] {
        let document = streams(&[
            "run.duration=12ms",
            "run.warmup=6ms",
            "network.star.hosts.0.count=8",
            "network.star.hosts.0.rate=100Gbps",
            "network.star.hosts.1.rate=100Gbps",
            &format!("network.star.hosts.0.delay={delay_us}us"),
            &format!("network.star.hosts.1.delay={delay_us}us"),
            "switch.telemetry=true",
            "traffic.0.start_spread=100us",
        ]);
        let report = run(&document, "hpcc");
        let links = texts(&report, "links", "link");
        let link = links.iter().position(|link| link == "switch->receiver").unwrap();
        let used = numbers(&report, "links", "utilisation")[link];
        // T: four links, 1 us of turnaround, 120 ns for each of two packets, 5 ns for an ACK. U
        // counts the queue as a part of B T.
        let product_kb = 12.5 * (4.0 * delay_us + 1.0 + 2.0 * 0.12 + 2.0 * 0.005);
        let row = port(&report, "switch->receiver");
        let waiting = numbers(&report, "queues", "mean_kb")[row] / product_kb;
        // Windows are whole packets: one of 44, of 177 and of 677 in the product.
        let packet = PACKET_KB / product_kb;
        let what = format!("U over links of {delay_us} us");
        assert_in(&what, used + waiting, law - packet..=law + packet);
    }
}
