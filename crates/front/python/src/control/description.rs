//! The description of an algorithm in Python, of the words that its class has.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::Reads;
use incast_cc::param::{Info, Kind, Need, Transport};
use pyo3::prelude::*;

use super::parameters::kept;
use crate::errors::ParameterError;

/// The description with these words: name, summary, kind, signal, needs, transport and source.
pub(super) fn info(about: &BTreeMap<String, String>) -> PyResult<&'static Info> {
    let text = |key: &str| about.get(key).map_or("", |text| kept(text));
    let one_of = |key: &str, words: &[&str]| -> PyResult<usize> {
        let found = words.iter().position(|&word| word == text(key));
        found.ok_or_else(|| unknown(text("name"), key, text(key), words))
    };
    let kinds = [Kind::Rate, Kind::Window, Kind::Telemetry, Kind::Fixed];
    let kind = kinds[one_of("kind", &kinds.map(Kind::as_str))?];
    let transport = Transport::ALL[one_of("transport", &Transport::ALL.map(Transport::as_str))?];
    let mut needs = Vec::new();
    for word in text("needs").split_whitespace() {
        let found = NEEDS.iter().find(|(name, _)| *name == word);
        let words = NEEDS.map(|(name, _)| name);
        needs.push(found.ok_or_else(|| unknown(text("name"), "needs", word, &words))?.1);
    }
    Ok(Box::leak(Box::new(Info {
        name: text("name"),
        summary: text("summary"),
        kind,
        signal: text("signal"),
        needs: needs.leak(),
        transport,
        source: text("source"),
    })))
}

/// The reports with these words, without the report of sent packets.
pub(super) fn reads(name: &str, words: &BTreeSet<String>) -> PyResult<Reads> {
    for word in words {
        if !READS.contains(&word.as_str()) {
            return Err(unknown(name, "reads", word, &READS));
        }
    }
    let has = |word: &str| words.contains(word);
    let (delivery, nic_backlog, due) = (has("delivery"), has("nic_backlog"), has("due"));
    Ok(Reads { delivery, nic_backlog, due, ..Reads::NONE })
}

/// The reports that take a carrier extra work.
const READS: [&str; 3] = ["delivery", "nic_backlog", "due"];

/// The needs of algorithms, by the words that classes have for them.
const NEEDS: [(&str, Need); 6] = [
    ("ecn", Need::Ecn),
    ("notifications", Need::Notifications),
    ("telemetry", Need::Telemetry),
    ("lossless", Need::Lossless),
    ("each_acknowledged", Need::EachAcknowledged),
    ("deadlines", Need::Deadlines),
];

fn unknown(name: &str, key: &str, word: &str, words: &[&str]) -> PyErr {
    ParameterError::new_err(format!("{name}: {key} = {word:?} is not one of {}", words.join(", ")))
}
