//! PFC where data and ACKs share ports: pauses must end, and reach the class that was paused.

use crate::common::{numbers, run, texts};

/// Four hosts and one more send to each other all the time, at 10 Gb/s.
fn two_way(switch: &str, ack_priority: bool) -> String {
    format!(
        r#"
        title = "two ways"
        [run]
        duration = "40ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "many"
        count = 4
        rate = "10Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "one"
        rate = "10Gbps"
        delay = "1us"
        [switch]
        buffer = "600KB"
        [switch.pfc]
        enabled = true
        {switch}
        [transport]
        ack_priority = {ack_priority}
        [[traffic]]
        kind = "connections"
        from = "many"
        to = "one"
        [[traffic]]
        kind = "connections"
        from = "one"
        to = "many"
        "#
    )
}

#[test]
fn paused_senders_go_on_where_ports_carry_acks_too() {
    for switch in ["", "xoff = \"50KB\""] {
        for ack_priority in [true, false] {
            let report = run(&two_way(switch, ack_priority));
            assert_eq!(report.summary.drops, 0);
            assert!(report.summary.pfc_pauses > 10, "or it shows nothing");
            // Each of the four gets a quarter of the one's link, a little more with ACKs: a pause
            // that never ends leaves almost nothing.
            let links = texts(&report, "links", "link").iter();
            for (link, used) in links.zip(numbers(&report, "links", "utilisation")) {
                if link.starts_with("many") {
                    assert!((0.2..0.4).contains(used), "{link} used {used}, {switch:?}");
                }
            }
        }
    }
}

#[test]
fn headroom_covers_acks_larger_than_data() {
    let big_acks = two_way("xoff = \"20KB\"", true)
        .replace("600KB", "2MB")
        .replace("1us", "10ns")
        .replace("[transport]", "[transport]\nsegment = \"12KB\"\nack = \"9216B\"");
    let report = run(&big_acks);
    assert!(report.summary.pfc_pauses > 10, "or it shows nothing");
    assert_eq!(report.summary.retransmissions, 0, "no data was dropped");
}

/// Whether eight senders at line rate lose packets with so much headroom for each. The port that
/// all send to is a hundred times slower, so that nothing leaves while a pause is on its way.
fn loses(gbps: u64, delay_us: u64, headroom: u64, back: &str) -> bool {
    let link = format!("rate = \"{gbps}Gbps\"\ndelay = \"{delay_us}us\"");
    let report = run(&format!(
        r#"
        title = "headroom"
        [run]
        duration = "150us"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "many"
        count = 8
        {link}
        [[network.star.hosts]]
        name = "other"
        count = 8
        {link}
        [[network.star.hosts]]
        name = "one"
        rate = "{gbps}0Mbps"
        delay = "{delay_us}us"
        [switch]
        buffer = "8MB"
        [switch.pfc]
        enabled = true
        xoff = "20KB"
        headroom = "{headroom}B"
        [transport]
        segment = "14600B"
        [[traffic]]
        kind = "connections"
        from = "many"
        to = "one"
        start = "60us"
        start_spread = "3us"
        {back}
        "#
    ));
    assert!(report.summary.pfc_pauses >= 8, "or it shows nothing");
    report.summary.drops > 0
}

/// The packet that finds no room below XOFF is the first in the headroom. When it is there the host
/// has been sending the next one for the delay d of the link. It goes on until the pause comes, a
/// frame of 64 B, and ends the packet that it has begun. So it begins as many as there are in the
/// rate C for two delays and the frame, the last of them counted whole:
///
/// ```text
/// 1 + ceil((2 d C + 64 B) / MTU) packets,
/// ```
///
/// `2 d C` and one to two packets. Where the switch has data for the host the pause waits for the
/// packet that is being sent, a third at most.
#[test]
fn headroom_that_suffices_is_two_delays_and_one_to_two_packets() {
    const BACK: &str = "[[traffic]]\nkind = \"connections\"\nfrom = \"other\"\nto = \"many\"";
    for (gbps, delay_us) in [(10_u64, 1_u64), (10, 10), (25, 5), (100, 2)] {
        let on_the_way = 2 * delay_us * gbps * 1_000 / 8;
        let least = (1 + (on_the_way + 64).div_ceil(1_500)) * 1_500;
        assert!((on_the_way + 1_500..=on_the_way + 3_064).contains(&least));
        let loses = |headroom, back| loses(gbps, delay_us, headroom, back);
        let what = format!("{gbps} Gb/s, {delay_us} us");
        assert!(loses(least - 1, ""), "{what}: less is enough");
        assert!(!loses(least, ""), "{what}: it is not enough");
        assert!(loses(least, BACK), "{what}: the pause waits for no packet");
        assert!(!loses(least + 1_500, BACK), "{what}: the pause waits for more than a packet");
    }
}
