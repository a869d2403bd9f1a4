//! Messages of the parser, in the words of this project.
//!
//! serde says in types of Rust which value it expected, and does not tell dates from tables. The
//! text at the place of an error shows the actual value.

/// The largest number of characters of a value that a message shows.
const MOST_SHOWN: usize = 40;

/// Names of types in serde's messages, each with the words for an author of a scenario.
const TYPES: [(&str, &str); 22] = [
    ("a string", "a text in quotes"),
    ("string", "a text in quotes"),
    ("a borrowed string", "a text in quotes"),
    ("a boolean", "true or false"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 to 9223372036854775807"),
    ("usize", "a whole number from 0 to 9223372036854775807"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("f32", "a number"),
    ("a sequence", "a list"),
    ("sequence", "a list"),
    ("a map", "a table"),
    ("map", "a table"),
    ("string or table", "a word in quotes, or a table"),
    ("variant identifier", "a word in quotes"),
    ("unit variant", "a word in quotes"),
    ("unit", "nothing"),
    ("option", "a value"),
    ("table", "a table"),
];

/// The field by which the parser marks a date where it expected a table.
pub const DATE_FIELD: &str = "$__toml_private_datetime";

/// A sentence for the parser's `message` about `value`, the text at the place of the error.
pub(crate) fn sentence(message: &str, value: &str) -> String {
    let message = message.lines().collect::<Vec<_>>().join("; ");
    let parts = |kind: &str| message.strip_prefix(kind)?.rsplit_once(", expected ");
    if message.strip_prefix("unknown field `").is_some_and(|rest| rest.starts_with(DATE_FIELD)) {
        return format!("{}; expected a table", found_there("", value));
    }
    if let Some((found, wanted)) = parts("invalid type: ") {
        if found.starts_with("integer")
            && matches!(wanted.as_bytes(), [b'u' | b'i', b'0'..=b'9', ..])
        {
            return format!("{} is out of range; expected {}", shortened(value), expected(wanted));
        }
        return format!("{}; expected {}", found_there(found, value), expected(wanted));
    }
    if let Some((found, wanted)) = parts("invalid value: ") {
        let shown = quoted(found).map_or_else(|| shortened(value), shortened);
        return format!("{shown} is out of range; expected {}", expected(wanted));
    }
    if let Some((length, wanted)) = parts("invalid length ") {
        let things = if length == "1" { "1 value" } else { &format!("{length} values") };
        return format!("a list of {things}; expected {}", expected(wanted));
    }
    if message.starts_with("wanted exactly 1 element") {
        return "a table with nothing, or too much, in it; expected one kind".into();
    }
    if message.starts_with("floating-point number overflowed") {
        return format!("{} is too large for a number", shortened(value));
    }
    if message.starts_with("cannot recurse further") {
        return "brackets in brackets, too deep".into();
    }
    message
}

/// A description of the actual value, from the text and from serde's words for it.
fn found_there(found: &str, value: &str) -> String {
    if let Some(what) = moment(value) {
        return format!("{} is a {what}", shortened(value));
    }
    match found.split([' ', '`', '"']).next() {
        Some("map") => "a table".into(),
        Some("sequence") => "a list".into(),
        Some("boolean") => format!("{} is no such value", quoted(found).unwrap_or(value)),
        Some("string") => {
            let text = found.strip_prefix("string ").unwrap_or(value);
            format!("{} is a text", shortened(text))
        }
        Some("integer") => {
            format!("{} is a whole number", shortened(quoted(found).unwrap_or(value)))
        }
        Some("floating") => match quoted(found).unwrap_or(value) {
            odd @ ("inf" | "-inf" | "NaN" | "nan" | "-nan") => {
                format!("{} is no finite number", odd.to_lowercase())
            }
            number => format!("{} is a number", shortened(number)),
        },
        _ => format!("{} does not fit", shortened(value)),
    }
}

/// The text between the first two backticks.
fn quoted(found: &str) -> Option<&str> {
    found.split('`').nth(1)
}

/// The words for a date or a time of day, if `value` is one.
fn moment(value: &str) -> Option<&'static str> {
    let value = value.trim_start().as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        value.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    if digits(0..4) && value.get(4) == Some(&b'-') && digits(5..7) {
        Some("date")
    } else if digits(0..2) && value.get(2) == Some(&b':') && digits(3..5) {
        Some("time of day")
    } else {
        None
    }
}

/// The expected value, in plain words.
fn expected(wanted: &str) -> String {
    let known = TYPES.iter().find(|(serde, _)| *serde == wanted);
    if let Some((_, plain)) = known {
        return (*plain).into();
    }
    let first = wanted.split_once(' ').map_or(wanted, |(first, _)| first);
    match first {
        "struct" | "internally" | "adjacently" => "a table".into(),
        "enum" | "externally" => "a word in quotes, or a table".into(),
        "tuple" => "a list of as many values as it takes".into(),
        _ if wanted.starts_with("a tuple of size ")
            || wanted.starts_with("an array of length ") =>
        {
            let size = wanted.rsplit(' ').next().unwrap_or_default();
            format!("a list of {size}")
        }
        _ => wanted.into(),
    }
}

fn shortened(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_rust_become_words() {
        for (said, value, ours) in [
            (
                "invalid type: integer `5`, expected a string",
                "5",
                "5 is a whole number; expected a text in quotes",
            ),
            (
                "invalid type: map, expected a string",
                "1979-05-27",
                "1979-05-27 is a date; expected a text in quotes",
            ),
            (
                "invalid type: map, expected f64",
                "07:32:00",
                "07:32:00 is a time of day; expected a number",
            ),
            ("invalid type: map, expected u32", "{ a = 1 }", "a table; expected a whole number"),
            ("invalid type: sequence, expected a boolean", "[1]", "a list; expected true or false"),
            (
                "invalid type: string \"x\", expected struct Run",
                "\"x\"",
                "\"x\" is a text; expected a table",
            ),
            ("invalid type: floating point `inf`, expected u64", "inf", "inf is no finite number"),
            (
                "invalid value: integer `-2`, expected u32",
                "-2",
                "-2 is out of range; expected a whole",
            ),
            (
                "invalid length 1, expected an array of length 2",
                "[1]",
                "a list of 1 value; expected a list of 2",
            ),
            ("missing field `duration`", "", "missing field `duration`"),
        ] {
            let sentence = sentence(said, value);
            assert!(sentence.starts_with(ours), "{sentence}");
        }
    }

    #[test]
    fn long_values_are_cut() {
        let long = format!("\"{}\"", "é".repeat(100));
        let sentence = sentence(&format!("invalid type: string {long}, expected i64"), &long);
        assert_eq!(sentence, format!("\"{}... is a text; expected a whole number", "é".repeat(39)));
    }
}
