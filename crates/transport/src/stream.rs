//! The stream transport: a model of TCP.
//!
//! A stream is a sequence of bytes, cut into segments of one MSS, acknowledged cumulatively and
//! selectively. What TCP does to control congestion is all here, what it does to set up connections
//! and to write headers is not: slow start and recovery as the algorithm asks for, SACK with RACK and
//! tail-loss probes or recovery by duplicate ACKs, a retransmission timer that backs off, delayed ACKs,
//! the classic ECN echo and the exact one, send and receive buffers, bursts of several segments (TSO)
//! with and without pacing, delivery-rate samples. The way of one segment:
//!
//! ```text
//!  post ─► sender: cut ─► window, or pacing engine ─► NIC queue ─► network ─► receiver ─► ACK
//!            ▲ scoreboard: RACK, timers                                               │
//!            └────────────── algorithm ◄── RTT, delivery rate, marks ◄────────────────┘
//! ```
//!
//! A window that ACKs clock gives the NIC at once what it allows, as TCP does, so the RTT contains the
//! wait there (`small_queue` bounds it); a paced burst is given when its time has come.
//!
//! # Departures from TCP
//!
//! * A segment ends where a message ends, so the receiver can tell the application of each message;
//!   small messages are not coalesced (no Nagle).
//! * Two SACK blocks per ACK, where TCP has room for three or four. That something came twice is a bit of
//!   the ACK, with and without SACK, where TCP has a block of its own (RFC 2883).
//! * RTTs are taken from the sender's own records, not from timestamps, one per ACK that newly
//!   acknowledges a segment which was sent once (Karn). So after a timeout the timer stays long until such
//!   a segment is acknowledged, where timestamps would shorten it with the first ACK.
//! * The window of the algorithm holds in recovery, without inflation; proportional rate reduction, where
//!   it is on, holds windows that ACKs clock back further, and leaves paced ones alone. Without SACK each
//!   duplicate ACK counts a segment as arrived (RFC 6582's inflation, RFC 3042's limited transmit). As in
//!   TCP the first retransmission of an episode (without SACK, of each partial ACK) and tail-loss probes
//!   leave whatever the window says.
//! * An episode covers what was sent before it began, retransmissions included: one that is lost again
//!   opens none, though RFC 5681, section 4.3, counts it as a second sign of congestion.
//! * A timeout declares all lost that has left the NIC (RFC 8985, section 6.3, spares what was sent last).
//! * A copy that is sent as a tail-loss probe is in no books, and a loss that it repairs is not told to the
//!   algorithm, which RFC 8985, section 7.4, would have react.
//! * No F-RTO: a false timeout shows when what was declared lost is acknowledged before it was sent
//!   again, or sooner after that than any RTT, and is taken back when all of it has been.
//! * Connections are open from the start unless `handshake` is set, which costs the exchange before the
//!   first segment and gives the first RTT; they are never closed. Windows are not reset after idling (RFC
//!   5681, section 4.1), unless the algorithm does.

mod config;
mod packet;
mod ranges;
mod receiver;
mod recovery;
mod scoreboard;
mod sender;

pub use config::{Config, EcnEcho};
pub use packet::{Ack, Block, SACK_BLOCKS, Segment};
pub use receiver::Receiver;
pub use sender::Sender;
