//! The promise of a transport's packets: their two forms, and what carriers ask of them.

use super::header::{Compact, Header};

/// The content of the packets of one transport.
pub(crate) trait Wire: Copy {
    /// The sequence number: of data its own, of answers the one that is acknowledged or missed.
    fn sequence(&self) -> u64;

    /// Payload in bytes; zero but for data.
    fn payload(&self) -> u32;

    /// The payload that was not acknowledged when the packet left its sender: up to the end of its
    /// message, or of all that a stream has posted. `u32::MAX` if it is more, or has no end; zero
    /// but for data and its headers.
    fn remaining(&self) -> u32;

    /// Whether switches may mark the packet instead of dropping it (ECN-capable transport).
    fn is_ect(&self) -> bool;

    /// Whether the packet is for the receiving half of its connection.
    fn is_data(&self) -> bool;

    /// Whether the receiver answers this very packet.
    fn is_answered(&self) -> bool;

    /// Whether the arrival changes nothing but counters, if nothing before it is missing.
    fn is_quiet(&self) -> bool;

    /// Whether the packet takes the words of switches back that the data had which it answers.
    fn echoes(&self) -> bool;

    /// The word for the packet in traces: `data`, `ack`, `nack` or `trimmed`.
    fn name(&self) -> &'static str;

    /// The header that is left when a switch cuts the payload off; [`None`] if the receiver could
    /// do nothing with it.
    fn trimmed(&self) -> Option<Self> {
        None
    }

    /// The parts of the compact form; [`None`] if the packet has none.
    fn compact(&self, sent_ns: u32) -> Option<Compact>;

    /// The content of a header whose kind is one of the transport's. Its sequence number is less
    /// than 2^31 from `near`.
    fn of(header: &Header, near: u64) -> Self;
}
