//! Faults of a text: each one sentence that says what is wrong, where, with which value, and what
//! to do.

use std::fmt;
use std::ops::Range;

use crate::words::sentence;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place where `span` starts in `text`.
    pub fn of(file: &str, text: &str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An error at a known value, whose line and column may still be unknown.
#[derive(Debug)]
pub enum Fault {
    /// An error of the parser, which knows the place.
    Span(Range<usize>, String),
    /// An error of the value at a path of keys, and of numbers in arrays.
    Path(Vec<String>, String),
}

impl Fault {
    /// A fault of the value at `path`.
    pub fn at<const N: usize>(path: [&dyn fmt::Display; N], message: String) -> Self {
        Self::Path(path.iter().map(ToString::to_string).collect(), message)
    }

    /// This fault, for a value in the table or list at `outer`.
    #[must_use]
    pub fn within(self, outer: &[&dyn fmt::Display]) -> Self {
        match self {
            Self::Path(path, message) => {
                Self::Path(outer.iter().map(ToString::to_string).chain(path).collect(), message)
            }
            known @ Self::Span(..) => known,
        }
    }

    /// An error of the parser of `text`, in plain words.
    pub fn of(error: &toml::de::Error, text: &str) -> Self {
        let span = error.span().unwrap_or(0..0);
        let value = text.get(span.clone()).unwrap_or_default();
        Self::Span(span, with_remedy(&sentence(error.message(), value)))
    }

    /// The sentence without its place.
    pub fn into_message(self) -> String {
        match self {
            Self::Span(_, message) | Self::Path(_, message) => message,
        }
    }

    /// The fault's place in `text`, the content of `file`, and its sentence.
    pub fn locate(self, file: &str, text: &str) -> Located {
        let (span, message) = match self {
            Self::Span(span, message) => (span, message),
            Self::Path(path, message) => (span_of(text, &path), message),
        };
        Located { place: Place::of(file, text, &span), message }
    }
}

/// A fault with its line and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The place.
    pub place: Place,
    /// A sentence that says what is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// The bytes that the value at `path` takes up, or those of the part of the path that exists.
fn span_of(text: &str, path: &[String]) -> Range<usize> {
    use toml::de::{DeTable, DeValue};
    let Ok(document) = DeTable::parse(text) else { return 0..0 };
    let mut span = 0..0;
    let root = toml::Spanned::new(0..0, DeValue::Table(document.into_inner()));
    let mut value = &root;
    for key in path {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get(key.as_str()),
            DeValue::Array(array) => key.parse().ok().and_then(|index: usize| array.get(index)),
            _ => None,
        };
        let Some(next) = next else { break };
        (value, span) = (next, next.span());
    }
    span
}

/// Adds the nearest name to what serde says of an unknown field or variant.
fn with_remedy(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let (Some(name), true) = (quoted.next(), unknown) else { return message.into() };
    let what = if message.starts_with("unknown field") { "field" } else { "word" };
    let known: Vec<_> = quoted.collect();
    format!("unknown {what} {name:?}{}", suggestion(name, &known))
}

/// The largest number of names that a message lists: a network may have thousands.
const MOST_NAMES: usize = 60;

/// "; did you mean X?" where a known name is near, else a list of the known names.
pub fn suggestion(name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        // An algorithm comes before its presets: timely, then timely:zhu.
        .map(|candidate| (candidate.contains(':'), candidate))
        .map(|(of, candidate)| (strsim::damerau_levenshtein(name, candidate), of, candidate))
        .filter(|(distance, _, candidate)| {
            // In a short name two letters are half of it: ndp is not nearly mcp.
            let starts = candidate.starts_with(name) || name.starts_with(**candidate);
            *distance <= if starts { 1 + candidate.len() / 3 } else { (candidate.len() / 3).max(1) }
        })
        .min();
    match nearest {
        Some((_, _, candidate)) => format!("; did you mean {candidate:?}?"),
        None if known.is_empty() => String::new(),
        None if known.len() > MOST_NAMES => {
            format!("; expected one of {}, ...", known[..MOST_NAMES].join(", "))
        }
        None => format!("; expected one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        let text = "a = 1\nµs = 2\n";
        let place = Place::of("f", text, &(text.find('2').unwrap()..0));
        assert_eq!((place.line, place.column), (2, 6));
    }

    #[test]
    fn nearest_name_or_all_of_them() {
        assert_eq!(suggestion("timley", &["timely", "line-rate"]), "; did you mean \"timely\"?");
        assert_eq!(suggestion("xyz", &["timely", "bbr"]), "; expected one of timely, bbr");
        assert_eq!(suggestion("bbrv2", &["timely", "bbr"]), "; did you mean \"bbr\"?");
        // An algorithm comes before its presets at an equal distance.
        assert_eq!(suggestion("aa", &["a:a", "aab"]), "; did you mean \"aab\"?");
        for name in ["powertcp", "ndp", "cdg"] {
            let said = suggestion(name, &["rtcp", "mcp", "bbr"]);
            assert_eq!(said, "; expected one of rtcp, mcp, bbr", "{name}");
        }
    }
}
