//! The controllers of quinn and s2n-quic in the simulator, beside incast's algorithms of the same
//! name.
//!
//! `cargo test -p incast-quic --test simulated -- --nocapture` prints the tables of the guide.

#![cfg(all(feature = "quinn", feature = "s2n"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "for the page of the guide")]

use std::sync::{Arc, Once};

use incast_cc::Flow;
use incast_cc::guest::GuestControl;
use incast_quic::{guest, s2n_guest, scheme};
use incast_sim::scenario::{Document, guests};
use incast_sim::{Report, Simulation, Summary, TraceConfig, Values};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use s2n_quic_core::recovery::CongestionController;
use s2n_quic_core::recovery::bbr::{self, BbrCongestionController};
use s2n_quic_core::recovery::cubic::{self, CubicCongestionController};

const SCHEMES: [&str; 8] = [
    "cubic",
    "newreno",
    "bbr",
    "quinn-cubic",
    "quinn-newreno",
    "quinn-bbr",
    "s2n-cubic",
    "s2n-bbr",
];

/// Streams into one port of 1 Gb/s. Windows are paced alike, so that the laws alone differ.
fn scenario(streams: u32, delay_us: u32, room_kb: u32, [warmup_ms, end_ms]: [u32; 2]) -> Document {
    let text = format!(
        r#"
        title = "streams into one port"
        [run]
        duration = "{end_ms}ms"
        warmup = "{warmup_ms}ms"
        schemes = ["cubic"]
        [[network.star.hosts]]
        name = "sender"
        count = {streams}
        rate = "10Gbps"
        delay = "{delay_us}us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "1Gbps"
        delay = "{delay_us}us"
        [switch]
        queue_limit = "{room_kb}KB"
        [transport]
        kind = "stream"
        stream.pace_windows_percent = 125
        [[traffic]]
        kind = "connections"
        from = "sender"
        to = "receiver"
        "#
    );
    Document::parse(text, "quic.toml").unwrap()
}

fn know_quinn(name: &'static str, factory: impl ControllerFactory + Send + Sync + 'static) {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(factory);
    let start = move |flow: &Flow| guest::Guest::new(factory.clone(), flow);
    guests::make_known(scheme::of(name, "quinn", start)).unwrap();
}

fn know_s2n<C: CongestionController>(name: &'static str, start: fn(u16) -> C)
where
    s2n_guest::Guest<C>: GuestControl,
{
    let mss = |flow: &Flow| u16::try_from(flow.mss.get()).unwrap();
    let start = move |flow: &Flow| s2n_guest::Guest::new(start(mss(flow)));
    guests::make_known(scheme::of(name, "s2n-quic", start)).unwrap();
}

/// Makes all controllers known.
fn know_all() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (mut cubic, mut newreno) = (CubicConfig::default(), NewRenoConfig::default());
        know_quinn("quinn-cubic", cubic.initial_window(14_600).clone());
        know_quinn("quinn-newreno", newreno.initial_window(14_600).clone());
        know_quinn("quinn-bbr", BbrConfig::default());
        know_s2n("s2n-cubic", |mss| {
            CubicCongestionController::new(mss, cubic::ApplicationSettings::default())
        });
        know_s2n("s2n-bbr", |mss| {
            BbrCongestionController::new(mss, bbr::ApplicationSettings::default())
        });
    });
}

fn run(document: &Document, scheme: &str) -> Report {
    let traces = TraceConfig { flows: true, ..TraceConfig::default() };
    let mut run = Simulation::new(document.scenario(), scheme, 1, traces).unwrap();
    while run.advance(1 << 20) {}
    let report = run.finish();
    assert!(report.complete && report.books.balance(), "{:?}", report.books);
    report
}

/// The window of the one stream at each of some times, in segments of 1,460 B.
fn windows<const N: usize>(report: &Report, at_us: [f64; N]) -> [f64; N] {
    let trace = report.tables.iter().find(|table| table.name == "trace_flows").unwrap();
    let column = |name| match trace.columns.iter().find(|column| column.name == name) {
        Some(column) => match &column.values {
            Values::F64(values) => values,
            values => panic!("{values:?}"),
        },
        None => panic!("no {name}"),
    };
    let (times, windows) = (column("time_us"), column("window_kb"));
    at_us.map(|at| {
        let after = times.partition_point(|&time| time <= at);
        windows[after.saturating_sub(1)] / 1.46
    })
}

#[test]
fn controllers_of_both_libraries_fill_a_link_by_their_own_laws() {
    know_all();
    let document = scenario(1, 250, 225, [0, 2_000]);
    let reports = SCHEMES.map(|scheme| run(&document, scheme));
    for (scheme, report) in SCHEMES.iter().zip(&reports) {
        let Summary { throughput_gbps, retransmissions, .. } = report.summary;
        let at = [5, 10, 20, 50, 100, 200, 500, 1_000, 1_999].map(|ms| f64::from(ms * 1_000));
        let course = windows(report, at).map(|window| format!("{window:.0}")).join(", ");
        println!("| `{scheme}` | {:.0} | {retransmissions} | {course} |", throughput_gbps * 1e3);
        let least = if scheme.ends_with("bbr") { 0.5 } else { 0.85 };
        assert!(throughput_gbps > least, "{scheme}: {:?}", report.summary);
        assert!(retransmissions > 0 || scheme.ends_with("bbr"), "{scheme}");
    }
    // Slow start is the same, but for the datagram of its window that quinn never sends.
    let [ours, .., theirs, _, _, _, _] =
        reports.each_ref().map(|report| windows(report, [3_900.0, 50e3, 100e3]));
    assert!((0.9..1.0).contains(&(theirs[0] / ours[0])), "{} of {}", theirs[0], ours[0]);
    // Two reductions by 0.7. Then quinn's window stands still: it grows towards a W_max that fast
    // convergence has lowered, and by a W_est that begins at 0.7 of it, below the window.
    assert!((theirs[2] - theirs[1]).abs() < 1.5, "{theirs:?}");
    assert!(ours[2] - ours[1] > 5.0, "{ours:?}");
}

#[test]
fn controllers_of_both_libraries_share_a_port() {
    know_all();
    let document = scenario(4, 100, 200, [100, 600]);
    for scheme in SCHEMES {
        let found = run(&document, scheme).summary;
        let Summary { throughput_gbps, rtt_p50_us, rtt_p99_us, drops, jain_index, .. } = found;
        println!(
            "| `{scheme}` | {:.0} | {rtt_p50_us:.0} | {rtt_p99_us:.0} | {drops} | {jain_index:.2} |",
            throughput_gbps * 1e3
        );
        assert!(throughput_gbps > 0.95, "{scheme}: {found:?}");
        // 400 us without a queue, and 1,600 us of 200 KB.
        assert!((400.0..2_500.0).contains(&rtt_p50_us), "{scheme}: {found:?}");
        let again = run(&document, scheme).summary;
        assert_eq!(format!("{found:?}"), format!("{again:?}"), "{scheme}");
    }
}

#[test]
fn a_scheme_of_a_library_has_no_parameters() {
    know_all();
    let document = scenario(1, 250, 225, [0, 1]);
    let said = document.scenario().scheme("quinn-cubic[beta=0.5]").unwrap_err().to_string();
    assert!(said.contains("unknown parameter \"beta\""), "{said}");
}
