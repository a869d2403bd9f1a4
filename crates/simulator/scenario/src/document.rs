//! Documents: scenarios that are read from a text, with or without assignments.

use std::collections::BTreeMap;
use std::path::Path;

use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use serde_json::{Value, json};

use super::{
    Scenario, ScenarioError, SignalKind, Stack, TransportKind, check, input, queues, traffic,
};
use crate::foreign::Formats;
use crate::input::{Files, base_name};
use crate::topology::one_kind;
use incast_schema::{Fault, Located};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A scenario, the text that it was read from, and the files that the text names.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    file: String,
    text: String,
    files: Files,
    scenario: Scenario,
}

impl Formats {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// The file cannot be read, or the scenario is wrong.
    pub fn load(self, path: &Path) -> Result<Document, ScenarioError> {
        let text = input::text(path, input::MOST_OF_SCENARIO).map_err(|error| {
            ScenarioError::Unreadable { path: path.to_owned(), reason: error.to_string() }
        })?;
        self.parse(text, &path.display().to_string())
    }

    /// Reads a scenario from a text; `file` names it in errors.
    ///
    /// # Errors
    /// The scenario is wrong.
    pub fn parse(self, text: String, file: &str) -> Result<Document, ScenarioError> {
        self.restore(text, file, BTreeMap::new())
    }

    /// Reads a scenario from a text and the texts of the files that it names, by the path that the
    /// scenario writes ([`texts`](Document::texts)), or by that without its folder. A file that is
    /// not among them is read from the disk.
    ///
    /// # Errors
    /// The scenario is wrong.
    pub fn restore(
        self,
        text: String,
        file: &str,
        known: BTreeMap<String, String>,
    ) -> Result<Document, ScenarioError> {
        let mut files = Files::of(file, self, known);
        let scenario = read(&text, &mut files).map_err(|fault| {
            let Located { place, message } = fault.locate(file, &text);
            ScenarioError::At { place, message }
        })?;
        files.forget_others();
        let name = Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy());
        Ok(Document { name: name.into_owned(), file: file.to_owned(), text, files, scenario })
    }
}

impl Document {
    /// Reads a scenario from a file. A scenario that names files of other simulators is refused:
    /// [`Formats::load`] reads it.
    ///
    /// # Errors
    /// The file cannot be read, or the scenario is wrong.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        Formats::NONE.load(path)
    }

    /// Reads a scenario from a text; `file` names it in errors. A scenario that names files of
    /// other simulators is refused: [`Formats::parse`] reads it.
    ///
    /// # Errors
    /// The scenario is wrong.
    pub fn parse(text: String, file: &str) -> Result<Self, ScenarioError> {
        Formats::NONE.parse(text, file)
    }

    /// This scenario with values changed: "transport.segment=16KB", "traffic.0.connections=8".
    /// Assignments are checked together, so their order does not matter.
    ///
    /// # Errors
    /// An assignment has no "=", or the scenario with them is wrong.
    pub fn with_set<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Self, ScenarioError> {
        let assignments: Vec<_> = assignments.iter().map(AsRef::as_ref).collect();
        self.set(&assignments).map_err(|wrong| {
            let (assignment, message) = match wrong {
                Wrong::Assignment(assignment, message) => (assignment, message),
                Wrong::Together(message) => {
                    (self.blamed(assignments, &message).join(", "), message)
                }
            };
            ScenarioError::Assignment { assignment, message }
        })
    }

    fn set(&self, assignments: &[&str]) -> Result<Self, Wrong> {
        let mut table: toml::Table = self
            .text
            .parse()
            .map_err(|error: toml::de::Error| Wrong::Together(error.message().into()))?;
        for assignment in assignments {
            let parts = assignment.split_once('=').ok_or(AssignError::NoKey);
            parts
                .and_then(|(path, value)| {
                    let keys: Vec<_> = path.trim().split('.').collect();
                    assign(&mut table, &keys, parse_value(value.trim()))
                })
                .map_err(|error| Wrong::Assignment((*assignment).into(), error.to_string()))?;
        }
        let text = toml::to_string(&table).map_err(|error| Wrong::Together(error.to_string()))?;
        let mut files = Files::of(&self.file, self.files.formats, self.files.texts.clone());
        let scenario =
            read(&text, &mut files).map_err(|fault| Wrong::Together(fault.into_message()))?;
        files.forget_others();
        let (name, file) = (self.name.clone(), self.file.clone());
        Ok(Self { name, file, text, files, scenario })
    }

    /// The assignments that it takes to be wrong in the way of `message`. The others are left out
    /// one by one, as long as the scenario is wrong in the same way.
    fn blamed<'a>(&self, mut assignments: Vec<&'a str>, message: &str) -> Vec<&'a str> {
        let same =
            |some: &[&str]| matches!(self.set(some), Err(Wrong::Together(m)) if m == message);
        let mut place = 0;
        while place < assignments.len() {
            let mut others = assignments.clone();
            others.remove(place);
            if same(&others) {
                // One that had to stay before may be left out now.
                (assignments, place) = (others, 0);
            } else {
                place += 1;
            }
        }
        assignments
    }

    /// The file's name without folder and extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that errors name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The texts of the files that the scenario names, by the path that it writes.
    pub const fn texts(&self) -> &BTreeMap<String, String> {
        &self.files.texts
    }

    /// The text with assignments: enough to run the scenario again.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files that the scenario names, by file name without folder. A run's directory keeps them
    /// in [`INPUTS`](crate::INPUTS).
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.texts.iter().map(|(path, text)| (base_name(path), text.as_str()))
    }

    /// The scenario.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

fn read(text: &str, files: &mut Files) -> Result<Scenario, Fault> {
    let said = |error| Fault::of(&error, text);
    let parsed = DeTable::parse(text).map_err(said)?;
    one_kind(parsed.get_ref())?;
    queues::fields(parsed.get_ref(), text)?;
    let (span, mut table) = (parsed.span(), parsed.into_inner());
    let elements = traffic::read::take(&mut table);
    let table = ValueDeserializer::from(Spanned::new(span, DeValue::Table(table)));
    let mut scenario = Scenario::deserialize(table).map_err(said)?;
    scenario.traffic = traffic::read::all(elements, text)?;
    read_files(&mut scenario, files)?;
    check::check(&scenario)?;
    Ok(scenario)
}

/// Replaces the names of files with their content.
fn read_files(scenario: &mut Scenario, files: &mut Files) -> Result<(), Fault> {
    if let Some(network) = scenario.network.read(files)? {
        scenario.network = network;
    }
    for (number, traffic) in scenario.traffic.iter_mut().enumerate() {
        let read = traffic.kind.settings_mut().read_files(files);
        read.map_err(|fault| fault.within(&[&"traffic", &number]))?;
    }
    Ok(())
}

/// A TOML value if the text is one, else a string: quantities need no quotes on the command line.
fn parse_value(text: &str) -> toml::Value {
    let whole = format!("value = {text}").parse::<toml::Table>();
    whole
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Why a scenario cannot be changed.
enum Wrong {
    /// An assignment has no place in the scenario: its text, and the reason.
    Assignment(String, String),
    /// The scenario with all assignments is wrong: the reason.
    Together(String),
}

/// An assignment that does not fit the scenario.
#[derive(Debug, thiserror::Error)]
enum AssignError {
    #[error("expected KEY=VALUE, such as run.duration=50ms")]
    NoKey,
    #[error("{key} is a list; expected {key}.N with N from 0 to {last}")]
    List { key: String, last: usize },
    #[error("{key} is a value and has nothing called {inner:?}")]
    Value { key: String, inner: String },
}

fn assign(table: &mut toml::Table, keys: &[&str], value: toml::Value) -> Result<(), AssignError> {
    let (key, rest) = match keys {
        [] | [""] => return Err(AssignError::NoKey),
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
                _ => Err(AssignError::List { key: key.into(), last: length.saturating_sub(1) }),
            }
        }
        _ => Err(AssignError::Value { key: key.into(), inner: rest[0].into() }),
    }
}

/// The JSON Schema of a scenario, for completion in editors.
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

/// The schema of an algorithm's section, from the parameters in the registry.
fn algorithm_schema(algorithm: AnyAlgorithm) -> Value {
    let presets: Vec<_> = algorithm.presets().iter().map(|preset| preset.name).collect();
    let mut properties = serde_json::Map::new();
    let preset = json!({ "enum": presets, "description": "A published set of values." });
    properties.insert("preset".into(), preset);
    let words = |names: Vec<&str>, what| json!({ "enum": names, "description": what });
    let transports = TransportKind::ALL.map(TransportKind::as_str).to_vec();
    let signals = SignalKind::NAMES.map(|(name, _)| name).to_vec();
    properties.insert("transport".into(), words(transports, "If not transport.kind."));
    properties.insert("signal".into(), words(signals, "If not signal.kind."));
    let noise = json!({ "type": "string", "description": "If not signal.noise." });
    properties.insert("noise".into(), noise);
    let stacks = Stack::NAMES.map(|(name, _)| name).to_vec();
    properties.insert("stack".into(), words(stacks, "If not signal.stack."));
    let tick = json!({ "type": "string", "description": "If not signal.tick." });
    properties.insert("tick".into(), tick);
    for param in algorithm.params() {
        let mut default = String::new();
        // Writing to a string cannot fail, and the parameter's name is one of the algorithm's own.
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
