//! The file with the nodes that HPCC's simulator traces: their number, then their ids.

use super::ForeignError;
use super::text::{ended, lines};

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The ids of hosts and switches. HPCC's simulator accepts ids that the network does not have.
    pub nodes: Vec<u32>,
}

impl Trace {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not such a file, or has fewer ids than it announces.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let mut words = lines(file, text).flat_map(|line| line.words);
        let header = "the number of nodes to trace";
        let first = words.next().ok_or_else(|| ended(file, text, header))?;
        let count: u64 = first.number(header)?;
        let mut nodes = Vec::new();
        for number in 1..=count {
            let expected = format!("the id of node {number} of {count} to trace");
            let word = words.next().ok_or_else(|| ended(file, text, &expected))?;
            nodes.push(word.number(&expected)?);
        }
        Ok(Self { nodes })
    }
}
