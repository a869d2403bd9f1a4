//! Whole runs of a small incast, by scheme, and what metrics cost: `cargo bench -p incast-sim`.

use divan::Bencher;
use divan::counter::ItemsCount;
use incast_cc::{Span, Time};
use incast_sim::metrics::{Histogram, Occupancy};
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};

fn main() {
    divan::main();
}

/// 5 ms of the demo's incast; the items are packet-hops.
#[divan::bench(args = ["timely", "patched-timely", "line-rate"])]
fn incast_5ms(bencher: Bencher<'_, '_>, scheme: &str) {
    let scenario = include_str!("../../../python/incast/scenarios/incast.toml");
    let document = Document::parse(scenario.to_owned(), "incast.toml")
        .and_then(|document| document.with_set(&["run.duration=5ms", "run.warmup=0us"]))
        .unwrap_or_else(|error| panic!("{error}"));
    let run = || {
        let config = TraceConfig::default();
        let mut run = Simulation::new(document.scenario(), scheme, 1, config)
            .unwrap_or_else(|error| panic!("{error}"));
        while run.advance(u64::MAX) {}
        run.finish().summary.packet_hops
    };
    bencher.counter(ItemsCount::new(run())).bench_local(run);
}

#[divan::bench]
fn histogram_add(bencher: Bencher<'_, '_>) {
    let (mut histogram, mut value) = (Histogram::default(), 0_u64);
    bencher.bench_local(|| {
        value = (value + 7_919) % 1_000_000;
        histogram.add(divan::black_box(value), 1);
    });
}

#[divan::bench]
fn occupancy_set(bencher: Bencher<'_, '_>) {
    let (mut occupancy, mut now) = (Occupancy::new(Time::ZERO), Time::ZERO);
    bencher.bench_local(|| {
        now += Span::from_ns(600);
        occupancy.set(divan::black_box(now), now.as_ps() / 1_000 % 500_000);
    });
}
