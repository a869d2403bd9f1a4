//! Quantities and windows at the edges of 64 bits: no operation overflows, each rounds the way that
//! it says, and what does not fit is the largest value.
//!
//! Kani would prove this for all values, if it could be had; here each operation is compared with
//! 128-bit arithmetic for every pair of some thousand values at which something changes, and for
//! random ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use incast_cc::parts::{Window, integer};
use incast_cc::{Bytes, Flow, Fraction, Loss, LossCause, Rate, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Picoseconds that a byte takes at one bit per second.
const BIT_PS: u128 = 8_000_000_000_000;

/// Zero, the largest, the powers of two and of ten, the largest factor that a product of 64 bits
/// has, and the neighbours of each.
fn edges() -> Vec<u64> {
    let twos = (0..64).map(|bit| 1 << bit);
    let tens = (0..20).map(|power| 10_u64.pow(power));
    let factors = [u64::MAX / 8_000_000_000_000, u64::MAX / 1_000, u64::MAX / 1_000_000, u64::MAX];
    let around = twos.chain(tens).chain(factors);
    let mut edges: Vec<_> =
        around.flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Results beyond 64 bits are the largest value.
fn saturated(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Compares every operation on `a` and `b` with 128-bit arithmetic.
fn check(a: u64, b: u64) {
    let (wide_a, wide_b) = (u128::from(a), u128::from(b));
    let (rate, bytes, span) = (Rate::from_bps(a), Bytes::new(b), Span::from_ps(b));

    // Up: never faster than the wire.
    let time = (wide_b * BIT_PS).checked_div(wide_a).map_or(u64::MAX, |down| {
        saturated(down + u128::from(!(wide_b * BIT_PS).is_multiple_of(wide_a)))
    });
    assert_eq!(rate.time_for(bytes).as_ps(), time, "{a} b/s, {b} B");
    // Down: never more than the wire carries.
    assert_eq!(rate.bytes_in(span).get(), saturated(wide_a * wide_b / BIT_PS), "{a} b/s, {b} ps");
    let of = (wide_a * BIT_PS).checked_div(wide_b).map_or(u64::MAX, saturated);
    assert_eq!(Rate::of(Bytes::new(a), span).as_bps(), of, "{a} B in {b} ps");
    // What fits a span takes no longer than it.
    if a > 0 && b < u64::MAX {
        assert!(rate.time_for(rate.bytes_in(span)) <= span, "{a} b/s, {b} ps");
    }

    let sum = saturated(wide_a + wide_b);
    assert_eq!((Span::from_ps(a) + span).as_ps(), sum);
    assert_eq!((Time::from_ps(a) + span).as_ps(), sum);
    assert_eq!((rate + Rate::from_bps(b)).as_bps(), sum);
    assert_eq!((Bytes::new(a) + bytes).get(), sum);
    let product = saturated(wide_a * wide_b);
    assert_eq!((Span::from_ps(a) * b).as_ps(), product);
    assert_eq!((rate * b).as_bps(), product);
    assert_eq!((Bytes::new(a) * b).get(), product);
    assert_eq!(Time::from_ps(a).since(Time::from_ps(b)).as_ps(), a.saturating_sub(b));
    assert_eq!(Span::from_ps(a).saturating_sub(span).as_ps(), a.saturating_sub(b));
    if b > 0 {
        assert_eq!((Span::from_ps(a) / b).as_ps(), a / b);
    }
    for (from, scale) in [
        (Span::from_ns(a).as_ps(), 1_000_u64),
        (Span::from_us(a).as_ps(), 1_000_000),
        (Span::from_ms(a).as_ps(), 1_000_000_000),
        (Span::from_secs(a).as_ps(), 1_000_000_000_000),
        (Rate::from_mbps(a).as_bps(), 1_000_000),
        (Rate::from_gbps(a).as_bps(), 1_000_000_000),
        (Bytes::from_kb(a).get(), 1_000),
    ] {
        assert_eq!(from, saturated(wide_a * u128::from(scale)), "{a} times {scale}");
    }

    // A rate of a larger NIC, scaled for a smaller one and the reverse: from 1 b/s to line rate.
    let line = integer::line_bps(Rate::from_bps(b));
    assert!((1..=integer::MAX_BPS).contains(&line));
    for reference in [0, 1, b, u64::MAX] {
        let scaled = integer::scaled(rate, Rate::from_bps(reference), line);
        let exact = (wide_a * u128::from(line)).checked_div(reference.into()).unwrap_or(wide_a);
        assert_eq!(scaled, saturated(exact).clamp(1, line), "{a} of {reference} on {line}");
    }
}

#[test]
fn operations_on_all_pairs_of_edges_are_those_of_wide_arithmetic() {
    let edges = edges();
    for &a in &edges {
        for &b in &edges {
            check(a, b);
        }
    }
}

#[test]
fn quantities_at_the_edges_are_read_as_they_are_written() {
    for n in edges() {
        assert_eq!(Span::from_ps(n).to_string().parse(), Ok(Span::from_ps(n)));
        assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
        assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
    }
}

#[test]
fn every_fraction_is_read_as_it_is_written() {
    // All of 2^20 below one, and some of those below the largest.
    for (whole, step) in [(0, 1), (4_095, 7)] {
        for bits in (0..1 << Fraction::BITS).step_by(step) {
            let fraction = Fraction::from_bits(whole << Fraction::BITS | bits);
            assert_eq!(fraction.to_string().parse(), Ok(fraction));
        }
    }
}

#[test]
fn fractions_round_to_the_nearest() {
    let edges: Vec<_> = edges().into_iter().filter_map(|n| u32::try_from(n).ok()).collect();
    for &numerator in &edges {
        for &denominator in &edges {
            let bits = u64::from(Fraction::from_ratio(numerator, denominator).bits());
            if denominator == 0 {
                assert_eq!(bits, u64::from(u32::MAX));
                continue;
            }
            let (scaled, denominator) = (u64::from(numerator) << 20, u64::from(denominator));
            let nearest = (2 * scaled + denominator) / (2 * denominator);
            assert_eq!(bits, nearest.min(u32::MAX.into()), "{numerator}/{denominator}");
        }
    }
}

#[test]
fn numbers_of_many_digits_are_read_or_refused() {
    // As many digits as 128 bits hold, with the point at each place.
    for digits in [
        "324518553658426726783156020576255",
        "9",
        "1",
        "000",
        "340282366920938463463374607431768211455",
    ] {
        for zeros in 0..45 {
            let number = format!("0.{}{digits}", "0".repeat(zeros));
            if let Ok(fraction) = number.parse::<Fraction>() {
                let exact: f64 = number.parse().unwrap();
                assert!((fraction.as_f64() - exact).abs() <= 0.5 / 1_048_576.0, "{number}");
            }
            for unit in ["ps", "s"] {
                if let Ok(span) = format!("{number}{unit}").parse::<Span>() {
                    assert!(span.as_ps() < 1_000_000_000_000, "{number}{unit}");
                }
            }
        }
    }
}

/// A number at an edge, or any.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![prop::sample::select(edges()), any::<u64>()]
}

/// An event at a window: which, how many bytes, and up to where data was sent.
fn event() -> impl Strategy<Value = (u8, u64, u64)> {
    (0_u8..10, edge(), edge())
}

fn config() -> ProptestConfig {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/edges.txt");
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
        ..ProptestConfig::with_cases(2_048)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn operations_on_any_pair_are_those_of_wide_arithmetic(a in edge(), b in edge()) {
        check(a, b);
    }

    /// Whatever is acknowledged, lost or set: a window is at least a segment and at most what the
    /// flow allows.
    #[test]
    fn a_window_stays_between_a_segment_and_its_bound(
        (mss, initial, most) in (edge(), edge(), edge()),
        limit in prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()],
        beta in 0..=1_u32 << Fraction::BITS,
        events in prop::collection::vec(event(), 1..40),
    ) {
        let mut flow = Flow::new(Bytes::new(1_460), Rate::from_gbps(10));
        (flow.mss, flow.initial_window) = (Bytes::new(mss), Bytes::new(initial));
        (flow.max_window, flow.slow_start_limit) = (Bytes::new(most), limit);
        let mut window = Window::new(&flow);
        let beta = Fraction::from_bits(beta);
        for (which, bytes, next) in events {
            let before = window.cwnd();
            match which {
                0 => {
                    let left = window.slow_start(bytes);
                    prop_assert!(left <= bytes);
                }
                1 => window.increase(bytes, 1.0),
                2 => window.reno(bytes),
                3 => window.set_cwnd(bytes),
                4 => window.set_segments(bytes as f64),
                5 => window.set_ssthresh(bytes),
                6 => window.reduce(window.part(beta)),
                7 => window.undo(),
                8 => window.set_mss(Bytes::new(bytes)),
                _ => {
                    let cause = [LossCause::Detected, LossCause::Timeout, LossCause::Persistent];
                    let cause = cause[usize::try_from(bytes % 3).unwrap()];
                    let mut loss = Loss::new(Time::ZERO, Time::ZERO, Bytes::new(bytes), cause);
                    (loss.end, loss.next) = (Bytes::new(bytes.min(next)), Bytes::new(next));
                    window.on_loss(&loss, Window::half);
                    prop_assert!(window.cwnd() <= before.max(window.mss() * 2));
                }
            }
            let bound = most.clamp(1, 1 << 40).max(1 << 20);
            prop_assert!((1..=1 << 20).contains(&window.mss()));
            prop_assert!((window.mss()..=bound).contains(&window.cwnd()), "{window:?}");
            prop_assert!(window.part(beta) <= window.cwnd() && window.ssthresh() <= 1 << 40);
            if which == 0 || which == 2 {
                prop_assert!(window.cwnd() >= before, "{before}, and then {window:?}");
            }
        }
    }
}
