//! Texts that are read from files: regular ones, of a size that fits.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Most bytes of a scenario.
pub(super) const MOST_OF_SCENARIO: u64 = 64_000_000;

/// Most bytes of a file that a scenario names.
pub(super) const MOST_OF_INPUT: u64 = 1_000_000_000;

/// The text of a file, or why there is none. A device or a pipe may have no end, or never begin: it is refused.
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
    // Files of the system say that they are empty, and some have no end.
    let read = File::open(path).map_err(said)?.take(most + 1).read_to_string(&mut text);
    let read = read.map_err(said)?;
    if read as u64 > most { Err(too_long()) } else { Ok(text) }
}
