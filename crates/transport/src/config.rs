//! What an endpoint must be told.

use std::fmt;

use incast_cc::{Bytes, Rate, Span};

use crate::connection::CLASSES;
use crate::message::MAX_SEGMENT_PACKETS;
use crate::signal::Signal;
use crate::stream;

/// How messages are repaired after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Selective repeat: the receiver keeps what arrives out of order and reports the packets that are
    /// missing; the sender repeats these alone.
    #[default]
    Selective,
    /// Going back N, as RDMA NICs of 2015 do: the receiver drops what is out of order and says once
    /// which packet it waits for; the sender repeats all from there on.
    GoBackN,
}

/// Whose packets a host's NIC sends next, of those that may leave and are of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nic {
    /// Round robin over connections, packet by packet: segments that wait together leave interleaved.
    #[default]
    Packets,
    /// Streams in the order in which their segments, and the ACKs of their receivers, were given to the NIC: one queue
    /// for all connections. Messages are served as by [`Packets`](Self::Packets).
    Fifo,
    /// Messages segment by segment: the packets of a segment leave back to back, and the segments of other
    /// connections wait. `t_send` is then when the first packet leaves, not when the segment was
    /// queued. A gap that the algorithm leaves between the packets of a segment is open to others. Streams are
    /// served as by [`Packets`](Self::Packets).
    Segments,
}

/// The retransmission timeout before the first RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialTimeout {
    /// This long, or three base RTTs where these are known and longer: RFC 6298 makes as much of a
    /// first sample.
    AtLeast(Span),
    /// This long, whatever the path.
    Fixed(Span),
}

impl InitialTimeout {
    /// The timeout on a path whose RTT without queues is `base_rtt`, where it is known: at most `most`,
    /// unless the path asks for more.
    pub fn on(self, base_rtt: Option<Span>, most: Span) -> Span {
        match self {
            Self::Fixed(timeout) => timeout.min(most),
            Self::AtLeast(timeout) => timeout.min(most).max(base_rtt.unwrap_or_default() * 3),
        }
    }
}

/// What is common to all connections of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Messages: most payload of a segment, the unit of pacing and of acknowledgement.
    pub segment: Bytes,
    /// Messages: most payload of a packet.
    pub payload: Bytes,
    /// Messages: how losses are repaired.
    pub recovery: Recovery,
    /// What headers add to a packet on the wire.
    pub header: Bytes,
    /// Rate of the NIC.
    pub line_rate: Rate,
    /// Whose packets the NIC sends next.
    pub nic: Nic,
    /// The traffic class of ACKs and reports; that of the data they answer where there is none.
    pub ack_class: Option<u8>,
    /// By traffic class, from the lowest: neighbours with weights share what those above leave, as in
    /// [`Scheduler`](crate::Scheduler); zero has none.
    pub weights: [u16; CLASSES as usize],
    /// From the arrival of what is acknowledged to its ACK leaving.
    pub ack_turnaround: Span,
    /// And up to this much more, at random: what software takes is never the same. It keeps flows
    /// from falling into step, which exactly equal delays make them do.
    pub ack_jitter: Span,
    /// Retransmission timeout before the first RTT sample.
    pub rto_initial: InitialTimeout,
    /// Least retransmission timeout.
    pub rto_min: Span,
    /// Longest timeout that backing off leads to. A path whose RTT asks for a longer one has that.
    pub rto_max: Span,
    /// Streams.
    pub stream: stream::Config,
    /// What algorithms get as their RTT.
    pub signal: Signal,
    /// The seed of the endpoint's random numbers: another than any other host's. Connections have seeds of their own
    /// ([`Opening::seed`](crate::Opening::seed)).
    pub seed: u64,
    /// Receivers answer marked payload with a notification (CNP), at most one per connection in this
    /// time; none sends no notifications.
    pub notification_interval: Option<Span>,
}

impl Default for Config {
    /// 64 KB segments in packets of 1,500 bytes, 40 of them headers, on a 10 Gb/s NIC.
    fn default() -> Self {
        Self {
            segment: Bytes::from_kb(64),
            payload: Bytes::new(1_460),
            recovery: Recovery::Selective,
            header: Bytes::new(40),
            line_rate: Rate::from_gbps(10),
            nic: Nic::Packets,
            ack_class: None,
            weights: [0; CLASSES as usize],
            ack_turnaround: Span::from_us(1),
            ack_jitter: Span::ZERO,
            rto_initial: InitialTimeout::AtLeast(Span::from_ms(16)),
            rto_min: Span::from_ms(4),
            rto_max: Span::from_secs(1),
            stream: stream::Config::default(),
            signal: Signal::Rtt,
            seed: 0,
            notification_interval: None,
        }
    }
}

/// A [`Config`] that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A segment or packet without payload, or a NIC without rate.
    Zero(&'static str),
    /// The segment would be more than [`MAX_SEGMENT_PACKETS`] packets: so many.
    TooManyPackets(u64),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "{what} must be above zero"),
            Self::TooManyPackets(packets) => write!(
                f,
                "a segment of {packets} packets is too long; at most {MAX_SEGMENT_PACKETS} \
                 (make the segment shorter or the MTU larger)"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// The most that a packet with payload takes on the wire.
    pub(crate) fn largest_packet(&self) -> Bytes {
        self.payload.max(self.stream.mss) + self.header
    }

    /// Whether segments and packets fit each other.
    ///
    /// # Errors
    /// What is zero or too long.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (what, zero) in [
            ("the segment", self.segment.is_zero()),
            ("the payload of a packet", self.payload.is_zero()),
            ("the MSS", self.stream.mss.is_zero()),
            ("the number of segments per ACK", self.stream.delayed_ack == 0),
            ("the send buffer", self.stream.send_buffer.is_some_and(Bytes::is_zero)),
            ("the receive buffer", self.stream.receive_buffer.is_some_and(Bytes::is_zero)),
            ("the line rate", self.line_rate.is_zero()),
        ] {
            if zero {
                return Err(ConfigError::Zero(what));
            }
        }
        let packets = self.segment.get().div_ceil(self.payload.get());
        if packets > u64::from(MAX_SEGMENT_PACKETS) {
            return Err(ConfigError::TooManyPackets(packets));
        }
        Ok(())
    }
}
