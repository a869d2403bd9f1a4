use incast_scenario::Document;
use incast_table::Table;

use super::columns::Tables;
use super::numbers::{number, time, two_digits_up};
use super::{Counts, Doubt, Halves, Kind, Moving, Overflow, counts, of_report, sentences, stalls};
use crate::{Simulation, TraceConfig};

/// A message of 1 KB that has been under way for a millisecond.
fn late() -> Table {
    let rows = [()];
    Table::new("messages", "")
        .column(("traffic", "", ""), &rows, |()| "all".to_owned())
        .column(("bytes", "B", ""), &rows, |()| 1_000_u64)
        .column(("delivered_bytes", "B", ""), &rows, |()| 0_u64)
        .column(("ideal_us", "us", ""), &rows, |()| 10.0)
        .column(("completion_us", "us", ""), &rows, |()| f64::NAN)
        .column(("elapsed_us", "us", ""), &rows, |()| 1_000.0)
        .column(("finished", "", ""), &rows, |()| 0_u64)
}

#[test]
fn a_drain_has_room_for_the_first_timeout_where_packets_were_dropped() {
    let table = late();
    let tables = [&table];
    let left_us = |timeout_us| counts::left_us("all", Tables(&tables), None, timeout_us);
    assert_eq!(left_us(0.0), Some(1_000.0));
    assert_eq!(left_us(16_000.0), Some(15_000.0));
}

#[test]
fn the_first_timeout_is_that_of_the_transport() {
    for (text, us) in [
        ("", 16_000.0),
        ("kind = \"stream\"", 16_000.0),
        ("kind = \"stream\"\nstream.preset = \"linux\"", 1e6),
        ("kind = \"stream\"\nstream.preset = \"ns-3\"\nrto_initial = \"3ms\"", 3_000.0),
    ] {
        let scenario = format!("[transport]\n{text}").parse().unwrap();
        assert_eq!(counts::first_timeout_us(&scenario), us, "{text}");
    }
}

#[test]
fn numbers_and_times_are_short() {
    for (value, text) in [(0.0, "0"), (7.4, "7.4"), (12.34, "12.3"), (999.4, "999")] {
        assert_eq!(number(value), text);
    }
    assert_eq!(number(1_234.5), "1234");
    for (us, text) in [(0.5, "500ns"), (100.0, "100us"), (4_600.0, "4.6ms"), (12e9, "12000s")] {
        assert_eq!(time(us), text);
    }
    assert_eq!([2_210.0, 2_300.0, 0.031].map(two_digits_up), [2_300.0, 2_300.0, 0.031]);
}

#[test]
fn a_job_that_cannot_end_names_a_host_and_a_step_that_wait() {
    let rows =
        [("h1", 4_u64, "receive", "h0"), ("h1", 5, "receive", "h0"), ("h2", 0, "receive", "")];
    let table = Table::new("stalled", "")
        .column(("traffic", "", ""), &rows, |_| "training".to_owned())
        .column(("host", "", ""), &rows, |row| row.0.to_owned())
        .column(("step", "", ""), &rows, |row| row.1)
        .column(("kind", "", ""), &rows, |row| row.2.to_owned())
        .column(("peer", "", ""), &rows, |row| row.3.to_owned());
    let found: Vec<_> = stalls::of(Tables(&[&table])).into_iter().map(Doubt::Stall).collect();
    let said = sentences(&[(String::new(), vec![of_one("timely", &[&found])])]);
    assert_eq!(
        said,
        [
            "traffic training: it cannot end, since every message has arrived and hosts still wait: 2 \
          under timely; h1 waits in step 4 for a message of h0; give each receive its send (the \
          table stalled has all steps that wait)"
        ]
    );
}

fn of_one(scheme: &str, of_seeds: &[&[Doubt]]) -> (String, Vec<Vec<Doubt>>) {
    (scheme.into(), of_seeds.iter().map(|doubts| doubts.to_vec()).collect())
}

#[test]
fn seeds_are_judged_together() {
    let rate =
        |first, second| Doubt::Halves(Halves { figure: Moving::Rate, first, second, error: 0.1 });
    let said =
        |of_seeds: &[&[Doubt]]| sentences(&[(String::new(), vec![of_one("timely", of_seeds)])]);
    assert!(said(&[&[rate(10.0, 8.0)]])[0].contains("from 10 to 8 Gb/s under timely (-20%);"));
    assert!(said(&[&[rate(10.0, 8.0)], &[rate(8.0, 10.0)]]).is_empty());
}

#[test]
fn schemes_and_points_share_a_sentence() {
    let counts = |posted, finished, left_us| {
        Doubt::Counts(Counts {
            kind: Kind::Messages,
            traffic: "rpc".into(),
            posted,
            finished,
            left_us: Some(left_us),
            drain_us: 0.0,
        })
    };
    let few = |scheme| of_one(scheme, &[&[counts(1_000, 991, 5.0)]]);
    let schemes = ["a", "b", "c", "d"].map(|scheme| of_one(scheme, &[&[counts(100, 90, 230.0)]]));
    let all = [
        ("load 0.1".into(), vec![few("a")]),
        ("load 0.5".into(), schemes.to_vec()),
        ("load 0.9".into(), vec![of_one("a", &[&[counts(100, 75, 2_210.0)]])]),
    ];
    assert_eq!(
        sentences(&all),
        ["traffic rpc: of the messages posted while measured had not finished by the end of the \
          run: 25.0% under a (25 of 100) at load 0.9, the worst of 2 points, 10.0% under b (10 of \
          100) at load 0.5, 10.0% under c (10 of 100) at load 0.5, and under 1 more schemes; \
          percentiles count them as the slowest, means leave them out; by what is left and the \
          rate they need some 2.3ms more: set run.drain to \"4.6ms\", or add that to run.cooldown \
          and run.duration"]
    );
}

#[test]
fn a_headroom_that_would_do_is_told_only_if_it_is_more() {
    let overflow = |headroom_kb| {
        Doubt::Overflow(Overflow {
            of_class: "data".into(),
            drops: 60,
            port: "tor->b".into(),
            headroom_kb,
            needed_kb: 16.54,
        })
    };
    let said = |headroom| {
        let of = of_one("timely", &[&[overflow(headroom)]]);
        sentences(&[(String::new(), vec![of])]).remove(0)
    };
    let begin = "class data: PFC protects it, and yet switches dropped of it 60 packets under \
                 timely, most at tor->b; its headroom there is ";
    let more = "3 KB, and 16.6 KB come after a pause: leave out switch.pfc.headroom, or raise it \
                to \"16.6KB\"";
    assert_eq!(said(3.0), format!("{begin}{more}"));
    assert!(said(20.0).starts_with(&format!("{begin}20 KB, which should hold what comes")));
}

/// The doubts of a run, and the sentences of them.
fn run(text: &str, scheme: &str) -> (Vec<Doubt>, Vec<String>) {
    let document = Document::parse(text.to_owned(), "test.toml").unwrap();
    let config = TraceConfig::default();
    let mut run = Simulation::new(document.scenario(), scheme, 1, config).unwrap();
    while run.advance(1 << 20) {}
    let doubts = of_report(&run.finish(), &document);
    let point = (String::new(), vec![of_one(scheme, &[&doubts])]);
    (doubts, sentences(&[point]))
}

const LATE: &str = r#"
title = "messages that take too long"
[run]
duration = "1ms"
schemes = ["line-rate"]
[[network.star.hosts]]
name = "host"
count = 2
rate = "10Gbps"
delay = "1us"
[[traffic]]
kind = "connections"
name = "bulk"
from = "host0"
to = "host1"
message = "1MB"
count = 4
every = "100us"
"#;

#[test]
fn a_run_is_doubted_by_its_own_tables() {
    // A message takes 0.83 ms of its link: the first is there after 1 ms, the others are not.
    let (doubts, told) = run(LATE, "line-rate");
    let [Doubt::Counts(counts)] = &doubts[..] else { panic!("{doubts:?}") };
    assert_eq!((counts.posted, counts.finished), (4, 1));
    assert!(told[0].contains("75.0% under line-rate (3 of 4)"), "{told:?}");
    assert!(told[0].contains("some 2.3ms more: set run.drain to \"4.6ms\""), "{told:?}");
    let text = serde_json::to_string(&doubts).unwrap();
    assert!(text.starts_with(r#"[{"type":"counts","kind":"messages","traffic":"bulk""#), "{text}");
    assert_eq!(serde_json::from_str::<Vec<Doubt>>(&text).unwrap(), doubts);
    let drained = LATE.replace("\"1ms\"", "\"1ms\"\ndrain = \"100us\"");
    let (_, told) = run(&drained, "line-rate");
    assert!(told[1].starts_with("run.drain: at its end after 100us messages"), "{told:?}");
    assert!(told[1].contains("3 under line-rate; by"), "{told:?}");
}
