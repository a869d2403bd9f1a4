//! Feedback: ports that tell senders explicitly what they see, in the packets that pass.
//!
//! A kind has two types: its settings, which implement [`Settings`], and the [`Law`] that they start
//! for each egress port. The sender's algorithm names the kind that it understands. A packet takes
//! a header ([`Feedback`](incast_cc::Feedback)) or an empty list of stamps along, each port changes
//! it as the packet leaves, and the receiver returns it with its ACK. A law with a timer has no
//! events of its own: each call first catches up on the instants that have passed.

mod load;
mod registry;
#[cfg(test)]
mod tests;

macro_rules! modules {
    ($($module:ident::$type:ident,)+) => { $(pub mod $module;)+ };
}
feedbacks!(modules);

use incast_cc::{Rate, Time};
use incast_transport::Stamps;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use crate::Wrong;
pub use registry::{AnyFeedback, AnyLaw, Feedbacks, KINDS};

/// The settings of a kind of feedback.
pub trait Settings: DeserializeOwned + JsonSchema + Default {
    /// The law that the settings start.
    type Law: Law;

    /// The kind in one sentence, for the schema.
    const SUMMARY: &'static str;
    /// Whether the law hears of packets as they arrive, with or without a header.
    const LISTENS: bool;

    /// Finds mistakes that no single field shows.
    ///
    /// # Errors
    /// The field, and a sentence that says what is wrong with it.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// Starts a law for a port onto a link of `rate`.
    fn start(&self, rate: Rate) -> Self::Law;
}

/// The feedback of one port, while it runs. Bytes are those on the wire unless said.
pub trait Law {
    /// Hears of a packet that arrives for the port and has room, of any class; `queued` bytes wait
    /// without it. Called only where the kind [listens](Settings::LISTENS).
    fn on_arrival(&mut self, now: Time, queued: u64, wire: u64) {
        let _ = (now, queued, wire);
    }

    /// Reads and changes the words in a data packet that leaves.
    fn on_departure(&mut self, departure: &Departure, stamps: &mut Stamps);
}

/// A data packet that leaves a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The instant at which its transmission starts.
    pub now: Time,
    /// The number of the port, as stamps give it.
    pub port: u32,
    /// The rate of the link behind the port.
    pub rate: Rate,
    /// Bytes that wait in the port without the packet.
    pub queued: u64,
    /// Bytes that the port has sent since the start, with the packet.
    pub sent: u64,
    /// The bytes of the packet.
    pub wire: u64,
    /// The payload of the packet.
    pub payload: u64,
}
