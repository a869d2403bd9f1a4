//! Algorithms whose signal is another than the measured RTT: noise, timestamps of software, the
//! truth.

use std::fmt::Write as _;

use incast_sim::Report;

use super::setting::{Step, assert_in, between, mean, messages, run, share, steps, with};
use crate::common::{document, numbers, port};

/// A run of `flows` flows for half a second, of which the last 200 ms are measured.
fn timely(flows: u32, assignments: &[&str]) -> Report {
    let count = format!("network.star.hosts.0.count={flows}");
    let long = ["run.duration=500ms", "run.warmup=300ms", &count];
    run(&messages(&[&long, assignments].concat()), "timely")
}

fn noisy(flows: u32, noise_us: u32, assignments: &[&str]) -> Report {
    let noise = format!("signal.noise={noise_us}us");
    timely(flows, &[&["signal.kind=rtt+noise", &noise], assignments].concat())
}

/// The mean rate of the flows, in Gb/s.
fn rate(report: &Report, flows: u32) -> f64 {
    mean((0..flows).map(|flow| {
        let steps = steps(report, flow.into());
        mean(between(&steps, 0.3, 0.5).iter().map(|step| step.rate_gbps))
    }))
}

/// The rate in Gb/s that noise from zero to A leaves a flow, with or without others.
///
/// A moving average of differences is alpha times the sample less the average of those before: half
/// of the samples add delta, the others take R beta alpha (e - A/2) / D, on average A/4 for e -
/// A/2. So delta = R beta alpha A / (4 D). It holds while what is above the average is above
/// `T_low`.
fn left_by_noise(noise_us: f64) -> f64 {
    let (delta_gbps, min_rtt_us, alpha, beta) = (0.01, 20.0, 0.02, 0.8);
    4.0 * delta_gbps * min_rtt_us / (alpha * beta * noise_us)
}

#[test]
fn noise_leaves_timely_a_rate_that_falls_with_its_size() {
    // 500, 250 and 100 Mb/s for each flow, of which none fills the port.
    for (flows, noises) in [(2, &[100, 200, 500][..]), (10, &[200, 500]), (40, &[500])] {
        for &noise_us in noises {
            let rate = rate(&noisy(flows, noise_us, &[]), flows);
            let expected = left_by_noise(f64::from(noise_us));
            assert_in(&format!("rate, {flows} flows, {noise_us} us"), rate / expected, 0.88..=1.2);
        }
    }
    // What is more than the fair share is as good as no noise: 20 us leave 2.5 Gb/s, 100 us 500
    // Mb/s.
    for (flows, noise_us) in [(10, 20), (40, 20), (40, 100)] {
        assert_in("share of the link", share(&noisy(flows, noise_us, &[])), 0.998..=1.001);
    }
}

/// Ten senders, each with a receiver of its own and four connections there, on which one packet is
/// sent at a time.
fn alike() -> String {
    let mut text = String::from(
        r#"
        title = "forty connections that nothing but noise tells apart"
        [run]
        duration = "20ms"
        schemes = ["timely"]
        [[network.star.hosts]]
        name = "sender"
        count = 10
        rate = "10Gbps"
        delay = "2us"
        [[network.star.hosts]]
        name = "receiver"
        count = 10
        rate = "10Gbps"
        delay = "2us"
        [signal]
        kind = "rtt+noise"
        noise = "100us"
        [cc.timely]
        t_low = "20us"
        "#,
    );
    for (connection, host) in
        (0..4).flat_map(|connection| (0..10).map(move |host| (connection, host)))
    {
        let _ = write!(
            text,
            "[[traffic]]\nkind = \"connections\"\nfrom = \"sender{host}\"\nto = \"receiver{host}\"\nstart = \"{}us\"\n\
             message = \"1460B\"\ncount = 100\nevery = \"200us\"\n",
            50 * connection
        );
    }
    text
}

#[test]
fn each_of_forty_connections_hears_noise_of_its_own() {
    let report = run(&document(&alike()), "timely");
    let mut rates: Vec<_> = (0..40)
        .map(|flow| {
            let steps = steps(&report, flow);
            assert_eq!(steps.len(), 100);
            let same = |step: &Step| step.rtt_s.to_bits() == steps[0].rtt_s.to_bits();
            assert!(steps.iter().all(same), "alone, each time");
            steps.iter().map(|step| step.rate_gbps.to_bits()).collect::<Vec<_>>()
        })
        .collect();
    rates.sort_unstable();
    rates.dedup();
    assert_eq!(rates.len(), 40, "different courses of the rate");
}

#[test]
fn noise_beyond_t_high_costs_timely_more() {
    // With T_high at 100 us, noise of 500 us is above it four times of five, and cuts by
    // 0.8 (1 - T_high / RTT) with nothing to smooth it.
    let within = share(&noisy(10, 500, &[]));
    let beyond = share(&noisy(10, 500, &["cc.timely.t_high=100us"]));
    assert_in("of what is left", beyond / within, 0.05..=0.25);
}

#[test]
fn noise_that_leaves_the_port_full_shortens_the_rtt() {
    // Ten flows: the gradient of a noisy sample cuts the sooner. Of 5 us it does not show: other
    // seeds make more of a difference. Timestamps of an operating system are noise too: their mean
    // is 13.3 us, and what exceeds it 1.93 us on average, an eighth of 15 us as of noise from 0 to
    // 15 us.
    let [none, five, twenty] = [0, 5, 20].map(|noise| noisy(10, noise, &[]).summary.rtt_mean_us);
    assert!(none.min(five) > 1.05 * twenty, "{none}, {five}, {twenty}");
    assert!(twenty > 50.0 && none.max(five) < 1_000.0, "between T_low and T_high");
    let software = timely(10, &["signal.kind=software-timestamps"]);
    assert_in("mean RTT in us", software.summary.rtt_mean_us, twenty..=none.max(five));
    assert_in("share of the link", share(&software), 0.998..=1.001);
}

#[test]
fn the_oracle_lets_timely_climb_towards_t_high() {
    // Without noise a level queue has no gradient, and TIMELY adds. What is left of noise with the
    // oracle is the queue's own: segments of 16 KB come whole. Noise of N 5 us is what balances the
    // fair share, 10 us of two flows, 50 of ten; for the 200 us of forty there is no source, and
    // only T_high stops them.
    for flows in [2, 10, 40] {
        let measured = timely(flows, &[]).summary.rtt_mean_us;
        let report = timely(flows, &["signal.kind=oracle"]);
        let told = report.summary.rtt_mean_us;
        assert!(told > 1.5 * measured, "{flows} flows: {told} us, {measured} us measured");
        assert_in("share of the link", share(&report), 0.998..=1.001);
        if flows == 40 {
            assert_in("mean RTT over T_high", told / 1_000.0, 0.9..=1.1);
        }
    }
}

#[test]
fn timestamps_of_software_are_too_coarse_for_thresholds_of_20_us() {
    let thresholds = ["cc.timely.t_low=20us".to_owned(), "cc.timely.t_high=40us".to_owned()];
    let at = |signal: &str| {
        let signal = format!("signal.kind={signal}");
        share(&run(&messages(&[&thresholds[0], &thresholds[1], &signal]), "timely"))
    };
    let [oracle, nic, software] = ["oracle", "rtt", "software-timestamps"].map(at);
    assert_in("share with the oracle", oracle, 0.75..=0.9);
    assert_in("share with a NIC's timestamps", nic, 0.6..=0.8);
    assert_in("share with software's", software, 0.3..=0.5);
    // With TIMELY's own thresholds, 50 us and 1 ms, it hardly matters.
    let own = run(&messages(&["signal.kind=software-timestamps"]), "timely");
    assert_in("share at 50 us and 1 ms", share(&own), 0.99..=1.001);
}

/// Two flows each way through one cable of 10 Gb/s, ACKs in the queues of data.
const TWO_WAY: &str = r#"
    title = "two ways"
    [run]
    duration = "200ms"
    warmup = "100ms"
    schemes = ["patched-timely"]
    [[network.dumbbell.left]]
    name = "left"
    count = 2
    rate = "10Gbps"
    delay = "1us"
    [[network.dumbbell.right]]
    name = "right"
    count = 2
    rate = "10Gbps"
    delay = "1us"
    [network.dumbbell.bottleneck]
    rate = "10Gbps"
    delay = "1us"
    [transport]
    segment = "16KB"
    ack_priority = false
    [[traffic]]
    kind = "connections"
    from = "left0"
    to = "right0"
    [[traffic]]
    kind = "connections"
    from = "left1"
    to = "right1"
    [[traffic]]
    kind = "connections"
    from = "right0"
    to = "left0"
    [[traffic]]
    kind = "connections"
    from = "right1"
    to = "left1"
"#;

#[test]
fn the_oracle_tells_of_the_queue_ahead_and_an_rtt_of_both() {
    // Patched TIMELY settles where the RTT is 50 us (1 + 2/8) = 62.5 us. Without queues it is 10
    // us: propagation 6 us, 2.4 us in two switches, 1 us of turnaround, 0.15 us of the ACK.
    let waiting_us = |signal: &str| {
        let report = run(&with(TWO_WAY, &[&format!("signal.kind={signal}")]), "patched-timely");
        let row = port(&report, "left-switch->right-switch");
        numbers(&report, "queues", "mean_kb")[row] * 8.0 / 10.0
    };
    assert_in("us ahead, measured: half of it", waiting_us("rtt"), 23.0..=28.0);
    assert_in("us ahead, oracle: all of it", waiting_us("oracle"), 50.0..=56.0);
}
