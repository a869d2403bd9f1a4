//! Runs whose result is known beforehand: by arithmetic, by queueing theory, or by conservation.

use std::fmt::Write as _;

use incast_sim::Report;
use incast_transport::random::generator;
use rand_core::Rng;

use crate::common::{completions_us, counts, numbers, port, ps, run, run_traced, texts};

/// Two hosts on one switch, and what one sends the other from time zero.
pub(crate) fn pair(left: &str, right: &str, transport: &str, traffic: &str) -> String {
    format!(
        r#"
        title = "one message"
        [run]
        duration = "5ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "a"
        {left}
        [[network.star.hosts]]
        name = "b"
        {right}
        [transport]
        {transport}
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b"
        {traffic}
        "#
    )
}

/// The time from the post of each message until its receiver has it, in picoseconds.
pub(crate) fn completions(report: &Report) -> Vec<u64> {
    completions_us(report).into_iter().map(ps).collect()
}

pub(crate) const TEN: &str = "rate = \"10Gbps\"\ndelay = \"5us\"";
pub(crate) const TEN_SHORT: &str = "rate = \"10Gbps\"\ndelay = \"1us\"";
const TWENTY: &str = "rate = \"20Gbps\"\ndelay = \"2us\"";
pub(crate) const HUNDRED: &str = "rate = \"100Gbps\"\ndelay = \"1us\"";
const THREE: &str = "rate = \"3Gbps\"\ndelay = \"1us\"";

// A message is complete when the last bit of its last packet has reached the receiver. Packets
// carry 1,460 B in 1,500 B; a byte takes 800 ps at 10 Gb/s, 400 ps at 20 Gb/s, 80 ps at 100 Gb/s.

#[test]
fn single_packet_completes_in_the_closed_form() {
    for (left, right, bytes, expected) in [
        // 1,040 B on the wire, store and forward: 832 ns + 5 us + 832 ns + 1 us.
        (TEN, TEN_SHORT, "1000B", 832_000 + 5_000_000 + 832_000 + 1_000_000),
        // 1,500 B: 1.2 us + 5 us, then 600 ns + 2 us.
        (TEN, TWENTY, "1460B", 1_200_000 + 5_000_000 + 600_000 + 2_000_000),
        // One byte, 41 B on the wire: 41 * 80 ps + 1 us, 41 * 800 ps + 5 us.
        (HUNDRED, TEN, "1B", 3_280 + 1_000_000 + 32_800 + 5_000_000),
        // 3 Gb/s do not divide: 41 B are 328 bit / 3 Gb/s = 109,333.3 ps, rounded up at both hops.
        (THREE, THREE, "1B", 2 * (109_334 + 1_000_000)),
    ] {
        let report = run(&pair(left, right, "", &format!("message = \"{bytes}\"")));
        assert_eq!(completions(&report), [expected], "{bytes}: {left} / {right}");
        assert_eq!(report.summary.drops + report.summary.retransmissions, 0);
    }
}

#[test]
fn single_segment_completes_in_the_closed_form() {
    // 64,000 B = 43 * 1,460 + 1,220: 43 packets of 1,500 B and one of 1,260 B.
    for (left, right, expected) in [
        // Equal rates. The last but one leaves the host at 43 * 1.2 = 51.6 us, is at the switch 5
        // us later and sent on by 56.6 + 1.2 = 57.8 us. The last one, 1,260 * 0.8 = 1.008 us long,
        // has been waiting there since 57.608 us; it is sent by 58.808 us and 1 us later there.
        (TEN, TEN_SHORT, 43 * 1_200_000 + 5_000_000 + 1_200_000 + 1_008_000 + 1_000_000),
        // A faster second link: nobody waits. 51.6 + 1.008 + 5 us, then 504 ns + 2 us.
        (TEN, TWENTY, 43 * 1_200_000 + 1_008_000 + 5_000_000 + 504_000 + 2_000_000),
        // A slower second link is busy from the first packet on: 1,500 * 80 ps + 1 us until it
        // begins, then all 43 * 1.2 + 1.008 us, then 5 us.
        (HUNDRED, TEN, 120_000 + 1_000_000 + 43 * 1_200_000 + 1_008_000 + 5_000_000),
        // 3 Gb/s: 1,500 B are 4 us, 1,260 B are 3.36 us; the last one waits for the last but one.
        (THREE, THREE, 43 * 4_000_000 + 1_000_000 + 4_000_000 + 3_360_000 + 1_000_000),
    ] {
        let report = run(&pair(left, right, "", "message = \"64KB\""));
        assert_eq!(completions(&report), [expected], "{left} / {right}");
    }
}

#[test]
fn several_segments_at_line_rate_follow_each_other_without_a_gap() {
    // 200,000 B = 3 * 64,000 + 8,000. A segment's send time is 51.2 us (its payload) after the one
    // before, and its 65,760 B take 52.608 us on the wire: the NIC is never idle.
    // 8,000 B = 5 * 1,460 + 700: five packets of 1,500 B and one of 740 B, 592 ns.
    // 20 Gb/s send the last but one within 600 ns, so the last one waits for 8 ns:
    // 3 * 52.608 + 5 * 1.2 + 0.592 + 5 us, 8 ns, 296 ns + 2 us.
    let host = 3 * 52_608_000 + 5 * 1_200_000 + 592_000;
    let report = run(&pair(TEN, TWENTY, "", "message = \"200KB\""));
    assert_eq!(completions(&report), [host + 5_000_000 + 8_000 + 296_000 + 2_000_000]);
    // The same in segments of one packet: 136 of 1,500 B (198,560 B) and one of 1,480 B.
    let host = 136 * 1_200_000 + 1_184_000;
    let report = run(&pair(TEN, TWENTY, "segment = \"1460B\"", "message = \"200KB\""));
    assert_eq!(completions(&report), [host + 5_000_000 + 592_000 + 2_000_000]);
    // And in segments of 16 KB = 10 * 1,460 + 1,400: twelve of 11 packets, and 8,000 B as above.
    // 10 * 1.2 + 1.152 = 13.152 us each on the wire; 12.8 us from send time to send time.
    let host = 12 * 13_152_000 + 5 * 1_200_000 + 592_000;
    let report = run(&pair(TEN, TWENTY, "segment = \"16KB\"", "message = \"200KB\""));
    assert_eq!(completions(&report), [host + 5_000_000 + 8_000 + 296_000 + 2_000_000]);
}

#[test]
fn paced_segments_start_their_size_over_the_rate_apart() {
    // A quarter of 10 Gb/s: 16,000 B every 51.2 us. Four segments: the last one starts at 153.6 us,
    // takes 13.152 us on the wire (above), 5 us, and its last packet of 1,440 B 576 ns + 2 us.
    let scenario = format!(
        "{}\n[cc.line-rate]\nshare = 0.25",
        pair(TEN, TWENTY, "segment = \"16KB\"", "message = \"64KB\"")
    );
    let expected = 3 * 51_200_000 + 13_152_000 + 5_000_000 + 576_000 + 2_000_000;
    assert_eq!(completions(&run(&scenario)), [expected]);
}

#[test]
fn posted_later_completes_as_much_later() {
    // Messages of one packet of 1,500 B, 20 us apart: each finds an empty network.
    let traffic = "message = \"1460B\"\ncount = 3\nevery = \"20us\"\nstart = \"7us\"";
    let report = run(&pair(TEN, TWENTY, "", traffic));
    assert_eq!(completions(&report), [1_200_000 + 5_000_000 + 600_000 + 2_000_000; 3]);
    let posted: Vec<_> =
        numbers(&report, "messages", "posted_us").iter().map(|&us| ps(us)).collect();
    assert_eq!(posted, [7_000_000, 27_000_000, 47_000_000]);
}

#[test]
fn two_switches_add_a_store_and_forward_hop() {
    let dumbbell = |rate: &str, message: &str| {
        run(&format!(
            r#"
            title = "one message through two switches"
            [run]
            duration = "1ms"
            schemes = ["line-rate"]
            [[network.dumbbell.left]]
            name = "a"
            rate = "10Gbps"
            delay = "1us"
            [[network.dumbbell.right]]
            name = "b"
            rate = "100Gbps"
            delay = "2us"
            [network.dumbbell.bottleneck]
            rate = "{rate}"
            delay = "7us"
            [[traffic]]
            kind = "connections"
            from = "a"
            to = "b"
            message = "{message}"
            "#
        ))
    };
    // 1,500 B: 1.2 + 1 us, 300 ns + 7 us at 40 Gb/s, 120 ns + 2 us.
    let hops = 1_200_000 + 1_000_000 + 300_000 + 7_000_000 + 120_000 + 2_000_000;
    assert_eq!(completions(&dumbbell("40Gbps", "1460B")), [hops]);
    // A segment of 64 KB, each link faster than the one before: 52.608 us, then the last packet of
    // 1,260 B: 1 us, 252 ns + 7 us, 100.8 ns + 2 us.
    let hops = 52_608_000 + 1_000_000 + 252_000 + 7_000_000 + 100_800 + 2_000_000;
    assert_eq!(completions(&dumbbell("40Gbps", "64KB")), [hops]);
    // A bottleneck of 5 Gb/s begins when the first packet is there, 1.2 + 1 us, and is busy for
    // 65,760 B * 1.6 ns = 105.216 us; then 7 us, and the last packet's 100.8 ns + 2 us.
    let hops = 1_200_000 + 1_000_000 + 105_216_000 + 7_000_000 + 100_800 + 2_000_000;
    assert_eq!(completions(&dumbbell("5Gbps", "64KB")), [hops]);
}

#[test]
fn a_read_is_a_request_and_an_answer_without_turnaround() {
    // The request has 32 B of payload, 72 B on the wire: 57.6 ns + 5 us, 28.8 ns + 2 us. The answer
    // starts at once, from b on 20 Gb/s to a on 10 Gb/s.
    let request = 57_600 + 5_000_000 + 28_800 + 2_000_000;
    // 1,500 B: 600 ns + 2 us, 1.2 us + 5 us.
    let traffic = "operation = \"read\"\nmessage = \"1460B\"";
    let report = run(&pair(TEN, TWENTY, "ack_turnaround = \"9us\"", traffic));
    assert_eq!(completions(&report), [request + 600_000 + 2_000_000 + 1_200_000 + 5_000_000]);
    // 64 KB: the slow link is busy from the first packet on, for 52.608 us; and, since it goes
    // before data, for the 51.2 ns of the ACK of the request, 1 us after that.
    let traffic = "operation = \"read\"\nmessage = \"64KB\"";
    let report = run(&pair(TEN, TWENTY, "", traffic));
    assert_eq!(
        completions(&report),
        [request + 600_000 + 2_000_000 + 52_608_000 + 51_200 + 5_000_000]
    );
    assert_eq!(counts(&report, "flows", "delivered_bytes"), [64_000], "the request is no payload");
}

#[test]
fn rtt_of_an_idle_network_is_propagation_forwarding_and_turnaround() {
    // A segment of 64 KB, sample less its own 52.608 us on the wire. Its last packet of 1,260 B:
    // 5 us, 504 ns + 2 us; turnaround 1 us; ACK of 64 B: 25.6 ns + 2 us, 51.2 ns + 5 us.
    let report = run_traced(&pair(TEN, TWENTY, "", "message = \"64KB\""));
    let samples: Vec<_> =
        numbers(&report, "trace_flows", "rtt_us").iter().map(|&us| ps(us)).collect();
    assert_eq!(
        samples,
        [5_000_000 + 504_000 + 2_000_000 + 1_000_000 + 25_600 + 2_000_000 + 51_200 + 5_000_000]
    );
}

/// Three clients, each sending packets of 1,000 B, 750 B of them payload, at 3/8 of 10 Gb/s: a
/// packet every 750 * 8 / 3.75 Gb/s = 1.6 us, 5 Gb/s on the wire. They share a link of 10 Gb/s.
pub(crate) fn overload(duration: &str, switch: &str) -> Report {
    run_traced(&format!(
        r#"
        title = "three times half the bottleneck"
        [run]
        duration = "{duration}"
        interval = "100us"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "client"
        count = 3
        rate = "10Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "server"
        rate = "10Gbps"
        delay = "1us"
        [switch]
        {switch}
        [transport]
        mtu = "1000B"
        header = "250B"
        segment = "750B"
        rto_min = "1s"
        [[traffic]]
        kind = "connections"
        from = "client"
        to = "server"
        [cc.line-rate]
        share = 0.375
        "#
    ))
}

/// Times in picoseconds and backlogs in bytes of one port's queue, every change.
fn backlog(report: &Report, name: &str) -> Vec<(u64, u64)> {
    let times = numbers(report, "trace_queues", "time_us");
    let bytes = counts(report, "trace_queues", "queue_bytes");
    let ports = texts(report, "trace_queues", "port");
    let rows = times.iter().zip(bytes).zip(ports).filter(|(_, port)| *port == name);
    rows.map(|((&us, &bytes), _)| (ps(us), bytes)).collect()
}

#[test]
fn overload_fills_the_queue_as_arithmetic_says() {
    // 15 Gb/s into 10 Gb/s: from the first arrivals, at 0.8 + 1 us, the backlog grows by 5 Gb/s,
    // that is by one packet of 1,000 B in 1.6 us. The packet being sent is not waiting, so the
    // backlog moves within two packets of that line (three arrive at once, two leave per round).
    let report = overload("2ms", "buffer = \"9MB\"");
    let queue = backlog(&report, "switch->server");
    assert!(queue.len() > 4_000, "{}", queue.len());
    for &(at, bytes) in &queue {
        let expected = (at - 1_800_000) as f64 / 1_600_000.0 * 1_000.0;
        assert!((bytes as f64 - expected).abs() <= 2_000.0, "{bytes} B at {at} ps: {expected}");
    }
    // At the end: (2,000 - 1.8) us / 1.6 us = 1,248.9 packets.
    let max = numbers(&report, "queues", "max_kb")[port(&report, "switch->server")];
    assert!((1_247.0..=1_251.0).contains(&max), "{max}");
    assert_eq!((report.summary.drops, report.summary.pfc_pauses), (0, 0));
    // Meanwhile the bottleneck was never idle: 7.5 Gb/s of payload but for the first 4 us or so.
    assert!((7.47..=7.5).contains(&report.summary.throughput_gbps));
}

#[test]
fn drop_tail_caps_the_queue_and_drops_the_rest() {
    // A limit of 100 packets is reached after 100 * 1.6 us = 160 us. From then on as much is
    // dropped as is too much: one packet in 1.6 us, 1,148 in the 1,838 us that are left.
    for switch in ["queue_limit = \"100KB\"", "buffer = \"200KB\"\nalpha = 1.0"] {
        // The dynamic threshold with alpha 1 gives one queue half of the buffer: the same 100 KB.
        let report = overload("2ms", switch);
        let row = port(&report, "switch->server");
        let max = numbers(&report, "queues", "max_kb")[row];
        assert!((99.0..=100.0).contains(&max), "{switch}: {max} KB");
        let first = texts(&report, "trace_packets", "event").iter().position(|e| e == "dropped");
        let at = numbers(&report, "trace_packets", "time_us")[first.unwrap_or(0)];
        assert!((158.0..=166.0).contains(&at), "{switch}: first drop at {at} us");
        let drops = counts(&report, "queues", "drops")[row];
        assert!((1_144..=1_152).contains(&drops), "{switch}: {drops} drops");
        assert_eq!(drops, report.summary.drops);
        assert_eq!(drops, report.books.dropped_packets);
        assert_eq!(report.books.dropped_bytes, drops * 1_000);
        // The last packet that was let in, and then never more than the limit.
        assert!(backlog(&report, "switch->server").iter().all(|&(_, bytes)| bytes <= 100_000));
    }
}

/// Start times of a Poisson process of `rate` per picosecond. The logarithm is the only thing here
/// that the standard library does not promise to the last bit; the tolerances know nothing of it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in ps")]
fn poisson(random: &mut impl Rng, rate: f64) -> impl Iterator<Item = u64> + '_ {
    let mut at = 0.0;
    std::iter::repeat_with(move || {
        // Uniform in (0, 1].
        let uniform = ((random.next_u64() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        at -= uniform.ln() / rate;
        at as u64
    })
}

/// The waiting times of packets in a queue with constant service, by Lindley's recursion, in
/// picoseconds.
fn total_waiting(arrivals: impl Iterator<Item = u64>, service: u64) -> f64 {
    let (mut free_at, mut waited) = (0, 0.0);
    for at in arrivals {
        let begins = at.max(free_at);
        waited += (begins - at) as f64;
        free_at = begins + service;
    }
    waited
}

/// Packets of 1,000 B into 1 Gb/s: the D of M/D/1.
const SERVICE: u64 = 8_000_000;

/// Mean number of packets that wait in M/D/1 (Pollaczek and Khinchine, less the one in service).
fn waiting_in_m_d_1(rho: f64) -> f64 {
    rho * rho / (2.0 * (1.0 - rho))
}

/// Mean backlog, in packets, that the simulator finds when single packets arrive at the given
/// times, each from another of 16 hosts whose links are a hundred times faster than the server's.
fn simulated_waiting(starts: &[u64], duration: u64) -> f64 {
    let mut text = format!(
        r#"
        title = "M/D/1"
        [run]
        duration = "{duration}ps"
        interval = "{duration}ps"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "client"
        count = 16
        rate = "100Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "server"
        rate = "1Gbps"
        delay = "1us"
        [transport]
        mtu = "1000B"
        header = "40B"
        rto_min = "1s"
        "#
    );
    for (number, start) in starts.iter().enumerate() {
        let client = number % 16;
        let _ = write!(
            text,
            "[[traffic]]\nkind = \"connections\"\nfrom = \"client{client}\"\nto = \"server\"\nmessage = \"960B\"\n\
             start = \"{start}ps\"\n"
        );
    }
    let report = run(&text);
    assert_eq!(report.summary.drops + report.summary.retransmissions, 0);
    assert_eq!(report.books.delivered_packets, 2 * starts.len() as u64, "and as many ACKs");
    numbers(&report, "queues", "mean_kb")[port(&report, "switch->server")]
}

/// Simulates `messages` Poisson arrivals at load `rho`, holds the simulator's mean backlog against
/// Lindley's recursion on the same arrivals, and returns it.
fn check_poisson_queue(rho: f64, messages: usize, seed: u64) -> f64 {
    let mut random = generator(seed, "arrivals", &[]);
    let starts: Vec<_> = poisson(&mut random, rho / SERVICE as f64).take(messages).collect();
    // Long enough for the last one to be delivered, and its ACK.
    let duration = starts[messages - 1] + 200 * SERVICE;
    let simulated = simulated_waiting(&starts, duration);
    // Little's law: the time integral of the backlog is the sum of the waiting times.
    let expected = total_waiting(starts.iter().copied(), SERVICE) / duration as f64;
    assert!((simulated / expected - 1.0).abs() < 1e-9, "{simulated}, Lindley says {expected}");
    simulated * duration as f64 / starts[messages - 1] as f64
}

#[test]
fn lindley_on_poisson_arrivals_is_m_d_1() {
    // Ties the recursion, and with it the tests below, to the formula: 2 million arrivals.
    for (rho, tolerance) in [(0.5, 0.01), (0.8, 0.02)] {
        let mut random = generator(7, "arrivals", &[]);
        let (mut last, rate) = (0, rho / SERVICE as f64);
        let arrivals = poisson(&mut random, rate).take(2_000_000).inspect(|&at| last = at);
        let waiting = total_waiting(arrivals, SERVICE) / last as f64;
        let expected = waiting_in_m_d_1(rho);
        assert!((waiting / expected - 1.0).abs() < tolerance, "{rho}: {waiting}, not {expected}");
    }
}

// The tolerance. Waiting times are correlated over about 1 / (1 - rho)^2 packets, and vary by about
// their mean; so n packets are worth n (1 - rho)^2 / 2 independent ones, and the mean of 8,000 has
// a relative standard deviation of about sqrt(2 / (8,000 * 0.25)) = 3 % at rho = 0.5 and sqrt(2 /
// (8,000 * 0.04)) = 8 % at 0.8. Three of them are allowed.

#[test]
fn queue_of_poisson_arrivals_matches_m_d_1_at_half_load() {
    let waiting = check_poisson_queue(0.5, 8_000, 1);
    let expected = waiting_in_m_d_1(0.5); // 0.25 packets
    assert!((waiting / expected - 1.0).abs() < 0.1, "{waiting}, not {expected}");
}

#[test]
fn queue_of_poisson_arrivals_matches_m_d_1_at_high_load() {
    let waiting = check_poisson_queue(0.8, 8_000, 2);
    let expected = waiting_in_m_d_1(0.8); // 1.6 packets
    assert!((waiting / expected - 1.0).abs() < 0.24, "{waiting}, not {expected}");
}

/// An incast in a star, everybody at line rate.
struct Incast {
    clients: u32,
    rate: &'static str,
    server: &'static str,
    delay: &'static str,
    transport: &'static str,
    switch: &'static str,
    pfc: &'static str,
}

const INCAST: Incast = Incast {
    clients: 8,
    rate: "10Gbps",
    server: "10Gbps",
    delay: "2us",
    transport: "",
    switch: "",
    pfc: "",
};

impl Incast {
    fn run(&self) -> Report {
        let Self { clients, rate, server, delay, transport, switch, pfc } = self;
        run(&format!(
            r#"
            title = "incast"
            [run]
            duration = "1500us"
            schemes = ["line-rate"]
            [[network.star.hosts]]
            name = "client"
            count = {clients}
            rate = "{rate}"
            delay = "{delay}"
            [[network.star.hosts]]
            name = "server"
            rate = "{server}"
            delay = "{delay}"
            [switch]
            {switch}
            [switch.pfc]
            enabled = true
            {pfc}
            [transport]
            {transport}
            [[traffic]]
            kind = "connections"
            from = "client"
            to = "server"
            start_spread = "3us"
            # Data the other way, so that a pause has to wait for a packet.
            [[traffic]]
            kind = "connections"
            from = "server"
            to = "client"
            "#
        ))
    }
}

#[test]
fn pfc_drops_nothing_whatever_the_network() {
    let mut pauses = 0;
    let mut check = |incast: &Incast, what: &str| {
        let report = incast.run();
        assert_eq!(report.summary.drops, 0, "{what}");
        assert_eq!(report.summary.retransmissions, 0, "{what}");
        // Lossless is not stuck: the server's link is used.
        assert!(report.summary.throughput_gbps > 0.1, "{what}: {}", report.summary.throughput_gbps);
        pauses += report.summary.pfc_pauses;
    };
    for delay in ["1ns", "500ns", "10us", "100us"] {
        check(&Incast { delay, ..INCAST }, delay);
        check(&Incast { delay, pfc: "xoff = \"20KB\"", ..INCAST }, delay);
    }
    for (rate, server) in
        [("1Gbps", "1Gbps"), ("3Gbps", "7Gbps"), ("100Gbps", "10Gbps"), ("25Gbps", "100Gbps")]
    {
        check(&Incast { rate, server, pfc: "xoff = \"50KB\"", ..INCAST }, rate);
        check(&Incast { rate, server, switch: "buffer = \"2MB\"", ..INCAST }, rate);
    }
    for clients in [2, 3, 40] {
        check(&Incast { clients, ..INCAST }, "clients");
    }
    for alpha in ["alpha = 0.01", "alpha = 0.125", "alpha = 1.0", "alpha = 8.0"] {
        check(&Incast { pfc: alpha, switch: "buffer = \"500KB\"", ..INCAST }, alpha);
    }
    // XOFF below a packet, XON out of reach unless the port is empty: stop and go.
    for pfc in ["xoff = \"1KB\"", "xoff = \"1500B\"\nxon_offset = \"1B\"", "xoff = \"3KB\""] {
        check(&Incast { pfc, ..INCAST }, pfc);
    }
    for transport in
        ["mtu = \"9000B\"", "mtu = \"256B\"\nsegment = \"16KB\"", "ack_priority = false"]
    {
        check(&Incast { transport, pfc: "xoff = \"30KB\"", ..INCAST }, transport);
    }
    assert!(pauses > 1_000, "{pauses}: PFC had work to do");
}

#[test]
fn pfc_drops_nothing_across_two_switches() {
    for (bottleneck, pfc) in
        [("10Gbps", "xoff = \"30KB\""), ("40Gbps", ""), ("2Gbps", "xoff = \"5KB\"")]
    {
        let report = run(&format!(
            r#"
            title = "PFC from switch to switch"
            [run]
            duration = "1500us"
            schemes = ["line-rate"]
            [[network.dumbbell.left]]
            name = "left"
            count = 4
            rate = "10Gbps"
            delay = "3us"
            [[network.dumbbell.right]]
            name = "right"
            count = 2
            rate = "10Gbps"
            delay = "1us"
            [network.dumbbell.bottleneck]
            rate = "{bottleneck}"
            delay = "20us"
            [switch]
            buffer = "2MB"
            [switch.pfc]
            enabled = true
            {pfc}
            [[traffic]]
            kind = "connections"
            from = "left"
            to = "right0"
            [[traffic]]
            kind = "connections"
            from = "right"
            to = "left0"
            "#
        ));
        assert_eq!(report.summary.drops, 0, "{bottleneck}");
        assert!(report.summary.pfc_pauses > 10, "{bottleneck}: {}", report.summary.pfc_pauses);
    }
}

#[test]
fn pfc_with_too_little_headroom_drops() {
    // On the way during a pause: 2 * 10 us at 10 Gb/s, 25 KB. With a third of that kept, packets
    // that come after XOFF find no room; with three packets and PFC's own way on top, all do.
    let incast = Incast { delay: "10us", ..INCAST };
    let report = Incast { pfc: "xoff = \"20KB\"\nheadroom = \"8KB\"", ..incast }.run();
    assert!(report.summary.drops > 0, "headroom does not matter");
    assert!(report.summary.retransmissions > 0, "what was dropped is sent again");
    let report = Incast { pfc: "xoff = \"20KB\"\nheadroom = \"29600B\"", ..incast }.run();
    assert_eq!(report.summary.drops, 0);
}

/// One host on 100 Gb/s sends 20 packets of 1,000 B at once into 10 Gb/s.
fn marks(threshold: &str) -> u64 {
    let transport = "mtu = \"1000B\"\nheader = \"40B\"";
    let scenario = pair(HUNDRED, TEN, transport, "message = \"19200B\"");
    let report = run(&format!("{scenario}\n[switch]\necn_threshold = \"{threshold}\""));
    assert_eq!(
        counts(&report, "queues", "ecn_marks").iter().sum::<u64>(),
        report.summary.ecn_marks
    );
    report.summary.ecn_marks
}

#[test]
fn ecn_marks_exactly_what_finds_more_than_the_threshold() {
    // Packet i (from 1) arrives (i - 1) * 80 ns after the first, which leaves at once and takes 800
    // ns. So packet i finds i - 2 waiting, one less from the eleventh on (whose arrival coincides
    // with the port becoming free: the port comes first), and with itself:
    //     1, 1, 2, 3, ..., 9 (i = 10), 9, 10, ..., 18 (i = 20) packets of 1,000 B.
    assert_eq!(marks("18000B"), 0, "nobody finds more than 18,000 B");
    assert_eq!(marks("17999B"), 1, "the last one does");
    assert_eq!(marks("17000B"), 1);
    assert_eq!(marks("16999B"), 2);
    assert_eq!(marks("9000B"), 9, "12 to 20");
    assert_eq!(marks("8999B"), 11, "10 and 11 find 9,000 B each");
    assert_eq!(marks("1000B"), 18, "3 to 20");
    assert_eq!(marks("999B"), 20);
}

/// Host a sends b a packet every 50 us, and c and d fill the link to a, where its ACKs return.
fn rtts_against_traffic(ack_priority: bool) -> Vec<f64> {
    let report = run_traced(&format!(
        r#"
        title = "ACKs against data"
        [run]
        duration = "2ms"
        schemes = ["line-rate"]
        [[network.star.hosts]]
        name = "a"
        rate = "10Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "b"
        rate = "10Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "c"
        count = 2
        rate = "10Gbps"
        delay = "1us"
        [switch]
        queue_limit = "200KB"
        [transport]
        ack_priority = {ack_priority}
        rto_min = "100ms"
        [[traffic]]
        kind = "connections"
        from = "a"
        to = "b"
        start = "500us"
        message = "1460B"
        count = 25
        every = "50us"
        [[traffic]]
        kind = "connections"
        from = "c"
        to = "a"
        "#
    ));
    let flows = counts(&report, "trace_flows", "flow");
    let samples = numbers(&report, "trace_flows", "rtt_us");
    flows.iter().zip(samples).filter(|(flow, _)| **flow == 0).map(|(_, &rtt)| rtt).collect()
}

#[test]
fn acks_in_their_own_class_do_not_wait_behind_data() {
    // Idle: a packet of 1,500 B less its own 1.2 us at the host: 1 + 1.2 + 1 us, turnaround 1 us,
    // an ACK of 64 B 0.0512 + 1 + 0.0512 + 1 us: 6.3024 us. Against the queue of 200 KB (160 us)
    // towards a, an ACK of the higher class waits for the packet being sent at most, 1.2 us; and
    // a's data may wait in the NIC and at the switch for one of a's own ACKs, 0.0512 us each.
    let idle = 6.3024;
    let first = rtts_against_traffic(true);
    assert_eq!(first.len(), 25);
    for rtt in &first {
        assert!((idle - 1e-6..idle + 1.2 + 2.0 * 0.0512 + 1e-6).contains(rtt), "{rtt} us");
    }
    let waited = first.iter().filter(|rtt| **rtt > idle + 0.1).count();
    assert!(waited > 10, "the link was busy");
    // In the class of data they wait behind nearly 200 KB, or are dropped with it.
    let behind = rtts_against_traffic(false);
    assert!(!behind.is_empty());
    assert!(behind.iter().all(|&rtt| rtt > 150.0), "{behind:?}");
}

#[test]
fn books_balance_in_lossy_runs_of_every_kind() {
    // Asserted in every run of this file; here where most is dropped: data and ACKs in one class, a
    // queue of ten packets, both directions overloaded, and cut off at every stage of it.
    for duration in ["2us", "40us", "100us", "1500us", "12ms"] {
        let report = run(&format!(
            r#"
            title = "lossy both ways"
            [run]
            duration = "{duration}"
            schemes = ["line-rate"]
            [[network.star.hosts]]
            name = "h"
            count = 4
            rate = "10Gbps"
            delay = "3us"
            [switch]
            queue_limit = "15KB"
            [transport]
            ack_priority = false
            [[traffic]]
            kind = "connections"
            from = "h"
            to = "h"
            [[traffic]]
            kind = "connections"
            from = "h"
            to = "h0"
            connections = 3
            "#
        ));
        let books = report.books;
        assert!(books.sent_packets > 0 && books.in_flight_packets > 0, "{duration}: {books:?}");
        assert_eq!(books.dropped_packets > 0, duration != "2us", "{duration}: {books:?}");
        let payload: u64 = counts(&report, "flows", "delivered_bytes").iter().sum();
        assert!(payload <= books.delivered_bytes, "headers and ACKs come on top");
    }
}
