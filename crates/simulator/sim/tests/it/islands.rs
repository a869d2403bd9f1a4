//! Islands: fast fabrics inside servers, over which messages go as a whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use incast_cc::parts::random::Random;
use incast_sim::{Report, Simulation, TraceConfig};

use crate::common::mistakes::{self, Case};
use crate::common::{counts, document, numbers, ps, run, run_with, table, texts};

/// A star of four hosts. A byte takes 10 ps over their island.
const ISLAND: &str = "title = \"an island\"\n\
    run = { duration = \"100us\", schemes = [\"line-rate\"] }\n\
    [network.star]\n\
    hosts = [{ name = \"gpu\", count = 4, rate = \"100Gbps\", delay = \"1us\" }]\n\
    [[island]]\n\
    hosts = \"gpu\"\n\
    size = 4\n\
    rate = \"800Gbps\"\n\
    latency = \"500ns\"\n";

fn flow(from: u32, to: u32, bytes: u64, start_us: u64) -> String {
    format!(
        "{{ from = \"gpu{from}\", to = \"gpu{to}\", size = \"{bytes}B\", start = \"{start_us}us\" }},"
    )
}

fn flows(flows: &[String]) -> String {
    format!("[[traffic]]\nkind = \"flows\"\nlist = [{}]\n", flows.concat())
}

/// A column of times of the messages, in picoseconds, in the order of posting.
fn times(report: &Report, column: &str) -> Vec<u64> {
    let mut all: Vec<_> = (numbers(report, "messages", "posted_us").iter())
        .zip(numbers(report, "messages", column))
        .map(|(&posted, &time)| (ps(posted), ps(time)))
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(_, time)| time).collect()
}

#[test]
fn three_messages_take_turns_at_both_ends() {
    // The first leaves from 0 to 10 us, and arrives from 0.5 to 10.5 us. The second leaves another
    // host from 1 to 6 us; its first bit is there at 1.5 us, and its bytes enter when the first is
    // in. The third waits behind the first at their sender, and has its receiver for itself.
    let list = [flow(0, 2, 1_000_000, 0), flow(1, 2, 500_000, 1), flow(0, 3, 100_000, 2)];
    let report = run(&(ISLAND.to_owned() + &flows(&list)));
    assert_eq!(times(&report, "first_sent_us"), [0, 1_000_000, 10_000_000]);
    assert_eq!(times(&report, "completed_us"), [10_500_000, 15_500_000, 11_500_000]);
    assert_eq!(times(&report, "ideal_us"), [10_500_000, 5_500_000, 1_500_000]);
    assert_eq!(times(&report, "host_us"), [0, 0, 8_000_000]);
    // No packet has left, and the table has the bytes: 11 and 5 us of 100 us, and 15 and 1 us.
    assert_eq!((report.books.sent_packets, report.summary.packet_hops), (0, 0));
    assert_eq!(counts(&report, "islands", "sent_bytes"), [1_100_000, 500_000, 0, 0]);
    assert_eq!(counts(&report, "islands", "received_bytes"), [0, 0, 1_500_000, 100_000]);
    assert_eq!(numbers(&report, "islands", "sending"), [0.11, 0.05, 0.0, 0.0]);
    assert_eq!(numbers(&report, "islands", "receiving"), [0.0, 0.0, 0.15, 0.01]);
}

#[test]
fn a_read_asks_first() {
    // A request of 32 B and an answer of 80 KB: 320 ps and 800 ns, and the latency twice.
    let read = "[[traffic]]\nkind = \"connections\"\nfrom = \"gpu0\"\nto = \"gpu1\"\n\
                operation = \"read\"\nmessage = \"80KB\"\ncount = 2\nevery = \"10us\"\n";
    let report = run(&(ISLAND.to_owned() + read));
    let took = 320 + 500_000 + 800_000 + 500_000;
    assert_eq!(times(&report, "completion_us"), [took; 2]);
    assert_eq!(times(&report, "ideal_us"), [took; 2]);
    assert_eq!(counts(&report, "islands", "sent_bytes"), [0, 160_000, 0, 0]);
    assert_eq!(counts(&report, "flows", "flow").len(), 1);
}

#[test]
fn a_busy_time_is_measured_between_warm_up_and_cool_down() {
    // A message leaves from 0 to 60 us, and 20 to 50 us are measured: all of them.
    let text = ISLAND.replace(
        "run = { duration = \"100us\",",
        "run = { duration = \"100us\", warmup = \"20us\", cooldown = \"50us\",",
    );
    let list = [flow(0, 1, 6_000_000, 0), flow(2, 3, 1_000_000, 15), flow(3, 2, 1_000_000, 60)];
    let report = run(&(text + &flows(&list)));
    assert_eq!(numbers(&report, "islands", "sending"), [1.0, 0.0, 5.0 / 30.0, 0.0]);
    assert_eq!(numbers(&report, "islands", "receiving"), [0.0, 1.0, 0.0, 5.5 / 30.0]);
}

#[test]
fn hosts_of_different_islands_use_the_network() {
    let text = ISLAND.replace("size = 4", "size = 2");
    let list = [flow(0, 1, 10_000, 0), flow(0, 2, 10_000, 1), flow(3, 2, 10_000, 2)];
    let report = run(&(text.clone() + &flows(&list)));
    assert_eq!(times(&report, "completion_us")[0], 600_000);
    assert!(times(&report, "completion_us")[1] > 2_000_000);
    assert_eq!(times(&report, "completion_us")[2], 600_000);
    assert_eq!(counts(&report, "islands", "island"), [0, 0, 1, 1]);
    assert!(report.books.sent_packets > 0);
    // The references of the ideal have the message over the network alone.
    let ideal = run(&(text.clone() + &flows(&list) + "[measure]\nideal = true\n"));
    assert_eq!(counts(&ideal, "ideal", "flow"), [1]);
    assert_eq!(counts(&ideal, "messages", "flow"), [0, 1, 2]);
    // Nor are hosts on an island that no section names.
    let report = run(&(text.replace("\"gpu\"\nsize", "\"gpu[2-3]\"\nsize") + &flows(&list)));
    assert!(times(&report, "completion_us")[0] > 2_000_000);
    assert_eq!(texts(&report, "islands", "host"), ["gpu2", "gpu3"]);
}

/// A posted message: the time of posting in picoseconds, the flow, both hosts, and the bytes.
type Posted<'a> = (u64, u64, &'a str, &'a str, u64);

/// The times at which messages are complete, by the flow: one loop over senders, then one over
/// receivers.
fn reference(mut posted: Vec<Posted<'_>>, byte_ps: u64, latency_ps: u64) -> BTreeMap<u64, u64> {
    posted.sort_unstable();
    let (mut out, mut into) = (BTreeMap::new(), BTreeMap::new());
    let mut arriving = Vec::new();
    for (at, flow, from, to, bytes) in posted {
        let free = out.entry(from).or_insert(0);
        let begins = at.max(*free);
        *free = begins + bytes * byte_ps;
        let number: u32 = from.trim_start_matches("gpu").parse().unwrap();
        arriving.push((begins + latency_ps, number, flow, to, bytes));
    }
    arriving.sort_unstable();
    let complete = |(first_bit, _, flow, to, bytes): (u64, u32, u64, &'_ str, u64)| {
        let free = into.entry(to.to_owned()).or_insert(0);
        *free = first_bit.max(*free) + bytes * byte_ps;
        (flow, *free)
    };
    arriving.into_iter().map(complete).collect()
}

#[test]
fn times_are_those_of_a_loop_over_senders_and_one_over_receivers() {
    let mut random = Random::new(11);
    let mut waits = 0;
    for _ in 0..60 {
        // Few times and sizes, so that many messages begin and arrive at one instant.
        let mut list = Vec::new();
        for _ in 0..3 + random.below(40) {
            let (from, to) = (random.below(4), random.below(4));
            let bytes = [1, 50_000, 100_000, 100_000, 777_777][random.below(5) as usize];
            if from != to {
                list.push(flow(from, to, bytes, u64::from(random.below(12))));
            }
        }
        if list.is_empty() {
            continue;
        }
        let latency = [100, 500, 3_000][random.below(3) as usize];
        let text = ISLAND.replace("500ns", &format!("{latency}ns")).replace("100us", "1ms");
        let report = run(&(text + &flows(&list)));
        let flow = counts(&report, "messages", "flow");
        let posted = numbers(&report, "messages", "posted_us");
        let (from, to) =
            (texts(&report, "messages", "source"), texts(&report, "messages", "destination"));
        let bytes = counts(&report, "messages", "bytes");
        let all = (0..flow.len())
            .map(|i| (ps(posted[i]), flow[i], &*from[i], &*to[i], bytes[i]))
            .collect();
        let complete = reference(all, 10, latency * 1_000);
        let ideal = numbers(&report, "messages", "ideal_us");
        let took = numbers(&report, "messages", "completion_us");
        for (i, &at) in numbers(&report, "messages", "completed_us").iter().enumerate() {
            assert_eq!(ps(at), complete[&flow[i]], "message {i} of {list:?}");
            waits += u64::from(ps(took[i]) > ps(ideal[i]));
        }
    }
    assert!(waits > 200, "or it shows nothing: {waits}");
}

/// Two units of two servers with two GPUs each, islands of the servers, and traffic of all kinds.
const CLUSTER: &str = r#"
    title = "a cluster"
    run = { duration = "300us", warmup = "30us", cooldown = "20us", schemes = ["dcqcn"] }
    [network.rail-optimised]
    servers = 8
    hosts = { name = "gpu", count = 2, rate = "100Gbps", delay = "300ns" }
    unit = 2
    spines = 2
    uplink = { oversubscription = 1, delay = "700ns" }
    [[island]]
    hosts = "gpu"
    size = 4
    rate = "400Gbps"
    latency = "250ns"
    [switch]
    ecn_threshold = "60KB"
    [[traffic]]
    kind = "poisson"
    from = "gpu"
    to = "gpu"
    load = 0.6
    sizes = { fixed = "30KB" }
    [[traffic]]
    kind = "connections"
    from = "gpu[0-7]"
    to = "gpu[0-3]"
    operation = "read"
    message = "20KB"
    count = 9
    every = "20us"
    [[traffic]]
    kind = "ping-pong"
    from = "gpu[0-14:2]"
    to = "gpu[1-15:2]"
    size = "64KB"
    rounds = 30
"#;

#[test]
fn a_cluster_gives_the_same_bytes_however_it_is_run() {
    let document = document(CLUSTER);
    let started = || {
        let run = Simulation::new(document.scenario(), "dcqcn", 1, TraceConfig::default());
        run.unwrap_or_else(|error| panic!("{error}"))
    };
    let finish = |mut run: Simulation| {
        while run.advance(5_000) {}
        format!("{:?}", run.finish())
    };
    let [slots, nodes] = [false, true].map(|on| finish(started().in_node_windows(on)));
    assert!(slots == nodes, "node windows");
    for threads in 1..=4 {
        for on in [false, true] {
            let run = started().in_node_windows(on).in_domains(threads, 4);
            assert!(run.windows().is_some_and(|counts| counts.domains > 1));
            assert!(slots == finish(run), "{threads} threads, node windows {on}");
        }
    }
    let report = run_with(&document, "dcqcn", 1, TraceConfig::default());
    let sent = counts(&report, "islands", "sent_bytes");
    assert!(sent.iter().all(|&bytes| bytes > 0), "{sent:?}");
    assert!(report.books.sent_packets > 10_000);
}

#[test]
fn only_networks_with_islands_have_their_table() {
    let with = run(&(ISLAND.to_owned() + &flows(&[flow(0, 1, 1_000, 0)])));
    assert_eq!(table(&with, "islands").columns.len(), 6);
    let island = ISLAND.find("[[island]]").unwrap();
    let without = run(&(ISLAND[..island].to_owned() + &flows(&[flow(0, 1, 1_000, 0)])));
    assert!(without.tables.iter().all(|table| table.name != "islands"));
}

#[test]
fn islands_are_of_hosts_that_there_are_and_have_their_size() {
    let good = format!(
        "{}[[traffic]]\nkind = \"connections\"\nfrom = \"gpu0\"\nto = \"gpu1\"\nmessage = \"1KB\"\n\
         [[island]]\nhosts = \"gpu[2-3]\"\nsize = 2\nrate = \"90Gbps\"\nlatency = \"1us\"\n",
        ISLAND.replace("\"gpu\"\nsize = 4", "\"gpu[0-1]\"\nsize = 2"),
    );
    let cases: &[Case] = &[
        ("\"gpu[0-1]\"", "\"gpu[0-4]\"", (6, 9), &["no part of gpu[0-3]"]),
        ("\"gpu[0-1]\"", "\"gup\"", (6, 9), &["unknown host \"gup\"", "mean \"gpu\""]),
        ("\"gpu[2-3]\"", "\"gpu[1-2]\"", (16, 9), &["host \"gpu1\" is on an island already"]),
        ("size = 2\nrate = \"90Gbps\"", "size = 1\nrate = \"90Gbps\"", (17, 8), &["2 or more"]),
        (
            "size = 2\nrate = \"90Gbps\"",
            "size = 3\nrate = \"90Gbps\"",
            (17, 8),
            &["2 hosts do not divide into islands of 3: 2 would be left"],
        ),
        ("\"90Gbps\"", "\"0bps\"", (18, 8), &["out of range"]),
        ("latency = \"1us\"", "latency = \"0us\"", (19, 11), &["out of range"]),
        ("size = 2\nrate = \"90Gbps\"", "rate = \"90Gbps\"", (15, 1), &["missing field `size`"]),
        (
            "message = \"1KB\"\n",
            "",
            (10, 1),
            &["a flow without end from \"gpu0\" to \"gpu1\"", "over their island; give it a size"],
        ),
    ];
    mistakes::check(&good, str::to_owned, cases);
    // A flow without end in a list, and one that the network carries.
    let endless = |to: &str| {
        let list = format!("{{ from = \"gpu0\", to = \"{to}\" }},");
        let text = good.clone() + &flows(&[list]);
        incast_sim::scenario::Document::parse(text, "bad.toml").map_err(|error| error.to_string())
    };
    let error = endless("gpu1").unwrap_err();
    assert!(error.contains("a flow without end from \"gpu0\" to \"gpu1\""), "{error}");
    assert!(endless("gpu2").is_ok());
}

#[test]
fn the_cost_of_a_run_counts_packets_over_the_network_alone() {
    use incast_sim::cost;

    let hops = |text: &str| {
        let document = document(text);
        let scheme = document.scenario().scheme("line-rate").unwrap();
        cost(document.scenario(), &scheme, TraceConfig::default()).packet_hops
    };
    let mut list = String::new();
    for number in 0..100 {
        let _ = write!(list, "{}", flow(number % 4, (number + 1) % 4, 150_000, 0));
    }
    let text = ISLAND.replace("100us", "1ms") + &flows(&[list]);
    assert!(hops(&text) < 1.0, "{}", hops(&text));
    // Two islands of two: every second flow goes from one to the other.
    let (half, all) = (
        hops(&text.replace("size = 4", "size = 2")),
        hops(&text.replace(
            "[[island]]\nhosts = \"gpu\"\nsize = 4\nrate = \"800Gbps\"\nlatency = \"500ns\"\n",
            "",
        )),
    );
    assert!((half / all - 0.5).abs() < 0.01, "{half} {all}");
}
