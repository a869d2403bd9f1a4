//! Flows that are listed one by one, and that wait for each other.

use incast_sim::Report;

use super::setting::{Row, messages, star};
use crate::common::{numbers, ps, run};

/// Hosts at 100 Gb/s and 1 us from their switch, and these flows.
fn list(flows: &str) -> Report {
    run(&star(4, "100us", &format!("[[traffic]]\nkind = \"flows\"\nlist = [\n{flows}\n]")))
}

/// The time of a packet of 1 kB: twice 1,040 B x 80 ps + 1 us.
const PACKET: u64 = 2 * (1_040 * 80 + 1_000_000);
/// The time of its ACK of 64 B on the way back, after a turnaround of 1 us.
const ACK: u64 = 1_000_000 + 2 * (64 * 80 + 1_000_000);

fn times(report: &Report) -> Vec<(u64, u64)> {
    let mut rows = messages(report);
    rows.sort_by_key(|row| row.flow);
    rows.iter().map(|row: &Row| (row.posted, row.completed)).collect()
}

#[test]
fn flows_start_when_the_list_says() {
    let report = list(
        r#"{ from = "host0", to = "host1", size = "1KB" },
           { from = "host2", to = "host3", size = "1KB", start = "7.25us" },"#,
    );
    assert_eq!(times(&report), [(0, PACKET), (7_250_000, 7_250_000 + PACKET)]);
}

#[test]
fn a_flow_after_one_that_was_received_starts_at_that_instant() {
    let report = list(
        r#"{ from = "host0", to = "host1", size = "1KB", id = 1, start = "5us" },
           { from = "host1", to = "host2", size = "1KB", id = 2, after = { all = [1] } },
           { from = "host2", to = "host3", size = "1KB", after = { any = [2] } },"#,
    );
    let hop = |n| 5_000_000 + n * PACKET;
    assert_eq!(times(&report), [(hop(0), hop(1)), (hop(1), hop(2)), (hop(2), hop(3))]);
    let starts: Vec<_> = numbers(&report, "flows", "start_us").iter().map(|&us| ps(us)).collect();
    assert_eq!(starts, [hop(0), hop(1), hop(2)], "as the table of flows has it");
}

#[test]
fn a_flow_after_one_that_was_sent_waits_for_its_acknowledgement() {
    let report = list(
        r#"{ from = "host0", to = "host1", size = "1KB", id = 7 },
           { from = "host0", to = "host2", size = "1KB", after = { all = [7], event = "sent" } },"#,
    );
    let start = PACKET + ACK;
    assert_eq!(times(&report), [(0, PACKET), (start, start + PACKET)]);
}

#[test]
fn all_waits_for_the_last_and_any_for_the_first() {
    let start = |after: &str| {
        let report = list(&format!(
            r#"{{ from = "host0", to = "host2", size = "1KB", id = 1 }},
               {{ from = "host1", to = "host2", size = "1KB", id = 2, start = "20us" }},
               {{ from = "host2", to = "host3", size = "1KB", after = {{ {after} = [1, 2] }} }},"#
        ));
        times(&report)[2].0
    };
    assert_eq!((start("any"), start("all")), (PACKET, 20_000_000 + PACKET));
}

#[test]
fn one_flow_starts_several() {
    let report = list(
        r#"{ from = "host0", to = "host1", size = "1KB", id = 1 },
           { from = "host1", to = "host2", size = "1KB", after = { all = [1] } },
           { from = "host1", to = "host3", size = "1KB", after = { all = [1] } },"#,
    );
    // Both are posted at once, and leave one after the other.
    let mut rows = messages(&report);
    rows.sort_by_key(|row| row.flow);
    assert_eq!([rows[1].posted, rows[2].posted], [PACKET; 2]);
    assert_eq!([rows[1].host, rows[2].host], [0, 1_040 * 80]);
    assert_eq!([rows[1].completed, rows[2].completed], [2 * PACKET, 2 * PACKET + 1_040 * 80]);
}

#[test]
fn a_flow_that_waits_in_vain_has_no_start() {
    let report = list(
        r#"{ from = "host0", to = "host1", size = "1KB", id = 1, start = "99us" },
           { from = "host1", to = "host2", size = "1KB", after = { all = [1] } },"#,
    );
    let starts = numbers(&report, "flows", "start_us");
    assert!(starts.len() == 2 && ps(starts[0]) == 99_000_000 && starts[1].is_nan(), "{starts:?}");
}

#[test]
fn a_flow_of_a_list_has_a_deadline_of_its_own() {
    // A packet takes 2.17 us.
    let traffic = |deadline: &str| {
        run(&star(
            4,
            "100us",
            &format!(
                "[[traffic]]\n{deadline}kind = \"flows\"\nlist = [\n\
                 {{ from = \"host0\", to = \"host1\", size = \"1KB\" }},\n\
                 {{ from = \"host1\", to = \"host2\", size = \"1KB\", deadline = \"2us\" }},\n\
                 {{ from = \"host2\", to = \"host3\", size = \"1KB\", deadline = \"3us\" }},\n]"
            ),
        ))
    };
    let columns = |report: &Report| {
        let of = |column| {
            let values = numbers(report, "messages", column).iter();
            values.map(|&value| (!value.is_nan()).then_some(value)).collect::<Vec<_>>()
        };
        [of("deadline_us"), of("met_deadline")]
    };
    let with = columns(&traffic("deadline = \"1us\"\n"));
    let own = |first: [Option<f64>; 2]| {
        [vec![first[0], Some(2.0), Some(3.0)], vec![first[1], Some(0.0), Some(1.0)]]
    };
    assert_eq!(with, own([Some(1.0), Some(0.0)]));
    assert_eq!(columns(&traffic("")), own([None, None]));
}

#[test]
fn flows_without_a_size_go_on() {
    let report = list(
        r#"{ from = "host0", to = "host1", start = "10us" },
           { from = "host2", to = "host3", size = "1KB" },"#,
    );
    assert_eq!(messages(&report).len(), 1, "what does not end is not complete");
    assert_eq!(numbers(&report, "flows", "start_us"), [10.0, 0.0]);
    let delivered = crate::common::counts(&report, "flows", "delivered_bytes")[0] as f64;
    // 90 us less the way, at 100 Gb/s of which 1,460 of 1,500 B are payload.
    let expected = (90.0 - 2.12) * 12_500.0 * 1_460.0 / 1_500.0;
    assert!((delivered / expected - 1.0).abs() < 0.01, "{delivered} B, not {expected}");
}
