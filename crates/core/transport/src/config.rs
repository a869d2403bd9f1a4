//! The configuration of an endpoint.

pub(crate) mod scheme;
pub(crate) mod stream;
mod text;

use std::fmt;

use incast_cc::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::connection::CLASSES;
use crate::packet::message::MAX_SEGMENT_PACKETS;
use crate::signal::Signal;

/// The way in which messages are repaired after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Selective repeat: the receiver keeps packets that arrive out of order and reports the
    /// missing ones; the sender repeats these alone.
    #[default]
    Selective,
    /// Go-back-N, as in RDMA NICs of 2015: the receiver drops packets out of order and says once
    /// which packet it waits for; the sender repeats every packet from there on.
    GoBackN,
}

/// The order in which a host's NIC serves connections of one traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nic {
    /// Round robin over connections, packet by packet: segments that wait together leave
    /// interleaved.
    #[default]
    Packets,
    /// A single queue for all streams: their segments, and the ACKs of their receivers, leave in
    /// the order in which the NIC got them. Messages are served as by [`Packets`](Self::Packets).
    Fifo,
    /// Messages segment by segment: the packets of a segment leave back to back while the segments
    /// of other connections wait. `t_send` is then the time at which the first packet leaves, not
    /// that at which the segment was queued. Other connections may use a gap that the algorithm
    /// leaves between the packets of a segment. Streams are served as by
    /// [`Packets`](Self::Packets).
    Segments,
    /// Shortest remaining first, packet by packet, as the links of pFabric's hosts: of all
    /// connections that wait that one with the least payload which is not acknowledged, up to the
    /// end of its message, or of all that a stream has posted. Of equals that which has waited
    /// longest. Each packet takes a look at all that wait.
    Srpt,
}

/// The time of a segment on the wire of its NIC, which RTT samples leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serialization {
    /// That at the line rate of the NIC ([`Config::line_rate`]).
    #[default]
    LineRate,
    /// None: links between hosts of one machine take a segment at once, and hardware that stamps
    /// the end of a segment has left its time out.
    Nothing,
}

/// The retransmission timeout before the first RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InitialTimeout {
    /// At least this time; three base RTTs where that is known and longer, which is what RFC 6298
    /// makes of a first sample.
    AtLeast(#[serde(with = "text")] Span),
    /// Exactly this time, whatever the path.
    Fixed(#[serde(with = "text")] Span),
}

impl InitialTimeout {
    /// The timeout on a path whose RTT without queues is `base_rtt`, where that is known. It is at
    /// most `most`, unless the path needs more.
    pub fn on(self, base_rtt: Option<Span>, most: Span) -> Span {
        match self {
            Self::Fixed(timeout) => timeout.min(most),
            Self::AtLeast(timeout) => timeout.min(most).max(base_rtt.unwrap_or_default() * 3),
        }
    }
}

/// The settings that all connections of an endpoint share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Messages: the largest payload of a segment, the unit of pacing and of acknowledgement.
    #[serde(with = "text")]
    pub segment: Bytes,
    /// Messages: the largest payload of a packet.
    #[serde(with = "text")]
    pub payload: Bytes,
    /// Messages: the way in which losses are repaired.
    pub recovery: Recovery,
    /// Messages: the time for which a packet may be overtaken by later ones before it counts as
    /// lost. Zero, at once, for networks that keep the order of packets; a host with several
    /// processors does not.
    #[serde(with = "text")]
    pub reordering: Span,
    /// The size of a packet's headers on the wire.
    #[serde(with = "text")]
    pub header: Bytes,
    /// The rate of the NIC: no algorithm sends faster, and constants of algorithms scale with it.
    #[serde(with = "text")]
    pub line_rate: Rate,
    /// The most at which the pacer sends the messages of a connection; [`Rate::MAX`] where the NIC
    /// holds them back.
    #[serde(with = "text")]
    pub rate_cap: Rate,
    /// The time of a segment on the wire that RTT samples leave out.
    pub serialization: Serialization,
    /// The order in which the NIC serves connections.
    pub nic: Nic,
    /// The traffic class of ACKs and reports; [`None`] gives them the class of the data that they
    /// answer.
    pub ack_class: Option<u8>,
    /// The weight of each traffic class, from the lowest; zero for none. Neighbours with weights
    /// share what the classes above them leave ([`Scheduler`](crate::Scheduler)).
    pub weights: [u16; CLASSES as usize],
    /// The time from the arrival of data to the departure of its ACK.
    #[serde(with = "text")]
    pub ack_turnaround: Span,
    /// The most that is added to the turnaround, at random, as software does. Exactly equal delays
    /// would lock flows into step.
    #[serde(with = "text")]
    pub ack_jitter: Span,
    /// The most lateness that the pacing engine makes good. Data that leaves after its send time,
    /// since a timer was late or a thread busy, is then followed as if it had left in time. So
    /// lateness is not lost rate, and what has gathered leaves at once. Zero for a carrier whose
    /// timers are exact.
    #[serde(with = "text")]
    pub pacing_credit: Span,
    /// The retransmission timeout before the first RTT sample.
    pub rto_initial: InitialTimeout,
    /// The least retransmission timeout.
    #[serde(with = "text")]
    pub rto_min: Span,
    /// The longest timeout after back-off. A path whose RTT needs a longer one gets it.
    #[serde(with = "text")]
    pub rto_max: Span,
    /// The settings of streams.
    #[serde(skip)]
    pub stream: stream::Config,
    /// The RTT signal that algorithms get.
    #[serde(skip)]
    pub signal: Signal,
    /// The seed of the endpoint's random numbers, different for each host. Connections have seeds
    /// of their own ([`Opening::seed`](crate::Opening::seed)).
    pub seed: u64,
    /// The least time between two notifications (CNP) by which a receiver answers marked payload of
    /// a connection; [`None`] sends none.
    #[serde(with = "text::maybe")]
    pub notification_interval: Option<Span>,
    /// Whether all packets leave in the full form ([`Form`](crate::Form)), which tells how much of
    /// their flow remains, and sequence numbers as they are. Queues that serve by what remains
    /// need it, and traces of packets.
    pub full_packets: bool,
    /// Whether messages' segments are sent again in the order of their data, not in that of their
    /// losses. A receiver whose memory is bounded takes only the oldest data for certain.
    pub oldest_first: bool,
}

impl Default for Config {
    /// 64 KB segments in packets of 1,500 bytes, 40 of them headers, on a 10 Gb/s NIC.
    fn default() -> Self {
        Self {
            segment: Bytes::from_kb(64),
            payload: Bytes::new(1_460),
            recovery: Recovery::Selective,
            reordering: Span::ZERO,
            header: Bytes::new(40),
            line_rate: Rate::from_gbps(10),
            rate_cap: Rate::MAX,
            serialization: Serialization::LineRate,
            nic: Nic::Packets,
            ack_class: None,
            weights: [0; CLASSES as usize],
            ack_turnaround: Span::from_us(1),
            ack_jitter: Span::ZERO,
            pacing_credit: Span::ZERO,
            rto_initial: InitialTimeout::AtLeast(Span::from_ms(16)),
            rto_min: Span::from_ms(4),
            rto_max: Span::from_secs(1),
            stream: stream::Config::default(),
            signal: Signal::Rtt,
            seed: 0,
            notification_interval: None,
            full_packets: false,
            oldest_first: false,
        }
    }
}

/// The reason why a [`Config`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A segment or packet has no payload, or the NIC no rate.
    Zero(&'static str),
    /// The segment would have this many packets, more than [`MAX_SEGMENT_PACKETS`].
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
    /// The largest size of a packet with payload on the wire.
    pub(crate) fn largest_packet(&self) -> Bytes {
        self.payload.max(self.stream.mss) + self.header
    }

    /// The earliest send time that still counts at `now`: what is later by more than the
    /// [credit](Self::pacing_credit) has lost the difference.
    #[inline]
    pub(crate) fn earliest_send_time(&self, now: Time) -> Time {
        Time::from_ps(now.as_ps().saturating_sub(self.pacing_credit.as_ps()))
    }

    /// Whether segments and packets fit each other.
    ///
    /// # Errors
    /// A setting is zero, or the segment is too long.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (what, zero) in [
            ("the segment", self.segment.is_zero()),
            ("the payload of a packet", self.payload.is_zero()),
            ("the MSS", self.stream.mss.is_zero()),
            ("the number of segments per ACK", self.stream.delayed_ack == 0),
            ("the send buffer", self.stream.send_buffer.is_some_and(Bytes::is_zero)),
            ("the receive buffer", self.stream.receive_buffer.is_some_and(Bytes::is_zero)),
            ("the line rate", self.line_rate.is_zero()),
            ("the most of a rate", self.rate_cap.is_zero()),
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
