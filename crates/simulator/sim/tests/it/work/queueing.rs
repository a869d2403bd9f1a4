//! Queues with one server, message by message.
//!
//! Lindley, "The theory of queues with a single server" (1952): a customer waits until the one
//! before it has left, `begins = max(arrives, free)`, `free = begins + service`. So the arrivals
//! and sizes of a run fix each completion, to the picosecond. Here two such queues follow each
//! other: the NIC of the sender and the port towards the receiver, each with store and forward.
//!
//! The means of the recursion are those of Pollaczek and Khinchine, which a path of a million
//! arrivals shows below.

use incast_sim::TraceConfig;
use incast_transport::random::generator;
use rand_core::Rng;

use super::setting::{Row, messages, moments, number};
use crate::common::{document, run, run_with};

/// Bytes that each packet has beyond its payload.
const HEADER: u64 = 40;
/// Picoseconds of a byte at 100 Gb/s and at 1 Gb/s, and of the propagation of a link.
const FAST: u64 = 80;
const SLOW: u64 = 8_000;
const DELAY: u64 = 1_000_000;

/// The most by which a recursion may differ, in picoseconds. Both count whole ones, and tables have
/// them as microseconds in 64 bits: nothing is lost below an hour.
const EXACT: u64 = 1;

/// Senders at 100 Gb/s whose messages go to one receiver at 1 Gb/s, at `load` of its link in wire
/// bytes of a mean message of `mean` payload.
fn port(load: f64, sizes: &str, mean: f64) -> Vec<Row> {
    const SENDERS: f64 = 16.0;
    let of_each = load * mean / (mean + HEADER as f64) / (100.0 * SENDERS);
    let report = run(&format!(
        r#"
        title = "one server"
        [run]
        duration = "70ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "host"
        count = {SENDERS}
        rate = "100Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "1Gbps"
        delay = "1us"
        [switch]
        buffer = "100MB"
        queue_limit = "10MB"
        [transport]
        rto_min = "1s"
        [[traffic]]
        kind = "poisson"
        from = "host"
        to = "receiver"
        stop = "60ms"
        load = {of_each:e}
        sizes = {sizes}
        "#
    ));
    let rows = messages(&report);
    assert_eq!(report.summary.drops + report.summary.retransmissions, 0);
    assert!(rows.len() > 5_500, "{}", rows.len());
    rows
}

/// Holds each completion against the two recursions, and returns the waits at the port.
fn check(mut rows: Vec<Row>) -> Vec<f64> {
    rows.sort_by_key(|row| row.posted);
    let mut nics = [0; 16];
    let mut at_port: Vec<_> = rows
        .iter()
        .map(|row| {
            let nic = &mut nics[number(&row.source)];
            *nic = row.posted.max(*nic) + (row.bytes + HEADER) * FAST;
            (*nic + DELAY, row)
        })
        .collect();
    at_port.sort_by_key(|&(arrives, _)| arrives);
    let mut free = 0;
    let waits = at_port.iter().map(|&(arrives, row)| {
        let begins = arrives.max(free);
        free = begins + (row.bytes + HEADER) * SLOW;
        let expected = free + DELAY;
        assert!(expected.abs_diff(row.completed) <= EXACT, "{expected} ps, not {row:?}");
        (begins - arrives) as f64
    });
    waits.collect()
}

#[test]
fn each_message_waits_as_lindley_says_with_services_that_are_constant() {
    // M/D/1 at 0.8: 1,000 B each, 8 us.
    let waits = check(port(0.8, "{ fixed = \"960B\" }", 960.0));
    // The mean wait is 0.8 x 8 us / (2 x 0.2) = 16 us, and of 6,000 arrivals within 27 %: three
    // deviations by the count of closed_forms.rs, sqrt(2 / (6,000 (1 - 0.8)^2)) each.
    let (mean, _) = moments(&waits);
    assert!((mean / 16e6 - 1.0).abs() < 0.27, "{mean}");
}

#[test]
fn each_message_waits_as_lindley_says_with_services_that_vary() {
    // M/G/1 at 0.8: 41 B to 1,500 B, each as likely.
    check(port(0.8, "{ uniform = [\"1B\", \"1460B\"] }", 730.5));
}

/// M/G/1 of messages of many packets, at 0.77: one host sends them to another with the same link,
/// and its NIC is the queue, in the order of posting. At the port behind it a packet waits only for
/// the rest of a longer one.
#[test]
fn a_nic_with_one_queue_is_a_server_of_whole_messages() {
    const TEN: u64 = 800;
    const PACKET: u64 = 1_460;
    // No window holds them back, and nothing paces them.
    let document = document(
        r#"
        title = "one queue"
        [run]
        duration = "150ms"
        schemes = ["newreno"]
        [network.star]
        hosts = [{ name = "host", count = 2, rate = "10Gbps", delay = "1us" }]
        [transport]
        kind = "stream"
        nic = "fifo"
        rto_min = "1s"
        stream = { initial_window = 10000, send_buffer = "100MB", receive_buffer = "100MB" }
        [[traffic]]
        kind = "poisson"
        from = "host0"
        to = "host1"
        stop = "100ms"
        load = 0.75
        sizes = { exponential = "50KB" }
        "#,
    );
    let report = run_with(&document, "newreno", 1, TraceConfig::default());
    let mut rows = messages(&report);
    assert!(rows.len() > 1_500, "{}", rows.len());
    rows.sort_by_key(|row| row.posted);
    let (mut nic, mut port) = (0, 0);
    for row in rows {
        nic = row.posted.max(nic);
        let mut left = row.bytes;
        while left > 0 {
            let payload = left.min(PACKET);
            left -= payload;
            nic += (payload + HEADER) * TEN;
            port = (nic + DELAY).max(port) + (payload + HEADER) * TEN;
        }
        let expected = port + DELAY;
        assert!(expected.abs_diff(row.completed) <= EXACT, "{expected} ps, not {row:?}");
    }
}

/// Ties the recursion to the formula: the mean wait is `lambda E[S^2] / (2 (1 - rho))`.
#[test]
fn the_recursion_is_pollaczek_and_khinchine() {
    let mut random = generator(11, "one server", &[]);
    // Uniform in (0, 1].
    let mut uniform = || ((random.next_u64() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
    // Services of 41 to 1,500 units, at loads at which a million arrivals are worth a million times
    // (1 - rho)^2 / 2 independent ones or more: 125,000 and 20,000, and vary by about their mean.
    let (mean, square) = (770.5, (1_500.0_f64.powi(3) - 41.0_f64.powi(3)) / (3.0 * 1_459.0));
    for (rho, tolerance) in [(0.5, 0.01), (0.8, 0.025)] {
        let (mut now, mut free, mut waited) = (0.0_f64, 0.0_f64, 0.0);
        for _ in 0..1_000_000 {
            now -= uniform().ln() * mean / rho;
            waited += (free - now).max(0.0);
            free = free.max(now) + 41.0 + 1_459.0 * uniform();
        }
        let expected = rho / mean * square / (2.0 * (1.0 - rho));
        let found = waited / 1e6;
        assert!((found / expected - 1.0).abs() < tolerance, "{rho}: {found}, not {expected}");
    }
}
