//! Warm-up and cool-down: what was posted between them counts, whenever it is complete.

use incast_sim::Report;

use super::setting::{Row, messages, star};
use crate::common::{counts, numbers, run};

const SETTING: &str = "[[traffic]]\nfrom = \"host\"\n\
                       kind = \"poisson\"\nload = 0.9\nsizes = { uniform = [\"1KB\", \"50KB\"] }";

fn windows(warmup: u32, cooldown: u32) -> Report {
    let run_of =
        format!("schemes = [\"line-rate\"]\nwarmup = \"{warmup}us\"\ncooldown = \"{cooldown}us\"");
    run(&star(6, "600us", SETTING).replace("schemes = [\"line-rate\"]", &run_of))
}

/// The messages that were posted from the first time to before the second, in microseconds.
fn within(rows: &[Row], from: u64, until: u64) -> Vec<&Row> {
    let window = from * 1_000_000..until * 1_000_000;
    rows.iter().filter(|row| window.contains(&row.posted)).collect()
}

fn sum(report: &Report, table: &str, column: &str) -> u64 {
    counts(report, table, column).iter().sum()
}

#[test]
fn messages_count_by_when_they_were_posted() {
    for (warmup, cooldown) in [(0, 0), (150, 0), (0, 200), (150, 200)] {
        let report = windows(warmup, cooldown);
        let rows = messages(&report);
        let (from, until) = (u64::from(warmup), 600 - u64::from(cooldown));
        let measured = within(&rows, from, until);
        assert!(measured.len() > 500, "{}", measured.len());
        // Some of them were complete in the cool-down only, and some others were posted outside.
        let late = measured.iter().filter(|row| row.completed >= until * 1_000_000).count();
        assert!(late > 20 || cooldown == 0, "{late}");
        assert!(rows.len() > measured.len() + 100 || warmup + cooldown == 0);
        let count = measured.len() as u64;
        assert_eq!(sum(&report, "fct", "finished"), count);
        assert_eq!(sum(&report, "load", "completed"), count);
        let posted = sum(&report, "load", "posted");
        assert_eq!(sum(&report, "fct", "posted"), posted);
        assert_eq!(report.summary.messages_posted, posted);
        assert_eq!(report.summary.messages, count);
        let mean = measured.iter().map(|row| row.slowdown).sum::<f64>() / count as f64;
        assert!((report.summary.slowdown_mean / mean - 1.0).abs() < 1e-9);
    }
}

#[test]
fn with_time_to_drain_all_that_was_posted_is_complete() {
    let report = windows(100, 300);
    assert_eq!(sum(&report, "load", "completed"), sum(&report, "load", "posted"));
    // Without, what was posted last is not, and is known to be missing.
    let report = windows(100, 0);
    assert!(sum(&report, "load", "completed") + 5 < sum(&report, "load", "posted"));
}

#[test]
fn throughput_is_that_of_the_measured_window() {
    // The same run, cut elsewhere: what arrives in 100 to 300 us and in 300 to 500 us is what
    // arrives in 100 to 500 us.
    let gbits = |warmup, cooldown, us: f64| windows(warmup, cooldown).summary.throughput_gbps * us;
    let (early, late) = (gbits(100, 300, 200.0), gbits(300, 100, 200.0));
    let whole = gbits(100, 100, 400.0);
    assert!(((early + late) / whole - 1.0).abs() < 1e-9, "{early} + {late}, not {whole}");
    assert!((early / late - 1.0).abs() > 1e-3, "or it shows nothing");
}

#[test]
fn offered_load_is_what_was_posted_in_the_window() {
    let report = windows(150, 200);
    let rows = messages(&report);
    let bytes: u64 = within(&rows, 150, 400).iter().map(|row| row.bytes).sum();
    let offered = numbers(&report, "load", "offered_gbps")[0];
    assert!((offered - bytes as f64 * 8.0 / 250e3).abs() < 1e-6, "{offered}");
}
