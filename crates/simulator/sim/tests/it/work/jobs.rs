//! The results of jobs: bandwidths as nccl-tests prints them, steps, and critical paths.

use incast_sim::Report;

use super::setting::star;
use crate::common::{counts, numbers, ps, run, texts};

/// A ring of four hosts around a star, 100 Gb/s and 1 us per link, that sums up 4 KB.
fn ring(settings: &str) -> String {
    let traffic = "[[traffic]]\nname = \"training\"\nfrom = \"host\"\nkind = \"collective\"\n\
                   collective = \"all-reduce\"\nsize = \"4KB\"\n";
    star(4, "2ms", &format!("{traffic}{settings}"))
}

const SLOW: &str = "[[link]]\nfrom = \"switch\"\nto = \"host2\"\nrate = \"10Gbps\"\n";

/// The time of a packet of 1,000 B over two links, in picoseconds.
const STEP: u64 = 2 * (1_040 * 80 + 1_000_000);

fn times(report: &Report, table: &str, column: &str) -> Vec<u64> {
    numbers(report, table, column).iter().map(|&us| ps(us)).collect()
}

#[test]
fn bandwidths_follow_from_size_and_time() {
    let report = run(&ring("rounds = 2\ncompute = \"17us\""));
    let algorithm = 4_000.0 / (6.0 * STEP as f64 / 1e12) / 1e9;
    for (row, bandwidth) in numbers(&report, "iterations", "algbw_gb_per_s").iter().enumerate() {
        assert!((bandwidth / algorithm - 1.0).abs() < 1e-9, "{row}: {bandwidth}");
    }
    for bandwidth in numbers(&report, "iterations", "busbw_gb_per_s") {
        assert!(
            (bandwidth / algorithm - 1.5).abs() < 1e-9,
            "2 (n - 1) / n of 4 hosts: {bandwidth}"
        );
    }
    // The hosts compute between their rounds, not in them.
    assert_eq!(times(&report, "iterations", "computed_us"), [0, 0]);
    assert_eq!(times(&report, "iterations", "exposed_us"), [6 * STEP; 2]);
}

#[test]
fn the_critical_path_of_a_ring_is_the_way_of_one_chunk() {
    let report = run(&ring(SLOW));
    let (hosts, peers) =
        (texts(&report, "critical_path", "host"), texts(&report, "critical_path", "peer"));
    // The last is host2; the slow link before it is on the way twice.
    let way = ["host0", "host1", "host2", "host3", "host0", "host1"];
    assert_eq!(hosts.iter().map(incast_sim::Name::as_str).collect::<Vec<_>>(), way);
    assert_eq!(&peers[..5], &hosts[1..]);
    assert_eq!(peers[5].as_str(), "host2");
    let starts = times(&report, "critical_path", "start_us");
    let ends = times(&report, "critical_path", "end_us");
    assert_eq!((starts[0], ends[5]), (0, times(&report, "iterations", "end_us")[0]));
    assert_eq!(&starts[1..], &ends[..5], "parts follow each other");
    let late = 9 * 1_040 * 80;
    let took: Vec<_> = starts.iter().zip(&ends).map(|(start, end)| end - start).collect();
    assert_eq!(took, [STEP, STEP + late, STEP, STEP, STEP, STEP + late]);
    assert_eq!(times(&report, "critical_path", "ideal_us"), took, "nothing was in the way");
    assert_eq!(times(&report, "critical_path", "waited_us"), [0; 6]);
    assert_eq!(counts(&report, "critical_path", "bytes"), [1_000; 6]);
}

#[test]
fn a_message_that_others_delay_has_the_port_where_they_wait() {
    // Two other flows into host2, which take most of its link.
    let flow =
        |from| format!("[[traffic]]\nkind = \"connections\"\nfrom = \"{from}\"\nto = \"host2\"\n");
    let others = ["host0", "host3"].map(flow).concat();
    let report = run(&ring(&others));
    let late = numbers(&report, "critical_path", "late_us");
    let (ports, lengths) =
        (texts(&report, "critical_path", "port"), numbers(&report, "critical_path", "port_max_kb"));
    let (worst, most) = late.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    assert!(*most > 1.0, "{late:?}");
    assert_eq!(ports[worst].as_str(), "switch->host2");
    assert!(lengths[worst] > 10.0, "{lengths:?}");
}

#[test]
fn each_step_has_a_row_with_its_times() {
    let report = run(&ring("rounds = 2\ncompute = \"17us\""));
    let kinds = texts(&report, "steps", "kind");
    let of = |kind: &str| kinds.iter().filter(|own| own.as_str() == kind).count();
    assert_eq!((kinds.len(), of("send"), of("receive")), (2 * 4 * 12, 2 * 4 * 6, 2 * 4 * 6));
    let (ready, end) = (times(&report, "steps", "ready_us"), times(&report, "steps", "end_us"));
    assert!(ready.iter().zip(&end).all(|(ready, end)| ready <= end));
    let arrived = numbers(&report, "steps", "arrived_us");
    for ((kind, arrived), end) in kinds.iter().zip(arrived).zip(&end) {
        if kind.as_str() == "send" {
            assert_eq!(ps(*arrived), end + STEP);
        } else {
            assert!(arrived.is_nan());
        }
    }
}

#[test]
fn steps_are_left_out_where_there_are_many_or_nobody_wants_them() {
    let has = |text: &str| run(text).tables.iter().any(|table| table.name == "steps");
    // 4 hosts of 12 steps: 2,083 rounds have 99,984 steps.
    assert!(has(&ring("rounds = 2083")));
    assert!(!has(&ring("rounds = 2084")));
    assert!(has(&ring("rounds = 2084\n[measure]\nsteps = true")));
    assert!(!has(&ring("[measure]\nsteps = false")));
}

#[test]
fn a_job_that_ends_or_has_no_time_to_end_is_not_stalled() {
    for text in [ring(""), ring("rounds = 1000000")] {
        assert!(run(&text).tables.iter().all(|table| table.name != "stalled"));
    }
}
