//! The protection of an open connection's datagrams.

use super::checksum::{CHECKSUM_BYTES, checksum};
use super::cipher::{Cipher, Opener, Sealer, TAG_BYTES};
use super::error::SecurityError;
use super::noise::Secrets;
use super::window::Window;
use crate::wire::{ConnectionId, HEADER_BYTES, Header, Kind, WireError};

/// The protection of an open connection's datagrams: it seals those that leave, and opens those
/// that come. It takes no memory for either.
#[derive(Debug)]
pub struct Session {
    own: ConnectionId,
    peer: ConnectionId,
    /// The packet number of the next datagram that leaves.
    next: u64,
    window: Window,
    /// The keys; none if datagrams have a checksum alone.
    keys: Option<Box<Keys>>,
}

#[derive(Debug)]
struct Keys {
    sealer: Sealer,
    opener: Opener,
}

/// The bytes behind the frames of a datagram, which is encrypted or has a checksum alone.
pub(super) const fn tag_bytes(is_encrypted: bool) -> usize {
    if is_encrypted { TAG_BYTES } else { CHECKSUM_BYTES }
}

impl Session {
    /// A session between two ids, by the secrets of the direction in which this end sends and of
    /// the other one, if there are any.
    pub(super) fn new(
        own: ConnectionId,
        peer: ConnectionId,
        secrets: Option<(Cipher, Secrets)>,
    ) -> Self {
        let keys = secrets.map(|(cipher, [send, receive])| {
            let (sealer, opener) = (Sealer::new(cipher, send), Opener::new(cipher, receive));
            Box::new(Keys { sealer, opener })
        });
        Self { own, peer, next: 0, window: Window::new(), keys }
    }

    /// The id of this end, which the peer's datagrams name.
    pub const fn own(&self) -> ConnectionId {
        self.own
    }

    /// The id of the peer.
    pub const fn peer(&self) -> ConnectionId {
        self.peer
    }

    /// The packet number of the next datagram that is sealed.
    pub const fn next_number(&self) -> u64 {
        self.next
    }

    /// The cipher; [`None`] if datagrams have a checksum alone.
    pub fn cipher(&self) -> Option<Cipher> {
        self.keys.as_ref().map(|keys| keys.sealer.cipher())
    }

    /// The bytes of a datagram behind its header and frames.
    const fn tag(&self) -> usize {
        tag_bytes(self.keys.is_some())
    }

    /// The bytes of a datagram beside its frames: the header before them, and what follows them.
    pub const fn overhead(&self) -> usize {
        HEADER_BYTES + self.tag()
    }

    /// Makes a datagram of `content` bytes of frames, which stand in `room` behind the place of the
    /// header ([`HEADER_BYTES`]). Writes the header before them, encrypts them in place, writes a
    /// tag behind them, and returns the length of the datagram.
    ///
    /// Each call takes the next packet number, so no nonce is used twice.
    ///
    /// # Errors
    ///
    /// If `room` is shorter than the frames and [`overhead`](Self::overhead).
    pub fn seal(&mut self, room: &mut [u8], content: usize) -> Result<usize, SecurityError> {
        let (left, bytes) = (room.len(), content + self.overhead());
        let room = room.get_mut(..bytes).ok_or(WireError::Room { bytes, room: left })?;
        let number = self.next;
        Header { kind: Kind::Sealed, to: self.peer, number }.encode(room)?;
        let (sealed, tag) = room.split_at_mut(HEADER_BYTES + content);
        if let Some(keys) = &mut self.keys {
            let (header, content) = sealed.split_at_mut(HEADER_BYTES);
            tag.copy_from_slice(&keys.sealer.seal(number, header, content));
        } else {
            tag.copy_from_slice(&checksum(sealed));
        }
        self.next += 1;
        Ok(bytes)
    }

    /// The frames of a datagram that has come, decrypted in place. A datagram is opened once: a
    /// second one with its packet number is refused, and so are those that are far behind.
    ///
    /// # Errors
    ///
    /// If the datagram is not of this connection, was damaged or forged, or came before. It counts
    /// as if it had not come.
    pub fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Result<&'a [u8], SecurityError> {
        let (Header { kind, to, number }, sealed) = Header::decode(datagram)?;
        if kind != Kind::Sealed {
            return Err(WireError::Value { field: "the kind", value: kind as u64 }.into());
        }
        if to != self.own {
            return Err(SecurityError::Misdirected { to });
        }
        let content = sealed.len().checked_sub(self.tag());
        let content = content.ok_or(WireError::Short { field: "the tag" })?;
        if !self.window.is_fresh(number) {
            return Err(SecurityError::Replayed { number });
        }
        let is_sound = if let Some(Keys { opener, .. }) = self.keys.as_deref_mut() {
            if !opener.has_key(number) {
                return Err(SecurityError::Ahead { number });
            }
            let (header, sealed) = datagram.split_at_mut(HEADER_BYTES);
            opener.open(number, header, sealed)
        } else {
            let (sound, tag) = datagram.split_at(HEADER_BYTES + content);
            tag == checksum(sound)
        };
        if !is_sound {
            return Err(SecurityError::Damaged { number });
        }
        self.window.insert(number);
        Ok(&datagram[HEADER_BYTES..HEADER_BYTES + content])
    }
}
