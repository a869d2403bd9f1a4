//! A scenario that cannot be run, in one sentence: where, the value, and the remedy.

use std::path::PathBuf;

use incast_schema::Place;

/// A scenario that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read {}: {reason}; expected a scenario in TOML", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Something at one place of the file.
    #[error("{place}: {message}")]
    At {
        /// Where.
        place: Place,
        /// What is wrong and what would be right.
        message: String,
    },
    /// An assignment from outside the file.
    #[error("--set {}: {message}", assignment.escape_debug())]
    Assignment {
        /// The assignment.
        assignment: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A scheme that is not known, or not well-formed.
    #[error("{0}")]
    Scheme(String),
}
