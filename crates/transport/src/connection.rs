//! What a connection is asked for, and what is heard of it.

use incast_cc::{Flow, Rate, RttSample, Span};

/// How a connection carries its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Messages in segments of up to 64 KB, as RDMA NICs send them: [`message`](crate::message).
    #[default]
    Message,
    /// A byte stream, as TCP: [`stream`](crate::stream).
    Stream,
}

/// What is known of the way to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The RTT without queues, where the operator knows it.
    pub base_rtt: Option<Span>,
    /// Links to the peer, zero where unknown.
    pub hop_count: u8,
}

/// What both ends of a connection agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How payload is carried.
    pub transport: Transport,
    /// The way to the peer.
    pub path: Path,
    /// The traffic class of its payload; a higher one is served first. Below [`CLASSES`].
    pub class: u8,
    /// Its share relative to other connections.
    pub weight: u32,
    /// Messages should be complete so long after they were posted.
    pub deadline: Option<Span>,
    /// Each end posts one message at most. When it has been acknowledged, what was needed to send it is
    /// given back; when it has been delivered, what was needed to receive it, where an [`Opener`] can say
    /// how to open the connection again for what comes late.
    pub once: bool,
}

/// Traffic classes that there may be.
pub const CLASSES: u8 = 8;

impl Default for Terms {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            path: Path::default(),
            class: 0,
            weight: 1,
            deadline: None,
            once: false,
        }
    }
}

/// What an endpoint does on a connection. Payload flows one way; the index that the peer knows the
/// connection by is told when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends payload, paced by an algorithm.
    Sender,
    /// Receives payload.
    Receiver,
    /// Sends requests for reads. They are messages too, but small: no algorithm paces them.
    Requester,
    /// Receives requests, and answers each on the connection `answers`, where it is the sender.
    Responder {
        /// The connection on which the answers are sent.
        answers: u32,
    },
}

/// How a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What both ends agree on, and the way from here.
    pub terms: Terms,
    /// What is done here.
    pub role: Role,
    /// The index that the peer has it by.
    pub peer: u32,
    /// Where the peer is.
    pub address: Address,
    /// The seed of its random numbers here, those of its algorithm and of noise in its signal: another than any
    /// other connection's.
    pub seed: u64,
}

/// What a carrier wants to be told with every packet: where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The peer's host.
    pub host: u32,
    /// The way there, if the carrier cares; in words of its own.
    pub route: u64,
}

/// Says how the connection of an index is to be opened. It may be asked more than once, and says the same
/// each time.
pub type Opener = Box<dyn Fn(u32) -> Opening + Send + Sync>;

/// What an algorithm is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Payload.
    Data,
    /// Requests of a [`Role::Requester`].
    Requests,
}

/// Starts the algorithm of a flow.
pub type Starter<C> = Box<dyn Fn(&Flow, Purpose) -> C + Send + Sync>;

/// What an application asks for.
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

/// What the application hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has arrived, whole and in order.
    Delivered {
        /// The connection.
        connection: u32,
        /// Counts the connection's messages from 0.
        message: u64,
    },
    /// A message that was sent has been acknowledged.
    Completed {
        /// The connection.
        connection: u32,
        /// Counts the connection's messages from 0.
        message: u64,
    },
    /// Data was acknowledged with an unambiguous RTT.
    Sampled {
        /// The connection.
        connection: u32,
        /// The sample and what became of the rate.
        sample: Sample,
    },
}

/// One RTT sample, for traces and histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The sample in its parts.
    pub rtt: RttSample,
    /// The RTT as the transport defines it: messages leave out the serialization of the segment, as
    /// TIMELY does, streams leave out nothing, as TCP does.
    pub measured: Span,
    /// The rate after it.
    pub rate: Rate,
}

/// A message is complete and all before it were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// Not zero: it asks for so many bytes.
    pub(crate) read: u64,
}

/// A message longer than any run.
pub(crate) const ENDLESS: u64 = u64::MAX;
