//! Several paths, and links that fail or change, in whole runs.

use incast_sim::{Report, Simulation, TraceConfig};

use crate::common::{ALL_TRACES, counts, document, numbers, run_with, table, texts};

/// Two leaves of two hosts under two spines, all at 10 Gb/s, 10 us from leaf to spine; one endless
/// flow from rack to rack. Packets of 1,500 B take 1.2 us.
const TWO_SPINES: &str = r#"
    title = "two spines"
    [run]
    duration = "4ms"
    interval = "100us"
    schemes = ["line-rate"]
    [network.leaf-spine]
    leaves = 2
    spines = 2
    hosts = { name = "host", count = 2, rate = "10Gbps", delay = "1us" }
    uplink = { rate = "10Gbps", delay = "10us" }
    [transport]
    rto_min = "300us"
    rto_initial = "300us"
    [[traffic]]
    kind = "connections"
    from = "host0"
    to = "host2"
"#;

fn run(text: &str) -> Report {
    run_with(&document(text), "line-rate", 1, ALL_TRACES)
}

fn packets_on(report: &Report, link: &str) -> u64 {
    let links = texts(report, "links", "link");
    let place = links.iter().position(|name| name == link).unwrap_or_else(|| panic!("{links:?}"));
    counts(report, "links", "packets")[place]
}

/// The packets that a failure cost on a link: cut off, unsent, stranded.
fn losses(report: &Report, link: &str) -> [u64; 3] {
    let links = texts(report, "link_failures", "link");
    let place = links.iter().position(|name| name == link).unwrap_or_else(|| panic!("{links:?}"));
    ["cut", "unsent", "stranded"].map(|column| counts(report, "link_failures", column)[place])
}

/// The spine over which host0's data goes.
fn spine_of(text: &str) -> usize {
    let report = run(text);
    let on = |spine: usize| packets_on(&report, &format!("leaf0->spine{spine}"));
    let taken = usize::from(on(1) > 0);
    assert_eq!(on(1 - taken), 0, "one connection takes one path");
    assert!(on(taken) > 1_000);
    taken
}

/// Goodput of the only flow in the interval that ends at `us`.
fn goodput_at(report: &Report, us: f64) -> f64 {
    let times = numbers(report, "series_flows", "time_us");
    let place = times.iter().position(|&time| (time - us).abs() < 1e-6).unwrap();
    numbers(report, "series_flows", "goodput_gbps")[place]
}

#[test]
fn a_fat_tree_gives_the_same_bytes_twice() {
    let document = document(
        r#"
        title = "fat tree"
        [run]
        duration = "500us"
        schemes = ["dctcp"]
        [network.fat-tree]
        k = 4
        hosts = { name = "host", rate = "10Gbps", delay = "1us" }
        link = { rate = "10Gbps", delay = "1us" }
        [switch]
        ecn_threshold = "30KB"
        queue_limit = "60KB"
        [[event]]
        at = "200us"
        link = ["aggregation0", "core1"]
        state = "down"
        [[traffic]]
        kind = "connections"
        from = "host"
        to = "host"
        fan_out = 3
        start_spread = "20us"
        "#,
    );
    for kind in ["ecmp", "single", "spray"] {
        let document = document.with_set(&[format!("routing.kind={kind}")]).unwrap();
        let report = run_with(&document, "dctcp", 1, ALL_TRACES);
        let again = run_with(&document, "dctcp", 1, ALL_TRACES);
        assert!(format!("{report:?}") == format!("{again:?}"), "{kind}: not the same twice");
        let other = run_with(&document, "dctcp", 2, ALL_TRACES);
        assert!(format!("{report:?}") != format!("{other:?}"), "or it shows nothing");
    }
}

#[test]
fn a_fat_tree_of_8192_hosts_builds() {
    let text = r#"
        title = "a large fat-tree"
        [run]
        duration = "1us"
        schemes = ["line-rate"]
        [network.fat-tree]
        k = 32
        hosts = { name = "host", rate = "100Gbps", delay = "1us" }
        link = { rate = "100Gbps", delay = "1us" }
        [[traffic]]
        kind = "poisson"
        from = "host"
        load = 0.1
        sizes = { fixed = "1KB" }
    "#;
    let document = document(text);
    let run = Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default());
    assert!(run.is_ok());
}

#[test]
fn where_there_is_one_path_the_kind_of_routing_changes_nothing() {
    let text = r#"
        title = "one path"
        [run]
        duration = "2ms"
        schemes = ["timely"]
        [network.dumbbell]
        left = [{ name = "a", count = 3, rate = "10Gbps", delay = "1us" }]
        right = [{ name = "b", count = 2, rate = "10Gbps", delay = "1us" }]
        bottleneck = { rate = "10Gbps", delay = "3us" }
        [switch]
        queue_limit = "60KB"
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b"
        start_spread = "10us"
    "#;
    let [single, ecmp] = ["single", "ecmp"].map(|kind| {
        let document = document(text).with_set(&[format!("routing.kind={kind}")]).unwrap();
        format!("{:?}", run_with(&document, "timely", 1, ALL_TRACES))
    });
    assert!(single == ecmp);
    // Spraying has nothing to choose from, but more frames are events: all else is the same.
    let document = document(text).with_set(&["routing.kind=spray"]).unwrap();
    let spray = run_with(&document, "timely", 1, ALL_TRACES);
    assert!(single.contains(&format!("{:?}", spray.tables)));
}

#[test]
fn sprayed_packets_take_all_paths_and_all_arrive() {
    let text = TWO_SPINES.replace("spines = 2", "spines = 4").replace(
        "to = \"host2\"",
        "to = \"host2\"\nmessage = \"3MB\"\n[routing]\nkind = \"spray\"",
    );
    let report = run(&text);
    assert_eq!(table(&report, "messages").columns[0].values.len(), 1);
    let shares: Vec<_> =
        (0..4).map(|spine| packets_on(&report, &format!("leaf0->spine{spine}"))).collect();
    let all: u64 = shares.iter().sum();
    // 3 MB are 2,055 packets of 1,460 B at least; a share is binomial with a deviation of
    // sqrt(2055 x 3/16) = 20 packets: within five of them.
    assert!(all >= 2_055);
    for share in &shares {
        assert!(share.abs_diff(all / 4) < 100, "{shares:?}");
    }
}

#[test]
fn a_given_path_is_taken_by_its_hosts_alone() {
    let other = TWO_SPINES.replace("host0", "host1").replace("host2", "host3");
    let hashed = spine_of(&other);
    let report = |given: usize| {
        run(&format!(
            "{other}\n[[traffic]]\nkind = \"connections\"\nfrom = \"host0\"\nto = \"host2\"\n\
             [[routing.path]]\nfrom = \"host0\"\nto = \"host2\"\n\
             via = [\"leaf0\", \"spine{given}\", \"leaf1\"]"
        ))
    };
    let on = |report: &Report, spine: usize| packets_on(report, &format!("leaf0->spine{spine}"));
    // Both over the spine to which host1's hash leads, or each over its own: 4 ms / 1.2 us = 3,333.
    let together = report(hashed);
    assert!(on(&together, hashed) > 3_000);
    assert_eq!(on(&together, 1 - hashed), 0);
    let apart = report(1 - hashed);
    assert!(on(&apart, hashed) > 3_000 && on(&apart, 1 - hashed) > 3_000);
    // The way back is not given: ACKs take one of the spines, as before.
    let back = |report: &Report| {
        [0, 1].map(|spine| packets_on(report, &format!("leaf1->spine{spine}")) > 0)
    };
    assert_eq!(back(&together), back(&apart));
}

/// Events of a link between two nodes: times and states.
fn events([a, b]: [&str; 2], of: &[(&str, &str)]) -> String {
    let event = |(at, state): &(&str, &str)| {
        format!("[[event]]\nat = \"{at}\"\nlink = [\"{a}\", \"{b}\"]\nstate = \"{state}\"\n")
    };
    of.iter().map(event).collect()
}

/// A run in which a link fails at 1 ms, and then has more events; new routes come 200 us later.
fn failure(text: &str, link: [&str; 2], more: &[(&str, &str)]) -> Report {
    let events = events(link, &[("1ms", "down")]) + &events(link, more);
    run(&format!("{text}\n[routing]\nconvergence = \"200us\"\n{events}"))
}

#[test]
fn failures_cost_what_is_on_the_link_and_what_comes_until_there_is_a_way() {
    let taken = spine_of(TWO_SPINES);
    let (two, one) = (TWO_SPINES, &*TWO_SPINES.replace("spines = 2", "spines = 1"));
    let (spine, other) = (&*format!("spine{taken}"), format!("leaf0->spine{}", 1 - taken));
    let (up, no) = (&[("2ms", "up")][..], &[][..]);
    // The network, the link, its further events; where losses count, and packets that are cut off,
    // unsent, stranded, at least and at most; a time in microseconds and its greatest goodput.
    let cases = [
        // The link carries a packet of 1.2 us for 1.2 + 10 us: nine at least, ten at most, were cut
        // off. Until the routes change, at most 200 us / 1.2 us = 166.7 come for it, and what the
        // host sends before it waits for ACKs at least.
        (two, ["leaf0", spine], no, ["leaf0", spine], [(9, 10), (20, 168), (0, 0)], (1_200.0, 1.0)),
        // The leaf learns of a failure behind the spine, too.
        (two, [spine, "leaf1"], no, [spine, "leaf1"], [(9, 10), (20, 168), (0, 0)], (1_200.0, 1.0)),
        // Retransmissions, every 300 us or less often, find no way at leaf0, where they come from
        // host0.
        (
            one,
            ["spine0", "leaf1"],
            up,
            ["host0", "leaf0"],
            [(0, 0), (0, 0), (1, u64::MAX)],
            (1_900.0, 1e-9),
        ),
        // The host sends nothing that nobody takes: only what was on its way is lost, at 1.2 us for
        // 2.2.
        (
            two,
            ["host0", "leaf0"],
            up,
            ["host0", "leaf0"],
            [(1, 2), (0, 0), (0, 0)],
            (1_900.0, 1e-9),
        ),
    ];
    for (text, link, more, on, expected, (down, most)) in cases {
        let report = failure(text, link, more);
        let lost = losses(&report, &on.join("->"));
        let fits = |(lost, (low, high))| (low..=high).contains(lost);
        assert!(lost.iter().zip(expected).all(fits), "{link:?}: {lost:?}, not {expected:?}");
        assert!(report.summary.drops >= lost.iter().sum(), "{link:?}");
        assert!(!more.is_empty() || packets_on(&report, &other) > 1_000, "{link:?}");
        let [before, during, after] = [1_000.0, down, 4_000.0].map(|us| goodput_at(&report, us));
        assert!(before > 9.6 && during < most && after > 9.6, "{before} {during} {after}");
    }
}

#[test]
fn repaired_links_are_taken_again() {
    let spine = format!("spine{}", spine_of(TWO_SPINES));
    let [forever, repaired] = [&[][..], &[("2ms", "up")]].map(|more| {
        packets_on(&failure(TWO_SPINES, ["leaf0", &spine], more), &format!("leaf0->{spine}"))
    });
    // 1 ms before the failure, and 1.8 ms after the repair and its convergence: 1,500 packets.
    assert!(repaired > forever + 1_400, "{repaired} {forever}");
}

#[test]
fn a_link_that_fails_twice_cuts_twice() {
    // Timeouts of 300, 600 and 1,200 us: traffic goes on after 3.1 ms.
    let more = [("2ms", "up"), ("3.6ms", "down")];
    let [once, twice] = [&more[..1], &more]
        .map(|more| losses(&failure(TWO_SPINES, ["leaf1", "host2"], more), "leaf1->host2"));
    // One or two packets are on a link of 1.2 us for 2.2 us.
    assert!((1..=2).contains(&once[0]) && (1..=2).contains(&(twice[0] - once[0])), "{twice:?}");
    assert!(twice[1] > once[1], "{once:?} {twice:?}");
}

#[test]
fn pauses_end_with_the_link_that_they_came_by() {
    let clients = (0..4).map(|client| format!("client{client}"));
    let clients =
        clients.map(|client| events([&client, "switch"], &[("1ms", "down"), ("1.01ms", "up")]));
    let events = clients.collect::<String>()
        + &events(["server", "switch"], &[("2ms", "down"), ("2.2ms", "up")]);
    let report = run(&format!(
        r#"
        title = "pauses"
        [run]
        duration = "5ms"
        warmup = "3ms"
        schemes = ["line-rate"]
        [network.star]
        hosts = [
            {{ name = "client", count = 4, rate = "10Gbps", delay = "1us" }},
            {{ name = "server", rate = "10Gbps", delay = "1us" }},
        ]
        [switch]
        buffer = "200KB"
        [switch.pfc]
        enabled = true
        xoff = "20KB"
        [transport]
        rto_min = "300us"
        rto_initial = "300us"
        [[traffic]]
        kind = "connections"
        from = "client"
        to = "server"
        {events}
        "#
    ));
    assert!(report.summary.pfc_pauses > 100);
    // All four go on, each with its quarter of 10 Gb/s x 1460 / 1500, and the server's link is
    // full.
    for &goodput in numbers(&report, "flows", "goodput_gbps") {
        assert!((2.2..2.7).contains(&goodput), "{goodput}");
    }
    assert!(report.summary.throughput_gbps > 9.6, "{}", report.summary.throughput_gbps);
    // What waited at the server's port went with the link, and its room in the buffer came back.
    let [_, unsent, _] = losses(&report, "switch->server");
    assert!(unsent > 20);
    // A client whose link comes back knows of no pause while its headroom may still be full: at
    // most as much again, 2 us x 1.25 B/ns and three packets and a PFC frame, 4 packets of each,
    // finds no room.
    let sum = |column| counts(&report, "queues", column).iter().sum::<u64>();
    let drops = sum("drops") - sum("drops_link");
    assert!(drops <= 4 * 4, "{drops}");
}

#[test]
fn half_the_rate_gives_half_the_goodput() {
    let text = r#"
        title = "half"
        [run]
        duration = "4ms"
        interval = "100us"
        schemes = ["line-rate"]
        [network.star]
        hosts = [{ name = "host", count = 2, rate = "10Gbps", delay = "1us" }]
        [switch.pfc]
        enabled = true
        [[traffic]]
        kind = "connections"
        from = "host0"
        to = "host1"
        [[event]]
        at = "1ms"
        link = ["switch", "host1"]
        rate = "5Gbps"
        [[event]]
        at = "3ms"
        link = ["host1", "switch"]
        rate = "10Gbps"
    "#;
    let report = run(text);
    // 1,460 of 1,500 B are payload: 9.733 and 4.867 Gb/s; the interval of 100 us holds 83 or 41
    // packets, give or take one.
    for (at, expected, packet) in
        [(1_000.0, 9.733, 0.117), (3_000.0, 4.867, 0.117), (4_000.0, 9.733, 0.117)]
    {
        let goodput: f64 = goodput_at(&report, at);
        assert!((goodput - expected).abs() <= packet, "{goodput} at {at} us");
    }
    assert_eq!(report.summary.drops, 0);
}

#[test]
fn headroom_is_that_of_the_greatest_rate_a_link_ever_has() {
    // 2 x 100 us at 10 Gb/s are 250 KB, at 40 Gb/s 1 MB; then a byte, three packets and a PFC
    // frame.
    let text = r#"
        title = "headroom"
        [run]
        duration = "1ms"
        schemes = ["line-rate"]
        [network.star]
        hosts = [{ name = "host", count = 2, rate = "10Gbps", delay = "100us" }]
        [switch]
        buffer = "900KB"
        [switch.pfc]
        enabled = true
        [[traffic]]
        kind = "connections"
        from = "host0"
        to = "host1"
    "#;
    document(text);
    assert_eq!(1_000_000 + 250_000 + 2 * (1 + 3 * 1_500 + 64), 1_259_130);
    let event = "[[event]]\nat = \"500us\"\nlink = [\"host0\", \"switch\"]\nrate = \"40Gbps\"";
    let error = incast_sim::scenario::Document::parse(format!("{text}\n{event}"), "test.toml");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("PFC headroom of switch's 2 ports takes 1259.13KB"), "{error}");
}

#[test]
fn runs_without_failures_have_no_table_of_them() {
    let report = run_with(&document(TWO_SPINES), "line-rate", 1, TraceConfig::default());
    assert!(report.tables.iter().all(|table| table.name != "link_failures"));
}

#[test]
fn utilisation_is_of_what_a_link_carries_at_all_its_rates() {
    // 20 Gb/s for one port of 10 Gb/s that has 20 from 3 ms on: full all the time. Of 1 to 5 ms, 60
    // Mbit.
    let report = run(r#"
        title = "faster"
        [run]
        duration = "5ms"
        warmup = "1ms"
        schemes = ["line-rate"]
        [network.dumbbell]
        left = [{ name = "a", rate = "40Gbps", delay = "1us" }]
        right = [{ name = "b", rate = "40Gbps", delay = "1us" }]
        bottleneck = { rate = "10Gbps", delay = "1us" }
        [switch.pfc]
        enabled = true
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b"
        [[event]]
        at = "3ms"
        link = ["left-switch", "right-switch"]
        rate = "20Gbps"
    "#);
    let names = texts(&report, "links", "link");
    let row = names.iter().position(|name| *name == *"left-switch->right-switch").unwrap();
    let sent = counts(&report, "links", "bytes")[row] as f64 * 8.0;
    assert!((sent / 60e6 - 1.0).abs() < 1e-3, "{sent} bits");
    let utilisation = numbers(&report, "links", "utilisation")[row];
    assert!((utilisation - sent / 60e6).abs() < 1e-12, "{utilisation}");
    let first = numbers(&report, "links", "rate_gbps")[row];
    assert!((first - 10.0).abs() < 1e-12, "{first}");
}

#[test]
fn a_packet_on_a_link_that_gets_slow_arrives_as_if_it_had_not() {
    // Two packets, the second on its last link from 1.36 us to 2.36 us. At 1 Mb/s, the rate from
    // 1.5 us on, it would have started before the beginning of the run.
    let report = crate::common::run(
        r#"
        title = "slow"
        [run]
        duration = "1ms"
        schemes = ["line-rate"]
        [network.star]
        hosts = [{ name = "a", rate = "100Gbps", delay = "1us" }, { name = "b", rate = "100Gbps", delay = "1us" }]
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b"
        message = "2920B"
        [[event]]
        at = "1.5us"
        link = ["switch", "b"]
        rate = "1Mbps"
        "#,
    );
    assert_eq!(crate::closed_forms::completions(&report), [3 * 120_000 + 2 * 1_000_000]);
}

/// Numbers of hosts beyond 16 bits: 67,000 has the lower bits of 1,464.
#[test]
fn packets_find_hosts_beyond_the_first_65_536() {
    let text = r#"
        title = "17 racks of 4,000 hosts"
        [run]
        duration = "150us"
        schemes = ["line-rate"]
        [network.leaf-spine]
        leaves = 17
        spines = 1
        hosts = { name = "host", count = 4000, rate = "10Gbps", delay = "1us" }
        uplink = { rate = "100Gbps", delay = "1us" }
        [[traffic]]
        kind = "connections"
        from = "host3"
        to = "host67000"
        [[traffic]]
        kind = "connections"
        from = "host67000"
        to = "host67999"
    "#;
    let report = run_with(&document(text), "line-rate", 1, TraceConfig::default());
    let (data, acks) = (packets_on(&report, "host3->leaf0"), packets_on(&report, "leaf0->host3"));
    assert!((120..=126).contains(&data) && acks > 0, "{data} packets, {acks} ACKs");
    let arrived = packets_on(&report, "leaf16->host67000");
    assert!((data - 5..data + 5).contains(&arrived), "{arrived} of {data} packets arrived");
    assert!(packets_on(&report, "leaf16->host67999") >= data - 5);
    for other in ["leaf0->host1464", "leaf0->host2463"] {
        assert_eq!(packets_on(&report, other), 0, "{other}");
    }
}
