//! Quantities of a scenario: text with a unit, within the limits of what can be simulated.
//!
//! Each function goes into `#[serde(deserialize_with)]`, so an error has the place of the value.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use incast_cc::{Bytes, FASTEST_LINE, Fraction, Rate, SLOWEST_LINE, Span};
use serde::de::{Deserializer, Error, Visitor};

/// The limits and the format of a quantity.
struct Bounds<T> {
    expected: &'static str,
    low: T,
    high: T,
}

struct Quantity<T> {
    bounds: Bounds<T>,
    marker: PhantomData<T>,
}

impl<T> Visitor<'_> for Quantity<T>
where
    T: FromStr + PartialOrd + fmt::Display,
    T::Err: fmt::Display,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.bounds.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let Bounds { expected, low, high } = &self.bounds;
        let value: T = text.parse().map_err(|error: T::Err| {
            let mut error = error.to_string();
            if error == "invalid float literal" {
                error = "is not a number".into();
            }
            if error.contains("expected") {
                return E::custom(format!("{text:?} {error}"));
            }
            E::custom(format!("{text:?} {error}; expected {expected}"))
        })?;
        if !(low..=high).contains(&&value) {
            return Err(E::custom(format!("{text:?} is out of range; expected {low} to {high}")));
        }
        Ok(value)
    }

    // Numbers without a unit are right where the quantity has none.
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! quantities {
    ($($(#[$meta:meta])* $name:ident, $optional:ident: $type:ty = $low:expr, $high:expr, $expected:literal;)*) => {$(
        $(#[$meta])*
        ///
        /// # Errors
        /// The value is not such a quantity, or is out of range.
        pub fn $name<'de, D: Deserializer<'de>>(input: D) -> Result<$type, D::Error> {
            let bounds = Bounds { expected: $expected, low: $low, high: $high };
            input.deserialize_any(Quantity { bounds, marker: PhantomData })
        }

        /// An optional field with such a quantity.
        ///
        /// # Errors
        /// The value is not such a quantity, or is out of range.
        pub fn $optional<'de, D: Deserializer<'de>>(input: D) -> Result<Option<$type>, D::Error> {
            $name(input).map(Some)
        }
    )*};
}

quantities! {
    /// The rate of a link, within the range that the algorithms are made for.
    rate, optional_rate: Rate = SLOWEST_LINE, FASTEST_LINE, "a rate such as \"10Gbps\"";
    /// The rate at which a host takes packets in, which may be zero.
    intake, optional_intake: Rate = Rate::ZERO, FASTEST_LINE, "a rate such as \"10Gbps\"";
    /// A propagation delay. Zero is refused: nodes affect each other only after a delay.
    delay, optional_delay: Span = Span::from_ns(1), Span::from_secs(1), "a delay such as \"5us\"";
    /// A time that may be zero.
    time, optional_time: Span = Span::ZERO, Span::from_secs(1_000), "a time such as \"5us\"";
    /// A time above zero.
    duration, optional_duration: Span = Span::from_us(1), Span::from_secs(1_000), "a time such as \"20ms\"";
    /// An amount of data.
    size, optional_size: Bytes = Bytes::new(1), Bytes::from_kb(1_000_000_000), "a size such as \"64KB\"";
    /// The size of a packet.
    packet, optional_packet: Bytes = Bytes::new(64), Bytes::new(9_216), "a packet size such as \"1500B\"";
    /// The size of headers, which may be zero.
    header, optional_header: Bytes = Bytes::ZERO, Bytes::new(256), "a header size such as \"40B\"";
    /// The rate of a switch's links down over the rate of its links up.
    oversubscription, optional_oversubscription: Fraction = Fraction::from_ratio(1, 64), Fraction::from_ratio(1_024, 1), "a number such as 2.5";
    /// The factor of a dynamic threshold.
    alpha, optional_alpha: Fraction = Fraction::from_ratio(1, 1_024), Fraction::from_ratio(64, 1), "a number such as 0.125";
    /// A probability, or a weight.
    probability, optional_probability: f64 = 0.0, 1.0, "a number from 0 to 1";
    /// A fraction of a whole.
    share, optional_share: f64 = 0.01, 1.0, "a number from 0.01 to 1";
    /// The gain of a controller.
    gain, optional_gain: f64 = 0.0, 1e9, "a number such as 1.25";
}

/// A list of amounts of data, ascending.
///
/// # Errors
/// A value is not an amount of data, or not above the one before it.
pub fn sizes<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Bytes>, D::Error> {
    #[derive(serde::Deserialize)]
    struct Size(#[serde(deserialize_with = "size")] Bytes);
    let sizes: Vec<Size> = serde::Deserialize::deserialize(input)?;
    let sizes: Vec<_> = sizes.into_iter().map(|Size(size)| size).collect();
    if let Some((low, high)) =
        sizes.iter().zip(sizes.iter().skip(1)).find(|(low, high)| low >= high)
    {
        let message = format!("{low} comes before {high}; expected ascending sizes");
        return Err(D::Error::custom(message));
    }
    Ok(sizes)
}
