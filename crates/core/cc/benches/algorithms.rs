//! Nanoseconds per event of every registered algorithm.

#![allow(missing_docs, reason = "benchmarks are not an interface")]

use divan::Bencher;
use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{Ack, Bytes, CongestionControl, Flow, Rate, Span, Time};

fn main() {
    divan::main();
}

/// An ACK with an RTT that wanders through every branch of the control laws.
#[divan::bench(args = NAMES)]
fn on_ack(bencher: Bencher<'_, '_>, name: &str) {
    let flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(10));
    let algorithm = AnyAlgorithm::named(name).unwrap_or_else(|| unreachable!("a registered name"));
    let mut control = algorithm.start(&flow);
    let (mut now, mut step) = (Time::ZERO, 0_u64);
    bencher.bench_local(|| {
        step += 1;
        now += Span::from_us(30);
        let rtt = Span::from_us(20 + step * 7_919 % 1_500);
        control.on_ack(divan::black_box(&Ack::new(now, now, Bytes::from_kb(64)).with_rtt(rtt)));
        control.limits()
    });
}
