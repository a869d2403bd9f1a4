//! The flow files of HPCC's simulator and its relatives: the number of flows, then a line for each.
//!
//! HPCC's lines are `src dst priority_group dst_port size_bytes start_seconds`. ConWeave's have no
//! port. Those of ns3-rdma, from which HPCC's simulator was made, are
//! `src dst priority_group packets start_seconds end_seconds`.

use incast_cc::{Bytes, Span};

use super::text::{Line, Word, ended, lines};
use super::{Flow, ForeignError, Start};

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Flows {
    /// The flows in the file's order, which is that of their starts.
    pub flows: Vec<Message>,
    /// ns3-rdma: the payload of a packet.
    pub payload: Option<Bytes>,
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
    /// The receiver's port; 0 in formats without ports.
    pub port: u32,
    /// Payload.
    pub size: Bytes,
    /// The start, to the nearest picosecond.
    pub start: Span,
    /// ns3-rdma: the end, at which the sender stops whatever is left.
    pub end: Option<Span>,
    /// The line in the file.
    pub line: usize,
}

const COLUMNS: &str = "src dst priority_group dst_port size_bytes start_seconds";
const RDMA_COLUMNS: &str = "src dst priority_group packets start_seconds end_seconds";

/// The payload of a packet in ns3-rdma if its configuration does not say: `PACKET_PAYLOAD_SIZE`.
pub(crate) const RDMA_PAYLOAD: Bytes = Bytes::new(1_000);

impl Message {
    /// A flow of this line between two hosts in a priority group, still without a size and a start.
    fn between([from, to, group]: [Word<'_>; 3], line: usize) -> Result<Self, ForeignError> {
        let flow = Self {
            from: from.number("the id of the sending host")?,
            to: to.number("the id of the receiving host")?,
            group: group.number("a priority group, from 0 to 7")?,
            port: 0,
            size: Bytes::ZERO,
            start: Span::ZERO,
            end: None,
            line,
        };
        if flow.group > 7 {
            return Err(group.unexpected("a priority group, from 0 to 7"));
        }
        if flow.from == flow.to {
            return Err(to.refused(format!("host {} sends to itself", flow.to)));
        }
        Ok(flow)
    }
}

impl Flows {
    /// Reads `text` as HPCC's flows, or as ConWeave's, which have no port; `file` names it in
    /// errors.
    ///
    /// # Errors
    /// The text is not such a file, or is inconsistent.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let mut last: Option<Message> = None;
        let count = lines(file, text).next().and_then(|line| line.words[0].number("").ok());
        let mut announced = lines(file, text).skip(1).take(count.unwrap_or(0));
        let without_port = announced.all(|line| line.words.len() == 5);
        Self::read(file, text, |line| {
            let (ends, port, [size, start]) = match line.words.as_slice() {
                &[from, to, group, size, start] if without_port => {
                    ([from, to, group], 0, [size, start])
                }
                _ => {
                    let [from, to, group, port, size, start] = line.columns(COLUMNS)?;
                    ([from, to, group], port.number("a port of the receiver")?, [size, start])
                }
            };
            let mut flow = Message::between(ends, line.number)?;
            flow.port = port;
            flow.size = size.size()?;
            flow.start = start.seconds("a start in seconds")?;
            // HPCC's simulator reads a flow when the previous one has started, and cannot go back
            // in time.
            if let Some(last) = last.replace(flow)
                && flow.start < last.start
            {
                let reason = format!(
                    "a start at {} after one at {} in line {}; sort the flows by their start, as \
                     HPCC's simulator needs them",
                    flow.start, last.start, last.line
                );
                return Err(start.refused(reason));
            }
            Ok(flow)
        })
    }

    /// Reads `text` as the flows of ns3-rdma, whose packets have this payload.
    ///
    /// # Errors
    /// The text is not such a file, or is inconsistent.
    pub fn rdma(file: &str, text: &str, payload: Bytes) -> Result<Self, ForeignError> {
        let flows = Self::read(file, text, |line| {
            let [from, to, group, packets, start, end] = line.columns(RDMA_COLUMNS)?;
            let mut flow = Message::between([from, to, group], line.number)?;
            let expected = "a number of packets, from 1 to 4294967295";
            match packets.number::<u32>(expected)? {
                0 => return Err(packets.unexpected(expected)),
                count => flow.size = payload * u64::from(count),
            }
            flow.start = start.seconds("a start in seconds")?;
            let until = end.time("an end in seconds")?;
            if until <= flow.start {
                let reason = format!("an end at {until}, not after the start at {}", flow.start);
                return Err(end.refused(reason));
            }
            flow.end = Some(until);
            Ok(flow)
        })?;
        Ok(Self { payload: Some(payload), ..flows })
    }

    fn read(
        file: &str,
        text: &str,
        mut flow: impl FnMut(&Line<'_>) -> Result<Message, ForeignError>,
    ) -> Result<Self, ForeignError> {
        let mut lines = lines(file, text);
        let header = "the number of flows";
        let first = lines.next().ok_or_else(|| ended(file, text, header))?;
        let [announced] = first.columns(header)?;
        let count: u64 = announced.number(header)?;
        let mut flows = Vec::new();
        for number in 1..=count {
            let line = lines.next().ok_or_else(|| {
                ended(
                    file,
                    text,
                    &format!("flow {number} of the {count} announced in line {}", announced.line),
                )
            })?;
            flows.push(flow(&line)?);
        }
        let rest = lines.next().map(|line| line.number);
        Ok(Self { flows, payload: None, rest })
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
