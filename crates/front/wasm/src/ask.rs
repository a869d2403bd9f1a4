//! The questions that a [`Session`](crate::Session) answers.

use std::collections::BTreeMap;

use incast_sim::doubts::Doubt;
use serde::Deserialize;

/// A question in JSON, such as `{"ask": "look"}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Ask {
    /// The algorithms with their parameters, and the schema of a scenario.
    About,
    /// A scenario: its description, or the error in it.
    Open(Open),
    /// A run of the scenario that is open.
    Start {
        /// The scheme, such as `timely:zhu`.
        scheme: String,
        /// The seed in decimal digits, since numbers of a page have 53 bits.
        seed: String,
    },
    /// Some events on the way to a moment.
    Advance {
        /// The end of the interval to reach, as its number from 1.
        interval: u32,
        /// The most events.
        events: u32,
    },
    /// The state of the run, and the least of the longest queue since it was last asked for.
    Look,
    /// The RTT samples since measurement started.
    Rtts,
    /// The end of the run: its summary, the numbers by which it is doubted, and the description of
    /// its tables.
    Finish,
    /// The sentences of runs that have ended, one for each cause of doubt.
    Doubts {
        /// The name of each scheme, and the numbers of its run.
        runs: Vec<(String, Vec<Doubt>)>,
    },
    /// Rows of a table as text, to be shown.
    Rows {
        /// The number of the table.
        table: usize,
        /// The first row.
        from: usize,
        /// The most rows.
        count: usize,
    },
    /// Columns of numbers of a table, to be drawn.
    Columns {
        /// The name of the table.
        table: String,
        /// The names of the columns.
        columns: Vec<String>,
    },
    /// All values of a column, to be written to a file: of numbers as bytes, 8 for each value, the
    /// least first, NaN where there is none; of text in JSON.
    Values {
        /// The number of the table.
        table: usize,
        /// The number of the column.
        column: usize,
    },
    /// A table as a file.
    File {
        /// The number of the table.
        table: usize,
        /// The format.
        format: Format,
    },
}

/// A scenario to open.
#[derive(Clone, Debug, Deserialize)]
pub struct Open {
    /// The name of the file, for errors.
    pub file: String,
    /// The text in TOML.
    pub text: String,
    /// The texts of the files that it names, by the path that it writes or by their names.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Assignments, such as `run.duration=10ms`.
    #[serde(default)]
    pub changes: Vec<String>,
    /// The schemes to describe; the scenario's where there are none.
    #[serde(default)]
    pub schemes: Vec<String>,
    /// The seed to judge, in decimal digits; none where it is empty.
    #[serde(default)]
    pub seed: String,
}

/// The format of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// An Arrow file, which is Feather of version 2.
    Arrow,
}
