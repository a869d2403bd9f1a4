//! Every algorithm works on each transport at any rate and RTT, or the scenario warns. Alone a flow
//! has half of the link after the time that the algorithm's page states; of a hundred flows none
//! starves. `make search` looks for exceptions in many more networks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use incast_cc::param::Need;
use incast_cc::registry::NAMES;
use incast_cc::{Rate, Span};

use crate::common::cells::{Carrier, Cell, Claim, Verdict};

/// Schemes beside those of all algorithms.
const PRESETS: [(&str, &str); 2] = [("timely", "linux-tcp"), ("timely", "auto")];
/// The most packets of a cell; longer runs are left to the search.
const MOST_PACKETS: f64 = 100_000.0;

fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().map(|&name| (name, "")).chain(PRESETS)
}

/// Runs cells on all cores; their warnings and verdicts, in the order of the cells.
fn run(cells: &[Cell]) -> Vec<(Vec<String>, Verdict)> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, cell)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|i| Some((i, cells.get(i)?)))
                {
                    let verdict = cell.run(Claim::of(cell.scheme), MOST_PACKETS, &|| false);
                    let warnings = cell.warnings().unwrap_or_default();
                    all.lock().unwrap().push((number, warnings, verdict));
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_by_key(|&(number, ..)| number);
    all.into_iter().map(|(_, warnings, verdict)| (warnings, verdict)).collect()
}

/// Fails with a line for each cell in which a flow starves without a warning. At least `least`
/// cells must have run.
#[track_caller]
fn assert_none_starves(cells: &[Cell], least: usize) {
    let outcomes = run(cells);
    let ran = outcomes.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Ran { .. })).count();
    let starving = cells
        .iter()
        .zip(&outcomes)
        .filter(|(_, (warnings, verdict))| verdict.starves() && warnings.is_empty());
    let lines: Vec<_> = starving.map(|(cell, (_, verdict))| format!("{cell}: {verdict}")).collect();
    assert!(
        lines.is_empty(),
        "{} of {ran} cells starve unwarned:\n{}",
        lines.len(),
        lines.join("\n")
    );
    assert!(ran >= least, "only {ran} cells have run");
}

/// The limit of the queue in bytes, none where the scheme needs PFC.
fn queue(scheme: (&'static str, &'static str), queue: f64) -> Option<u64> {
    let cell = Cell { scheme: scheme.0, preset: scheme.1, ..CELL };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 4 GB")]
    let bytes = queue.min(4e9) as u64;
    (!cell.needs(Need::Lossless)).then_some(bytes)
}

const CELL: Cell = Cell {
    scheme: "",
    preset: "",
    carrier: Carrier::Stream,
    flows: 1,
    rate: Rate::from_gbps(10),
    speedup: 1,
    rtt: Span::from_us(10),
    queue: None,
    mtu: 1_500,
    seed: 1,
};

#[test]
fn a_flow_alone_has_half_of_any_link_after_the_time_that_its_page_states() {
    let mut cells = Vec::new();
    for (scheme, preset) in schemes() {
        for carrier in [Carrier::Message(64_000), Carrier::Stream] {
            for us in [1, 30, 1_000, 30_000, 1_000_000] {
                for mbps in [1, 100, 10_000, 400_000] {
                    let (rate, rtt) = (Rate::from_mbps(mbps), Span::from_us(us));
                    let queue = queue((scheme, preset), 4e9);
                    // Every other NIC is faster than the port.
                    let speedup = if cells.len() % 2 == 0 { 1 } else { 4 };
                    let cell = Cell { scheme, preset, carrier, rate, rtt, queue, ..CELL };
                    cells.push(Cell { speedup, ..cell });
                }
            }
        }
    }
    assert_none_starves(&cells, 450);
}

#[test]
fn of_a_hundred_flows_none_starves() {
    let mut cells = Vec::new();
    for scheme in schemes() {
        // Of segments of three packets each loses a part now and then.
        for carrier in [Carrier::Message(4_000), Carrier::Message(16_000), Carrier::Stream] {
            for (mbps, us, mtu) in
                [(100, 10, 1_500), (1_000, 100, 1_500), (1_000, 1_000, 1_500), (10_000, 100, 9_000)]
            {
                let (rate, rtt) = (Rate::from_mbps(mbps), Span::from_us(us));
                let cell = Cell { carrier, rate, rtt, mtu, flows: 100, ..CELL };
                let cell = Cell { scheme: scheme.0, preset: scheme.1, ..cell };
                // Eight packets or two segments of each flow, or the bandwidth-delay product.
                let bursts = match carrier {
                    Carrier::Message(segment) => 200 * segment,
                    Carrier::Stream => 800 * cell.mtu,
                };
                let queue = queue(scheme, cell.bytes_on_the_way().max(bursts as f64));
                cells.push(Cell { queue, ..cell });
            }
        }
    }
    assert_none_starves(&cells, 80);
}
