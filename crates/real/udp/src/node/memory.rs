//! The memory of messages of all peers together, and its bounds.

use super::event::NodeError;
use super::inbox::{BOOKS_BYTES, PLACE_BYTES};
use super::peers::Peer;
use super::progress::LITTLE;
use crate::message::HEAD_BYTES;
use crate::options::{MOST_MESSAGE, Memory};

/// The most reasons beyond the bounds for one peer.
const MOST_BEYOND: u32 = 4_096;
/// The most memory of reasons beyond the bounds.
const BEYOND_BYTES: u64 = 64 << 20;

/// The reason why a message is not taken for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The peer is gone.
    #[error("the peer is gone; connect again")]
    Gone,
    /// The peer does not receive messages of this length.
    #[error("a message of {bytes} B is too long: the peer takes up to {most} B")]
    TooLong {
        /// The length of the message.
        bytes: usize,
        /// The most that the peer takes.
        most: usize,
    },
    /// Too much waits to be sent to the peer already.
    #[error("{waiting} B wait for this peer, and {most} B may; post again when some have left")]
    Full {
        /// The bytes that wait.
        waiting: u64,
        /// The most that may wait.
        most: usize,
    },
    /// Too much waits to be sent to all peers together already.
    #[error(
        "{waiting} B wait for all peers together, and {most} B may; post again when some have left"
    )]
    FullInAll {
        /// The bytes that wait.
        waiting: u64,
        /// The most that may wait.
        most: usize,
    },
}

/// The memory of messages that come and that leave.
#[derive(Debug)]
pub(super) struct MessageMemory {
    bounds: Memory,
    /// The bytes of messages from peers that are not whole, or not taken.
    arriving: usize,
    /// The bytes of messages to peers that are not acknowledged.
    leaving: u64,
}

impl MessageMemory {
    /// Memory without messages, if those can be as long as they may.
    pub(super) const fn new(bounds: Memory) -> Result<Self, NodeError> {
        let Memory { message, incoming_in_all: most, .. } = bounds;
        if message > MOST_MESSAGE {
            return Err(NodeError::LongMessage { bytes: message });
        }
        // With all that counts for a message.
        if most < 2 * (message + HEAD_BYTES + BOOKS_BYTES + PLACE_BYTES) {
            return Err(NodeError::Memory { most, message });
        }
        Ok(Self { bounds, arriving: 0, leaving: 0 })
    }

    /// The longest message that may come.
    pub(super) const fn longest(&self) -> usize {
        self.bounds.message
    }

    /// The bytes of messages to peers that are not acknowledged.
    #[cfg(test)]
    pub(super) const fn leaving(&self) -> u64 {
        self.leaving
    }

    /// Takes memory for a message of a peer, whose messages have `waiting` bytes, if it may have
    /// it. The message may be the `oldest` of those that are not whole.
    pub(super) fn admit(
        &mut self,
        waiting: &mut usize,
        bytes: usize,
        oldest: bool,
        are_all_taken: bool,
        is_blamed: bool,
    ) -> bool {
        // The oldest message of a peer can be delivered without any other, so it may use all
        // memory; those behind it half of it. They never stand in its way: where the application
        // has taken all that was delivered, the oldest is taken in.
        let of = |most: usize, all: bool| if all { most } else { most / 2 };
        let of_peer =
            *waiting + bytes <= of(self.bounds.incoming, oldest) || oldest && are_all_taken;
        // Short messages of peers that hold little are taken in whatever others hold.
        let is_little = oldest && *waiting + bytes <= LITTLE;
        // Peers of sources that have held memory leave half of it to others, too.
        let of_all = of(self.bounds.incoming_in_all, oldest && !is_blamed);
        let admits = of_peer && (self.arriving + bytes <= of_all || is_little);
        if admits {
            *waiting += bytes;
            self.arriving += bytes;
        }
        admits
    }

    /// Frees memory of messages that have come.
    pub(super) const fn free_arriving(&mut self, bytes: usize) {
        self.arriving = self.arriving.saturating_sub(bytes);
    }

    /// Whether more than half of the memory of messages that come is taken.
    pub(super) const fn is_arriving_scarce(&self) -> bool {
        self.arriving > self.bounds.incoming_in_all / 2
    }

    /// Finds out whether a message of so many bytes to a peer would be taken for sending now.
    pub(super) fn check(&self, peer: &mut Peer, bytes: usize) -> Result<(), Refused> {
        let most = peer.takes;
        if bytes > most {
            return Err(Refused::TooLong { bytes, most });
        }
        let (waiting, most) = (peer.outgoing_memory(), self.bounds.outgoing);
        // A message of any length that the peer takes can be sent alone.
        if waiting > 0 && waiting + bytes as u64 > most as u64 {
            return Err(Refused::Full { waiting, most });
        }
        // A peer for which little waits is not refused for what waits for others.
        let is_little = waiting + bytes as u64 <= LITTLE as u64;
        let part = if peer.is_blamed { 2 } else { 1 };
        let (waiting, most) = (self.leaving, self.bounds.outgoing_in_all / part);
        if waiting > 0 && waiting + bytes as u64 > most as u64 && !is_little {
            return Err(Refused::FullInAll { waiting, most });
        }
        peer.beyond = 0;
        Ok(())
    }

    /// Counts a refusal to a peer beyond the bounds. Returns whether they are too many: the peer
    /// asks and takes no answers.
    pub(super) const fn is_beyond(&self, peer: &mut Peer) -> bool {
        peer.beyond += 1;
        peer.beyond > MOST_BEYOND
            || self.leaving > self.bounds.outgoing_in_all as u64 + BEYOND_BYTES
    }

    /// Takes memory for a message that is to leave.
    pub(super) const fn post(&mut self, bytes: u64) {
        self.leaving += bytes;
    }

    /// Frees memory of messages that have left.
    pub(super) const fn free_leaving(&mut self, bytes: u64) {
        self.leaving = self.leaving.saturating_sub(bytes);
    }

    /// Whether more than half of the memory of messages that leave is taken.
    pub(super) const fn is_leaving_scarce(&self) -> bool {
        self.leaving > self.bounds.outgoing_in_all as u64 / 2
    }
}
