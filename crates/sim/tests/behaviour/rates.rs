//! TIMELY and what was made of it, on messages, and no control at all.

use incast_sim::Report;

use crate::common::counts;
use crate::setting::{PAYLOAD, PAYLOAD_SHARE, assert_in, between, mean, messages, run, steps};

fn share(report: &Report) -> f64 {
    report.summary.throughput_gbps / (10.0 * PAYLOAD_SHARE)
}

#[test]
fn timely_keeps_the_throughput_of_line_rate_at_a_fraction_of_its_rtt() {
    let (timely, pfc) = (run(&messages(&[]), "timely"), run(&messages(&[]), "line-rate"));
    assert_in("share of the link", share(&timely), 0.99..=1.001);
    // Between T_low, 50 us, and T_high, 1 ms.
    assert_in("mean RTT in us", timely.summary.rtt_mean_us, 50.0..=200.0);
    assert_in(
        "RTT over line rate's",
        timely.summary.rtt_mean_us / pfc.summary.rtt_mean_us,
        0.0..=0.1,
    );
    assert_eq!(timely.summary.pfc_pauses, 0);
    assert_eq!((timely.summary.drops, pfc.summary.drops), (0, 0));
}

#[test]
fn line_rate_sends_what_it_is_told_and_no_less() {
    // Ten senders at a twentieth of the line each: half of the link, and nothing waits for long.
    let half = run(&messages(&["cc.line-rate.share=0.05"]), "line-rate");
    assert_in("throughput in Gb/s", half.summary.throughput_gbps, 4.99..=5.01);
    assert_eq!(half.summary.pfc_pauses, 0);
    // All at line rate, without PFC: ten times what the port carries, so that for each packet that arrives
    // nine are lost, less what senders keep back while they wait for a timeout.
    let lossy = run(&messages(&["switch.pfc.enabled=false"]), "line-rate");
    let arrived: u64 = counts(&lossy, "flows", "delivered_bytes").iter().sum();
    let lost = lossy.summary.drops as f64 / (arrived as f64 / PAYLOAD);
    assert_in("lost for each that arrives", lost, 5.0..=9.1);
}

/// After 0.4 s: a flow that starts far above its share comes down by 0.8 % per completion at most.
fn settled(scheme: &str, flows: u32, assignments: &[&str]) -> Report {
    let count = format!("network.star.hosts.0.count={flows}");
    let long = ["run.duration=500ms", "run.warmup=400ms", &count];
    run(&messages(&[&long, assignments].concat()), scheme)
}

#[test]
fn patched_timely_settles_at_its_fixed_point() {
    // RTT* = T_low (1 + N delta / (beta C)) = 50 us (1 + N 10 Mb/s / (0.008 x 10 Gb/s)).
    for (flows, expected) in [(2, 62.5), (10, 112.5), (40, 300.0)] {
        let report = settled("patched-timely", flows, &[]);
        let what = |figure: &str| format!("{figure} of {flows} flows");
        assert_in(
            &what("RTT over the fixed point"),
            report.summary.rtt_mean_us / expected,
            0.95..=1.03,
        );
        assert_in(&what("share of the link"), share(&report), 0.999..=1.001);
        assert_in(&what("Jain's index"), report.summary.jain_index, 0.99..=1.0);
    }
}

#[test]
fn integral_timely_holds_its_set_point_where_the_signal_is_not_late() {
    // As the oracle tells it, without the delay of a completion.
    let oracle = ["signal.kind=oracle"];
    let report = settled("integral-timely", 10, &oracle);
    assert_in("mean RTT in us, oracle", report.summary.rtt_mean_us, 95.0..=108.0);
    assert_in("share of the link, oracle", share(&report), 0.999..=1.001);
    // Measured, with a fifth of the default's integral gain; TIMELY itself settles elsewhere.
    let slow = ["cc.integral-timely.ki=0.0001"];
    let report = settled("integral-timely", 10, &slow);
    assert_in("mean RTT in us, ki 0.0001", report.summary.rtt_mean_us, 98.0..=102.0);
    assert_in("share of the link, ki 0.0001", share(&report), 0.999..=1.001);
    let report = settled("timely", 10, &[]);
    assert_in("mean RTT in us of timely", report.summary.rtt_mean_us, 105.0..=160.0);
    // On measured RTTs the default oscillates.
    let report = settled("integral-timely", 10, &[]);
    assert_in("share of the link, default", share(&report), 0.6..=0.8);
    assert_in("p99 RTT in us, default", report.summary.rtt_p99_us, 400.0..=600.0);
}

/// How far the rates of two flows move around their means, as a share of those.
fn swing(report: &Report) -> f64 {
    mean((0..2).map(|flow| {
        let steps = steps(report, flow);
        let rates: Vec<_> = between(&steps, 0.1, 0.2).iter().map(|step| step.rate_gbps).collect();
        let middle = mean(rates.iter().copied());
        mean(rates.iter().map(|rate| (rate - middle).powi(2))).sqrt() / middle
    }))
}

#[test]
fn a_threshold_on_the_rtt_alone_swings_more_than_the_gradient() {
    for flows in [2, 4] {
        let document = messages(&[&format!("network.star.hosts.0.count={flows}")]);
        let gradient = run(&document, "timely");
        let queue = run(&document, "timely:queue-size");
        let what = |figure: &str| format!("{figure} of {flows} flows");
        assert_in(&what("swing of the gradient"), swing(&gradient), 0.02..=0.1);
        assert_in(&what("swing over the gradient's"), swing(&queue) / swing(&gradient), 2.0..=5.0);
        assert_in(&what("throughput lost by it"), share(&gradient) - share(&queue), 0.05..=0.3);
    }
}
