//! The settings for sizes of flows.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use incast_cc::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::input::Files;
use crate::workload::{
    Exponential, Interpolation, Pareto, SizeTable, Sizes, SizesError, Uniform, Unit, named, tables,
};
use incast_schema::{Fault, quantity, suggestion};

/// The payload of a packet in published scripts.
const PAYLOAD: Bytes = Bytes::new(1_460);

/// The sizes of flows: the name of a shipped table, or a table with one of the fields `table`,
/// `file`, `fixed`, `uniform`, `exponential` and `pareto`.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSizes {
    /// A table in a file, which has not been read yet.
    File {
        /// The path as the scenario writes it.
        path: String,
        /// The unit of sizes in the file.
        unit: Unit,
        /// The sizes between two points of the table.
        interpolation: Interpolation,
    },
    /// A complete distribution.
    Known(Sizes),
}

impl FlowSizes {
    /// Replaces the name of a file with its distribution, for sizes in a field.
    pub(crate) fn fill(&mut self, files: &mut Files, field: &str) -> Result<(), Fault> {
        let Self::File { path, unit, interpolation } = self else { return Ok(()) };
        let table = files
            .read(path)
            .and_then(|text| Ok(SizeTable::parse(&text, path, *unit, *interpolation)?));
        let table = table.map_err(|error| Fault::at([&field], error.to_string()))?;
        *self = Self::Known(Sizes::Table(table.into()));
        Ok(())
    }

    /// The distribution of a scenario whose files have been read.
    pub fn known(&self) -> &Sizes {
        match self {
            Self::Known(sizes) => sizes,
            Self::File { path, .. } => unreachable!("{path} was read with the scenario"),
        }
    }
}

impl<'de> Deserialize<'de> for FlowSizes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(SizesVisitor)
    }
}

struct SizesVisitor;

impl<'de> Visitor<'de> for SizesVisitor {
    type Value = FlowSizes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table's name such as \"web-search\", or sizes such as { fixed = \"64KB\" }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<FlowSizes, E> {
        Name::find(name).map(|Name(table)| FlowSizes::Known(Sizes::Table(table))).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FlowSizes, A::Error> {
        let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
        fields.into_sizes().map_err(A::Error::custom)
    }
}

/// Fields that are no sizes.
#[derive(Debug, thiserror::Error)]
enum FieldsError {
    #[error("no table is called {name:?}{remedy}")]
    Unknown { name: String, remedy: String },
    #[error("sizes from nowhere; expected one of {0}")]
    Nowhere(String),
    #[error("{0} at once; expected one of them")]
    Several(String),
    #[error("{0} belongs to a file; expected it beside file = \"...\" only")]
    OfFile(&'static str),
    #[error("interpolation belongs to a table or a file; expected it there only")]
    Interpolation,
    #[error("payload without packets; expected unit = \"packets\" with it")]
    Payload,
    #[error("{0} sizes; expected the smallest and the largest")]
    Ends(usize),
    #[error(transparent)]
    Law(#[from] SizesError),
}

/// The fields of all kinds, so that an error is about one of them and not about the kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    table: Option<Name>,
    file: Option<String>,
    unit: Option<UnitName>,
    #[serde(default, with = "quantity::OptionalPacket")]
    payload: Option<Bytes>,
    interpolation: Option<Interpolation>,
    #[serde(default, with = "quantity::OptionalSize")]
    fixed: Option<Bytes>,
    uniform: Option<Vec<Size>>,
    #[serde(default, with = "quantity::OptionalSize")]
    exponential: Option<Bytes>,
    pareto: Option<ParetoFields>,
}

impl Fields {
    fn into_sizes(self) -> Result<FlowSizes, FieldsError> {
        let kinds = [
            ("table", self.table.is_some()),
            ("file", self.file.is_some()),
            ("fixed", self.fixed.is_some()),
            ("uniform", self.uniform.is_some()),
            ("exponential", self.exponential.is_some()),
            ("pareto", self.pareto.is_some()),
        ];
        let given: Vec<_> =
            kinds.iter().filter(|(_, given)| *given).map(|(kind, _)| *kind).collect();
        let all = kinds.map(|(kind, _)| kind).join(", ");
        match given[..] {
            [_] => {}
            [] => return Err(FieldsError::Nowhere(all)),
            _ => return Err(FieldsError::Several(given.join(" and "))),
        }
        let in_file = [("unit", self.unit.is_some()), ("payload", self.payload.is_some())];
        if let (Some((field, _)), None) = (in_file.iter().find(|(_, given)| *given), &self.file) {
            return Err(FieldsError::OfFile(field));
        }
        if self.interpolation.is_some() && self.table.is_none() && self.file.is_none() {
            return Err(FieldsError::Interpolation);
        }
        if let Some(path) = self.file {
            let unit = match (self.unit.unwrap_or(UnitName::Bytes), self.payload) {
                (UnitName::Bytes, None) => Unit::Bytes,
                (UnitName::Bytes, Some(_)) => return Err(FieldsError::Payload),
                (UnitName::Packets, payload) => Unit::Packets(payload.unwrap_or(PAYLOAD)),
            };
            let interpolation = self.interpolation.unwrap_or_default();
            return Ok(FlowSizes::File { path, unit, interpolation });
        }
        let sizes = if let Some(Name(table)) = self.table {
            Sizes::Table(match self.interpolation {
                None => table,
                Some(by) => Arc::unwrap_or_clone(table).with_interpolation(by).into(),
            })
        } else if let Some(size) = self.fixed {
            Sizes::Fixed(size)
        } else if let Some(ends) = self.uniform {
            let [Size(low), Size(high)] = ends[..] else {
                return Err(FieldsError::Ends(ends.len()));
            };
            Sizes::Uniform(Uniform::new(low, high)?)
        } else if let Some(mean) = self.exponential {
            Sizes::Exponential(Exponential::new(mean))
        } else if let Some(ParetoFields { mean, shape, max }) = self.pareto {
            Sizes::Pareto(Pareto::new(mean, shape, max)?)
        } else {
            unreachable!("one kind was given")
        };
        Ok(FlowSizes::Known(sizes))
    }
}

/// A shipped table, found by name.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Name(Arc<SizeTable>);

impl Name {
    fn find(name: &str) -> Result<Self, FieldsError> {
        if let Some(shipped) = named(name) {
            return Ok(Self(shipped.table.clone()));
        }
        let remedy = if name.parse::<Bytes>().is_ok() {
            format!("; one size is written {{ fixed = {name:?} }}")
        } else if name.contains(['.', '/', '\\']) {
            format!("; a file is written {{ file = {name:?} }}")
        } else {
            suggestion(name, &tables().iter().map(|shipped| shipped.name).collect::<Vec<_>>())
        };
        Err(FieldsError::Unknown { name: name.to_owned(), remedy })
    }
}

impl TryFrom<String> for Name {
    type Error = FieldsError;

    fn try_from(name: String) -> Result<Self, FieldsError> {
        Self::find(&name)
    }
}

#[derive(Deserialize)]
struct Size(#[serde(with = "quantity::Size")] Bytes);

/// The unit of sizes in a file.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum UnitName {
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
}

/// The parameters of Pareto's distribution.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ParetoFields {
    /// The mean, before the tail is cut off.
    #[serde(with = "quantity::Size")]
    mean: Bytes,
    /// The shape, above 1. The closer to 1, the heavier the tail.
    shape: f64,
    /// The size at which the tail is cut off; not cut off if absent.
    #[serde(default, with = "quantity::OptionalSize")]
    max: Option<Bytes>,
}

impl JsonSchema for FlowSizes {
    fn schema_name() -> Cow<'static, str> {
        "FlowSizes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Forms::json_schema(generator)
    }
}

/// The kinds of sizes that [`FlowSizes`] reads, for editors.
#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[allow(dead_code, reason = "for its schema only")]
enum Forms {
    /// A shipped table.
    Name(#[schemars(schema_with = "table_names")] String),
    /// A shipped table with another interpolation.
    Table {
        /// The name of the table.
        #[schemars(schema_with = "table_names")]
        table: String,
        /// The sizes between two points of the table; as in its source if absent.
        interpolation: Option<Interpolation>,
    },
    /// A table in a file: lines with a size and a cumulative probability.
    File {
        /// The path of the file, relative to the scenario.
        file: String,
        /// The unit of sizes in the file; "bytes" by default.
        unit: Option<UnitName>,
        /// The payload of a packet, if sizes are counted in packets; 1460B by default.
        payload: Option<String>,
        /// The sizes between two points of the table; "linear" by default.
        interpolation: Option<Interpolation>,
    },
    /// A fixed size.
    Fixed {
        /// The size.
        fixed: String,
    },
    /// All sizes of a range, equally likely.
    Uniform {
        /// The smallest and the largest.
        uniform: [String; 2],
    },
    /// Exponentially distributed sizes.
    Exponential {
        /// The mean.
        exponential: String,
    },
    /// Many small sizes and a few very large ones.
    Pareto {
        /// The parameters.
        pareto: ParetoFields,
    },
}

fn table_names(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = tables().iter().map(|shipped| shipped.name).collect();
    schemars::json_schema!({ "type": "string", "enum": names })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::foreign::Formats;

    #[derive(Debug, Deserialize)]
    struct Traffic {
        sizes: FlowSizes,
    }

    fn read(sizes: &str) -> Result<FlowSizes, String> {
        let text = format!("sizes = {sizes}");
        match toml::from_str::<Traffic>(&text) {
            Ok(traffic) => Ok(traffic.sizes),
            Err(error) => Err(Fault::of(&error, &text).locate("f", &text).to_string()),
        }
    }

    fn known(sizes: &str) -> Sizes {
        match read(sizes) {
            Ok(FlowSizes::Known(sizes)) => sizes,
            other => panic!("{sizes}: {other:?}"),
        }
    }

    /// Files of which one is called `mine.cdf`.
    fn mine(text: &str) -> Files {
        let texts = BTreeMap::from([("mine.cdf".to_owned(), text.to_owned())]);
        Files::of("f", Formats::NONE, texts)
    }

    #[test]
    fn each_way_to_write_sizes_is_read() {
        let web_search = named("web-search").unwrap();
        assert_eq!(known("\"web-search\""), Sizes::Table(web_search.table.clone()));
        assert_eq!(known("{ table = \"web-search\" }"), Sizes::Table(web_search.table.clone()));
        let step = known("{ table = \"web-search\", interpolation = \"step\" }");
        assert_eq!(step.mean(), web_search.mean_step);
        assert_eq!(known("{ fixed = \"64KB\" }"), Sizes::Fixed(Bytes::from_kb(64)));
        assert_eq!(known("{ uniform = [\"1KB\", \"64KB\"] }").mean(), 32_500.0);
        assert_eq!(known("{ exponential = \"100KB\" }").mean(), 100_000.0);
        // The smallest size is 50 kB; (1 - 1/4) / (1 - 1/16) = 0.8 of the mean is left.
        let pareto = known("{ pareto = { mean = \"100KB\", shape = 2, max = \"200KB\" } }");
        assert!((pareto.mean() - 80_000.0).abs() < 1e-6);
        let whole = known("{ pareto = { mean = \"100KB\", shape = 1.2 } }");
        assert!((whole.mean() - 100_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_file_is_read_when_it_is_loaded() {
        let bytes = read("{ file = \"mine.cdf\", interpolation = \"step\" }").unwrap();
        let packets = read("{ file = \"mine.cdf\", unit = \"packets\" }").unwrap();
        let jumbo =
            read("{ file = \"mine.cdf\", unit = \"packets\", payload = \"8960B\" }").unwrap();
        let mean = |mut sizes: FlowSizes| {
            sizes.fill(&mut mine("0 0\n10 100\n"), "sizes").unwrap();
            sizes.known().mean()
        };
        assert_eq!([bytes, packets, jumbo].map(mean), [10.0, 5.0 * 1_460.0, 5.0 * 8_960.0]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_when_it_is_read() {
        let mut sizes = read("{ file = \"a/mine.cdf\" }").unwrap();
        let mut error = |mut files| sizes.fill(&mut files, "sizes").unwrap_err().into_message();
        assert_eq!(
            error(mine("0 0\n10 x\n")),
            "a/mine.cdf:2: \"x\" is not a number; expected one such as 0.25"
        );
        let none = error(Files::of("f", Formats::NONE, BTreeMap::new()));
        assert!(none.starts_with("cannot read a/mine.cdf: "), "{none}");
    }

    #[test]
    fn bad_sizes_are_told_with_place_and_remedy() {
        for (sizes, says) in [
            (
                "\"web-serch\"",
                "f:1:9: no table is called \"web-serch\"; did you mean \"web-search\"?",
            ),
            ("\"zzz\"", "expected one of web-search, web-search-pias"),
            ("\"mine.cdf\"", "a file is written { file = \"mine.cdf\" }"),
            ("\"64KB\"", "one size is written { fixed = \"64KB\" }"),
            ("64", "expected a table's name such as \"web-search\", or sizes such as"),
            (
                "{ table = \"homa-w6\" }",
                "f:1:19: no table is called \"homa-w6\"; did you mean \"homa-w",
            ),
            ("{ tabel = \"homa-w5\" }", "unknown field \"tabel\"; did you mean \"table\"?"),
            ("{ table = \"solar\", interpolation = \"steps\" }", "did you mean \"step\"?"),
            ("{}", "f:1:9: sizes from nowhere; expected one of table, file, fixed"),
            ("{ fixed = \"1KB\", table = \"solar\" }", "table and fixed at once"),
            ("{ fixed = \"0B\" }", "\"0B\" is out of range"),
            ("{ fixed = 64 }", "has no unit"),
            ("{ table = \"solar\", unit = \"bytes\" }", "unit belongs to a file"),
            ("{ fixed = \"1KB\", payload = \"1000B\" }", "payload belongs to a file"),
            (
                "{ fixed = \"1KB\", interpolation = \"step\" }",
                "interpolation belongs to a table or a file",
            ),
            ("{ file = \"f\", payload = \"1000B\" }", "payload without packets"),
            ("{ file = \"f\", unit = \"packet\" }", "did you mean \"packets\"?"),
            ("{ uniform = [\"1KB\"] }", "1 sizes; expected the smallest and the largest"),
            ("{ uniform = [\"2KB\", \"1KB\"] }", "from 2KB to 1KB there is no size"),
            ("{ pareto = { mean = \"1KB\", shape = 1 } }", "the shape 1 is out of range"),
            ("{ pareto = { mean = \"1KB\", shape = nan } }", "the shape NaN is out of range"),
            (
                "{ pareto = { mean = \"1KB\", shape = 2, max = \"1KB\" } }",
                "the largest size 1KB is not above",
            ),
            ("{ pareto = { shape = 2 } }", "missing field `mean`"),
        ] {
            let error = read(sizes).unwrap_err();
            assert!(error.contains(says), "{sizes}: {error}");
        }
    }

    #[test]
    fn the_schema_offers_every_table_and_every_kind() {
        let schema = schemars::schema_for!(FlowSizes).to_value();
        let forms = schema["anyOf"].as_array().unwrap();
        let names: Vec<_> = tables().iter().map(|shipped| shipped.name).collect();
        assert_eq!(forms[0]["enum"], serde_json::json!(names));
        assert_eq!(forms[1]["properties"]["table"]["enum"], serde_json::json!(names));
        let kinds: Vec<_> = forms[1..].iter().map(|form| form["required"][0].clone()).collect();
        let all = ["table", "file", "fixed", "uniform", "exponential", "pareto"];
        assert_eq!(serde_json::json!(kinds), serde_json::json!(all));
        for form in &forms[1..] {
            assert_eq!(form["additionalProperties"], false, "{form}");
        }
    }
}
