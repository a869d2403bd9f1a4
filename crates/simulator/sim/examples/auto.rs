//! The tables of `timely:auto` in docs/algorithms/timely.md: senders on fast hosts into one slower
//! port, over rates, round-trip times and numbers of senders.
//!
//! Without arguments it writes all three: `timely:auto`, `timely:auto` behind a token bucket as
//! Linux's `tbf` has it, and `timely:authors-snippet`. Arguments, each of which may come again:
//!
//! * `--scheme S`: tables of this scheme in place of the three.
//! * `--bucket BURST,TIME`: the bucket of the port, as in `--bucket 70KB,500us`: `switch.burst` and
//!   `switch.burst_time`.
//! * `--rtt US`, `--mbps RATE`, `--flows N`: these rows and columns alone.
//! * `--set K=V`: an assignment that changes the scenario.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]

#[path = "../tests/common/bottleneck.rs"]
mod bottleneck;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bottleneck::{Bottleneck, Figures};

const FLOWS: [u32; 6] = [1, 2, 5, 10, 25, 50];
const MBPS: [u32; 4] = [500, 1_000, 5_000, 25_000];
const RTT_US: [u32; 3] = [3, 20, 100];
/// A second after 300 ms.
const MS: (u32, u32) = (1_300, 300);

/// The bucket of the ports of a test bed: `tbf` by `incast lab`.
const BUCKET: &str = "70KB,500us";

/// The arguments.
#[derive(Default)]
struct Arguments {
    schemes: Vec<String>,
    buckets: Vec<String>,
    rtts_us: Vec<u32>,
    mbps: Vec<u32>,
    flows: Vec<u32>,
    set: Vec<String>,
}

impl Arguments {
    /// The arguments of the program; the first that is none of them as an error.
    fn new(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut all = Self::default();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word}: expected a value"))?;
            let number = || value.parse().map_err(|error| format!("{word} {value}: {error}"));
            match word.as_str() {
                "--scheme" => all.schemes.push(value),
                "--bucket" if value.contains(',') => all.buckets.push(value),
                "--rtt" => all.rtts_us.push(number()?),
                "--mbps" => all.mbps.push(number()?),
                "--flows" => all.flows.push(number()?),
                "--set" => all.set.push(value),
                _ => {
                    return Err(format!(
                        "{word} {value}: expected --scheme S, --bucket BURST,TIME, --rtt US, --mbps RATE, \
                         --flows N or --set K=V"
                    ));
                }
            }
        }
        Ok(all)
    }

    /// The schemes of the tables, and the bucket of each that has one.
    fn tables(&self) -> Vec<(&str, Option<&str>)> {
        let buckets: Vec<_> = self.buckets.iter().map(|bucket| Some(bucket.as_str())).collect();
        let schemes: Vec<_> = self.schemes.iter().map(String::as_str).collect();
        match (schemes.as_slice(), buckets.as_slice()) {
            ([], []) => vec![
                ("timely:auto", None),
                ("timely:auto", Some(BUCKET)),
                ("timely:authors-snippet", None),
            ],
            ([], buckets) => buckets.iter().map(|&bucket| ("timely:auto", bucket)).collect(),
            (schemes, []) => schemes.iter().map(|&scheme| (scheme, None)).collect(),
            (schemes, buckets) => schemes
                .iter()
                .flat_map(|&scheme| buckets.iter().map(move |&bucket| (scheme, bucket)))
                .collect(),
        }
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::new(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let or = |given: &[u32], all: &[u32]| if given.is_empty() { all } else { given }.to_vec();
    let (rtts_us, mbps) = (or(&arguments.rtts_us, &RTT_US), or(&arguments.mbps, &MBPS));
    let flows = or(&arguments.flows, &FLOWS);
    let paths: Vec<_> =
        rtts_us.iter().flat_map(|&rtt_us| mbps.iter().map(move |&mbps| (rtt_us, mbps))).collect();
    for (scheme, bucket) in arguments.tables() {
        let bucket = bucket.and_then(|bucket| bucket.split_once(','));
        let bucket = bucket.map_or(Vec::new(), |(burst, time)| {
            vec![format!("switch.burst={burst}"), format!("switch.burst_time={time}")]
        });
        let set: Vec<_> = bucket.iter().chain(&arguments.set).map(String::as_str).collect();
        let cell = |(rtt_us, mbps), flows| Bottleneck {
            scheme,
            flows,
            mbps,
            rtt_us,
            ms: MS,
            set: &set,
            more: "",
        };
        let cells: Vec<_> = paths
            .iter()
            .flat_map(|&path| flows.iter().map(move |&flows| cell(path, flows)))
            .collect();
        let figures = run(&cells);
        println!(
            "{}: goodput % / queue p50, p99 us / Jain's index / drops, if any\n",
            title(scheme, &set)
        );
        let head: Vec<_> = flows.iter().map(u32::to_string).collect();
        println!("| RTT, port | {} |", head.join(" | "));
        println!("|{}", "---|".repeat(flows.len() + 1));
        for (&(rtt_us, mbps), figures) in paths.iter().zip(figures.chunks(flows.len())) {
            let row: Vec<_> = figures.iter().map(|figures| of(figures, mbps)).collect();
            println!("| {rtt_us} us, {} Gb/s | {} |", f64::from(mbps) / 1e3, row.join(" | "));
        }
        println!();
    }
    ExitCode::SUCCESS
}

/// A scheme, and what its scenario was changed by.
fn title(scheme: &str, set: &[&str]) -> String {
    if set.is_empty() { scheme.into() } else { format!("{scheme}, {}", set.join(", ")) }
}

fn of(figures: &Figures, mbps: u32) -> String {
    let us = |kb: f64| kb * 8e3 / f64::from(mbps);
    let &Figures { goodput, p50_kb, p99_kb, jain, drops } = figures;
    let drops = if drops > 0 { format!(" / {drops}") } else { String::new() };
    format!("{:.1} / {:.0}, {:.0} / {jain:.3}{drops}", goodput * 100.0, us(p50_kb), us(p99_kb))
}

/// Runs cells on all processors; their figures, in the order of the cells.
fn run(cells: &[Bottleneck<'_>]) -> Vec<Figures> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((place, cell)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|place| Some((place, cells.get(place)?)))
                {
                    let figures = cell.run();
                    all.lock().unwrap().push((place, figures));
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_by_key(|&(place, _)| place);
    all.into_iter().map(|(_, figures)| figures).collect()
}
