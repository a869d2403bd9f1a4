//! What travels of a stream: segments and their acknowledgements.

/// Payload: a part of the stream that belongs to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a header")]
pub struct Segment {
    /// Where in the stream it starts, in bytes from its beginning.
    pub sequence: u64,
    /// Not zero: the message that ends here asks for that many bytes to be sent back.
    pub read: u64,
    /// Payload in bytes.
    pub payload: u32,
    /// The last segment of its message. A message starts a segment of its own.
    pub ends_message: bool,
    /// ECN-capable transport: switches may mark it.
    pub ect: bool,
    /// The sender has reduced its window: answers a classic ECN echo (RFC 3168).
    pub cwr: bool,
    /// Opens the connection, without payload (SYN).
    pub opens: bool,
    /// The sender's count of silences that ended with a timeout, modulo 256; of a SYN, how often it was asked
    /// before. ACKs echo it, so it tells what was sent before a timeout from what was sent after it, which is
    /// what TCP's timestamps are asked for (RFC 7323, RFC 3522).
    pub epoch: u8,
}

impl Segment {
    /// Where in the stream it ends.
    pub const fn end(&self) -> u64 {
        self.sequence + self.payload as u64
    }
}

/// A range of the stream that has arrived beyond a gap (RFC 2018), relative to the acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// How far beyond the acknowledgement it starts.
    pub start: u32,
    /// How long it is; zero is no block.
    pub length: u32,
}

/// SACK blocks of one acknowledgement: the one that grew last, then the one that did before it. TCP
/// has room for three or four; with an ACK for every segment beyond a gap two say the same, unless
/// many ACKs in a row are lost.
pub const SACK_BLOCKS: usize = 2;

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Everything below has arrived.
    pub sequence: u64,
    /// What has arrived beyond gaps; empty without SACK.
    pub blocks: [Block; SACK_BLOCKS],
    /// How much more the receiver has room for, from `sequence` on.
    pub window: u32,
    /// Payload that arrived marked since the last ACK.
    pub ce_bytes: u32,
    /// When the newest segment arrived, by the receiver's clock: nanoseconds modulo 2^32. The ACK was held for
    /// the time from then until it was made ([`Packet::sent_ns`](crate::Packet)).
    pub arrived_ns: u32,
    /// Classic ECN echo: a mark has arrived and the sender has not answered it yet (RFC 3168).
    pub ece: bool,
    /// Whether a segment has told the receiver nothing new since the last ACK: a duplicate (RFC 2883).
    pub duplicate: bool,
    /// Answers the segment that opened the connection (SYN-ACK).
    pub opens: bool,
    /// The [`epoch`](Segment::epoch) of what it answers: of the first segment since the last ACK, unless that
    /// lies beyond a gap (as RFC 7323, section 4.3, chooses the timestamp to echo).
    pub echo: u8,
}
