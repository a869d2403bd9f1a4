//! The sections `[cc.NAME]` of a scenario.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use incast_cc::Span;
use incast_schema::{DATE_FIELD, suggestion};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::transport::{SignalKind, Stack, TransportKind};

/// A section `[cc.NAME]`: the settings of a scheme that its name does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The algorithm, where the section has another name.
    pub algorithm: Option<String>,
    /// The published set of values.
    pub preset: Option<String>,
    /// The transport, in place of `transport.kind`.
    pub transport: Option<TransportKind>,
    /// The RTT that the algorithm gets, in place of `signal.kind`.
    pub signal: Option<SignalKind>,
    /// The largest noise, in place of `signal.noise`.
    pub noise: Option<Span>,
    /// The length of a clock tick, in place of `signal.tick`.
    pub tick: Option<Span>,
    /// The stack, in place of `signal.stack`.
    pub stack: Option<Stack>,
    /// The parameters of the algorithm, as the command line writes them.
    pub parameters: BTreeMap<String, String>,
}

/// The fields of a section that are not parameters of the algorithm.
pub(crate) const RESERVED: [&str; 7] =
    ["algorithm", "preset", "transport", "signal", "noise", "tick", "stack"];

/// A field that cannot be read.
#[derive(Debug, thiserror::Error)]
enum FieldError {
    #[error("unknown {what} {text:?}{remedy}")]
    Name { what: &'static str, text: String, remedy: String },
    #[error("{what} = {text:?} {error}")]
    Time { what: &'static str, text: String, error: <Span as FromStr>::Err },
    #[error("{0} is a date or a time; expected a table")]
    Date(String),
}

impl<'de> Deserialize<'de> for Section {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Section;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Section, A::Error> {
        let mut section = Section::default();
        while let Some(key) = map.next_key::<String>()? {
            let text = Read(Ok);
            match key.as_str() {
                "algorithm" => section.algorithm = Some(map.next_value_seed(text)?),
                "preset" => section.preset = Some(map.next_value_seed(text)?),
                "transport" => {
                    let known = TransportKind::ALL.map(|kind| (kind.as_str(), kind));
                    let read = Read(|text| one_of("transport", text, &known));
                    section.transport = Some(map.next_value_seed(read)?);
                }
                "signal" => {
                    let read = Read(|text| one_of("signal", text, &SignalKind::NAMES));
                    section.signal = Some(map.next_value_seed(read)?);
                }
                "noise" => {
                    section.noise = Some(map.next_value_seed(Read(|text| time("noise", text)))?);
                }
                "tick" => {
                    section.tick = Some(map.next_value_seed(Read(|text| time("tick", text)))?);
                }
                "stack" => {
                    let read = Read(|text| one_of("stack", text, &Stack::NAMES));
                    section.stack = Some(map.next_value_seed(read)?);
                }
                DATE_FIELD => {
                    let date = map.next_value_seed(text)?;
                    return Err(A::Error::custom(FieldError::Date(date)));
                }
                _ => {
                    section.parameters.insert(key, map.next_value_seed(text)?);
                }
            }
        }
        Ok(section)
    }
}

/// A value that is read from its text, so that an error has the value's place.
struct Read<F>(F);

impl<'de, T, F: FnOnce(String) -> Result<T, FieldError>> DeserializeSeed<'de> for Read<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<T, D::Error> {
        let text = match toml::Value::deserialize(input)? {
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        (self.0)(text).map_err(D::Error::custom)
    }
}

/// The value of a name.
fn one_of<T: Copy>(
    what: &'static str,
    text: String,
    known: &[(&'static str, T)],
) -> Result<T, FieldError> {
    let found = known.iter().find(|(name, _)| *name == text).map(|&(_, value)| value);
    found.ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|&(name, _)| name).collect();
        let remedy = suggestion(&text, &names);
        FieldError::Name { what, text, remedy }
    })
}

fn time(what: &'static str, text: String) -> Result<Span, FieldError> {
    text.parse().map_err(|error| FieldError::Time { what, text, error })
}

#[cfg(test)]
mod tests {
    use incast_schema::Fault;

    use super::*;

    fn read(text: &str) -> Result<Section, String> {
        toml::from_str(text).map_err(|error| Fault::of(&error, text).locate("f", text).to_string())
    }

    #[test]
    fn settings_of_a_scheme_are_apart_from_parameters_of_its_algorithm() {
        let text = "transport = \"stream\"\nsignal = \"rtt+noise\"\nnoise = \"5us\"\nbeta = 0.5";
        let section = Section {
            transport: Some(TransportKind::Stream),
            signal: Some(SignalKind::Noise),
            noise: Some(Span::from_us(5)),
            parameters: BTreeMap::from([("beta".into(), "0.5".into())]),
            ..Section::default()
        };
        assert_eq!(read(text), Ok(section));
    }

    #[test]
    fn a_setting_that_cannot_be_read_is_told_with_its_place() {
        for (line, says) in [
            ("transport = \"strem\"", "f:2:13: unknown transport \"strem\"; did you mean"),
            ("signal = 5", "f:2:10: unknown signal \"5\"; expected one of rtt, rtt+noise"),
            ("stack = \"linx\"", "f:2:9: unknown stack \"linx\"; did you mean \"linux\"?"),
            ("noise = 5", "f:2:9: noise = \"5\" has no unit; expected a time such as \"5us\""),
            ("tick = \"-1us\"", "f:2:8: tick = \"-1us\" is negative; expected a time"),
        ] {
            let error = read(&format!("beta = 0.5\n{line}\n")).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
