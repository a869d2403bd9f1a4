//! The message transport over UDP, in user space: sockets, datagrams, keys.
//!
//! * [`socket`] sends and receives datagrams in batches, marks them, and tells when the kernel
//!   saw each.
//! * [`wire`] is the format of the datagrams that carry the packets of
//!   [`incast_transport::message`].
//! * [`security`] opens connections, and encrypts and authenticates their datagrams.
//! * [`node`] drives the transport with them, for one thread: calls, replies and messages between
//!   hosts.
//! * [`place`] moves a thread to a network namespace or a CPU.
//! * [`settings`] describes the settings of a host, and reads them as people write them.
//! * [`host`] has nodes on threads of their own, for applications that block or are asynchronous.
//!
//! A [`recording`] keeps what the transport of a node was told and what it said, to be replayed far
//! from any socket ([`Node::record`]).
//!
//! The crate is for Linux, and is empty elsewhere. It drives real sockets, so it reads a clock.

#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod clock;
pub mod host;
mod message;
pub mod node;
mod options;
pub mod place;
pub mod security;
pub mod settings;
pub mod socket;
pub mod wire;

pub use incast_transport::recording;

pub use host::{Answer, Call, Failure, Host, HostError, Note, Peer, Pending, Request, within};
pub use message::{Priority, Terms};
pub use node::{
    CallId, Counters, Event, Gone, Group, Incoming, Lack, Lateness, Node, NodeError, PeerId, Reach,
    Refused, Sampled, Statistics, Wake, Waker,
};
pub use options::{Memory, Options, Waiting};
