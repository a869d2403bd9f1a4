//! Chakra's traces as protobuf: a message about the file, and then a message for each node, each
//! after its length.
//!
//! The dozen fields of interest are read by hand: a library of protobuf would want the schema
//! compiled, and its types allocate for every field that is skipped here.

use std::io::{BufRead, ErrorKind, Read};

use super::Opened;
use super::bytes::failed;
use super::chakra_node::ChakraNode;
use crate::ForeignError;

/// The most bytes of a node; that about the file may be longer, since converters put whole files
/// there.
const MOST_OF_NODE: u64 = 64_000_000;
const MOST_OF_HEAD: u64 = 1_000_000_000;

/// Whether a file begins as such a file: the length of the first message, and in it a version or an
/// attribute, which has a name.
pub(super) fn begins(head: &[u8]) -> bool {
    let mut rest = head;
    let Some(length) = varint(&mut rest) else { return false };
    let Some((&key, mut rest)) = rest.split_first() else { return false };
    let Some(inner) = varint(&mut rest).filter(|&inner| inner < length) else { return false };
    let version = |byte: &u8| byte.is_ascii_alphanumeric() || b".-+_".contains(byte);
    match key {
        0x0a => inner <= 64 && rest.iter().take(usize::try_from(inner).unwrap_or(0)).all(version),
        0x12 => rest.first() == Some(&0x0a),
        _ => false,
    }
}

pub(super) fn read(
    file: Opened,
    add: &mut dyn FnMut(ChakraNode) -> Result<(), ForeignError>,
) -> Result<(), ForeignError> {
    let Opened { name, mut bytes } = file;
    let mut message = Vec::new();
    let whole = |number: usize| {
        let ends = if number == 0 {
            "in its first message".into()
        } else {
            format!("in node {number} of the file")
        };
        ForeignError::Together(format!("{name}: ends {ends}; expected a whole file"))
    };
    let mut number = 0;
    loop {
        let most = if number == 0 { MOST_OF_HEAD } else { MOST_OF_NODE };
        let length = match length(bytes.as_mut()) {
            Ok(None) => return Ok(()),
            Ok(Some(length)) if length <= most => length,
            Ok(Some(length)) => {
                let message = format!("message {number} has {length} B; expected at most {most}");
                return Err(ForeignError::Together(format!("{name}: {message}")));
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(whole(number)),
            Err(error) => return Err(failed(&name, &error)),
        };
        if number == 0 {
            let skipped = std::io::copy(&mut bytes.by_ref().take(length), &mut std::io::sink());
            if skipped.map_err(|error| failed(&name, &error))? < length {
                return Err(whole(number));
            }
        } else {
            message.clear();
            let read = bytes.by_ref().take(length).read_to_end(&mut message);
            if (read.map_err(|error| failed(&name, &error))? as u64) < length {
                return Err(whole(number));
            }
            let node = node(&message).ok_or_else(|| {
                let reason = format!("node {number} of the file is no message of protobuf");
                ForeignError::Together(format!("{name}: {reason}; write the file again"))
            })?;
            add(node)?;
        }
        number += 1;
    }
}

/// A number, seven bits in a byte.
enum Number {
    Whole(u64),
    /// More bits than there are.
    TooLong,
    /// The bytes end before it.
    Absent,
}

fn number(bytes: &mut (impl BufRead + ?Sized)) -> std::io::Result<Number> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let Some(&byte) = bytes.fill_buf()?.first() else {
            let error = ErrorKind::UnexpectedEof.into();
            return if shift == 0 { Ok(Number::Absent) } else { Err(error) };
        };
        bytes.consume(1);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Number::Whole(value));
        }
    }
    Ok(Number::TooLong)
}

/// The length of the next message; [`None`] at the end of the file.
fn length(bytes: &mut dyn BufRead) -> std::io::Result<Option<u64>> {
    Ok(match number(bytes)? {
        Number::Whole(length) => Some(length),
        Number::TooLong => Some(u64::MAX),
        Number::Absent => None,
    })
}

/// A field of a message.
enum Field<'a> {
    Varint(u64),
    /// Eight bytes, or four.
    Fixed(u64),
    Bytes(&'a [u8]),
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    match number(rest) {
        Ok(Number::Whole(value)) => Some(value),
        _ => None,
    }
}

/// The next `count` bytes.
fn take<'a>(rest: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, others) = rest.split_at_checked(usize::try_from(count).ok()?)?;
    *rest = others;
    Some(taken)
}

/// The number and the value of the next field.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let key = varint(rest)?;
    let value = match key & 7 {
        0 => Field::Varint(varint(rest)?),
        1 => Field::Fixed(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        5 => Field::Fixed(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?).into()),
        2 => {
            let count = varint(rest)?;
            Field::Bytes(take(rest, count)?)
        }
        _ => return None,
    };
    Some((key >> 3, value))
}

/// A node: number 1, type 3, what it waits for 4 and 5, its time 7 and its attributes 10.
fn node(mut rest: &[u8]) -> Option<ChakraNode> {
    let mut node = ChakraNode::default();
    while !rest.is_empty() {
        match field(&mut rest)? {
            (1, Field::Varint(id)) => node.id = id,
            (3, Field::Varint(kind)) => node.kind = kind,
            (4 | 5, Field::Varint(before)) => node.before.push(before),
            (4 | 5, Field::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    node.before.push(varint(&mut packed)?);
                }
            }
            (7, Field::Varint(micros)) => node.micros = micros,
            (10, Field::Bytes(attribute)) => set(&mut node, attribute)?,
            _ => {}
        }
    }
    Some(node)
}

/// Sets an attribute: the name is field 1, and the value one of 3 to 32, each single value with its
/// list behind it. Writers have used several kinds of integers for the same name.
fn set(node: &mut ChakraNode, mut rest: &[u8]) -> Option<()> {
    let (mut name, mut value, mut text) = ("", None, None);
    while !rest.is_empty() {
        match field(&mut rest)? {
            (1, Field::Bytes(bytes)) => name = std::str::from_utf8(bytes).ok()?,
            (7 | 9 | 11 | 13 | 27, Field::Varint(number)) | (19..=26, Field::Fixed(number)) => {
                value = Some(number);
            }
            // These have the sign in the lowest bit.
            (15 | 17, Field::Varint(number)) => value = Some(number >> 1),
            (29, Field::Bytes(bytes)) => text = Some(std::str::from_utf8(bytes).ok()?),
            _ => {}
        }
    }
    match (name, value, text) {
        ("pg_name", _, Some(text)) => node.group = Some(text.to_owned()),
        (_, Some(value), _) => node.set(name, value),
        _ => {}
    }
    Some(())
}
