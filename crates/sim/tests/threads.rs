//! The same bytes for any number of threads.

mod common;

use common::{ALL_TRACES, document, repository, shipped};
use incast_sim::scenario::{Document, Threads};
use incast_sim::{Report, Simulation, TraceConfig};

/// Runs in so many threads; domains are chosen for them.
fn run(document: &Document, scheme: &str, threads: u16, traces: TraceConfig) -> (String, usize) {
    let run = Simulation::new(document.scenario(), scheme, 1, traces);
    let mut run = run.unwrap_or_else(|error| panic!("{error}")).in_threads(Threads::Count(threads));
    while run.advance(1 << 16) {}
    let domains = run.windows().map_or(1, |windows| windows.domains);
    (whole(&run.finish()), domains)
}

/// In one piece, as a network that is not large runs in one thread.
fn run_whole(document: &Document, scheme: &str, traces: TraceConfig) -> Report {
    let run = Simulation::new(document.scenario(), scheme, 1, traces);
    let mut run = run.unwrap_or_else(|error| panic!("{error}")).in_domains(1, 1);
    assert_eq!(run.windows(), None);
    while run.advance(u64::MAX) {}
    run.finish()
}

/// Everything that a report says, events included; Debug, because "not a number" equals nothing.
fn whole(report: &Report) -> String {
    assert!(report.complete && report.books.balance());
    format!("{report:?}")
}

/// How each scenario is shortened, and how many events a run of it must have then, or it shows nothing.
fn shortened(name: &str) -> Vec<&'static str> {
    match name {
        "fat-tree-1024" => vec!["network.fat-tree.k=8", "run.duration=150us", "run.warmup=20us"],
        "incast" => vec!["run.duration=12ms", "run.warmup=2ms"],
        "rtcp-fetch" | "rtcp-incast-fan-out" => vec!["run.duration=30ms", "run.warmup=5ms"],
        "rtcp-over-subscription" => vec!["run.duration=8ms", "run.warmup=1ms"],
        "timely-clos-rpc" | "timely-network-imbalance" => {
            vec!["run.duration=1ms", "run.warmup=200us"]
        }
        "all-reduce" | "fat-tree-web-search" | "timely-storage" => {
            vec!["run.duration=2ms", "run.warmup=300us"]
        }
        _ => vec!["run.duration=6ms", "run.warmup=1ms"],
    }
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
        let document = shipped(&name, &shortened(&name));
        for scheme in &document.scenario().run.schemes {
            let alone = run_whole(&document, scheme, TraceConfig::default());
            assert!(alone.summary.events > 3_000, "{name}: {} events", alone.summary.events);
            let alone = whole(&alone);
            for threads in [1, 2, 3] {
                let (report, domains) = run(&document, scheme, threads, TraceConfig::default());
                assert!(alone == report, "{name}, {scheme}, {threads} threads, {domains} domains");
                if threads > 1 && domains > 1 && parted.last() != Some(&name) {
                    parted.push(name.clone());
                }
            }
        }
    }
    assert!(parted.len() >= 5, "only {parted:?} have more than one domain");
}
