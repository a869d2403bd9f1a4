//! Errors of reading, and lines of bounded length.

use std::io::{BufRead, Error, ErrorKind, Read};

use crate::ForeignError;
use crate::text::refused;

/// The most bytes of a line.
const MOST_OF_LINE: u64 = 1_000_000;

/// The error for a file that cannot be read to its end.
pub(super) fn failed(name: &str, error: &Error) -> ForeignError {
    ForeignError::Together(match error.kind() {
        ErrorKind::UnexpectedEof => format!("{name}: ends in the middle; expected a whole file"),
        _ => format!("cannot read {name}: {error}"),
    })
}

/// Reads the next line into `line`, without its end. Returns whether there was one.
pub(super) fn next_line(
    name: &str,
    bytes: &mut dyn BufRead,
    line: &mut String,
    number: usize,
) -> Result<bool, ForeignError> {
    line.clear();
    let read = bytes.take(MOST_OF_LINE).read_line(line).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => refused(name, number, "not a text in UTF-8"),
        _ => failed(name, &error),
    })?;
    if read as u64 == MOST_OF_LINE {
        let reason = format!("a line of more than {MOST_OF_LINE} B; expected a statement a line");
        return Err(refused(name, number, reason));
    }
    if number == 1 && line.starts_with('\u{feff}') {
        line.drain(..'\u{feff}'.len_utf8());
    }
    Ok(read > 0)
}

/// The whole text of a file of at most `most` bytes.
pub(super) fn whole(
    name: &str,
    bytes: &mut dyn BufRead,
    most: u64,
) -> Result<String, ForeignError> {
    let mut text = String::new();
    let read = bytes.take(most + 1).read_to_string(&mut text);
    let read = read.map_err(|error| match error.kind() {
        ErrorKind::InvalidData => ForeignError::Together(format!("{name}: not a text in UTF-8")),
        _ => failed(name, &error),
    })?;
    if read as u64 > most {
        let message = format!("{name}: more than {} MB; expected fewer", most / 1_000_000);
        return Err(ForeignError::Together(message));
    }
    Ok(text)
}
