//! GOAL as a text: a schedule for each rank, a statement a line.
//!
//! T. Hoefler, C. Siebert and A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009, and the
//! converter of `LogGOPSim` (`txt2bin`), whose grammar this reads.

use std::collections::HashMap;

use incast_cc::Span;
use incast_scenario::foreign::job::{ANY, Draft, JobGraph, MOST_NODES, Naming, Node, RankGraph};

use super::Opened;
use super::bytes::next_line;
use crate::ForeignError;
use crate::text::refused;

/// The statements of a rank.
const STATEMENTS: &str = "send, recv, calc, or A requires B";

pub(super) fn read(file: Opened) -> Result<JobGraph, ForeignError> {
    let Opened { name, mut bytes } = file;
    let mut reader = Reader {
        name: &name,
        number: 0,
        ranks: Vec::new(),
        announced: None,
        open: None,
        comment: false,
    };
    let mut line = String::new();
    while next_line(&name, bytes.as_mut(), &mut line, reader.number + 1)? {
        reader.number += 1;
        reader.line(&line)?;
    }
    let announced = reader.announced.unwrap_or(0);
    if reader.open.is_some() || reader.comment || reader.ranks.len() < announced {
        let reason = format!(
            "found the end of the file in rank {} of {announced}; expected the rest",
            reader.ranks.len()
        );
        return Err(refused(&name, reader.number.max(1), reason));
    }
    let ranks = reader.ranks;
    let files = vec![name];
    Ok(JobGraph { files, naming: Naming::Lines, ranks, groups: vec![], notes: vec![] })
}

struct Reader<'a> {
    name: &'a str,
    /// The number of the line.
    number: usize,
    ranks: Vec<RankGraph>,
    announced: Option<usize>,
    /// The rank that is being read, and the nodes of its labels.
    open: Option<(Draft, HashMap<Box<str>, u32>)>,
    /// Whether the line begins in a comment.
    comment: bool,
}

impl Reader<'_> {
    fn refused(&self, reason: impl Into<String>) -> ForeignError {
        refused(self.name, self.number, reason)
    }

    fn line(&mut self, line: &str) -> Result<(), ForeignError> {
        let mut words = Vec::with_capacity(12);
        let mut rest = line;
        loop {
            if self.comment {
                let Some(end) = rest.find("*/") else { break };
                (self.comment, rest) = (false, &rest[end + 2..]);
            }
            rest = rest.trim_start();
            if rest.is_empty() || rest.starts_with("//") {
                break;
            }
            if let Some(inside) = rest.strip_prefix("/*") {
                (self.comment, rest) = (true, inside);
                continue;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '{' || c == '}');
            let end = end.unwrap_or(rest.len()).max(1);
            words.push(&rest[..end]);
            rest = &rest[end..];
        }
        let Some(announced) = self.announced else { return self.header(&words) };
        match (words.as_slice(), &mut self.open) {
            ([], _) => Ok(()),
            (["}"], Some(_)) => {
                let (draft, _) = self.open.take().unwrap_or_default();
                self.ranks.push(draft.into());
                Ok(())
            }
            (["rank", number, "{"], None) => {
                let next = self.ranks.len();
                if number.parse() != Ok(next) || next >= announced {
                    let reason = format!(
                        "found rank {number}; expected rank {next}, of ranks 0 to {} in their order",
                        announced.saturating_sub(1)
                    );
                    return Err(self.refused(reason));
                }
                self.open = Some((Draft::default(), HashMap::new()));
                Ok(())
            }
            (_, None) => {
                let reason = format!("found {:?}; expected rank {} {{", words[0], self.ranks.len());
                Err(self.refused(reason))
            }
            (all, Some(_)) => self.statement(all),
        }
    }

    fn header(&mut self, words: &[&str]) -> Result<(), ForeignError> {
        match words {
            [] => Ok(()),
            ["num_ranks", count] => {
                let count = count.parse::<u32>();
                let count =
                    count.map_err(|_| self.refused("no number of ranks; expected num_ranks N"))?;
                self.announced = Some(count as usize);
                Ok(())
            }
            [word, ..] => Err(self.refused(format!("found {word:?}; expected num_ranks N"))),
        }
    }

    fn statement(&mut self, words: &[&str]) -> Result<(), ForeignError> {
        if let [later, word @ ("requires" | "irequires"), earlier] = words {
            let (later, earlier) = (self.label(later)?, self.label(earlier)?);
            if let Some((draft, _)) = &mut self.open {
                draft.wait(later, earlier, *word == "irequires");
            }
            return Ok(());
        }
        let (label, statement) = match words {
            [label, statement @ ..] if label.ends_with(':') => (label.strip_suffix(':'), statement),
            // A blank may stand before the colon.
            [label, ":", statement @ ..] => (Some(*label), statement),
            all => (None, all),
        };
        let node = self.node(statement)?;
        let line = self.number as u64;
        let Some((draft, labels)) = &mut self.open else { return Ok(()) };
        if draft.len() == MOST_NODES {
            return Err(self.refused(format!("more than {MOST_NODES} nodes of a rank")));
        }
        let number = draft.add(node, Some(line));
        if let Some(label) = label
            && labels.insert(label.into(), number).is_some()
        {
            return Err(self.refused(format!("label {label} is there twice; rename one")));
        }
        Ok(())
    }

    fn label(&self, label: &str) -> Result<u32, ForeignError> {
        let known = self.open.as_ref().and_then(|(_, labels)| labels.get(label));
        known.copied().ok_or_else(|| {
            self.refused(format!("no statement above has the label {label}; expected one"))
        })
    }

    fn node(&self, words: &[&str]) -> Result<Node, ForeignError> {
        match words {
            ["calc", time, options @ ..] => {
                let span = self.number(time, "a time in whole nanoseconds")?;
                let span = span.checked_mul(1_000).map(Span::from_ps);
                let span = span
                    .ok_or_else(|| self.refused("a time of more than 200 days; expected less"))?;
                let [_, cpu, _] = self.options(options, &["cpu"])?;
                Ok(Node::Compute { stream: self.stream(cpu)?, span })
            }
            ["send", size, "to", to, options @ ..] => {
                let (to, bytes) = (self.rank(to)?, self.size(size)?);
                let [tag, ..] = self.options(options, &["tag", "cpu", "nic"])?;
                Ok(Node::Send { to, tag: tag.unwrap_or(0), bytes })
            }
            ["recv", size, "from", from, options @ ..] => {
                let (from, bytes) = (self.rank(from)?, self.size(size)?);
                let [tag, ..] = self.options(options, &["tag", "cpu", "nic"])?;
                Ok(Node::Receive { from, tag: tag.unwrap_or(0), bytes })
            }
            [] => Err(self.refused(format!("a label alone; expected {STATEMENTS} after it"))),
            [word, ..] => Err(self.refused(format!("found {word:?} there; expected {STATEMENTS}"))),
        }
    }

    fn number(&self, word: &str, expected: &str) -> Result<u64, ForeignError> {
        word.parse().map_err(|_| self.refused(format!("found {word:?}; expected {expected}")))
    }

    fn size(&self, word: &str) -> Result<u64, ForeignError> {
        let digits = word.strip_suffix('b').unwrap_or("");
        let bytes = digits.parse().ok().filter(|&bytes| bytes <= super::goal_binary::MOST_BYTES);
        bytes.ok_or_else(|| {
            self.refused(format!("found {word:?}; expected a size such as 4096b, up to 10^15"))
        })
    }

    /// A rank, or -1 for any.
    fn rank(&self, word: &str) -> Result<u32, ForeignError> {
        self.number_or_any(word, "a rank")
    }

    fn number_or_any(&self, word: &str, expected: &str) -> Result<u32, ForeignError> {
        match word {
            "-1" => Ok(ANY),
            _ => word
                .parse()
                .map_err(|_| self.refused(format!("found {word:?}; expected {expected}"))),
        }
    }

    /// The values of `tag`, `cpu` and `nic`, in their order.
    fn options(
        &self,
        mut words: &[&str],
        known: &[&str],
    ) -> Result<[Option<u32>; 3], ForeignError> {
        let all = ["tag", "cpu", "nic"];
        let mut values = [None; 3];
        while let [key, value, rest @ ..] = words {
            let place = all.iter().position(|name| name == key && known.contains(name));
            let place = place.filter(|&place| values[place..].iter().all(Option::is_none));
            let Some(place) = place else { break };
            values[place] = Some(self.number_or_any(value, "a whole number")?);
            words = rest;
        }
        match words {
            [] => Ok(values),
            [word, ..] => {
                let known = known.join(" N, ");
                let reason =
                    format!("found {word:?}; expected {known} N in this order, or nothing");
                Err(self.refused(reason))
            }
        }
    }

    fn stream(&self, cpu: Option<u32>) -> Result<u16, ForeignError> {
        let cpu = cpu.unwrap_or(0);
        u8::try_from(cpu)
            .map(u16::from)
            .map_err(|_| self.refused(format!("cpu {cpu} is out of range; expected 0 to 255")))
    }
}
