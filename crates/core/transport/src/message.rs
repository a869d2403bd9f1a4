//! The message transport of one host.
//!
//! A message is cut into segments (64 KB by default), a segment into packets of one MTU. The
//! receiver acknowledges a segment when all of it has arrived, as a NIC does in hardware; this
//! completion is the event that TIMELY's rate computation runs on. The way of one segment:
//!
//! ```text
//!  post ─► sender: cut ─► pacing engine ─► NIC ─► network ─► receiver ─► ACK of the segment
//!                              ▲ send time                                      │
//!                              │                                                ▼
//!                       rate computation ◄── RTT sample ◄── RTT measurement (t_completion)
//! ```
//!
//! Connections are reliable where the network is not:
//!
//! * The receiver reports the missing packets of a segment, and only those are sent again. A packet
//!   that a switch has cut to its header is reported at once.
//! * A timeout, which backs off, answers silence with a probe.
//! * Duplicates are recognised, and messages are delivered exactly once and in order.
//! * ACKs say which attempt they answer. So each completion gives an RTT sample, after a loss too,
//!   and a timeout that came too early is recognised and undone.
//!
//! Go-back-N ([`Recovery`](crate::Recovery)) takes the place of selective repeat to model the NICs
//! of 2015. A write is paced by the side that posts it; a read sends a request, itself a message,
//! and the responder is the paced side.
//!
//! ```
//! use incast_cc::{AnyAlgorithm, Time};
//! use incast_transport::{Config, Endpoint, Operation, Report, Role};
//!
//! let timely = AnyAlgorithm::named("timely").unwrap();
//! let host = || Endpoint::new(Config::default(), Box::new(move |flow, _| timely.start(flow)));
//! let (mut client, mut server) = (host(), host());
//! // Each side names the connection by the index that the other side gave it.
//! let connection = client.open(Role::Sender, 0);
//! server.open(Role::Receiver, connection);
//! client.post(Time::ZERO, connection, Operation::Write { bytes: 100_000 });
//! while let Some(out) = client.poll_transmit(Time::ZERO) {
//!     server.handle(Time::ZERO, &out.form, Report::default()); // a wire without delay
//! }
//! // TIMELY paces whole segments: the first has arrived, the second is not due yet.
//! assert_eq!(server.delivered_bytes(0), 64_000);
//! assert!(client.next_timer(Time::ZERO).unwrap() > Time::ZERO);
//! ```

mod receiver;
mod segment;
mod sender;

pub use crate::packet::message::{Ack, Body, Data, MAX_SEGMENT_PACKETS, Nack, PacketSet};
pub use receiver::Receiver;
pub use sender::{MAX_PACKETS_AHEAD, OutgoingBurst, Sender};

use incast_cc::{Bytes, Span};

use crate::half::Facts;

/// Facts about the transport: hardware answers whole segments, in a class of its own.
pub(crate) const FACTS: Facts = Facts {
    segments: true,
    waits_in_nic: false,
    is_tcp: false,
    answers_first: true,
    jitter: Span::ZERO,
};

/// The largest payload of a segment: as configured, but no more than a `burst` of the algorithm,
/// which counts as at least one packet of `payload`.
pub fn segment_limit(segment: Bytes, payload: Bytes, burst: Bytes) -> Bytes {
    segment.min(burst.max(payload))
}
