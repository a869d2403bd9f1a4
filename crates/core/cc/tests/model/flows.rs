//! Flows on every network that the contract promises.

use incast_cc::{Bytes, Flow, PathMetrics, Rate, Span};
use proptest::prelude::*;

use crate::draw;

/// 1 Mb/s to 8 Tb/s.
fn line_rate() -> impl Strategy<Value = Rate> {
    let named = [1_000_000, 50_000_000, 10_000_000_000, 400_000_000_000, 8_000_000_000_000];
    prop_oneof![
        prop::sample::select(named.to_vec()).prop_map(Rate::from_bps),
        draw::magnitude(8_000_000).prop_map(Rate::from_mbps),
    ]
}

fn base_rtt() -> impl Strategy<Value = Option<Span>> {
    let ends = [None, Some(Span::from_us(1)), Some(Span::from_secs(1))];
    prop_oneof![prop::sample::select(ends.to_vec()), draw::rtt().prop_map(Some)]
}

fn max_window(mss: u64) -> impl Strategy<Value = Bytes> {
    prop_oneof![
        2 => Just(Bytes::MAX),
        1 => Just(Bytes::new(mss)),
        1 => draw::magnitude(1 << 40).prop_map(move |most| Bytes::new(most.max(mss))),
    ]
}

/// Any flow that the contract allows.
pub(crate) fn any() -> impl Strategy<Value = Flow> {
    let mss = prop_oneof![Just(1_460_u64), Just(1_000), 64_u64..9_000];
    let segment = prop_oneof![Just(0_u64), Just(16_000), Just(64_000), Just(65_536)];
    let start = (
        prop_oneof![0_u32..100, Just(u32::MAX)],
        draw::bytes(1_000_000),
        prop_oneof![Just(u32::MAX), Just(1), 0_u32..100],
        any_seed(),
        draw::span(),
    );
    let path = prop::option::of((draw::rtt(), line_rate()));
    let size = (mss, segment)
        .prop_flat_map(|(mss, segment)| (Just(mss), Just(segment.max(mss)), max_window(mss)));
    (size, line_rate(), base_rtt(), start, path).prop_map(
        |((mss, segment, max_window), line_rate, base_rtt, start, path)| {
            let mut flow = Flow::new(Bytes::new(segment), line_rate);
            (flow.mss, flow.max_window, flow.base_rtt) = (Bytes::new(mss), max_window, base_rtt);
            (flow.active_flows, flow.initial_window, flow.slow_start_limit, flow.seed, _) = start;
            flow.path = path.map(|(least_rtt, rate)| PathMetrics { at: flow.now, least_rtt, rate });
            flow.now += start.4;
            flow
        },
    )
}

fn any_seed() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), proptest::prelude::any::<u64>()]
}
