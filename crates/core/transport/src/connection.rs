//! The terms of a connection, the operations that applications ask for, and the events that they
//! get.

use incast_cc::param::Transport;
use incast_cc::{Flow, Rate, RttSample, Span};

use crate::packet::DueBy;

/// The known facts about the path to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The RTT without queues, where the operator knows it.
    pub base_rtt: Option<Span>,
    /// The number of links to the peer; zero where unknown.
    pub hop_count: u8,
}

/// The terms that both ends of a connection agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The transport of the payload.
    pub transport: Transport,
    /// The path to the peer.
    pub path: Path,
    /// The traffic class of the payload, below [`CLASSES`]; a higher one is served first.
    pub class: u8,
    /// The share relative to other connections.
    pub weight: u32,
    /// The number of the scheme at both ends: 0 for that of the endpoint's own configuration, others
    /// as [`Endpoint::add_scheme`](crate::Endpoint::add_scheme) counts them.
    pub scheme: u8,
    /// Whether each end posts one message at most. Then the sender's state is freed when that
    /// message is acknowledged, and the receiver's when it is delivered, provided that an
    /// [`Opener`] can open the connection again for packets that come late.
    pub once: bool,
}

/// The number of traffic classes.
pub const CLASSES: u8 = 8;

impl Default for Terms {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            path: Path::default(),
            class: 0,
            weight: 1,
            scheme: 0,
            once: false,
        }
    }
}

/// The part that an endpoint plays on a connection. Payload flows one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends payload, paced by an algorithm.
    Sender,
    /// Receives payload.
    Receiver,
    /// Sends requests for reads: small messages that no algorithm paces.
    Requester,
    /// Receives requests, and answers each on the connection `answers`, where it is the sender.
    Responder {
        /// The connection on which the answers are sent.
        answers: u32,
    },
}

/// The parameters with which a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The terms of both ends, with the path from here.
    pub terms: Terms,
    /// The part of this end.
    pub role: Role,
    /// The connection's index at the peer.
    pub peer: u32,
    /// The address of the peer.
    pub address: Address,
    /// The seed of the connection's random numbers at this end: those of its algorithm, and of
    /// noise in its signal. No other connection has the same seed.
    pub seed: u64,
}

/// The destination of a packet, which a carrier gets with every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The peer's host.
    pub host: u32,
    /// The route to the peer, in a form of the carrier's own; zero where it has none.
    pub route: u64,
}

/// A function that tells how to open the connection of an index. It may be called more than once,
/// and returns the same each time.
pub type Opener = Box<dyn Fn(u32) -> Opening + Send + Sync>;

/// The kind of traffic that an algorithm is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Payload.
    Data,
    /// Requests of a [`Role::Requester`].
    Requests,
}

/// A function that starts the algorithm of a flow.
pub type Starter<C> = Box<dyn Fn(&Flow, Purpose) -> C + Send + Sync>;

/// An operation that an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Send `bytes`; the sender is paced.
    Write {
        /// Payload of the message.
        bytes: u64,
    },
    /// Send until the end of time.
    Stream,
    /// Have the peer send `bytes`; the peer is paced.
    Read {
        /// Payload of the answer.
        bytes: u64,
    },
    /// Have the peer send until the end of time.
    ReadStream,
}

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has arrived, whole and in order.
    Delivered {
        /// The connection.
        connection: u32,
        /// The number of the message on this connection, from 0.
        message: u64,
    },
    /// A message that was sent has been acknowledged.
    Completed {
        /// The connection.
        connection: u32,
        /// The number of the message on this connection, from 0.
        message: u64,
    },
    /// Data was acknowledged with an unambiguous RTT.
    Sampled {
        /// The connection.
        connection: u32,
        /// The sample, with the rate after it.
        sample: Sample,
    },
}

impl Event {
    /// The connection that the event is about.
    pub const fn connection(&self) -> u32 {
        match *self {
            Self::Delivered { connection, .. }
            | Self::Completed { connection, .. }
            | Self::Sampled { connection, .. } => connection,
        }
    }
}

/// An RTT sample, for traces and histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The sample in its parts.
    pub rtt: RttSample,
    /// The RTT as the transport defines it: messages leave out the serialization of the segment, as
    /// TIMELY does; streams leave out nothing, as TCP does.
    pub measured: Span,
    /// The sending rate after the sample.
    pub rate: Rate,
}

/// A message that is complete, after all earlier ones were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// The bytes that the message asks for; zero for none.
    pub(crate) read: u64,
    /// The deadline of them.
    pub(crate) due: DueBy,
}

/// The size of a message without end.
pub(crate) const ENDLESS: u64 = u64::MAX;
