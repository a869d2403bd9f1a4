//! The head of a recording: the algorithm with all its parameters, and the settings.

use std::collections::HashMap;
use std::fmt::Write;
use std::str::FromStr;

use incast_cc::{AnyAlgorithm, Bytes, Rate, Span};

use super::broken::BrokenRecording;
use crate::config::{Config, InitialTimeout, Nic, Recovery, Serialization};
use crate::signal::Signal;

/// The first words of each recording.
const MAGIC: &str = "incast recording";
/// The version that this code writes.
const VERSION: &str = "3";
/// The versions that it reads. In the first nothing is taken back; in the first two the line rate is
/// the most of a rate.
const READ: [&str; 3] = ["1", "2", VERSION];
/// The line between the head and the calls.
const BEGIN: &str = "begin";

/// The head of a recording, with the line after which calls follow.
pub(super) fn write(config: &Config, algorithm: &AnyAlgorithm) -> String {
    // All fields, so that a new one cannot be forgotten.
    let Config {
        segment,
        payload,
        recovery,
        reordering,
        header,
        line_rate,
        rate_cap,
        serialization,
        nic,
        ack_class,
        weights,
        ack_turnaround,
        ack_jitter,
        pacing_credit,
        rto_initial,
        rto_min,
        rto_max,
        stream: _, // no connection is a stream
        signal: _, // the RTT as measured
        seed,
        notification_interval,
        full_packets,
        oldest_first,
    } = config;
    let mut text = format!("{MAGIC} {VERSION}\nalgorithm {}\n", algorithm.name());
    for param in algorithm.params() {
        let mut value = String::new();
        // A string takes everything.
        algorithm.write(param.name, &mut value).ok();
        line(&mut text, &format!("{PARAMETER}{}", param.name), value);
    }
    line(&mut text, "segment", segment);
    line(&mut text, "payload", payload);
    line(&mut text, "recovery", word(RECOVERIES, recovery));
    line(&mut text, "reordering", reordering);
    line(&mut text, "header", header);
    line(&mut text, LINE_RATE, line_rate);
    line(&mut text, RATE_CAP, rate_cap);
    line(&mut text, "serialization", word(SERIALIZATIONS, serialization));
    line(&mut text, "nic", word(NICS, nic));
    line(&mut text, "ack_class", maybe(*ack_class));
    line(&mut text, "weights", weights.map(|weight| weight.to_string()).join(" "));
    line(&mut text, "ack_turnaround", ack_turnaround);
    line(&mut text, "ack_jitter", ack_jitter);
    line(&mut text, "pacing_credit", pacing_credit);
    match rto_initial {
        InitialTimeout::AtLeast(span) => line(&mut text, "rto_initial", format!("least {span}")),
        InitialTimeout::Fixed(span) => line(&mut text, "rto_initial", format!("fixed {span}")),
    }
    line(&mut text, "rto_min", rto_min);
    line(&mut text, "rto_max", rto_max);
    line(&mut text, "seed", seed);
    line(&mut text, "notification_interval", maybe(*notification_interval));
    line(&mut text, "full_packets", full_packets);
    line(&mut text, "oldest_first", oldest_first);
    text + BEGIN + "\n"
}

/// The prefix of the algorithm's parameters.
const PARAMETER: &str = "parameter.";
const LINE_RATE: &str = "line_rate";
const RATE_CAP: &str = "rate_cap";
const NONE: &str = "none";
const RECOVERIES: &[(&str, Recovery)] =
    &[("selective", Recovery::Selective), ("go-back-n", Recovery::GoBackN)];
const SERIALIZATIONS: &[(&str, Serialization)] =
    &[("line-rate", Serialization::LineRate), ("nothing", Serialization::Nothing)];
const NICS: &[(&str, Nic)] = &[
    ("packets", Nic::Packets),
    ("fifo", Nic::Fifo),
    ("segments", Nic::Segments),
    ("srpt", Nic::Srpt),
];

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    // A string takes everything.
    writeln!(text, "{name} {value}").ok();
}

fn maybe(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, of)| of == value).map_or(NONE, |(word, _)| word)
}

/// The head that was read.
pub(super) struct Head<'a> {
    pub(super) config: Config,
    pub(super) algorithm: AnyAlgorithm,
    /// The lines of calls, with those that end the recording.
    pub(super) body: &'a str,
    /// The number of lines before them.
    pub(super) lines: u64,
}

/// Reads the head of a recording.
pub(super) fn read(text: &str) -> Result<Head<'_>, BrokenRecording> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let version = first.strip_prefix(MAGIC).ok_or(BrokenRecording::Foreign)?.trim();
    if !READ.contains(&version) {
        return Err(BrokenRecording::Version(version.to_owned()));
    }
    let (mut values, mut lines, mut rest) = (HashMap::new(), 1, rest);
    loop {
        let (line, after) = rest.split_once('\n').ok_or(BrokenRecording::CutShort)?;
        (lines, rest) = (lines + 1, after);
        if line == BEGIN {
            break;
        }
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        values.insert(name, value);
    }
    if let (true, Some(&rate)) = (version != VERSION, values.get(LINE_RATE)) {
        values.entry(RATE_CAP).or_insert(rate);
    }
    let values = Values(values);
    let config = values.config()?;
    config.check().map_err(|error| BrokenRecording::Settings(error.to_string()))?;
    Ok(Head { config, algorithm: values.algorithm()?, body: rest, lines })
}

struct Values<'a>(HashMap<&'a str, &'a str>);

impl Values<'_> {
    fn text(&self, name: &str) -> Result<&str, BrokenRecording> {
        let value = self.0.get(name).copied();
        value.ok_or_else(|| BrokenRecording::Settings(format!("its head has no `{name}`")))
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, BrokenRecording> {
        let text = self.text(name)?;
        let fault = || BrokenRecording::Settings(format!("{text:?} is no value of `{name}`"));
        read(text).ok_or_else(fault)
    }

    fn value<T: FromStr>(&self, name: &str) -> Result<T, BrokenRecording> {
        self.read(name, |text| text.parse().ok())
    }

    fn maybe<T: FromStr>(&self, name: &str) -> Result<Option<T>, BrokenRecording> {
        self.read(name, |text| if text == NONE { Some(None) } else { text.parse().ok().map(Some) })
    }

    fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, BrokenRecording> {
        self.read(name, |text| {
            words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value)
        })
    }

    fn config(&self) -> Result<Config, BrokenRecording> {
        let rto_initial = self.read("rto_initial", |text| {
            let (word, span) = text.split_once(' ')?;
            let span = span.parse::<Span>().ok()?;
            match word {
                "least" => Some(InitialTimeout::AtLeast(span)),
                "fixed" => Some(InitialTimeout::Fixed(span)),
                _ => None,
            }
        })?;
        let weights = self.read("weights", |text| {
            let all: Option<Vec<u16>> = text.split(' ').map(|word| word.parse().ok()).collect();
            all?.try_into().ok()
        })?;
        Ok(Config {
            segment: self.value::<Bytes>("segment")?,
            payload: self.value::<Bytes>("payload")?,
            recovery: self.word("recovery", RECOVERIES)?,
            reordering: self.value("reordering")?,
            header: self.value::<Bytes>("header")?,
            line_rate: self.value::<Rate>(LINE_RATE)?,
            rate_cap: self.value::<Rate>(RATE_CAP)?,
            serialization: self.word("serialization", SERIALIZATIONS)?,
            nic: self.word("nic", NICS)?,
            ack_class: self.maybe("ack_class")?,
            weights,
            ack_turnaround: self.value("ack_turnaround")?,
            ack_jitter: self.value("ack_jitter")?,
            pacing_credit: self.value("pacing_credit")?,
            rto_initial,
            rto_min: self.value("rto_min")?,
            rto_max: self.value("rto_max")?,
            stream: crate::config::stream::Config::default(),
            signal: Signal::Rtt,
            seed: self.value("seed")?,
            notification_interval: self.maybe("notification_interval")?,
            full_packets: self.value("full_packets")?,
            oldest_first: self.value("oldest_first")?,
        })
    }

    fn algorithm(&self) -> Result<AnyAlgorithm, BrokenRecording> {
        let mut algorithm = self.read("algorithm", AnyAlgorithm::named)?;
        for param in algorithm.params() {
            let name = format!("{PARAMETER}{}", param.name);
            let text = self.text(&name)?;
            algorithm.set(param.name, text).map_err(|error| {
                BrokenRecording::Settings(format!("{text:?} of `{name}` {error}"))
            })?;
        }
        algorithm.check().map_err(|conflict| {
            let (name, other) = (conflict.name, conflict.other);
            BrokenRecording::Settings(format!("{name} {} {other}", conflict.rule))
        })?;
        Ok(algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::registry::NAMES;

    #[test]
    fn the_head_of_each_algorithm_with_each_preset_reads_back() {
        for name in NAMES {
            let default = AnyAlgorithm::named(name).unwrap();
            for preset in default.presets() {
                let mut algorithm = default;
                algorithm.apply_preset(preset.name).unwrap();
                let config = Config {
                    ack_class: Some(2),
                    weights: [0, 1, 2, 3, 4, 5, 6, 65_535],
                    reordering: Span::from_ps(300_000_001),
                    rate_cap: Rate::from_gbps(3),
                    serialization: Serialization::Nothing,
                    nic: Nic::Segments,
                    rto_initial: InitialTimeout::Fixed(Span::from_ms(50)),
                    notification_interval: Some(Span::from_us(50)),
                    seed: u64::MAX,
                    oldest_first: true,
                    ..Config::default()
                };
                let text = write(&config, &algorithm);
                let head = read(&text).unwrap();
                assert_eq!((head.config, head.algorithm), (config, algorithm), "{text}");
                assert_eq!((head.body, head.lines), ("", text.lines().count() as u64));
            }
        }
    }

    #[test]
    fn a_head_that_is_broken_is_named() {
        let text = write(&Config::default(), &AnyAlgorithm::named("timely").unwrap());
        let fault = |text: &str| read(text).err().unwrap().to_string();
        for (from, to, words) in [
            ("incast recording 3", "incast recording 4", "version 4"),
            ("incast recording 3", "something else", "no recording"),
            ("begin", "", "cut short"),
            ("segment 64KB", "segment 64 bytes", "\"64 bytes\" is no value of `segment`"),
            ("segment 64KB\n", "", "has no `segment`"),
            ("segment 64KB", "segment 0B", "the segment must be above zero"),
            ("weights 0 0", "weights 0", "`weights`"),
            ("nic packets", "nic pigeons", "`nic`"),
            ("rate_cap", "rate_cup", "has no `rate_cap`"),
            ("algorithm timely", "algorithm timley", "\"timley\" is no value of `algorithm`"),
            ("parameter.beta 0.8", "parameter.beta x", "`parameter.beta`"),
        ] {
            assert!(text.contains(from), "{from} {text}");
            let said = fault(&text.replacen(from, to, 1));
            assert!(said.contains(words), "{from}: {said}");
        }
    }

    #[test]
    fn the_line_rate_was_the_most_of_a_rate_before_the_third_version() {
        let text = write(&Config::default(), &AnyAlgorithm::named("timely").unwrap());
        let cap = format!("rate_cap {}\n", Rate::MAX);
        assert!(text.contains(&cap), "{text}");
        let old = text.replace("recording 3", "recording 2").replace(&cap, "");
        let config = read(&old).unwrap().config;
        assert_eq!(config.rate_cap, config.line_rate);
    }
}
