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
