//! Collectives on an idle network against the alpha-beta model: a message takes a latency, and a
//! time for each byte.

use super::setting::{racks, star};
use crate::common::{counts, numbers, run, texts};

/// The time that a link is busy with a message, in picoseconds: segments of 64 kB in packets of
/// 1,460 B with headers of 40 B, at 100 Gb/s.
fn busy(bytes: u64) -> f64 {
    let packets = bytes / 64_000 * 44 + (bytes % 64_000).div_ceil(1_460);
    ((bytes + 40 * packets) * 80) as f64
}

/// The latency of a message: two links, of which the second begins when the first packet has come.
fn latency(bytes: u64) -> f64 {
    2e6 + ((bytes.min(1_460) + 40) * 80) as f64
}

fn message(bytes: u64) -> f64 {
    latency(bytes) + busy(bytes)
}

/// A collective of all hosts of a star.
fn settings(collective: &str, algorithm: &str, bytes: u64, others: &str) -> String {
    format!(
        "[measure]\nseries = false\nsteps = false\n[[traffic]]\nfrom = \"host\"\n\
         kind = \"collective\"\ncollective = \"{collective}\"\nalgorithm = \"{algorithm}\"\n\
         size = \"{bytes}B\"\n{others}"
    )
}

/// Compares a collective with its model, given in picoseconds.
fn takes(hosts: u64, collective: &str, algorithm: &str, bytes: u64, others: &str, model: f64) {
    let duration = format!("{:.0}us", 2.0 * model / 1e6 + 100.0);
    let settings = settings(collective, algorithm, bytes, others);
    let report = run(&star(u32::try_from(hosts).unwrap(), &duration, &settings));
    let took = numbers(&report, "iterations", "duration_us")[0] * 1e6;
    let case = format!("{collective} by {algorithm} of {hosts} hosts, {bytes} B, {others:?}");
    assert_eq!(counts(&report, "iterations", "finished"), [1], "{case}");
    assert!((took / model - 1.0).abs() < 0.01, "{case}: {took} ps, not {model} ps");
}

/// The sum of the messages of recursive halving.
fn halves(hosts: u64, bytes: u64) -> f64 {
    (1..=hosts.ilog2()).map(|step| message(bytes >> step)).sum()
}

/// The time of the data up or down a binary tree of a power of two: the root has one child, all
/// others that have children have two, whose messages share a link.
fn tree(hosts: u64, bytes: u64) -> f64 {
    f64::from(hosts.ilog2() - 1) * (busy(bytes) + message(bytes)) + message(bytes)
}

#[test]
fn small_blocks_take_the_latency_of_each_step() {
    for hosts in [2_u64, 5, 16, 64] {
        let (bytes, others) = (hosts * 1_000, (hosts - 1) as f64);
        let step = message(1_000);
        takes(hosts, "all-reduce", "ring", bytes, "", 2.0 * others * step);
        takes(hosts, "all-gather", "ring", bytes, "", others * step);
        takes(hosts, "reduce-scatter", "ring", bytes, "", others * step);
        takes(hosts, "broadcast", "chain", 1_000, "", others.max(1.0) * step + ack(hosts));
        takes(hosts, "send-receive", "ring", 1_000, "", step);
        takes(hosts, "send-receive", "chain", 1_000, "", others * step + ack(hosts));
    }
}

/// The time by which the acknowledgement of the only message comes later: the host that gets
/// nothing waits for it, and NICs answer after 1 us. Along a longer chain the last message comes
/// after it.
fn ack(hosts: u64) -> f64 {
    if hosts == 2 { 3e6 + 2.0 * 64.0 * 80.0 } else { 0.0 }
}

#[test]
fn large_networks_take_as_many_steps_as_the_logarithm_says() {
    for hosts in [8_u64, 1_024] {
        let bytes = hosts * 1_000;
        takes(hosts, "all-reduce", "halving-doubling", bytes, "", 2.0 * halves(hosts, bytes));
        takes(hosts, "reduce-scatter", "halving", bytes, "", halves(hosts, bytes));
        takes(hosts, "all-gather", "doubling", bytes, "", halves(hosts, bytes));
        takes(hosts, "all-reduce", "tree", 1_000, "", 2.0 * tree(hosts, 1_000));
        takes(hosts, "broadcast", "tree", 1_000, "", tree(hosts, 1_000));
        let nodes = (hosts / 8) as f64;
        let inside = 2.0 * 7.0 * message(bytes / 8);
        let between = 2.0 * (nodes - 1.0) * message(1_000);
        takes(hosts, "all-reduce", "hierarchical", bytes, "node = 8", inside + between);
    }
}

#[test]
fn large_blocks_take_the_time_of_their_bytes() {
    let hosts = 8_u64;
    let (bytes, others) = (hosts * 250_000, (hosts - 1) as f64);
    let step = message(250_000);
    takes(hosts, "all-reduce", "ring", bytes, "", 2.0 * others * step);
    takes(hosts, "all-reduce", "halving-doubling", bytes, "", 2.0 * halves(hosts, bytes));
    takes(hosts, "all-reduce", "tree", bytes, "", 2.0 * tree(hosts, bytes));
    takes(hosts, "reduce", "tree", bytes, "", tree(hosts, bytes));
    // Between two hosts each tree is one link, in opposite directions.
    takes(2, "all-reduce", "double-tree", bytes, "", 2.0 * message(bytes / 2));
    let inside = 2.0 * 3.0 * message(bytes / 4);
    let node = inside + 2.0 * message(bytes / 8);
    takes(hosts, "all-reduce", "hierarchical", bytes, "node = 4", node);
    // All parts leave a host one after another, and each link into a host has one at a time.
    let all_to_all = others * busy(250_000) + latency(250_000);
    takes(hosts, "all-to-all", "direct", bytes, "", all_to_all);
    // Parts of messages follow each other along the chain.
    let parts = bytes / 50_000;
    let pipeline = others * message(50_000) + (parts - 1) as f64 * busy(50_000);
    takes(hosts, "broadcast", "chain", bytes, "chunk = \"50KB\"", pipeline);
}

/// The names of hosts in a column of a table.
fn names(report: &incast_sim::Report, table: &str, column: &str) -> Vec<String> {
    texts(report, table, column).iter().map(|name| name.as_str().to_owned()).collect()
}

#[test]
fn groups_of_unequal_sizes_and_several_jobs_have_their_own_iterations() {
    let one = settings("all-reduce", "ring", 15_000, "name = \"one\"\ngroups = [3, 5]\n");
    let two = "[[traffic]]\nname = \"two\"\nfrom = \"host[0-1]\"\nkind = \"collective\"\n\
               collective = \"send-receive\"\nsize = \"1000B\"\nstart = \"500us\"\n";
    let report = run(&star(8, "1ms", &format!("{one}{two}")));
    assert_eq!(names(&report, "iterations", "traffic"), ["one", "one", "two"]);
    assert_eq!(counts(&report, "iterations", "hosts"), [3, 5, 2]);
    let models = [4.0 * message(5_000), 8.0 * message(3_000), message(1_000)];
    let took = numbers(&report, "iterations", "duration_us");
    for (took, model) in took.iter().zip(models) {
        assert!((took * 1e6 / model - 1.0).abs() < 0.01, "{took} us, not {model} ps");
    }
}

/// The destinations of a ring's flows, from the flow of `host0` on.
fn ring(placement: &str) -> Vec<String> {
    let settings = settings("all-reduce", "ring", 8_000, &format!("placement = {placement}\n"));
    let report = run(&racks(2, "1ms", &settings));
    let ends: std::collections::BTreeMap<_, _> = names(&report, "flows", "source")
        .into_iter()
        .zip(names(&report, "flows", "destination"))
        .collect();
    let next = |host: &String| Some(ends[host].clone());
    std::iter::successors(Some("host0".to_owned()), next).take(ends.len() + 1).collect()
}

#[test]
fn placement_orders_the_hosts() {
    let of = |numbers: [u32; 9]| numbers.map(|number| format!("host{number}"));
    assert_eq!(ring("\"packed\""), of([0, 1, 2, 3, 4, 5, 6, 7, 0]));
    assert_eq!(ring("\"spread\""), of([0, 4, 1, 5, 2, 6, 3, 7, 0]));
    let list = [3, 1, 0, 7, 5, 4, 6, 2].map(|number| format!("\"host{number}\"")).join(", ");
    assert_eq!(ring(&format!("[{list}]")), of([0, 7, 5, 4, 6, 2, 3, 1, 0]));
    let mut random = ring("\"random\"");
    assert_ne!(random, of([0, 1, 2, 3, 4, 5, 6, 7, 0]));
    random.pop();
    random.sort_unstable();
    assert_eq!(random, of([0, 1, 2, 3, 4, 5, 6, 7, 0])[..8]);
}

#[test]
fn channels_have_connections_of_their_own() {
    let report = run(&star(4, "1ms", &settings("all-reduce", "ring", 8_000, "channels = 2\n")));
    assert_eq!(counts(&report, "flows", "delivered_bytes"), [6 * 1_000; 8]);
}

#[test]
fn stragglers_and_connections_that_are_set_up_delay_rounds() {
    let barrier = |others: &str| {
        let settings = format!(
            "[[traffic]]\nfrom = \"host\"\nkind = \"collective\"\ncollective = \"barrier\"\n\
             rounds = 2\ncompute = \"40us\"\n{others}"
        );
        let report = run(&star(2, "1ms", &settings));
        let [starts, took] = ["start_us", "duration_us"]
            .map(|column| numbers(&report, "iterations", column).to_vec());
        (starts, took)
    };
    let sign = message(1) / 1e6;
    let (starts, took) = barrier("set_up = \"30us\"\n");
    assert_eq!((starts[0], took[0], took[1]), (0.0, 30.0 + sign, sign));
    // The straggler computes for 70 us, the other one for 40 us.
    let (_, took) =
        barrier("stragglers = [{ hosts = \"host1\", factor = 1.5, delay = \"10us\" }]\n");
    assert!((took[0] - 10.0 - sign).abs() < 1e-6, "{took:?}");
    // The straggler had its last round's sign at once: its round ended `sign` earlier.
    assert!((took[1] - 30.0).abs() < 2.0 * sign, "{took:?}");
    let (starts, _) = barrier("jitter = \"5us\"\n");
    assert!(starts[0] > 0.0 && starts[0] <= 5.0, "{starts:?}");
}
