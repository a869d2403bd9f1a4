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
//!   acknowledges a segment which was sent once (Karn). So after a timeout that was right the timer stays
//!   long until such a segment is acknowledged, where timestamps would shorten it with the first ACK.
//! * Of timestamps (RFC 7323) there is a byte that counts the silences which ended with a timeout, and that
//!   ACKs echo. The first ACK of new data after a timeout tells by it whether it answers the original or
//!   the copy (Eifel detection, RFC 3522). If the original, the timeout was for nothing: nothing more is
//!   sent again, what was declared lost is in flight again, the algorithm takes its answer back, and the
//!   estimate of the RTT is at least as long as that answer took (RFC 4015). Linux decides so too, and
//!   by F-RTO (RFC 5682) where a peer has no timestamps.
//! * ACKs tell how long their timer has held them (`ack_delay`), and algorithms get RTTs without that. QUIC
//!   has a field for it (RFC 9000, ACK Delay), Swift and Regulated TCP have timestamps of the receiver; in TCP
//!   it would take an option that no kernel has. Without it algorithms take the timer for congestion, and
//!   those whose windows fall below two segments stay there.
//! * The most that a timeout may be (`rto_max`) bounds the back-off alone, and never below twice what
//!   the measured RTT asks for. RFC 6298 allows a bound of 60 s or more, which no RTT reaches.
//! * A buffer that grows is as large as it would become, from the start: twice the bandwidth-delay product
//!   at the NIC's rate, at least 4 MB, at most the 1 GiB that TCP can advertise. Linux grows it to twice the
//!   window.
//! * The window of the algorithm holds in recovery, without inflation; proportional rate reduction, where
//!   it is on, holds windows that ACKs clock back further, and leaves paced ones alone. Without SACK each
//!   duplicate ACK counts a segment as arrived (RFC 6582's inflation, RFC 3042's limited transmit). As in
//!   TCP the first retransmission of an episode (without SACK, of each partial ACK) and tail-loss probes
//!   leave whatever the window says.
//! * An episode covers what was sent before it began, retransmissions included: one that is lost again
//!   opens none. The algorithm is told, and takes it as a second sign of congestion (RFC 5681, section 4.3).
//! * A timeout declares all lost that has left the NIC (RFC 8985, section 6.3, spares what was sent last).
//! * A copy that is sent as a tail-loss probe is in no books, and a loss that it repairs is not told to the
//!   algorithm, which RFC 8985, section 7.4, would have react.
//! * A false fast retransmit shows when what was declared lost is acknowledged before it was sent again, or
//!   sooner after that than any RTT, and is taken back when all of it has been.
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

pub use config::{Config, EcnEcho, LARGEST_WINDOW};
pub use packet::{Ack, Block, SACK_BLOCKS, Segment};
pub use receiver::Receiver;
pub use sender::Sender;
