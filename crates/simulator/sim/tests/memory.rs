//! Memory of large networks, counted by the allocator.

#![expect(unsafe_code, reason = "an allocator that counts")]

#[path = "common/counting.rs"]
mod counting;
#[path = "common/scenario.rs"]
mod scenario;

use counting::Counting;
use incast_sim::scenario::{Document, Scenario};
use incast_sim::{Simulation, TraceConfig, cost, facts, warnings};
use scenario::{document, shipped};

#[global_allocator]
static HEAP: Counting = Counting::new();

/// The memory of a run that is built, in bytes, and the run. All tests of a program share the
/// allocator, so this one has a single test.
fn built(document: &Document, scheme: &str) -> (usize, Simulation) {
    let before = HEAP.used();
    let scenario = document.scenario();
    let run = Simulation::new(scenario, scheme, 1, TraceConfig::default());
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    (HEAP.used() - before, run)
}

fn fat_tree(k: u32, assignments: &[&str]) -> Document {
    let k = format!("network.fat-tree.k={k}");
    let common = [k.as_str(), "run.duration=200us", "run.warmup=0us"];
    shipped("fat-tree-1024", &[&common[..], assignments].concat())
}

#[test]
fn memory_grows_with_hosts_and_flows_that_send_and_little_with_others() {
    let per_host = hosts_take_the_same_in_networks_of_any_size();
    planned_flows_take_little(per_host);
    for transport in ["message", "stream"] {
        for operation in ["write", "read"] {
            finished_flows_leave_rows_of_logs(transport, operation);
        }
    }
    pairs_that_have_not_talked_take_little();
    facts_before_a_run_take_work_in_proportion_to_hosts();
}

fn hosts_take_the_same_in_networks_of_any_size() -> usize {
    // A host has 5 links each way and as many ports of switches in a fat tree of any size.
    let [small, large] = [4, 8].map(|k| {
        let document = fat_tree(k, &["traffic.0.load=0.0001"]);
        let (bytes, run) = built(&document, "timely");
        bytes.saturating_sub(run.flows() * 150) / run.hosts()
    });
    assert!(large < 26_000 && large < small * 11 / 10, "{small} and {large} bytes per host");
    large
}

fn planned_flows_take_little(per_host: usize) {
    // 128 hosts whose flows of 2 kB take half of 100 Gb/s: 312 flows each in 100 us.
    let sizes =
        ["traffic.0.sizes={ fixed = \"2KB\" }", "traffic.0.load=0.5", "traffic.0.stop=100us"];
    let (many, run) = built(&fat_tree(8, &sizes), "timely");
    let flows = run.flows();
    assert!((35_000..45_000).contains(&flows), "{flows}");
    let each = many.saturating_sub(per_host * run.hosts()) / flows;
    assert!(each < 76, "{each} bytes per flow before the first event");
}

/// Eight hosts whose flows of 2 kB take half of 100 Gb/s.
fn short_flows(transport: &str, operation: &str, duration: &str) -> Document {
    document(&format!(
        r#"
        title = "short flows"
        [run]
        duration = "{duration}"
        schemes = ["newreno"]
        [[network.star.hosts]]
        name = "host"
        count = 8
        rate = "100Gbps"
        delay = "1us"
        [transport]
        kind = "{transport}"
        [[traffic]]
        kind = "poisson"
        from = "host"
        operation = "{operation}"
        load = 0.5
        sizes = {{ fixed = "2KB" }}
        "#
    ))
}

/// Bounds the memory of one flow more: before the run, after it, and the most in between.
fn finished_flows_leave_rows_of_logs(transport: &str, operation: &str) {
    let [few, many] = ["4ms", "8ms"].map(|duration| {
        let document = short_flows(transport, operation, duration);
        let before = HEAP.used();
        let (planned, mut run) = built(&document, "newreno");
        HEAP.take_peak();
        while run.advance(1 << 20) {}
        let bytes = [planned, HEAP.used() - before, HEAP.take_peak() - before];
        (run.flows(), bytes)
    });
    let more = many.0 - few.0;
    assert!((80_000..120_000).contains(&more) && few.0 > 80_000, "{more} flows more");
    let each = [0, 1, 2].map(|part| many.1[part].saturating_sub(few.1[part]) / more);
    // A planned flow takes 24 bytes, its post 24, which are given back, and a connection 12 at each
    // end. Rows of the logs take 64 (of a read, with its request, 88), RTTs 24, and the answer to a
    // late packet 16. Vectors that double have up to as much again in reserve.
    let [planned, finished, most] = each;
    let read = operation == "read";
    assert!(planned < if read { 100 } else { 76 }, "{planned} bytes per {transport} {operation}");
    let bound = if read { 330 } else { 230 };
    assert!(finished < bound, "{finished} bytes per {transport} {operation}");
    assert!(most < bound + 20, "at most {most} bytes per {transport} {operation}");
}

fn pairs_that_have_not_talked_take_little() {
    let pairs = [64, 128].map(|hosts| {
        let (bytes, run) = built(
            &document(&format!(
                r#"
                title = "all pairs"
                [run]
                duration = "1ms"
                schemes = ["timely"]
                [[network.star.hosts]]
                name = "host"
                count = {hosts}
                rate = "100Gbps"
                delay = "1us"
                [[traffic]]
                kind = "requests"
                from = "host"
                outstanding = 1
                sizes = {{ fixed = "2KB" }}
                reads = 0.5
                "#
            )),
            "timely",
        );
        (run.flows(), bytes)
    });
    // A host's share of its own does not count: 24 KB of it are less than a tenth.
    let each = (pairs[1].1 - pairs[0].1 - 64 * 20_000) / (pairs[1].0 - pairs[0].0);
    assert!(each < 100, "{each} bytes per flow of a client and a server");
}

/// Work on a scenario before a run.
type Work<'a> = &'a dyn Fn(&Scenario);

/// The bytes that `work` asks for, in a star of so many hosts with a flow without end each.
fn asked(hosts: u32, work: Work<'_>) -> usize {
    let document = document(&format!(
        "title = \"a flow each\"\n[run]\nduration = \"1ms\"\nschemes = [\"timely\"]\n\
         [network.star]\nhosts = [{{ name = \"host\", count = {hosts}, rate = \"10Gbps\", delay = \"1us\" }}]\n\
         [switch]\nbuffer = \"4GB\"\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"host\"\nfan_out = 1\n"
    ));
    let before = HEAP.asked();
    work(document.scenario());
    HEAP.asked() - before
}

/// Memory that is asked for and let go again counts here: a list of all cables for each host is
/// work that grows as the square.
fn facts_before_a_run_take_work_in_proportion_to_hosts() {
    let scheme = |scenario: &Scenario| scenario.scheme("timely").unwrap();
    let works: [(&str, Work<'_>); 5] = [
        ("warnings", &|scenario| drop(warnings(scenario, "timely", &scheme(scenario)))),
        ("warnings of loads", &|scenario| drop(scenario.load_warnings())),
        ("the plan", &|scenario| drop(scenario.resolved())),
        ("facts", &|scenario| drop(facts(scenario, &scheme(scenario)))),
        ("the cost", &|scenario| drop(cost(scenario, &scheme(scenario), TraceConfig::default()))),
    ];
    for (name, work) in works {
        let [few, many] = [100, 1_600].map(|hosts| asked(hosts, work));
        assert!(many < 32 * few, "{name}: {few} bytes for 100 hosts, {many} for 1,600");
    }
}
