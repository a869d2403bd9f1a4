//! The files that a scenario names, and their texts: only regular files, up to a certain size.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::foreign::{Flow, Format, Formats, Graph};

/// The largest scenario in bytes.
pub(super) const MOST_OF_SCENARIO: u64 = 64_000_000;

/// The largest file in bytes that a scenario may name.
const MOST_OF_INPUT: u64 = 1_000_000_000;

/// The byte-order mark, which is no part of a text.
const MARK: char = '\u{feff}';

/// The folder in a run's directory that holds the files named by its scenario.
pub const INPUTS: &str = "inputs";

/// The files that a scenario names, relative to the scenario's folder. A run's directory has all of
/// them in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// The readers of files of other simulators.
    pub(crate) formats: Formats,
    folder: PathBuf,
    /// The texts by the path that the scenario writes.
    pub(crate) texts: BTreeMap<String, String>,
    /// Texts that were read before, which come in place of files on the disk.
    known: BTreeMap<String, String>,
}

impl Files {
    /// The files of a scenario, which has been read from the file `scenario`. `known` are texts
    /// that come in place of files on the disk.
    pub(crate) fn of(scenario: &str, formats: Formats, known: BTreeMap<String, String>) -> Self {
        let folder = Path::new(scenario).parent().map(Path::to_owned).unwrap_or_default();
        Self { formats, folder, texts: BTreeMap::new(), known }
    }

    /// Forgets the texts that the scenario does not name.
    pub(crate) fn forget_others(&mut self) {
        self.known.clear();
    }

    /// The network in a file of another simulator.
    pub(crate) fn graph(&mut self, format: Format, path: &str) -> Result<Graph, String> {
        (self.formats.graph)(format, path, &self.read(path)?).map_err(|error| error.to_string())
    }

    /// The flows in a file of another simulator.
    pub(crate) fn flows(&mut self, format: Format, path: &str) -> Result<Vec<Flow>, String> {
        (self.formats.flows)(format, path, &self.read(path)?).map_err(|error| error.to_string())
    }

    /// The text of a file, by the path that the scenario writes.
    pub(crate) fn read(&mut self, path: &str) -> Result<String, String> {
        if let Some(text) = self.texts.get(path) {
            return Ok(text.clone());
        }
        let name = base_name(path);
        if let Some(other) = self.texts.keys().find(|other| base_name(other) == name) {
            return Err(format!("{other} and {path} have one name; rename one of the files"));
        }
        // A stored result keeps base names only.
        if let Some(text) = self.known.get(path).or_else(|| self.known.get(name)) {
            self.texts.insert(path.to_owned(), text.clone());
            return Ok(text.clone());
        }
        // A run's own copy comes first: the file at a relative or absolute path may have changed.
        let kept = self.folder.join(INPUTS).join(name);
        let found = if kept.is_file() { kept } else { self.folder.join(path) };
        let text = text(&found, MOST_OF_INPUT)
            .map_err(|reason| format!("cannot read {}: {reason}", found.display()))?;
        self.texts.insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// The name of a file without its folder.
pub(crate) fn base_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// The text of a file, or the reason why it cannot be read. Devices and pipes are refused, since
/// they may have no end or no beginning.
pub(super) fn text(path: &Path, most: u64) -> Result<String, String> {
    let said = |error: std::io::Error| match error.kind() {
        ErrorKind::InvalidData => "not a text in UTF-8".into(),
        _ => error.to_string(),
    };
    let about = std::fs::metadata(path).map_err(said)?;
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(format!("{what} is no regular file"));
    }
    let too_long = || format!("more than {} MB", most / 1_000_000);
    if about.len() > most {
        return Err(too_long());
    }
    let mut text = String::new();
    // Some files of the system claim to be empty, and some have no end.
    let read = File::open(path).map_err(said)?.take(most + 1).read_to_string(&mut text);
    let read = read.map_err(said)?;
    if read as u64 > most {
        return Err(too_long());
    }
    // Editors of Windows begin a text with a byte-order mark.
    if text.starts_with(MARK) {
        text.drain(..MARK.len_utf8());
    }
    Ok(text)
}
