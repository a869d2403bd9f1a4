//! The demo's claim on the shipped scenario: what TIMELY costs and what it gains.

use std::path::Path;

use incast_sim::scenario::Document;
use incast_sim::{Report, TraceConfig};

use crate::common::run_with;

fn shipped() -> Document {
    let path = "../../../python/incast/scenarios/incast.toml";
    Document::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn run(document: &Document, scheme: &str) -> Report {
    run_with(document, scheme, document.scenario().run.seed, TraceConfig::default())
}

#[test]
fn timely_keeps_the_throughput_of_pfc_at_a_fifth_of_its_rtt_as_published() {
    let document = shipped();
    assert_eq!(document.scenario().run.schemes, ["timely", "line-rate"]);
    let (pfc, timely) = std::thread::scope(|scope| {
        let timely = scope.spawn(|| run(&document, "timely"));
        (run(&document, "line-rate").summary, timely.join().unwrap().summary)
    });
    let ratio = timely.throughput_gbps / pfc.throughput_gbps;
    assert!((0.97..=1.001).contains(&ratio), "throughput: {ratio:.4} of PFC's");
    let ratio = timely.rtt_mean_us / pfc.rtt_mean_us;
    assert!(ratio < 0.2, "mean RTT: {ratio:.4} of PFC's");
    assert_eq!((timely.drops, pfc.drops), (0, 0));
    assert_eq!((timely.retransmissions, pfc.retransmissions), (0, 0));
    // PFC alone keeps the port busy: 20 Gb/s less 40 B of headers in 1,500 B.
    assert!((19.4..=19.5).contains(&pfc.throughput_gbps), "{}", pfc.throughput_gbps);
    // The published table, Table 1 of the paper, within 20 %.
    let close = |what: &str, is: f64, published: f64| {
        let off = is / published - 1.0;
        assert!(off.abs() <= 0.2, "{what}: {is} is {off:+.2} off {published}");
    };
    for (scheme, summary, published) in
        [("TIMELY", &timely, [19.4, 61.0, 116.0]), ("PFC", &pfc, [19.5, 658.0, 1_036.0])]
    {
        close(&format!("{scheme}'s throughput"), summary.throughput_gbps, published[0]);
        close(&format!("{scheme}'s mean RTT"), summary.rtt_mean_us, published[1]);
        close(&format!("{scheme}'s p99 RTT"), summary.rtt_p99_us, published[2]);
    }
    // It does that by pausing all the time; TIMELY hardly ever needs to.
    assert!(pfc.pfc_pauses > 1_000 && timely.pfc_pauses * 100 < pfc.pfc_pauses);
}
