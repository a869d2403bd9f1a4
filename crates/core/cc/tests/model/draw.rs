//! Quantities of every magnitude.

use incast_cc::{Bytes, Rate, Span};
use proptest::prelude::*;

/// 1 to `most`, every magnitude as likely as another.
pub(crate) fn magnitude(most: u64) -> impl Strategy<Value = u64> {
    (0..=most.ilog2(), any::<u64>()).prop_map(move |(bits, n)| {
        let low = 1_u64 << bits;
        (low + n % low).min(most)
    })
}

/// 0 ps to 10 s; now and then longer than any flow.
pub(crate) fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        1 => Just(Span::ZERO),
        1 => Just(Span::from_secs(100_000)),
        10 => magnitude(10_000_000_000_000).prop_map(Span::from_ps),
    ]
}

/// 1 us to 1 s, what the contract calls an RTT.
pub(crate) fn rtt() -> impl Strategy<Value = Span> {
    magnitude(1_000_000).prop_map(Span::from_us)
}

/// Up to `most` bytes.
pub(crate) fn bytes(most: u64) -> impl Strategy<Value = Bytes> {
    prop_oneof![
        1 => Just(Bytes::ZERO),
        10 => magnitude(most).prop_map(Bytes::new),
    ]
}

/// 1 b/s to 2 Tb/s.
pub(crate) fn rate() -> impl Strategy<Value = Rate> {
    magnitude(2_000_000_000_000).prop_map(Rate::from_bps)
}
