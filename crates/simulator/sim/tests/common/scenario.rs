//! Scenarios of tests.

use std::path::{Path, PathBuf};

use incast_sim::scenario::Document;

/// Reads a scenario that must be right.
pub(crate) fn document(text: &str) -> Document {
    Document::parse(text.to_owned(), "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The path of a file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

/// A scenario that ships, with values changed.
pub(crate) fn shipped(name: &str, assignments: &[&str]) -> Document {
    let path = repository(&format!("scenarios/{name}.toml"));
    let document = Document::load(&path).and_then(|document| document.with_set(assignments));
    document.unwrap_or_else(|error| panic!("{error}"))
}
