//! Each algorithm is complete: sources, registration, page. And the guide to adding one
//! shows code that compiles.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

// The worked example is written as a module of the library, where `crate` is what `incast_cc` is
// here; its unit tests run among these.
use incast_cc::*;

use incast_cc::param::{Configurable, Info, Kind, Param, Preset, Transport};
use incast_cc::registry::NAMES;

#[expect(unreachable_pub, reason = "written as a module of the library")]
#[path = "../examples/aimd/aimd.rs"]
mod aimd;

const AIMD: &str = include_str!("../examples/aimd/aimd.rs");
const GUIDE: &str = include_str!("../../../../docs/tutorials/your-own-algorithm.md");

/// A file below `crates/core/cc/src`.
struct Source {
    /// Relative to there, with slashes.
    path: String,
    text: String,
}

impl Source {
    /// The names of the algorithms that the file implements.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.text.split("\nimpl Algorithm for ").skip(1).map(|implementation| {
            implementation
                .split_once("const NAME: &'static str = \"")
                .and_then(|(_, rest)| rest.split_once('"'))
                .unwrap_or_else(|| panic!("{}: an algorithm's NAME is not a literal", self.path))
                .0
        })
    }
}

fn sources() -> Vec<Source> {
    fn collect(root: &Path, folder: &Path, into: &mut Vec<Source>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative =
                    path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                into.push(Source { path: relative, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    sources
}

/// The description, presets and parameters of an algorithm.
struct Own<'a> {
    info: &'a Info,
    presets: &'a [Preset],
    params: &'a [Param],
}

impl<'a> Own<'a> {
    fn of(algorithm: &'a AnyAlgorithm) -> Self {
        let (presets, params) = (algorithm.presets(), algorithm.params());
        Self { info: algorithm.info(), presets, params }
    }
}

/// The sections of a page, in their order; others may stand between them.
const SECTIONS: [&str; 5] =
    ["Equations", "Parameters", "Validation", "What it needs to work", "Departures"];

/// The text of the section `title`, up to the next one.
fn section<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("\n## {title}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest))
}

/// The things that `name` lacks, a sentence each. `sources` are those of the library, `page` the
/// text of `docs/algorithms/NAME.md`.
fn missing(name: &str, own: &Own<'_>, sources: &[Source], page: Option<&str>) -> Vec<String> {
    let &Own { info, presets, params } = own;
    let mut missing = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            missing.push(what);
        }
    };

    expect(info.name == name, format!("INFO.name is {:?}", info.name));
    for (field, text) in [("signal", info.signal), ("source", info.source)] {
        expect(!text.trim().is_empty(), format!("INFO.{field} is empty"));
    }
    // Lists show it on a line, after the name.
    let (summary, length) = (info.summary, info.summary.chars().count());
    let subject = summary.starts_with("the rate ") || summary.starts_with("the window");
    let begins = "INFO.summary begins neither with \"the rate \" nor with \"the window\"";
    expect(subject, begins.into());
    expect(length < 80, format!("INFO.summary has {length} characters, 79 are the most"));
    expect(!summary.ends_with('.'), "INFO.summary ends with a full stop".into());
    expect(!presets.is_empty(), "no preset names the source of its values".into());
    for preset in presets {
        let named = !preset.name.is_empty() && !preset.source.trim().is_empty();
        expect(named, format!("preset {:?} has no name or no source", preset.name));
    }

    let source = sources.iter().find(|source| source.names().any(|found| found == name));
    expect(
        source.is_some(),
        "no file in crates/core/cc/src implements Algorithm with its NAME".into(),
    );
    if let Some(Source { path, .. }) = source {
        let beside = format!("{}/", path.trim_end_matches(".rs"));
        let tested = sources
            .iter()
            .filter(|source| source.path == *path || source.path.starts_with(&beside))
            .any(|source| source.text.contains("#[test]"));
        expect(tested, format!("no unit test in crates/core/cc/src/{path} or {beside}tests.rs"));
    }

    expect(page.is_some(), format!("no page docs/algorithms/{name}.md"));
    if let Some(page) = page {
        expect(page.starts_with("# "), "the page has no title".into());
        expect(page.contains(&format!("`{name}`")), "the page does not tell the name".into());
        for preset in presets.iter().filter(|preset| preset.name != "default") {
            let told = page.contains(&format!("`{}`", preset.name));
            expect(told, format!("the page does not tell of preset `{}`", preset.name));
        }
        if let Some(Source { path, .. }) = source {
            let link = format!("](../../crates/core/cc/src/{path})");
            expect(
                page.contains(&link),
                format!("the page has no link to crates/core/cc/src/{path}"),
            );
        }
        for title in SECTIONS {
            let there = section(page, title).is_some();
            expect(there, format!("the page has no section \"{title}\""));
        }
        let places = SECTIONS.map(|title| page.find(&format!("\n## {title}\n")));
        let ordered = places.iter().flatten().is_sorted();
        expect(ordered, format!("the page has its sections not in the order {SECTIONS:?}"));
        if let Some(section) = section(page, "Parameters") {
            // Those of another algorithm are on its page.
            let elsewhere = linked(section);
            for param in params {
                let word = format!("`{}`", param.name);
                let told = section.contains(&word) || elsewhere.contains(&word);
                expect(told, format!("the page does not tell of parameter {word}"));
            }
        }
    }
    missing
}

/// The targets of links in `text`, without the places within pages.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next())
}

/// The pages that `section` links to, one after the other.
fn linked(section: &str) -> String {
    links(section)
        .filter(|link| Path::new(link).extension().is_some_and(|extension| extension == "md"))
        .map(|link| fs::read_to_string(docs("algorithms").join(link)).unwrap_or_default())
        .collect()
}

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(path)
}

#[test]
fn every_algorithm_is_complete() {
    let sources = sources();
    let mut lacking = Vec::new();
    for name in NAMES {
        let algorithm = AnyAlgorithm::named(name).unwrap();
        let page = fs::read_to_string(docs(&format!("algorithms/{name}.md"))).ok();
        let missing = missing(name, &Own::of(&algorithm), &sources, page.as_deref());
        lacking.extend(missing.into_iter().map(|what| format!("{name}: {what}")));
    }
    for source in &sources {
        for name in source.names().filter(|name| !NAMES.contains(name)) {
            lacking.push(format!(
                "{name}: crates/core/cc/src/{} is not in algorithms.rs",
                source.path
            ));
        }
    }
    assert!(lacking.is_empty(), "something is missing:\n  {}\n", lacking.join("\n  "));
}

/// `docs/algorithms` has no page of an algorithm that is gone, and no link to a file that is.
#[test]
fn every_page_is_of_an_algorithm_and_links_to_what_is_there() {
    for entry in fs::read_dir(docs("algorithms")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(NAMES.contains(&name), "{} is the page of no algorithm", path.display());
        for link in links(&fs::read_to_string(&path).unwrap()).filter(|link| !link.is_empty()) {
            assert!(docs("algorithms").join(link).exists(), "{name}: {link} is not there");
        }
    }
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let info = Info {
        name: "other",
        summary: "something new, which for this test is told at more length than any list has room for.",
        kind: Kind::Window,
        signal: " ",
        needs: &[],
        transport: Transport::Stream,
        source: "somebody",
    };
    let preset = Preset { name: "first", source: "somewhere", values: &[] };
    let text = AIMD.replace("#[test]", "").replace("\"aimd\"", "\"new\"");
    let sources = [Source { path: "new.rs".into(), text }];
    let own = Own { info: &info, presets: &[], params: &[] };
    assert_eq!(
        missing("new", &own, &sources, None),
        [
            "INFO.name is \"other\"",
            "INFO.signal is empty",
            "INFO.summary begins neither with \"the rate \" nor with \"the window\"",
            "INFO.summary has 85 characters, 79 are the most",
            "INFO.summary ends with a full stop",
            "no preset names the source of its values",
            "no unit test in crates/core/cc/src/new.rs or new/tests.rs",
            "no page docs/algorithms/new.md",
        ]
    );
    let info = Info { name: "new", summary: "the window is new", signal: "loss", ..info };
    let own = Own { info: &info, presets: &[preset], params: aimd::Aimd::PARAMS };
    assert_eq!(
        missing("new", &own, &sources, Some("new\n## Parameters\n`a`\n## Equations\n`b`\n")),
        [
            "no unit test in crates/core/cc/src/new.rs or new/tests.rs",
            "the page has no title",
            "the page does not tell the name",
            "the page does not tell of preset `first`",
            "the page has no link to crates/core/cc/src/new.rs",
            "the page has no section \"Validation\"",
            "the page has no section \"What it needs to work\"",
            "the page has no section \"Departures\"",
            "the page has its sections not in the order \
             [\"Equations\", \"Parameters\", \"Validation\", \"What it needs to work\", \
             \"Departures\"]",
            "the page does not tell of parameter `b`",
        ]
    );
    let page = "# New `new` `first`\n## Equations\n## Parameters\n`a` `b`\n## Validation\n\
         ## What it needs to work\n## Departures\n";
    assert_eq!(
        missing("new", &own, &[], Some(page)),
        ["no file in crates/core/cc/src implements Algorithm with its NAME"]
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
    let quoted = block("rust", "impl Algorithm for Aimd");
    let differs = quoted.lines().zip(AIMD.lines()).position(|(page, file)| page != file);
    let line = differs.unwrap_or(quoted.lines().count().min(AIMD.lines().count())) + 1;
    let file = "crates/core/cc/examples/aimd/aimd.rs";
    assert!(quoted == AIMD, "the guide's copy of {file} differs from it in line {line}");
}

#[test]
fn worked_example_lacks_nothing_but_its_registration() {
    let sources = [Source { path: "aimd.rs".into(), text: AIMD.into() }];
    let page = block("markdown", "# AIMD");
    let own =
        Own { info: &aimd::Aimd::INFO, presets: aimd::Aimd::PRESETS, params: aimd::Aimd::PARAMS };
    let missing = missing("aimd", &own, &sources, Some(page));
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(block("rust", "aimd::Aimd,"), "            aimd::Aimd,\n");
}

#[test]
fn worked_examples_presets_are_accepted() {
    for preset in aimd::Aimd::PRESETS {
        let mut params = aimd::Aimd::default();
        for &(name, value) in preset.values {
            assert_eq!(params.set(name, value), Ok(()), "{}", preset.name);
        }
        assert_eq!(params.check(), Ok(()), "{}", preset.name);
    }
}
