//! Algorithms that ask what the path carries, not what it has lost: BBR and the two PCCs.

use incast_sim::Report;

use crate::common::{numbers, port};
use crate::setting::{
    PAYLOAD_SHARE, assert_in, backlogs, goodputs, mean, run, streams_over_a_country,
};

/// What 20 ms of 100 Mb/s hold, in KB.
const PRODUCT_KB: f64 = 250.0;

fn share(report: &Report) -> f64 {
    report.summary.throughput_gbps / (0.1 * PAYLOAD_SHARE)
}

fn backlog_kb(report: &Report) -> f64 {
    numbers(report, "queues", "mean_kb")[port(report, "switch->receiver")]
}

/// One flow through a buffer of four bandwidth-delay products.
fn deep(scheme: &str) -> Report {
    let document =
        streams_over_a_country(&["run.duration=5s", "run.warmup=1s", "switch.queue_limit=1MB"]);
    run(&document, scheme)
}

#[test]
fn bbr_fills_the_link_and_leaves_the_buffer_empty() {
    let report = deep("bbr");
    // It paces 1 % below the bandwidth that it has seen, and an eighth of the time a quarter above.
    assert_in("share of the link", share(&report), 0.985..=1.001);
    // Probing leaves a quarter of a product in the queue for one round in eight, and drains it in the
    // next: a 32nd of the product on average.
    assert_in("mean queue over the product", backlog_kb(&report) / PRODUCT_KB, 0.02..=0.05);
    assert_in("greatest queue", report.summary.queue_max_kb / PRODUCT_KB, 0.2..=0.3);
    assert_eq!(report.summary.drops, 0);
    // BBR' paces 5 % below it for six rounds in eight.
    let report = deep("bbr:bbr-prime");
    assert_in("share of the link under BBR'", share(&report), 0.95..=0.975);
    assert_in("mean queue under BBR'", backlog_kb(&report) / PRODUCT_KB, 0.02..=0.05);
    // What looks at losses alone fills the buffer.
    let report = deep("newreno");
    assert_in("mean queue under newreno", backlog_kb(&report) / PRODUCT_KB, 1.0..=4.0);
}

#[test]
fn two_bbr_flows_keep_a_queue_and_look_for_the_propagation_time_after_ten_seconds() {
    let document = streams_over_a_country(&[
        "run.duration=12s",
        "run.warmup=2s",
        "switch.queue_limit=1MB",
        "network.star.hosts.0.count=2",
        "traffic.0.start_spread=500ms",
    ]);
    let report = run(&document, "bbr");
    assert_in("share of the link", share(&report), 0.985..=1.001);
    // Each believes in more bandwidth than it gets, so that windows of two products, together, are what
    // limits them: a product waits.
    let rows = backlogs(&report, "switch->receiver").into_iter();
    let standing = mean(rows.filter(|&(at, _)| (3.0..10.0).contains(&at)).map(|(_, kb)| kb));
    assert_in("queue over the product", standing / PRODUCT_KB, 0.9..=1.6);
    // ProbeRTT: four packets of 1,460 B per RTT of 40 ms are 1.2 Mb/s, for 200 ms in every ten seconds. The
    // first flow begins it; the other may see the propagation time without.
    let quiet: Vec<_> = goodputs(&report, 0)
        .into_iter()
        .filter(|&(at, gbps)| at > 2.0 && gbps < 0.004)
        .map(|row| row.0)
        .collect();
    assert!(!quiet.is_empty(), "it never probes");
    assert!(quiet.iter().all(|at| (9.9..11.2).contains(at)), "{quiet:?}");
}

/// One flow through a buffer of so many KB.
fn shallow(scheme: &str, buffer: &str) -> Report {
    let document = streams_over_a_country(&[
        "run.duration=15s",
        "run.warmup=5s",
        &format!("switch.queue_limit={buffer}"),
    ]);
    run(&document, scheme)
}

#[test]
fn allegro_fills_a_link_whose_buffer_is_a_fiftieth_of_the_product() {
    // Three packets. NewReno keeps the link busy for three quarters of the time.
    let report = shallow("newreno", "4500B");
    assert_in("share of the link of newreno", share(&report), 0.70..=0.80);
    let report = shallow("allegro", "4500B");
    assert_in("share of the link", share(&report), 0.95..=1.001);
    // Its trials above capacity lose a per cent or more each, far less than the 5 % that it tolerates.
    let sent = report.books.sent_packets as f64;
    assert_in("lost", report.summary.drops as f64 / sent, 0.001..=0.02);
}

#[test]
fn allegro_fills_the_buffer_and_vivace_leaves_it_empty() {
    let report = shallow("allegro", "250KB");
    assert_in("share of the link", share(&report), 0.98..=1.001);
    assert_in("mean queue over the product", backlog_kb(&report) / PRODUCT_KB, 0.7..=1.0);
    // A rate above capacity lengthens the RTT, for which its utility charges more than it pays: it stays
    // below. Half of its trials are 5 % below the rate, so that the rest is near capacity.
    let report = shallow("vivace", "250KB");
    assert_in("share of the link", share(&report), 0.90..=0.97);
    assert_in("mean queue over the product", backlog_kb(&report) / PRODUCT_KB, 0.0..=0.03);
    // Without that charge it is as the other.
    let report = shallow("vivace:loss-only", "250KB");
    assert_in("share of the link", share(&report), 0.96..=1.001);
    assert_in("mean queue over the product", backlog_kb(&report) / PRODUCT_KB, 0.4..=1.0);
}
