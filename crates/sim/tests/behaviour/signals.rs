//! What an algorithm is told instead of the RTT that was measured.

use incast_sim::Report;

use crate::common::{numbers, port};
use crate::setting::{PAYLOAD_SHARE, assert_in, messages, run, with};

fn share(report: &Report) -> f64 {
    report.summary.throughput_gbps / (10.0 * PAYLOAD_SHARE)
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
    from = "left0"
    to = "right0"
    [[traffic]]
    from = "left1"
    to = "right1"
    [[traffic]]
    from = "right0"
    to = "left0"
    [[traffic]]
    from = "right1"
    to = "left1"
"#;

#[test]
fn the_oracle_tells_of_the_queue_ahead_and_an_rtt_of_both() {
    // Patched TIMELY settles where the RTT is 50 us (1 + 2/8) = 62.5 us. Without queues it is 10 us:
    // propagation 6 us, 2.4 us in two switches, 1 us of turnaround, 0.15 us of the ACK.
    let waiting_us = |signal: &str| {
        let report = run(&with(TWO_WAY, &[&format!("signal.kind={signal}")]), "patched-timely");
        let row = port(&report, "left-switch->right-switch");
        numbers(&report, "queues", "mean_kb")[row] * 8.0 / 10.0
    };
    assert_in("us ahead, measured: half of it", waiting_us("rtt"), 23.0..=28.0);
    assert_in("us ahead, oracle: all of it", waiting_us("oracle"), 50.0..=56.0);
}

#[test]
fn noise_of_the_size_of_t_low_takes_timelys_throughput() {
    // Uniform from zero. Noise moves the gradient up as often as down, and up costs a part of the rate,
    // down gains a step. Where noise alone lifts the RTT above T_low, 50 us, the link runs empty.
    let shares: Vec<_> = ["0us", "20us", "100us", "200us"]
        .iter()
        .map(|noise| {
            let noise = format!("signal.noise={noise}");
            share(&run(&messages(&["signal.kind=rtt+noise", &noise]), "timely"))
        })
        .collect();
    assert_in("share without noise", shares[0], 0.99..=1.001);
    assert_in("share with 20 us", shares[1], 0.99..=1.001);
    assert_in("share with 100 us", shares[2], 0.5..=0.8);
    assert_in("share with 200 us", shares[3], 0.2..=0.45);
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
