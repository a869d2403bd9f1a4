//! Warnings of algorithms that go by the RTT.

use super::{LONG, STREAM, assert_warned, star, warnings};

/// A single flow from a NIC that is as fast as the port.
const ALONE: [&str; 2] = ["network.star.hosts.0.count=1", "traffic.0.from=sender0"];

#[track_caller]
fn assert_silent(name: &str, assignments: &[&str]) {
    assert_eq!(warnings(&star(assignments), name), [""; 0], "{name}");
}

/// 62.54 KB of a segment of 64 KB are 43 packets. Three times the product of 510 KB loses nothing.
#[test]
fn the_rest_of_a_segment_is_told_as_a_backlog_where_single_packets_are_sent_again() {
    let fast = ["network.star.hosts.0.rate=40Gbps", "transport.segment=64KB"];
    let long = [&ALONE[..], &fast, &LONG].concat();
    let short = [&long[..], &["switch.queue_limit=1MB"]].concat();
    let said = "so the rest of each segment counts as a backlog of 43 packets, of which cc.vegas.beta = 4 holds the flow \
                below half of its share; set it to 43 or more, or transport.segment to 11KB or less";
    assert_warned("vegas", &short, &[said], &["cc.vegas.beta=43"]);
    assert_warned("vegas", &short, &[said], &["transport.segment=11KB"]);
    assert_silent("vegas", &[&long[..], &["switch.queue_limit=2MB"]].concat());
    assert_silent("vegas", &[&long[..], &["switch.pfc.enabled=true"]].concat());
    // Eleven packets in place of the whole product: the exact half, without rounding.
    let sixteen = [&short[..], &["transport.segment=16KB"]].concat();
    assert_warned("vegas", &sixteen, &["a backlog of 10 packets"], &["cc.vegas.beta=5"]);
}

/// At 300 Gb/s an ACK of two packets comes every 80 ns, and is up to 1 us late.
#[test]
fn acks_that_are_late_in_order_are_told_where_few_of_a_round_are_on_time() {
    let rates = ["network.star.hosts.0.rate=300Gbps", "network.star.hosts.1.rate=300Gbps"];
    let short = ["network.star.hosts.0.delay=500ns", "network.star.hosts.1.delay=500ns", STREAM];
    let path = [&ALONE[..], &rates, &short].concat();
    let said = "ACKs from receiver to sender0 are late at random by up to 1us and do not overtake each other, so few of a \
                round are on time, and at half of its share the flow takes the lateness for more backlog than \
                cc.vegas.alpha = 2 and beta = 4 packets; set both to 11 or more";
    assert_warned("vegas", &path, &[said], &["cc.vegas.beta=11", "cc.vegas.alpha=11"]);
    assert_warned(
        "vegas:vegas-1-3",
        &path,
        &["alpha = 1 and beta = 3"],
        &["transport.ack_jitter=200ns"],
    );
    // Ten packets of 9 KB are a round.
    assert_silent("vegas", &[&path[..], &["transport.mtu=9000B"]].concat());
}

/// 4.12 KB take 45 us at 740 Mb/s, and 41 us pass without them.
#[test]
fn a_segment_of_another_flow_is_told_where_it_takes_more_than_others_give() {
    let two = [
        "network.star.hosts.0.count=2",
        "network.star.hosts.0.rate=2.96Gbps",
        "network.star.hosts.1.rate=740Mbps",
        "network.star.hosts.0.delay=525ns",
        "network.star.hosts.1.delay=525ns",
        "transport.segment=4KB",
        "switch.pfc.enabled=true",
        "cc.timely:zhu.max_decrease=0.9",
    ];
    let said = "a segment of another flow in front lifts the RTT from sender0 to receiver to 86us, above \
                cc.timely:zhu.t_low = 50us; at half of its share each of 2 flows loses 160Mbps by it, but gains \
                2.9Mbps by one with none in front";
    assert_warned("timely:zhu", &two, &[said], &["cc.timely:zhu.alpha=0.0574"]);
    assert_warned("timely:zhu", &two, &[said], &["transport.segment=2KB"]);
    // A small gain and a smaller share: thirty flows of segments as long.
    assert_silent("timely", &[&two[..], &["network.star.hosts.0.count=30"]].concat());
}

#[test]
fn a_cut_of_the_whole_rate_is_told_where_others_in_a_row_cause_it() {
    let thirty = [
        "network.star.hosts.0.count=30",
        "network.star.hosts.0.rate=3.7Gbps",
        "network.star.hosts.1.rate=3.7Gbps",
        "transport.segment=4KB",
        "switch.pfc.enabled=true",
    ];
    let said = "an RTT sample that rises by 29us takes the whole rate, since cc.timely:zhu.max_decrease is 1, and segments \
                of the other 29 flows in a row take 260us at switch to receiver";
    assert_warned("timely:zhu", &thirty, &[said], &["cc.timely:zhu.max_decrease=0.5"]);
    assert_silent("timely:zhu", &[&thirty[..], &["network.star.hosts.0.count=4"]].concat());
    assert_silent("timely", &thirty);
}

/// 80 us of propagation in a round trip.
const MIDDLE: [&str; 2] = ["network.star.hosts.0.delay=20us", "network.star.hosts.1.delay=20us"];

/// R = delta / (beta error), 10 Mb/s / (0.008 x 0.65) = 1.9 Gb/s: less than half of 10 Gb/s, more
/// than half of a tenth.
#[test]
fn patched_timely_is_told_of_a_threshold_below_the_rtt_where_it_settles_below_half_of_its_share() {
    assert_silent("patched-timely", &[&MIDDLE[..], &["switch.pfc.enabled=true"]].concat());
    let alone = [&ALONE[..], &MIDDLE].concat();
    assert_warned(
        "patched-timely",
        &alone,
        &["cc.patched-timely.t_low = 50us is below the 83us"],
        &["cc.patched-timely.t_low=170us"],
    );
    // Waits for long segments of others also count.
    let long = [&MIDDLE[..], &["network.star.hosts.0.count=4", "network.star.hosts.1.rate=2Gbps"]];
    let long = [&long.concat()[..], &["network.star.hosts.0.rate=2Gbps", "transport.segment=64KB"]];
    let part = "cc.patched-timely.t_low = 50us is below the 88us";
    assert_warned("patched-timely", &long.concat(), &[part], &["transport.segment=4KB"]);
}

/// Without queues the RTT has no trend, and the rate rises whatever the RTT.
#[test]
fn timely_is_told_of_a_threshold_below_the_rtt_where_the_rtt_varies() {
    let alone = [&ALONE[..], &MIDDLE].concat();
    assert_silent("timely", &alone);
    assert_silent("timely", &[&alone[..], &["signal.kind=oracle"]].concat());
    for varied in [
        &["signal.kind=rtt+noise", "signal.noise=100us"][..],
        &["signal.kind=software-timestamps"],
        &["network.star.hosts.0.rate=40Gbps"],
        &["network.star.hosts.0.count=2", "traffic.0.from=sender"],
    ] {
        let part = "no RTT is short enough for the rate to rise whatever its trend";
        let varied = [&alone[..], varied].concat();
        assert_warned("timely", &varied, &[part], &["cc.timely.t_low=200us"]);
    }
    // Steps are shorter where completions come fast, and ACKs of streams are late at random.
    let fast = ["network.star.hosts.0.rate=40Gbps", "network.star.hosts.1.rate=40Gbps", STREAM];
    let part = "no RTT is short enough";
    let fast = [&alone[..], &fast].concat();
    assert_warned("timely", &fast, &[part], &["transport.ack_jitter=0us"]);
}

/// At 480 Mb/s the second packet of an ACK waits 25 us, half of the target.
#[test]
fn a_window_that_a_target_slows_down_is_told_with_one_that_does_not() {
    let path = [
        STREAM,
        "network.star.hosts.0.rate=480Mbps",
        "network.star.hosts.1.rate=480Mbps",
        "network.star.hosts.0.delay=3.5ms",
        "network.star.hosts.1.delay=3.5ms",
    ];
    let alone = [&path[..], &ALONE].concat();
    let said = "the last packet that an ACK from receiver to sender0 covers waits 25us for the others, and the window grows \
                by what that leaves of cc.ledbat:datacenter.target = 50us";
    let remedy = ["cc.ledbat:datacenter.target=120us"];
    assert_warned("ledbat:datacenter", &alone, &[said], &remedy);
    assert_silent("ledbat:datacenter", &[&alone[..], &["transport.stream.delayed_ack=1"]].concat());
    assert_silent("ledbat", &alone);
}

/// Path and queue hold a packet of each flow, not the six by which losses are found.
#[test]
fn paced_windows_need_a_packet_in_path_and_queue() {
    let twenty = "network.star.hosts.0.count=20";
    let path = [STREAM, twenty, "switch.queue_limit=20KB", "switch.telemetry=true"];
    assert_silent("hpcc", &path);
    assert_warned(
        "hpcc",
        &[&path[..], &["switch.queue_limit=2KB"]].concat(),
        &["each of 20 flows needs a window of 1.5KB"],
        &["switch.queue_limit=20KB"],
    );
}

#[test]
fn trials_that_answer_no_queue_may_be_as_long_as_they_are() {
    let lossless = [STREAM, "switch.pfc.enabled=true"];
    assert_silent("allegro", &lossless);
    assert_silent("vivace:loss-only", &lossless);
    for (name, path) in [
        ("allegro", &lossless[..1]),
        ("allegro:released-code", &lossless[..]),
        ("vivace", &[&lossless[..], &["transport.ack_jitter=0us"]].concat()),
    ] {
        let part = "an interval has ";
        let few = ["network.star.hosts.0.count=1", "traffic.0.from=sender0"];
        assert_warned(name, path, &[part], &few);
    }
}

/// In 6 us 25 Gb/s carry 3.1 times two packets and what comes within the 1 us by which ACKs are
/// late. A tenth of the link over 12 times the square of that is 22 Mb/s.
#[test]
fn an_increase_too_small_for_equal_shares_is_told_with_the_papers() {
    let links = ["network.star.hosts.0.rate=25Gbps", "network.star.hosts.1.rate=25Gbps"];
    let near = ["network.star.hosts.0.delay=1us", "network.star.hosts.1.delay=1us"];
    let path = [&links[..], &near, &[STREAM, "switch.telemetry=true"]].concat();
    assert_warned(
        "hpcc",
        &path,
        &[
            "a few packets that wait at switch to receiver count as load there, differently for each of 10 flows, and \
           cc.hpcc.rate_ai = 10Mbps is too little",
        ],
        &["cc.hpcc.rate_ai=125Mbps"],
    );
    // Rates scale with the NIC, unless they are taken as they stand.
    let said = warnings(&star(&path), "hpcc");
    assert!(said[0].ends_with("set it to 130Mbps or more"), "{said:?}");
    let plain = warnings(&star(&[&path[..], &["cc.hpcc.reference=10Gbps"]].concat()), "hpcc");
    assert_eq!(plain, [""; 0], "{plain:?}");
    assert_silent("hpcc", &[&path[..], &["network.star.hosts.1.delay=20us"]].concat());
    assert_silent("hpcc", &[&path[..], &["network.star.hosts.0.count=64"]].concat());
    assert_silent("hpcc", &[&path[..], &["network.star.hosts.0.count=1"]].concat());
}
