//! Tests that each kind of network is complete: settings, section, example. The guide's worked
//! example must compile too.

use std::fs;
use std::path::{Path, PathBuf};

use incast_cc::{Rate, Span};
use incast_plan::topology::{Layer, Node, Topology};
use incast_schema::Fault;
use serde_json::Value;

use super::registry::MODULES;
// The worked example is written as a module of `topology`, where `super` is what these imports give
// it here.
use super::parts::Named;
use super::{NETWORKS, NetworkKind, parts, tests};
use crate::foreign::{Formats, Graph, Link, Switch};
use crate::{Document, json_schema};

#[expect(unreachable_pub, reason = "written as a module of the crate")]
#[path = "../../examples/torus/torus.rs"]
mod torus;

use torus::Torus;

const TORUS: &str = include_str!("../../examples/torus/torus.rs");
const GUIDE: &str = include_str!("../../../../../docs/how-to/adding-a-topology.md");
const PAGE: &str = include_str!("../../../../../docs/guide/networks.md");

/// A switch in the midst of two hosts, whatever the file says.
pub(super) const TWO_HOSTS: Formats = Formats {
    graph: |_, _, _| {
        let link = |host: &str| Link {
            ends: [host.into(), "switch2".into()],
            rate: Rate::from_gbps(10),
            delay: Span::from_us(1),
            loss: 0.0,
        };
        Ok(Graph {
            hosts: vec!["host0".into(), "host1".into()],
            switches: vec![Switch { name: "switch2".into(), layer: "switch" }],
            links: vec![link("host0"), link("host1")],
            notes: vec![],
        })
    },
    ..Formats::NONE
};

/// The nodes and cables of a kind with these settings.
pub(super) fn built<K: NetworkKind>(settings: &str) -> Topology {
    let kind: K = toml::from_str(settings).unwrap_or_else(|error| panic!("{error}"));
    kind.check().unwrap_or_else(|fault| panic!("{fault:?}"));
    let mut net = Topology::default();
    kind.build(&mut net);
    let names: Vec<_> = kind.groups().into_iter().flat_map(Named::names).collect();
    assert_eq!(net.hosts, names, "hosts have the order of their groups");
    net
}

/// The error that refuses these settings: the place in the kind's table, and the sentence.
pub(super) fn refused<K: NetworkKind>(settings: &str) -> String {
    let kind: K = toml::from_str(settings).unwrap_or_else(|error| panic!("{error}"));
    match kind.check() {
        Err(Fault::Path(path, message)) => format!("{}: {message}", path.join(".")),
        other => panic!("{other:?}"),
    }
}

/// The number of switches of a layer.
pub(super) fn layers(net: &Topology, layer: Layer) -> usize {
    net.layers.iter().filter(|&&other| other == layer).count()
}

/// The layer of a switch.
pub(super) fn layer_of(net: &Topology, node: Node) -> Option<Layer> {
    let Node::Switch(switch) = node else { return None };
    Some(net.layers[switch as usize])
}

fn crate_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The texts of the files in a folder, with their paths.
fn texts(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(crate_file(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The parts of a page between its headings.
fn sections(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n#")
}

/// The parts of a kind that the test looks for.
struct Own<'a> {
    name: &'a str,
    summary: &'a str,
    /// The settings in the JSON schema.
    schema: &'a Value,
    /// The text of the kind's file.
    source: &'a str,
}

/// The parts that a kind lacks, a sentence each. `page` is the guide to networks; `examples` are
/// the shipped scenarios and those of the test corpus.
fn missing(own: &Own<'_>, page: &str, examples: &[(PathBuf, String)]) -> Vec<String> {
    let &Own { name, summary, schema, source } = own;
    let mut missing = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            missing.push(what);
        }
    };
    let sentence = summary.starts_with(char::is_uppercase) && summary.ends_with('.');
    expect(sentence, format!("SUMMARY is no sentence: {summary:?}"));
    expect(source.contains("#[test]"), "its file has no unit test".into());
    let no_settings = serde_json::Map::new();
    let settings = schema["properties"].as_object().unwrap_or(&no_settings);
    expect(!settings.is_empty(), "the schema has no settings".into());
    for (setting, about) in settings {
        let described = about["description"].as_str().is_some_and(|text| !text.is_empty());
        expect(described, format!("the schema does not describe `{setting}`"));
    }

    let row = format!("| `{name}` |");
    expect(page.contains(&row), "no row in the table of docs/guide/networks.md".into());
    let table = format!("[network.{name}]");
    let section = sections(page).find(|section| section.contains(&table));
    expect(section.is_some(), format!("no section of docs/guide/networks.md has {table}"));
    for setting in settings.keys().filter(|_| section.is_some()) {
        let text = section.unwrap_or_default();
        let told =
            text.contains(&format!("`{setting}`")) || text.contains(&format!("\n{setting} ="));
        expect(told, format!("its section does not tell of `{setting}`"));
    }

    let tables = [format!("\n[network.{name}]"), format!("\n[[network.{name}.")];
    let example = examples.iter().find(|(_, text)| tables.iter().any(|table| text.contains(table)));
    let where_to = "neither scenarios nor fuzz/corpus/scenario has an example";
    expect(example.is_some(), where_to.into());
    if let Some((path, text)) = example {
        // The lines after the separator are assignments.
        let scenario = text.split("%%\n").next().unwrap_or_default();
        let read = TWO_HOSTS.parse(scenario.into(), &path.display().to_string());
        let error = read.err().map(|error| error.to_string()).unwrap_or_default();
        expect(error.is_empty(), format!("its example is refused: {error}"));
    }
    missing
}

fn examples() -> Vec<(PathBuf, String)> {
    let folders = ["../../../python/incast/scenarios", "../../../fuzz/corpus/scenario"];
    folders.into_iter().flat_map(texts).collect()
}

#[test]
fn every_kind_of_network_is_complete() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let kinds = schema["$defs"]["Network"]["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), NETWORKS.len());
    let examples = examples();
    let mut lacking = Vec::new();
    for (&name, module) in NETWORKS.iter().zip(MODULES) {
        let Some(kind) = kinds.iter().find(|kind| kind["required"][0] == name) else {
            lacking.push(format!("{name}: NAME is not that of the type, in words joined by -"));
            continue;
        };
        let reference = kind["properties"][name]["$ref"].as_str().unwrap();
        let settings = schema.pointer(reference.trim_start_matches('#')).unwrap();
        let source = fs::read_to_string(crate_file(&format!("src/topology/{module}.rs")));
        let summary = kind["description"].as_str().unwrap_or_default();
        let own = Own { name, summary, schema: settings, source: &source.unwrap() };
        let missing = missing(&own, PAGE, &examples);
        lacking.extend(missing.into_iter().map(|what| format!("{name}: {what}")));
    }
    for (path, text) in texts("src/topology") {
        let module = path.file_stem().unwrap().to_str().unwrap();
        if text.contains("\nimpl NetworkKind for ") && !MODULES.contains(&module) {
            lacking.push(format!("{module}: {module}.rs is not in the list of kinds.rs"));
        }
    }
    assert!(lacking.is_empty(), "something is missing:\n  {}\n", lacking.join("\n  "));
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let schema = serde_json::json!({ "properties": { "size": {} } });
    let own = Own { name: "new", summary: "something", schema: &schema, source: "" };
    assert_eq!(
        missing(&own, "# Networks\n", &[]),
        [
            "SUMMARY is no sentence: \"something\"",
            "its file has no unit test",
            "the schema does not describe `size`",
            "no row in the table of docs/guide/networks.md",
            "no section of docs/guide/networks.md has [network.new]",
            "neither scenarios nor fuzz/corpus/scenario has an example",
        ]
    );
    let text = "title = 5\n[network.new]\n";
    let example = [(PathBuf::from("new.toml"), text.to_owned())];
    let refused = Document::parse(text.to_owned(), "new.toml").unwrap_err();
    let own = Own { summary: "Something.", source: "#[test]", ..own };
    assert_eq!(
        missing(&own, "| `new` |\n\n### New\n\n[network.new]\n\n### Other\n\nsize = 3\n", &example),
        [
            "the schema does not describe `size`",
            "its section does not tell of `size`",
            &format!("its example is refused: {refused}"),
        ]
    );
}

/// The code block of the guide in `language` that contains `text`. A block that contains others has
/// a longer fence.
fn block<'a>(language: &str, text: &str) -> &'a str {
    let fence = if language == "markdown" { "````" } else { "```" };
    GUIDE
        .split(&format!("\n{fence}{language}\n"))
        .skip(1)
        .map(|rest| rest.split_once(&format!("{fence}\n")).unwrap().0)
        .find(|block| block.contains(text))
        .unwrap_or_else(|| panic!("the guide has no {language} block with {text:?}"))
}

#[test]
fn guide_quotes_the_worked_example_to_the_byte() {
    let quoted = block("rust", "impl NetworkKind for Torus");
    let differs = quoted.lines().zip(TORUS.lines()).position(|(page, file)| page != file);
    let line = differs.unwrap_or(quoted.lines().count().min(TORUS.lines().count())) + 1;
    let file = "crates/simulator/scenario/examples/torus/torus.rs";
    assert!(quoted == TORUS, "the guide's copy of {file} differs from it in line {line}");
}

#[test]
fn worked_example_lacks_nothing_but_its_registration() {
    let schema = schemars::schema_for!(Torus).to_value();
    let summary = <Torus as NetworkKind>::SUMMARY;
    let own = Own { name: Torus::NAME, summary, schema: &schema, source: TORUS };
    let (page, scenario) = (block("markdown", "### Torus"), block("toml", "title = "));
    let example = [(PathBuf::from("torus.toml"), scenario.to_owned())];
    let unknown = Document::parse(scenario.to_owned(), "torus.toml").err();
    let expected = unknown.map(|error| format!("its example is refused: {error}"));
    let registered = NETWORKS.contains(&Torus::NAME);
    assert!(registered != expected.iter().any(|text| text.contains("unknown network \"torus\"")));
    assert_eq!(missing(&own, page, &example), expected.into_iter().collect::<Vec<_>>());
    assert_eq!(block("rust", "torus::Torus,"), "            torus::Torus,\n");
    // The settings in the section and those in the scenario must be some that the kind accepts.
    for text in [page, scenario] {
        let table = text.split("[network.torus]\n").nth(1).unwrap();
        let settings = table.split("\n\n").next().unwrap().split("```").next().unwrap();
        assert_eq!(built::<Torus>(settings).switches.len(), 12);
    }
}
