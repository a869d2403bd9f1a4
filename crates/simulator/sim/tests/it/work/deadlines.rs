//! Deadlines: who has them, and what results say of them.

use incast_sim::Report;
use incast_sim::scenario::Document;

use super::setting::{messages, star};
use crate::common::{counts, numbers, run};

/// The values of a column; those that are null are left out.
fn there(report: &Report, table: &str, column: &str) -> Vec<f64> {
    numbers(report, table, column).iter().copied().filter(|value| !value.is_nan()).collect()
}

fn has(report: &Report, table: &str, column: &str) -> bool {
    let table = report.tables.iter().find(|one| one.name == table).unwrap();
    table.columns.iter().any(|one| one.name == column)
}

/// Random flows of 20 KB, with a deadline or without.
fn flows(deadline: &str) -> Report {
    run(&star(
        4,
        "2ms",
        &format!(
            "[[traffic]]\nkind = \"poisson\"\nfrom = \"host\"\nload = 0.5\n\
             sizes = {{ fixed = \"20KB\" }}\n{deadline}"
        ),
    ))
}

#[test]
fn deadlines_change_no_arrivals_and_columns_are_there_where_they_are() {
    let without = flows("");
    let drawn = [
        "deadline = \"20us\"",
        "deadline = { exponential = \"20us\" }",
        "deadline = [{ share = 0.5, exponential = \"20us\", least = \"4us\" }]",
    ];
    for deadline in drawn {
        let with = flows(deadline);
        let times = |report: &Report| {
            messages(report).iter().map(|row| (row.posted, row.completed)).collect::<Vec<_>>()
        };
        assert_eq!(times(&with), times(&without), "{deadline}");
        assert!(has(&with, "messages", "late_us"));
        assert!(with.summary.deadlines > 100 && !with.summary.deadlines_missed_percent.is_nan());
    }
    assert!(!has(&without, "messages", "late_us") && !has(&without, "requests", "deadline_us"));
    assert_eq!(without.summary.deadlines, 0);
    assert!(without.summary.deadlines_missed_percent.is_nan());
}

#[test]
fn a_share_of_the_messages_has_a_deadline_and_figures_follow_from_the_table() {
    let report = flows("deadline = [{ share = 0.5, exponential = \"20us\", least = \"4us\" }]");
    let (all, with) =
        (numbers(&report, "messages", "deadline_us"), there(&report, "messages", "deadline_us"));
    // 50 %, within five standard deviations of some 1,200 draws: 7 %.
    assert!(all.len() > 1_000, "{}", all.len());
    assert!((with.len() as f64 / all.len() as f64 - 0.5).abs() < 0.07, "{}", with.len());
    assert!(with.iter().all(|&us| us >= 4.0) && with.contains(&4.0));
    let (met, late) =
        (there(&report, "messages", "met_deadline"), there(&report, "messages", "late_us"));
    assert_eq!(report.summary.deadlines, met.len() as u64);
    let missed = met.iter().filter(|&&met| met < 0.5).count() as f64;
    assert!((report.summary.deadlines_missed_percent - 100.0 * missed / met.len() as f64) < 1e-9);
    let late: Vec<_> = late.into_iter().filter(|&us| us > 0.0).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!((report.summary.late_mean_us / mean - 1.0).abs() < 1e-9, "{mean}");
}

#[test]
fn a_request_has_one_deadline_and_its_messages_the_same() {
    for operation in ["reads = 1.0\nfan_out = 3", "reads = 0.0\nreplicas = 3"] {
        let report = run(&star(
            5,
            "1ms",
            &format!(
                "[[traffic]]\nkind = \"requests\"\nfrom = \"host0\"\nto = \"host\"\n\
                 sizes = {{ fixed = \"50KB\" }}\n{operation}\n\
                 deadline = {{ exponential = \"20us\" }}"
            ),
        ));
        let requests = numbers(&report, "requests", "deadline_us");
        let mut of_requests: Vec<_> = requests.iter().flat_map(|&us| [us; 3]).collect();
        let mut of_messages = there(&report, "messages", "deadline_us");
        assert!(requests.len() > 20, "{}", requests.len());
        of_requests.sort_by(f64::total_cmp);
        of_messages.sort_by(f64::total_cmp);
        assert_eq!(of_messages, of_requests);
        // Requests count, not their messages.
        let judged = there(&report, "requests", "met_deadline").len();
        assert_eq!(report.summary.deadlines, judged as u64);
        assert!(counts(&report, "load", "deadlines")[0] > 2 * judged as u64);
    }
}

#[test]
fn an_incast_is_in_time_if_all_of_it_is_and_size_counts_on_the_receivers_link() {
    let report = run(&star(
        9,
        "5ms",
        "[[traffic]]\nkind = \"incast\"\nfrom = \"host[1-8]\"\nto = \"host0\"\nload = 0.3\n\
         senders = 8\nsize = \"50KB\"\ndeadline = { factor = 1.2, base = \"1us\" }",
    ));
    // 400 KB at 100 Gb/s: 1.2 (1 us + 32 us).
    let deadlines = numbers(&report, "requests", "deadline_us");
    assert!(deadlines.len() > 10);
    assert!(deadlines.iter().all(|us| (us - 39.6).abs() < 1e-6), "{deadlines:?}");
    let late = there(&report, "requests", "late_us");
    let [completion, met] =
        ["completion_us", "met_deadline"].map(|c| there(&report, "requests", c));
    assert!(late.iter().zip(&completion).all(|(late, us)| (us - 39.6 - late).abs() < 1e-6));
    assert!(met.iter().zip(&late).all(|(&met, &late)| (met > 0.5) == (late <= 0.0)));
    assert_eq!(report.summary.deadlines, met.len() as u64);
}

#[test]
fn messages_of_all_kinds_have_deadlines() {
    let from = |kind: &str, rest: &str| {
        format!("[[traffic]]\nkind = \"{kind}\"\ndeadline = {{ exponential = \"9us\" }}\n{rest}\n")
    };
    let all = [
        from("connections", "from = \"host0\"\nto = \"host1\"\nmessage = \"1KB\"\ncount = 9"),
        from("collective", "from = \"host\"\ncollective = \"all-reduce\"\nsize = \"9KB\""),
        from("ping-pong", "from = \"host0\"\nto = \"host1\"\nsize = \"1KB\"\nrounds = 5"),
        from(
            "flows",
            "list = [{ from = \"host0\", to = \"host1\", size = \"1KB\", id = 1 },\n\
             { from = \"host1\", to = \"host2\", size = \"1KB\", after = { all = [1] } }]",
        ),
    ];
    for traffic in all {
        let report = run(&star(4, "1ms", &traffic));
        let deadlines = numbers(&report, "messages", "deadline_us");
        let different: std::collections::BTreeSet<_> =
            deadlines.iter().map(|us| us.to_bits()).collect();
        assert!(!deadlines.iter().any(|us| us.is_nan()), "{traffic}");
        assert_eq!(different.len(), deadlines.len(), "each has its own: {traffic}");
    }
}

#[test]
fn a_scheme_that_needs_deadlines_says_so_where_there_are_none() {
    let warnings = |name: &str, deadline: &str| {
        let text = star(
            3,
            "1ms",
            &format!(
                "ecn_threshold = \"100KB\"\n[[traffic]]\nkind = \"poisson\"\nfrom = \"host\"\n\
                 load = 0.1\nsizes = {{ fixed = \"9KB\" }}\n{deadline}"
            ),
        );
        let document = Document::parse(text, "test.toml").unwrap();
        let scenario = document.scenario();
        let mut sentences = scenario.unmet_needs(name, &scenario.scheme(name).unwrap());
        sentences.retain(|sentence| !sentence.contains("answers of switches"));
        sentences
    };
    for name in ["d2tcp", "d3", "mcp"] {
        let says = format!(
            "{name} needs deadlines, but no traffic has any; set the deadline of a [[traffic]], \
             such as \"20ms\""
        );
        assert_eq!(warnings(name, ""), [says]);
        assert!(warnings(name, "deadline = \"1ms\"").is_empty());
    }
}
