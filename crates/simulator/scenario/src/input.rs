//! Texts of files: only regular files, up to a certain size.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The largest scenario in bytes.
pub(super) const MOST_OF_SCENARIO: u64 = 64_000_000;

/// The largest file in bytes that a scenario may name.
pub(super) const MOST_OF_INPUT: u64 = 1_000_000_000;

/// The byte-order mark, which is no part of a text.
const MARK: char = '\u{feff}';

/// The text of a file, or the reason why it cannot be read. Devices and pipes are refused, since
/// they may have no end or no beginning.
pub(super) fn text(path: &Path, most: u64) -> Result<String, String> {
    let said = |error: std::io::Error| match error.kind() {
        ErrorKind::InvalidData => "not a text in UTF-8".into(),
        _ => error.to_string(),
    };
    let about = std::fs::metadata(path).map_err(said)?;
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(format!("{what} is no regular file"));
    }
    let too_long = || format!("more than {} MB", most / 1_000_000);
    if about.len() > most {
        return Err(too_long());
    }
    let mut text = String::new();
    // Some files of the system claim to be empty, and some have no end.
    let read = File::open(path).map_err(said)?.take(most + 1).read_to_string(&mut text);
    let read = read.map_err(said)?;
    if read as u64 > most {
        return Err(too_long());
    }
    // Editors of Windows begin a text with a byte-order mark.
    if text.starts_with(MARK) {
        text.drain(..MARK.len_utf8());
    }
    Ok(text)
}
