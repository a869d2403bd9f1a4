use incast_scenario::Document;

mod delays;

/// Flows without end from ten hosts into one port of 10 Gb/s, 8 us of propagation in a round trip.
const STAR: &str = r#"
    title = "ten into one"
    run = { duration = "10ms", schemes = ["timely"] }
    [[network.star.hosts]]
    name = "sender"
    count = 10
    rate = "10Gbps"
    delay = "2us"
    [[network.star.hosts]]
    name = "receiver"
    rate = "10Gbps"
    delay = "2us"
    [[traffic]]
    kind = "connections"
    from = "sender"
    to = "receiver"
"#;

fn star(assignments: &[&str]) -> Document {
    let document = Document::parse(STAR.to_owned(), "star.toml").unwrap();
    document.with_set(assignments).unwrap_or_else(|error| panic!("{error}"))
}

/// The warnings about the paths of the traffic.
fn warnings(document: &Document, name: &str) -> Vec<String> {
    let scenario = document.scenario();
    super::path_warnings(scenario, name, &scenario.scheme(name).unwrap(), super::Scope::Scheme(0))
}

/// Asserts one warning for each of `parts`, which contains it, and none with `remedy`.
#[track_caller]
fn assert_warned(name: &str, assignments: &[&str], parts: &[&str], remedy: &[&str]) {
    let all = warnings(&star(assignments), name);
    assert_eq!(all.len(), parts.len(), "{all:#?}");
    for (warning, part) in all.iter().zip(parts) {
        assert!(warning.contains(part), "{part:?} is not in {warning:?}");
    }
    let left = warnings(&star(&[assignments, remedy].concat()), name);
    assert!(left.is_empty(), "{left:#?}");
}

/// 400 us of propagation in a round trip.
const LONG: [&str; 2] = ["network.star.hosts.0.delay=100us", "network.star.hosts.1.delay=100us"];
const STREAM: &str = "transport.kind=stream";

#[test]
fn a_common_star_is_warned_of_nothing() {
    for name in incast_cc::registry::NAMES {
        // An RTT of half a millisecond, a share of 43 packets, except for algorithms that do not
        // bear such an RTT.
        let still = [
            STREAM,
            "network.star.hosts.0.rate=10.2Gbps",
            "transport.ack_jitter=0us",
            "cc.integral-timely.ki=0.0001",
        ];
        let long = [
            "network.star.hosts.0.delay=250us",
            "cc.timely.t_low=2ms",
            "cc.timely.t_high=4ms",
            "cc.pfabric.rto=2ms",
            "cc.pfabric.most=60",
        ];
        let delays = ["patched-timely", "integral-timely", "swift", "rtcp"].contains(name);
        let more = if delays { &[][..] } else { &long[..] };
        let document = star(&[&still[..], more].concat());
        assert_eq!(warnings(&document, name), [""; 0], "{name}");
    }
    for name in ["timely", "patched-timely", "integral-timely", "dcqcn", "hpcc", "line-rate"] {
        let document = star(&["cc.integral-timely.ki=0.0001", "cc.hpcc.rate_ai=125Mbps"]);
        assert_eq!(warnings(&document, name), [""; 0], "{name}");
    }
}

#[test]
fn a_t_low_for_slower_links_names_the_preset_that_fits() {
    let rates = |rate: &str| [0, 1].map(|at| format!("network.star.hosts.{at}.rate={rate}"));
    let take = |rate: &str, more: &[&str], preset: &str, lower: &str| {
        let rates = rates(rate);
        let rates = [&[&*rates[0], &*rates[1], "transport.segment=16KB"], more].concat();
        let said = format!("cc.timely.t_low = 50us was chosen for slower links; take {preset},");
        assert_warned("timely", &rates, &[&said], &[lower]);
    };
    // The round trip takes 9 us, and 3 us where hosts are near: less than the 8 us of tuned-400g.
    let pfc = "switch.pfc.enabled=true";
    let near = [pfc, "network.star.hosts.0.delay=500ns", "network.star.hosts.1.delay=500ns"];
    take("100Gbps", &[pfc], "timely:tuned-100g", "cc.timely.t_low=20us");
    take("400Gbps", &[pfc], "timely:tuned-100g", "cc.timely.t_low=12us");
    take("400Gbps", &near, "timely:tuned-400g", "cc.timely.t_low=8us");
    // The tuned presets answer no loss.
    let lossy = [&rates("100Gbps")[..], &["transport.segment=16KB".into()]].concat();
    let lossy: Vec<&str> = lossy.iter().map(String::as_str).collect();
    assert_warned(
        "timely",
        &lossy,
        &["was chosen for slower links; set it lower"],
        &["cc.timely.t_low=20us"],
    );
    for other in ["timely:auto", "timely:linux-tcp"] {
        let document = star(&[&rates("100Gbps").each_ref().map(String::as_str)[..]].concat());
        assert_eq!(warnings(&document, other), [""; 0], "{other}");
    }
}

/// The RTT is the propagation; 1.2 us of the segment's last packet through the switch, after its
/// NIC has sent it; the turnaround of 1 us; and the ACK, twice 51.2 ns.
#[test]
fn thresholds_below_the_rtt_are_named_with_the_rtt_and_a_value_that_works() {
    assert_warned(
        "timely",
        &LONG,
        &[
            "no RTT is short enough for the rate to rise whatever its trend, since cc.timely.t_low = 50us is \
           below the 410us that a round trip from sender0 to receiver takes without queues; set it to 810us or \
           more",
        ],
        &["cc.timely.t_low=810us"],
    );
    let longer = ["network.star.hosts.0.delay=500us", "network.star.hosts.1.delay=100us"];
    assert_warned(
        "timely",
        &longer,
        &["the rate falls with every completion, since cc.timely.t_high = 1ms", "cc.timely.t_low"],
        &["cc.timely.t_low=2500us", "cc.timely.t_high=5ms"],
    );
    assert_warned(
        "patched-timely",
        &LONG,
        &["until delta makes up for it, since cc.patched-timely.t_low = 50us"],
        &["cc.patched-timely.t_low=810us", "cc.patched-timely.t_high=2ms"],
    );
    assert_warned(
        "integral-timely",
        &LONG,
        &[
            "cc.integral-timely.t_low = 50us",
            "cc.integral-timely.target = 100us",
            "cc.integral-timely.ki = 5.0e-4 answers a queue of a round trip ago",
        ],
        &[
            "cc.integral-timely.t_low=810us",
            "cc.integral-timely.ki=0.0001",
            "cc.integral-timely.target=1ms",
            "cc.integral-timely.t_high=5ms",
        ],
    );
    assert_warned(
        "swift",
        &[&LONG[..], &[STREAM]].concat(),
        &[
            "the window shrinks with every ACK, hops and flow scaling counted, since cc.swift.base_target = 20us",
        ],
        &["cc.swift.base_target=810us"],
    );
}

#[test]
fn a_scheme_is_named_as_it_must_be_written() {
    assert_warned(
        "timely:zhu",
        &LONG,
        &["timely:zhu: no RTT is short enough for the rate to rise whatever its trend, since \
           cc.timely:zhu.t_low = 50us"],
        &["cc.timely:zhu.t_low=1ms", "cc.timely:zhu.t_high=2ms", "cc.timely:zhu.max_decrease=0.5"],
    );
}

#[test]
fn a_path_that_no_threshold_is_long_enough_for_is_told_so() {
    let second = ["network.star.hosts.0.delay=300ms", "network.star.hosts.1.delay=300ms"];
    let all = warnings(&star(&second), "timely");
    assert!(
        all[1].ends_with("the path is too long for any value, take another algorithm"),
        "{all:?}"
    );
}

#[test]
fn signals_that_are_the_flow_s_own_doing_or_chance_are_told_with_what_bears_them() {
    let alone = [STREAM, "network.star.hosts.0.count=1", "traffic.0.from=sender0"];
    assert_warned(
        "rtcp",
        &alone,
        &[
            "the window halves when the RTT rises by 2.4us or more, and a burst of three quarters of its share from sender0 to \
           receiver takes 8.7us in its own NIC; set cc.rtcp.delay_unit to 7.2ms or more",
        ],
        &["cc.rtcp.delay_unit=7.2ms"],
    );
    // A floor that holds most of the share is borne: 11.7 of 14.5 KB.
    assert_warned(
        "rtcp",
        &alone,
        &["a burst of three quarters of its share"],
        &["cc.rtcp.floor=8"],
    );
    assert_warned(
        "vivace",
        &alone,
        &["ACKs from receiver to sender0 are late at random by up to 8."],
        &["cc.vivace.latency_filter=0.18"],
    );
}

/// 10 Gb/s for 63 us are 79 KB: 7.9 KB for each.
#[test]
fn a_share_below_a_segment_is_told_with_the_segment_that_fits() {
    for name in ["swift", "newreno", "dctcp"] {
        assert_warned(
            name,
            &["switch.pfc.enabled=true"],
            &["a window is 64KB at least, but each of 10 flows has a share of 7.8KB of the \
               bandwidth-delay product of switch to receiver"],
            &["transport.segment=1460B"],
        );
    }
    let few = ["network.star.hosts.0.count=2", "traffic.0.from=sender[0-1]"];
    assert_warned(
        "bbr",
        &[STREAM],
        &[
            "a window is 5.84KB at least, but each of 10 flows has a share of 1.4KB of the bandwidth-delay product of \
           switch to receiver, so the queue never drains, and its delay passes for a part of the path there; have 2 \
           flows at most",
        ],
        &few,
    );
    // A rate does not depend on segments.
    assert_eq!(warnings(&star(&["switch.pfc.enabled=true"]), "timely"), [""; 0]);
}

#[test]
fn windows_that_do_not_fit_path_and_queue_are_told_with_the_queue_that_holds_them() {
    let small = [STREAM, "switch.queue_limit=10KB"];
    let part = "each of 10 flows needs a window of 8.8KB, but switch to receiver holds";
    assert_warned("vegas", &small, &[part], &["switch.queue_limit=90KB"]);
    // A lower port limit is the one that counts.
    let port = [STREAM, "switch.queue_limit=1MB", "switch.port_limit=10KB"];
    assert_warned(
        "vegas",
        &port,
        &["set switch.port_limit to a queue of"],
        &["switch.port_limit=90KB"],
    );
}

#[test]
fn a_price_that_a_full_queue_does_not_reach_is_told_with_one_that_it_does() {
    let two = [
        STREAM,
        "switch.queue_limit=100KB",
        "network.star.hosts.0.count=2",
        "network.star.hosts.0.rate=1Gbps",
        "network.star.hosts.1.rate=1Gbps",
        "cc.rtcp.preset=testbed-datamining-1to4",
    ];
    assert_warned(
        "rtcp",
        &two,
        &[
            "the window halves when the RTT rises by 6.4ms or more, but the queue of switch to receiver is full at 800us",
        ],
        &["cc.rtcp.alpha=240"],
    );
}

#[test]
fn ten_timely_flows_without_pfc_are_told_of_a_queue_of_ten_packets() {
    let short = [STREAM, "switch.queue_limit=10KB", "cc.timely.preset=linux-tcp"];
    let queue = &["switch.queue_limit=60KB"];
    assert_warned("timely", &short, &["each of 10 flows needs a window of 3KB"], queue);
}

/// Marks and delays end the warning, and so does a NIC of another rate.
#[test]
fn a_nic_that_is_as_fast_as_the_port_is_told_where_losses_alone_govern() {
    let two = [STREAM, "switch.queue_limit=60KB", "network.star.hosts.0.count=2"];
    for name in ["newreno", "cubic", "bic", "highspeed", "veno", "westwood", "ledbat"] {
        assert_warned(
            name,
            &two,
            &["the NIC of sender0 is exactly as fast as switch to receiver"],
            &["network.star.hosts.0.rate=10.2Gbps"],
        );
    }
    for name in ["vegas", "bbr", "swift"] {
        let of_nics = |warning: &String| warning.contains("exactly as fast");
        assert!(!warnings(&star(&two), name).iter().any(of_nics), "{name}");
    }
}

#[test]
fn what_comes_faster_than_the_queue_bears_is_told_with_what_fits() {
    // Four segments of 64 KB at 40 Gb/s have left 192 KB when the last byte arrives.
    let alone = ["network.star.hosts.0.count=1", "network.star.hosts.0.rate=40Gbps"];
    assert_warned(
        "dctcp",
        &[&alone[..], &["switch.queue_limit=100KB"]].concat(),
        &["up to 192KB wait at switch to receiver, which is slower than the NIC and holds 100KB"],
        &["transport.segment=33KB"],
    );
    let crowd =
        ["network.star.hosts.0.count=100", "transport.segment=1460B", "switch.pfc.enabled=true"];
    assert_warned(
        "hpcc",
        &[&crowd[..], &["switch.telemetry=true"]].concat(),
        &["each of 100 flows sends "],
        &["network.star.hosts.0.count=20"],
    );
}

/// A packet takes 120 us at 100 Mb/s.
#[test]
fn segments_that_pass_for_congestion_are_told_with_those_that_do_not() {
    let slow = [
        STREAM,
        "network.star.hosts.0.count=1",
        "network.star.hosts.1.rate=100Mbps",
        "switch.queue_limit=100KB",
    ];
    assert_warned(
        "ledbat",
        &[&slow[..], &["cc.ledbat.target=100us"]].concat(),
        &["1.46KB of one flow takes 120us at switch to receiver, no less than cc.ledbat.target"],
        &["cc.ledbat.target=240us"],
    );
}

#[test]
fn a_backlog_that_the_queue_does_not_hold_is_told_with_one_that_it_does() {
    assert_warned(
        "fast",
        &[STREAM, "switch.queue_limit=150KB"],
        &[
            "cc.fast.alpha has each of 10 flows keep 21.9KB in the queue of switch to receiver, 219KB in all, but that \
           holds 150KB, so flows lose packets in place of settling; set it to 10 or less, or set \
           switch.queue_limit to a queue of 220KB or more",
        ],
        &["cc.fast.alpha=10"],
    );
}

#[test]
fn latecomers_are_told_of_where_the_queue_holds_the_delay_that_each_flow_keeps() {
    assert_warned(
        "ledbat",
        &[STREAM, "cc.ledbat.target=1ms"],
        &[
            "cc.ledbat.target = 1ms, for a part of its path and pushes them aside, since the queue of switch to \
           receiver holds 3.6ms; set switch.buffer for a queue of 1.2MB or less",
        ],
        &["switch.queue_limit=1.2MB", "network.star.hosts.0.rate=10.2Gbps"],
    );
    // The backlog of a hundred milliseconds at 10 Gb/s is more than any switch holds.
    let document = star(&[STREAM, "network.star.hosts.0.rate=10.2Gbps"]);
    assert_eq!(warnings(&document, "ledbat"), [""; 0]);
}

/// The product of a single flow, 10 Gb/s for 402 us from a NIC of 40 Gb/s: half a megabyte.
#[test]
fn a_product_above_the_queue_is_told_of_schemes_that_lose_windows() {
    let long = ["network.star.hosts.0.count=1", "network.star.hosts.0.rate=40Gbps", STREAM];
    let long = [&LONG[..], &long, &["switch.queue_limit=100KB", "traffic.0.from=sender0"]].concat();
    let part = "a loss leaves 50 % of the window, but of the bandwidth-delay product of 500KB the queue of \
                switch to receiver holds 20 %";
    assert_warned("newreno", &long, &[part], &["switch.queue_limit=510KB"]);
    assert_warned("cubic", &long, &["a loss leaves 70 %"], &["switch.queue_limit=220KB"]);
    for name in ["bbr", "allegro", "westwood"] {
        assert_eq!(warnings(&star(&long), name), [""; 0], "{name}");
    }
    // Nothing waits at a port that is as fast as the NIC that fills it.
    let equal = [&long[..], &["network.star.hosts.0.rate=10Gbps"]].concat();
    assert_eq!(warnings(&star(&equal), "newreno"), [""; 0]);
}

#[test]
fn floors_and_bounds_are_told_with_those_that_fit() {
    let slow =
        ["network.star.hosts.1.rate=50Mbps", "cc.timely.t_low=50ms", "cc.timely.t_high=90ms"];
    assert_warned(
        "timely",
        &slow,
        &[
            "cc.timely.min_rate keeps each of 10 flows at 10Mbps or more, above its share of 50Mbps at switch to \
           receiver; set it lower, to 5Mbps on a NIC of 10Gbps, or have 5 flows at most",
        ],
        &["cc.timely.min_rate=5Mbps"],
    );
    let alone = ["network.star.hosts.0.count=1", "traffic.0.from=sender0", STREAM];
    let bound =
        [&LONG[..], &alone, &["cc.swift.base_target=1ms", "cc.swift.max_cwnd=100"]].concat();
    assert_warned(
        "swift",
        &bound,
        &[
            "cc.swift.max_cwnd = 100 packets holds the flow from sender0 to receiver below half of its share of \
           10Gbps; set it to 346 or more",
        ],
        &["cc.swift.max_cwnd=346"],
    );
}

#[test]
fn timeouts_that_were_set_below_the_rtt_are_told() {
    let short = ["transport.rto_initial=400us", "transport.rto_min=100us"];
    assert_warned(
        "bbr",
        &[&LONG[..], &[STREAM], &short].concat(),
        &[
            "the first segments are sent again before they can be answered, since transport.rto_initial = 400us is \
           below the 410us that",
        ],
        &["transport.rto_initial=1ms"],
    );
    // The least timeout also holds for the first one.
    let least = [&LONG[..], &[STREAM, "transport.rto_initial=400us"]].concat();
    assert_eq!(warnings(&star(&least), "bbr"), [""; 0]);
}

#[test]
fn windows_that_double_to_the_rate_of_a_faster_nic_are_told_of_it() {
    let name = "rtcp:testbed-websearch-1to4";
    let fast = [
        STREAM,
        "network.star.hosts.0.count=1",
        "network.star.hosts.0.rate=20Gbps",
        "traffic.0.from=sender0",
        "network.star.hosts.1.delay=20us",
    ];
    let said = "up to what the NIC of sender0 sends in an RTT, queues included, at 20Gbps, but switch to receiver \
                carries 10Gbps, so it overshoots and then rests at its floor; have NICs of 10Gbps or less";
    assert_warned(name, &fast, &[said], &["network.star.hosts.0.rate=10Gbps"]);
    // Floors of thirty flows leave a queue of 4.8 ms, and windows double up to 6.4 ms.
    let thirty = [
        STREAM,
        "transport.mtu=9000B",
        "network.star.hosts.0.count=30",
        "network.star.hosts.0.rate=1.12Gbps",
        "network.star.hosts.1.rate=280Mbps",
        "network.star.hosts.0.delay=2.5ms",
        "network.star.hosts.1.delay=2.5ms",
        "switch.queue_limit=736KB",
    ];
    let name_of = "rtcp:testbed-datamining-1to4";
    let slow = "network.star.hosts.0.rate=280Mbps";
    assert_warned(name_of, &thirty, &["at 1.12Gbps, but switch to receiver carries"], &[slow]);
    let lossless = [&thirty[..7], &["switch.pfc.enabled=true", "switch.buffer=1GB"]].concat();
    assert_eq!(warnings(&star(&lossless), name_of), [""; 0]);
    // Many flows whose floors are half of their shares need no doubling windows.
    let many = [&fast[..3], &["network.star.hosts.0.count=20", "traffic.0.from=sender"]].concat();
    assert_eq!(warnings(&star(&many), name), [""; 0]);
}

#[test]
fn a_port_limit_beside_pfc_is_told_to_drop_acks() {
    let of = |assignments: &[&str]| star(assignments).scenario().setting_warnings();
    let both = ["switch.pfc.enabled=true", "switch.port_limit=100KB"];
    let all = of(&both);
    assert_eq!(all.len(), 1);
    assert!(
        all[0].starts_with("switch.port_limit = 100KB counts what PFC protects, too"),
        "{all:?}"
    );
    assert!(all[0].contains("in class ack, and with it ACKs; take it out"), "{all:?}");
    assert_eq!(of(&both[..1]), [""; 0]);
    assert_eq!(of(&both[1..]), [""; 0]);
    assert_eq!(of(&[&both[..], &["transport.ack_priority=false"]].concat()), [""; 0]);
}

#[test]
fn pfc_on_paths_that_can_dead_lock_is_told() {
    let of = |network: &str, routing: &str, pfc: &str| {
        let text = format!(
            "title = \"PFC\"\nrun = {{ duration = \"1ms\", schemes = [\"timely\"] }}\n\
             routing = {{ kind = \"{routing}\" }}\nswitch = {{ pfc = {pfc} }}\n{network}\n\
             [[traffic]]\nkind = \"connections\"\nfrom = \"host\"\nto = \"host\"\nfan_out = 1"
        );
        let document = Document::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
        crate::dead_lock_warnings(document.scenario())
    };
    let hosts = "hosts = { name = \"host\", count = 2, rate = \"10Gbps\", delay = \"1us\" }";
    let link = "{ rate = \"10Gbps\", delay = \"1us\" }";
    let chain = format!("[network.parking-lot]\nswitches = 3\n{hosts}\nlink = {link}");
    let leaves = format!("[network.leaf-spine]\nleaves = 3\nspines = 2\n{hosts}\nuplink = {link}");
    let dragonfly = |groups, routers| {
        format!(
            "[network.dragonfly]\ngroups = {groups}\nrouters = {routers}\nglobal_links = 1\n{hosts}\n\
             local = {link}\nglobal = {link}"
        )
    };
    let on = "{ enabled = true }";
    for (network, routing, warned) in [
        (&chain, "ecmp", false),
        (&leaves, "ecmp", false),
        // Local, global and local links of three groups form a circle.
        (&dragonfly(3, 2), "ecmp", true),
        // Two groups with one link are a tree.
        (&dragonfly(2, 1), "ecmp", false),
        (&dragonfly(2, 1), "valiant", false),
        (&chain, "valiant", true),
        (&leaves, "valiant", true),
        (&dragonfly(3, 2), "valiant", true),
    ] {
        let said = of(network, routing, on);
        assert_eq!(said.len(), usize::from(warned), "{routing} on {network}: {said:?}");
        assert_eq!(of(network, routing, "{ enabled = false }"), [""; 0]);
        let drops = "{ enabled = true, watchdog = { action = \"drop\" } }";
        assert_eq!(of(network, routing, drops), [""; 0]);
    }
    let said = of(&dragonfly(3, 2), "valiant", on);
    let start = "switch.pfc.enabled = true on network.dragonfly: paths through other groups lead";
    assert!(said[0].starts_with(start), "{said:?}");
}

/// Of three hundred flows each has 6.2 packets in path and queue. Six are enough where a loss
/// takes half, and ten are needed where it takes a fifth.
#[test]
fn windows_that_losses_leave_large_need_more_room() {
    let many = [
        STREAM,
        "network.star.hosts.0.count=300",
        "network.star.hosts.0.rate=6.3Gbps",
        "network.star.hosts.1.rate=6.3Gbps",
        "network.star.hosts.0.delay=775us",
        "network.star.hosts.1.delay=775us",
        "switch.queue_limit=300KB",
    ];
    let part = "each of 300 flows needs a window of 15KB";
    assert_warned("veno", &many, &[part], &["switch.queue_limit=2MB"]);
    let gentle = [&many[..], &["cc.newreno.beta_loss=0.8"]].concat();
    assert_warned("newreno", &gentle, &[part], &["cc.newreno.beta_loss=0.5"]);
}
