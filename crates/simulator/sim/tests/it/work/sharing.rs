//! The sharing of a link by messages: processor sharing, and the shortest remaining first.
//!
//! Two small schedulers know nothing of networks: a server of one rate, the work of each message,
//! and when it comes. With hosts whose links are ten times faster
//! than that of the receiver, the fluid max-min is processor sharing (each of n messages has the
//! n-th part), and the greedy schedule is the shortest remaining first, which has the least mean of
//! all (Schrage, 1968). Algorithms that are made for the one or the other come near them.

use incast_sim::scenario::Document;
use incast_sim::{Report, Simulation, TraceConfig};

use super::setting::{ends, wire};
use crate::common::{completions_us, counts, document, numbers, run_with};

/// The rate of the receiver's link in bytes per microsecond.
const RATE: f64 = 1_250.0;

/// The parts of the server, if all that are there have equal ones.
fn all(there: &[(usize, f64)]) -> Vec<f64> {
    vec![1.0 / there.len() as f64; there.len()]
}

/// The parts of the server, if all of it is for what has the least left.
fn shortest(there: &[(usize, f64)]) -> Vec<f64> {
    let least = (0..there.len()).min_by(|&a, &b| there[a].1.total_cmp(&there[b].1));
    (0..there.len()).map(|place| f64::from(u8::from(least == Some(place)))).collect()
}

/// Sixteen hosts of 100 Gb/s that send one of 10 Gb/s messages at this load of its link, for so
/// many milliseconds.
fn into_one(load: f64, sizes: &str, ms: u32, rest: &str) -> Document {
    let of_each = load / 16.0 / 10.0;
    document(&format!(
        r#"
        title = "one link"
        [run]
        duration = "{}ms"
        schemes = ["line-rate"]
        [measure]
        ideal = true
        [[network.star.hosts]]
        name = "host"
        count = 16
        rate = "100Gbps"
        delay = "1us"
        [[network.star.hosts]]
        name = "receiver"
        rate = "10Gbps"
        delay = "1us"
        [[traffic]]
        kind = "poisson"
        from = "host"
        to = "receiver"
        stop = "{ms}ms"
        load = {of_each}
        sizes = {sizes}
        {rest}
        "#,
        2 * ms
    ))
}

/// The messages as work of the link, in the order of the table: when each comes, and the time that
/// it takes, in microseconds.
fn works(report: &Report) -> Vec<(f64, f64)> {
    let bytes = counts(report, "ideal", "bytes");
    let posted = numbers(report, "ideal", "posted_us");
    posted.iter().zip(bytes).map(|(&comes, &bytes)| (comes, wire(bytes) / RATE)).collect()
}

/// The references sum bytes as 64-bit numbers and end what ends within half a picosecond; over a
/// busy period of a thousand messages that is less than a nanosecond.
const TOLERANCE_US: f64 = 1e-3;

#[test]
fn references_on_one_link_are_processor_sharing_and_the_shortest_first() {
    for (load, sizes) in [(0.6, "\"web-search\""), (0.8, "{ exponential = \"100KB\" }")] {
        let ms = if sizes.contains("web") { 1_000 } else { 80 };
        let document = into_one(load, sizes, ms, "[transport]\nsegment = \"1460B\"");
        let run = Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default());
        let mut run = run.unwrap_or_else(|error| panic!("{error}")).only_posting();
        while run.advance(1 << 20) {}
        let report = run.finish();
        let works = works(&report);
        assert!(works.len() > 300, "{}", works.len());
        let of_paths = numbers(&report, "ideal", "ideal_us");
        // The bound leaves out all but 41 B on the sender's link, 3.28 ns, and two delays of 1 us.
        let bound = 2.003_28;
        let (shared, first) = (ends(&works, all), ends(&works, shortest));
        for (column, ends, beside) in [
            ("fluid_us", &shared, None),
            ("greedy_us", &first, None),
            ("srpt_us", &first, Some(bound)),
        ] {
            let found = numbers(&report, "ideal", column);
            for (row, (&(comes, takes), end)) in works.iter().zip(ends).enumerate() {
                let beside = beside.unwrap_or(of_paths[row] - takes);
                let expected = end - comes + beside;
                let off = (found[row] - expected).abs();
                assert!(off < TOLERANCE_US, "{column} {} us, not {expected}", found[row]);
            }
        }
        // Or the schedules would be no test of each other.
        let longer = shared.iter().zip(&first).filter(|(shared, first)| *shared > *first).count();
        assert!(longer > works.len() / 3, "{longer}");
    }
}

/// The mean completion time of all messages of three seeds under a scheme, and the means of these
/// columns of the ideal.
fn means<const N: usize>(document: &Document, scheme: &str, columns: [&str; N]) -> (f64, [f64; N]) {
    let (mut taken, mut ideal, mut messages) = (0.0, [0.0; N], 0.0);
    for seed in 1..=3 {
        let report = run_with(document, scheme, seed, TraceConfig::default());
        let completions = completions_us(&report);
        taken += completions.iter().sum::<f64>();
        messages += completions.len() as f64;
        for (sum, column) in ideal.iter_mut().zip(columns) {
            let times = numbers(&report, "ideal", column);
            assert_eq!(completions.len(), times.len(), "all are delivered");
            *sum += times.iter().sum::<f64>();
        }
    }
    (taken / messages, ideal.map(|sum| sum / messages))
}

// Sizes of web search: those that are all alike, or exponential, have the same mean in any order
// that does not know them.

/// A message that comes takes the link from one other at most. That one's packets are dropped and
/// sent again after a timeout of 45 us, for which the link may be idle: 3 % of a mean of 1.5 ms and
/// more. One packet is sent to its end, 1.2 us. So 5 % are allowed, and none below the least mean.
#[test]
fn pfabric_is_near_the_shortest_first() {
    let rest = "[switch]\ndiscipline = \"srpt\"\nqueue_limit = \"36864B\"\n\
                [transport]\nkind = \"stream\"\nnic = \"srpt\"";
    for load in [0.6, 0.8] {
        let document = into_one(load, "\"web-search\"", 200, rest);
        let (taken, [first]) = means(&document, "pfabric", ["greedy_us"]);
        assert!((1.0..=1.05).contains(&(taken / first)), "{load}: {taken} us, {first} at best");
    }
}

/// Windows of the same marks are equal in the long run alone: a short message has more or less
/// than its part, and nothing says by how much. Half of the way to the shortest first is the least
/// that "shares, and does not order" can mean.
#[test]
fn dctcp_is_near_processor_sharing() {
    let rest = "[switch]\necn_threshold = \"97.5KB\"\n[transport]\nkind = \"stream\"\n\
                stream = { delayed_ack = 1 }";
    for load in [0.6, 0.8] {
        let document = into_one(load, "\"web-search\"", 200, rest);
        let (taken, [shared, first]) = means(&document, "dctcp", ["fluid_us", "greedy_us"]);
        let off = (taken - shared).abs();
        assert!(
            off < (shared - first) / 2.0,
            "{load}: {taken} us, {shared} shared, {first} in turn"
        );
    }
}
