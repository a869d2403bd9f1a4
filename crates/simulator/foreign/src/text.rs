//! Lines and words that know their place, and numbers and quantities that are read without
//! rounding.

use std::fmt::Display;
use std::str::FromStr;

use incast_cc::{Bytes, FASTEST_LINE, Rate, SLOWEST_LINE, Span};

use super::{FilePlace, ForeignError};

/// The most hosts, switches or links of a network: enough for every published one, while a mistyped
/// number does not fill the memory.
pub(super) const MOST: u64 = 4_000_000;

/// A word of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    file: &'a str,
    pub(super) line: usize,
    /// The text of the line. Columns are counted in it only when one is asked for, since lines may
    /// be long.
    whole: &'a str,
}

/// A line that is not blank.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) words: Vec<Word<'a>>,
    pub(super) number: usize,
    file: &'a str,
}

/// The lines of a file that are not blank.
pub(super) fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()).map(
        move |(number, text)| {
            let word = |word| Word { text: word, file, line: number, whole: text };
            let words = text.split_whitespace().map(word);
            Line { words: words.collect(), number, file }
        },
    )
}

/// The error for a file that ends too early.
pub(super) fn ended(file: &str, text: &str, expected: &str) -> ForeignError {
    let place =
        FilePlace { file: file.to_owned(), line: text.lines().count().max(1), column: None };
    ForeignError::Unexpected {
        place,
        found: "the end of the file".into(),
        expected: expected.into(),
    }
}

/// The error for a line that is refused.
pub(crate) fn refused(file: &str, line: usize, reason: impl Into<String>) -> ForeignError {
    let place = FilePlace { file: file.to_owned(), line, column: None };
    ForeignError::Refused { place, reason: reason.into() }
}

/// The most items of a list that a sentence names.
const NAMED: usize = 8;

/// A list in a sentence: "1, 2, 3", or its first items and the number of the others.
pub(crate) fn shortened<T: Display>(items: &[T]) -> String {
    let named = items.len().min(NAMED);
    let said: Vec<_> = items[..named].iter().map(ToString::to_string).collect();
    let more = match items.len() - named {
        0 => String::new(),
        more => format!(", ... ({more} more)"),
    };
    format!("{}{more}", said.join(", "))
}

impl<'a> Line<'a> {
    /// The words of the line, if there are exactly `N`.
    pub(super) fn columns<const N: usize>(
        &self,
        expected: &str,
    ) -> Result<[Word<'a>; N], ForeignError> {
        self.words.as_slice().try_into().map_err(|_| {
            let count = self.words.len();
            let plural = if count == 1 { "" } else { "s" };
            self.unexpected(format!("{count} column{plural}"), format!("{N}: {expected}"))
        })
    }

    pub(super) fn unexpected(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ForeignError {
        let place = FilePlace { file: self.file.to_owned(), line: self.number, column: None };
        ForeignError::Unexpected { place, found: found.into(), expected: expected.into() }
    }

    pub(crate) fn refused(&self, reason: impl Into<String>) -> ForeignError {
        refused(self.file, self.number, reason)
    }
}

impl<'a> Word<'a> {
    /// A part of the word.
    pub(super) const fn part(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

    fn place(self) -> FilePlace {
        let offset = self.text.as_ptr() as usize - self.whole.as_ptr() as usize;
        let column = self.whole.get(..offset).map_or(0, |before| before.chars().count()) + 1;
        FilePlace { file: self.file.to_owned(), line: self.line, column: Some(column) }
    }

    pub(super) fn unexpected(self, expected: impl Into<String>) -> ForeignError {
        let (found, expected) = (format!("{:?}", self.text), expected.into());
        ForeignError::Unexpected { place: self.place(), found, expected }
    }

    pub(crate) fn refused(self, reason: impl Into<String>) -> ForeignError {
        ForeignError::Refused { place: self.place(), reason: reason.into() }
    }

    /// A whole number.
    pub(super) fn number<T: FromStr>(self, expected: &str) -> Result<T, ForeignError> {
        self.text.parse().map_err(|_| self.unexpected(expected))
    }

    /// The number of a node, below `nodes`.
    pub(super) fn node(self, nodes: u32) -> Result<u32, ForeignError> {
        let expected = format!("the number of a node, from 0 to {}", nodes.saturating_sub(1));
        let node = self.number(&expected)?;
        if node < nodes { Ok(node) } else { Err(self.unexpected(expected)) }
    }

    /// Reads a number, which may have a fraction or an exponent, multiplies it by `unit`, and
    /// rounds to the nearest whole number.
    pub(super) fn nearest(self, unit: u64, expected: &str) -> Result<u64, ForeignError> {
        match decimal(self.text) {
            Some((number, "")) => number.scaled(unit).map(|(value, _)| value),
            _ => None,
        }
        .ok_or_else(|| self.unexpected(expected))
    }

    /// Reads a number that times `unit` is a whole number, and multiplies it.
    pub(super) fn exact(self, unit: u64, expected: &str) -> Result<u64, ForeignError> {
        match decimal(self.text) {
            Some((number, "")) => number.scaled(unit).filter(|&(_, exact)| exact),
            _ => None,
        }
        .map(|(value, _)| value)
        .ok_or_else(|| self.unexpected(expected))
    }

    /// Reads a rate as ns-3 writes it, within the range of a link.
    pub(super) fn link_rate(self) -> Result<Rate, ForeignError> {
        let rate = self.rate()?;
        if (SLOWEST_LINE..=FASTEST_LINE).contains(&rate) {
            return Ok(rate);
        }
        Err(self.unexpected(format!("a rate from {SLOWEST_LINE} to {FASTEST_LINE}")))
    }

    /// Reads a rate as ns-3 writes it: bits or bytes per second, decimal or binary; without a unit
    /// bits per second.
    pub(super) fn rate(self) -> Result<Rate, ForeignError> {
        let expected = "a rate such as 100Gbps";
        let value = self.quantity(rate_unit).ok_or_else(|| self.unexpected(expected))?;
        Ok(Rate::from_bps(value))
    }

    /// Reads a delay as ns-3 writes it, within the range of a link. Zero is refused.
    pub(super) fn delay(self) -> Result<Span, ForeignError> {
        let expected = "a delay from 1ns to 1s, such as 0.001ms or 1000ns";
        let value = self.quantity(time_unit).ok_or_else(|| self.unexpected(expected))?;
        let delay = Span::from_ps(value);
        if (Span::from_ns(1)..=Span::from_secs(1)).contains(&delay) {
            return Ok(delay);
        }
        Err(self.unexpected(expected))
    }

    /// Reads a time in seconds and rounds it to the nearest picosecond: programs write more digits
    /// than that.
    pub(super) fn seconds(self, expected: &str) -> Result<Span, ForeignError> {
        let time = Span::from_ps(self.nearest(1_000_000_000_000, expected)?);
        if time > Span::from_secs(1_000) {
            return Err(self.unexpected(format!("{expected}, at most 1000 seconds")));
        }
        Ok(time)
    }

    /// Reads a time in seconds, to the nearest picosecond; the greatest time if it is later.
    pub(super) fn time(self, expected: &str) -> Result<Span, ForeignError> {
        let (number, rest) = decimal(self.text).ok_or_else(|| self.unexpected(expected))?;
        if !rest.is_empty() {
            return Err(self.unexpected(expected));
        }
        Ok(number.scaled(1_000_000_000_000).map_or(Span::MAX, |(ps, _)| Span::from_ps(ps)))
    }

    /// The size of a flow in bytes.
    pub(super) fn size(self) -> Result<Bytes, ForeignError> {
        let expected = "a size from 1 to 10^15 bytes";
        let size = self.exact(1, expected)?;
        if (1..=1_000_000_000_000_000).contains(&size) {
            return Ok(Bytes::new(size));
        }
        Err(self.unexpected(expected))
    }

    /// Reads the size of a flow in bytes; [`None`] if it is 0.
    pub(super) fn size_if_any(self) -> Result<Option<Bytes>, ForeignError> {
        let expected = "a size up to 10^15 bytes, or 0 for a connection without end";
        match self.exact(1, expected)? {
            0 => Ok(None),
            size @ 1..=1_000_000_000_000_000 => Ok(Some(Bytes::new(size))),
            _ => Err(self.unexpected(expected)),
        }
    }

    fn quantity(self, unit: fn(&str) -> Option<u64>) -> Option<u64> {
        let (number, rest) = decimal(self.text)?;
        number.scaled(unit(rest)?).filter(|&(_, exact)| exact).map(|(value, _)| value)
    }
}

fn time_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "" | "s" => 1_000_000_000_000,
        "ms" => 1_000_000_000,
        "us" => 1_000_000,
        "ns" => 1_000,
        "ps" => 1,
        _ => return None,
    })
}

fn rate_unit(unit: &str) -> Option<u64> {
    let unit = match unit {
        "" => return Some(1),
        unit => unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps"))?,
    };
    let (prefix, bits) = match (unit.strip_suffix('b'), unit.strip_suffix('B')) {
        (Some(prefix), _) => (prefix, 1),
        (_, Some(prefix)) => (prefix, 8),
        _ => return None,
    };
    let scale = match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    Some(scale * bits)
}

/// A decimal number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// The number at the start of `text`, and the rest of the text.
pub(super) fn decimal(text: &str) -> Option<(Decimal, &str)> {
    let (mut digits, mut exponent, mut point, mut any) = (0_u128, 0_i32, false, false);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        match c.to_digit(10) {
            Some(digit) => {
                digits = digits.checked_mul(10)?.checked_add(u128::from(digit))?;
                exponent -= i32::from(point);
                any = true;
            }
            None if c == '.' && !point => point = true,
            None => {
                end = at;
                break;
            }
        }
    }
    let mut rest = &text[end..];
    if let Some(power) = rest.strip_prefix(['e', 'E']) {
        let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
        let length = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        if length > 0 {
            let (power, after) = power.split_at(power.len() - unsigned.len() + length);
            exponent = exponent.checked_add(power.parse().ok()?)?;
            rest = after;
        }
    }
    any.then_some((Decimal { digits, exponent }, rest))
}

impl Decimal {
    /// This number times `unit`, rounded to the nearest whole number, and whether that is exact.
    fn scaled(self, unit: u64) -> Option<(u64, bool)> {
        let value = self.digits.checked_mul(u128::from(unit))?;
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        let (value, exact) = match (self.exponent < 0, power) {
            (_, _) if value == 0 => (0, true),
            (false, power) => (value.checked_mul(power?)?, true),
            (true, Some(power)) => {
                let (whole, rest) = (value / power, value % power);
                (whole + u128::from(rest >= power - rest), rest == 0)
            }
            (true, None) => (0, false),
        };
        Some((u64::try_from(value).ok()?, exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Word<'_> {
        Word { text, file: "f", line: 1, whole: text }
    }

    #[test]
    fn decimals_are_exact_where_floats_are_not() {
        // 0.001 ms are 10^-3 * 10^9 ps. With floats, 0.1 + 0.2 s would be off by 40 ps.
        assert_eq!(word("0.001ms").delay().unwrap(), Span::from_us(1));
        assert_eq!(word("1000ns").delay().unwrap(), Span::from_us(1));
        assert_eq!(word("2.000000000001").seconds("").unwrap(), Span::from_ps(2_000_000_000_001));
        assert_eq!(word("1.5e-6").seconds("").unwrap(), Span::from_ns(1_500));
        assert_eq!(word("2.").seconds("").unwrap(), Span::from_secs(2));
    }

    #[test]
    fn times_finer_than_a_picosecond_are_rounded_and_delays_refused() {
        assert_eq!(word("0.0000000000005").seconds("").unwrap(), Span::from_ps(1));
        assert_eq!(word("0.00000000000049").seconds("").unwrap(), Span::ZERO);
        assert_eq!(word("1e-400").seconds("").unwrap(), Span::ZERO);
        assert!(word("1000.0005ps").delay().is_err());
    }

    #[test]
    fn rates_take_the_units_of_ns_3() {
        for (text, bps) in [
            ("100Gbps", 100_000_000_000),
            ("50Mb/s", 50_000_000),
            ("2.5Gbps", 2_500_000_000),
            ("1GB/s", 8_000_000_000),
            ("1KiB/s", 8_192),
            ("25000000000", 25_000_000_000),
        ] {
            assert_eq!(word(text).rate().unwrap(), Rate::from_bps(bps), "{text}");
        }
        for text in ["fast", "-1Gbps", "1.2.3Gbps", "10Gs", "10us", "", "0.5bps", "1e99bps"] {
            assert!(word(text).rate().is_err(), "{text}");
        }
    }

    #[test]
    fn words_know_their_line_and_column() {
        let all: Vec<_> = lines("f", "\n µ  b\r\n\nc").collect();
        let places = all.iter().flat_map(|line| &line.words).map(|word| word.place().to_string());
        assert_eq!(places.collect::<Vec<_>>(), ["f:2:2", "f:2:5", "f:4:1"]);
        assert_eq!(all[0].words[1].refused("no").to_string(), "f:2:5: no");
    }
}
