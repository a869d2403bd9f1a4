//! The files that a scenario names, and their texts: only regular files, up to a certain size.

pub(crate) mod traces;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::foreign::{Flow, ForeignError, Format, Formats, Graph};
use crate::workload::TableError;

/// A file that a scenario names, and that does not give what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// Two files, of which a run's directory could keep one.
    #[error("{0} and {1} have one name; rename one of the files")]
    OneName(String, String),
    /// A file without a text.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: TextError,
    },
    /// A large file that is not the one which the run has read.
    #[error(
        "{} is not the file that the run has read, of which it kept no copy; put that in its place",
        .0.display()
    )]
    Changed(PathBuf),
    /// A file of another simulator that cannot be converted.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// A file that is no table of sizes.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The reason why a file has no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TextError {
    /// The system refuses to read it.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// Other bytes.
    #[error("not a text in UTF-8")]
    NotText,
    /// No file with a beginning and an end.
    #[error("{0} is no regular file")]
    Irregular(&'static str),
    /// A file of more bytes than this.
    #[error("more than {} MB", .0 / 1_000_000)]
    TooLong(u64),
}

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
    pub(crate) fn graph(&mut self, format: Format, path: &str) -> Result<Graph, InputError> {
        Ok((self.formats.graph)(format, path, &self.read(path)?)?)
    }

    /// The flows in a file of another simulator.
    pub(crate) fn flows(&mut self, format: Format, path: &str) -> Result<Vec<Flow>, InputError> {
        Ok((self.formats.flows)(format, path, &self.read(path)?)?)
    }

    /// The text of a file, by the path that the scenario writes.
    pub(crate) fn read(&mut self, path: &str) -> Result<String, InputError> {
        if let Some(text) = self.texts.get(path) {
            return Ok(text.clone());
        }
        self.one_name(path)?;
        let name = base_name(path);
        // A stored result keeps base names only.
        if let Some(text) = self.known.get(path).or_else(|| self.known.get(name)) {
            self.texts.insert(path.to_owned(), text.clone());
            return Ok(text.clone());
        }
        // A run's own copy comes first: the file at a relative or absolute path may have changed.
        let kept = self.folder.join(INPUTS).join(name);
        let found = if kept.is_file() { kept } else { self.folder.join(path) };
        let text = text(&found, MOST_OF_INPUT)
            .map_err(|reason| InputError::Unreadable { path: found, reason })?;
        self.texts.insert(path.to_owned(), text.clone());
        Ok(text)
    }

    /// Refuses a file of the name of another one, since a run's directory could keep only one.
    fn one_name(&self, path: &str) -> Result<(), InputError> {
        let name = base_name(path);
        match self.texts.keys().find(|other| base_name(other) == name) {
            Some(other) => Err(InputError::OneName(other.clone(), path.to_owned())),
            None => Ok(()),
        }
    }
}

/// The name of a file without its folder.
pub(crate) fn base_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// The length of a file as the system tells it. Refuses what is no regular file, or has more than
/// `most` bytes.
fn regular(path: &Path, most: u64) -> Result<u64, TextError> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(TextError::Irregular(what));
    }
    if about.len() > most {
        return Err(TextError::TooLong(most));
    }
    Ok(about.len())
}

/// The text of a file, or the reason why it cannot be read. Devices and pipes are refused, since
/// they may have no end or no beginning.
pub(super) fn text(path: &Path, most: u64) -> Result<String, TextError> {
    let said = |error: std::io::Error| match error.kind() {
        ErrorKind::InvalidData => TextError::NotText,
        _ => TextError::System(error),
    };
    regular(path, most)?;
    let mut text = String::new();
    // Some files of the system claim to be empty, and some have no end.
    let read = File::open(path).map_err(said)?.take(most + 1).read_to_string(&mut text);
    let read = read.map_err(said)?;
    if read as u64 > most {
        return Err(TextError::TooLong(most));
    }
    // Editors of Windows begin a text with a byte-order mark.
    if text.starts_with(MARK) {
        text.drain(..MARK.len_utf8());
    }
    Ok(text)
}
