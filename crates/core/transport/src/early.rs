//! Packets that leave ahead of time, and the NIC that takes them.

use incast_cc::Time;

use crate::connection::Address;
use crate::packet::Header;

/// A packet that leaves ahead of time, or at once.
#[derive(Clone, Copy, Debug)]
pub struct Early {
    /// The packet, in the compact form.
    pub header: Header,
    /// The address of the peer.
    pub address: Address,
    /// The traffic class.
    pub class: u8,
    /// The connection's index here; of no meaning for a reply.
    pub connection: u32,
    /// The time of posting, in the first packet of a message.
    pub begins: Option<Time>,
}

/// The difference between the headers of packets of one burst that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The difference of the sequence numbers.
    pub sequence: u32,
    /// The difference of the rest.
    pub rest: u32,
    /// Whether the NIC gets each packet when that starts, and not all at once.
    pub is_timed: bool,
}

/// A NIC that takes packets before they start. The methods that take a packet get its start, and
/// return the time at which the NIC is free again.
pub trait EarlyNic {
    /// Whether data at line rate is ahead of time. Spaced data then waits until it has left, and the
    /// other way round.
    fn has_data(&self) -> bool;
    /// Whether spaced data is ahead of time.
    fn has_spaced(&self) -> bool;
    /// Takes an ACK or a report, which is ready at `ready_at`.
    fn take_reply(&mut self, start: Time, ready_at: Time, reply: &Early) -> Time;
    /// Takes data of a spaced burst, of the connection at `place`, whose send time is `at`.
    fn take_spaced(&mut self, start: Time, data: &Early, place: u32, at: Time) -> Time;
    /// Takes `count` packets of data of one size, one after the other, whose headers lie a `step`
    /// apart. Returns the last start, and the time at which the NIC is free again.
    fn take_data(&mut self, start: Time, data: &Early, count: u32, step: Step) -> (Time, Time);
    /// Asks for an event when the NIC is free: data waits for it.
    fn ask(&mut self);
}
