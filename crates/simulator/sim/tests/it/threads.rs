//! Results have the same bytes for any number of threads.

use incast_sim::scenario::{Document, Threads};
use incast_sim::{Report, Simulation, TraceConfig};

use crate::common::{repository, shipped};

/// Runs in this many threads; domains are chosen for them.
fn run(document: &Document, scheme: &str, threads: u16) -> (String, usize) {
    let run = Simulation::new(document.scenario(), scheme, 1, TraceConfig::default());
    let mut run = run.unwrap_or_else(|error| panic!("{error}")).in_threads(Threads::Count(threads));
    while run.advance(1 << 16) {}
    let domains = run.windows().map_or(1, |windows| windows.domains);
    (whole(&run.finish()), domains)
}

/// Runs in one domain, in the order of time or in windows of nodes.
fn run_whole(document: &Document, scheme: &str, nodes: bool) -> Report {
    let run = Simulation::new(document.scenario(), scheme, 1, TraceConfig::default());
    let mut run = run.unwrap_or_else(|error| panic!("{error}")).in_domains(1, 1);
    assert_eq!(run.windows(), None);
    run = run.in_node_windows(nodes);
    while run.advance(u64::MAX) {}
    run.finish()
}

/// The whole report as text, events included; Debug, because "not a number" equals nothing.
fn whole(report: &Report) -> String {
    assert!(report.complete && report.books.balance());
    format!("{report:?}")
}

/// Duration and warm-up, long enough for something to happen in each.
fn shortened(name: &str) -> Document {
    let (duration, warmup) = match name {
        "fat-tree-1024" => (80, 10),
        "dragonfly" | "rail-optimised" | "timely-clos-rpc" | "timely-network-imbalance" => {
            (400, 100)
        }
        "all-reduce" | "fat-tree-web-search" | "timely-storage" => (800, 100),
        "rtcp-fetch" | "rtcp-incast-fan-out" => (200_000, 20_000),
        "calls-beside-calls" => (40_000, 4_000),
        _ => (2_500, 500),
    };
    let (duration, warmup) =
        (format!("run.duration={duration}us"), format!("run.warmup={warmup}us"));
    let mut assignments = vec![duration.as_str(), &warmup, "run.cooldown=0us"];
    if name == "fat-tree-1024" {
        assignments.push("network.fat-tree.k=8");
    }
    shipped(name, &assignments)
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(repository("scenarios")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let scenarios = paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "toml"));
    let names = scenarios.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn every_scenario_gives_the_same_bytes_in_any_number_of_threads() {
    let mut parted = Vec::new();
    for name in names() {
        let document = shortened(&name);
        for scheme in &document.scenario().run.schemes {
            let alone = run_whole(&document, scheme, false);
            assert!(alone.summary.events > 1_000, "{name}: {} events", alone.summary.events);
            let alone = whole(&alone);
            let nodes = whole(&run_whole(&document, scheme, true));
            assert!(alone == nodes, "{name}, {scheme}, in windows of nodes");
            for threads in [2, 3] {
                let (report, domains) = run(&document, scheme, threads);
                assert!(alone == report, "{name}, {scheme}, {threads} threads, {domains} domains");
                if domains == 1 {
                    break; // it is not cut, and runs in one thread each time
                }
                if parted.last() != Some(&name) {
                    parted.push(name.clone());
                }
            }
        }
    }
    assert!(parted.len() >= 5, "only {parted:?} have more than one domain");
}
