//! An incast compared with another simulator: ns-3 3.48, run for this project.
//!
//! Ten bulk senders, one receiver, 10 Gb/s links of 1 us, a drop-tail queue of 500 packets, or a
//! RED queue that marks in a step at 65; MSS 1,448 B, no TCP timestamps, SACK, an ACK for two
//! segments, initial window 10, timeouts from 4 ms, buffers of 4 MB, starts spread over 100 us. RTT
//! samples of the second half of 100 ms, and the queue sampled every 10 us. What is known of the
//! differences that remain stands in docs/reference/against-ns-3.md.
//!
//! BBR's queue follows from when each sender starts: its senders start 10 us apart, there and here,
//! and bench/ns3/bbr.py repeats both.

use incast_sim::TraceConfig;
use incast_sim::scenario::Document;

use crate::common::{document, repository, run_with, shipped};

/// Wire bytes of a packet.
const PACKET_KB: f64 = 1.49;
const MARKING: [&str; 2] = ["switch.ecn_threshold=96850B", "transport.stream.ecn=exact"];

/// A line of the witness: the scheme and its settings here, the mean RTT in microseconds and the
/// mean queue in packets there, and the tolerance of both.
struct Case {
    scheme: &'static str,
    settings: &'static [&'static str],
    rtt_us: f64,
    queue_packets: f64,
    tolerance: f64,
}

/// `tcp-incast` with senders that start 10 us apart.
fn ten_us_apart() -> Document {
    let text = std::fs::read_to_string(repository("scenarios/tcp-incast.toml")).unwrap();
    let before = text.split_once("[[traffic]]").unwrap().0;
    let traffic = (0..10).map(|sender| {
        let start = sender * 10;
        format!(
            "[[traffic]]\nkind = \"connections\"\nfrom = \"sender{sender}\"\nto = \"receiver\"\nstart = \"{start}us\"\n"
        )
    });
    document(&(before.to_owned() + &traffic.collect::<String>()))
}

/// Mean RTT and mean queue over three seeds.
fn measured(document: &Document, case: &Case) -> (f64, f64) {
    let (mut rtt, mut queue) = (0.0, 0.0);
    for seed in 1..=3 {
        let summary = run_with(document, case.scheme, seed, TraceConfig::default()).summary;
        let throughput = summary.throughput_gbps;
        // There 9.64 to 9.72: all the port carries, 10 Gb/s x 1448 / 1490 = 9.718.
        assert!((9.64..=9.72).contains(&throughput), "{}: {throughput} Gb/s", case.scheme);
        rtt += summary.rtt_mean_us / 3.0;
        queue += summary.queue_mean_kb / PACKET_KB / 3.0;
    }
    (rtt, queue)
}

fn check(cases: &[Case]) {
    for case in cases {
        compare(&shipped("tcp-incast", case.settings), case);
    }
}

fn compare(document: &Document, case: &Case) {
    let (rtt, queue) = measured(document, case);
    for (what, here, there) in
        [("RTT in us", rtt, case.rtt_us), ("queue in packets", queue, case.queue_packets)]
    {
        let off = here / there - 1.0;
        assert!(
            off.abs() <= case.tolerance,
            "{} {:?}: mean {what} {here:.1}, there {there}: {:+.1} %, allowed {:.0} %",
            case.scheme,
            case.settings,
            off * 100.0,
            case.tolerance * 100.0
        );
    }
}

#[test]
fn loss_based_schemes_fill_the_drop_tail_queue_as_far_as_in_ns_3() {
    check(&[
        Case {
            scheme: "newreno:ns-3",
            settings: &[],
            rtt_us: 534.0,
            queue_packets: 441.0,
            tolerance: 0.05,
        },
        Case {
            scheme: "cubic",
            settings: &[],
            rtt_us: 565.0,
            queue_packets: 450.0,
            tolerance: 0.05,
        },
    ]);
}

#[test]
fn marks_hold_the_queue_where_they_do_in_ns_3() {
    check(&[
        Case {
            scheme: "dctcp",
            settings: &MARKING,
            rtt_us: 86.0,
            queue_packets: 65.0,
            tolerance: 0.06,
        },
        Case {
            scheme: "newreno",
            settings: &["switch.ecn_threshold=96850B", "transport.stream.ecn=classic"],
            rtt_us: 80.0,
            queue_packets: 59.0,
            tolerance: 0.15,
        },
    ]);
}

#[test]
fn vegas_keeps_as_long_a_queue_as_in_ns_3() {
    check(&[Case {
        scheme: "vegas:ns-3",
        settings: &[],
        rtt_us: 71.0,
        queue_packets: 54.0,
        tolerance: 0.15,
    }]);
}

#[test]
fn bbr_keeps_as_long_a_queue_as_in_ns_3_where_both_start_and_sample_as_the_draft_does() {
    // Which flow sees the queue of which hangs on the jitter of ACKs: 4 % from seed to seed.
    let case = |delay: &str, scheme, rtt_us, queue_packets, tolerance| {
        let delays = [0, 1].map(|group| format!("network.star.hosts.{group}.delay={delay}"));
        let document = ten_us_apart().with_set(&delays).unwrap();
        let case = Case { scheme, settings: &[], rtt_us, queue_packets, tolerance };
        compare(&document, &case);
    };
    case("1us", "bbr:ns-3", 181.6, 147.0, 0.04);
    case("5us", "bbr:ns-3", 206.7, 154.7, 0.04);
    case("20us", "bbr:ns-3", 214.7, 111.0, 0.04);
    // Without the two segments that ns-3 adds while it probes, and those for aggregated ACKs.
    case("1us", "bbr", 181.6, 147.0, 0.15);
    // Its own first pacing rate is of an RTT of a whole millisecond.
    case("1us", "bbr", 208.7, 169.8, 0.25);
}
