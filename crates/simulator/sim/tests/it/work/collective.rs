//! Ring all-reduce against its closed form: 2 (N - 1) steps, each a message of size / N to the next
//! host.

use incast_sim::{Report, Simulation, TraceConfig};

use super::setting::{messages, racks, requests, star};
use crate::common::{counts, document, numbers, ps, run, texts};

/// A ring of `hosts` around a star, 100 Gb/s and 1 us per link.
fn ring(hosts: u32, settings: &str) -> String {
    star(hosts, "2ms", &around(settings))
}

/// A ring around all hosts.
fn around(settings: &str) -> String {
    format!(
        "[[traffic]]\nfrom = \"host\"\nkind = \"collective\"\ncollective = \"all-reduce\"\n{settings}"
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

/// A column of times in the table of iterations, in picoseconds.
fn times(report: &Report, column: &str) -> Vec<u64> {
    numbers(report, "iterations", column).iter().map(|&us| ps(us)).collect()
}

#[test]
fn equal_hosts_end_an_iteration_together() {
    let report = run(&ring(4, "size = \"4KB\"\nrounds = 3\ncompute = \"17us\""));
    let round = 6 * step(1_000);
    let starts = [0, 1, 2].map(|number| number * (round + 17_000_000));
    assert_eq!(counts(&report, "iterations", "iteration"), [0, 1, 2]);
    for column in ["hosts", "hosts_finished"] {
        assert_eq!(counts(&report, "iterations", column), [4; 3]);
    }
    assert_eq!(times(&report, "start_us"), starts);
    assert_eq!(times(&report, "end_us"), starts.map(|start| start + round));
    assert_eq!(times(&report, "duration_us"), [round; 3]);
    assert_eq!(times(&report, "after_median_us"), [0; 3]);
}

#[test]
fn the_host_behind_a_slow_link_is_named_as_the_last() {
    // Each of the six steps of a host begins with the step before of its predecessor. Among the
    // last six, the slow link comes twice for the hosts 2 and 3, and once for the others.
    let slow = "[[link]]\nfrom = \"switch\"\nto = \"host2\"\nrate = \"10Gbps\"\n";
    let report = run(&star(4, "2ms", &format!("{slow}{}", around("size = \"4KB\""))));
    let late = 9 * 1_040 * 80;
    assert_eq!(times(&report, "duration_us"), [6 * step(1_000) + 2 * late]);
    assert_eq!(times(&report, "after_median_us"), [late]);
    assert_eq!(texts(&report, "iterations", "last_host")[0], "host2");
}

#[test]
fn an_iteration_that_is_not_complete_has_a_row() {
    let report = run(&star(4, "20us", &around("size = \"4KB\"\nrounds = 5")));
    let round = 6 * step(1_000);
    assert_eq!(counts(&report, "iterations", "finished"), [1, 0]);
    assert_eq!(counts(&report, "iterations", "hosts_finished"), [4, 0]);
    assert_eq!(times(&report, "start_us"), [0, round]);
    for column in ["end_us", "duration_us", "after_median_us"] {
        let is_null: Vec<_> =
            numbers(&report, "iterations", column).iter().map(|us| us.is_nan()).collect();
        assert_eq!(is_null, [false, true], "{column}");
    }
    assert_eq!(ps(numbers(&report, "iterations", "elapsed_us")[1]), 20_000_000 - round);
}

#[test]
fn iterations_are_the_same_in_any_number_of_threads() {
    let traffic = around("size = \"400KB\"\nrounds = 4\ncompute = \"5us\"");
    let others =
        "[[traffic]]\nfrom = \"host\"\nkind = \"poisson\"\nload = 0.3\nsizes = \"solar\"\n";
    let document = document(&racks(3, "1ms", &format!("{others}{traffic}")));
    let in_threads = |threads| {
        let run = Simulation::new(document.scenario(), "line-rate", 1, TraceConfig::default());
        let mut run = run.unwrap().in_domains(threads, threads);
        while run.advance(u64::MAX) {}
        assert_eq!(run.windows().is_some(), threads > 1, "it has several domains");
        run.finish()
    };
    let [one, four] = [1, 4].map(in_threads);
    assert!(numbers(&one, "iterations", "after_median_us").iter().any(|&us| us > 0.0));
    assert!(counts(&one, "iterations", "finished").contains(&1));
    assert_eq!(format!("{:?}", one.tables), format!("{:?}", four.tables));
}

#[test]
fn runs_without_a_collective_have_no_iterations() {
    let traffic = "[[traffic]]\nfrom = \"host0\"\nto = \"host1\"\nkind = \"ping-pong\"\nsize = \"1KB\"\n\
                   rounds = 3\n";
    let report = run(&star(2, "1ms", traffic));
    assert!(report.tables.iter().all(|table| table.name != "iterations"));
}
