//! Random operations over every registered algorithm: whatever happens, limits stay within the
//! bounds that the contract promises, gauges are numbers, and nothing panics (overflow checks are
//! on in tests).
//!
//! Two carriers feed them. The [`arbitrary`] one calls in any order and measures anything; the
//! [`sane`] one keeps the books of the contract, so that it reaches the states in which a flow
//! really is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arbitrary;
mod bounds;
mod draw;
mod effects;
mod flows;
mod parameters;
mod sane;
mod size;

use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{Ack, Bytes, CongestionControl, Flow, Rate, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Every algorithm with every one of its presets.
fn presets() -> impl Iterator<Item = AnyAlgorithm> {
    NAMES.iter().flat_map(|name| {
        let defaults = AnyAlgorithm::named(name).unwrap();
        defaults.presets().iter().map(move |preset| {
            let mut algorithm = defaults;
            algorithm.apply_preset(preset.name).unwrap();
            algorithm
        })
    })
}

/// Failing cases are kept, and tried first from then on.
fn config() -> ProptestConfig {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/model.txt");
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file))),
        ..ProptestConfig::with_cases(2_048)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_calls_in_any_order_leave_limits_within_bounds(
        flow in flows::any(),
        operations in prop::collection::vec(arbitrary::operation(), 1..200),
    ) {
        for algorithm in presets() {
            arbitrary::run(&algorithm, &flow, &operations);
        }
    }

    #[test]
    fn books_that_are_kept_leave_limits_within_bounds(
        flow in flows::any(),
        steps in sane::script(1..150),
    ) {
        for algorithm in presets() {
            sane::run(&algorithm, &flow, &steps);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// No state is a trap: on a clean path, every flow comes to send more than a few packets per
    /// round trip.
    #[test]
    fn whatever_happened_a_clean_path_lets_a_flow_grow(
        steps in sane::script(1..150),
        base_rtt in prop_oneof![Just(None), Just(Some(Span::from_us(20)))],
    ) {
        let mut flow = Flow::new(Bytes::new(1_460), Rate::from_gbps(10));
        flow.base_rtt = base_rtt;
        for algorithm in presets() {
            let rounds = sane::rounds_to_grow(&algorithm, &flow, &steps);
            prop_assert!(rounds.is_some(), "{algorithm:?} is stuck");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A window of one segment waits for the receiver's delayed-ACK timer, which is then all that
    /// its RTTs measure. No window stays there but Swift's, which takes that time for the fabric's
    /// delay, or for the peer's, and has to have an ACK for each segment.
    #[test]
    fn no_window_is_left_to_a_timer_of_delayed_acks(
        steps in sane::script(1..100),
    ) {
        let mut flow = Flow::new(Bytes::new(1_460), Rate::from_gbps(10));
        flow.segment = flow.mss;
        for algorithm in presets().filter(|algorithm| algorithm.name() != "swift") {
            let acks = sane::acks_of_a_timer(&algorithm, &flow, &steps, Span::from_ms(40));
            prop_assert!(acks.is_some_and(|acks| acks < 200), "{}: {acks:?}", algorithm.name());
        }
    }
}

#[test]
fn time_zero_and_never_are_survived() {
    for name in NAMES {
        let flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(10));
        let algorithm = AnyAlgorithm::named(name).unwrap();
        let mut control = algorithm.start(&flow);
        let forever = Ack::new(Time::MAX, Time::ZERO, Bytes::MAX).with_rtt(Span::MAX);
        control.on_ack(&forever);
        control.on_ack(&forever);
        bounds::Bounds::new(&algorithm, &flow).check(&control);
    }
}
