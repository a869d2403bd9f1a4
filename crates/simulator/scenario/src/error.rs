//! Errors of a scenario: one sentence each, with the place, the value, and the remedy.

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
        /// The reason that the system gave.
        reason: String,
    },
    /// An error at one place of the file.
    #[error("{place}: {message}")]
    At {
        /// The place.
        place: Place,
        /// A sentence that says what is wrong and what would be right.
        message: String,
    },
    /// An assignment from outside the file.
    #[error("{}: {message}", assignment.escape_debug())]
    Assignment {
        /// The assignment.
        assignment: String,
        /// A sentence that says what is wrong and what would be right.
        message: String,
    },
    /// A scheme that is unknown or malformed.
    #[error("{0}")]
    Scheme(String),
}
