//! Documents: scenarios that are read from a text, with or without assignments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use incast_cc::AnyAlgorithm;
use incast_cc::registry::NAMES;
use serde_json::{Value, json};

use super::{
    Scenario, ScenarioError, SignalKind, Stack, TransportKind, check, input, queues, traffic,
};
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

/// The folder in a run's directory that holds the files named by its scenario.
pub const INPUTS: &str = "inputs";

/// The files that a scenario names, relative to the scenario's folder. A run's directory has all of
/// them in one folder.
#[derive(Clone, Debug, Default)]
struct Files {
    folder: PathBuf,
    /// The texts by the path that the scenario writes.
    texts: BTreeMap<String, String>,
    /// Texts that were read before, which come in place of files on the disk.
    known: BTreeMap<String, String>,
}

impl Files {
    fn of(scenario: &str) -> Self {
        let folder = Path::new(scenario).parent().map(Path::to_owned).unwrap_or_default();
        Self { folder, ..Self::default() }
    }

    /// The text of a file, by the path that the scenario writes.
    fn read(&mut self, path: &str) -> Result<String, String> {
        if let Some(text) = self.texts.get(path) {
            return Ok(text.clone());
        }
        let name = base_name(path);
        if let Some(other) = self.texts.keys().find(|other| base_name(other) == name) {
            return Err(format!("{other} and {path} have one name; rename one of the files"));
        }
        // Who opens a directory of files knows their names alone.
        if let Some(text) = self.known.get(path).or_else(|| self.known.get(name)) {
            self.texts.insert(path.to_owned(), text.clone());
            return Ok(text.clone());
        }
        // A run's own copy comes first: the file at a relative or absolute path may have changed.
        let kept = self.folder.join(INPUTS).join(name);
        let found = if kept.is_file() { kept } else { self.folder.join(path) };
        let text = input::text(&found, input::MOST_OF_INPUT)
            .map_err(|reason| format!("cannot read {}: {reason}", found.display()))?;
        self.texts.insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

fn base_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

impl Document {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// The file cannot be read, or the scenario is wrong.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = input::text(path, input::MOST_OF_SCENARIO)
            .map_err(|reason| ScenarioError::Unreadable { path: path.to_owned(), reason })?;
        Self::parse(text, &path.display().to_string())
    }

    /// Reads a scenario from a text; `file` names it in errors.
    ///
    /// # Errors
    /// The scenario is wrong.
    pub fn parse(text: String, file: &str) -> Result<Self, ScenarioError> {
        Self::restore(text, file, BTreeMap::new())
    }

    /// Reads a scenario from a text and the texts of the files that it names, by the path that the
    /// scenario writes ([`texts`](Self::texts)), or by that without its folder. A file that is not
    /// among them is read from the disk.
    ///
    /// # Errors
    /// The scenario is wrong.
    pub fn restore(
        text: String,
        file: &str,
        known: BTreeMap<String, String>,
    ) -> Result<Self, ScenarioError> {
        let mut files = Files { known, ..Files::of(file) };
        let scenario = read(&text, &mut files).map_err(|fault| {
            let Located { place, message } = fault.locate(file, &text);
            ScenarioError::At { place, message }
        })?;
        files.known.clear();
        let name = Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy());
        Ok(Self { name: name.into_owned(), file: file.to_owned(), text, files, scenario })
    }

    /// This scenario with values changed: "transport.segment=16KB", "traffic.0.connections=8".
    /// Assignments are checked together, so their order does not matter.
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
        let known = self.files.texts.clone();
        let mut files = Files { known, ..Files::of(&self.file) };
        let scenario = read(&text, &mut files).map_err(|fault| fail(&all, fault.into_message()))?;
        files.known.clear();
        let (name, file) = (self.name.clone(), self.file.clone());
        Ok(Self { name, file, text, files, scenario })
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
    /// in [`INPUTS`].
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
    if let Some(network) = scenario.network.read(&mut |path| files.read(path))? {
        scenario.network = network;
    }
    for (number, traffic) in scenario.traffic.iter_mut().enumerate() {
        let read = traffic.kind.settings_mut().read_files(&mut |path| files.read(path));
        read.map_err(|(field, message)| Fault::at([&"traffic", &number, &field], message))?;
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
