//! Minimal and Valiant routing on a dragonfly, under the worst traffic for the former.

use incast_sim::Report;

use super::setting::{PAYLOAD_SHARE, assert_in, run};
use crate::common::{counts, numbers, repository, shipped, texts};

/// The groups of the shipped scenario, with 8 hosts each.
const GROUPS: f64 = 9.0;

/// The goodput of all hosts, as a share of their links' payload.
fn share(report: &Report) -> f64 {
    numbers(report, "flows", "goodput_gbps").iter().sum::<f64>()
        / (GROUPS * 8.0 * 10.0 * PAYLOAD_SHARE)
}

/// The utilisation of each link between groups.
fn global(report: &Report) -> Vec<f64> {
    let utilisation = numbers(report, "links", "utilisation");
    let group = |router: &str| router.strip_prefix("router")?.parse::<u32>().ok().map(|r| r / 4);
    let links = texts(report, "links", "link").iter().zip(utilisation);
    let between = links.filter(|(link, _)| {
        let (from, to) = link.split_once("->").unwrap();
        matches!((group(from), group(to)), (Some(from), Some(to)) if from != to)
    });
    between.map(|(_, &utilisation)| utilisation).collect()
}

#[test]
fn valiant_routing_carries_traffic_that_is_the_worst_for_shortest_paths() {
    let minimal = run(&shipped("dragonfly", &["routing.kind=ecmp"]), "dctcp");
    let valiant = run(&shipped("dragonfly", &[]), "dctcp");
    // a p = 8 hosts of a group share the one link to the next group.
    let of_minimal = share(&minimal);
    assert_in("eighths of the hosts, shortest paths", of_minimal * 8.0, 0.99..=1.001);
    let busy = global(&minimal).into_iter().filter(|&utilisation| utilisation > 0.95).count();
    let links = global(&minimal).len();
    assert_eq!((busy, links), (9, 9 * 8), "each group has one link to each other");
    // Each link carries 2 / g of the traffic of a p hosts: g / (2 a p). Connections are drawn, 32
    // for each host, so some links have fewer of them than others.
    let bound = GROUPS / 16.0;
    let of_valiant = share(&valiant);
    assert_in("share of the hosts, Valiant", of_valiant / bound, 0.85..=1.0);
    let used = global(&valiant).into_iter().filter(|&utilisation| utilisation > 0.5).count();
    assert_eq!(used, links, "no link between groups is idle");
    // The guide has both figures.
    let page = std::fs::read_to_string(repository("docs/guide/networks.md")).unwrap();
    for (kind, report) in [("ecmp", &minimal), ("valiant", &valiant)] {
        let start = format!("| `{kind}` | ");
        let end = format!(" | {:.1} |", report.summary.throughput_gbps);
        let told = page.lines().any(|line| line.starts_with(&start) && line.ends_with(&end));
        assert!(told, "no row of {kind} ends with{end}");
    }
}

#[test]
fn switches_find_the_detour_that_hosts_write_down() {
    // Hosts write no path down if it may change. This event comes too late to change any.
    let short = ["run.duration=300us", "run.warmup=100us"];
    let late =
        "event=[{ at = \"299.999us\", link = [\"router0\", \"router1\"], state = \"down\" }]";
    let written = shipped("dragonfly", &short);
    let found = shipped("dragonfly", &[&short[..], &[late]].concat());
    let [written, found] = [&written, &found].map(|document| {
        let report = run(document, "dctcp");
        let links = texts(&report, "links", "link").iter().zip(counts(&report, "links", "packets"));
        let own = ["router0->router1", "router1->router0"];
        let others = links.filter(|(link, _)| !own.contains(&&***link));
        others.map(|(link, packets)| (link.to_string(), *packets)).collect::<Vec<_>>()
    });
    assert!(written.iter().map(|(_, packets)| packets).sum::<u64>() > 10_000);
    assert_eq!(written, found);
}
