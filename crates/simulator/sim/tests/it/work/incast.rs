//! Incasts: who sends, when, how much, and when all of it is there.

use std::collections::BTreeSet;

use super::setting::{assert_exponential, grouped, messages, requests, star};
use crate::common::{numbers, run};

#[test]
fn senders_are_different_ones_and_send_all_at_once() {
    let report = run(&star(
        9,
        "600us",
        "[[traffic]]\nfrom = \"host\"\nstop = \"500us\"\n\
         kind = \"incast\"\nload = 0.2\nsenders = 8\nsize = \"10KB\"",
    ));
    let requests = requests(&report);
    // 0.2 of 900 Gb/s in 80 kB: one each 3.6 us, 141 of them, give or take 12.
    assert!(requests.len().abs_diff(141) < 40, "{}", requests.len());
    let mut bursts = grouped(messages(&report), |row| (row.posted, row.destination.clone()));
    for request in &requests {
        assert_eq!((request.kind.as_str(), request.fan_out), ("incast", 8));
        assert_eq!(request.bytes, 80_000);
        let burst = bursts.remove(&(request.posted, request.client.clone())).unwrap();
        let senders: BTreeSet<_> = burst.iter().map(|row| &row.source).collect();
        assert_eq!((burst.len(), senders.len()), (8, 8), "{request:?}");
        assert!(!senders.contains(&request.client));
        assert!(burst.iter().all(|row| row.bytes == 10_000));
        // All is there when the last flow is.
        assert_eq!(burst.iter().map(|row| row.completed).max(), Some(request.completed));
    }
    assert!(bursts.is_empty(), "{} more", bursts.len());
}

#[test]
fn receivers_and_senders_are_drawn_alike() {
    let report = run(&star(
        8,
        "700us",
        "[[traffic]]\nfrom = \"host\"\nstop = \"600us\"\n\
         kind = \"incast\"\nload = 0.3\nsenders = 3\nsize = \"1KB\"",
    ));
    let requests = requests(&report);
    // One each 100 ns: 6,000.
    let shares = |counts: std::collections::BTreeMap<String, usize>, n: usize| {
        assert_eq!(counts.len(), 8);
        let expected = n as f64 / 8.0;
        super::setting::chi_square(counts.into_values().map(|count| (count as u64, expected)))
    };
    let count = |hosts: Vec<String>| {
        let n = hosts.len();
        let counts = grouped(hosts, Clone::clone).into_iter().map(|(k, v)| (k, v.len())).collect();
        shares(counts, n)
    };
    // Seven degrees of freedom: above 24.3 once in a thousand times.
    let receivers = count(requests.into_iter().map(|row| row.client).collect());
    let senders = count(messages(&report).into_iter().map(|row| row.source).collect());
    assert!(receivers < 24.3 && senders < 24.3, "{receivers} {senders}");
}

#[test]
fn load_is_within_one_percent_of_what_was_asked() {
    // It varies by the root of the number of bursts: 110,250 of one sender each, 0.7 x 500 Gb/s in
    // 400 B.
    let report = run(&star(
        5,
        "1010us",
        "[[traffic]]\nfrom = \"host\"\nstop = \"1008us\"\n\
         kind = \"incast\"\nload = 0.7\nsenders = 1\nsize = \"400B\"",
    ));
    let messages = messages(&report);
    let bytes: u64 = messages.iter().map(|row| row.bytes).sum();
    let load = bytes as f64 * 8.0 / (1_008e-6 * 500e9);
    assert!(messages.len() > 108_900 && (load / 0.7 - 1.0).abs() < 0.01, "{load}");
    let asked = numbers(&report, "load", "asked_gbps")[0];
    assert!((asked - 350.0 * 1_008.0 / 1_010.0).abs() < 1e-9, "{asked}");
    let mut starts: Vec<_> = messages.iter().map(|row| row.posted).collect();
    starts.sort_unstable();
    let gaps: Vec<_> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    assert_exponential(&gaps, 400.0 * 8e12 / 350e9);
}

#[test]
fn one_burst_drains_at_the_rate_of_its_receiver() {
    // Eight times 15 kB at once into one link: each 10 full packets and one of 400 B + 40 B, 15,440
    // B on the wire. The first packet is at the switch after 1,500 B x 80 ps + 1 us, and from then
    // on the link to the receiver is busy: 8 x 15,440 B x 80 ps; 1 us later all is there.
    let sender =
        |host: u32| format!("{{ from = \"host{host}\", to = \"host0\", size = \"15KB\" }},\n");
    let senders = (1..=8).map(sender).collect::<Vec<_>>().concat();
    let text = format!("[[traffic]]\nname = \"burst\"\nkind = \"flows\"\nlist = [\n{senders}]");
    let report = run(&star(9, "100us", &text));
    let last = messages(&report).iter().map(|row| row.completed).max();
    assert_eq!(last, Some(1_500 * 80 + 1_000_000 + 8 * 15_440 * 80 + 1_000_000));
}
