//! Runs that drain: arrivals stop at the end of the duration, and the run ends when the last
//! message has arrived, or at the limit.

use incast_cc::Span;
use incast_sim::scenario::Threads;
use incast_sim::{Report, Simulation, TraceConfig};

use super::setting::star;
use crate::common::{counts, document, numbers, run, shipped};

/// Ten messages of 1 MB, 83.2 us each on its link, that come every 20 us for 100 us.
fn ten(drain: &str, more: &str) -> Report {
    let text = star(
        3,
        "100us",
        &format!(
            "[[traffic]]\nkind = \"connections\"\nname = \"large\"\nfrom = \"host0\"\n\
             to = \"host1\"\nmessage = \"1MB\"\ncount = 10\nevery = \"20us\"\n{more}"
        ),
    );
    run(&text
        .replace("duration = ", &format!("drain = \"{drain}\"\ninterval = \"1us\"\nduration = ")))
}

fn ended_us(report: &Report) -> f64 {
    report.summary.simulated_s * 1e6
}

#[test]
fn a_run_ends_within_an_interval_of_the_last_arrival_and_nothing_begins_after_the_duration() {
    let report = ten("10ms", "");
    // Those at 0, 20, 40, 60 and 80 us; the sixth would come with the end of the duration.
    assert_eq!(counts(&report, "messages", "finished"), [1; 5]);
    let last = numbers(&report, "messages", "completed_us")[4];
    assert!((411.0..420.0).contains(&last), "{last}");
    // The ACK of the last packet is back 2 us after its arrival and the turnaround.
    assert!((last..last + 6.0).contains(&ended_us(&report)), "{} {last}", ended_us(&report));
    assert!(report.complete);
}

#[test]
fn the_limit_ends_a_run_in_which_messages_are_still_under_way() {
    let report = ten("200us", "");
    assert_eq!(counts(&report, "messages", "finished"), [1, 1, 1, 0, 0]);
    assert!((ended_us(&report) - 300.0).abs() < 1e-6);
    assert!(report.complete);
}

#[test]
fn what_is_measured_ends_with_the_duration() {
    let report = ten("10ms", "");
    // 100 Gb/s for 100 us, less two hops of the first packet, and headers.
    assert!((94.0..97.4).contains(&report.summary.throughput_gbps), "{:?}", report.summary);
}

#[test]
fn flows_without_end_go_on_and_are_not_waited_for() {
    let endless = "[[traffic]]\nkind = \"connections\"\nfrom = \"host2\"\nto = \"host1\"\n\
                   [switch.pfc]\nenabled = true\n";
    let report = ten("10ms", endless);
    assert_eq!(counts(&report, "messages", "finished"), [1; 5]);
    let last = numbers(&report, "messages", "completed_us")[4];
    assert!(last > 700.0, "half of the link is left: {last}");
    assert!((last..last + 60.0).contains(&ended_us(&report)), "{} {last}", ended_us(&report));
}

#[test]
fn what_has_begun_goes_on() {
    // A collective has its rounds, and a flow after others starts, although the duration is over.
    let rounds = "[[traffic]]\nkind = \"collective\"\ncollective = \"all-reduce\"\n\
                  from = \"host\"\nsize = \"1MB\"\nrounds = 3\ncompute = \"50us\"\n";
    let report = ten("10ms", rounds);
    assert_eq!(counts(&report, "requests", "finished"), [1; 9]);
    let listed = "[[traffic]]\nkind = \"flows\"\nlist = [\n\
                  { id = 1, from = \"host0\", to = \"host2\", size = \"2MB\", start = \"90us\" },\n\
                  { id = 2, from = \"host2\", to = \"host0\", size = \"10KB\", after = { all = [1] } },\n\
                  { id = 3, from = \"host0\", to = \"host1\", size = \"10KB\",\n\
                  after = { all = [1], event = \"sent\" } },\n]\n";
    let report = ten("10ms", listed);
    assert_eq!(counts(&report, "messages", "finished"), [1; 8]);
}

#[test]
fn a_run_that_drains_gives_the_same_bytes_however_it_is_cut_and_in_threads() {
    let short = ["run.duration=300us", "run.warmup=50us", "run.cooldown=20us", "run.drain=100ms"];
    for (name, scheme) in [("timely-storage", "timely"), ("fat-tree-web-search", "dctcp")] {
        let document = shipped(name, &short);
        let start = || Simulation::new(document.scenario(), scheme, 1, TraceConfig::default());
        let mut whole = start().unwrap();
        while whole.advance(1 << 20) {}
        let (end, whole) = (whole.simulated(), format!("{:?}", whole.finish()));
        assert!(end > Span::from_us(300) && end < Span::from_ms(100), "{name}: {end}");
        let mut pieces = start().unwrap();
        let mut until = Span::ZERO;
        while pieces.run_until(until) {
            pieces.advance(1_000);
            until += Span::from_us(37);
        }
        assert_eq!((pieces.simulated(), pieces.duration()), (end, end));
        assert!(whole == format!("{:?}", pieces.finish()), "{name} in pieces");
        for nodes in [false, true] {
            let threads = start().unwrap().in_node_windows(nodes).in_threads(Threads::Count(2));
            let mut threads = threads;
            threads.run_until(Span::from_ms(200));
            assert!(whole == format!("{:?}", threads.finish()), "{name} in two threads");
        }
    }
}

#[test]
fn a_run_without_messages_to_wait_for_is_refused() {
    let text =
        star(2, "1ms", "[[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\nto = \"host1\"\n");
    document(&text);
    let text = text.replace("duration = ", "drain = \"1ms\"\nduration = ");
    let error = incast_sim::scenario::Document::parse(text, "test.toml").unwrap_err();
    assert!(error.to_string().contains("1ms: all traffic is without end"), "{error}");
}
