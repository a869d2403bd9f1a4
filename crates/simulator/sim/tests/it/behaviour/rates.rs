//! TIMELY and what was made of it, DCQCN, and no control at all: rates of RDMA writes over PFC.

use incast_sim::Report;

use super::setting::{
    PAYLOAD_SHARE, Step, assert_in, between, mean, messages, run, share, steps, with,
};
use crate::common::numbers;

/// Thresholds of TIMELY.
const T_LOW_US: f64 = 50.0;
const T_HIGH_US: f64 = 1_000.0;

/// The additive step at 10 Gb/s, in Gb/s.
const DELTA: f64 = 0.01;

/// A run of `flows` flows for half a second, of which the last 200 ms are measured.
fn settled(scheme: &str, flows: u32, assignments: &[&str]) -> Report {
    let count = format!("network.star.hosts.0.count={flows}");
    let long = ["run.duration=500ms", "run.warmup=300ms", &count];
    run(&messages(&[&long, assignments].concat()), scheme)
}

fn late(steps: &[Step]) -> &[Step] {
    between(steps, 0.3, 0.5)
}

#[test]
fn timely_keeps_the_rtt_between_its_thresholds_and_the_port_full() {
    let report = settled("timely", 10, &[]);
    assert_in("share of the link", share(&report), 0.998..=1.001);
    let rtts: Vec<_> = (0..10)
        .flat_map(|flow| late(&steps(&report, flow)).to_vec())
        .map(|step| step.rtt_s * 1e6)
        .collect();
    let within = mean(rtts.iter().map(|rtt| f64::from((T_LOW_US..=T_HIGH_US).contains(rtt))));
    assert_in("share of samples between the thresholds", within, 0.95..=1.0);
    // Neither threshold decides there, and nothing but the filter's noise tells one level from
    // another.
    assert_in("mean RTT in us", report.summary.rtt_mean_us, 2.0 * T_LOW_US..=T_HIGH_US / 2.0);
    assert_eq!((report.summary.pfc_pauses, report.summary.drops), (0, 0));
    assert_in("Jain's index", report.summary.jain_index, 0.98..=1.0);
}

/// Eight flows without end, numbers 0 to 7, and two that end after some 150 ms at their fair share.
const LEAVING: &str = r#"
    title = "two of ten leave"
    [run]
    duration = "250ms"
    schemes = ["timely"]
    [[network.star.hosts]]
    name = "stays"
    count = 8
    rate = "10Gbps"
    delay = "2us"
    [[network.star.hosts]]
    name = "leaves"
    count = 2
    rate = "10Gbps"
    delay = "2us"
    [[network.star.hosts]]
    name = "receiver"
    rate = "10Gbps"
    delay = "2us"
    [switch.pfc]
    enabled = true
    [transport]
    segment = "4KB"
    [[traffic]]
    kind = "connections"
    from = "stays"
    to = "receiver"
    start_spread = "1ms"
    [[traffic]]
    kind = "connections"
    from = "leaves"
    to = "receiver"
    start_spread = "1ms"
    message = "18MB"
"#;

#[test]
fn timely_climbs_five_steps_at_a_time_while_the_rtt_falls_and_one_below_t_low() {
    let report = run(&with(LEAVING, &[]), "timely");
    let left_us = numbers(&report, "messages", "completion_us");
    let left_s = left_us.iter().copied().fold(f64::INFINITY, f64::min) / 1e6;
    assert_in("s until the first leaves", left_s, 0.1..=0.2);
    for flow in 0..8 {
        let (mut falls, mut most) = (0, 0.0_f64);
        for pair in steps(&report, flow).windows(2) {
            falls = if pair[1].rtt_s < pair[0].rtt_s { falls + 1 } else { 0 };
            let rise = (pair[1].rate_gbps - pair[0].rate_gbps) / DELTA;
            if rise > 1.001 {
                let rtt_us = pair[1].rtt_s * 1e6;
                assert!(
                    falls >= 5 && rtt_us > T_LOW_US,
                    "{rise} steps, {falls} falls, {rtt_us} us"
                );
            }
            // A fifth of the port is free: the queue drains within 1 ms.
            if (left_s..left_s + 0.002).contains(&pair[1].at_s) {
                most = most.max(rise);
            }
        }
        assert_in("steps at once after that", most, 4.999..=5.001);
    }
}

/// The RTT in us at which a patched TIMELY flow of `rate_gbps` neither gains nor loses, with the
/// weights w(g) of its samples as they come: delta (1 - E w) = R beta E(w err).
fn balance_us(steps: &[Step], rate_gbps: f64) -> f64 {
    let mut gradient = 0.0;
    let samples = steps.windows(2).map(|pair| {
        gradient += 0.875 * ((pair[1].rtt_s - pair[0].rtt_s) * 1e6 / 20.0 - gradient);
        let weight = (2.0 * gradient + 0.5_f64).clamp(0.0, 1.0);
        (weight, pair[1].rtt_s * 1e6 / T_LOW_US - 1.0)
    });
    let samples: Vec<_> = samples.collect();
    let weight = mean(samples.iter().map(|sample| sample.0));
    let error = mean(samples.iter().map(|sample| sample.1));
    let together = mean(samples.iter().map(|(w, err)| (w - weight) * (err - error)));
    T_LOW_US * (1.0 + (DELTA * (1.0 - weight) / (0.008 * rate_gbps) - together) / weight)
}

#[test]
fn patched_timely_settles_at_its_fixed_point() {
    // q* = q' (1 + N delta / (beta C)) with q' = C T_low: as RTTs, 62.5, 112.5 and 300 us. There g
    // is zero. Of 40 flows it is so on average only. A sample above the last one tends to be above
    // the mean too, and its error weighs more: the balance is at a shorter RTT.
    for (flows, least) in [(2, 0.97), (10, 0.97), (40, 0.91)] {
        let fixed_point_us = T_LOW_US * (1.0 + f64::from(flows) * DELTA / (0.008 * 10.0));
        let report = settled("patched-timely", flows, &[]);
        let what = |figure: &str| format!("{figure} of {flows} flows");
        let rtt_us = report.summary.rtt_mean_us;
        assert_in(&what("RTT over the fixed point's"), rtt_us / fixed_point_us, least..=1.03);
        let fair = 10.0 / f64::from(flows);
        let balance_us =
            mean((0..flows).map(|flow| balance_us(late(&steps(&report, flow.into())), fair)));
        assert_in(&what("RTT over the balance's"), rtt_us / balance_us, 0.98..=1.02);
        assert_in(&what("Jain's index"), report.summary.jain_index, 0.99..=1.0);
        assert_in(&what("share of the link"), share(&report), 0.998..=1.001);
    }
}

/// The rates of two flows that start apart come together as `exp(-t delta / (2 Seg))` near the
/// fixed point, where half of each step is an increase (Zhu et al., section 4.3; Seg is a segment):
/// 39.1 per second.
///
/// That is of a fluid, where both hear of the same queue. Segments are bursts, and the RTT of the
/// slower flow, which waits for the larger part of the other's, is longer by `D` times the
/// difference of the rates. By the law of the rates that takes `beta R^2 D / (2 T_low)` per
/// segment, some quarter here.
#[test]
fn two_flows_under_patched_timely_come_together_as_fast_as_the_model_says() {
    let document = messages(&[
        "run.duration=110ms",
        "run.warmup=20ms",
        "network.star.hosts.0.count=2",
        // The second flow begins at a quarter of its line, beside three that end at once.
        "traffic=[{ kind = \"connections\", from = \"sender0\", to = \"receiver\" }, \
         { kind = \"connections\", from = \"sender1\", to = \"sender0\", connections = 3, \
         message = \"1MB\" }, \
         { kind = \"connections\", from = \"sender1\", to = \"receiver\" }]",
    ]);
    let report = run(&document, "patched-timely");
    let flows = [0, 4].map(|flow| steps(&report, flow));
    // Gb/s, and RTTs in parts of T_low.
    let means = |from: f64, to: f64| {
        let [fast, slow] = flows.each_ref().map(|steps| {
            let steps = between(steps, from, to);
            let rtt = mean(steps.iter().map(|step| step.rtt_s * 1e6 / T_LOW_US));
            (mean(steps.iter().map(|step| step.rate_gbps)), rtt)
        });
        (fast.0 - slow.0, slow.1 - fast.1)
    };
    let (first, last) = (means(0.04, 0.05).0, means(0.09, 0.1).0);
    let per_s = (first / last).ln() / 0.05;
    let fluid = DELTA * 1e9 / (2.0 * 16e3 * 8.0);
    assert_in("decay over the fluid's", per_s / fluid, 0.7..=1.0);
    let (apart, later) = means(0.04, 0.1);
    let rate = 5.0 * PAYLOAD_SHARE;
    let heard = 0.008 * rate * rate * 1e9 / (2.0 * 16e3 * 8.0) * later / apart;
    assert_in(
        "decay over the law's with the RTTs of the run",
        per_s / (fluid - heard),
        0.95..=1.05,
    );
}

#[test]
fn integral_timely_is_nearer_its_target_than_timely() {
    let off_us = |report: &Report| (report.summary.rtt_mean_us - 100.0).abs();
    // Told of the queue of the moment, it holds the target where TIMELY climbs to T_high: a level
    // queue is no gradient, and no gradient is an increase.
    for flows in [10, 40] {
        let oracle = ["signal.kind=oracle"];
        let [integral, timely] =
            ["integral-timely", "timely"].map(|scheme| settled(scheme, flows, &oracle));
        assert_in(&format!("us off the target, {flows} flows"), off_us(&integral), 0.0..=10.0);
        assert!(off_us(&timely) > 10.0 * off_us(&integral), "{}", off_us(&timely));
        assert_in("share of the link", share(&integral), 0.96..=1.001);
    }
    // A measured RTT is a round trip old. A fifth of the default's gain bears that.
    let slow = ["cc.integral-timely.ki=0.0001"];
    let integral = settled("integral-timely", 10, &slow);
    let timely = settled("timely", 10, &[]);
    assert_in("us off the target, measured", off_us(&integral), 0.0..=10.0);
    assert!(off_us(&timely) > 2.0 * off_us(&integral), "{}", off_us(&timely));
    // Of 40 flows, C / 40 = 250 Mb/s each, the sums stand at their limit, where 128 ki R is 3.2
    // Mb/s, less than the 10 Mb/s that TIMELY adds: only TIMELY's own gradient stops the queue,
    // above the target.
    let held_back = settled("integral-timely", 40, &slow);
    assert_in("mean RTT in us of 40", held_back.summary.rtt_mean_us, 150.0..=T_HIGH_US);
}

#[test]
fn integral_timely_by_default_swings_where_its_signal_is_a_round_trip_old() {
    // The sum goes on growing while the queue that it has caused is still to be measured, and from
    // limit to limit it moves the rate by 6.4 % per completion. How far is chance: the p99 of five
    // seeds is 1.9 to more than 3 times the median, and the link carries from 0.85 of what it can
    // to all of it.
    let report = settled("integral-timely", 10, &[]);
    assert_in(
        "p99 of the RTT over the median",
        report.summary.rtt_p99_us / report.summary.rtt_p50_us,
        1.8..=20.0,
    );
    assert_in("share of the link", share(&report), 0.6..=1.001);
}

/// Standard deviation of a flow's rate over its mean.
fn swing(report: &Report) -> f64 {
    let steps = steps(report, 0);
    let rates = || late(&steps).iter().map(|step| step.rate_gbps);
    let middle = mean(rates());
    mean(rates().map(|rate| (rate - middle).powi(2))).sqrt() / middle
}

#[test]
fn a_threshold_on_the_rtt_alone_swings_more_than_the_gradient() {
    // Nothing warns of the threshold: each flow adds until all see 100 us, and all cut, while the
    // queue drains, more than once. The gradient cuts earlier and less.
    for flows in [2, 4, 10] {
        let gradient = settled("timely", flows, &[]);
        let queue = settled("timely:queue-size", flows, &[]);
        let what = |figure: &str| format!("{figure}, {flows} flows");
        assert_in(&what("swing over the gradient's"), swing(&queue) / swing(&gradient), 1.7..=10.0);
        assert!(share(&queue) < share(&gradient) - 0.01, "{} {}", share(&queue), share(&gradient));
    }
}

#[test]
fn dcqcn_halves_within_100_us_of_congestion_and_holds_the_queue_at_the_threshold() {
    let document = messages(&[
        "network.star.hosts.0.count=2",
        "switch.ecn_threshold=40KB",
        "run.duration=100ms",
        "run.warmup=50ms",
    ]);
    let report = run(&document, "dcqcn");
    // Congestion begins with the first sample of the later flow, less the base RTT.
    let flows = [steps(&report, 0), steps(&report, 1)];
    let began = flows.iter().map(|steps| steps[0].at_s).fold(0.0, f64::max);
    for steps in &flows {
        let before = between(steps, 0.0, began);
        assert!(before.iter().all(|step| step.rate_gbps > 9.999), "at line rate until then");
        // 40 KB at 10 Gb/s too many take 32 us, and what is marked then waits for 32 us itself; as
        // much as the base RTT for both ways, which the first sample took too. The first CNP
        // halves: alpha is 1.
        let cut = steps.iter().find(|step| step.rate_gbps < 10.0).unwrap();
        assert_in("us to the first cut", (cut.at_s - began) * 1e6, 55.0..=75.0);
        assert_in("rate after it", cut.rate_gbps, 4.999..=5.001);
    }
    assert_in("Jain's index", report.summary.jain_index, 0.95..=1.0);
    // Recovery to the target takes half of what is missing every 55 us, additive steps of 10 Mb/s
    // after that: a few packets above the threshold when the CNP arrives.
    assert_in("greatest queue in KB", report.summary.queue_max_kb, 40.0..=46.0);
    assert_in("share of the link", share(&report), 0.97..=1.0);
    assert_eq!((report.summary.drops, report.summary.pfc_pauses), (0, 0));
}

#[test]
fn line_rate_fills_the_port_and_leaves_the_rest_to_pfc() {
    let short = ["run.duration=20ms", "run.warmup=10ms"];
    let report = run(&messages(&short), "line-rate");
    assert!(report.summary.pfc_pauses > 0, "or it shows nothing");
    assert_eq!(report.summary.drops, 0);
    assert_in("share of the link", share(&report), 0.999..=1.001);
    // The dynamic threshold: ten ports of an eighth of what is free each leave B / (1 + 10 / 8)
    // free.
    let waiting = report.summary.queue_mean_kb;
    let expected = 9_000.0 * (10.0 / 8.0) / (1.0 + 10.0 / 8.0);
    assert_in("mean queue over what PFC lets in", waiting / expected, 0.95..=1.05);
    // A twentieth of the line each is half of the port, and nothing pauses.
    let half = run(&messages(&[&short[..], &["cc.line-rate.share=0.05"]].concat()), "line-rate");
    assert_in("share of the link at half of it", share(&half) * PAYLOAD_SHARE, 0.498..=0.502);
    assert_eq!(half.summary.pfc_pauses, 0);
}
