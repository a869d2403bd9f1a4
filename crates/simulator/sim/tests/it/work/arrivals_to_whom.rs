//! Poisson arrivals: who is at the other end.

use std::collections::{BTreeMap, BTreeSet};

use super::setting::{self, Row, chi_square, chi_square_range, messages, number, racks, star};
use crate::common::run;

/// The messages of a network of six racks of four hosts, with such destinations.
fn rows(poisson: &str) -> Vec<Row> {
    let sizes = "sizes = { fixed = \"500B\" }";
    let text = racks(
        6,
        "320us",
        &format!(
            "[[traffic]]\nkind = \"poisson\"\nfrom = \"host\"\nstop = \"300us\"\n\
             load = 0.1\n{sizes}\n{poisson}"
        ),
    );
    let rows = messages(&run(&text));
    // 24 hosts, 10 Gb/s each, 300 us: 18,000, give or take 134.
    assert!(rows.len().abs_diff(18_000) < 450, "{}", rows.len());
    rows
}

fn rack(host: &str) -> usize {
    number(host) / 4
}

#[test]
fn destinations_are_uniform_over_all_others() {
    let text = star(
        10,
        "210us",
        "[[traffic]]\nfrom = \"host\"\nstop = \"200us\"\n\
         kind = \"poisson\"\nload = 0.4\nsizes = { fixed = \"500B\" }",
    );
    let rows = messages(&run(&text));
    let mut counts = BTreeMap::new();
    let mut of_source = [0_u64; 10];
    for row in &rows {
        *counts.entry((number(&row.source), number(&row.destination))).or_insert(0_u64) += 1;
        of_source[number(&row.source)] += 1;
    }
    assert!((0..10).all(|host| !counts.contains_key(&(host, host))), "to itself");
    assert_eq!(counts.len(), 90);
    // Some 220 for each of 90 pairs; 8 degrees of freedom for each of ten sources.
    let expected = |source: usize| of_source[source] as f64 / 9.0;
    let chi_square =
        chi_square(counts.iter().map(|(&(source, _), &count)| (count, expected(source))));
    let range = chi_square_range(80.0);
    assert!(range.contains(&chi_square), "{chi_square} is not in {range:?}");
    // No host is everybody's favourite: some 2,000 for each of ten.
    let of_host = |host| rows.iter().filter(|row| number(&row.destination) == host).count() as u64;
    let all = (0..10).map(|host| (of_host(host), rows.len() as f64 / 10.0));
    let chi_square = setting::chi_square(all);
    assert!(chi_square < chi_square_range(9.0).end, "{chi_square}");
}

#[test]
fn permutation_gives_each_host_another_one_of_its_own() {
    let mut partners = BTreeMap::new();
    for row in rows("destinations = \"permutation\"") {
        let known = partners.entry(row.source).or_insert_with(|| row.destination.clone());
        assert_eq!(*known, row.destination, "always the same");
    }
    assert_eq!(partners.len(), 24);
    assert!(partners.iter().all(|(source, destination)| source != destination));
    assert_eq!(partners.values().collect::<BTreeSet<_>>().len(), 24, "no two the same");
}

#[test]
fn farthest_hosts_are_those_across_the_core() {
    let across = |k: &str, per_pod: usize| {
        let text = format!(
            r#"
            title = "a fat tree"
            [run]
            duration = "100us"
            schemes = ["line-rate"]
            [network.fat-tree]
            k = {k}
            hosts = {{ name = "host", rate = "100Gbps", delay = "1us" }}
            link = {{ rate = "100Gbps", delay = "1us" }}
            [[traffic]]
            kind = "poisson"
            from = "host"
            load = 0.1
            sizes = {{ fixed = "1KB" }}
            destinations = "farthest"
            "#
        );
        let rows = messages(&run(&text));
        let mut seen = BTreeSet::new();
        for row in &rows {
            let pods = (number(&row.source) / per_pod, number(&row.destination) / per_pod);
            assert_ne!(pods.0, pods.1, "{row:?}");
            seen.insert(pods);
        }
        seen.len()
    };
    assert_eq!(across("4", 4), 12, "from each of four pods to each other one");
    // One rack of two tiers: nobody is farther than the others.
    assert_eq!(across("2", 1), 2);
}

#[test]
fn rack_local_share_stays_in_the_rack() {
    let share = |rows: &[Row]| {
        let local = rows.iter().filter(|row| rack(&row.source) == rack(&row.destination)).count();
        local as f64 / rows.len() as f64
    };
    // The deviation of a share p of n is sqrt(p (1 - p) / n): 0.0034 of 0.3 and 18,000. Left alone,
    // three of 23 others are in the rack.
    for (setting, expected) in
        [("rack_local = 0.3", 0.3), ("destinations = \"uniform\"", 3.0 / 23.0)]
    {
        let got = share(&rows(setting));
        assert!((got - expected).abs() < 3.3 * 0.0034, "{setting}: {got}, not {expected}");
    }
    assert!(share(&rows("rack_local = 1.0")) >= 1.0, "all of it");
    assert!(share(&rows("rack_local = 0.0")) <= 0.0, "nothing");
}
