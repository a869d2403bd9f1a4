//! Ring all-reduce against its closed form: 2 (N - 1) steps, each a message of size / N to the next
//! host.

use super::setting::{messages, requests, star};
use crate::common::{counts, run, texts};

/// A ring of `hosts` around a star, 100 Gb/s and 1 us per link.
fn ring(hosts: u32, settings: &str) -> String {
    star(
        hosts,
        "2ms",
        &format!(
            "[[traffic]]\nfrom = \"host\"\nkind = \"collective\"\ncollective = \"ring-all-reduce\"\n{settings}"
        ),
    )
}

/// The time of a packet over both links: it is stored and forwarded once.
fn step(payload: u64) -> u64 {
    2 * ((payload + 40) * 80 + 1_000_000)
}

#[test]
fn rounds_take_the_steps_of_the_closed_form() {
    for (hosts, size, chunk) in [(4, "4KB", 1_000), (8, "8000B", 1_000), (3, "1000B", 334)] {
        let report = run(&ring(hosts, &format!("size = \"{size}\"")));
        let steps = 2 * (u64::from(hosts) - 1);
        let rounds = requests(&report);
        assert_eq!(rounds.len(), hosts as usize, "one at each host");
        for round in &rounds {
            assert_eq!((round.kind.as_str(), round.posted), ("all-reduce", 0));
            assert_eq!(round.completed, steps * step(chunk), "{hosts} hosts, {size}");
            assert_eq!(round.fan_out, steps);
        }
        // Each host sends 2 (N - 1) chunks, all to its successor.
        let messages = messages(&report);
        assert_eq!(messages.len() as u64, steps * u64::from(hosts));
        assert!(messages.iter().all(|row| row.bytes == chunk));
        assert_eq!(
            counts(&report, "flows", "delivered_bytes"),
            vec![steps * chunk; hosts as usize]
        );
        let next = |name: &str| (super::setting::number(name) + 1) % hosts as usize;
        let ends =
            texts(&report, "flows", "source").iter().zip(texts(&report, "flows", "destination"));
        for (source, destination) in ends {
            assert_eq!(next(source), super::setting::number(destination));
        }
    }
}

#[test]
fn rounds_follow_each_other_after_computing() {
    let report = run(&ring(4, "size = \"4KB\"\nrounds = 5\ncompute = \"17us\""));
    let round = 6 * step(1_000);
    let mut rounds = requests(&report);
    assert_eq!(rounds.len(), 20);
    rounds.sort_by_key(|round| round.posted);
    for (number, round_of_host) in rounds.iter().enumerate() {
        let start = (number as u64 / 4) * (round + 17_000_000);
        assert_eq!((round_of_host.posted, round_of_host.completed), (start, start + round));
    }
}

#[test]
fn chunks_of_many_packets_take_the_time_of_their_bytes() {
    // 4 MB among 4: chunks of 1 MB, 15 segments of 64 kB and one of 40 kB, 687 x 40 B of headers.
    // Beside them go the ACKs of the segments that came, 16 of 64 B.
    let report = run(&ring(4, "size = \"4MB\""));
    let wire = (1_000_000 + (15 * 44 + 28) * 40) * 80;
    let alone = 6 * (wire + 1_500 * 80 + 2_000_000);
    let acks = 6 * 2 * 16 * 64 * 80;
    let rounds = requests(&report);
    assert_eq!(rounds.len(), 4, "one at each host");
    for round in rounds {
        let took = round.completed;
        assert!(took + 6 * 120_000 >= alone && took <= alone + acks, "{took} ps, not {alone}");
    }
}
