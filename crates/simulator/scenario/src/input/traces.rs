//! The files of a job's trace, opened one by one, and the copies that stay with the run.
//!
//! Copies are texts, since a run's directory, a process beside this one and the browser get texts. A
//! file of other bytes is kept in base64. A trace may be larger than all results of its run, so that
//! a large file has no copy: its length and checksum stand for it, and the file is read again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use twox_hash::XxHash3_64;

use super::{Files, INPUTS, InputError, TextError, base_name};
use crate::foreign::job::{JobFile, JobFormat, JobGraph, JobSource};
use crate::foreign::{ForeignError, Formats};

/// The part of a path that the number of a rank takes the place of.
pub(crate) const RANK: &str = "{rank}";

/// The most bytes of a trace that are kept with the run.
const MOST_OF_COPIES: u64 = 64_000_000;
/// The largest trace of one file, in bytes.
const MOST_OF_TRACE: u64 = 1_000_000_000_000;
/// The first line of a copy in base64.
const ENCODED: &str = "incast: the bytes of a file in base64\n";
/// The beginning of what stands for a large file.
const LARGE: &str = "incast: a file that is read where it is: ";

/// The trace that a scenario asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The path, with `{rank}` where each rank has a file.
    pub path: &'a str,
    /// The format, if it is named.
    pub format: Option<JobFormat>,
    /// The file of groups.
    pub groups: Option<&'a str>,
    /// The size of the data of an algorithm, in bytes.
    pub size: Option<u64>,
}

impl Files {
    /// The graph of a job in one file, or in a file for each rank.
    pub(crate) fn job(&mut self, asked: &Asked<'_>) -> Result<JobGraph, InputError> {
        let groups = match asked.groups {
            Some(path) => Some((path.to_owned(), self.read(path)?)),
            None => None,
        };
        let read = self.formats.job;
        let mut opening = Opening { files: self, path: asked.path, next: 0, kept: 0 };
        let (format, size) = (asked.format, asked.size);
        Ok(read(JobSource { format, files: &mut opening, groups, size })?.checked()?)
    }
}

impl Formats {
    /// Reads the graph of a job, whose paths count from `folder`.
    ///
    /// # Errors
    /// A file cannot be read, or the job is wrong.
    pub fn read_job(self, folder: &Path, asked: &Asked<'_>) -> Result<JobGraph, ForeignError> {
        let mut files = Files { folder: folder.to_owned(), ..Files::of("", self, BTreeMap::new()) };
        files.job(asked).map_err(|error| ForeignError::Together(error.to_string()))
    }
}

/// The files of a trace, from that of rank 0 on.
struct Opening<'a> {
    files: &'a mut Files,
    path: &'a str,
    next: u32,
    /// The bytes of the copies so far.
    kept: u64,
}

impl Iterator for Opening<'_> {
    type Item = Result<JobFile, ForeignError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (number, of_ranks) = (self.next, self.path.contains(RANK));
        self.next += 1;
        let path = self.path.replace(RANK, &number.to_string());
        if number > 0 && (!of_ranks || !self.files.has(&path)) {
            return None;
        }
        let opened = self.files.open(&path, &mut self.kept);
        let opened = opened.map(|bytes| JobFile { name: path, bytes });
        Some(opened.map_err(|error| ForeignError::Together(error.to_string())))
    }
}

impl Files {
    /// Whether a file is there.
    fn has(&self, path: &str) -> bool {
        let name = base_name(path);
        self.known.contains_key(path)
            || self.known.contains_key(name)
            || self.texts.contains_key(path)
            || self.folder.join(INPUTS).join(name).is_file()
            || self.folder.join(path).exists()
    }

    /// The bytes of a file, of which a copy is kept if it is not too large.
    fn open(&mut self, path: &str, kept: &mut u64) -> Result<Box<dyn Read>, InputError> {
        let name = base_name(path);
        let own = self.folder.join(INPUTS).join(name);
        if !self.texts.contains_key(path) {
            self.one_name(path)?;
            let known = self.known.get(path).or_else(|| self.known.get(name));
            if let Some(text) = known {
                self.texts.insert(path.to_owned(), text.clone());
            } else if own.is_file() {
                let text = super::text(&own, super::MOST_OF_INPUT)
                    .map_err(|reason| InputError::Unreadable { path: own, reason })?;
                self.texts.insert(path.to_owned(), text);
            }
        }
        let found = self.folder.join(path);
        let unreadable = |reason| InputError::Unreadable { path: found.clone(), reason };
        if let Some(text) = self.texts.get(path) {
            if let Some(told) = text.strip_prefix(LARGE) {
                if about(&found, MOST_OF_TRACE).map_err(unreadable)? != told {
                    return Err(InputError::Changed(found));
                }
                let file = File::open(&found).map_err(|error| unreadable(error.into()))?;
                return Ok(Box::new(BufReader::new(file)));
            }
            return Ok(Box::new(Cursor::new(decoded(text).map_err(unreadable)?)));
        }
        let open = || File::open(&found).map_err(|error| unreadable(error.into()));
        let room = MOST_OF_COPIES - *kept;
        if super::regular(&found, MOST_OF_TRACE).map_err(unreadable)? <= room {
            // Some files of the system claim to be empty.
            let mut bytes = Vec::new();
            let read = open()?.take(room + 1).read_to_end(&mut bytes);
            read.map_err(|error| unreadable(error.into()))?;
            let length = bytes.len() as u64;
            if length <= room {
                *kept += length;
                self.texts.insert(path.to_owned(), encoded(&bytes));
                return Ok(Box::new(Cursor::new(bytes)));
            }
        }
        let told = about(&found, MOST_OF_TRACE).map_err(unreadable)?;
        self.texts.insert(path.to_owned(), format!("{LARGE}{told}"));
        Ok(Box::new(BufReader::new(open()?)))
    }
}

/// The text that tells a file from others.
fn about(path: &Path, most: u64) -> Result<String, TextError> {
    super::regular(path, most)?;
    let mut file = File::open(path)?;
    let (mut hash, mut length, mut part) = (XxHash3_64::with_seed(0), 0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        length += read as u64;
        if length > most {
            return Err(TextError::TooLong(most));
        }
        std::hash::Hasher::write(&mut hash, &part[..read]);
    }
    Ok(format!("{length} B, XXH3 {:016x}\n", std::hash::Hasher::finish(&hash)))
}

/// A copy of bytes as a text.
fn encoded(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(ENCODED) && !text.starts_with(LARGE) => text.to_owned(),
        _ => format!("{ENCODED}{}\n", STANDARD.encode(bytes)),
    }
}

/// The bytes of a copy.
fn decoded(text: &str) -> Result<Vec<u8>, TextError> {
    match text.strip_prefix(ENCODED) {
        Some(code) => STANDARD.decode(code.trim_end()).map_err(|_| TextError::NotText),
        None => Ok(text.as_bytes().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_any_bytes_are_texts_and_give_them_back() {
        for bytes in [&b""[..], b"num_ranks 2\n", &[0x7f, 0x10, 0xff, 0], ENCODED.as_bytes()] {
            assert_eq!(decoded(&encoded(bytes)).unwrap(), bytes);
        }
        assert_eq!(encoded(b"plain"), "plain");
        assert!(matches!(decoded(&format!("{ENCODED}?")), Err(TextError::NotText)));
    }
}
