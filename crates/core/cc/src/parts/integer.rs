//! Arithmetic of integer control laws: unsigned 64-bit operations that BPF programs can do.

use crate::units::{Fraction, Rate};

/// The number 1 in 20-bit fixed point.
pub const ONE_Q20: u64 = 1 << Fraction::BITS;

/// Rates are kept below 2^42 b/s (4.4 Tb/s), so that a rate times a fraction fits 64 bits.
pub const MAX_BPS: u64 = (1 << 42) - 1;

/// `line_rate` in the range that the integer laws can hold.
pub fn line_bps(line_rate: Rate) -> u64 {
    line_rate.as_bps().clamp(1, MAX_BPS)
}

/// The value on a NIC of `line_bps` of a `rate` given for a NIC of `reference`, from 1 b/s to line
/// rate. With a reference of zero the rate is not scaled. The products are wide; each flow computes
/// them once.
pub fn scaled(rate: Rate, reference: Rate, line_bps: u64) -> u64 {
    let scaled = (u128::from(rate.as_bps()) * u128::from(line_bps))
        .checked_div(u128::from(reference.as_bps()))
        .unwrap_or(u128::from(rate.as_bps()));
    u64::try_from(scaled).unwrap_or(line_bps).clamp(1, line_bps)
}

/// `beta (1 - threshold / rtt)`, the cut of a rate when the RTT is above the threshold, rounded
/// down. The RTT is below 2^31 ns and beta at most one.
pub fn cut_above_q20(beta_q20: u64, rtt_ns: u64, threshold_ns: u64) -> u64 {
    let over_q20 = (rtt_ns.saturating_sub(threshold_ns) << Fraction::BITS) / rtt_ns.max(1);
    (beta_q20 * over_q20) >> Fraction::BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_grows_from_nothing_at_the_threshold_towards_beta() {
        assert_eq!(cut_above_q20(ONE_Q20, 500_000, 500_000), 0);
        assert_eq!(cut_above_q20(ONE_Q20, 1_000_000, 500_000), ONE_Q20 / 2);
        assert_eq!(cut_above_q20(ONE_Q20 / 2, 1_000_000, 500_000), ONE_Q20 / 4);
        assert_eq!(cut_above_q20(ONE_Q20, 0, 500_000), 0);
    }

    #[test]
    fn rates_scale_with_the_line_and_stay_on_it() {
        let (ten, forty) = (Rate::from_gbps(10), 40_000_000_000);
        assert_eq!(scaled(Rate::from_mbps(10), ten, forty), 40_000_000);
        assert_eq!(scaled(Rate::from_mbps(10), Rate::ZERO, forty), 10_000_000);
        assert_eq!(scaled(Rate::from_gbps(100), ten, forty), forty);
        assert_eq!(scaled(Rate::from_bps(1), ten, 1), 1);
        assert_eq!(line_bps(Rate::MAX), MAX_BPS);
    }
}
