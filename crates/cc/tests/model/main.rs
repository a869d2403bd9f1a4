//! One model of random operations over every registered algorithm: whatever happens in whatever
//! order, limits stay within bounds and nothing panics (overflow checks are on in tests).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{
    Ack, Bytes, CongestionControl, Demand, Flow, Limits, Loss, LossCause, Notification, Pacing,
    Rate, Sent, Span, Spurious, Time,
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
    Demand { size: Option<u64> },
    Restart { idle: Span },
    MssChange { mss: u64 },
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
        1 => prop::option::of(0_u64..10_000_000).prop_map(|size| Operation::Demand { size }),
        1 => span().prop_map(|idle| Operation::Restart { idle }),
        1 => (64_u64..9_000).prop_map(|mss| Operation::MssChange { mss }),
    ]
}

fn assert_within_bounds(name: &str, limits: Limits, flow: &Flow, mss: Bytes) {
    assert!(limits.cwnd >= mss, "{name}: cwnd {} below one MSS", limits.cwnd);
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
    assert_within_bounds(name, control.limits(), flow, flow.mss);
    let (mut now, mut in_flight, mut delivered) = (flow.now, 0_u64, 0_u64);
    let (mut last_sent, mut min_rtt, mut mss) = (flow.now, Span::MAX, flow.mss);
    // In transmission order: what was sent, and up to where it was acknowledged or lost.
    let (mut transmitted, mut settled, mut round) = (0_u64, 0_u64, 0_u64);
    for operation in operations {
        match *operation {
            Operation::Ack { gap, rtt, bytes, ce } => {
                now += gap;
                let bytes = bytes.min(in_flight);
                in_flight -= bytes;
                delivered += bytes;
                let mut ack = Ack::new(now, last_sent, Bytes::new(bytes));
                round += u64::from(bytes > 0);
                (ack.first, ack.end) = (Bytes::new(settled), Bytes::new(settled + bytes));
                (ack.next, ack.round) = (Bytes::new(transmitted), round);
                (ack.cwnd_limited, ack.in_recovery) = (ce, !ce);
                settled += bytes;
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
                let mut loss = Loss::new(now, last_sent, Bytes::new(bytes), cause);
                (loss.first, loss.end) = (Bytes::new(settled), Bytes::new(settled + bytes));
                (loss.next, loss.in_flight) = (Bytes::new(transmitted), Bytes::new(in_flight));
                settled += bytes;
                control.on_loss(&loss);
            }
            Operation::Sent { gap, bytes } => {
                now += gap;
                in_flight += bytes;
                last_sent = now;
                transmitted += bytes;
                let mut sent = Sent::new(now, Bytes::new(bytes), Bytes::new(in_flight));
                sent.end = Bytes::new(transmitted);
                control.on_sent(&sent);
            }
            Operation::Spurious => control.on_spurious_loss(&Spurious::new(now, mss)),
            Operation::Demand { size } => {
                control.on_demand(&Demand::new(now, size.map(Bytes::new)));
            }
            Operation::Restart { idle } => control.on_restart(now, idle),
            Operation::MssChange { mss: new } => {
                mss = Bytes::new(new);
                control.on_mss_change(mss);
            }
            Operation::Notification => control.on_notification(&Notification::new(now)),
            Operation::Timer => {
                if let Some(at) = control.next_timer() {
                    now = now.max(at);
                    control.on_timer(now);
                }
            }
        }
        assert_within_bounds(name, control.limits(), flow, mss);
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
        let extremes: Vec<(&str, &str)> = defaults
            .params()
            .iter()
            .filter_map(|param| Some((param.name, param.range.split_once(" to ")?)))
            .flat_map(|(name, (low, high))| [(name, low), (name, high)])
            .collect();
        // Two at a time: products overflow together.
        for (i, first) in extremes.iter().enumerate() {
            for second in &extremes[i..] {
                let mut algorithm = defaults;
                for (param, value) in [first, second] {
                    assert_eq!(algorithm.set(param, value), Ok(()), "{name}.{param}");
                }
                for bps in [LINE_RATES[0], LINE_RATES[4]] {
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
        assert_within_bounds(name, control.limits(), &flow, flow.mss);
    }
}
