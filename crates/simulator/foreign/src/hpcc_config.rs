//! The configuration file of HPCC's simulator: a `KEY value...` in each line.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Rate, Span};

use super::ForeignError;
use super::text::{Line, Word, lines};

/// A value and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// The line in the file.
    pub line: usize,
}

/// The content of the file. Absent keys have the defaults of HPCC's simulator.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The congestion control: `CC_MODE`.
    pub cc_mode: Option<Set<u32>>,
    /// On-off settings: numbers that are 0 or not.
    pub flags: BTreeMap<&'static str, bool>,
    /// Rates.
    pub rates: BTreeMap<&'static str, Rate>,
    /// Times, read in their units; `SIMULATOR_STOP_TIME` and `FLOWGEN_STOP_TIME` are two of them.
    pub times: BTreeMap<&'static str, Span>,
    /// Whole numbers.
    pub counts: BTreeMap<&'static str, u32>,
    /// Numbers with a fraction, as written.
    pub fractions: BTreeMap<&'static str, String>,
    /// The payload of a packet: `PACKET_PAYLOAD_SIZE`.
    pub payload: Option<Bytes>,
    /// The buffer of each switch: `BUFFER_SIZE`.
    pub buffer: Option<Bytes>,
    /// Marking by rate: `KMIN_MAP` and `KMAX_MAP` in bytes, `PMAX_MAP` in millionths.
    pub maps: BTreeMap<&'static str, Set<BTreeMap<u64, u64>>>,
    /// ns3-rdma's marking for all rates: `KMIN` and `KMAX` in bytes, `PMAX` in millionths.
    pub marks: BTreeMap<&'static str, u64>,
    /// A link failure: `LINK_DOWN`.
    pub link_down: Option<Set<LinkDown>>,
    /// The names of files, by key.
    pub files: BTreeMap<String, String>,
    /// Keys of maps with more pairs than they announce, which that simulator does not read: the key
    /// and its line.
    pub surplus: Vec<Set<&'static str>>,
    /// Keys without a counterpart here, with their values.
    pub others: Vec<(String, String)>,
}

/// A link that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkDown {
    /// The time of the failure.
    pub at: Span,
    /// The ids of both nodes.
    pub ends: [u32; 2],
}

/// On-off settings.
const FLAGS: [&str; 8] = [
    "ENABLE_QCN",
    "ENABLE_PFC",
    "ENABLE_IRN",
    "USE_DYNAMIC_PFC_THRESHOLD",
    "CLAMP_TARGET_RATE",
    "FAST_REACT",
    "ACK_HIGH_PRIO",
    "ENABLE_TRACE",
];
const RATES: [&str; 3] = ["RATE_AI", "RATE_HAI", "MIN_RATE"];
/// Ends of a run: of all, and ConWeave's, at which flows stop to start.
pub(crate) const ENDS: [&str; 2] = ["SIMULATOR_STOP_TIME", "FLOWGEN_STOP_TIME"];
/// Times, with the length of their unit in picoseconds.
const TIMES: [(&str, u64); 4] = [
    ("ALPHA_RESUME_INTERVAL", 1_000_000),
    ("RP_TIMER", 1_000_000),
    ("RATE_DECREASE_INTERVAL", 1_000_000),
    ("CNP_INTERVAL", 1_000_000),
];
const COUNTS: [&str; 4] = ["FAST_RECOVERY_TIMES", "MI_THRESH", "L2_ACK_INTERVAL", "BYTE_COUNTER"];
const FRACTIONS: [&str; 4] = ["EWMA_GAIN", "DCTCP_GAIN", "U_TARGET", "ERROR_RATE_PER_LINK"];
/// ns3-rdma's marking, with the scale of the values: packets of 1,030 B, and millionths.
const MARKS: [(&str, u64); 3] = [("KMIN", 1_030), ("KMAX", 1_030), ("PMAX", 1_000_000)];
/// Maps, with the scale of their values: kilobytes of 1,000 bytes, and millionths.
const MAPS: [(&str, u64); 3] = [("KMIN_MAP", 1_000), ("KMAX_MAP", 1_000), ("PMAX_MAP", 1_000_000)];

impl Config {
    /// Reads `text`; `file` names it in errors. As in HPCC's simulator, the last value of a
    /// repeated key counts.
    ///
    /// # Errors
    /// A known key has no value, or an invalid one.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let mut config = Self::default();
        for line in lines(file, text) {
            let (key, values) = (line.words[0].text, &line.words[1..]);
            if key.starts_with('#') {
                continue;
            }
            if !is_key(key) {
                return Err(line.words[0].unexpected("a key in capital letters, such as CC_MODE"));
            }
            let one = || match values {
                [value] => Ok(*value),
                [] => Err(line.unexpected(format!("{key} alone"), format!("{key} and a value"))),
                [_, more, ..] => {
                    Err(more.unexpected(format!("the end of the line: {key} has one value")))
                }
            };
            if let Some(key) = named(&FLAGS, key) {
                config.flags.insert(key, one()?.number::<u32>("0 or 1")? != 0);
            } else if let Some(key) = named(&RATES, key) {
                config.rates.insert(key, one()?.rate()?);
            } else if let Some(key) = named(&ENDS, key) {
                config.times.insert(key, one()?.time("a time")?);
            } else if let Some(&(key, unit)) = TIMES.iter().find(|(known, _)| *known == key) {
                config.times.insert(key, Span::from_ps(one()?.nearest(unit, "a time")?));
            } else if let Some(&(key, scale)) = MARKS.iter().find(|(known, _)| *known == key) {
                config.marks.insert(key, one()?.nearest(scale, "a number")?);
            } else if let Some(key) = named(&COUNTS, key) {
                config.counts.insert(key, one()?.number("a whole number")?);
            } else if let Some(key) = named(&FRACTIONS, key) {
                let value = one()?;
                value.nearest(1, "a number")?;
                config.fractions.insert(key, value.text.to_owned());
            } else if let Some(&(key, scale)) = MAPS.iter().find(|(known, _)| *known == key) {
                let (value, all) = map(&line, scale)?;
                config.maps.insert(key, Set { value, line: line.number });
                config.surplus.retain(|other| other.value != key);
                config.surplus.extend((!all).then_some(Set { value: key, line: line.number }));
            } else if key == "CC_MODE" {
                config.cc_mode =
                    Some(Set { value: one()?.number("a whole number")?, line: line.number });
            } else if key == "PACKET_PAYLOAD_SIZE" {
                let payload = one()?;
                let expected = "a payload from 1 to 9000 bytes";
                let size = payload.exact(1, expected)?;
                if !(1..=9_000).contains(&size) {
                    return Err(payload.unexpected(expected));
                }
                config.payload = Some(Bytes::new(size));
            } else if key == "BUFFER_SIZE" {
                let buffer = one()?;
                let expected = "a buffer in MiB, above zero and at most 100000";
                let size = buffer.nearest(1 << 20, expected)?;
                if !(1..=100_000 << 20).contains(&size) {
                    return Err(buffer.unexpected(expected));
                }
                config.buffer = Some(Bytes::new(size));
            } else if key == "LINK_DOWN" {
                config.link_down = link_down(&line)?;
            } else if key.ends_with("_FILE") {
                config.files.insert(key.to_owned(), one()?.text.to_owned());
            } else {
                let values: Vec<_> = values.iter().map(|word| word.text).collect();
                config.others.push((key.to_owned(), values.join(" ")));
            }
        }
        Ok(config)
    }

    /// Whether the keys are those of ns3-rdma, which has one kind of congestion control and one
    /// marking for all rates.
    pub(crate) fn is_rdma(&self) -> bool {
        !self.marks.is_empty() || self.fractions.contains_key("DCTCP_GAIN")
    }

    /// The value of a flag, or `default`, its value in HPCC's simulator when absent.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        self.flags.get(key).copied().unwrap_or(default)
    }
}

/// Whether a word may be a key.
pub(crate) fn is_key(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn named(known: &[&'static str], key: &str) -> Option<&'static str> {
    known.iter().find(|known| **known == key).copied()
}

/// Reads `count`, then that many pairs of a rate in bits per second and a value. Tells whether the
/// line ends there.
fn map(line: &Line<'_>, scale: u64) -> Result<(BTreeMap<u64, u64>, bool), ForeignError> {
    let mut words = line.words[1..].iter();
    let short = || {
        line.unexpected("the end of the line", "a count, and so many pairs of a rate and a value")
    };
    let count: usize = words.next().ok_or_else(short)?.number("the number of pairs")?;
    let mut map = BTreeMap::new();
    for _ in 0..count {
        let (rate, value): (Word<'_>, Word<'_>) =
            (*words.next().ok_or_else(short)?, *words.next().ok_or_else(short)?);
        map.insert(rate.number("a rate in bits per second")?, value.nearest(scale, "a number")?);
    }
    Ok((map, words.next().is_none()))
}

/// Reads the time in microseconds after 2 s, when HPCC's traffic usually starts, and two nodes. A
/// time of zero is no failure.
fn link_down(line: &Line<'_>) -> Result<Option<Set<LinkDown>>, ForeignError> {
    let [_, time, a, b] = line.columns("LINK_DOWN microseconds node node")?;
    let after = Span::from_us(time.number("microseconds after 2 s")?);
    let node = |word: Word<'_>| word.number("the id of a node");
    let value = LinkDown { at: Span::from_secs(2) + after, ends: [node(a)?, node(b)?] };
    Ok((!after.is_zero()).then_some(Set { value, line: line.number }))
}
