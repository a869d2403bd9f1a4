//! Messages where switches drop: what their repair tells algorithms, and what it costs.

use super::setting::{assert_in, messages, run, share};
use crate::common::counts;

/// Forty connections into a port of 10 Gb/s that drops what exceeds 750 KB, 600 us.
const DROPPING: [&str; 6] = [
    "run.duration=250ms",
    "run.warmup=150ms",
    "switch.pfc.enabled=false",
    "switch.queue_limit=750KB",
    "transport.segment=64KB",
    "traffic.0.connections=4",
];

fn drops(report: &incast_sim::Report) -> u64 {
    counts(report, "queues", "drops").iter().sum()
}

#[test]
fn without_pfc_timely_hears_of_the_queue_from_segments_that_were_sent_again() {
    // All but a tenth of what is sent is dropped at first: no segment of 44 packets arrives whole
    // at the first attempt, so what was sent again must give the samples that slow the senders
    // down.
    let document = messages(&[&DROPPING[..], &["cc.timely.t_high=150us"]].concat());
    let report = run(&document, "timely");
    let samples: u64 = counts(&report, "flows", "rtt_samples").iter().sum();
    assert!(samples > 1_000, "{samples}");
    assert_in("mean RTT", report.summary.rtt_mean_us, 10.0..=300.0);
}

#[test]
fn an_answer_to_loss_spares_timely_most_drops() {
    // T_high is 1 ms, which no queue of 600 us exceeds: the paper's law has no reason to slow down.
    let document = messages(&DROPPING);
    let (paper, answering) = (run(&document, "timely"), run(&document, "timely:linux-tcp"));
    assert!(drops(&answering) * 10 < drops(&paper), "{} {}", drops(&answering), drops(&paper));
    assert_in("share of the port", share(&answering), 0.9..=1.0);
}

#[test]
fn going_back_n_costs_what_it_sends_again() {
    let repeated = |assignments: &[&str]| {
        let document = messages(&[&DROPPING[..], assignments].concat());
        let report = run(&document, "swift");
        let again: u64 = counts(&report, "flows", "retransmissions").iter().sum();
        (again as f64 / drops(&report) as f64, share(&report))
    };
    let (selective, _) = repeated(&[]);
    let (back, most) = repeated(&["transport.recovery=\"go-back-n\""]);
    // What is lost and nothing else, against what had arrived behind it, too. Tails of segments are
    // lost together, so that is no more than half as much again.
    assert_in("retransmissions per drop", selective, 0.95..=1.1);
    assert_in("going back N", back, 1.3..=3.0);
    assert_in("share of the port, going back N", most, 0.85..=1.0);
}
