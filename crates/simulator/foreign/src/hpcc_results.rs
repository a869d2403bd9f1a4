//! Result files of HPCC's simulator, for comparison with the results of a scenario.

use incast_cc::{Bytes, Span, Time};

use super::ForeignError;
use super::text::{Word, lines};
use incast_table::Table;

/// The kinds of result files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Completed flows.
    Fct,
    /// PFC frames.
    Pfc,
}

impl Results {
    /// The kinds of files by name.
    pub const NAMES: [(&'static str, Self); 2] = [("hpcc-fct", Self::Fct), ("hpcc-pfc", Self::Pfc)];

    /// The kind of file with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, results)| results)
    }

    /// The kind of a file, by its first line; [`None`] if the file is empty or not a result file.
    pub fn of(text: &str) -> Option<Self> {
        let first = text.lines().find(|line| !line.trim().is_empty())?;
        let fct = Fct::parse("", first).is_ok().then_some(Self::Fct);
        fct.or_else(|| Pfc::parse("", first).is_ok().then_some(Self::Pfc))
    }

    /// The table in a file; `file` names it in errors. Nodes are named as in an imported topology,
    /// and columns as in a run's table of messages.
    ///
    /// # Errors
    /// The text is not such a file.
    pub fn table(self, file: &str, text: &str) -> Result<Table, ForeignError> {
        Ok(match self {
            Self::Fct => fct_table(&Fct::parse(file, text)?),
            Self::Pfc => pfc_table(&Pfc::parse(file, text)?),
        })
    }
}

fn fct_table(rows: &[Fct]) -> Table {
    let us = |time: Time| time.since(Time::ZERO).as_us_f64();
    Table::new("hpcc_fct", "one flow that was completed in a run of HPCC's simulator")
        .column(("source", "", "host that sent"), rows, |r| format!("host{}", r.from))
        .column(("destination", "", "host that received"), rows, |r| format!("host{}", r.to))
        .column(("source_port", "", "the sender's port"), rows, |r| u64::from(r.source_port))
        .column(("destination_port", "", "the receiver's port"), rows, |r| {
            u64::from(r.destination_port)
        })
        .column(("bytes", "B", "payload"), rows, |r| r.size.get())
        .column(("posted_us", "us", "its start"), rows, |r| us(r.start))
        .column(("completed_us", "us", "its end: the start and the completion time"), rows, |r| {
            us(r.start + r.fct)
        })
        .column(("completion_us", "us", "the flow completion time"), rows, |r| r.fct.as_us_f64())
        .column(
            (
                "ideal_us",
                "us",
                "completion alone in the network, as written there (standalone): the base RTT, and the \
                 payload with all headers but INT at the rate of the slowest link",
            ),
            rows,
            |r| r.ideal.as_us_f64(),
        )
        .column(("slowdown", "", "completion over ideal completion"), rows, Fct::slowdown)
}

fn pfc_table(rows: &[Pfc]) -> Table {
    Table::new("hpcc_pfc", "one PFC frame in a run of HPCC's simulator")
        .column(("time_us", "us", "when"), rows, |r| r.at.since(Time::ZERO).as_us_f64())
        .column(("node", "", "host or switch that was told"), rows, |r| {
            format!("{}{}", if r.switch { "switch" } else { "host" }, r.node)
        })
        .column(("interface", "", "its port; they count from 1"), rows, |r| u64::from(r.interface))
        .column(("event", "", "pause or resume"), rows, |r| {
            String::from(if r.pause { "pause" } else { "resume" })
        })
}

/// A line of the file of completed flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fct {
    /// The sender's id.
    pub from: u32,
    /// The receiver's id.
    pub to: u32,
    /// The sender's port, which tells flows of one pair apart.
    pub source_port: u32,
    /// The receiver's port.
    pub destination_port: u32,
    /// Payload.
    pub size: Bytes,
    /// The start.
    pub start: Time,
    /// The flow completion time.
    pub fct: Span,
    /// The completion time of the flow alone in the network: the base RTT, and the payload with all
    /// headers except INT at the rate of the slowest link.
    pub ideal: Span,
}

/// A line of the file of PFC frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// The time.
    pub at: Time,
    /// The id of the node that received the frame.
    pub node: u32,
    /// Whether the node is a switch.
    pub switch: bool,
    /// The node's interface; interfaces count from 1.
    pub interface: u32,
    /// Whether the frame says to pause, or to go on.
    pub pause: bool,
}

const FCT_COLUMNS: &str = "sip dip sport dport size_bytes start_ns fct_ns standalone_fct_ns";
const PFC_COLUMNS: &str = "time_ns node node_type interface type";

impl Fct {
    /// Reads the completed flows in `text`; `file` names it in errors. Hosts are addresses, as in
    /// the original, or ids, as in its descendants, which may have a ninth column.
    ///
    /// # Errors
    /// The text is not such a file.
    pub fn parse(file: &str, text: &str) -> Result<Vec<Self>, ForeignError> {
        let row = |mut line: super::text::Line<'_>| {
            if line.words.len() == 9 {
                line.words.pop();
            }
            let [from, to, sport, dport, size, start, fct, ideal] = line.columns(FCT_COLUMNS)?;
            let row = Self {
                from: host(from)?,
                to: host(to)?,
                source_port: sport.number("a port")?,
                destination_port: dport.number("a port")?,
                size: size.size()?,
                start: Time::from_ps(nanoseconds(start)?.as_ps()),
                fct: nanoseconds(fct)?,
                ideal: nanoseconds(ideal)?,
            };
            if row.ideal.is_zero() {
                return Err(ideal.unexpected("a time above zero"));
            }
            Ok(row)
        };
        lines(file, text).map(row).collect()
    }

    /// The slowdown: the completion time over the one alone in the network.
    pub fn slowdown(&self) -> f64 {
        self.fct.as_ps() as f64 / self.ideal.as_ps() as f64
    }
}

impl Pfc {
    /// Reads the PFC frames in `text`; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not such a file.
    pub fn parse(file: &str, text: &str) -> Result<Vec<Self>, ForeignError> {
        let row = |line: super::text::Line<'_>| {
            let [time, node, kind, interface, pause] = line.columns(PFC_COLUMNS)?;
            Ok(Self {
                at: Time::from_ps(nanoseconds(time)?.as_ps()),
                node: node.number("the id of a node")?,
                switch: flag(kind, "0 for a host or 1 for a switch")?,
                interface: interface.number("the number of an interface")?,
                pause: flag(pause, "0 for go on or 1 for pause")?,
            })
        };
        lines(file, text).map(row).collect()
    }
}

fn flag(word: Word<'_>, expected: &str) -> Result<bool, ForeignError> {
    match word.text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(word.unexpected(expected)),
    }
}

fn nanoseconds(word: Word<'_>) -> Result<Span, ForeignError> {
    word.exact(1_000, "a time in nanoseconds").map(Span::from_ps)
}

/// A host by its id, or by its address 11.x.y.1, where x and y count ids.
fn host(word: Word<'_>) -> Result<u32, ForeignError> {
    let expected = "a host: its id, or its address such as 0b000101";
    if word.text.len() != 8 {
        return word.number(expected);
    }
    let address = u32::from_str_radix(word.text, 16).map_err(|_| word.unexpected(expected))?;
    match address.checked_sub(0x0b00_0001) {
        Some(offset) if offset % 256 == 0 => Ok(offset / 256),
        _ => Err(word.unexpected(expected)),
    }
}
