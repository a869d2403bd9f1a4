//! Recordings that cannot be replayed.

use std::fmt;

/// The reason why a line cannot be read, in the words of a sentence.
pub(super) type Fault = &'static str;

/// The reason why a recording cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenRecording {
    /// The text is something else.
    Foreign,
    /// The recording is of another version.
    Version(String),
    /// The last line is missing.
    CutShort,
    /// A setting in the head cannot be.
    Settings(String),
    /// A line cannot be read, or cannot be where it is.
    Line {
        /// The number of the line, from 1.
        number: u64,
        /// The fault.
        fault: &'static str,
    },
    /// There are more or fewer lines than the last one says.
    Count {
        /// The number of lines of calls.
        found: u64,
        /// The number that the last line says.
        said: u64,
    },
}

impl fmt::Display for BrokenRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("it is no recording of incast"),
            Self::Version(version) => {
                write!(f, "it is of version {version}, and this incast reads version 1")
            }
            Self::CutShort => f.write_str("it is cut short: its last line is missing"),
            Self::Settings(fault) => f.write_str(fault),
            Self::Line { number, fault } => write!(f, "its line {number} {fault}"),
            Self::Count { found, said } => {
                write!(f, "it has {found} lines of calls, and should have {said}")
            }
        }
    }
}

impl std::error::Error for BrokenRecording {}
