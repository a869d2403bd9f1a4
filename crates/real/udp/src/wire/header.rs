//! The header of every datagram.

use super::WireError;
use super::bytes::{Reader, Writer, counted};

/// The version of the format. In the first no message was given up, and notes told no time; until
/// the second the checksum was a CRC-32, and each ACK told a turnaround; until the third numbers
/// that count up took 64 bits, and lanes 32.
pub const VERSION: u8 = 5;
/// The bytes of a header.
pub const HEADER_BYTES: usize = 16;

/// The name of a connection at one of its ends, which that end draws at random. Zero is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// No connection: the receiver's id is not known yet.
    pub const NONE: Self = Self(0);
}

/// The kind of a datagram. [`Opening`](super::Opening) tells what all but
/// [`Sealed`](Self::Sealed) hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Opens a connection.
    Hello = 1,
    /// Answers a [`Hello`](Self::Hello) with the cookie that it lacks.
    Retry = 2,
    /// Answers a [`Hello`](Self::Hello): the connection is open.
    Welcome = 3,
    /// Frames of an open connection.
    Sealed = 4,
    /// Answers a datagram of a connection that the sender does not know.
    Unknown = 5,
    /// Answers a [`Hello`](Self::Hello): there will be no connection.
    Refused = 6,
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind.
    pub kind: Kind,
    /// The connection, by the id that the datagram's receiver has chosen;
    /// [`NONE`](ConnectionId::NONE) before it has.
    pub to: ConnectionId,
    /// The packet number, which rises with each datagram of a connection and is never used again;
    /// at most [`MOST_COUNT`](super::MOST_COUNT).
    pub number: u64,
}

impl Header {
    /// Writes the header to the start of `room`, and returns its length.
    ///
    /// # Errors
    ///
    /// If `room` is shorter than [`HEADER_BYTES`], or the packet number too high.
    pub fn encode(&self, room: &mut [u8]) -> Result<usize, WireError> {
        let mut writer = Writer::new(room, HEADER_BYTES)?;
        self.write(&mut writer)?;
        Ok(writer.end())
    }

    #[expect(clippy::cast_possible_truncation, reason = "the number has two halves")]
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), WireError> {
        counted("the packet number", self.number)?;
        let (high, low) = ((self.number >> 32) as u16, self.number as u32);
        writer.u8(VERSION).u8(self.kind as u8).u16(high).u64(self.to.0).u32(low);
        Ok(())
    }

    /// The header of a datagram, and what follows it.
    ///
    /// # Errors
    ///
    /// If the datagram is too short, of another version, or of no known kind.
    pub fn decode(datagram: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader(datagram);
        let theirs = reader.u8("the version")?;
        if theirs != VERSION {
            return Err(WireError::Version { theirs });
        }
        let kind = match reader.u8("the kind")? {
            1 => Kind::Hello,
            2 => Kind::Retry,
            3 => Kind::Welcome,
            4 => Kind::Sealed,
            5 => Kind::Unknown,
            6 => Kind::Refused,
            other => return Err(WireError::Value { field: "the kind", value: other.into() }),
        };
        let high = u64::from(reader.u16("the packet number")?);
        let to = ConnectionId(reader.u64("the connection id")?);
        let number = high << 32 | u64::from(reader.u32("the packet number")?);
        Ok((Self { kind, to, number }, reader.0))
    }
}
