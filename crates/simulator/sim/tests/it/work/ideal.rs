//! A message that is alone takes its ideal time, to the picosecond, and that is the closed form.

use incast_cc::registry::NAMES;
use incast_sim::TraceConfig;

use super::setting::{Row, messages};
use crate::common::{document, run, run_with, texts};

/// A network, who sends to whom in it, and the rates in Gb/s and delays in microseconds of the
/// links between.
struct Way {
    network: &'static str,
    ends: (&'static str, &'static str),
    links: &'static [(u64, u64)],
}

const WAYS: [Way; 6] = [
    Way {
        network: r#"[network.star]
            hosts = [{ name = "a", rate = "10Gbps", delay = "2us" }, { name = "b", rate = "40Gbps", delay = "1us" }]"#,
        ends: ("a", "b"),
        links: &[(10, 2), (40, 1)],
    },
    Way {
        network: r#"[network.star]
            hosts = [{ name = "a", rate = "10Gbps", delay = "2us" }, { name = "b", rate = "40Gbps", delay = "1us" }]"#,
        ends: ("b", "a"),
        links: &[(40, 1), (10, 2)],
    },
    Way {
        network: r#"[network.dumbbell]
            left = [{ name = "a", rate = "25Gbps", delay = "1us" }]
            right = [{ name = "b", rate = "100Gbps", delay = "3us" }]
            bottleneck = { rate = "10Gbps", delay = "7us" }"#,
        ends: ("a", "b"),
        links: &[(25, 1), (10, 7), (100, 3)],
    },
    Way {
        network: r#"[network.leaf-spine]
            leaves = 2
            spines = 2
            hosts = { name = "h", count = 2, rate = "10Gbps", delay = "1us" }
            uplink = { rate = "40Gbps", delay = "2us" }"#,
        ends: ("h0", "h3"),
        links: &[(10, 1), (40, 2), (40, 2), (10, 1)],
    },
    Way {
        network: r#"[network.fat-tree]
            k = 4
            hosts = { name = "h", rate = "10Gbps", delay = "1us" }
            link = { rate = "25Gbps", delay = "2us" }
            core = { rate = "100Gbps", delay = "5us" }"#,
        ends: ("h0", "h15"),
        links: &[(10, 1), (25, 2), (100, 5), (100, 5), (25, 2), (10, 1)],
    },
    // Slower and slower upwards, and back: the queue moves from switch to switch.
    Way {
        network: r#"[network.fat-tree]
            k = 4
            hosts = { name = "h", rate = "100Gbps", delay = "1us" }
            link = { rate = "40Gbps", delay = "2us" }
            core = { rate = "10Gbps", delay = "5us" }"#,
        ends: ("h5", "h0"),
        links: &[(100, 1), (40, 2), (10, 5), (10, 5), (40, 2), (100, 1)],
    },
];

/// 1 B; one full packet; one segment and a byte more; 1 MB.
const SIZES: [u64; 4] = [1, 1_460, 64_001, 1_000_000];

/// The packets of a message on the wire: segments of 64,000 B are cut into packets of 1,460 B, each
/// with 40 B of headers.
fn packets(bytes: u64) -> Vec<u64> {
    packets_of(bytes, 64_000)
}

/// In segments of another size.
fn packets_of(mut bytes: u64, segment: u64) -> Vec<u64> {
    let mut packets = Vec::new();
    while bytes > 0 {
        let mut segment = bytes.min(segment);
        bytes -= segment;
        while segment > 0 {
            let payload = segment.min(1_460);
            segment -= payload;
            packets.push(payload + 40);
        }
    }
    packets
}

/// When the last of these packets has passed all links, each a store-and-forward hop, in
/// picoseconds: link by link, a packet starts when it is there and the one before it has left.
fn passage(packets: &[u64], links: &[(u64, u64)]) -> u64 {
    let mut there = vec![0; packets.len()];
    for &(gbps, us) in links {
        let mut free = 0;
        for (at, packet) in there.iter_mut().zip(packets) {
            free = free.max(*at) + packet * 8_000 / gbps;
            *at = free + us * 1_000_000;
        }
    }
    *there.last().unwrap()
}

fn alone(way: &Way, transport: &str, traffic: &str) -> Row {
    alone_by("line-rate", way, transport, traffic)
}

fn alone_by(scheme: &str, way: &Way, transport: &str, traffic: &str) -> Row {
    let (from, to) = way.ends;
    let document = document(&format!(
        "title = \"alone\"\n[run]\nduration = \"50ms\"\nschemes = [\"{scheme}\"]\n{}\n\
         [transport]\n{transport}\n[[traffic]]\nkind = \"connections\"\nfrom = \"{from}\"\nto = \"{to}\"\n{traffic}",
        way.network
    ));
    let report = run_with(&document, scheme, 1, TraceConfig::default());
    assert_eq!(report.summary.drops + report.summary.retransmissions, 0);
    assert_eq!(texts(&report, "messages", "source"), [from]);
    messages(&report).remove(0)
}

#[test]
fn a_lone_message_takes_the_closed_form_and_its_slowdown_is_one() {
    for way in &WAYS {
        for bytes in SIZES {
            let row = alone(way, "", &format!("message = \"{bytes}B\""));
            let expected = passage(&packets(bytes), way.links);
            let what = format!("{bytes} B over {:?}", way.links);
            assert_eq!((row.completed, row.ideal), (expected, expected), "{what}");
            assert!(row.slowdown.to_bits() == 1.0_f64.to_bits(), "{what}: {}", row.slowdown);
        }
    }
}

#[test]
fn a_burst_that_is_shorter_than_a_segment_is_what_the_ideal_is_cut_by() {
    // DCQCN has bursts of one packet, and begins at line rate: no packet but the last one is short,
    // and a message of 1 MB has three headers fewer than in segments of 64 KB, which would be a
    // slowdown below 1.
    assert_eq!((packets_of(1_000_000, 1_460).len(), packets(1_000_000).len()), (685, 688));
    for way in &WAYS {
        for bytes in SIZES {
            let row = alone_by("dcqcn", way, "", &format!("message = \"{bytes}B\""));
            let expected = passage(&packets_of(bytes, 1_460), way.links);
            let what = format!("{bytes} B over {:?}", way.links);
            assert_eq!((row.completed, row.ideal), (expected, expected), "{what}");
            assert!(row.slowdown.to_bits() == 1.0_f64.to_bits(), "{what}: {}", row.slowdown);
        }
    }
}

#[test]
fn no_algorithm_is_faster_alone_than_the_ideal() {
    // Swift's bursts vary: a packet while its window is below one, else a segment.
    for scheme in NAMES {
        for way in [&WAYS[1], &WAYS[2], &WAYS[4], &WAYS[5]] {
            for segment in ["1460B", "4KB", "16KB", "64KB"] {
                let transport = format!("segment = \"{segment}\"");
                let row = alone_by(scheme, way, &transport, "message = \"300001B\"");
                assert!(row.slowdown >= 1.0, "{scheme}, {segment}, {:?}: {row:?}", way.links);
            }
        }
    }
}

#[test]
fn a_lone_read_takes_its_request_and_the_closed_form() {
    for way in &WAYS {
        for bytes in SIZES {
            // The ACK of the request would be in the answer's way, which the ideal does not count.
            let later = "ack_turnaround = \"2ms\"";
            let row = alone(way, later, &format!("operation = \"read\"\nmessage = \"{bytes}B\""));
            let back: Vec<_> = way.links.iter().rev().copied().collect();
            // A request has 32 B of payload.
            let expected = passage(&[32 + 40], way.links) + passage(&packets(bytes), &back);
            let what = format!("{bytes} B over {:?}", way.links);
            assert_eq!((row.completed, row.ideal), (expected, expected), "{what}");
            assert!(row.slowdown.to_bits() == 1.0_f64.to_bits(), "{what}: {}", row.slowdown);
        }
    }
}

#[test]
fn a_lone_message_through_token_buckets_takes_its_ideal_time() {
    for way in &WAYS {
        for burst in ["burst = \"1500B\"", "burst = \"20KB\"", "burst_time = \"50us\""] {
            let plain: u64 = passage(&packets(1_000_000), way.links);
            for bytes in [1, 9_000, 64_001, 1_000_000] {
                let traffic = format!(
                    "message = \"{bytes}B\"\n[switch]\nbuffer = \"10MB\"\nalpha = 64\n{burst}"
                );
                let row = alone(way, "", &traffic);
                let what = format!("{bytes} B, {burst}, {:?}: {row:?}", way.links);
                assert_eq!(row.completed, row.ideal, "{what}");
                assert!(row.slowdown.to_bits() == 1.0_f64.to_bits(), "{what}");
                assert!(row.ideal < plain, "{what}");
            }
        }
    }
}

#[test]
fn equal_links_add_a_packet_and_a_delay_each() {
    // The closed form in one line, where all links are alike: n packets on the first link, and one
    // more on each other, the last two of which may be shorter.
    let links = [(10, 1); 4];
    let full = packets(146_000);
    assert_eq!(passage(&[1_500; 100], &links), (100 + 3) * 1_200_000 + 4 * 1_000_000);
    assert_eq!(full.iter().sum::<u64>(), 146_000 + 101 * 40);
    assert!(passage(&full, &links) < passage(&[1_500; 101], &links));
}

#[test]
fn what_is_not_alone_is_slower_than_ideal() {
    // Two messages of one packet from one host at once: the second waits for the first, 1.2 us at
    // 10 Gb/s.
    let way = &WAYS[0];
    let report = run(&format!(
        "title = \"two\"\n[run]\nduration = \"1ms\"\nschemes = [\"line-rate\"]\n{}\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"a\"\nto = \"b\"\nmessage = \"1460B\"\nconnections = 2",
        way.network
    ));
    let rows = messages(&report);
    assert!(rows[0].slowdown.to_bits() == 1.0_f64.to_bits());
    assert_eq!((rows[1].host, rows[1].completed), (1_200_000, rows[1].ideal + 1_200_000));
    let expected = (rows[1].ideal + 1_200_000) as f64 / rows[1].ideal as f64;
    assert!((rows[1].slowdown - expected).abs() < 1e-12, "{}", rows[1].slowdown);
}

#[test]
fn sprayed_messages_may_be_faster_than_one_path_is() {
    // 40 Gb/s over two paths of 10 Gb/s: nearly half the time that one takes.
    let report = run("title = \"sprayed\"\n[run]\nduration = \"5ms\"\nschemes = [\"line-rate\"]\n\
         [network.leaf-spine]\nleaves = 2\nspines = 2\n\
         hosts = { name = \"h\", count = 1, rate = \"40Gbps\", delay = \"1us\" }\n\
         uplink = { rate = \"10Gbps\", delay = \"1us\" }\n[routing]\nkind = \"spray\"\n\
         [switch]\nbuffer = \"10MB\"\nalpha = 64\n\
         [[traffic]]\nkind = \"connections\"\nfrom = \"h0\"\nto = \"h1\"\nmessage = \"1MB\"\n");
    // Those that overtake make the receiver ask for some again, which costs a part of it.
    assert_eq!(report.summary.drops, 0);
    let slowdown = messages(&report)[0].slowdown;
    assert!((0.5..0.8).contains(&slowdown), "{slowdown}");
}
