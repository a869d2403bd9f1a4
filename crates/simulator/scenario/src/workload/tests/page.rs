//! Tests of the page that lists the tables.

use std::fmt::Write as _;
use std::path::Path;

use crate::workload::{Interpolation, Shipped, named, tables};

/// A number with its digits in groups of three.
pub(in crate::workload) fn grouped(digits: &str) -> String {
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// The part of the page that follows from the tables.
fn listed() -> String {
    let bytes = |size: f64| grouped(&format!("{:.0}", size.round()));
    let mut text = String::from(
        "| table | points | between them | mean | median | p99 | largest | mean, read the other way |\n\
         |---|--:|---|--:|--:|--:|--:|--:|\n",
    );
    for shipped in tables() {
        let table = &shipped.table;
        let other = match table.interpolation() {
            Interpolation::Linear => shipped.mean_step,
            Interpolation::Step => shipped.mean_linear,
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
            shipped.name,
            shipped.points,
            table.interpolation().as_str(),
            bytes(table.mean()),
            bytes(table.quantile(0.5)),
            bytes(table.quantile(0.99)),
            bytes(table.largest()),
            bytes(other)
        );
    }
    text.push_str("\n| table | what it is | source: repository, commit, file |\n|---|---|---|\n");
    for shipped in tables() {
        let _ = writeln!(text, "| `{}` | {} | {} |", shipped.name, shipped.what, shipped.source);
    }
    text
}

#[test]
fn the_page_lists_the_tables_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/guide/workloads.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (start, end) = ("<!-- tables -->\n", "<!-- end of tables -->");
    let (before, rest) = page.split_once(start).unwrap();
    let (now, after) = rest.split_once(end).unwrap();
    let listed = listed();
    if std::env::var_os("INCAST_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{before}{start}{listed}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(
        now, listed,
        "docs/guide/workloads.md is not what the tables are. If that is meant, renew it with\n\
         INCAST_UPDATE_GOLDEN=1 cargo test -p incast-sim the_page_lists"
    );
}

#[test]
fn the_page_warns_with_the_right_numbers() {
    let page = include_str!("../../../../../../docs/guide/workloads.md");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let get = |name: &str| -> &Shipped { named(name).unwrap() };
    let mean = |name: &str| get(name).table.mean();
    let packets = |name: &str| grouped(&format!("{:.0}", mean(name) / 1_460.0));
    let megabytes =
        |name: &str, part: f64| format!("{:.0} MB", get(name).table.quantile(part) / 1e6);
    let web = get("web-search");
    let vl2_over_pias = mean("data-mining-vl2") / mean("data-mining-pias");
    let w4_over_hadoop = mean("homa-w4") / mean("facebook-hadoop-2015");
    for claim in [
        format!("{:.2} times as large", web.mean_step / web.mean_linear),
        format!("{:.1} % apart", 100.0 * (w4_over_hadoop - 1.0)),
        format!("the one of VL2 is {vl2_over_pias:.1} times as large"),
        format!("2 % of the flows are above {}", megabytes("data-mining-vl2", 0.98)),
        format!("in the one of PIAS 1 % above {}", megabytes("data-mining-pias", 0.99)),
        format!(
            "its mean is {:.1} times that of `web-search`",
            mean("homa-w5") / mean("web-search")
        ),
        format!("give {} and {}", packets("web-search-pias"), packets("data-mining-pias")),
        format!(
            "{:.1} % apart for web search",
            100.0 * (mean("web-search-pias") / (1_138.0 * 1_460.0) - 1.0)
        ),
    ] {
        assert!(page.contains(&claim), "docs/guide/workloads.md does not say: {claim}");
    }
}
