//! The datagrams that open a connection, and those that refuse to.

use super::WireError;
use super::bytes::{Reader, Writer, value};
use super::header::{ConnectionId, HEADER_BYTES, Header, Kind};

/// The bytes of a cookie.
pub const COOKIE_BYTES: usize = 40;
/// The zeros before the sender's id in a hello, which is at the same place in all versions.
const GAP_BYTES: usize = 4;
const HELLO_BYTES: usize = HEADER_BYTES + GAP_BYTES + 9 + COOKIE_BYTES;

/// The way in which a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// No protection: a checksum finds damage.
    Plain = 0,
    /// Encryption by a secret that both ends have.
    Secret = 1,
    /// Encryption by a key pair at each end.
    Keys = 2,
}

/// The reason why a [`Hello`](Opening::Hello) is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// The receiver speaks another version.
    Version = 0,
    /// The receiver protects connections in another way.
    Mode = 1,
    /// The handshake was made for another key, or with another secret, than the receiver's.
    Key = 2,
    /// The receiver does not know the sender's key.
    Peer = 3,
    /// The receiver has as many peers as it takes.
    Full = 4,
}

/// A datagram outside open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening<'a> {
    /// Opens a connection.
    Hello {
        /// The sender's id.
        from: ConnectionId,
        /// The protection that the sender asks for.
        mode: Mode,
        /// The cookie of a [`Retry`](Self::Retry); zeros before there is one, so that the datagram
        /// is longer than any answer to it.
        cookie: [u8; COOKIE_BYTES],
        /// The first message of the handshake.
        message: &'a [u8],
    },
    /// Asks for the [`Hello`](Self::Hello) again, with a cookie.
    Retry {
        /// The id of the receiver.
        to: ConnectionId,
        /// The cookie.
        cookie: [u8; COOKIE_BYTES],
    },
    /// Opens the connection at the other end.
    Welcome {
        /// The id of the receiver.
        to: ConnectionId,
        /// The second message of the handshake.
        message: &'a [u8],
    },
    /// Answers a datagram of a connection that the sender does not know.
    Unknown {
        /// The connection, as that datagram named it.
        id: ConnectionId,
        /// The packet number of that datagram.
        number: u64,
    },
    /// Refuses a [`Hello`](Self::Hello).
    Refused {
        /// The id of the receiver.
        to: ConnectionId,
        /// The reason.
        reason: Refusal,
    },
}

impl<'a> Opening<'a> {
    /// The bytes of the datagram.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Hello { message, .. } => HELLO_BYTES + message.len(),
            Self::Retry { .. } => HEADER_BYTES + COOKIE_BYTES,
            Self::Welcome { message, .. } => HEADER_BYTES + message.len(),
            Self::Unknown { .. } => HEADER_BYTES + 8,
            Self::Refused { .. } => HEADER_BYTES + 1,
        }
    }

    /// Writes the datagram to the start of `room`, and returns its length.
    ///
    /// # Errors
    ///
    /// If `room` is too short, or the packet number too high.
    pub fn encode(&self, room: &mut [u8]) -> Result<usize, WireError> {
        let bytes = self.bytes();
        let mut writer = Writer::new(room, bytes)?;
        let (kind, to, number) = match *self {
            Self::Hello { .. } => (Kind::Hello, ConnectionId::NONE, 0),
            Self::Retry { to, .. } => (Kind::Retry, to, 0),
            Self::Welcome { to, .. } => (Kind::Welcome, to, 0),
            Self::Unknown { number, .. } => (Kind::Unknown, ConnectionId::NONE, number),
            Self::Refused { to, .. } => (Kind::Refused, to, 0),
        };
        Header { kind, to, number }.write(&mut writer)?;
        match self {
            Self::Hello { from, mode, cookie, message } => {
                writer.u32(0).u64(from.0).u8(*mode as u8).put(cookie).put(message)
            }
            Self::Retry { cookie, .. } => writer.put(cookie),
            Self::Welcome { message, .. } => writer.put(message),
            Self::Unknown { id, .. } => writer.u64(id.0),
            Self::Refused { reason, .. } => writer.u8(*reason as u8),
        };
        Ok(writer.end())
    }

    /// The bytes of the datagram in memory of their own.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes()];
        let written = self.encode(&mut bytes);
        debug_assert_eq!(written, Ok(bytes.len()));
        bytes
    }

    /// The datagram with this header and content; [`None`] if it is
    /// [`Sealed`](Kind::Sealed).
    ///
    /// # Errors
    ///
    /// If the datagram is too short or too long, or a field has a value that it cannot have.
    pub fn decode(header: Header, content: &'a [u8]) -> Result<Option<Self>, WireError> {
        let Header { kind, to, number } = header;
        let (names_receiver, has_number) = match kind {
            Kind::Sealed => return Ok(None),
            Kind::Hello => (false, false),
            Kind::Unknown => (false, true),
            Kind::Retry | Kind::Welcome | Kind::Refused => (true, false),
        };
        if names_receiver != (to != ConnectionId::NONE) {
            return Err(value("the connection id", to.0));
        }
        if !has_number && number != 0 {
            return Err(value("the packet number", number));
        }
        let mut reader = Reader(content);
        if kind == Kind::Hello {
            let gap = reader.u32("the header")?;
            if gap != 0 {
                return Err(value("the reserved field", gap.into()));
            }
        }
        let opening = match kind {
            Kind::Sealed => return Ok(None),
            Kind::Hello => Self::Hello {
                from: named(reader.u64("the sender's id")?)?,
                mode: match reader.u8("the protection")? {
                    0 => Mode::Plain,
                    1 => Mode::Secret,
                    2 => Mode::Keys,
                    other => return Err(value("the protection", other.into())),
                },
                cookie: reader.array("the cookie")?,
                message: reader.rest(),
            },
            Kind::Retry => Self::Retry { to, cookie: reader.array("the cookie")? },
            Kind::Welcome => Self::Welcome { to, message: reader.rest() },
            Kind::Unknown => Self::Unknown { id: named(reader.u64("the unknown id")?)?, number },
            Kind::Refused => Self::Refused {
                to,
                reason: match reader.u8("the reason of a refusal")? {
                    0 => Refusal::Version,
                    1 => Refusal::Mode,
                    2 => Refusal::Key,
                    3 => Refusal::Peer,
                    4 => Refusal::Full,
                    other => return Err(value("the reason of a refusal", other.into())),
                },
            },
        };
        match reader.rest() {
            [] => Ok(Some(opening)),
            more => Err(value("the number of bytes behind the last field", more.len() as u64)),
        }
    }
}

/// The sender's id in a [`Hello`](Opening::Hello) of another version, which is at the same place in
/// all versions; and the version.
pub fn hello_of_another_version(datagram: &[u8]) -> Option<(ConnectionId, u8)> {
    let mut reader = Reader(datagram);
    let header: [u8; HEADER_BYTES + GAP_BYTES] = reader.array("the header").ok()?;
    let from = named(reader.u64("the sender's id").ok()?).ok()?;
    let [theirs, kind, ..] = header;
    (theirs != super::VERSION && kind == Kind::Hello as u8).then_some((from, theirs))
}

/// The id of the connection that a datagram names, which is at the same place in all versions.
pub fn receiver_in_any_version(datagram: &[u8]) -> Option<ConnectionId> {
    let id = datagram.get(4..)?.first_chunk()?;
    named(u64::from_be_bytes(*id)).ok()
}

fn named(id: u64) -> Result<ConnectionId, WireError> {
    if id == 0 { Err(value("the connection id", id)) } else { Ok(ConnectionId(id)) }
}
