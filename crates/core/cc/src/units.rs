//! Exact quantities: picoseconds, bits per second, bytes, and a fixed-point fraction.
//!
//! Every quantity is an unsigned integer with a type of its own. A conversion between two of them
//! says in its documentation which way it rounds, and the direction is always the one that never
//! claims more than the wire can do. Additions saturate: [`Time::MAX`] means "never" and stays so.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

mod parse;

pub use parse::{ParseError, Problem};

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;
/// Picoseconds that one byte takes at one bit per second.
const PS_PER_BYTE_AT_1_BPS: u64 = 8 * PS_PER_S;

/// An instant: picoseconds since the start of the run. Covers 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// An amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A non-negative fixed-point number with 20 fractional bits: the coefficients of the integer
/// algorithms. A twin in BPF C computes with the same bits, so results are equal to the last one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fraction(u32);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// An instant that never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The time since `earlier`; zero if `earlier` lies ahead.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// The span of zero length.
    pub const ZERO: Self = Self(0);
    /// A span longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(PS_PER_S))
    }

    /// The span in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds, for reports.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero when `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// The rate zero.
    pub const ZERO: Self = Self(0);
    /// No limit.
    pub const MAX: Self = Self(u64::MAX);

    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// `mbps` megabits (10^6 bits) per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }

    /// `gbps` gigabits (10^9 bits) per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps.saturating_mul(1_000_000_000))
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Gigabits per second, for reports.
    pub fn as_gbps_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The rate of `bps`, rounded down to whole bits per second. What no rate can be becomes the
    /// nearest that can.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    pub fn from_bps_f64(bps: f64) -> Self {
        Self(bps as u64)
    }

    /// Whether the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The time that `bytes` take at this rate, rounded up: never faster than the wire.
    /// [`Span::MAX`] at rate zero.
    ///
    /// 64 B at 100 Gb/s take exactly 5,120 ps.
    pub const fn time_for(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // One packet or segment fits 64 bits, and the 64-bit division is several times faster.
        if let Some(bit_ps) = bytes.0.checked_mul(PS_PER_BYTE_AT_1_BPS) {
            return Span(bit_ps.div_ceil(self.0));
        }
        let ps = (bytes.0 as u128 * PS_PER_BYTE_AT_1_BPS as u128).div_ceil(self.0 as u128);
        Span(saturate(ps))
    }

    /// The whole bytes that fit into `span` at this rate, rounded down.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes(saturate(self.0 as u128 * span.0 as u128 / PS_PER_BYTE_AT_1_BPS as u128))
    }

    /// The rate that moves `bytes` in `span`, rounded down; [`Rate::MAX`] when `span` is zero.
    pub const fn of(bytes: Bytes, span: Span) -> Self {
        if span.0 == 0 {
            return Self::MAX;
        }
        // As in `time_for`: 64 bits are enough for 2 MB.
        if let Some(bit_ps) = bytes.0.checked_mul(PS_PER_BYTE_AT_1_BPS) {
            return Self(bit_ps / span.0);
        }
        Self(saturate(bytes.0 as u128 * PS_PER_BYTE_AT_1_BPS as u128 / span.0 as u128))
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// No limit.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// `n` kilobytes of 1,000 bytes.
    pub const fn from_kb(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero when `other` is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Fraction {
    /// Bits after the binary point.
    pub const BITS: u32 = 20;
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The number 1.
    pub const ONE: Self = Self(1 << Self::BITS);
    /// The largest fraction, one 2^-20 below 4,096.
    pub const MAX: Self = Self(u32::MAX);

    /// The fraction of these bits: the value times 2^20.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// `numerator / denominator`, rounded to nearest; [`Fraction::MAX`] when it does not fit.
    pub const fn from_ratio(numerator: u32, denominator: u32) -> Self {
        if denominator == 0 {
            return Self::MAX;
        }
        let scaled = ((numerator as u64) << Self::BITS) + denominator as u64 / 2;
        let bits = scaled / denominator as u64;
        if bits > u32::MAX as u64 {
            return Self::MAX;
        }
        #[expect(clippy::cast_possible_truncation, reason = "compared with u32::MAX above")]
        Self(bits as u32)
    }

    /// The bits of the fraction: the value times 2^20.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The value in floating point, for reports.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(1_u32 << Self::BITS)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "compared with u64::MAX first")]
const fn saturate(n: u128) -> u64 {
    if n > u64::MAX as u128 { u64::MAX } else { n as u64 }
}

macro_rules! additive {
    ($($unit:ident),*) => {$(
        impl Add for $unit {
            type Output = Self;
            fn add(self, other: Self) -> Self { Self(self.0.saturating_add(other.0)) }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) { *self = *self + other; }
        }
        impl Sub for $unit {
            type Output = Self;
            /// The difference, or zero when `other` is more. That is a mistake in the caller's
            /// books, which debug builds catch.
            fn sub(self, other: Self) -> Self {
                debug_assert!(other.0 <= self.0, "{other} from {self}");
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl SubAssign for $unit {
            fn sub_assign(&mut self, other: Self) { *self = *self - other; }
        }
        impl Mul<u64> for $unit {
            type Output = Self;
            fn mul(self, n: u64) -> Self { Self(self.0.saturating_mul(n)) }
        }
        impl Div<u64> for $unit {
            type Output = Self;
            /// Rounds down.
            fn div(self, n: u64) -> Self { Self(self.0 / n) }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self { iter.fold(Self(0), Add::add) }
        }
    )*};
}
additive!(Span, Rate, Bytes);

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// Writes `value` in the largest unit of `scales` that leaves it exact to three decimals or less,
/// so that what is printed can be read back as the same value.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, scales: &[(u64, &str)]) -> fmt::Result {
    for &(scale, unit) in scales {
        if value < scale {
            continue;
        }
        let (whole, rest) = (value / scale, value % scale);
        if rest == 0 {
            return write!(f, "{whole}{unit}");
        }
        if scale >= 1_000 && rest % (scale / 1_000) == 0 {
            let mut thousandths = rest / (scale / 1_000);
            let mut digits = 3;
            while thousandths % 10 == 0 {
                thousandths /= 10;
                digits -= 1;
            }
            return write!(f, "{whole}.{thousandths:0digits$}{unit}");
        }
    }
    write!(f, "{value}{}", scales.last().map_or("", |&(_, unit)| unit))
}

const SPAN_UNITS: &[(u64, &str)] =
    &[(PS_PER_S, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
const RATE_UNITS: &[(u64, &str)] = &[
    (PS_PER_S, "Tbps"),
    (1_000_000_000, "Gbps"),
    (1_000_000, "Mbps"),
    (1_000, "kbps"),
    (1, "bps"),
];
const BYTES_UNITS: &[(u64, &str)] =
    &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"), (1, "B")];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, SPAN_UNITS)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, SPAN_UNITS)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, RATE_UNITS)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, BYTES_UNITS)
    }
}

impl fmt::Display for Fraction {
    /// The shortest decimal that reads back as the same bits: 0.02, not 0.0200005 for the nearest
    /// 2^-20 to it. Seven decimals are always enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = 0;
        let (mut scale, mut scaled) = (1, 0);
        while digits <= 7 {
            scaled = (u64::from(self.0) * scale + (1 << (Self::BITS - 1))) >> Self::BITS;
            let back = ((scaled << Self::BITS) + scale / 2) / scale;
            if back == u64::from(self.0) {
                break;
            }
            (digits, scale) = (digits + 1, scale * 10);
        }
        let (whole, rest) = (scaled / scale, scaled % scale);
        if rest == 0 { write!(f, "{whole}") } else { write!(f, "{whole}.{rest:0digits$}") }
    }
}

macro_rules! debug_as_display {
    ($($unit:ident),*) => {$(
        impl fmt::Debug for $unit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }
    )*};
}
debug_as_display!(Time, Span, Rate, Bytes, Fraction);

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, &parse::SPAN).map(Self)
    }
}

impl FromStr for Time {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, &parse::SPAN).map(Self)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, &parse::RATE).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, &parse::BYTES).map(Self)
    }
}

impl FromStr for Fraction {
    type Err = ParseError;
    /// A decimal number from 0 to below 4,096, rounded to the nearest 2^-20.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::fraction(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::ToString;

    #[test]
    fn serialization_is_exact_at_common_rates() {
        assert_eq!(Rate::from_gbps(100).time_for(Bytes::new(64)), Span::from_ps(5_120));
        assert_eq!(Rate::from_gbps(10).time_for(Bytes::from_kb(64)), Span::from_ps(51_200_000));
        assert_eq!(Rate::from_bps(1_600_000_000_000).time_for(Bytes::new(1)), Span::from_ps(5));
    }

    #[test]
    fn time_for_rounds_up_and_bytes_in_rounds_down() {
        let rate = Rate::from_bps(3);
        let span = rate.time_for(Bytes::new(1));
        assert_eq!(span.as_ps(), 2_666_666_666_667);
        assert_eq!(rate.bytes_in(span), Bytes::new(1));
        assert_eq!(rate.bytes_in(Span::from_ps(span.as_ps() - 1)), Bytes::ZERO);
    }

    #[test]
    fn more_data_than_64_bits_of_bit_picoseconds() {
        let terabyte = Bytes::new(1_000_000_000_000);
        assert_eq!(Rate::from_gbps(8).time_for(terabyte), Span::from_secs(1_000));
        assert_eq!(Rate::from_bps(1).time_for(Bytes::MAX), Span::MAX);
        assert_eq!(Rate::of(terabyte, Span::from_secs(1_000)), Rate::from_gbps(8));
    }

    #[test]
    fn nothing_moves_at_rate_zero() {
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Span::MAX);
        assert_eq!(Time::ZERO + Rate::ZERO.time_for(Bytes::new(1)), Time::MAX);
        assert_eq!(Time::MAX + Span::from_secs(1), Time::MAX);
    }

    #[test]
    fn what_is_printed_reads_back() {
        for (text, bps) in [("10Gbps", 10_000_000_000), ("2.5Gbps", 2_500_000_000), ("1bps", 1)] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.as_bps(), rate.to_string().as_str()), (bps, text));
        }
        for (text, ps) in [("51.2us", 51_200_000), ("5.12ns", 5_120), ("0ps", 0), ("1s", PS_PER_S)]
        {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.as_ps(), span.to_string().as_str()), (ps, text));
        }
        assert_eq!(Span::from_ps(1_234_567).to_string(), "1234.567ns");
        assert_eq!(Bytes::from_kb(64).to_string(), "64KB");
        for text in ["0.8", "0.02", "0.875", "0.008", "1", "0.46"] {
            assert_eq!(format!("{}", text.parse::<Fraction>().unwrap()), text);
        }
    }

    #[test]
    fn every_fraction_reads_back() {
        for bits in (0..1 << 21).step_by(37).chain([1, u32::MAX, u32::MAX - 1, 1 << 31]) {
            let fraction = Fraction::from_bits(bits);
            assert_eq!(fraction.to_string().parse(), Ok(fraction), "{fraction}");
        }
    }

    #[test]
    fn fractions_round_to_nearest() {
        assert_eq!(Fraction::from_ratio(1, 2).bits(), 1 << 19);
        assert_eq!(Fraction::from_ratio(2, 100).bits(), 20_972); // 20,971.52
        assert_eq!(Fraction::from_ratio(1, 0), Fraction::MAX);
        assert_eq!("0.02".parse::<Fraction>().unwrap(), Fraction::from_ratio(2, 100));
    }
}
