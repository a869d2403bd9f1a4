//! Random networks, split at random, in slots of time or windows of nodes, give the same bytes.

use std::fmt::Write as _;

use incast_cc::Time;
use incast_cc::parts::random::Random;

use crate::{Report, Simulation, TraceConfig, Values};
use incast_net::Partition;
use incast_scenario::Document;

/// All traces: ports whose queues or packets are traced have an event for each packet; the others
/// look ahead.
const ALL_TRACES: TraceConfig = TraceConfig { queues: true, flows: true, packets: true };
pub(super) const FLOWS: TraceConfig = TraceConfig { queues: false, flows: true, packets: false };

/// A scheme, and the traces to keep.
pub(super) type How<'a> = (&'a str, TraceConfig);

fn started(document: &Document, (scheme, traces): How<'_>) -> Simulation {
    let run = Simulation::new(document.scenario(), scheme, 3, traces);
    run.unwrap_or_else(|error| panic!("{error}"))
}

/// The report of a run in one piece: the same whether all events come in the order of time, or each
/// node handles its events of a window alone.
pub(super) fn whole(document: &Document, how: How<'_>) -> Report {
    let [slots, nodes] = [(false, u64::MAX), (true, 300)].map(|(nodes, events)| {
        let run = started(document, how).in_domains(1, 1).in_node_windows(nodes);
        assert_eq!(run.has_node_windows(), nodes && !run.built.net.has_oracle());
        finish(run, events)
    });
    assert!(same(&slots, &nodes), "{how:?} in windows of nodes");
    slots
}

/// The report of a run in one piece that takes no shortcut.
pub(super) fn the_long_way(document: &Document, how: How<'_>) -> Report {
    let mut run = started(document, how).in_domains(1, 1);
    run.built.net.take_no_shortcut();
    finish(run, u64::MAX)
}

/// A run with every switch in the domain that `owners` gives. Inside the domains, nodes have
/// windows if the number of the first domain's switches is odd.
fn parted(document: &Document, how: How<'_>, owners: &[usize], threads: usize) -> Simulation {
    let own = owners.iter().filter(|&&owner| owner == 0).count();
    let run = started(document, how).in_node_windows(own % 2 == 1);
    let partition = Partition::of_switches(&run.built.topology, owners.to_vec());
    run.parted(partition, threads)
}

fn finish(mut run: Simulation, events: u64) -> Report {
    while run.advance(events) {}
    let report = run.finish();
    assert!(report.complete && report.books.balance(), "{:?}", report.books);
    report
}

/// The sum of a column of counts, of a table that may be absent.
fn sum(report: &Report, table: &str, column: &str) -> u64 {
    let columns = report.tables.iter().filter(|own| own.name == table).flat_map(|own| &own.columns);
    let values = columns.filter(|own| own.name == column).map(|own| match &own.values {
        Values::U64(values) => values.iter().sum::<u64>(),
        _ => panic!("{table}.{column} has no counts"),
    });
    values.sum()
}

/// Whether two reports are the same in everything. Compares their Debug output, because NaN equals
/// nothing.
pub(super) fn same(a: &Report, b: &Report) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// A connected graph of switches with at least one host each, with links of random rates and
/// delays, and the ends of a link between switches that is in a circle.
pub(super) fn random_graph(random: &mut Random) -> (String, usize, [usize; 2]) {
    let switches = 3 + random.below(6) as usize;
    let mut links = String::new();
    let mut link = |random: &mut Random, ends: [String; 2]| {
        let rate = [10, 25, 40][random.below(3) as usize];
        let delay = 300 + 100 * random.below(30);
        let ends = format!("[\"{}\", \"{}\"]", ends[0], ends[1]);
        let _ =
            writeln!(links, "{{ ends = {ends}, rate = \"{rate}Gbps\", delay = \"{delay}ns\" }},");
    };
    let mut hosts = 0;
    for switch in 0..switches {
        for _ in 0..=random.below(3) {
            link(random, [format!("h{hosts}"), format!("s{switch}")]);
            hosts += 1;
        }
    }
    for switch in 0..switches {
        link(random, [format!("s{switch}"), format!("s{}", (switch + 1) % switches)]);
    }
    for a in 0..switches {
        for b in a + 2..switches {
            if random.below(4) == 0 && (a, b) != (0, switches - 1) {
                link(random, [format!("s{a}"), format!("s{b}")]);
            }
        }
    }
    let graph = format!(
        "[network.graph]\nhosts = [{{ name = \"h\", count = {hosts} }}]\n\
         switches = [{{ name = \"s\", count = {switches} }}]\nlinks = [\n{links}]\n"
    );
    let broken = random.below(u32::try_from(switches).unwrap()) as usize;
    (graph, switches, [broken, (broken + 1) % switches])
}

/// Links with a rate or loss of their own, an island, and a slow receiver, in the random graph of
/// so many switches.
pub(super) fn random_links(random: &mut Random, switches: usize) -> String {
    let mut text = String::new();
    let switches = u32::try_from(switches).unwrap();
    for switch in 0..switches {
        // Hosts are connected in order, so that the first has the first switch.
        let ends = [
            ["h0".to_owned(), "s0".to_owned()],
            ["s0".to_owned(), "h0".to_owned()],
            [format!("s{switch}"), format!("s{}", (switch + 1) % switches)],
        ];
        // Two of the first switch would be one link.
        let which = if switch < 2 { switch as usize } else { 2 };
        let [from, to] = &ends[which];
        let own = match random.below(5) {
            0 => "rate = \"8Gbps\"",
            1 => "loss = 0.02",
            2 => "rate = \"40Gbps\"\nloss = 0.002",
            _ => continue,
        };
        let _ = write!(text, "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{own}\n");
    }
    if random.below(3) == 0 {
        let size = 2 + random.below(2);
        let rate = [10, 200][random.below(2) as usize];
        let latency = [200, 1_200][random.below(2) as usize];
        let _ = write!(
            text,
            "[[island]]\nhosts = \"h[0-{}]\"\nsize = {size}\nrate = \"{rate}Gbps\"\n\
             latency = \"{latency}ns\"\n",
            size - 1
        );
    }
    let own = match random.below(5) {
        0 => "rate = \"4Gbps\"\nbuffer = \"20KB\"",
        1 => "rate = \"1Gbps\"\nstart = \"60us\"\nstop = \"120us\"\nbuffer = \"40KB\"",
        2 => "rate = \"0bps\"\nstart = \"48us\"\nstop = \"96us\"\nbuffer = \"12KB\"",
        _ => return text,
    };
    let host = ["h0", "h1", "h"][random.below(3) as usize];
    let _ = write!(text, "[[receiver]]\nhosts = \"{host}\"\n{own}\n");
    text
}

/// Settings of switches, and the schemes to run with them.
const SWITCHES: [(&str, &[&str]); 13] = [
    ("buffer = \"400KB\"\npfc = { enabled = true, xoff = \"15KB\" }", &["line-rate", "timely"]),
    ("queue_limit = \"30KB\"\necn_threshold = \"9KB\"", &["dcqcn", "newreno"]),
    ("telemetry = true\nqueue_limit = \"200KB\"", &["hpcc"]),
    ("aqm = { kind = \"red\", min = \"8KB\", max = \"24KB\" }\nbuffer = \"200KB\"", &["dctcp"]),
    ("discipline = \"srpt\"\nqueue_limit = \"30KB\"", &["line-rate", "newreno"]),
    ("discipline = \"trim\"\nqueue_limit = \"30KB\"", &["line-rate", "newreno"]),
    ("discipline = \"trim\"\nqueue_limit = \"12KB\"\necn_threshold = \"6KB\"", &["dcqcn", "swift"]),
    (
        "buffer = \"250KB\"\npfc = { enabled = true, xoff = \"9KB\", watchdog = { after = \"20us\", \
         action = \"drop\" } }",
        &["line-rate"],
    ),
    ("burst = \"12KB\"\nqueue_limit = \"30KB\"\necn_threshold = \"9KB\"", &["dcqcn", "newreno"]),
    (
        "burst = \"9KB\"\nburst_time = \"3us\"\nbuffer = \"400KB\"\n\
         pfc = { enabled = true, xoff = \"15KB\" }",
        &["line-rate", "timely"],
    ),
    (
        "buffer = \"400KB\"\npfc = { enabled = true, xoff = \"15KB\" }\naqm = { kind = \"red\", \
         min = \"3KB\", max = \"24KB\", weight = 1, drop = false, at = \"departure\" }",
        &["dcqcn"],
    ),
    (
        "queue_limit = \"60KB\"\naqm = { kind = \"red\", min = \"12KB\", max = \"36KB\", \
         weight = 1, drop = false, at = \"departure\" }",
        &["dcqcn", "dctcp"],
    ),
    (
        "buffer = \"400KB\"\npfc = { enabled = true, xoff = \"15KB\" }\n\
         ecn_threshold = \"9KB\"\necn_at = \"departure\"",
        &["dcqcn", "dctcp"],
    ),
];

const TRAFFIC: &str = r#"
    [[traffic]]
    kind = "poisson"
    from = "h"
    to = "h"
    load = 0.7
    sizes = { fixed = "20KB" }
    [[traffic]]
    kind = "connections"
    from = "h[1-2]"
    to = "h0"
    operation = "read"
    message = "30KB"
    count = 20
    every = "20us"
    start_spread = "50us"
"#;

#[test]
fn random_networks_parted_at_random_give_the_same_bytes() {
    let mut random = Random::new(29);
    let (mut pauses, mut drops, mut cut, mut reports) = (0, 0, 0, 0);
    let (mut damaged, mut slow, mut trims, mut inside) = (0, 0, 0, 0);
    for case in 0..2 * SWITCHES.len() {
        let (graph, switches, [a, b]) = random_graph(&mut random);
        let (switch, schemes) = SWITCHES[case % SWITCHES.len()];
        let routing = ["ecmp", "spray"][random.below(2) as usize];
        let own = random_links(&mut random, switches);
        let mut text = format!(
            "title = \"at random\"\n[run]\nduration = \"400us\"\nwarmup = \"50us\"\ncooldown = \"30us\"\n\
             schemes = [\"timely\"]\n{graph}\n[switch]\n{switch}\n\
             [routing]\nkind = \"{routing}\"\nconvergence = \"20us\"\n{own}{TRAFFIC}"
        );
        if random.below(2) == 0 {
            for (at, change) in
                [(120, "state = \"down\""), (200, "state = \"up\""), (250, "rate = \"5Gbps\"")]
            {
                let _ = write!(
                    text,
                    "[[event]]\nat = \"{at}us\"\nlink = [\"s{a}\", \"s{b}\"]\n{change}\n"
                );
            }
        }
        let document = Document::parse(text, "random.toml").unwrap_or_else(|e| panic!("{e}"));
        let hows = schemes.iter().flat_map(|&scheme| [(scheme, ALL_TRACES), (scheme, FLOWS)]);
        for how in hows {
            let alone = whole(&document, how);
            assert!(alone.summary.events > 1_000, "case {case}: {}", alone.summary.events);
            let mut long = the_long_way(&document, how);
            long.summary.events = alone.summary.events;
            assert!(same(&alone, &long), "case {case}: a shortcut changes the results of {how:?}");
            pauses += alone.summary.pfc_pauses;
            drops += alone.summary.drops;
            reports += alone.summary.pfc_watchdog_reports;
            damaged += sum(&alone, "link_failures", "damaged");
            trims += sum(&alone, "queues", "trims");
            inside += sum(&alone, "islands", "received_bytes");
            slow += sum(&alone, "receivers", "pauses_sent") + sum(&alone, "receivers", "drops");
            for threads in 1..=3 {
                let domains = 2 + random.below(3);
                let mut owners: Vec<_> =
                    (0..switches).map(|_| random.below(domains) as usize).collect();
                owners[0] = 1; // there are two at least
                owners[1] = 0;
                cut += usize::from(owners[a] != owners[b]);
                let run = parted(&document, how, &owners, threads);
                assert!(run.windows().is_some());
                let report = finish(run, [u64::MAX, 1_000, 40][threads - 1]);
                assert!(
                    same(&alone, &report),
                    "case {case}, {how:?}, {owners:?}, {threads} threads"
                );
            }
        }
    }
    let seen = [pauses, drops, reports, cut as u64, damaged, slow, trims, inside];
    assert!(!seen.contains(&0), "or it shows nothing: {seen:?}");
}

/// The report without the tables of traces and the number of events.
fn results(mut report: Report) -> String {
    report.summary.events = 0;
    report.tables.retain(|table| !table.name.starts_with("trace"));
    format!("{:?} {:?} {:?}", report.summary, report.books, report.tables)
}

/// Settings of switches with several classes, up to three beside the class of ACKs. The order of
/// classes, pauses, limits and free room decide.
fn random_switch(random: &mut Random) -> (String, usize) {
    let mut pick = |choices: &[&'static str]| {
        choices[random.below(u32::try_from(choices.len()).unwrap()) as usize]
    };
    let limits = pick(&[
        "",
        "alpha = 0.05\n",
        "alpha = 4\nqueue_limit = \"30KB\"\n",
        "port_limit = \"20KB\"\n",
        "ecn_threshold = \"6KB\"\n",
        "ecn_threshold = \"6KB\"\necn_at = \"departure\"\n",
        "ecn_threshold = \"15KB\"\necn_at = \"departure\"\n",
        "pfc = { enabled = true, xoff = \"9KB\" }\n",
        "pfc = { enabled = true, alpha = 0.02, xon_offset = \"3KB\" }\n",
        "pfc = { enabled = true, xoff = \"6KB\", watchdog = { after = \"10us\", action = \"drop\" } }\n",
        "pfc = { enabled = true, alpha = 0.05, watchdog = { after = \"8us\", action = \"drop\" } }\n",
    ]);
    let buffer = pick(if limits.starts_with("pfc") { &["4MB", "9MB"] } else { &["40KB", "100KB"] });
    let names = pick(&["", "a", "ab", "abc"]);
    let burst = pick(&["", "", "", "burst = \"9KB\"\n"]);
    let mut switch = format!("[switch]\nbuffer = \"{buffer}\"\n{burst}{limits}");
    for name in names.chars() {
        let _ = writeln!(switch, "[[class]]\nname = \"{name}\"");
    }
    (switch, names.len())
}

/// Networks in which all rates, delays, packets and starting times differ, or are all equal. In the
/// latter many events are simultaneous, among them the ends of the warm-up, the measurement and the
/// run.
pub(super) fn random_case(random: &mut Random) -> String {
    let (mut graph, switches, _) = random_graph(random);
    let lockstep = random.below(2) == 0;
    if lockstep {
        let links = graph.lines().map(|line| match line.split_once(", rate") {
            Some((ends, _)) => format!("{ends}, rate = \"10Gbps\", delay = \"1200ns\" }},\n"),
            None => format!("{line}\n"),
        });
        graph = links.collect();
    }
    graph += &random_links(random, switches);
    let (switch, classes) = random_switch(random);
    let mut traffic = String::new();
    for number in 0..=random.below(3).max(u32::try_from(classes).unwrap()) {
        // A full packet takes 1.2 us at 10 Gb/s.
        let what = match random.below(if lockstep { 2 } else { 3 }) {
            0 => "kind = \"connections\"\nmessage = \"12KB\"\ncount = 12\nevery = \"24us\"",
            1 => "kind = \"connections\"\nmessage = \"30KB\"\ncount = 5\nevery = \"48us\"",
            _ => "kind = \"poisson\"\nload = 0.4\nsizes = { fixed = \"15KB\" }",
        };
        let to =
            if what.contains("poisson") { "h" } else { ["h0", "h1"][random.below(2) as usize] };
        let class = match classes {
            0 => String::new(),
            classes => {
                format!("class = \"{}\"\n", ["a", "b", "c"][number as usize % classes])
            }
        };
        let _ = write!(traffic, "[[traffic]]\nfrom = \"h\"\nto = \"{to}\"\n{class}{what}\n");
    }
    let transport = match random.below(4) {
        0 => "[transport]\nack_priority = false\n",
        1 => "[transport]\nmtu = \"1500B\"\nheader = \"60B\"\nack = \"64B\"\n",
        2 => "[transport]\nmtu = \"1500B\"\nheader = \"60B\"\nack = \"64B\"\nnic = \"packets\"\n",
        _ => "",
    };
    // The first two space packets of 1,500 B by two and by four of their times at 10 Gb/s.
    let burst_rate = match random.below(4) {
        0 => "[cc.timely]\nburst_rate = \"4.8Gbps\"\n",
        1 => "[cc.timely]\nburst_rate = \"2.4Gbps\"\n",
        2 => "[cc.timely]\nburst_rate = \"3Gbps\"\n",
        _ => "",
    };
    format!(
        "title = \"at random\"\n[run]\nduration = \"240us\"\nwarmup = \"48us\"\ncooldown = \"24us\"\n\
         interval = \"12us\"\nschemes = [\"timely\"]\n{graph}\n{switch}{transport}{burst_rate}{traffic}"
    )
}

/// Runs each case in one domain and in several, with ports that look ahead and with an event for
/// each packet.
#[test]
fn packets_that_are_on_their_link_before_they_start_change_nothing() {
    let mut random = Random::new(101);
    let (mut pauses, mut drops, mut reports, mut fewer) = (0, 0, 0, 0);
    for case in 0..60 {
        let (graph, ..) = random_graph(&mut random);
        let (switch, schemes) = SWITCHES[case % SWITCHES.len()];
        let (text, schemes) = if case % 4 == 0 {
            let text = format!(
                "title = \"at random\"\n[run]\nduration = \"400us\"\nwarmup = \"50us\"\ncooldown = \"30us\"\n\
                 schemes = [\"timely\"]\n{graph}\n[switch]\n{switch}\n{TRAFFIC}"
            );
            (text, schemes)
        } else {
            (
                random_case(&mut random),
                &["line-rate", "timely", "dctcp", "newreno"][case % 4..=case % 4],
            )
        };
        let document = Document::parse(text, "random.toml").unwrap_or_else(|e| panic!("{e}"));
        for scheme in schemes {
            let each = whole(&document, (scheme, ALL_TRACES));
            let ahead = whole(&document, (scheme, FLOWS));
            pauses += each.summary.pfc_pauses;
            drops += each.summary.drops;
            reports += each.summary.pfc_watchdog_reports;
            fewer += each.summary.events.saturating_sub(ahead.summary.events);
            let parts =
                finish(started(&document, (scheme, FLOWS)).in_domains(1, 2 + case % 2), 500);
            assert!(same(&ahead, &parts), "case {case}, {scheme}, in domains");
            assert!(results(each) == results(ahead), "case {case}, {scheme}");
        }
    }
    let seen = [pauses, drops, reports];
    assert!(!seen.contains(&0) && fewer > 10_000, "or it shows nothing: {seen:?} {fewer}");
}

/// Two leaves and a spine, ten hosts each.
fn leaf_spine(more: &str) -> Document {
    let text = format!(
        r#"
        title = "two leaves"
        [run]
        duration = "300us"
        schemes = ["timely"]
        [network.leaf-spine]
        leaves = 2
        spines = 2
        [network.leaf-spine.hosts]
        name = "host"
        count = 10
        rate = "10Gbps"
        delay = "1us"
        [network.leaf-spine.uplink]
        rate = "10Gbps"
        delay = "1us"
        {more}
        [[traffic]]
        kind = "connections"
        from = "host[0-9]"
        to = "host[10-19]"
        [[traffic]]
        kind = "connections"
        from = "host[10-19]"
        to = "host[0-9]"
        message = "10KB"
        count = 10
        every = "20us"
        "#
    );
    Document::parse(text, "two-leaves.toml").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn run_that_is_stopped_in_several_threads_is_incomplete_and_balances() {
    let document = leaf_spine("");
    let mut run = parted(&document, ("timely", FLOWS), &[0, 1, 0, 1], 2);
    assert!(run.advance(2_000));
    let (simulated, events) = (run.simulated(), run.events());
    assert!(!simulated.is_zero() && simulated < run.duration() && events >= 2_000);
    assert_eq!(run.hosts(), 20);
    let report = run.finish();
    assert!(!report.complete && report.books.balance(), "{:?}", report.books);
    assert_eq!(report.summary.events, events);
    assert!(report.books.in_flight_packets > 0 && report.books.delivered_packets > 0);
}

#[test]
fn run_goes_on_in_another_number_of_threads() {
    let document = leaf_spine("");
    let alone = whole(&document, ("timely", FLOWS));
    let mut run = parted(&document, ("timely", FLOWS), &[0, 1, 0, 1], 2);
    for (domains, nodes) in [(3, true), (1, false), (1, true), (4, true), (1, false), (2, true)] {
        assert!(run.advance(300));
        run = run.in_domains(2, domains).in_node_windows(nodes);
    }
    assert!(same(&alone, &finish(run, 1_000)));
}

/// A run in windows of nodes stops at the end of a window. All nodes are there then: it has handled
/// the same events as a run in the order of time.
#[test]
fn run_in_node_windows_stops_where_all_nodes_are_at_one_instant() {
    let document = leaf_spine("");
    for events in [1, 700, 2_001, 5_000] {
        let [mut nodes, mut slots] = [true, false].map(|nodes| {
            let mut run = started(&document, ("timely", FLOWS)).in_node_windows(nodes);
            run.built.net.take_no_shortcut();
            run
        });
        assert!(nodes.advance(events));
        let handled = nodes.events();
        assert!((events..events + 500).contains(&handled), "{handled}");
        assert!(slots.advance(handled));
        assert!(slots.simulated() < nodes.simulated());
        for flow in 0..nodes.flows() {
            assert_eq!(nodes.delivered(flow), slots.delivered(flow), "flow {flow}");
        }
        let (nodes, slots) = (nodes.finish(), slots.finish());
        assert!(!nodes.complete && nodes.books.balance(), "{:?}", nodes.books);
        assert_eq!(nodes.summary.events, handled);
        assert_eq!(format!("{:?}", nodes.books), format!("{:?}", slots.books));
    }
}

/// A run whose hosts run ahead stops when all nodes have come to the instant of the foremost host.
#[test]
fn run_in_which_hosts_run_ahead_stops_where_all_nodes_are_at_one_instant() {
    let document = leaf_spine("");
    for events in [1, 700, 2_001, 5_000] {
        let [mut ahead, mut plain] =
            [(); 2].map(|()| started(&document, ("dctcp", FLOWS)).in_node_windows(false));
        plain.built.net.take_no_shortcut();
        assert!(ahead.advance(events));
        assert!((events..events + 500).contains(&ahead.events()), "{}", ahead.events());
        assert!(!plain.built.net.run(Time::ZERO + ahead.simulated(), u64::MAX));
        let (ahead, plain) = (ahead.finish(), plain.finish());
        assert!(!ahead.complete && ahead.books.balance(), "{:?}", ahead.books);
        assert_eq!(format!("{:?}", ahead.books), format!("{:?}", plain.books));
    }
}

#[test]
fn dense_networks_choose_node_windows() {
    let chooses = |document: &Document, rate: &str| {
        let rates = ["hosts", "uplink"].map(|of| format!("network.leaf-spine.{of}.rate={rate}"));
        let document = document.with_set(&rates).unwrap_or_else(|error| panic!("{error}"));
        started(&document, ("timely", FLOWS)).has_node_windows()
    };
    let (plain, oracle) = (leaf_spine(""), leaf_spine("[signal]\nkind = \"oracle\""));
    // 48 links of 1 us and 24 nodes: 1.7 packets for each, and 17.
    assert_eq!(["10Gbps", "100Gbps"].map(|rate| chooses(&plain, rate)), [false, true]);
    assert!(!chooses(&oracle, "100Gbps"), "an oracle sees all queues at once");
}

#[test]
fn oracle_sees_all_queues_and_keeps_the_network_whole() {
    let document = leaf_spine("[signal]\nkind = \"oracle\"");
    let run = started(&document, ("timely", FLOWS)).in_domains(2, 2);
    assert_eq!(run.windows(), None);
    assert!(same(&whole(&document, ("timely", FLOWS)), &finish(run, u64::MAX)));
}

#[test]
fn stamps_name_links_by_their_number_in_the_whole_network() {
    let document = leaf_spine("[switch]\ntelemetry = true");
    let mut run = parted(&document, ("hpcc", FLOWS), &[0, 1, 1, 0], 2);
    assert!(run.advance(5_000));
    run = run.in_domains(2, 1);
    let mut seen = 0;
    for (link, last) in run.built.net.last_stamps() {
        assert_eq!(last.port, link, "by the switch that has just sent it");
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}
