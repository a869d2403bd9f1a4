//! Errors in files of other simulators.

use std::fmt;

/// A file that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// A word that the format does not allow there.
    #[error("{place}: found {found}; expected {expected}")]
    Unexpected {
        /// The place.
        place: FilePlace,
        /// The word in the file.
        found: String,
        /// The kind of word that the format expects.
        expected: String,
    },
    /// Well-formed content that is inconsistent, or that a scenario cannot express.
    #[error("{place}: {reason}")]
    Refused {
        /// The place.
        place: FilePlace,
        /// The reason, and the remedy.
        reason: String,
    },
    /// Files that together do not make a scenario.
    #[error("{0}")]
    Together(String),
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1, if the error is about one word of the line.
    pub column: Option<usize>,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}
