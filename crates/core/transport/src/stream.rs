//! The stream transport: a model of TCP.
//!
//! A stream is a sequence of bytes, cut into segments of one MSS, which are acknowledged
//! cumulatively and selectively. The model has all that TCP does to control congestion, and nothing
//! of how it sets up connections and writes headers:
//!
//! * slow start and recovery as the algorithm asks for;
//! * SACK with RACK and tail-loss probes, or recovery by duplicate ACKs;
//! * a retransmission timer that backs off;
//! * delayed ACKs, the classic ECN echo and the exact one;
//! * send and receive buffers;
//! * bursts of several segments (TSO), with and without pacing;
//! * samples of the delivery rate.
//!
//! The way of one segment:
//!
//! ```text
//!  post ─► sender: cut ─► window, or pacing engine ─► NIC queue ─► network ─► receiver ─► ACK
//!            ▲ scoreboard: RACK, timers                                               │
//!            └────────────── algorithm ◄── RTT, delivery rate, marks ◄────────────────┘
//! ```
//!
//! A window that ACKs clock gives the NIC at once all that it allows, as TCP does. So the RTT
//! contains the wait there, which `small_queue` bounds. A paced burst is given at its send time.
//!
//! A sender has two speeds: bursts of a cache line for what is out in order, a record for each
//! segment once something unusual has happened.
//!
//! # Departures from TCP
//!
//! * A segment ends where a message ends, so that the receiver can tell the application of each
//!   message. Small messages are not coalesced (no Nagle).
//! * An ACK has two SACK blocks, where TCP has room for three or four. A bit of the ACK reports
//!   duplicates, with and without SACK, where TCP has a block of its own (RFC 2883).
//! * RTTs come from the sender's own records, not from timestamps: one for each ACK that newly
//!   acknowledges a segment which was sent once (Karn). So after a timeout that was right the timer
//!   stays long until such a segment is acknowledged. Timestamps would shorten it with the first
//!   ACK.
//! * A byte takes the place of timestamps (RFC 7323): it counts the silences that ended with a
//!   timeout, and ACKs echo it. By the echo the first ACK of new data after a timeout tells whether
//!   it answers the original or the copy (Eifel detection, RFC 3522). If the original, the timeout
//!   was spurious: nothing more is sent again, data that was declared lost is in flight again, the
//!   algorithm takes its answer back, and the estimate of the RTT is at least as long as that
//!   answer took (RFC 4015). Linux decides so too, and by F-RTO (RFC 5682) where a peer has no
//!   timestamps.
//! * ACKs tell how long their timer has held them (`ack_delay`), and algorithms get RTTs without
//!   that. QUIC has a field for it (RFC 9000, ACK Delay); Swift and Regulated TCP have timestamps
//!   of the receiver; TCP would need an option that no kernel has. Without it algorithms take the
//!   timer for congestion, and windows that fall below two segments stay there.
//! * The longest timeout (`rto_max`) bounds the back-off alone, and never below twice the timeout
//!   that the measured RTT asks for. RFC 6298 allows a bound of 60 s or more, which no RTT reaches.
//! * A buffer that grows has its final size from the start: twice the bandwidth-delay product at
//!   the NIC's rate, at least 4 MB, at most the 1 GiB that TCP can advertise. Linux grows it to
//!   twice the window. ACKs do not repeat the receiver's window: it never changes.
//! * The window of the algorithm holds in recovery, without inflation. Proportional rate reduction,
//!   where it is on, holds windows that ACKs clock back further, and leaves paced ones alone.
//!   Without SACK each duplicate ACK counts a segment as arrived (the inflation of RFC 6582, the
//!   limited transmit of RFC 3042). As in TCP some segments leave whatever the window says: the
//!   first retransmission of an episode (without SACK, of each partial ACK), and tail-loss probes.
//! * An episode covers all data sent before it began, retransmissions included: a retransmission
//!   that is lost opens none. The algorithm is told, and takes it as a second sign of congestion
//!   (RFC 5681, section 4.3).
//! * A timeout declares all data lost that has left the NIC (RFC 8985, section 6.3, spares the data
//!   that was sent last).
//! * A copy that is sent as a tail-loss probe is in no books, and the algorithm is not told of a
//!   loss that it repairs; RFC 8985, section 7.4, would have it react.
//! * A false fast retransmit shows when data that was declared lost is acknowledged before it was
//!   sent again, or sooner after that than any RTT. It is taken back when all such data has
//!   arrived.
//! * Connections are open from the start unless `handshake` is set, which costs the exchange before
//!   the first segment and gives the first RTT. They are never closed. Windows are not reset after
//!   idling (RFC 5681, section 4.1), unless the algorithm does so.

use incast_cc::Span;

use crate::half::Facts;

mod bursts;
mod ranges;
mod receiver;
mod recovery;
mod scoreboard;
mod sender;

pub use crate::config::stream::{Config, EcnEcho, LARGEST_WINDOW};
pub use crate::packet::stream::{Ack, Block, Body, SACK_BLOCKS, Segment};
pub use receiver::Receiver;
pub use sender::Sender;

/// Facts about the transport: a host's software runs it, whose answers share a class with data.
pub(crate) const FACTS: Facts = Facts {
    segments: false,
    waits_in_nic: true,
    is_tcp: true,
    answers_first: false,
    jitter: Span::from_us(1),
};
