//! Jobs from traces, by their closed form, and random jobs, which all end.

use std::collections::BTreeMap;
use std::fmt::Write;

use incast_cc::parts::random::Random;
use incast_sim::foreign::FORMATS;
use incast_sim::scenario::{Document, ScenarioError};
use incast_sim::{Report, TraceConfig};

use super::setting::{messages, requests, star};
use crate::common::{counts, repository, run_with};

/// A job of one text on a star, 100 Gb/s and 1 us per link.
fn document(hosts: u32, trace: &str, settings: &str) -> Result<Document, ScenarioError> {
    let traffic = format!("[[traffic]]\nkind = \"job\"\nfrom = \"host\"\nfile = \"x\"\n{settings}");
    let text = star(hosts, "20ms", &traffic);
    FORMATS.restore(text, "test.toml", BTreeMap::from([("x".into(), trace.into())]))
}

fn run(hosts: u32, trace: &str, settings: &str) -> Report {
    let document = document(hosts, trace, settings).unwrap_or_else(|error| panic!("{error}"));
    run_with(&document, "line-rate", 1, TraceConfig::default())
}

/// The error of a job that is refused.
fn refused(hosts: u32, trace: &str, settings: &str) -> String {
    match document(hosts, trace, settings) {
        Ok(document) => {
            incast_sim::Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default())
                .map_or_else(|error| error.to_string(), |_| "read".into())
        }
        Err(error) => error.to_string(),
    }
}

/// The time of a packet over both links: it is stored and forwarded once.
fn step(payload: u64) -> u64 {
    2 * ((payload + 40) * 80 + 1_000_000)
}

const US: u64 = 1_000_000;

#[test]
fn messages_and_computations_take_the_time_of_their_chain() {
    let trace = "num_ranks 3\nrank 0 {\na: calc 5000\nb: send 1000b to 1 tag 3\nb requires a\n}\n\
        rank 1 {\na: recv 1000b from 0 tag 3\nb: calc 2000\nb requires a\nc: send 500b to 2\n\
        c requires b\n}\nrank 2 {\nrecv 500b from 1\n}\n";
    for (settings, scale) in [("", 1), ("scale = 2", 2), ("scale = 0.0", 0)] {
        let ended = requests(&run(4, trace, settings));
        let first = 5 * US * scale + step(1_000) + 2 * US * scale;
        let ends = [5 * US * scale, first, first + step(500)];
        assert_eq!(ended.iter().map(|row| row.completed).collect::<Vec<_>>(), ends, "{settings}");
        assert_eq!(ended.iter().map(|row| row.fan_out).collect::<Vec<_>>(), [0, 1, 1]);
    }
}

#[test]
fn streams_of_a_rank_go_side_by_side_and_computations_of_one_do_not() {
    let trace = "num_ranks 2\nrank 0 {\na: calc 3000 cpu 1\nb: calc 4000 cpu 2\nc: calc 2000 cpu 1\n\
        d: send 8b to 1\nd requires b\nd requires c\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let ended = requests(&run(2, trace, ""));
    assert_eq!(ended[0].completed, 5 * US);
    // What waits for a start goes when the stream is free: c begins at 3 us.
    let starts = trace.replace("d requires c", "d irequires c").replace("d requires b\n", "");
    let rows = messages(&run(2, &starts, ""));
    assert_eq!(rows[0].posted, 3 * US);
}

#[test]
fn rounds_follow_each_other_at_once() {
    let trace = "num_ranks 2\nrank 0 {\na: send 1000b to 1\nb: recv 1000b from 1\n}\n\
        rank 1 {\na: recv 1000b from 0\nb: send 1000b to 0\nb requires a\n}\n";
    let ended = requests(&run(2, trace, "rounds = 5"));
    let of_first: Vec<_> = (1..=5).map(|round| 2 * step(1_000) * round).collect();
    let mut times: Vec<_> = ended.iter().map(|row| row.completed).collect();
    times.sort_unstable();
    assert_eq!(times.len(), 10);
    for time in of_first {
        assert!(times.contains(&time), "{time} in {times:?}");
    }
}

#[test]
fn a_ring_of_msccl_takes_the_time_of_a_ring_all_reduce() {
    let xml = std::fs::read_to_string(repository("tests/data/jobs/msccl_ring_8.xml")).unwrap();
    let ended = requests(&run(8, &xml, "size = \"8000B\""));
    assert_eq!(ended.len(), 8);
    assert!(ended.iter().all(|row| row.completed == 14 * step(1_000)));
}

#[test]
fn a_collective_of_a_trace_is_that_of_its_group() {
    let text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 1 pp: 1 vpp: 1 ga: 1 \
        all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0\n1\n\
        l -1 1000 ALLREDUCE 4000 0 NONE 0 0 NONE 0 0\n";
    let report = run(8, text, "");
    let ended = requests(&report);
    assert_eq!(ended.len(), 8);
    assert!(ended.iter().all(|row| row.completed == US + 6 * step(1_000)));
    assert_eq!(counts(&report, "flows", "delivered_bytes"), vec![6_000; 8]);
}

/// A random job of `ranks`. Messages are added one by one, and each node waits for nodes that were
/// there before it, among them the last one on its pair and tag.
fn drawn(random: &mut Random, ranks: u32, messages: u32) -> String {
    let mut texts: Vec<(String, u32)> = vec![(String::new(), 0); ranks as usize];
    let mut ways: BTreeMap<(u32, u32, bool, u32), u32> = BTreeMap::new();
    for _ in 0..messages {
        let from = random.below(ranks);
        let to = (from + 1 + random.below(ranks - 1)) % ranks;
        let (tag, bytes) = (random.below(2), 1 + random.below(50_000));
        let nodes = [
            (from, format!("calc {} cpu {}", random.below(3_000), random.below(2)), None),
            (from, format!("send {bytes}b to {to} tag {tag}"), Some((from, to, true, tag))),
            (to, format!("recv {bytes}b from {from} tag {tag}"), Some((from, to, false, tag))),
        ];
        for (rank, statement, way) in nodes {
            let (text, count) = &mut texts[rank as usize];
            writeln!(text, "l{count}: {statement}").unwrap();
            if let Some(last) = way.and_then(|way| ways.insert(way, *count)) {
                writeln!(text, "l{count} requires l{last}").unwrap();
            }
            for _ in 0..random.below(3).min(*count) {
                let word = if random.below(3) == 0 { "irequires" } else { "requires" };
                writeln!(text, "l{count} {word} l{}", random.below(*count)).unwrap();
            }
            *count += 1;
        }
    }
    let mut trace = format!("num_ranks {ranks}\n");
    for (rank, (text, _)) in texts.iter().enumerate() {
        writeln!(trace, "rank {rank} {{\n{text}}}").unwrap();
    }
    trace
}

#[test]
fn random_jobs_without_circles_all_end() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (ranks, count) = (2 + random.below(6), 1 + random.below(60));
        let trace = drawn(&mut random, ranks, count);
        let report = run(8, &trace, "rounds = 2");
        let rows = messages(&report);
        assert_eq!(rows.len(), 2 * count as usize, "seed {seed}\n{trace}");
        assert_eq!(requests(&report).len(), 2 * ranks as usize, "seed {seed}\n{trace}");
    }
}

#[test]
fn jobs_that_do_not_fit_say_what_would() {
    let two = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let three = two.replace("num_ranks 2", "num_ranks 3") + "rank 2 {\n}\n";
    let open = two.replace("from 0", "from -1");
    for (hosts, trace, settings, expected) in [
        (2, three.as_str(), "", "2 hosts for 3 ranks of x; expected at least one host for each"),
        (2, two, "scale = -1", "-1 is out of range; expected 0 to 1000000"),
        (2, two, "rounds = 0", "0 is out of range; expected 1 to 1000000"),
        (
            2,
            two,
            "size = \"1KB\"",
            "x: a trace of goal has no size, which is for msccl; take size out",
        ),
        (
            2,
            two,
            "format = \"chakra\"",
            "x: a trace of goal, not of chakra; change the format, or take it out",
        ),
        (
            2,
            open.as_str(),
            "",
            "x:6: receives from any rank or with any tag, which is not run; name both",
        ),
    ] {
        let error = refused(hosts, trace, settings);
        assert!(error.ends_with(expected), "{error}\n    want {expected}");
    }
}
