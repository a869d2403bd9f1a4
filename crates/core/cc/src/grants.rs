//! Policies of receivers: which flow may send next, and how much.
//!
//! Where receivers speak first, a sender has a small window that nobody grants, and waits for
//! credit beyond it. The policy of the receiving host gives that credit, paced over all of its
//! senders. What a flow does with it is its own algorithm's affair, which may hold it back further.

use crate::units::{Bytes, Time};

/// A receiver's permission for a flow to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The flow, by the number that the carrier has for it.
    pub flow: u32,
    /// The payload that the flow may send beyond earlier grants.
    pub bytes: Bytes,
}

/// Data that has arrived at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The flow, by the number that the carrier has for it.
    pub flow: u32,
    /// The payload of the packet.
    pub bytes: Bytes,
    /// The payload that the flow had left to send behind it; zero for none.
    pub demand: Bytes,
    /// Whether a switch has marked the packet.
    pub marked: bool,
}

/// A policy by which a receiving host gives credit to the flows that send to it.
///
/// Like an algorithm it has no clock: times come with calls, and never go back.
pub trait Grants {
    /// Takes in that data has arrived.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival);

    /// Forgets a flow, which has ended or whose number is used again.
    fn on_end(&mut self, flow: u32);

    /// The time of the next credit; [`None`] while no flow waits for any.
    fn next_at(&self) -> Option<Time>;

    /// The credit that is due; [`None`] before [`next_at`](Self::next_at).
    fn grant(&mut self, now: Time) -> Option<Grant>;
}
