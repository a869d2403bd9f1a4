//! The tests of the simulator, in one program: linking one takes less time than linking many.
//!
//! Two programs stand beside it. `golden` is run in a release build, too, and `memory` has an
//! allocator that counts.

#[path = "../common/mod.rs"]
mod common;

mod behaviour;
mod benchmark;
mod closed_forms;
mod corpus;
mod departures;
mod disciplines;
mod docs;
mod fabrics;
mod foreign;
mod guests;
mod idle;
mod islands;
mod levels;
mod links;
mod mixes;
mod network_errors;
mod pfc;
mod receivers;
mod scenario_errors;
mod scenario_words;
mod shape;
mod streams;
mod switch_errors;
mod switches;
mod threads;
mod token_buckets;
mod traffic_errors;
mod until;
mod witness;
mod work;

use std::fs;
use std::path::Path;

/// The files with tests below `folder`, as the paths of their modules.
fn files(folder: &Path, prefix: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(self::files(&path, &format!("{prefix}{name}/")));
        } else if path.extension().is_some_and(|suffix| suffix == "rs") && name != "main" {
            files.push(format!("{prefix}{name}"));
        }
    }
    files
}

#[test]
fn every_file_is_a_module() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let files = files(&here, "");
    assert!(files.len() > 40, "{files:?}");
    for file in files {
        let (parent, name) = file.rsplit_once('/').unwrap_or(("main", &file));
        let parent = fs::read_to_string(here.join(format!("{parent}.rs"))).unwrap();
        let declaration = format!("\nmod {name};\n");
        assert!(parent.contains(&declaration), "tests/it/{file}.rs is never compiled: no `mod`");
    }
}
