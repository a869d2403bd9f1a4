//! Traces of jobs: GOAL, Chakra, MSCCL and `SimAI`.

mod bytes;
mod chakra;
mod chakra_json;
mod chakra_node;
mod chakra_protobuf;
mod goal_binary;
mod goal_text;
mod msccl;
mod simai;

use std::io::{BufRead, BufReader};

use flate2::bufread::MultiGzDecoder;
use incast_scenario::foreign::job::{JobFile, JobFormat, JobGraph, JobSource};

use crate::ForeignError;
use bytes::failed;

/// A file, unpacked, with its name.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) bytes: Box<dyn BufRead>,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    GoalText,
    GoalBinary,
    ChakraProtobuf,
    ChakraJson,
    Msccl,
    Simai,
}

impl Form {
    pub(crate) const fn format(self) -> JobFormat {
        match self {
            Self::GoalText | Self::GoalBinary => JobFormat::Goal,
            Self::ChakraProtobuf | Self::ChakraJson => JobFormat::Chakra,
            Self::Msccl => JobFormat::Msccl,
            Self::Simai => JobFormat::Simai,
        }
    }

    /// The form of a file that begins with these bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        if goal_binary::begins(head) {
            return Some(Self::GoalBinary);
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        match text.first() {
            Some(b'<') => return Some(Self::Msccl),
            Some(b'{') => return Some(Self::ChakraJson),
            _ => {}
        }
        if text.starts_with(b"num_ranks") || text.starts_with(b"//") || text.starts_with(b"/*") {
            return Some(Self::GoalText);
        }
        let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if simai::POLICIES.iter().any(|(name, _)| name.as_bytes() == word) {
            return Some(Self::Simai);
        }
        chakra_protobuf::begins(head).then_some(Self::ChakraProtobuf)
    }
}

/// The graph of a job.
///
/// # Errors
/// A file cannot be read, is none of a known format, or is inconsistent.
pub fn job(source: JobSource<'_>) -> Result<JobGraph, ForeignError> {
    let JobSource { format, files, groups, size } = source;
    let first = files.next().unwrap_or_else(|| Err(ForeignError::Together("no file".into())))?;
    let mut first = opened(first)?;
    let form = form(&mut first, format)?;
    let told = form.format();
    let only = |key: &str, owner: JobFormat| {
        let name = &first.name;
        ForeignError::Together(format!(
            "{name}: a trace of {} has no {key}, which is for {}; take {key} out",
            told.as_str(),
            owner.as_str()
        ))
    };
    if groups.is_some() && told != JobFormat::Chakra {
        return Err(only("groups", JobFormat::Chakra));
    }
    if size.is_some() && told != JobFormat::Msccl {
        return Err(only("size", JobFormat::Msccl));
    }
    if told == JobFormat::Chakra {
        let others = files.map(|file| opened(file?));
        return chakra::read(first, others, groups);
    }
    if let Some(second) = files.next() {
        return Err(ForeignError::Together(format!(
            "{}: a trace of {} is one file for all ranks; name that without {{rank}}",
            second?.name,
            told.as_str()
        )));
    }
    match form {
        Form::GoalText => goal_text::read(first),
        Form::GoalBinary => goal_binary::read(first),
        Form::Msccl => msccl::read(first, size),
        _ => simai::read(first),
    }
}

/// Whether a file that begins with these bytes may be the trace of a job. A packed file is taken for
/// one: nothing else here is packed.
pub fn is_job(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b]) || Form::of(head).is_some()
}

/// Unpacks a file that is packed by gzip.
fn opened(file: JobFile) -> Result<Opened, ForeignError> {
    let JobFile { name, bytes } = file;
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let head = bytes.fill_buf().map_err(|error| failed(&name, &error))?;
    let bytes: Box<dyn BufRead> = if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(bytes)))
    } else {
        Box::new(bytes)
    };
    Ok(Opened { name, bytes })
}

/// The form of a file, which must be of the format that was named, if one was.
pub(crate) fn form(file: &mut Opened, told: Option<JobFormat>) -> Result<Form, ForeignError> {
    let head = file.bytes.fill_buf().map_err(|error| failed(&file.name, &error))?;
    let name = &file.name;
    if head.get(257..262) == Some(b"ustar") {
        let message = format!("{name}: an archive of files; unpack it, and name the files");
        return Err(ForeignError::Together(message));
    }
    let names = JobFormat::NAMES.map(|(name, _)| name).join(", ");
    let found = match Form::of(head) {
        Some(found) => found,
        None if head.is_empty() => {
            let message = format!("{name}: empty; expected a trace of {names}");
            return Err(ForeignError::Together(message));
        }
        None => {
            let message = format!("{name}: no trace of a job; expected one of {names}");
            return Err(ForeignError::Together(message));
        }
    };
    match told {
        Some(told) if told != found.format() => Err(ForeignError::Together(format!(
            "{name}: a trace of {}, not of {}; change the format, or take it out",
            found.format().as_str(),
            told.as_str()
        ))),
        _ => Ok(found),
    }
}
