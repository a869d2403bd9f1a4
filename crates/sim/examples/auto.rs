//! The table of `timely:auto` in docs/algorithms/timely.md: senders on fast hosts into one slower
//! port, over rates, round-trip times and numbers of senders.
//! `cargo run --release -p incast-sim --example auto -- [--scheme S] [--rtt US] [--set K=V]...`

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

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut schemes, mut rtts, mut set) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let value = arguments.next();
        match (argument.as_str(), value) {
            ("--scheme", Some(scheme)) => schemes.push(scheme),
            ("--rtt", Some(us)) if us.parse::<u32>().is_ok() => rtts.extend(us.parse::<u32>()),
            ("--set", Some(assignment)) => set.push(assignment),
            _ => {
                eprintln!("error: {argument}: expected --scheme S, --rtt US or --set K=V");
                return ExitCode::from(2);
            }
        }
    }
    if schemes.is_empty() {
        schemes = ["timely:authors-snippet", "timely:auto"].map(String::from).into();
    }
    if rtts.is_empty() {
        rtts = RTT_US.into();
    }
    let set: Vec<_> = set.iter().map(String::as_str).collect();
    let paths: Vec<_> = rtts.iter().flat_map(|&rtt_us| MBPS.map(|mbps| (rtt_us, mbps))).collect();
    for scheme in &schemes {
        let cell = |(rtt_us, mbps), flows| Bottleneck {
            scheme,
            flows,
            mbps,
            rtt_us,
            ms: MS,
            set: &set,
            more: "",
        };
        let cells: Vec<_> =
            paths.iter().flat_map(|&path| FLOWS.map(|flows| cell(path, flows))).collect();
        println!("{scheme}: goodput % / queue p50, p99 us / Jain's index / drops, if any\n");
        println!("| RTT, port | {} |", FLOWS.map(|flows| format!("{flows}")).join(" | "));
        println!("|{}", "---|".repeat(FLOWS.len() + 1));
        for (&(rtt_us, mbps), figures) in paths.iter().zip(run(&cells).chunks(FLOWS.len())) {
            let row: Vec<_> = figures.iter().map(|figures| of(figures, mbps)).collect();
            println!("| {rtt_us} us, {} Gb/s | {} |", f64::from(mbps) / 1e3, row.join(" | "));
        }
        println!();
    }
    ExitCode::SUCCESS
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
