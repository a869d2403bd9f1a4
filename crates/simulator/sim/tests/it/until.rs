//! A run that is told to go on until some time: exact at that time, and the same bytes at its end.

use incast_cc::{Bytes, Span};
use incast_sim::scenario::{Document, Threads};
use incast_sim::{Report, Simulation, TraceConfig};
use incast_transport::random::generator;
use rand_core::Rng;

use crate::common::{ALL_TRACES, document, shipped};

const PAIR: &str = r#"
    title = "one packet"
    [run]
    duration = "100us"
    schemes = ["line-rate"]
    [[network.star.hosts]]
    name = "a"
    count = 2
    rate = "10Gbps"
    delay = "1us"
    [[traffic]]
    kind = "connections"
    from = "a0"
    to = "a1"
    message = "1460B"
    count = 1
"#;

fn started(document: &Document, scheme: &str, traces: TraceConfig) -> Simulation {
    let run = Simulation::new(document.scenario(), scheme, 1, traces);
    run.unwrap_or_else(|error| panic!("{error}"))
}

fn report_of(run: Simulation) -> String {
    let report: Report = run.finish();
    assert!(report.complete && report.books.balance(), "{:?}", report.books);
    format!("{report:?}")
}

#[test]
fn events_at_the_time_are_handled_and_no_later_ones() {
    // 1,500 B take 1.2 us on each of two links with a delay of 1 us.
    let arrival = Span::from_ns(4_400);
    let before = arrival.saturating_sub(Span::from_ps(1));
    let mut run = started(&document(PAIR), "line-rate", TraceConfig::default());
    for (until, delivered) in [(before, 0), (arrival, 1_460), (arrival + Span::from_ps(1), 1_460)] {
        assert!(run.run_until(until));
        assert_eq!((run.simulated(), run.delivered(0)), (until, Bytes::new(delivered)));
    }
}

#[test]
fn a_time_that_has_passed_changes_nothing_and_the_end_is_the_end() {
    let mut run = started(&document(PAIR), "line-rate", TraceConfig::default());
    let (at, end) = (Span::from_us(50), Span::from_us(100));
    assert!(run.run_until(at) && run.run_until(Span::from_us(3)) && run.run_until(at));
    assert_eq!(run.simulated(), at);
    assert!(!run.run_until(Span::from_ms(1)), "it goes on behind its end");
    assert_eq!(run.simulated(), end);
    assert!(!run.run_until(at) && !run.run_until(end) && !run.advance(1));
    assert_eq!(run.simulated(), end);
}

/// Runs in up to ten pieces that end at random times, some of which are followed by some events
/// more.
fn in_pieces(mut run: Simulation, seed: u64) -> String {
    let (mut random, duration) = (generator(seed, "cuts", &[]), run.duration().as_ps());
    let mut times: Vec<u64> = (0..10).map(|_| random.next_u64() % duration).collect();
    times.sort_unstable();
    for until in times.into_iter().map(Span::from_ps) {
        let before = run.simulated();
        run.run_until(until);
        assert_eq!(run.simulated(), until.max(before));
        if random.next_u64().is_multiple_of(3) {
            run.advance(random.next_u64() % 1_000);
        }
    }
    run.run_until(run.duration());
    report_of(run)
}

#[test]
fn runs_in_pieces_of_time_are_those_of_advance() {
    let short = ["run.duration=500us", "run.warmup=50us", "run.cooldown=100us"];
    for (name, schemes) in [
        ("incast", ["timely", "line-rate"]),
        ("fat-tree-web-search", ["dctcp", "hpcc"]),
        ("tcp-incast", ["newreno", "cubic"]),
        ("parking-lot", ["swift", "dcqcn"]),
        ("timely-network-imbalance", ["swift", "patched-timely"]),
    ] {
        let document = shipped(name, &short);
        for (seed, scheme) in (1..).zip(schemes) {
            // Ports that are traced have an event for each packet; the others look ahead.
            let traces = if seed == 1 { TraceConfig::default() } else { ALL_TRACES };
            let start = || started(&document, scheme, traces);
            let mut whole = start();
            while whole.advance(10_000) {}
            let whole = report_of(whole);
            for nodes in [false, true] {
                let pieces = in_pieces(start().in_node_windows(nodes), seed);
                assert!(whole == pieces, "{name}, {scheme}, windows of nodes: {nodes}");
            }
            let threads = start().in_threads(Threads::Count(2));
            assert!(whole == in_pieces(threads, seed), "{name}, {scheme}, two threads");
        }
    }
}
