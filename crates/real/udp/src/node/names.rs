//! The names of peers and calls.

use crate::message::Priority;

/// A peer of a node, by a name that no other peer has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId {
    pub(super) slot: u32,
    pub(super) life: u32,
}

impl PeerId {
    /// The name in 64 bits.
    pub const fn as_u64(self) -> u64 {
        (self.slot as u64) << 32 | self.life as u64
    }
}

/// A call or a note of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    pub(super) peer: PeerId,
    pub(super) number: u64,
}

/// A call of a peer, which waits for a [reply](super::Node::reply).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    pub(super) peer: PeerId,
    pub(super) number: u64,
    /// The place of the reply among other messages.
    pub(super) priority: Priority,
}

/// The peer's share in a call or a note that ends before it is answered or acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The message has left whole: the peer may get it.
    Peer,
    /// A part of the message had not left, and never will: the peer's application does not get it.
    Nobody,
}

impl CallId {
    /// The peer that was called.
    pub const fn peer(self) -> PeerId {
        self.peer
    }
}

impl Incoming {
    /// The peer that calls.
    pub const fn peer(self) -> PeerId {
        self.peer
    }
}
