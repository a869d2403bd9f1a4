//! The news of a node, and the reasons why something has failed.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use incast_cc::{Rate, Span};

use super::{CallId, Incoming, LEAST_MTU, PeerId, Reach};
use crate::options::MOST_MESSAGE;
use crate::security::SecurityError;
use crate::socket::OpenError;

/// The reason why a peer is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// The peer has closed the connection.
    #[error("{0} has closed the connection")]
    Closed(SocketAddr),
    /// This node has closed the connection.
    #[error("the connection to {0} was closed here")]
    ClosedHere(SocketAddr),
    /// The peer does not know the connection: it was started anew.
    #[error("{0} was restarted: it does not know the connection; connect again")]
    Restarted(SocketAddr),
    /// The peer has been silent for too long.
    #[error("{0} is silent; look whether it runs and the network reaches it")]
    Silent(SocketAddr),
    /// Nothing answers at the address.
    #[error("nothing answers at {0}; look whether a server runs there, and at firewalls")]
    NoAnswer(SocketAddr),
    /// The kernel sends nothing to the address.
    #[error("this machine cannot send to {0}; look at its routes, and whether both ends have IPv6")]
    Unreachable(SocketAddr),
    /// The path does not take datagrams of the least MTU that the settings promise.
    #[error(
        "the path to {address} does not take IP packets of {mtu} B; set an MTU at both ends that \
         all devices on it have"
    )]
    Narrow {
        /// The address.
        address: SocketAddr,
        /// The MTU of this node.
        mtu: u16,
    },
    /// The peer has broken the rules of the format.
    #[error("{0} has broken the rules of the format; both ends should be of one version")]
    Protocol(SocketAddr),
    /// The peer has no room for another connection.
    #[error("{0} has as many peers as it takes; try again later")]
    Overload(SocketAddr),
    /// The peer held memory of this node, and its messages did not go on.
    #[error(
        "{0} held memory here for long: it neither ended its messages nor took the answers; its \
         connection was ended"
    )]
    Stuck(SocketAddr),
    /// The peer has ended the connection since messages between the two did not go on.
    #[error(
        "{0} has ended the connection: messages from here did not end or its answers were not \
         taken, and it is short of memory; connect again"
    )]
    Dropped(SocketAddr),
    /// The connection has sent as many packets as the numbers of the format tell apart.
    #[error("the connection to {0} is old: its packets have no more numbers; connect again")]
    Spent(SocketAddr),
    /// The two ends do not open a connection with each other.
    #[error(transparent)]
    Security(SecurityError),
}

/// An event for the owner of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection is open, whichever end began it.
    Opened {
        /// The peer.
        peer: PeerId,
        /// The address of the peer.
        address: SocketAddr,
    },
    /// A peer calls.
    Called {
        /// The call, to be [answered](super::Node::reply).
        call: Incoming,
        /// The body of the call.
        body: Bytes,
        /// The time that the caller waits, if it is bounded.
        patience: Option<Duration>,
    },
    /// The caller no longer waits for the reply.
    Cancelled {
        /// The call.
        call: Incoming,
    },
    /// A message came that wants no reply.
    Noted {
        /// The peer.
        peer: PeerId,
        /// The body of the message.
        body: Bytes,
        /// The time for which the sender wants it delivered, from when it was posted, if it is
        /// bounded.
        patience: Option<Duration>,
    },
    /// The reply to a call came.
    Replied {
        /// The call.
        call: CallId,
        /// The body of the reply.
        body: Bytes,
    },
    /// The peer has refused a call.
    Refused {
        /// The call.
        call: CallId,
        /// The peer's reason.
        reason: Bytes,
    },
    /// The time for a call or a note is over.
    TimedOut {
        /// The call or note.
        call: CallId,
        /// Whether the peer may have got it, and done what it was called for.
        reach: Reach,
    },
    /// The peer has the whole of a [note](super::Node::note).
    Delivered {
        /// The note.
        note: CallId,
    },
    /// The peer was gone before the reply to a call or the acknowledgement of a note came.
    Failed {
        /// The call or note.
        call: CallId,
        /// The reason.
        why: Gone,
    },
    /// A call or a note that was posted before the connection was open is too long for the peer,
    /// and was not sent.
    TooLong {
        /// The call or note.
        call: CallId,
        /// The length of its body in bytes.
        bytes: usize,
        /// The most that the peer takes.
        most: usize,
    },
    /// A host was refused that wanted to connect.
    Rejected {
        /// The address of the peer.
        address: SocketAddr,
        /// The reason.
        why: SecurityError,
    },
    /// A peer is gone, with all that was under way.
    Gone {
        /// The peer.
        peer: PeerId,
        /// The reason.
        why: Gone,
    },
}

impl Event {
    /// The peer whose message the event brings, and the length of the message.
    pub fn message(&self) -> Option<(PeerId, usize)> {
        match self {
            Self::Called { call, body, .. } => Some((call.peer(), body.len())),
            Self::Noted { peer, body, .. } => Some((*peer, body.len())),
            Self::Replied { call, body } | Self::Refused { call, reason: body } => {
                Some((call.peer(), body.len()))
            }
            _ => None,
        }
    }
}

/// The reason why a node could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The socket could not be opened.
    #[error(transparent)]
    Socket(#[from] OpenError),
    /// The system gives no random numbers.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// A rate is zero.
    #[error("the {what} is zero; give one such as 10Gbps")]
    NoRate {
        /// The rate.
        what: &'static str,
    },
    /// The longest message is longer than the format carries.
    #[error("messages of {bytes} B are too long; {MOST_MESSAGE} B is the most")]
    LongMessage {
        /// The length.
        bytes: usize,
    },
    /// The memory of all messages that come has no room for two of the longest: one that comes, and
    /// half of it for those behind.
    #[error("{most} B for all messages that come have no room for two of {message} B; give more")]
    Memory {
        /// The bytes of all messages.
        most: usize,
        /// The length of the longest message.
        message: usize,
    },
    /// The MTU is below that of IPv6.
    #[error("an MTU of {mtu} B is too small; {LEAST_MTU} B is the least")]
    Mtu {
        /// The MTU.
        mtu: u16,
    },
    /// The algorithm needs what switches write into packets, which UDP does not carry.
    #[error(
        "{name} needs what switches write into packets (INT, explicit rates), which UDP sockets do not carry; choose another algorithm"
    )]
    Telemetry {
        /// The name of the algorithm.
        name: &'static str,
    },
    /// The algorithm needs switches that obey its packets, which UDP sockets do not mark for them.
    #[error("{name} needs {need}, which UDP sockets cannot ask for; choose another algorithm")]
    Switches {
        /// The name of the algorithm.
        name: &'static str,
        /// The need.
        need: &'static str,
    },
}

/// An RTT sample of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// The peer.
    pub peer: PeerId,
    /// The time since the start of the node.
    pub at: Duration,
    /// The RTT without the peer's turnaround.
    pub rtt: Span,
    /// The sending rate after the sample.
    pub rate: Rate,
}

/// Counts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that came.
    pub datagrams: u64,
    /// Datagrams of no known connection.
    pub unknown: u64,
    /// Datagrams that were damaged, forged, or came a second time.
    pub refused: u64,
    /// Hellos that were left for later, since handshakes had their share of the processor's time.
    pub postponed: u64,
    /// Packets of messages for which there was no memory.
    pub no_memory: u64,
    /// Sends that the kernel has refused.
    pub unsent: u64,
    /// Bytes of data packets that were sent, with the headers that pacing counts.
    pub data_bytes: u64,
}

impl Counters {
    /// Adds the counts of another node.
    pub fn add(&mut self, other: &Self) {
        let Self { datagrams, unknown, refused, postponed, no_memory, unsent, data_bytes } = other;
        self.datagrams += datagrams;
        self.unknown += unknown;
        self.refused += refused;
        self.postponed += postponed;
        self.no_memory += no_memory;
        self.unsent += unsent;
        self.data_bytes += data_bytes;
    }
}
