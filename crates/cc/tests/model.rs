//! One model of random operations over every registered algorithm: whatever happens in whatever
//! order, limits stay within bounds and nothing panics (overflow checks are on in tests).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{
    Ack, Bytes, CongestionControl, Flow, Limits, Loss, LossCause, Notification, Pacing, Rate, Sent,
    Span, Spurious, Time,
};
use proptest::prelude::*;

/// The rates that the contract promises: 1 Mb/s to 1.6 Tb/s.
const LINE_RATES: [u64; 5] =
    [1_000_000, 50_000_000, 10_000_000_000, 400_000_000_000, 1_600_000_000_000];

#[derive(Clone, Debug)]
enum Operation {
    Ack { gap: Span, rtt: Option<Span>, bytes: u64, ce: bool },
    Loss { gap: Span, bytes: u64, cause: LossCause },
    Sent { gap: Span, bytes: u64 },
    Spurious,
    Notification,
    Timer,
}

/// 0 ps to 10 s, every magnitude as likely as another; zero and the extremes now and then.
fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        1 => Just(Span::ZERO),
        1 => Just(Span::from_secs(100_000)),
        8 => (0_u32..44, 1_u64..1_000).prop_map(|(shift, n)| Span::from_ps((n << shift) >> 10)),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let cause = prop_oneof![
        Just(LossCause::Detected),
        Just(LossCause::Timeout),
        Just(LossCause::Persistent)
    ];
    prop_oneof![
        12 => (span(), prop::option::weighted(0.9, span()), 0_u64..1_000_000, any::<bool>())
            .prop_map(|(gap, rtt, bytes, ce)| Operation::Ack { gap, rtt, bytes, ce }),
        2 => (span(), 1_u64..1_000_000, cause)
            .prop_map(|(gap, bytes, cause)| Operation::Loss { gap, bytes, cause }),
        6 => (span(), 1_u64..1_000_000).prop_map(|(gap, bytes)| Operation::Sent { gap, bytes }),
        1 => Just(Operation::Spurious),
        1 => Just(Operation::Notification),
        1 => Just(Operation::Timer),
    ]
}

fn assert_within_bounds(name: &str, limits: Limits, flow: &Flow) {
    assert!(limits.cwnd >= flow.mss, "{name}: cwnd {} below one MSS", limits.cwnd);
    assert!(!limits.burst.bytes.is_zero() && !limits.burst.rate.is_zero(), "{name}: no burst");
    match limits.pacing {
        Pacing::Rate(rate) => {
            assert!(!rate.is_zero(), "{name}: rate zero never recovers");
            assert!(rate <= flow.line_rate, "{name}: {rate} above line rate {}", flow.line_rate);
        }
        Pacing::Window { gain_percent } => assert!(gain_percent > 0, "{name}: no pacing gain"),
        Pacing::Unpaced => {}
    }
}

fn run(algorithm: &AnyAlgorithm, flow: &Flow, operations: &[Operation]) {
    let name = algorithm.name();
    let mut control = algorithm.start(flow);
    assert_within_bounds(name, control.limits(), flow);
    let (mut now, mut in_flight, mut delivered) = (flow.now, 0_u64, 0_u64);
    let (mut last_sent, mut min_rtt) = (flow.now, Span::MAX);
    for operation in operations {
        match *operation {
            Operation::Ack { gap, rtt, bytes, ce } => {
                now += gap;
                let bytes = bytes.min(in_flight);
                in_flight -= bytes;
                delivered += bytes;
                let mut ack = Ack::new(now, last_sent, Bytes::new(bytes));
                if let Some(rtt) = rtt {
                    ack = ack.with_rtt(rtt);
                    min_rtt = min_rtt.min(rtt);
                    ack.srtt = rtt;
                }
                ack.min_rtt = min_rtt;
                ack.in_flight = Bytes::new(in_flight);
                ack.delivered = Bytes::new(delivered);
                ack.ce_bytes = if ce { ack.bytes } else { Bytes::ZERO };
                control.on_ack(&ack);
            }
            Operation::Loss { gap, bytes, cause } => {
                now += gap;
                let bytes = bytes.min(in_flight);
                in_flight -= bytes;
                control.on_loss(&Loss::new(now, last_sent, Bytes::new(bytes), cause));
            }
            Operation::Sent { gap, bytes } => {
                now += gap;
                in_flight += bytes;
                last_sent = now;
                control.on_sent(&Sent::new(now, Bytes::new(bytes), Bytes::new(in_flight)));
            }
            Operation::Spurious => control.on_spurious_loss(&Spurious::new(now, flow.mss)),
            Operation::Notification => control.on_notification(&Notification::new(now)),
            Operation::Timer => {
                if let Some(at) = control.next_timer() {
                    now = now.max(at);
                    control.on_timer(now);
                }
            }
        }
        assert_within_bounds(name, control.limits(), flow);
    }
    control.gauges(&mut |gauge, value| assert!(value.is_finite(), "{name}: {gauge} is {value}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn limits_stay_within_bounds(
        operations in prop::collection::vec(operation(), 1..300),
        active_flows in prop_oneof![0_u32..100, Just(u32::MAX)],
        segment in prop_oneof![Just(1_000_u64), Just(16_000), Just(64_000)],
    ) {
        for name in NAMES {
            let defaults = AnyAlgorithm::named(name).unwrap();
            for preset in defaults.presets() {
                let mut algorithm = defaults;
                algorithm.apply_preset(preset.name).unwrap();
                for bps in LINE_RATES {
                    let mut flow = Flow::new(Bytes::new(segment), Rate::from_bps(bps));
                    flow.active_flows = active_flows;
                    run(&algorithm, &flow, &operations);
                }
            }
        }
    }
}

/// The values at the ends of every parameter's range, where products are largest.
#[test]
fn extreme_parameters_do_not_overflow() {
    let operations: Vec<Operation> = (0..400)
        .map(|i| Operation::Ack {
            gap: Span::from_ns(i % 7 * 1_000),
            rtt: Some(if i % 3 == 0 { Span::from_secs(3) } else { Span::from_ns(i * 97) }),
            bytes: 1_000,
            ce: i % 2 == 0,
        })
        .collect();
    for name in NAMES {
        let defaults = AnyAlgorithm::named(name).unwrap();
        for param in defaults.params() {
            let Some((low, high)) = param.range.split_once(" to ") else { continue };
            for extreme in [low, high] {
                let mut algorithm = defaults;
                assert_eq!(algorithm.set(param.name, extreme), Ok(()), "{name}.{}", param.name);
                for bps in LINE_RATES {
                    let flow = Flow::new(Bytes::from_kb(64), Rate::from_bps(bps));
                    run(&algorithm, &flow, &operations);
                }
            }
        }
    }
}

#[test]
fn time_zero_and_never_are_survived() {
    for name in NAMES {
        let flow = Flow::new(Bytes::from_kb(64), Rate::from_gbps(10));
        let mut control = AnyAlgorithm::named(name).unwrap().start(&flow);
        let forever = Ack::new(Time::MAX, Time::ZERO, Bytes::MAX).with_rtt(Span::MAX);
        control.on_ack(&forever);
        control.on_ack(&forever);
        assert_within_bounds(name, control.limits(), &flow);
    }
}
