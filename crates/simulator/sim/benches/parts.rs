//! Whole runs of a small incast, by scheme, and the cost of metrics: `cargo bench -p incast-sim`.

use divan::Bencher;
use divan::counter::ItemsCount;
use incast_cc::{Span, Time};
use incast_sim::metrics::{Histogram, Occupancy};
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

fn main() {
    divan::main();
}

/// Runs 50 ms of the demo's incast, without building and reporting; the items are packet-hops.
#[divan::bench(args = ["timely", "timely:authors-snippet", "line-rate"], sample_count = 20)]
fn incast_50ms(bencher: Bencher<'_, '_>, scheme: &str) {
    let scenario = include_str!("../../../../python/incast/scenarios/incast.toml");
    let document = Document::parse(scenario.to_owned(), "incast.toml")
        .and_then(|document| document.with_set(&["run.duration=50ms", "run.warmup=0us"]))
        .unwrap_or_else(|error| panic!("{error}"));
    let start = || {
        Simulation::new(document.scenario(), scheme, 1, TraceConfig::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let run = |mut simulation: Simulation| {
        simulation.advance(u64::MAX);
        simulation
    };
    let hops = run(start()).finish().summary.packet_hops;
    bencher.counter(ItemsCount::new(hops)).with_inputs(start).bench_local_values(run);
}

const CALLS: u64 = 1_000;

#[divan::bench]
fn histogram_add(bencher: Bencher<'_, '_>) {
    let (mut histogram, mut value) = (Histogram::default(), 0_u64);
    bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
        for _ in 0..CALLS {
            value = (value + 7_919) % 1_000_000;
            histogram.add(divan::black_box(value), 1);
        }
    });
}

#[divan::bench]
fn occupancy_set(bencher: Bencher<'_, '_>) {
    let (mut occupancy, mut now, mut bytes) = (Occupancy::new(Time::ZERO), Time::ZERO, 0);
    bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
        for _ in 0..CALLS {
            now += Span::from_ns(600);
            bytes = (bytes + 600) % 500_000;
            occupancy.set(divan::black_box(now), bytes);
        }
    });
}
