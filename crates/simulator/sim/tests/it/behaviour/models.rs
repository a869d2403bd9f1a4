//! Senders that ask what the path carries and not what it has lost: BBR, and PCC by trial.

use incast_sim::Report;

use super::setting::{
    PAYLOAD, PAYLOAD_SHARE, assert_in, between, mean, run, run_by, steps, streams_over_a_country,
};
use crate::common::{counts, numbers, port};

/// The bandwidth-delay product of 20 ms at 100 Mb/s, in KB.
const PRODUCT_KB: f64 = 250.0;

/// Propagation 20 ms, the packet 12 and 120 us, turnaround 1 us, the ACK 5.1 and 0.5 us.
const BASE_RTT_S: f64 = 0.020_138_6;

fn share(report: &Report) -> f64 {
    report.summary.throughput_gbps / (0.1 * PAYLOAD_SHARE)
}

/// The mean backlog as a part of the product.
fn waiting(report: &Report) -> f64 {
    numbers(report, "queues", "mean_kb")[port(report, "switch->receiver")] / PRODUCT_KB
}

/// One flow through a buffer of so much, for twenty seconds after fifteen.
///
/// The hosts keep what comes after a hole. One that is lost three times, found so after 100 ms each
/// behind 1 MB, is 4 MB at 100 Mb/s, the default of their buffers: these must not be what limits
/// the flow.
fn alone(scheme: &str, buffer: &str) -> Report {
    alone_by(scheme, buffer, 1)
}

fn alone_by(scheme: &str, buffer: &str, seed: u64) -> Report {
    let buffer = format!("switch.queue_limit={buffer}");
    let document = streams_over_a_country(&[
        "run.duration=35s",
        "run.warmup=15s",
        "transport.stream.send_buffer=16MB",
        "transport.stream.receive_buffer=16MB",
        &buffer,
    ]);
    run_by(&document, scheme, seed)
}

/// The mean rate while it was measured, over what the link carries.
fn sent(report: &Report) -> f64 {
    let steps = steps(report, 0);
    mean(between(&steps, 15.0, 35.0).iter().map(|step| step.rate_gbps)) / (0.1 * PAYLOAD_SHARE)
}

#[test]
fn bbr_fills_the_link_and_not_the_buffer() {
    // Of eight phases one sends a quarter more, one drains it. At 100 Mb/s and the margin of 1 %
    // below what it has seen: 99 %. A ProbeRTT takes 220 ms and a round to come back, of twenty
    // seconds: 1 %.
    for buffer in ["250KB", "1MB"] {
        let report = alone("bbr", buffer);
        assert_in("share of the link", share(&report), 0.97..=0.995);
        // A quarter of a product, up in one round and down in the next: an eighth for two rounds in
        // eight.
        assert_in("mean queue over the product", waiting(&report), 0.025..=0.04);
        assert_in("greatest queue", report.summary.queue_max_kb / PRODUCT_KB, 0.22..=0.28);
    }
    // Loss is no signal: a buffer of three packets costs what it drops, of each phase that probes.
    let shallow = alone("bbr", "4500B");
    assert!(shallow.summary.drops > 1_000, "or it shows nothing");
    assert_in("share of the link without a buffer", share(&shallow), 0.95..=0.99);
    // BBR' keeps 5 % off in six phases of eight: (6 x 0.95 + 1.25 + 0.75) / 8, less the same
    // ProbeRTT.
    let prime = alone("bbr:bbr-prime", "1MB");
    assert_in("share under BBR'", share(&prime) / ((6.0 * 0.95 + 2.0) / 8.0), 0.975..=1.005);
    assert_in("mean queue under BBR'", waiting(&prime), 0.02..=0.04);
    assert!(share(&prime) < share(&alone("bbr", "1MB")));
}

#[test]
fn bbr_probes_for_bandwidth_in_waves_of_eight_round_trips() {
    let report = alone("bbr", "1MB");
    let steps = steps(&report, 0);
    let steps = between(&steps, 6.0, 10.0);
    // 5/4, 3/4 and 1 of 100 Mb/s of wire, a per cent off. Rises above 1.1 begin a cycle.
    let paced = |gbps: f64| gbps / (0.1 * PAYLOAD_SHARE * 0.99);
    let begins: Vec<_> = steps
        .windows(2)
        .filter(|pair| paced(pair[0].rate_gbps) < 1.1 && paced(pair[1].rate_gbps) > 1.1)
        .map(|pair| pair[1].at_s)
        .collect();
    assert!(begins.len() > 20, "{begins:?}");
    for pair in begins.windows(2) {
        let cycle = between(steps, pair[0], pair[1]);
        // The first phase lasts until a quarter more is in flight, which takes a little more than a
        // round.
        assert_in("rounds of a cycle", (pair[1] - pair[0]) / BASE_RTT_S, 7.5..=8.5);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for step in cycle {
            least = least.min(step.rate_gbps);
            most = most.max(step.rate_gbps);
        }
        assert_in("most over least", most / least, 1.65..=1.69);
        let rtts = || cycle.iter().map(|step| step.rtt_s / BASE_RTT_S);
        assert_in("greatest RTT", rtts().fold(0.0, f64::max), 1.2..=1.27);
        assert_in("least RTT", rtts().fold(f64::INFINITY, f64::min), 0.99..=1.01);
    }
}

#[test]
fn bbr_looks_for_the_propagation_time_every_ten_seconds() {
    // Two flows each see more bandwidth than their share, so that their windows, two products
    // together with what each probes, keep a queue; only a ProbeRTT shows what is below it.
    let document = streams_over_a_country(&[
        "run.duration=44s",
        "run.warmup=4s",
        "switch.queue_limit=1MB",
        "network.star.hosts.0.count=2",
        "traffic.0.start_spread=500ms",
    ]);
    let report = run(&document, "bbr");
    let steps = steps(&report, 0);
    let mut dips: Vec<f64> = Vec::new();
    for step in between(&steps, 4.0, 44.0) {
        if step.rtt_s < 1.05 * BASE_RTT_S && dips.last().is_none_or(|dip| step.at_s > dip + 1.0) {
            dips.push(step.at_s);
        }
    }
    assert_eq!(dips.len(), 4, "{dips:?}");
    for pair in dips.windows(2) {
        assert_in("seconds from dip to dip", pair[1] - pair[0], 9.9..=10.6);
    }
    assert_in("queue over the product", waiting(&report), 0.8..=1.6);
    assert_in("share of the link", share(&report), 0.97..=1.001);
}

#[test]
fn allegro_fills_the_buffer_and_vivace_leaves_it_empty() {
    for buffer in ["250KB", "1MB"] {
        let buffers = if buffer == "1MB" { 4.0 } else { 1.0 };
        // Throughput and loss are all that Allegro's utility knows: full at least half of the time,
        // and up to 5 % lost are worth it, but no more.
        let allegro = alone("allegro", buffer);
        assert_in("Allegro's share", share(&allegro), 0.97..=1.001);
        assert_in("Allegro's queue over the buffer", waiting(&allegro) / buffers, 0.5..=1.0);
        assert_in("Allegro's rate over the link's", sent(&allegro), 1.0..=1.05);
        // Vivace pays for a rising RTT: 900 times its slope, where more rate gains 0.9 x^-0.1 per
        // Mb/s. The rate that it tries is 5 % below as often as above, and the mean stays below the
        // link.
        let vivace = alone("vivace", buffer);
        assert_in("Vivace's share", share(&vivace), 0.93..=0.98);
        assert_in("Vivace's queue over the product", waiting(&vivace), 0.0..=0.03);
        // Without that cost it is as Allegro.
        let loss_only = alone("vivace:loss-only", buffer);
        assert_in("share without the cost", share(&loss_only), 0.95..=1.001);
        assert_in("queue without it", waiting(&loss_only) / buffers, 0.5..=1.0);
    }
    // The released code of Allegro counts a longer RTT too. How much waits is chance: 0.2 to 0.6 of
    // the buffer.
    let released = [1, 2, 3, 4].map(|seed| alone_by("allegro:released-code", "1MB", seed));
    for report in &released {
        assert_in("share of the released code", share(report), 0.97..=1.001);
    }
    let queue = mean(released.iter().map(|report| waiting(report) / 4.0));
    assert_in("its queue over the buffer", queue, 0.0..=0.45);
}

#[test]
fn allegro_and_vivace_fill_a_link_without_a_buffer() {
    // Three packets. NewReno saws between half and all of the window that fits: three quarters.
    assert_in("NewReno's share", share(&alone("newreno", "4500B")), 0.73..=0.78);
    let lost = |report: &Report| {
        let arrived: u64 = counts(report, "flows", "delivered_bytes").iter().sum();
        let lost = report.summary.drops as f64 * PAYLOAD;
        lost / (arrived as f64 + lost)
    };
    // A trial of 1 % above the link loses 1 %, far from 5 %.
    let allegro = alone("allegro", "4500B");
    assert_in("Allegro's share", share(&allegro), 0.98..=1.001);
    assert_in("lost of Allegro", lost(&allegro), 0.0..=0.05);
    // Half of Vivace's trials are 5 % too low, so that the others just fit.
    let vivace = alone("vivace", "4500B");
    assert_in("Vivace's share", share(&vivace), 0.92..=0.98);
    assert_in("lost of Vivace", lost(&vivace), 0.0..=0.01);
}
