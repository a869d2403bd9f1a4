//! What an endpoint must be told.

use std::fmt;

use incast_cc::{Bytes, Rate, Span};

use super::packet::MAX_SEGMENT_PACKETS;

/// What is common to all connections of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Most payload of a segment: the unit of pacing and of acknowledgement.
    pub segment: Bytes,
    /// Most payload of a packet.
    pub payload: Bytes,
    /// What headers add to a packet on the wire.
    pub header: Bytes,
    /// Rate of the NIC.
    pub line_rate: Rate,
    /// From the arrival of a segment's last packet to its ACK leaving.
    pub ack_turnaround: Span,
    /// Retransmission timeout before the first RTT sample.
    pub rto_initial: Span,
    /// Least retransmission timeout.
    pub rto_min: Span,
    /// Most retransmission timeout.
    pub rto_max: Span,
}

impl Default for Config {
    /// 64 KB segments in packets of 1,500 bytes, 40 of them headers, on a 10 Gb/s NIC.
    fn default() -> Self {
        Self {
            segment: Bytes::from_kb(64),
            payload: Bytes::new(1_460),
            header: Bytes::new(40),
            line_rate: Rate::from_gbps(10),
            ack_turnaround: Span::from_us(1),
            rto_initial: Span::from_ms(16),
            rto_min: Span::from_ms(4),
            rto_max: Span::from_secs(1),
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
    /// Whether segments and packets fit each other.
    ///
    /// # Errors
    /// What is zero or too long.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (what, zero) in [
            ("the segment", self.segment.is_zero()),
            ("the payload of a packet", self.payload.is_zero()),
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
