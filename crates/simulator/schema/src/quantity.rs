//! Quantities of a scenario: text with a unit, within the limits of what can be simulated.
//!
//! Each type names the limits of a field: `#[serde(with = "quantity::Time")]`. The field has the
//! plain value. Its schema follows from the type, and an error has the place of the value.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use incast_cc::{self as cc, Bytes, FASTEST_LINE, Fraction, SLOWEST_LINE, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};

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

/// Writes a number without a unit, as the default in a schema.
fn number<T: Serialize, S: Serializer>(value: &T, output: S) -> Result<S::Ok, S::Error> {
    value.serialize(output)
}

/// Writes nothing, so a schema shows no default: the text of the field says it.
fn unwritten<T, S: Serializer>(_: &T, _: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom("a quantity with a unit is read, never written"))
}

/// A type for `#[serde(with)]` on fields of type `$type`, with the schema of `$form`.
macro_rules! field {
    ($(#[$meta:meta])* $name:ident: $type:ty as $form:ty, $write:ident, $read:expr) => {
        $(#[$meta])*
        pub struct $name;

        impl $name {
            /// Reads a field.
            ///
            /// # Errors
            /// The value is not such a quantity, or is out of range.
            pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<$type, D::Error> {
                $read(input)
            }

            /// Writes the default of a field into its schema.
            ///
            /// # Errors
            /// The quantity has a unit.
            pub fn serialize<S: Serializer>(value: &$type, output: S) -> Result<S::Ok, S::Error> {
                $write(value, output)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                <$form>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$form>::json_schema(generator)
            }
        }
    };
}

macro_rules! quantities {
    ($($(#[$meta:meta])* $name:ident, $optional:ident: $type:ty as $form:ty, $write:ident = $low:expr, $high:expr, $expected:literal;)*) => {$(
        field! {
            $(#[$meta])*
            $name: $type as $form, $write, |input: D| {
                let bounds = Bounds { expected: $expected, low: $low, high: $high };
                input.deserialize_any(Quantity { bounds, marker: PhantomData })
            }
        }

        field! {
            /// An optional field with such a quantity.
            $optional: Option<$type> as Option<$form>, $write, |input| $name::deserialize(input).map(Some)
        }
    )*};
}

quantities! {
    /// The rate of a link, within the range that the algorithms are made for.
    Rate, OptionalRate: cc::Rate as String, unwritten = SLOWEST_LINE, FASTEST_LINE, "a rate such as \"10Gbps\"";
    /// The rate at which a host takes packets in, which may be zero.
    Intake, OptionalIntake: cc::Rate as String, unwritten = cc::Rate::ZERO, FASTEST_LINE, "a rate such as \"10Gbps\"";
    /// A propagation delay. Zero is refused: nodes affect each other only after a delay.
    Delay, OptionalDelay: Span as String, unwritten = Span::from_ns(1), Span::from_secs(1), "a delay such as \"5us\"";
    /// A time that may be zero.
    Time, OptionalTime: Span as String, unwritten = Span::ZERO, Span::from_secs(1_000), "a time such as \"5us\"";
    /// A time above zero.
    Duration, OptionalDuration: Span as String, unwritten = Span::from_us(1), Span::from_secs(1_000), "a time such as \"20ms\"";
    /// An amount of data.
    Size, OptionalSize: Bytes as String, unwritten = Bytes::new(1), Bytes::from_kb(1_000_000_000), "a size such as \"64KB\"";
    /// The size of a packet.
    Packet, OptionalPacket: Bytes as String, unwritten = Bytes::new(64), Bytes::new(9_216), "a packet size such as \"1500B\"";
    /// The size of headers, which may be zero.
    Header, OptionalHeader: Bytes as String, unwritten = Bytes::ZERO, Bytes::new(256), "a header size such as \"40B\"";
    /// The rate of a switch's links down over the rate of its links up.
    Oversubscription, OptionalOversubscription: Fraction as f64, unwritten = Fraction::from_ratio(1, 64), Fraction::from_ratio(1_024, 1), "a number such as 2.5";
    /// The factor of a dynamic threshold.
    Alpha, OptionalAlpha: Fraction as f64, unwritten = Fraction::from_ratio(1, 1_024), Fraction::from_ratio(64, 1), "a number such as 0.125";
    /// A probability, or a weight.
    Probability, OptionalProbability: f64 as f64, number = 0.0, 1.0, "a number from 0 to 1";
    /// A fraction of a whole.
    Share, OptionalShare: f64 as f64, number = 0.01, 1.0, "a number from 0.01 to 1";
    /// The gain of a controller.
    Gain, OptionalGain: f64 as f64, number = 0.0, 1e9, "a number such as 1.25";
}

field! {
    /// A list of amounts of data, ascending.
    Sizes: Vec<Bytes> as Vec<String>, unwritten, ascending
}

fn ascending<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Bytes>, D::Error> {
    #[derive(serde::Deserialize)]
    struct Each(#[serde(with = "Size")] Bytes);
    let sizes: Vec<_> = Vec::deserialize(input)?.into_iter().map(|Each(size)| size).collect();
    if let Some((low, high)) =
        sizes.iter().zip(sizes.iter().skip(1)).find(|(low, high)| low >= high)
    {
        let message = format!("{low} comes before {high}; expected ascending sizes");
        return Err(D::Error::custom(message));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
    #[serde(default)]
    struct Settings {
        #[serde(with = "Time")]
        wait: Span,
        #[serde(with = "OptionalSize")]
        most: Option<Bytes>,
        #[serde(with = "Gain")]
        gain: f64,
    }

    impl Default for Settings {
        fn default() -> Self {
            Self { wait: Span::from_us(5), most: None, gain: 0.5 }
        }
    }

    #[test]
    fn fields_have_plain_values_and_schemas_show_defaults_of_numbers_alone() {
        let read = toml::from_str("wait = \"1ms\"\nmost = \"64KB\"\ngain = 2").ok();
        let expected =
            Settings { wait: Span::from_ms(1), most: Some(Bytes::from_kb(64)), gain: 2.0 };
        assert_eq!(read, Some(expected));
        let schema = schemars::schema_for!(Settings).to_value();
        let expected = schemars::json_schema!({
            "wait": { "type": "string" },
            "most": { "type": ["string", "null"] },
            "gain": { "type": "number", "format": "double", "default": 0.5 },
        });
        assert_eq!(schema["properties"], *expected.as_value());
    }
}
