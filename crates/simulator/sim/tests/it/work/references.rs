//! The references of a run: the fluid max-min, the greedy schedule, and the bound by shortest
//! remaining first.

use incast_sim::{Report, Simulation, TraceConfig};

use super::setting::star;
use crate::common::{counts, document, numbers, run, run_with, shipped};

/// A column of the table of the ideal.
fn column(report: &Report, name: &str) -> Vec<f64> {
    numbers(report, "ideal", name).to_vec()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_run_has_the_table_only_if_it_asks_for_it() {
    let text = star(
        2,
        "1ms",
        "[[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\nto = \"host1\"\nmessage = \"1MB\"",
    );
    let has = |report: &Report| report.tables.iter().any(|table| table.name == "ideal");
    let plain = run(&text);
    let asked = run(&format!("{text}\n[measure]\nideal = true"));
    assert_eq!((has(&plain), has(&asked)), (false, true));
    // Nothing else is different.
    let others = asked.tables.iter().filter(|table| table.name != "ideal");
    assert_eq!(format!("{:?}", plain.tables), format!("{:?}", others.collect::<Vec<_>>()));
}

#[test]
fn a_message_that_is_alone_takes_its_ideal_time_in_all_of_them() {
    for operation in ["write", "read"] {
        let report = run(&star(
            2,
            "5ms",
            &format!(
                "[measure]\nideal = true\n[[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\n\
                 to = \"host1\"\nmessage = \"1MB\"\ncount = 3\nevery = \"1ms\"\noperation = \"{operation}\""
            ),
        ));
        for name in ["fluid_us", "greedy_us", "srpt_us"] {
            for (found, ideal) in column(&report, name).iter().zip(column(&report, "ideal_us")) {
                assert!((found - ideal).abs() < 1e-5, "{operation}, {name}: {found}, {ideal}");
            }
        }
    }
}

#[test]
fn two_senders_into_one_host_share_its_link_or_take_turns() {
    // 1 MB and 2 MB at 100 Gb/s, 1,460 B of 1,500 B: 685 and 1,370 packets, 1,027,400 B and
    // 2,054,800 B with 40 B of header each. At once they are sent in 82.192 us and 164.384 us.
    let report = run(&star(
        3,
        "2ms",
        "[measure]\nideal = true\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\nto = \"host2\"\nmessage = \"1MB\"\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"host1\"\nto = \"host2\"\nmessage = \"2MB\"",
    ));
    let ideal = column(&report, "ideal_us");
    let beside = [ideal[0] - 82.192, ideal[1] - 164.384];
    // The first has half the link for twice its time. The second has half of it until then, and all
    // of it for the rest: 82.192 + 164.384 in all.
    let fluid = column(&report, "fluid_us");
    assert!((fluid[0] - (164.384 + beside[0])).abs() < 1e-5, "{fluid:?} {ideal:?}");
    assert!((fluid[1] - (246.576 + beside[1])).abs() < 1e-5, "{fluid:?} {ideal:?}");
    // The shorter one first.
    let greedy = column(&report, "greedy_us");
    assert!((greedy[0] - ideal[0]).abs() < 1e-5, "{greedy:?} {ideal:?}");
    assert!((greedy[1] - (246.576 + beside[1])).abs() < 1e-5, "{greedy:?} {ideal:?}");
    // The bound has one packet of 41 B before the link of host2, 3.28 ns, and two delays of 1 us.
    let bound = column(&report, "srpt_us");
    assert!((bound[0] - (82.192 + 2.00328)).abs() < 1e-5, "{bound:?}");
    assert!((bound[1] - (246.576 + 2.00328)).abs() < 1e-5, "{bound:?}");
}

#[test]
fn messages_of_a_connection_wait_for_each_other_and_one_without_end_keeps_its_share() {
    let report = run(&star(
        3,
        "5ms",
        "[measure]\nideal = true\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\nto = \"host2\"\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"host1\"\nto = \"host2\"\nmessage = \"1MB\"\ncount = 2\n\
         every = \"100us\"",
    ));
    // 82.192 us of line rate take twice as long at half of it; the second comes at 100 us, and
    // waits until 164.384 us.
    let (ideal, fluid) = (column(&report, "ideal_us"), column(&report, "fluid_us"));
    assert!((fluid[0] - ideal[0] - 82.192).abs() < 1e-5, "{fluid:?} {ideal:?}");
    assert!((fluid[1] - ideal[1] - 82.192 - 64.384).abs() < 1e-5, "{fluid:?} {ideal:?}");
    // One without end is the last in a schedule, and waits.
    assert!((column(&report, "greedy_us")[1] - ideal[1]).abs() < 1e-5);
}

#[test]
fn sprayed_messages_have_all_paths() {
    // 40 Gb/s over two spines of 10 Gb/s: 20 Gb/s. 685 packets in 1,027,400 B.
    let text = "title = \"sprayed\"\n[run]\nduration = \"5ms\"\nschemes = [\"line-rate\"]\n\
         [network.leaf-spine]\nleaves = 2\nspines = 2\n\
         hosts = { name = \"h\", count = 1, rate = \"40Gbps\", delay = \"1us\" }\n\
         uplink = { rate = \"10Gbps\", delay = \"1us\" }\n[routing]\nkind = \"spray\"\n\
         [switch]\nbuffer = \"10MB\"\nalpha = 64\n[measure]\nideal = true\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"h0\"\nto = \"h1\"\nmessage = \"1MB\"\n";
    let report = run(text);
    let (ideal, fluid) = (column(&report, "ideal_us")[0], column(&report, "fluid_us")[0]);
    assert!((ideal - fluid - 1_027_400.0 * 8.0 / 20_000.0).abs() < 1e-5, "{ideal} {fluid}");
    assert!((fluid - column(&report, "greedy_us")[0]).abs() < 1e-9);
    let one = run(&text.replace("\"spray\"", "\"ecmp\""));
    let (ideal, fluid) = (column(&one, "ideal_us")[0], column(&one, "fluid_us")[0]);
    assert!((ideal - fluid).abs() < 1e-5, "{ideal} {fluid}");
}

#[test]
fn no_scheme_has_a_mean_below_the_bound() {
    let networks = [
        "[network.star]\nhosts = [{ name = \"h\", count = 6, rate = \"10Gbps\", delay = \"1us\" }]",
        "[network.leaf-spine]\nleaves = 3\nspines = 2\nuplink = { rate = \"10Gbps\", delay = \"2us\" }\n\
         hosts = { name = \"h\", count = 3, rate = \"10Gbps\", delay = \"1us\" }",
        "[network.leaf-spine]\nleaves = 2\nspines = 2\nuplink = { rate = \"10Gbps\", delay = \"1us\" }\n\
         hosts = { name = \"h\", count = 3, rate = \"25Gbps\", delay = \"1us\" }\n\
         [routing]\nkind = \"spray\"",
    ];
    let traffics = [
        "kind = \"poisson\"\nfrom = \"h\"\nto = \"h\"\nload = 0.7\nsizes = \"web-search\"",
        "kind = \"poisson\"\nfrom = \"h\"\nto = \"h\"\nload = 0.5\nsizes = { fixed = \"20KB\" }\noperation = \"read\"",
        "kind = \"connections\"\nfrom = \"h\"\nto = \"h0\"\nmessage = \"30KB\"\ncount = 5\nevery = \"70us\"",
    ];
    let mut compared = 0;
    for network in networks {
        for traffic in traffics {
            let text = format!(
                "title = \"bound\"\n[run]\nduration = \"60ms\"\ncooldown = \"57ms\"\n\
                 schemes = [\"timely\"]\n{network}\n[switch]\nbuffer = \"10MB\"\n\
                 [measure]\nideal = true\n[[traffic]]\n{traffic}\nstop = \"3ms\""
            );
            let text = if traffic.contains("connections") {
                text.replace("\nstop = \"3ms\"", "")
            } else {
                text
            };
            for (scheme, seed) in [("timely", 1), ("dctcp", 2), ("line-rate", 3), ("homa", 4)] {
                let Ok(_) = document(&text).scenario().scheme(scheme) else { continue };
                let report = run_with(&document(&text), scheme, seed, TraceConfig::default());
                let bound = mean(&column(&report, "srpt_us"));
                let (fluid, greedy) = (column(&report, "fluid_us"), column(&report, "greedy_us"));
                assert!(bound <= mean(&greedy) * 1.000_001, "{scheme}: {text}");
                assert!(bound <= mean(&fluid) * 1.000_001, "{scheme}: {text}");
                if counts(&report, "messages", "finished").contains(&0) {
                    continue; // a mean of some of them is not bounded
                }
                compared += 1;
                let took = mean(numbers(&report, "messages", "completion_us"));
                assert!(bound <= took, "{scheme}: {took} us, and the bound {bound} us: {text}");
            }
        }
    }
    assert!(compared > 15, "or it says little: {compared}");
}

#[test]
fn a_larger_run_has_its_references() {
    // Messages that applications post during the run, reads, and incasts, of what ships.
    for name in ["incast", "timely-clos-rpc", "tcp-incast"] {
        let document = shipped(
            name,
            &["run.duration=2ms", "run.warmup=0s", "run.cooldown=0s", "measure.ideal=true"],
        );
        let scheme = document.scenario().run.schemes[0].clone();
        let report = run_with(&document, &scheme, 1, TraceConfig::default());
        let (ideal, fluid) = (column(&report, "ideal_us"), column(&report, "fluid_us"));
        assert_eq!(ideal.len(), numbers(&report, "messages", "ideal_us").len());
        for (ideal, fluid) in ideal.iter().zip(&fluid) {
            assert!(fluid.is_nan() || *fluid >= ideal - 1e-3, "{name}: {fluid} {ideal}");
        }
    }
}

#[test]
fn a_request_ends_with_the_last_of_its_messages() {
    // Two reads of 1 MB, or three writes of an incast, into one host: 82.192 us of its link each.
    // The fluid serves all at once and the greedy schedule one by one, and both end with the last.
    let read = "[[traffic]]\nkind = \"requests\"\nfrom = \"host0\"\nto = \"host[1-3]\"\nfan_out = 2\n\
                outstanding = 1\nthink_time = \"300us\"\nsizes = { fixed = \"1MB\" }";
    let incast = "[[traffic]]\nkind = \"incast\"\nfrom = \"host[1-3]\"\nto = \"host0\"\nload = 0.05\n\
                  senders = 3\nsize = \"1MB\"";
    for (traffic, at_once) in [(read, 2.0), (incast, 3.0)] {
        let report = run(&star(4, "5ms", &format!("[measure]\nideal = true\n{traffic}")));
        let alone = column(&report, "ideal_us")[0];
        let expected = alone + (at_once - 1.0) * 82.192;
        let requests = numbers(&report, "requests", "fluid_us");
        assert!(!requests.is_empty());
        for found in requests.iter().chain(numbers(&report, "requests", "greedy_us")) {
            assert!((found - expected).abs() < 1e-5, "{found}, not {expected}: {traffic}");
        }
    }
}

#[test]
fn rounds_whose_messages_wait_for_others_have_no_ideal() {
    let ring = "[[traffic]]\nkind = \"collective\"\nfrom = \"host\"\ncollective = \"all-reduce\"\n\
                size = \"1MB\"\nrounds = 2";
    let report = run(&star(4, "5ms", &format!("[measure]\nideal = true\n{ring}")));
    let found = numbers(&report, "requests", "fluid_us");
    assert!(!found.is_empty() && found.iter().all(|us| us.is_nan()), "{found:?}");
    let plain = run(&star(4, "5ms", ring));
    let requests = plain.tables.iter().find(|table| table.name == "requests").unwrap();
    assert!(requests.columns.iter().all(|column| column.name != "fluid_us"));
}

#[test]
fn the_ideal_of_what_is_posted_in_advance_needs_no_packets() {
    let poisson = "[[traffic]]\nkind = \"poisson\"\nfrom = \"host\"\nto = \"host\"\nload = 0.5\n\
                   sizes = \"web-search\"\n[[traffic]]\nkind = \"incast\"\nfrom = \"host\"\n\
                   to = \"host0\"\nload = 0.1\nsenders = 3\nsize = \"20KB\"";
    let closed = "[[traffic]]\nkind = \"requests\"\nfrom = \"host0\"\nto = \"host[1-3]\"\n\
                  outstanding = 2\nsizes = { fixed = \"20KB\" }";
    for (traffic, sends) in [(poisson, false), (closed, true)] {
        let document = document(&star(5, "3ms", &format!("[measure]\nideal = true\n{traffic}")));
        let whole = run_with(&document, "timely", 1, TraceConfig::default());
        let scenario = document.scenario();
        let posting = Simulation::new(scenario, "timely", 1, TraceConfig::default()).unwrap();
        let mut posting = posting.only_posting();
        while posting.advance(1 << 20) {}
        let posted = posting.finish();
        let ideal = |report: &Report| {
            let table = report.tables.iter().find(|table| table.name == "ideal").unwrap();
            assert!(table.columns[0].values.len() > 20);
            format!("{table:?}")
        };
        assert_eq!(ideal(&whole), ideal(&posted), "{traffic}");
        assert_eq!(posted.books.sent_packets > 0, sends, "{traffic}");
    }
}
