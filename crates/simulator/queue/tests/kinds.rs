//! Each kind of queue management, discipline and feedback is complete: file, tests, a row of the page on
//! switches, schema, and a scenario that uses it. And the guide to adding one shows code that
//! compiles.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

// The worked example is written as a module of the library, where `crate` is what `incast_queue` is
// here; its unit tests run among these.
use incast_queue::*;

use schemars::schema_for;

use incast_queue::discipline::QueueDiscipline;
use incast_queue::feedback::Feedbacks;
use incast_queue::management::Aqm;

#[expect(unreachable_pub, reason = "written as a module of the library")]
#[path = "../examples/fair/fair.rs"]
mod fair;

const FAIR: &str = include_str!("../examples/fair/fair.rs");
const GUIDE: &str = include_str!("../../../../docs/how-to/adding-a-queue.md");
const PAGE: &str = include_str!("../../../../docs/guide/switches.md");

/// The folders whose files may show how a kind is used.
const SCENARIOS: [&str; 3] =
    ["python/incast/scenarios", "python/incast/papers", "fuzz/corpus/scenario"];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

/// The texts of all files below a folder.
fn texts(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(self::texts(&path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            texts.push(text);
        }
    }
    texts
}

/// A list of kinds: the folder of their files, and the key of scenarios that chooses one.
struct Axis {
    folder: &'static str,
    key: &'static str,
    /// The tables of the schema, one for each kind.
    tables: serde_json::Value,
}

fn axes() -> [(Axis, &'static [&'static str]); 3] {
    let management = schema_for!(Aqm).to_value()["oneOf"].clone();
    let discipline = schema_for!(QueueDiscipline).to_value()["anyOf"][1]["oneOf"].clone();
    [
        (Axis { folder: "management", key: "aqm", tables: management }, management::KINDS),
        (Axis { folder: "discipline", key: "discipline", tables: discipline }, discipline::KINDS),
        (Axis { folder: "feedback", key: "feedback", tables: feedbacks() }, feedback::KINDS),
    ]
}

/// The tables of the kinds of feedback, in the form of those that name their kind.
fn feedbacks() -> serde_json::Value {
    let schema = schema_for!(Feedbacks).to_value();
    let tables = feedback::KINDS.iter().map(|kind| {
        let reference = &schema["properties"][*kind]["anyOf"][0]["$ref"];
        let name = reference.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let fields = schema["$defs"][name]["properties"].as_object().cloned().unwrap_or_default();
        let kind = ("kind".to_owned(), serde_json::json!({ "const": kind }));
        let properties: serde_json::Map<_, _> = fields.into_iter().chain([kind]).collect();
        serde_json::json!({ "properties": properties })
    });
    tables.collect()
}

/// The things that a kind lacks. `source` is the text of its file, if there is one.
fn missing(
    axis: &Axis,
    kind: &str,
    source: Option<&str>,
    page: &str,
    scenarios: &[String],
) -> Vec<String> {
    let file = format!("crates/simulator/queue/src/{}/{kind}.rs", axis.folder);
    let mut missing = Vec::new();
    match source {
        None => missing.push(format!("no file {file}")),
        Some(text) if !text.contains("#[test]") => missing.push(format!("no unit test in {file}")),
        Some(_) => {}
    }
    let row = page.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
    if row.is_none() {
        missing.push("no row of a table in docs/guide/switches.md".into());
    }
    let tables = axis.tables.as_array().unwrap();
    let table = tables.iter().find(|table| table["properties"]["kind"]["const"] == kind);
    if table.is_none() {
        missing.push("not in the schema; its module and its type must have the same name".into());
    }
    for name in table.into_iter().flat_map(|table| table["properties"].as_object().unwrap().keys())
    {
        let told =
            |row: &str| ["`", " = "].iter().any(|end| row.contains(&format!("`{name}{end}")));
        if !row.is_none_or(told) && !["kind", "ecn", "drop"].contains(&name.as_str()) {
            missing.push(format!("the row of the page does not tell of `{name}`"));
        }
    }
    let word = format!("{} = \"{kind}\"", axis.key);
    let inline = format!("{} = {{ kind = \"{kind}\"", axis.key);
    let header = format!(".{}]\nkind = \"{kind}\"", axis.key);
    let table = format!("[switch.{}.{kind}]", axis.key);
    let ways = [&word, &inline, &header, &table];
    let uses = |text: &String| ways.iter().any(|&use_| text.contains(use_));
    if !scenarios.iter().any(uses) {
        missing.push(format!("no scenario in {} uses it", SCENARIOS.join(", ")));
    }
    missing
}

#[test]
fn every_kind_is_complete() {
    let scenarios: Vec<_> =
        SCENARIOS.iter().flat_map(|folder| texts(&repository(folder))).collect();
    let mut wrong = Vec::new();
    for (axis, kinds) in axes() {
        for kind in kinds {
            let file = repository(&format!("crates/simulator/queue/src/{}/{kind}.rs", axis.folder));
            let source = fs::read_to_string(file).ok();
            for lack in missing(&axis, kind, source.as_deref(), PAGE, &scenarios) {
                wrong.push(format!("  {kind}: {lack}"));
            }
        }
    }
    assert!(wrong.is_empty(), "something is missing:\n{}", wrong.join("\n"));
}

#[test]
fn a_kind_that_lacks_everything_is_told_all_of_it() {
    let [_, (axis, _), _] = axes();
    assert_eq!(
        missing(&axis, "new", None, "", &[]),
        [
            "no file crates/simulator/queue/src/discipline/new.rs",
            "no row of a table in docs/guide/switches.md",
            "not in the schema; its module and its type must have the same name",
            "no scenario in python/incast/scenarios, python/incast/papers, fuzz/corpus/scenario \
             uses it",
        ]
    );
    assert_eq!(
        missing(&axis, "srpt", Some("fn"), "| `srpt` |", &["discipline = \"srpt\"".into()]),
        ["no unit test in crates/simulator/queue/src/discipline/srpt.rs"]
    );
    let [(axis, _), ..] = axes();
    assert_eq!(
        missing(
            &axis,
            "codel",
            Some("#[test]"),
            "| `codel` | `target = \"5ms\"` |",
            &["[switch.aqm]\nkind = \"codel\"".into()]
        ),
        ["the row of the page does not tell of `interval`"]
    );
}

/// The code block of the guide in `language` that contains `text`.
fn block<'a>(language: &str, text: &str) -> &'a str {
    GUIDE
        .split(&format!("\n```{language}\n"))
        .skip(1)
        .map(|rest| rest.split_once("```\n").unwrap().0)
        .find(|block| block.contains(text))
        .unwrap_or_else(|| panic!("the guide has no {language} block with {text:?}"))
}

#[test]
fn guide_quotes_the_worked_example_to_the_byte() {
    let quoted = block("rust", "impl Settings for Fair");
    let differs = quoted.lines().zip(FAIR.lines()).position(|(page, file)| page != file);
    let line = differs.unwrap_or(quoted.lines().count().min(FAIR.lines().count())) + 1;
    let file = "crates/simulator/queue/examples/fair/fair.rs";
    assert!(quoted == FAIR, "the guide's copy of {file} differs from it in line {line}");
}

#[test]
fn worked_example_lacks_nothing_but_its_registration() {
    let table = serde_json::json!({
        "properties": { "kind": { "const": "fair" }, "longest": {} }
    });
    let tables = serde_json::json!([table]);
    let properties = schema_for!(fair::Fair).to_value()["properties"].clone();
    assert_eq!(properties.as_object().unwrap().keys().collect::<Vec<_>>(), ["longest"]);
    let axis = Axis { folder: "discipline", key: "discipline", tables };
    let (row, scenario) = (block("markdown", "| `fair` |"), block("toml", "fair"));
    let missing = missing(&axis, "fair", Some(FAIR), row, &[scenario.to_owned()]);
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(block("rust", "fair::Fair,"), "            fair::Fair,\n");
}

#[test]
fn worked_example_reads_its_settings() {
    let settings = |text: &str| toml::from_str::<fair::Fair>(text).unwrap();
    assert!(settings("").longest && !settings("longest = false").longest);
    let wrong = toml::from_str::<fair::Fair>("shortest = true").unwrap_err();
    assert!(wrong.message().contains("`longest`"), "{wrong}");
}
