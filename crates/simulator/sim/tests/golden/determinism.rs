//! One seed gives one result, byte for byte: twice, in pieces, and in debug and release builds.

use std::fmt::Write as _;

use incast_cc::registry::NAMES;
use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, TraceConfig, Values, digest};

use crate::assert_golden;
use crate::figures::figures;
use crate::run::{ALL_TRACES, run_with};
use crate::scenario::document;

/// Both kinds of traffic, random starts, losses, marks, two switches.
const LOSSY: &str = r#"
    title = "a bit of everything"
    [run]
    duration = "2ms"
    warmup = "200us"
    schemes = ["timely"]
    [[network.dumbbell.left]]
    name = "left"
    count = 3
    rate = "10Gbps"
    delay = "1us"
    [[network.dumbbell.right]]
    name = "right"
    count = 2
    rate = "3Gbps"
    delay = "2us"
    [network.dumbbell.bottleneck]
    rate = "7Gbps"
    delay = "5us"
    [switch]
    queue_limit = "60KB"
    ecn_threshold = "20KB"
    [transport]
    segment = "4KB"
    [[traffic]]
    kind = "connections"
    from = "left"
    to = "right"
    connections = 2
    start_spread = "50us"
    [[traffic]]
    kind = "connections"
    from = "right"
    to = "left"
    operation = "read"
    message = "30KB"
    count = 20
    every = "20us"
    start_spread = "100us"
"#;

const SCHEMES: [&str; 5] = ["timely", "timely:zhu", "timely:erpc", "patched-timely", "line-rate"];

/// Twenty milliseconds of the paper's incast, PFC on.
const INCAST: &str = r#"
    title = "short incast"
    [run]
    duration = "20ms"
    warmup = "5ms"
    schemes = ["timely"]
    [[network.star.hosts]]
    name = "client"
    count = 10
    rate = "10Gbps"
    delay = "4.5us"
    [[network.star.hosts]]
    name = "server"
    rate = "20Gbps"
    delay = "4.5us"
    [switch]
    buffer = "1MB"
    ecn_threshold = "100KB"
    [switch.pfc]
    enabled = true
    [transport]
    segment = "16KB"
    [[traffic]]
    kind = "connections"
    from = "client"
    to = "server"
    connections = 4
    start_spread = "100us"
"#;

/// The whole report as text; Debug, because "not a number" equals nothing.
fn everything(report: &Report) -> String {
    format!("{report:?}")
}

/// Runs `events` at a time, in the order of time or in windows of nodes.
fn run_in_chunks(document: &Document, scheme: &str, events: u64, nodes: bool) -> Report {
    let run = Simulation::new(document.scenario(), scheme, 1, ALL_TRACES).unwrap();
    let mut run = run.in_node_windows(nodes);
    while run.advance(events) {}
    run.finish()
}

/// Whether nodes handle their events of a window alone, and the events of a piece.
const PIECES: [(bool, u64); 7] =
    [(false, 1), (false, 7), (false, 1_000), (true, u64::MAX), (true, 1), (true, 7), (true, 1_000)];

#[test]
fn one_seed_gives_one_result() {
    let document = document(LOSSY);
    for scheme in SCHEMES {
        let report = run_with(&document, scheme, 1, ALL_TRACES);
        let events = [report.summary.drops, report.summary.ecn_marks, report.summary.rtt_samples];
        assert!(!events.contains(&0), "{scheme} is too easy: {events:?}");
        let again = run_with(&document, scheme, 1, ALL_TRACES);
        // Not assert_eq: the two would be printed.
        assert!(everything(&report) == everything(&again), "{scheme}: not the same twice");
        assert_eq!(digest(&report.tables), digest(&again.tables));
    }
}

#[test]
fn another_seed_gives_another_result() {
    let document = document(LOSSY);
    let digests: Vec<_> = (1..=3)
        .map(|seed| digest(&run_with(&document, "timely", seed, ALL_TRACES).tables))
        .collect();
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
}

#[test]
fn schemes_start_their_flows_at_the_same_times() {
    let document = document(LOSSY);
    let starts = |scheme| {
        let report = run_with(&document, scheme, 1, TraceConfig::default());
        let flows = report.tables.iter().find(|table| table.name == "flows").unwrap();
        let starts = flows.columns.iter().find(|column| column.name == "start_us").unwrap();
        let Values::F64(starts) = &starts.values else { panic!("{starts:?}") };
        starts.clone()
    };
    assert_eq!(starts("timely"), starts("line-rate"));
}

#[test]
fn pieces_make_the_same_whole() {
    let document = document(LOSSY);
    for scheme in ["timely", "line-rate"] {
        let whole = everything(&run_in_chunks(&document, scheme, u64::MAX, false));
        for (nodes, events) in PIECES {
            let pieces = everything(&run_in_chunks(&document, scheme, events, nodes));
            assert!(whole == pieces, "{scheme}: {events} at a time ({nodes}): another result");
        }
    }
}

#[test]
fn buckets_of_tokens_give_one_result_twice_and_in_pieces() {
    let document = document(LOSSY).with_set(&["switch.burst=6KB"]).unwrap();
    for scheme in ["timely", "line-rate"] {
        let report = run_with(&document, scheme, 1, ALL_TRACES);
        let events = [report.summary.drops, report.summary.ecn_marks, report.summary.rtt_samples];
        assert!(!events.contains(&0), "{scheme} is too easy: {events:?}");
        let whole = everything(&report);
        for (nodes, events) in PIECES {
            let pieces = everything(&run_in_chunks(&document, scheme, events, nodes));
            assert!(whole == pieces, "{scheme}: {events} at a time ({nodes}): another result");
        }
    }
}

/// The lossy network with TCP's streams, hardly a buffer, and switches that stamp.
fn lossy_streams() -> Document {
    let stream = [
        "run.duration=1ms",
        "run.warmup=100us",
        "transport.kind=stream",
        "transport.rto_min=200us",
        "transport.rto_initial=200us",
        "switch.queue_limit=6KB",
        "switch.ecn_threshold=3KB",
        "switch.telemetry=true",
        "switch.feedback.d3={}",
        "switch.feedback.rcp={ rtt = \"1ms\", initial = 1 }",
        "switch.feedback.vcp={ interval = \"50us\" }",
        "network.dumbbell.bottleneck.rate=2Gbps",
    ];
    document(LOSSY).with_set(&stream).unwrap()
}

#[test]
fn streams_of_every_algorithm_give_one_result_twice_and_in_pieces() {
    let document = lossy_streams();
    for scheme in NAMES {
        let report = run_with(&document, scheme, 1, ALL_TRACES);
        let events = [report.summary.drops, report.summary.retransmissions];
        assert!(!events.contains(&0), "{scheme} is too easy: {events:?}");
        let whole = everything(&report);
        for (events, nodes) in [(u64::MAX, false), (7, false), (u64::MAX, true), (7, true)] {
            let again = everything(&run_in_chunks(&document, scheme, events, nodes));
            assert!(whole == again, "{scheme}: {events} at a time ({nodes}): another result");
        }
    }
}

#[test]
fn traces_do_not_change_the_run() {
    let document = document(LOSSY);
    let mut with = run_with(&document, "timely", 1, ALL_TRACES);
    let without = run_with(&document, "timely", 1, TraceConfig::default());
    // A queue that is traced has an event for each packet that leaves it.
    assert!(with.summary.events > without.summary.events);
    with.summary.events = without.summary.events;
    assert_eq!(format!("{:?}", with.summary), format!("{:?}", without.summary));
    let tables = &with.tables[..without.tables.len()];
    assert!(format!("{tables:?}") == format!("{:?}", without.tables), "the tables differ");
}

#[test]
fn a_run_that_is_stopped_is_incomplete_and_balances() {
    let document = document(LOSSY);
    let mut run =
        Simulation::new(document.scenario(), "timely", 1, TraceConfig::default()).unwrap();
    assert!(run.advance(10_000));
    assert!(run.simulated() < run.duration());
    let report = run.finish();
    assert!(!report.complete && report.books.balance(), "{:?}", report.books);
    let handled = report.summary.events;
    assert!((10_000..15_000).contains(&handled), "and those up to one instant: {handled}");
}

/// The text of the golden file: figures of each scheme, then a digest of all its tables.
fn golden_text() -> String {
    let document = document(INCAST);
    let mut text = String::from(
        "# A short incast: 10 clients x 4 connections at 10 Gb/s into 20 Gb/s, 16 KB segments, PFC\n\
         # on, 20 ms of which 5 ms are warm-up, seed 1. Debug and release builds must give these\n\
         # bytes. Renew: INCAST_UPDATE_GOLDEN=1 cargo test -p incast-sim --test golden\n\
         # and say in the commit why the figures moved. Digest: FNV-1a, 64 bits, of all tables.\n",
    );
    let shaped = document.with_set(&["switch.burst=100KB"]).unwrap();
    let rows = SCHEMES.map(|scheme| (&document, scheme, ""));
    for (document, scheme, with) in rows.into_iter().chain([(&shaped, "timely", ", burst 100KB")]) {
        let report = run_with(document, scheme, 1, TraceConfig::default());
        let _ = write!(text, "\n[{scheme}{with}]\n{}", figures(&report));
    }
    text
}

#[test]
fn golden_incast_is_the_same_in_every_build() {
    assert_golden("incast-short.txt", &golden_text());
}
