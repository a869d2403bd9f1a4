//! The datagrams of the transport: a header in the clear, then frames.
//!
//! A datagram starts with 16 bytes, in network byte order like all that follows:
//!
//! | bytes | content |
//! |---|---|
//! | 1 | [`VERSION`] |
//! | 1 | kind ([`Kind`]) |
//! | 2 | the upper bits of the packet number |
//! | 8 | the connection's [`ConnectionId`], as the receiver of the datagram has chosen it; zero before it has |
//! | 4 | the lower bits of the packet number; zero outside open connections |
//!
//! The rest of a [`Kind::Sealed`] datagram, once [`security`](crate::security) has opened it, is a
//! row of [`Frame`]s, up to a zero where a frame would start. What follows is padding: it makes a
//! datagram as long as those that leave with it in one send. A message of 64 B takes 84 B, so many
//! of them share a datagram. All other datagrams are [`Opening`]s.
//!
//! A peer that restarts takes new random ids. It answers datagrams to the ids of its former life
//! with [`Kind::Unknown`], so that their sender opens a connection anew. By itself this answer
//! proves nothing, and ends no connection.
//!
//! Numbers that count up travel in 48 bits: of datagrams, of the transport's packets, of messages.
//! At a million a second they last for nine years; a node ends a connection before.
//!
//! Version, kind and connection id are at the same place in all versions, and so is the id of the
//! sender in a [`Kind::Hello`]: peers of two versions can tell each other.
//!
//! Every length is checked before it is used, and nothing takes memory. A fault is a [`WireError`],
//! and the last that is read of its datagram: no peer that keeps the rules makes one. There is one
//! way to write a datagram: what is read and written again is the same bytes, but for padding.

mod bytes;
mod completion;
mod data;
mod frame;
mod header;
mod lane;
mod opening;

pub use bytes::MOST_COUNT;
pub use completion::{Completion, Completions, MAX_COMPLETIONS, Turnaround};
pub use data::{DATA_BYTES, Data, WHOLE_BYTES};
pub use frame::{Close, Frame, Frames, Nack, Probe, ProbeAnswer};
pub use header::{ConnectionId, HEADER_BYTES, Header, Kind, VERSION};
pub use lane::LaneNumber;
pub use opening::{
    COOKIE_BYTES, Mode, Opening, Refusal, hello_of_another_version, receiver_in_any_version,
};

/// The fault of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The datagram ends before the field does.
    #[error("the datagram ends within {field}")]
    Short {
        /// The field.
        field: &'static str,
    },
    /// The peer speaks another version.
    #[error("the peer speaks version {theirs}, this end version {VERSION}; update the older one")]
    Version {
        /// The version of the datagram.
        theirs: u8,
    },
    /// A field has a value that it cannot have.
    #[error("{field} cannot be {value}")]
    Value {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
    },
    /// The frame does not fit the room that is left.
    #[error("the frame takes {bytes} B, and the datagram has {room} B left")]
    Room {
        /// The bytes of the frame.
        bytes: usize,
        /// The bytes that are left.
        room: usize,
    },
}
