//! Each kind of traffic is complete: registration, schema, page, example. And the guide to adding
//! one shows what is in the repository.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use incast_scenario::{TRAFFIC_KINDS, json_schema};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/guide/traffic.md");
const GUIDE: &str = include_str!("../../../../docs/how-to/adding-a-traffic.md");
const PING_PONG: &str = include_str!("../src/traffic/ping_pong.rs");
const KINDS: &str = include_str!("../src/traffic/kinds.rs");

/// Folders of scenarios, below the root of the repository.
const EXAMPLES: [&str; 3] = ["scenarios", "bench", "fuzz/corpus/scenario"];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

/// The names of the kinds that the text of a source file implements.
fn names(source: &str) -> Vec<&str> {
    let parts = source.split("\nimpl Settings for ").skip(1);
    let names = parts.filter_map(|part| part.split_once("const NAME: &'static str = \""));
    names.filter_map(|(_, rest)| rest.split('"').next()).collect()
}

/// The kinds of traffic of the scenarios that are there as examples. Files that they name are not
/// read: other crates do that.
fn examples() -> Vec<String> {
    let files = EXAMPLES.iter().flat_map(|folder| fs::read_dir(repository(folder)).unwrap());
    let texts = files.filter_map(|file| fs::read_to_string(file.unwrap().path()).ok());
    let tables = texts.filter_map(|text| text.parse::<toml::Table>().ok());
    let kinds = tables.flat_map(|table| {
        let traffic = table.get("traffic").and_then(toml::Value::as_array).cloned();
        let kind = |one: &toml::Value| Some(one.get("kind")?.as_str()?.to_owned());
        traffic.unwrap_or_default().iter().filter_map(kind).collect::<Vec<_>>()
    });
    kinds.collect()
}

/// The section of the page about a kind, whose heading ends with the name.
fn section<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let heading = format!(": `{name}`\n");
    page.split("\n## ").skip(1).find(|section| {
        section.split_inclusive('\n').next().is_some_and(|first| first.ends_with(&heading))
    })
}

/// The schema of a traffic of this kind.
fn alternative<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let kinds = schema["$defs"]["Traffic"]["oneOf"].as_array()?;
    kinds.iter().find(|kind| kind["properties"]["kind"]["const"] == name)
}

/// The things that a kind lacks, a sentence each.
fn missing(name: &str, schema: &Value, page: &str, examples: &[String]) -> Vec<String> {
    let mut missing = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            missing.push(what);
        }
    };
    let section = section(page, name);
    expect(page.contains(&format!("\n| `{name}` |")), "the page's table has no row of it".into());
    expect(section.is_some(), format!("the page has no section \"...: `{name}`\""));
    let section = section.unwrap_or_default();
    let written = format!("kind = \"{name}\"\n");
    let mut blocks = section.split("```toml\n").skip(1);
    let shown = blocks.any(|block| block.split("```").next().unwrap().contains(&written));
    expect(shown, "its section has no example in TOML".into());
    let common = page.split("\n## ").find(|part| part.starts_with("Common")).unwrap_or_default();
    let schema = alternative(schema, name);
    expect(schema.is_some(), "the schema does not have it".into());
    let described =
        |value: &Value| value["description"].as_str().is_some_and(|doc| !doc.is_empty());
    expect(schema.is_none_or(described), "its settings have no comment for the schema".into());
    let properties = schema.and_then(|schema| schema["properties"].as_object());
    for (field, schema) in properties.into_iter().flatten().filter(|(field, _)| *field != "kind") {
        let word = format!("`{field}`");
        let told = section.contains(&word) || common.contains(&word);
        expect(told, format!("its section does not tell of {word}"));
        expect(described(schema), format!("{word} has no comment for the schema"));
    }
    let there = examples.iter().any(|kind| kind == name);
    expect(there, format!("no scenario in {} has it", EXAMPLES.join(", ")));
    missing
}

#[test]
fn every_kind_of_traffic_is_complete() {
    let schema = serde_json::from_str(&json_schema()).unwrap();
    let examples = examples();
    let mut lacking = Vec::new();
    for name in TRAFFIC_KINDS {
        let missing = missing(name, &schema, PAGE, &examples);
        lacking.extend(missing.into_iter().map(|what| format!("{name}: {what}")));
    }
    for file in fs::read_dir(repository("crates/simulator/scenario/src/traffic")).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for name in names(&text).into_iter().filter(|name| !TRAFFIC_KINDS.contains(name)) {
            lacking.push(format!("{name}: {} is not in kinds.rs", path.display()));
        }
    }
    assert!(lacking.is_empty(), "something is missing:\n  {}\n", lacking.join("\n  "));
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let schema = serde_json::json!({ "$defs": { "Traffic": { "oneOf": [{
        "properties": { "kind": { "const": "new" }, "size": {}, "name": { "description": "x" } },
    }] } } });
    assert_eq!(
        missing("new", &schema, "# Traffic\n\n## Common to all\n`name`\n", &[]),
        [
            "the page's table has no row of it",
            "the page has no section \"...: `new`\"",
            "its section has no example in TOML",
            "its settings have no comment for the schema",
            "its section does not tell of `size`",
            "`size` has no comment for the schema",
            "no scenario in scenarios, bench, fuzz/corpus/scenario has it",
        ]
    );
    assert_eq!(
        missing(
            "other",
            &schema,
            "\n| `other` |\n## Other: `other`\n```toml\nkind = \"other\"\n```\n",
            &["other".into()]
        ),
        ["the schema does not have it"]
    );
}

/// The code block of the guide in `language` that contains `text`.
fn block<'a>(language: &str, text: &str) -> &'a str {
    let fence = if language == "markdown" { "````" } else { "```" };
    GUIDE
        .split(&format!("\n{fence}{language}\n"))
        .skip(1)
        .map(|rest| rest.split_once(&format!("{fence}\n")).unwrap().0)
        .find(|block| block.contains(text))
        .unwrap_or_else(|| panic!("the guide has no {language} block with {text:?}"))
}

fn assert_quoted(quoted: &str, text: &str, file: &str) {
    let differs = quoted.lines().zip(text.lines()).position(|(page, file)| page != file);
    let line = differs.unwrap_or(quoted.lines().count().min(text.lines().count())) + 1;
    assert!(quoted == text, "the guide's copy of {file} differs from it in line {line}");
}

#[test]
fn the_guide_quotes_its_example_to_the_byte() {
    let file = "crates/simulator/scenario/src/traffic/ping_pong.rs";
    assert_quoted(block("rust", "impl Kind for PingPong"), PING_PONG, file);
    let line = block("rust", "ping_pong::PingPong,");
    assert!(line.lines().count() == 1 && KINDS.contains(line), "{line:?} is not in kinds.rs");
    let section = format!("## {}", section(PAGE, "ping-pong").unwrap());
    assert_quoted(block("markdown", "## "), &section, "docs/guide/traffic.md");
    let corpus = "fuzz/corpus/scenario/ping-pong";
    let text = fs::read_to_string(repository(corpus)).unwrap();
    assert_quoted(block("toml", "title = "), &text, corpus);
}
