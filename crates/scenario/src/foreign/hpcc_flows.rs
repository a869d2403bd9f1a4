//! The flow file of HPCC's simulator: the number of flows, then for each a line
//! `src dst priority_group dst_port size_bytes start_seconds`.

use incast_cc::{Bytes, Span};

use super::text::{ended, lines};
use super::{Flow, ForeignError, Start};

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Flows {
    /// The flows in the file's order, which is that of their starts.
    pub flows: Vec<Message>,
    /// The last line that was read, if more lines follow.
    pub rest: Option<usize>,
}

/// A flow of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender's id.
    pub from: u32,
    /// The receiver's id.
    pub to: u32,
    /// The priority group: the queue of every port. 3 is the usual one of data.
    pub group: u32,
    /// The receiver's port.
    pub port: u32,
    /// Payload.
    pub size: Bytes,
    /// The start, to the nearest picosecond.
    pub start: Span,
    /// The line in the file.
    pub line: usize,
}

const COLUMNS: &str = "src dst priority_group dst_port size_bytes start_seconds";

impl Flows {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not such a file, or is inconsistent.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let mut lines = lines(file, text);
        let header = "the number of flows";
        let first = lines.next().ok_or_else(|| ended(file, text, header))?;
        let [announced] = first.columns(header)?;
        let count: u64 = announced.number(header)?;
        let mut flows: Vec<Message> = Vec::new();
        for number in 1..=count {
            let line = lines.next().ok_or_else(|| {
                ended(
                    file,
                    text,
                    &format!("flow {number} of the {count} announced in line {}", announced.line),
                )
            })?;
            let [from, to, group, port, size, start] = line.columns(COLUMNS)?;
            let flow = Message {
                from: from.number("the id of the sending host")?,
                to: to.number("the id of the receiving host")?,
                group: group.number("a priority group, from 0 to 7")?,
                port: port.number("a port of the receiver")?,
                size: size.size()?,
                start: start.seconds("a start in seconds")?,
                line: line.number,
            };
            if flow.group > 7 {
                return Err(group.unexpected("a priority group, from 0 to 7"));
            }
            if flow.from == flow.to {
                return Err(to.refused(format!("host {} sends to itself", flow.to)));
            }
            // HPCC's simulator reads a flow when the previous one has started, and cannot go back
            // in time.
            if let Some(last) = flows.last()
                && flow.start < last.start
            {
                let reason = format!(
                    "a start at {} after one at {} in line {}; sort the flows by their start, as \
                     HPCC's \
                     simulator needs them",
                    flow.start, last.start, last.line
                );
                return Err(start.refused(reason));
            }
            flows.push(flow);
        }
        Ok(Self { flows, rest: lines.next().map(|line| line.number) })
    }

    /// The flows of a scenario between hosts that are named by their ids.
    pub fn named(&self) -> Vec<Flow> {
        let flow = |message: &Message| Flow {
            from: format!("host{}", message.from),
            to: format!("host{}", message.to),
            start: Start::At(message.start),
            size: Some(message.size),
            id: None,
            group: Some(message.group),
            priority: None,
            line: message.line,
        };
        self.flows.iter().map(flow).collect()
    }
}
