//! All kinds of work at once give the same bytes twice, and the same work under each scheme.

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, TraceConfig};

use super::setting::messages;
use crate::common::{ALL_TRACES, counts, document, run_with, texts};

/// A fat tree with two classes, PFC for one of them and RED for the other, a link that fails and
/// comes back, and each kind of traffic.
const EVERYTHING: &str = r#"
    title = "everything at once"
    [run]
    duration = "400us"
    warmup = "50us"
    cooldown = "100us"
    schemes = ["timely"]
    [network.fat-tree]
    k = 4
    hosts = { name = "host", rate = "10Gbps", delay = "1us" }
    link = { rate = "10Gbps", delay = "1us" }
    [routing]
    convergence = "20us"
    [[event]]
    at = "150us"
    link = ["aggregation0", "core1"]
    state = "down"
    [[event]]
    at = "220us"
    link = ["aggregation0", "core1"]
    state = "up"
    [[class]]
    name = "bulk"
    weight = 1
    pfc = false
    queue_limit = "40KB"
    aqm = { kind = "red", min = "8KB", max = "24KB", weight = 1 }
    [[class]]
    name = "urgent"
    weight = 3
    [switch]
    buffer = "600KB"
    telemetry = true
    [switch.pfc]
    enabled = true
    xoff = "10KB"
    [transport]
    segment = "8KB"
    rto_min = "100us"
    rto_initial = "100us"
    [[traffic]]
    kind = "connections"
    from = "host"
    start_spread = "20us"
    fan_out = 1
    message = "30KB"
    count = 2
    every = "50us"
    [[traffic]]
    kind = "poisson"
    from = "host"
    urgent = { below = "10KB", class = "urgent", weight = 4 }
    deadline = "100us"
    load = 0.3
    sizes = "google-rpc"
    rack_local = 0.3
    [[traffic]]
    kind = "requests"
    from = "host"
    class = "urgent"
    outstanding = 2
    think_time = "10us"
    fan_out = [[1, 0.5], [2, 0.3], [8, 0.2]]
    reads = 0.7
    replicas = 2
    split = true
    sizes = "solar"
    [[traffic]]
    kind = "incast"
    from = "host"
    class = "urgent"
    load = 0.1
    senders = 6
    size = "4KB"
    [[traffic]]
    kind = "collective"
    from = "host"
    collective = "all-reduce"
    size = "64KB"
    rounds = 2
    compute = "20us"
    [[traffic]]
    kind = "flows"
    name = "listed"
    list = [
        { from = "host0", to = "host9", size = "20KB", id = 1, start = "10us" },
        { from = "host9", to = "host3", size = "20KB", after = { all = [1] }, class = "urgent" },
    ]
"#;

fn everything() -> Document {
    document(EVERYTHING)
}

fn run(scheme: &str, seed: u64) -> Report {
    run_with(&everything(), scheme, seed, ALL_TRACES)
}

#[test]
fn one_seed_gives_the_same_bytes_twice_and_in_pieces() {
    let report = run("timely", 1);
    let summary = &report.summary;
    assert!(summary.pfc_pauses > 10 && summary.ecn_marks > 10 && summary.drops > 10, "{summary:?}");
    let traffic: Vec<_> =
        texts(&report, "load", "traffic").iter().map(incast_sim::Name::as_str).collect();
    assert_eq!(traffic, ["connections", "poisson", "requests", "incast", "collective", "listed"]);
    let complete = counts(&report, "load", "completed");
    assert!(complete.iter().take(5).all(|&count| count > 5), "{complete:?}");
    // As text, because "not a number" equals nothing; and not assert_eq, which would print it.
    let whole = format!("{report:?}");
    assert!(whole == format!("{:?}", run("timely", 1)), "not the same twice");
    assert!(whole != format!("{:?}", run("timely", 2)), "or it shows nothing");
    let document = everything();
    let mut pieces = Simulation::new(document.scenario(), "timely", 1, ALL_TRACES).unwrap();
    while pieces.advance(997) {}
    assert!(whole == format!("{:?}", pieces.finish()), "not the same in pieces");
}

/// The source and the destination of each flow, which are known in advance.
fn flows(report: &Report) -> Vec<(String, String)> {
    let ends = texts(report, "flows", "source").iter().zip(texts(report, "flows", "destination"));
    ends.map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn schemes_are_compared_on_the_same_work() {
    let [timely, other] = ["timely", "line-rate"]
        .map(|scheme| run_with(&everything(), scheme, 3, TraceConfig::default()));
    assert!(flows(&timely) == flows(&other), "other flows");
    // Open loops post the same, whatever becomes of it (closed ones: see the tests of requests). A
    // message that is not complete has no row: those in both runs are compared, and they are most.
    let open = |report: &Report| -> std::collections::BTreeMap<u64, (u64, u64)> {
        let open = ["connections", "poisson", "incast"];
        let rows = messages(report).into_iter().filter(|row| open.contains(&row.traffic.as_str()));
        rows.map(|row| (row.flow, (row.posted, row.bytes))).collect()
    };
    let (ours, theirs) = (open(&timely), open(&other));
    let both = ours.iter().filter_map(|(flow, row)| Some((row, theirs.get(flow)?)));
    assert!(both.clone().all(|(a, b)| a.1 == b.1), "other sizes");
    assert!(both.count() * 10 > ours.len() * 7);
    for column in ["posted", "asked_gbps", "offered_gbps"] {
        let of = |report: &Report| {
            if column == "posted" {
                let counts = counts(report, "load", column).iter().map(|&count| count as f64);
                return counts.collect::<Vec<_>>();
            }
            crate::common::numbers(report, "load", column).to_vec()
        };
        // Connections, Poisson arrivals, and incasts.
        for place in [0, 1, 3] {
            let (a, b) = (of(&timely)[place], of(&other)[place]);
            assert!(a.to_bits() == b.to_bits(), "{column}: {a} and {b}");
        }
    }
}
