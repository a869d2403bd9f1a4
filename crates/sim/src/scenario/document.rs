//! From text to a scenario, and to a scenario with assignments.

use std::path::Path;

use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use serde_json::{Value, json};

use super::error::Fault;
use super::{Scenario, ScenarioError, SignalKind, TransportKind, aqm, check};

/// A scenario and the text that it was read from.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    file: String,
    text: String,
    scenario: Scenario,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|error| ScenarioError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Self::parse(text, &path.display().to_string())
    }

    /// Reads a text; `file` names it in errors.
    ///
    /// # Errors
    /// Something in it is wrong.
    pub fn parse(text: String, file: &str) -> Result<Self, ScenarioError> {
        let scenario = read(&text).map_err(|fault| fault.locate(file, &text))?;
        let name = Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy());
        Ok(Self { name: name.into_owned(), file: file.to_owned(), text, scenario })
    }

    /// The same with values changed: "transport.segment=16KB", "traffic.0.connections=8". They are
    /// judged together, so their order does not matter.
    ///
    /// # Errors
    /// An assignment has no "=", or the scenario with them is wrong.
    pub fn with_set<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Self, ScenarioError> {
        let all = assignments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" --set ");
        let fail = |assignment: &str, message: String| ScenarioError::Assignment {
            assignment: assignment.to_owned(),
            message,
        };
        let mut table: toml::Table = self
            .text
            .parse()
            .map_err(|error: toml::de::Error| fail(&all, error.message().into()))?;
        for assignment in assignments.iter().map(AsRef::as_ref) {
            let (path, value) = assignment.split_once('=').ok_or_else(|| {
                fail(assignment, "expected KEY=VALUE, such as run.duration=50ms".into())
            })?;
            let keys: Vec<_> = path.trim().split('.').collect();
            assign(&mut table, &keys, parse_value(value.trim()))
                .map_err(|message| fail(assignment, message))?;
        }
        let text = toml::to_string(&table).map_err(|error| fail(&all, error.to_string()))?;
        let scenario = read(&text).map_err(|fault| fail(&all, fault.into_message()))?;
        let (name, file) = (self.name.clone(), self.file.clone());
        Ok(Self { name, file, text, scenario })
    }

    /// The file's name without folder and ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, assignments included: enough to run it again.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The scenario.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

fn read(text: &str) -> Result<Scenario, Fault> {
    check::network::kinds(text)?;
    aqm::fields(text)?;
    let scenario: Scenario = toml::from_str(text)?;
    check::check(&scenario)?;
    Ok(scenario)
}

/// A TOML value where it is one, else a text: quantities need no quotes on the command line.
fn parse_value(text: &str) -> toml::Value {
    let whole = format!("value = {text}").parse::<toml::Table>();
    whole
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

fn assign(table: &mut toml::Table, keys: &[&str], value: toml::Value) -> Result<(), String> {
    let (key, rest) = match keys {
        [] | [""] => return Err("expected KEY=VALUE, such as run.duration=50ms".into()),
        [key, rest @ ..] => (*key, rest),
    };
    if rest.is_empty() {
        table.insert(key.to_owned(), value);
        return Ok(());
    }
    let entry = table.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    match entry {
        toml::Value::Table(inner) => assign(inner, rest, value),
        toml::Value::Array(array) => {
            let length = array.len();
            let element = rest[0].parse().ok().and_then(|index: usize| array.get_mut(index));
            match element {
                Some(toml::Value::Table(inner)) if rest.len() > 1 => {
                    assign(inner, &rest[1..], value)
                }
                Some(element) if rest.len() == 1 => {
                    *element = value;
                    Ok(())
                }
                _ => Err(format!(
                    "{key} is a list; expected {key}.N with N from 0 to {}",
                    length.saturating_sub(1)
                )),
            }
        }
        _ => Err(format!("{key} is a value and has nothing called {:?}", rest[0])),
    }
}

/// The JSON Schema of a scenario, from which editors complete.
pub fn json_schema() -> String {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    schema["properties"]["cc"]["properties"] = NAMES
        .iter()
        .filter_map(|name| {
            Some((String::from(*name), algorithm_schema(AnyAlgorithm::named(name)?)))
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// The section of one algorithm: the registry knows its parameters.
fn algorithm_schema(algorithm: AnyAlgorithm) -> Value {
    let presets: Vec<_> = algorithm.presets().iter().map(|preset| preset.name).collect();
    let mut properties = serde_json::Map::new();
    let preset = json!({ "enum": presets, "description": "A published set of values." });
    properties.insert("preset".into(), preset);
    let words = |names: Vec<&str>, what| json!({ "enum": names, "description": what });
    let transports = TransportKind::NAMES.map(|(name, _)| name).to_vec();
    let signals = SignalKind::NAMES.map(|(name, _)| name).to_vec();
    properties.insert("transport".into(), words(transports, "If not transport.kind."));
    properties.insert("signal".into(), words(signals, "If not signal.kind."));
    let noise = json!({ "type": "string", "description": "If not signal.noise." });
    properties.insert("noise".into(), noise);
    for param in algorithm.params() {
        let mut default = String::new();
        // Writing to a string does not fail, and the name is the algorithm's own.
        let _ = algorithm.write(param.name, &mut default);
        let property = json!({
            "description": format!("{} ({})", param.doc.trim(), param.source),
            "type": ["string", "number", "integer"],
            "default": default,
        });
        properties.insert(param.name.into(), property);
    }
    json!({
        "type": "object",
        "description": algorithm.info().summary,
        "properties": properties,
        "additionalProperties": false,
    })
}
