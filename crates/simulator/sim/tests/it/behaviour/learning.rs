//! `timely:auto`: fast hosts into a port of unknown rate, with RTTs by the stamps of a kernel.

use super::setting::{assert_in, goodputs};
use crate::common::bottleneck::{Bottleneck, LINE_GBPS};
use crate::common::{document, numbers, run_with, shipped};
use incast_sim::TraceConfig;

const AUTO: Bottleneck<'_> = Bottleneck {
    scheme: "timely:auto",
    flows: 1,
    mbps: 1_000,
    rtt_us: 20,
    ms: (1_300, 300),
    set: &[],
    more: "",
};

/// What a port carries of payload, in Gb/s.
fn payload(gbps: f64) -> f64 {
    gbps * 1_460.0 / 1_500.0
}

#[test]
fn a_path_without_a_bottleneck_is_never_throttled() {
    for rtt_us in [3, 100] {
        let mbps = LINE_GBPS * 1_000;
        let report = Bottleneck { mbps, rtt_us, ms: (150, 20), ..AUTO }.report();
        assert_eq!(report.summary.drops, 0);
        for (at_s, gbps) in goodputs(&report, 0).into_iter().filter(|&(at_s, _)| at_s > 0.025) {
            let share = gbps / payload(LINE_GBPS.into());
            assert_in(&format!("share at {at_s} s, RTT {rtt_us} us"), share, 0.95..=1.01);
        }
    }
}

#[test]
fn stamps_of_a_kernel_throttle_zhu_and_erpc_on_an_idle_path_and_no_other_preset() {
    // One sample in ten thousand is above a T_low of 50 us. It takes most of the rate of those two,
    // which comes back in steps.
    let shares = [
        ("authors-snippet", 0.95..=1.001),
        ("zhu", 0.02..=0.2),
        ("erpc", 0.5..=0.9),
        ("queue-size", 0.95..=1.001),
        ("cs244", 0.95..=1.001),
        ("linux-tcp", 0.95..=1.001),
    ];
    for (preset, expected) in shares {
        let (scheme, mbps) = (format!("timely:{preset}"), LINE_GBPS * 1_000);
        let run = Bottleneck { scheme: &scheme, mbps, rtt_us: 3, ms: (250, 150), ..AUTO }.run();
        assert_in(&format!("share of {preset}"), run.goodput, expected);
    }
}

#[test]
fn any_number_of_senders_fills_the_port_and_leaves_its_queue_short() {
    for (flows, rtt_us) in [(1, 100), (2, 3), (5, 20), (10, 3), (10, 100)] {
        let run = Bottleneck { flows, rtt_us, ..AUTO }.run();
        let of = |what: &str| format!("{what} of {flows} senders, RTT {rtt_us} us");
        assert_eq!(run.drops, 0, "{}", of("drops"));
        assert_in(&of("goodput"), run.goodput, 0.97..=1.001);
        // A hundredth of the queue and two packets, and a thirtieth.
        assert_in(&of("p50 in KB"), run.p50_kb, 0.0..=13.0);
        assert_in(&of("p99 in KB"), run.p99_kb, 0.0..=33.3);
        assert_in(&of("Jain's index"), run.jain, 0.98..=1.0);
    }
}

#[test]
fn one_setting_serves_ports_of_half_a_gigabit_and_of_twenty_five() {
    for (mbps, flows, ms, longest) in
        [(500, 10, (1_300, 300), [10.0, 33.3]), (25_000, 2, (400, 300), [35.0, 130.0])]
    {
        let run = Bottleneck { flows, mbps, ms, ..AUTO }.run();
        let of = |what: &str| format!("{what} at {mbps} Mb/s");
        assert_eq!(run.drops, 0, "{}", of("drops"));
        assert_in(&of("goodput"), run.goodput, 0.95..=1.001);
        assert_in(&of("p50 in KB"), run.p50_kb, 0.0..=longest[0]);
        assert_in(&of("p99 in KB"), run.p99_kb, 0.0..=longest[1]);
        assert_in(&of("Jain's index"), run.jain, 0.95..=1.0);
    }
}

#[test]
fn a_token_bucket_takes_nothing_from_the_port() {
    let set = ["switch.burst=70KB", "switch.burst_time=500us"];
    for (mbps, flows, rtt_us) in [(500, 1, 20), (500, 10, 3), (1_000, 2, 3), (5_000, 5, 20)] {
        let run = Bottleneck { flows, mbps, rtt_us, set: &set, ..AUTO }.run();
        let of = |what: &str| format!("{what} of {flows} senders at {mbps} Mb/s");
        // The bucket hides the start's overload.
        let most = if mbps == 5_000 { 400.0 } else { 0.0 };
        assert_in(&of("drops"), run.drops as f64, 0.0..=most);
        assert_in(&of("goodput"), run.goodput, 0.985..=1.001);
        assert_in(&of("p50 in KB"), run.p50_kb, 0.0..=10.0);
        assert_in(&of("p99 in KB"), run.p99_kb, 0.0..=50.0);
        assert_in(&of("Jain's index"), run.jain, 0.96..=1.0);
    }
}

#[test]
fn a_second_flow_has_its_share_after_a_tenth_of_a_second() {
    let set = ["traffic.0.from=sender0"];
    let more = "[[traffic]]\nkind = \"connections\"\nfrom = \"sender1\"\nto = \"receiver\"\n\
                start = \"300ms\"\n";
    for rtt_us in [3, 100] {
        let two = Bottleneck { flows: 2, rtt_us, ms: (600, 1), set: &set, more, ..AUTO };
        let report = two.report();
        assert_eq!(report.summary.drops, 0);
        let both = [0, 1].map(|flow| goodputs(&report, flow));
        let share = |flow: usize, from_s: f64, until_s: f64| {
            let within = both[flow].iter().filter(|&&(at, _)| at > from_s && at <= until_s + 1e-6);
            let all: Vec<_> = within.map(|&(_, gbps)| gbps).collect();
            all.iter().sum::<f64>() / all.len() as f64 / payload(1.0)
        };
        assert_in("the first alone", share(0, 0.2, 0.3), 0.97..=1.001);
        assert_in("the second", share(1, 0.4, 0.5), 0.35..=0.6);
        assert_in("both", share(0, 0.4, 0.6) + share(1, 0.4, 0.6), 0.97..=1.001);
    }
}

#[test]
fn a_path_that_loses_half_of_its_rate_is_followed_there_and_back() {
    let event = |ms: u32, rate: &str| {
        format!(
            "[[event]]\nat = \"{ms}ms\"\nlink = [\"switch\", \"receiver\"]\nrate = \"{rate}\"\n"
        )
    };
    let more = event(200, "500Mbps") + &event(400, "1Gbps");
    let report = Bottleneck { flows: 2, ms: (600, 190), more: &more, ..AUTO }.report();
    assert_eq!(report.summary.drops, 0);
    let both = [0, 1].map(|flow| goodputs(&report, flow));
    let mut slow = 0;
    for (&(at_s, one), &(_, other)) in both[0].iter().zip(&both[1]) {
        let share = (one + other) / payload(1.0);
        let what = format!("both at {at_s:.2} s");
        match at_s {
            0.215..0.405 => assert_in(&what, share * 2.0, 0.95..=1.01),
            0.445..0.605 => assert_in(&what, share, 0.95..=1.01),
            _ => slow += 1,
        }
    }
    assert!(slow < 27, "{slow}");
    // The queue that half of the rate leaves behind is gone after milliseconds.
    let longest = numbers(&report, "queues", "max_kb").iter().copied().fold(0.0, f64::max);
    assert_in("longest queue in KB", longest, 0.0..=100.0);
}

/// Web search at 0.3 of 32 hosts on a leaf-spine network.
const WEB_SEARCH: &str = r#"
    title = "web search on a leaf-spine network"
    [run]
    duration = "60ms"
    warmup = "10ms"
    cooldown = "10ms"
    drain = "200ms"
    schemes = ["timely"]
    [network.leaf-spine]
    leaves = 4
    spines = 4
    hosts = { name = "host", count = 8, rate = "10Gbps", delay = "1us" }
    uplink = { rate = "20Gbps", delay = "1us" }
    [switch]
    buffer = "12MB"
    [transport]
    segment = "16KB"
    [[traffic]]
    kind = "poisson"
    from = "host"
    load = 0.3
    sizes = "web-search"
"#;

#[test]
fn short_flows_take_little_longer_than_under_the_papers_start_and_less_with_what_hosts_know() {
    let fast = [
        "run.duration=16ms",
        "run.warmup=3ms",
        "run.cooldown=3ms",
        "network.leaf-spine.hosts.rate=100Gbps",
        "network.leaf-spine.uplink.rate=200Gbps",
        "switch.buffer=32MB",
    ];
    for (set, shares) in [(&[][..], 0.0..=0.8), (&fast, 0.0..=0.7)] {
        let document = document(WEB_SEARCH).with_set(set).unwrap_or_else(|error| panic!("{error}"));
        let slowdown = |scheme: &str| {
            let summary = run_with(&document, scheme, 1, TraceConfig::default()).summary;
            assert_eq!(summary.drops, 0, "{scheme}");
            assert_eq!(summary.messages, summary.messages_posted, "{scheme}");
            summary.slowdown_mean
        };
        let (paper, auto) = (slowdown("timely"), slowdown("timely:auto"));
        let blind = slowdown("timely:auto[initial_rate=packet]");
        assert_in("slowdown over the paper's", auto / paper, 0.5..=2.2);
        assert_in("slowdown over that without memory", auto / blind, shares);
    }
}

#[test]
fn a_long_flow_keeps_its_share_beside_short_ones_whose_host_knows_the_path() {
    let text = r#"
        title = "short flows of one host and a long one of another"
        [run]
        duration = "600ms"
        warmup = "300ms"
        schemes = ["timely"]
        [[network.star.hosts]]
        name = "sender"
        count = 2
        rate = "10Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "1Gbps"
        delay = "1us"
        [switch]
        queue_limit = "1MB"
        [[traffic]]
        kind = "poisson"
        from = "sender0"
        to = "receiver"
        load = 0.04
        sizes = { fixed = "200KB" }
        [[traffic]]
        kind = "connections"
        from = "sender1"
        to = "receiver"
        start = "100ms"
    "#;
    let report = run_with(&document(text), "timely:auto", 1, TraceConfig::default());
    let carried = numbers(&report, "load", "carried_gbps");
    assert_eq!(report.summary.drops, 0);
    assert_in("the short flows", carried[0], 0.33..=0.37);
    assert_in("the long one", carried[1], 0.37..=0.62);
}

#[test]
fn incasts_of_new_flows_to_random_hosts_find_no_stale_rates() {
    let document = shipped("timely-network-imbalance", &[]);
    let summary = run_with(&document, "timely:auto", 1, TraceConfig::default()).summary;
    assert_eq!(summary.drops, 0);
    // Without memory it is 179 us. With it, and without a look at the first sample, it was 2,826.
    assert_in("p99 of the RTT", summary.rtt_p99_us, 100.0..=400.0);
}
