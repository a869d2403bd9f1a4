//! Messages and requests that are unfinished at the end of a run: they have rows, and percentiles
//! count them as the slowest.

use incast_sim::Report;

use super::setting::star;
use crate::common::{counts, numbers, ps, run, texts};

/// Ten messages of a host, the first nine of 1 KB, one after the other, and then one of 1 MB, which
/// takes 83.2 us on its link.
fn nine_and_a_large_one(duration: &str) -> Report {
    run(&star(
        2,
        duration,
        "[[traffic]]\nkind = \"connections\"\nname = \"small\"\nfrom = \"host0\"\nto = \"host1\"\nmessage = \"1KB\"\ncount = 9\n\
         every = \"10us\"\ndeadline = \"50us\"\n\
         [[traffic]]\nkind = \"connections\"\nname = \"large\"\nfrom = \"host0\"\nto = \"host1\"\nmessage = \"1MB\"\ncount = 1\n\
         start = \"100us\"\ndeadline = \"50us\"\n",
    ))
}

fn is_null(report: &Report, table: &str, column: &str, row: usize) -> bool {
    numbers(report, table, column)[row].is_nan()
}

#[test]
fn a_message_that_was_not_delivered_has_a_row() {
    let report = nine_and_a_large_one("140us");
    let finished = counts(&report, "messages", "finished");
    assert_eq!(finished, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    for column in ["completed_us", "completion_us", "network_us", "slowdown", "met_deadline"] {
        assert!(is_null(&report, "messages", column, 9), "{column}");
        assert!(!is_null(&report, "messages", column, 8), "{column}");
    }
    assert!(is_null(&report, "messages", "elapsed_us", 8));
    let time = |column| ps(numbers(&report, "messages", column)[9]);
    assert_eq!([time("posted_us"), time("elapsed_us")], [100_000_000, 40_000_000]);
    assert_eq!([time("first_sent_us"), time("host_us")], [100_000_000, 0]);
    assert!(time("ideal_us") > 83_200_000);
    // The first packet is there after 2 us and two times its 0.12 us, and the others follow one
    // after the other. Seven segments, each of 43 packets of 1,500 B and one of 1,260 B with its
    // headers, take 36.83 us in all; eight packets more are there by 139.91 us, and the ninth would
    // be by 140.03 us.
    let arrived = 7 * 64_000 + 8 * 1_460;
    assert_eq!(counts(&report, "messages", "delivered_bytes")[8..], [1_000, arrived]);
}

#[test]
fn a_deadline_that_passed_is_missed_and_one_that_may_be_met_is_not() {
    let missed = nine_and_a_large_one("160us");
    assert!(numbers(&missed, "messages", "met_deadline")[9].abs() < 0.5);
    let open = nine_and_a_large_one("140us");
    assert!(is_null(&open, "messages", "met_deadline", 9));
}

#[test]
fn a_message_whose_first_packet_has_not_left_says_so() {
    // The second one waits behind the first on the same connection for all of the run.
    let report = run(&star(
        2,
        "50us",
        "[[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\nto = \"host1\"\nmessage = \"1MB\"\ncount = 2\n",
    ));
    assert_eq!(counts(&report, "messages", "finished"), [0, 0]);
    let left = ["first_sent_us", "host_us"].map(|c| is_null(&report, "messages", c, 0));
    let waits = ["first_sent_us", "host_us"].map(|c| is_null(&report, "messages", c, 1));
    assert_eq!((left, waits), ([false; 2], [true; 2]));
    let delivered = counts(&report, "messages", "delivered_bytes");
    assert!(delivered[0] > 500_000 && delivered[1] == 0, "{delivered:?}");
}

#[test]
fn percentiles_count_what_was_not_delivered_as_the_slowest() {
    let report = run(&star(
        2,
        "1ms",
        "[measure]\nsize_bins = [\"10KB\"]\n[[traffic]]\nkind = \"connections\"\nname = \"small\"\nfrom = \"host0\"\nto = \"host1\"\n\
         message = \"1KB\"\ncount = 98\nevery = \"10us\"\n[[traffic]]\nkind = \"connections\"\nname = \"large\"\nfrom = \"host1\"\n\
         to = \"host0\"\nmessage = \"10MB\"\ncount = 2\nstart = \"800us\"\nevery = \"100us\"\n",
    ));
    assert_eq!((report.summary.messages, report.summary.messages_posted), (98, 100));
    // The 99th of 100 is one of the two that were not delivered. They had been under way for 200 us
    // and 100 us of an ideal of 832 us: less than the others took beside theirs, so that the bound
    // is the slowest of these.
    assert!(report.summary.slowdown_p99.is_nan());
    assert!((report.summary.slowdown_p99_bound - 1.0).abs() < 1e-9);
    assert_eq!(counts(&report, "fct", "posted"), [98, 2]);
    assert_eq!(counts(&report, "fct", "finished"), [98, 0]);
    assert!(!is_null(&report, "fct", "completion_p99_us", 0));
    assert!(is_null(&report, "fct", "completion_p99_bound_us", 0));
    for column in ["completion_mean_us", "completion_p50_us", "completion_p99_us", "slowdown_p999"]
    {
        assert!(is_null(&report, "fct", column, 1), "{column}");
    }
    let bound = |column| numbers(&report, "fct", column)[1];
    let [median, p99] =
        ["completion_p50_bound_us", "completion_p99_bound_us"].map(|c| ps(bound(c)));
    assert_eq!((median, p99), (100_000_000, 200_000_000));
    let ideal = numbers(&report, "messages", "ideal_us")[98];
    assert!((bound("slowdown_p99_bound") - 200.0 / ideal).abs() < 1e-12);
}

#[test]
fn requests_incasts_and_rounds_that_are_not_complete_have_rows() {
    let report = run(&star(
        5,
        "100us",
        "[[traffic]]\nname = \"ask\"\nfrom = \"host0\"\nto = \"host\"\n\
         kind = \"requests\"\noutstanding = 2\nfan_out = 2\nsizes = { fixed = \"1MB\" }\n\
         [[traffic]]\nname = \"burst\"\nfrom = \"host\"\nkind = \"incast\"\nload = 0.5\nsenders = 4\nsize = \"100KB\"\n\
         [[traffic]]\nname = \"reduce\"\nfrom = \"host\"\nkind = \"collective\"\ncollective = \"all-reduce\"\nsize = \"10MB\"\n",
    ));
    let (kinds, finished) =
        (texts(&report, "requests", "kind"), counts(&report, "requests", "finished"));
    for kind in ["read", "incast", "all-reduce"] {
        let unfinished = kinds.iter().zip(finished).filter(|(k, f)| **k == kind && **f == 0);
        assert!(unfinished.count() >= 2, "{kind}");
    }
    let [posted, elapsed, completion] =
        ["posted_us", "elapsed_us", "completion_us"].map(|c| numbers(&report, "requests", c));
    let [fan_out, done] = ["fan_out", "messages_finished"].map(|c| counts(&report, "requests", c));
    for row in 0..finished.len() {
        if finished[row] == 1 {
            assert_eq!(done[row], fan_out[row]);
            assert!(elapsed[row].is_nan() && completion[row] > 0.0);
        } else {
            assert!(done[row] < fan_out[row]);
            assert!(completion[row].is_nan() && (elapsed[row] + posted[row] - 100.0).abs() < 1e-9);
        }
    }
    // Each client and each member has as many as it has begun.
    let begun = counts(&report, "load", "requests");
    let rows = |kind: &str| kinds.iter().filter(|known| **known == kind).count() as u64;
    assert_eq!([begun[0], begun[2]], [rows("read"), rows("all-reduce")]);
}
