//! The reasons why a datagram or a connection is refused.

use super::keys::PeerKey;
use super::{MAX_PARAMETERS, WINDOW};
use crate::wire::{ConnectionId, VERSION, WireError};
use std::net::SocketAddr;

/// The reason why a datagram or a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecurityError {
    /// The datagram has a fault.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for keys; see getrandom(2)")]
    Random,
    /// The parameters do not fit a handshake.
    #[error("{bytes} B of parameters exceed the {MAX_PARAMETERS} B of a handshake")]
    Parameters {
        /// The bytes of the parameters.
        bytes: usize,
    },
    /// Connections are protected by keys, and the peer's is not given.
    #[error("no public key is known for {peer}; give the one that belongs to that host's identity")]
    NoKey {
        /// The peer.
        peer: SocketAddr,
    },
    /// The peer speaks another version.
    #[error("{peer} speaks version {theirs}, this end version {VERSION}; update the older one")]
    Version {
        /// The peer.
        peer: SocketAddr,
        /// The version of its datagram.
        theirs: u8,
    },
    /// The peer refuses this end's version.
    #[error("{peer} does not speak version {VERSION}, which this end does; update the older one")]
    OtherVersion {
        /// The peer.
        peer: SocketAddr,
    },
    /// The two ends protect connections in different ways.
    #[error(
        "{peer} does not protect connections by {ours}, as this end does; \
         set the same protection at both ends"
    )]
    Mode {
        /// The peer.
        peer: SocketAddr,
        /// The protection of this end.
        ours: &'static str,
    },
    /// The two ends have different secrets.
    #[error("{peer} has another secret than this end; copy one secret's file to both")]
    Secret {
        /// The peer.
        peer: SocketAddr,
    },
    /// The peer that was called does not have the key.
    #[error("{peer} does not have the public key {key}; copy that host's public key again")]
    WrongKey {
        /// The peer.
        peer: SocketAddr,
        /// The key that this end has of it.
        key: PeerKey,
    },
    /// The peer that was called does not know this end's key.
    #[error("{peer} does not list the public key {key} of this end; add it to the peers there")]
    NotListed {
        /// The peer.
        peer: SocketAddr,
        /// The key of this end.
        key: PeerKey,
    },
    /// A peer has called this end by another key.
    #[error("{peer} calls this end by another public key than {key}; copy this key to that host")]
    CalledByOther {
        /// The peer.
        peer: SocketAddr,
        /// The key of this end.
        key: PeerKey,
    },
    /// A peer's key is not listed here.
    #[error("{peer} has the public key {key}, which is not among the peers of this end; add it")]
    Unlisted {
        /// The peer.
        peer: SocketAddr,
        /// The key of the peer.
        key: PeerKey,
    },
    /// This end has as many peers as it takes.
    #[error("{peer} has to wait, since this end has as many peers as it takes")]
    Full {
        /// The peer.
        peer: SocketAddr,
    },
    /// The datagram belongs to another connection.
    #[error("a datagram of connection {:016x} was handed to another one", to.0)]
    Misdirected {
        /// The connection that the datagram names.
        to: ConnectionId,
    },
    /// The datagram's contents are not what the peer has sent.
    #[error("datagram {number} was damaged or forged on its way")]
    Damaged {
        /// The packet number.
        number: u64,
    },
    /// The datagram came before, or may have.
    #[error("datagram {number} came a second time, or more than {WINDOW} numbers late")]
    Replayed {
        /// The packet number.
        number: u64,
    },
    /// The datagram's key is not the next one.
    #[error("datagram {number} is further ahead of the last one than a key lasts")]
    Ahead {
        /// The packet number.
        number: u64,
    },
}
