//! What can be wrong with a file of another simulator.

use std::fmt;

/// A file that cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// Something else stands where the format wants a certain thing.
    #[error("{place}: found {found}; expected {expected}")]
    Unexpected {
        /// Where.
        place: Place,
        /// What stands there.
        found: String,
        /// What the format wants.
        expected: String,
    },
    /// Well-formed, but it does not add up, or a scenario cannot say it.
    #[error("{place}: {reason}")]
    Refused {
        /// Where.
        place: Place,
        /// Why, and what would do.
        reason: String,
    },
    /// The files do not make a scenario together.
    #[error("{0}")]
    Together(String),
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1, where one word of the line is meant.
    pub column: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}
