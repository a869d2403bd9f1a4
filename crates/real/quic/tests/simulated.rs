//! The controllers of quinn and s2n-quic in the simulator: four streams into one port of 1 Gb/s.
//!
//! `cargo test -p incast-quic --test simulated -- --nocapture` prints the table of the guide.

#![cfg(all(feature = "quinn", feature = "s2n"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use incast_cc::Flow;
use incast_cc::guest::{Guest, GuestControl};
use incast_quic::scheme::Scheme;
use incast_quic::{guest, s2n_guest};
use incast_sim::scenario::{Document, guests};
use incast_sim::{Simulation, Summary, TraceConfig};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use s2n_quic_core::recovery::bbr::{self, BbrCongestionController};
use s2n_quic_core::recovery::cubic::{self, CubicCongestionController};

const SCENARIO: &str = r#"
    title = "four streams into one port"
    [run]
    duration = "600ms"
    warmup = "100ms"
    schemes = ["cubic"]
    [[network.star.hosts]]
    name = "sender"
    count = 4
    rate = "10Gbps"
    delay = "100us"
    [[network.star.hosts]]
    name = "receiver"
    rate = "1Gbps"
    delay = "100us"
    [switch]
    queue_limit = "200KB"
    [transport]
    kind = "stream"
    [[traffic]]
    kind = "connections"
    from = "sender"
    to = "receiver"
"#;

fn know<C: GuestControl + 'static>(
    name: &'static str,
    source: &'static str,
    start: impl Fn(&Flow) -> C + Send + Sync + 'static,
) {
    guests::make_known(Guest::keep(Scheme::new(name, source, start))).unwrap();
}

fn know_quinn(name: &'static str, factory: impl ControllerFactory + Send + Sync + 'static) {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(factory);
    know(name, "quinn", move |flow| guest::Guest::new(factory.clone(), flow));
}

/// Makes all controllers known.
fn know_all() {
    know_quinn("quinn-cubic", CubicConfig::default());
    know_quinn("quinn-newreno", NewRenoConfig::default());
    know_quinn("quinn-bbr", BbrConfig::default());
    let mss = |flow: &Flow| u16::try_from(flow.mss.get()).expect("an MTU of 1,500 B");
    know("s2n-cubic", "s2n-quic", move |flow| {
        let settings = cubic::ApplicationSettings::default();
        s2n_guest::Guest::new(CubicCongestionController::new(mss(flow), settings))
    });
    know("s2n-bbr", "s2n-quic", move |flow| {
        let settings = bbr::ApplicationSettings::default();
        s2n_guest::Guest::new(BbrCongestionController::new(mss(flow), settings))
    });
}

/// The summary of a run.
fn run(scheme: &str) -> Summary {
    let document = Document::parse(SCENARIO.to_owned(), "quic.toml").unwrap();
    let mut run = Simulation::new(document.scenario(), scheme, 1, TraceConfig::default()).unwrap();
    while run.advance(1 << 20) {}
    let report = run.finish();
    assert!(report.complete && report.books.balance(), "{:?}", report.books);
    report.summary
}

#[test]
#[expect(clippy::print_stdout, reason = "for the page of the guide")]
fn controllers_of_both_libraries_are_schemes_of_the_simulator() {
    know_all();
    let ours = ["cubic", "newreno", "bbr"];
    let theirs = ["quinn-cubic", "quinn-newreno", "quinn-bbr", "s2n-cubic", "s2n-bbr"];
    for scheme in ours.into_iter().chain(theirs) {
        let found = run(scheme);
        let Summary { throughput_gbps, rtt_p50_us, rtt_p99_us, drops, jain_index, .. } = found;
        println!(
            "| `{scheme}` | {:.0} | {rtt_p50_us:.0} | {rtt_p99_us:.0} | {drops} | {jain_index:.2} |",
            throughput_gbps * 1e3
        );
        assert!(throughput_gbps > 0.95, "{scheme}: {found:?}");
        // 400 us without a queue, and 1,600 us of 200 KB.
        assert!((400.0..2_500.0).contains(&rtt_p50_us), "{scheme}: {found:?}");
        assert_eq!(format!("{found:?}"), format!("{:?}", run(scheme)), "{scheme}");
    }
}

#[test]
fn a_scheme_of_a_library_has_no_parameters() {
    know_quinn("quinn-without", CubicConfig::default());
    let document = Document::parse(SCENARIO.to_owned(), "quic.toml").unwrap();
    let said = document.scenario().scheme("quinn-without[beta=0.5]").unwrap_err().to_string();
    assert!(said.contains("unknown parameter \"beta\""), "{said}");
}
