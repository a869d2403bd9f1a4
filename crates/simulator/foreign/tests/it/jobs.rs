//! Traces of jobs. The samples of other projects are in tests/data/jobs, with their NOTICE.

mod damaged;
mod errors;
mod goal;
mod samples;

use std::io::Cursor;

use incast_foreign::{self as foreign, ForeignError};
use incast_scenario::foreign::job::{JobFile, JobGraph, JobSource};

/// Names and contents of files.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// Reads and checks a job, with the groups of a Chakra trace or the size of an algorithm.
fn read(
    files: Files<'_>,
    groups: Option<&str>,
    size: Option<u64>,
) -> Result<JobGraph, ForeignError> {
    let mut opened = files.iter().map(|(name, bytes)| {
        Ok(JobFile { name: (*name).into(), bytes: Box::new(Cursor::new(bytes.to_vec())) })
    });
    let groups = groups.map(|text| ("groups.json".into(), text.into()));
    foreign::job(JobSource { format: None, files: &mut opened, groups, size })?.checked()
}

/// Reads a job in one file.
fn one(text: &str) -> Result<JobGraph, ForeignError> {
    read(&[("x", text.as_bytes())], None, None)
}

#[track_caller]
fn good(files: Files<'_>) -> JobGraph {
    read(files, None, None).unwrap_or_else(|error| panic!("{error}"))
}

/// The bytes of a Chakra trace: its first message, and a message for each node.
fn chakra(nodes: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"\x07\x0a\x050.0.4".to_vec();
    for node in nodes {
        varint(&mut bytes, node.len() as u64);
        bytes.extend(node);
    }
    bytes
}

/// A node of a Chakra trace: its number, type, dependencies, microseconds and integer attributes.
fn node(
    (id, kind): (u64, u64),
    before: &[u64],
    micros: u64,
    attributes: &[(&str, u64)],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in [(1, id), (3, kind), (7, micros)] {
        if value > 0 {
            field(&mut bytes, key, value);
        }
    }
    let mut packed = Vec::new();
    for &number in before {
        varint(&mut packed, number);
    }
    if !packed.is_empty() {
        text(&mut bytes, 5, &packed);
    }
    for &(name, value) in attributes {
        let mut attribute = Vec::new();
        text(&mut attribute, 1, name.as_bytes());
        field(&mut attribute, 9, value);
        text(&mut bytes, 10, &attribute);
    }
    bytes
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
}

fn field(bytes: &mut Vec<u8>, key: u64, value: u64) {
    varint(bytes, key << 3);
    varint(bytes, value);
}

fn text(bytes: &mut Vec<u8>, key: u64, content: &[u8]) {
    varint(bytes, key << 3 | 2);
    varint(bytes, content.len() as u64);
    bytes.extend(content);
}
