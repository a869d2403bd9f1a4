//! Reading quantities as people write them: `10Gbps`, `5us`, `64KB`, `1.5 ms`.
//!
//! Decimal units are powers of 1,000 and `KiB`, `MiB`, `GiB` powers of 1,024, so that the 64 KB
//! segment of the TIMELY paper takes its 51.2 us at 10 Gb/s.

use core::fmt;

use super::{Fraction, PS_PER_S};

/// The faults of a text that should be a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text does not start with a number.
    NotANumber,
    /// The number is negative.
    Negative,
    /// The number has no unit.
    NoUnit,
    /// The unit belongs to another quantity, or to none.
    UnknownUnit,
    /// The value is finer than the smallest unit that is counted.
    TooFine,
    /// The value does not fit 64 bits.
    TooLarge,
}

/// The error of a text that is not the expected quantity. Its display text ends a sentence that
/// starts with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The fault of the text.
    pub problem: Problem,
    expected: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.problem {
            Problem::NotANumber => "is not a number",
            Problem::Negative => "is negative",
            Problem::NoUnit => "has no unit",
            Problem::UnknownUnit => "has the wrong unit",
            Problem::TooFine => "is too fine to be represented",
            Problem::TooLarge => "is too large",
        };
        write!(f, "{what}; expected {}", self.expected)
    }
}

impl core::error::Error for ParseError {}

/// A kind of quantity: its units with their size in the smallest one.
pub(super) struct Quantity {
    units: &'static [(&'static str, u64)],
    expected: &'static str,
}

pub(super) const SPAN: Quantity = Quantity {
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("\u{b5}s", 1_000_000),
        ("\u{3bc}s", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", PS_PER_S),
    ],
    expected: "a time such as \"5us\" (ps, ns, us, ms, s)",
};

pub(super) const RATE: Quantity = Quantity {
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
    ],
    expected: "a rate such as \"10Gbps\" (bps, kbps, Mbps, Gbps, Tbps)",
};

pub(super) const BYTES: Quantity = Quantity {
    units: &[
        ("B", 1),
        ("KB", 1_000),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    expected: "a size such as \"64KB\" (B, KB, MB, GB of 1000; KiB, MiB, GiB of 1024)",
};

const FRACTION_EXPECTED: &str = "a number such as \"0.8\", from 0 to below 4096";

/// The value of `text` in the smallest unit of `kind`. Exact: a value between two counts is
/// refused, never rounded.
pub(super) fn quantity(text: &str, kind: &Quantity) -> Result<u64, ParseError> {
    let fail = |problem| ParseError { problem, expected: kind.expected };
    let (number, unit) = decimal(text).map_err(fail)?;
    if unit.is_empty() {
        return Err(fail(Problem::NoUnit));
    }
    let scale = kind
        .units
        .iter()
        .find_map(|&(name, scale)| (name == unit).then_some(scale))
        .ok_or(fail(Problem::UnknownUnit))?;
    let scaled = number.digits.checked_mul(u128::from(scale)).ok_or(fail(Problem::TooLarge))?;
    if scaled % number.divisor != 0 {
        return Err(fail(Problem::TooFine));
    }
    u64::try_from(scaled / number.divisor).map_err(|_| fail(Problem::TooLarge))
}

/// The bits of a fraction.
pub(super) fn fraction(text: &str) -> Result<u32, ParseError> {
    let fail = |problem| ParseError { problem, expected: FRACTION_EXPECTED };
    let (number, unit) = decimal(text).map_err(fail)?;
    if !unit.is_empty() {
        return Err(fail(Problem::UnknownUnit));
    }
    let scaled = number.digits.checked_mul(1 << Fraction::BITS).ok_or(fail(Problem::TooLarge))?;
    // Not the sum of both, which 128 bits need not hold.
    let up = scaled % number.divisor >= number.divisor.div_ceil(2);
    let bits = scaled / number.divisor + u128::from(up);
    u32::try_from(bits).map_err(|_| fail(Problem::TooLarge))
}

/// `digits / divisor`, the divisor a power of ten.
struct Decimal {
    digits: u128,
    divisor: u128,
}

/// Splits `text` into its number and what follows it.
fn decimal(text: &str) -> Result<(Decimal, &str), Problem> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('-') {
        let number = rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
        return Err(if number { Problem::Negative } else { Problem::NotANumber });
    }
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(Problem::NotANumber);
    }
    let (mut digits, mut divisor, mut point) = (0_u128, 1_u128, false);
    for c in number.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                digits = digits
                    .checked_mul(10)
                    .and_then(|d| d.checked_add(u128::from(digit)))
                    .ok_or(Problem::TooLarge)?;
                if point {
                    divisor = divisor.checked_mul(10).ok_or(Problem::TooFine)?;
                }
            }
            None if c == '_' => {}
            None if point => return Err(Problem::NotANumber),
            None => point = true,
        }
    }
    Ok((Decimal { digits, divisor }, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Rate, Span};

    #[test]
    fn units_are_exact() {
        assert_eq!("64KB".parse(), Ok(Bytes::new(64_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("1_500 B".parse(), Ok(Bytes::new(1_500)));
        assert_eq!("0.5us".parse(), Ok(Span::from_ns(500)));
        assert_eq!("4.5 \u{b5}s".parse(), Ok(Span::from_ns(4_500)));
        assert_eq!("100Gb/s".parse(), Ok(Rate::from_gbps(100)));
    }

    #[test]
    fn each_mistake_has_its_name() {
        let problem = |text: &str| text.parse::<Rate>().unwrap_err().problem;
        assert_eq!(problem("fast"), Problem::NotANumber);
        assert_eq!(problem(""), Problem::NotANumber);
        assert_eq!(problem("1.2.3Gbps"), Problem::NotANumber);
        assert_eq!(problem("-1Gbps"), Problem::Negative);
        assert_eq!(problem("10"), Problem::NoUnit);
        assert_eq!(problem("10us"), Problem::UnknownUnit);
        assert_eq!(problem("0.5bps"), Problem::TooFine);
        assert_eq!(problem("99999999999Gbps"), Problem::TooLarge);
        assert_eq!(problem("1e9bps"), Problem::UnknownUnit);
        assert_eq!("5000".parse::<Fraction>().unwrap_err().problem, Problem::TooLarge);
        assert_eq!("0.5x".parse::<Fraction>().unwrap_err().problem, Problem::UnknownUnit);
    }
}
