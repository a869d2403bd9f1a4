//! The connection matrix of htsim (`.cm`): the numbers of nodes, connections, triggers and
//! failures, then a line for each connection, trigger and failure, in any order.

use std::collections::BTreeMap;

use incast_cc::{Bytes, Span};

use super::ForeignError;
use super::text::{Line, MOST, Word, ended, lines};

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The number of hosts.
    pub nodes: u32,
    /// The connections in the file's order.
    pub connections: Vec<Connection>,
    /// The triggers by their ids.
    pub triggers: BTreeMap<u32, Trigger>,
    /// The missing links.
    pub failures: Vec<Failure>,
    /// Whether starts are in microseconds, as in old files, and not in picoseconds.
    pub microseconds: bool,
}

/// A connection of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The connection's id, if it has one.
    pub id: Option<u32>,
    /// The start.
    pub start: When,
    /// Payload; a connection without any never ends.
    pub size: Option<Bytes>,
    /// The trigger that fires when the sender knows that all payload has arrived.
    pub send_done: Option<u32>,
    /// The trigger that fires when the receiver has all payload.
    pub recv_done: Option<u32>,
    /// The priority at the receiver, which serves low numbers first in protocols that allow it.
    pub priority: Option<u32>,
    /// The line in the file.
    pub line: usize,
}

/// The start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At a time.
    At(Span),
    /// When a trigger fires.
    Trigger(u32),
}

/// A trigger of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The effect of the trigger.
    pub kind: TriggerKind,
    /// The line in the file.
    pub line: usize,
}

/// The effect of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// Fires once, and starts all connections that wait for it.
    Oneshot,
    /// Fires repeatedly, and starts one more waiting connection each time.
    Multishot,
    /// Fires when it has been reached this many times, and starts all connections that wait for it.
    Barrier(u32),
}

/// A link that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The number of an aggregation switch.
    pub switch: u64,
    /// The number of its link up.
    pub link: u64,
    /// The line in the file.
    pub line: usize,
}

impl Matrix {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not such a file, or is inconsistent.
    pub fn parse(file: &str, text: &str) -> Result<Self, ForeignError> {
        let lines = || lines(file, text).filter(|line| !line.words[0].text.starts_with('#'));
        let mut header: BTreeMap<&str, Word<'_>> = BTreeMap::new();
        for line in lines().take_while(|line| !is_entry(line)) {
            let [key, value] = line.columns("KEY NUMBER")?;
            if !["Nodes", "Connections", "Triggers", "Failures"].contains(&key.text) {
                return Err(key.unexpected(
                    "Nodes, Connections, Triggers, Failures or a connection SRC->DST",
                ));
            }
            if header.insert(key.text, value).is_some() {
                return Err(key.refused(format!("{} is there twice", key.text)));
            }
        }
        let nodes = header
            .get("Nodes")
            .ok_or_else(|| ended(file, text, "Nodes in the header, which is missing"))?;
        let nodes: u32 = nodes.number("the number of nodes")?;
        if !(2..=MOST).contains(&u64::from(nodes)) {
            return Err(header["Nodes"].unexpected(format!("a number of nodes from 2 to {MOST}")));
        }
        let entries = || lines().skip_while(|line| !is_entry(line));
        // A fraction of a picosecond makes no sense: such files are from when starts were in
        // microseconds.
        let microseconds = entries().any(|line| {
            let pairs = line.words.iter().zip(line.words.iter().skip(1));
            pairs.clone().any(|(key, value)| key.text == "start" && value.text.contains('.'))
        });
        let mut matrix = Self {
            nodes,
            connections: vec![],
            triggers: BTreeMap::new(),
            failures: vec![],
            microseconds,
        };
        for line in entries() {
            match line.words[0].text {
                "trigger" => matrix.trigger(&line)?,
                "failure" => matrix.failures.push(failure(&line)?),
                _ => {
                    let connection = matrix.connection(&line)?;
                    matrix.connections.push(connection);
                }
            }
        }
        for (key, count) in [
            ("Connections", matrix.connections.len()),
            ("Triggers", matrix.triggers.len()),
            ("Failures", matrix.failures.len()),
        ] {
            match header.get(key) {
                None if count == 0 => {}
                None => {
                    return Err(ended(
                        file,
                        text,
                        &format!("{key} {count} in the header, which is missing"),
                    ));
                }
                Some(word) if word.number::<usize>("a number")? == count => {}
                Some(word) => {
                    return Err(word.refused(format!(
                        "{key} {} are announced, but {count} are there",
                        word.text
                    )));
                }
            }
        }
        Ok(matrix)
    }

    fn connection(&self, line: &Line<'_>) -> Result<Connection, ForeignError> {
        let first = line.words[0];
        let expected = "a connection SRC->DST, trigger or failure";
        let (from, to) = first.text.split_once("->").ok_or_else(|| first.unexpected(expected))?;
        let node = |text| first.part(text).node(self.nodes);
        let (from, to) = (node(from)?, node(to)?);
        if from == to {
            return Err(first.refused(format!("node {from} sends to itself")));
        }
        let mut connection = Connection {
            from,
            to,
            id: None,
            start: When::At(Span::MAX),
            size: None,
            send_done: None,
            recv_done: None,
            priority: None,
            line: line.number,
        };
        let mut fields = Fields::of(line);
        while let Some((key, value)) = fields.next()? {
            match key.text {
                "start" => {
                    let unit = if self.microseconds { 1_000_000 } else { 1 };
                    let expected = "a start in picoseconds, up to 1000 seconds";
                    let start = Span::from_ps(value.nearest(unit, expected)?);
                    if start > Span::from_secs(1_000) {
                        return Err(value.unexpected(expected));
                    }
                    connection.start = When::At(start);
                }
                "trigger" => connection.start = When::Trigger(id(value)?),
                "size" => connection.size = value.size_if_any()?,
                "id" => connection.id = Some(id(value)?),
                "send_done_trigger" => connection.send_done = Some(id(value)?),
                "recv_done_trigger" => connection.recv_done = Some(id(value)?),
                "prio" => connection.priority = Some(value.number("a priority")?),
                _ => {
                    return Err(key.unexpected(
                        "id, start, trigger, size, send_done_trigger, recv_done_trigger or prio",
                    ));
                }
            }
        }
        if !fields.seen.contains(&"size") {
            let reason = "no size, which htsim leaves undefined; give it one, or 0 for a connection \
                          without end";
            return Err(line.refused(reason));
        }
        match (fields.seen.contains(&"start"), fields.seen.contains(&"trigger")) {
            (true, true) => Err(line.refused("a start and a trigger; take one out")),
            (false, false) => Err(line.refused("neither a start nor a trigger; add one")),
            _ => Ok(connection),
        }
    }

    fn trigger(&mut self, line: &Line<'_>) -> Result<(), ForeignError> {
        let (mut number, mut count, mut kind) = (None, None, None);
        let mut words = line.words.iter().skip(1);
        while let Some(word) = words.next() {
            match word.text {
                "id" | "count" => {
                    let value = words
                        .next()
                        .ok_or_else(|| word.refused(format!("{} has no value", word.text)))?;
                    let slot = if word.text == "id" { &mut number } else { &mut count };
                    *slot = Some(id(*value)?);
                }
                "oneshot" | "multishot" | "barrier" if kind.is_none() => kind = Some(word),
                _ => {
                    return Err(
                        word.unexpected("id, count, or one of oneshot, multishot and barrier")
                    );
                }
            }
        }
        let number =
            number.ok_or_else(|| line.refused("a trigger without an id; add one, such as id 1"))?;
        let kind = match (kind.map(|word| word.text), count) {
            (Some("oneshot"), _) => TriggerKind::Oneshot,
            (Some("multishot"), _) => TriggerKind::Multishot,
            (Some(_), Some(count)) => TriggerKind::Barrier(count),
            (Some(_), None) => {
                return Err(line.refused("a barrier without a count; add one, such as count 2"));
            }
            (None, _) => {
                return Err(
                    line.refused("a trigger without a kind; add oneshot, multishot or barrier")
                );
            }
        };
        match self.triggers.insert(number, Trigger { kind, line: line.number }) {
            Some(_) => Err(line.refused(format!("trigger {number} is there twice"))),
            None => Ok(()),
        }
    }
}

fn is_entry(line: &Line<'_>) -> bool {
    let first = line.words[0].text;
    first.contains("->") || first == "trigger" || first == "failure"
}

fn failure(line: &Line<'_>) -> Result<Failure, ForeignError> {
    let (mut switch, mut link) = (None, None);
    let mut fields = Fields::of(line);
    while let Some((key, value)) = fields.next()? {
        match key.text {
            "switch_type" if value.text == "AGG" => {}
            "switch_type" if ["TOR", "CORE"].contains(&value.text) => {
                return Err(value.refused(format!(
                    "a failure at a {} switch; htsim knows failures of the links up of AGG \
                     switches only",
                    value.text
                )));
            }
            "switch_type" => return Err(value.unexpected("AGG")),
            "switch_id" => switch = Some(value.number("the number of a switch")?),
            "link_id" => link = Some(value.number("the number of a link")?),
            _ => return Err(key.unexpected("switch_type, switch_id or link_id")),
        }
    }
    match (fields.seen.contains(&"switch_type"), switch, link) {
        (true, Some(switch), Some(link)) => Ok(Failure { switch, link, line: line.number }),
        _ => Err(line.refused("a failure needs switch_type, switch_id and link_id")),
    }
}

/// Reads the id of a connection or trigger, or a count: from 1.
fn id(word: Word<'_>) -> Result<u32, ForeignError> {
    match word.number("a number from 1")? {
        0 => Err(word.unexpected("a number from 1")),
        id => Ok(id),
    }
}

/// Keys with a value each; a key may appear only once.
struct Fields<'a> {
    words: std::vec::IntoIter<Word<'a>>,
    seen: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    fn of(line: &Line<'a>) -> Self {
        let mut words = line.words.clone().into_iter();
        words.next();
        Self { words, seen: vec![] }
    }

    fn next(&mut self) -> Result<Option<(Word<'a>, Word<'a>)>, ForeignError> {
        let Some(key) = self.words.next() else { return Ok(None) };
        if key.text == "addon" {
            return Err(key.refused(
                "addon has no counterpart in a scenario, whose flows run once; take it out",
            ));
        }
        if self.seen.contains(&key.text) {
            return Err(key.refused(format!("{} is there twice", key.text)));
        }
        self.seen.push(key.text);
        let value = self.words.next();
        value
            .map(|value| Some((key, value)))
            .ok_or_else(|| key.refused(format!("{} has no value", key.text)))
    }
}
