//! The settings of streams.

use incast_cc::{Bytes, Rate, Span};

/// The least size of a buffer that grows.
const LEAST_GROWN: Bytes = Bytes::from_kb(4_000);
/// The largest window that TCP can advertise: 1 GiB (RFC 7323, section 2.3).
pub const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// The settings of streams. Those that they share with messages are in [`crate::Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches of TCP, independent of each other")]
pub struct Config {
    /// The largest payload of a segment.
    pub mss: Bytes,
    /// Selective acknowledgements with RACK (RFC 2018, RFC 8985), or recovery by duplicate ACKs
    /// alone (RFC 6582, `NewReno`).
    pub sack: bool,
    /// Tail-loss probe (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Proportional rate reduction (RFC 9937): windows that ACKs clock send in fast recovery no
    /// more than in proportion to what arrives.
    pub rate_reduction: bool,
    /// The number of segments that one ACK waits for; 1 acknowledges each.
    pub delayed_ack: u32,
    /// The longest time that an ACK waits.
    pub delayed_ack_timeout: Span,
    /// Whether ACKs tell how long they were held, and RTTs leave that time out (QUIC's ACK Delay;
    /// TCP has no such option).
    pub ack_delay: bool,
    /// Whether a connection is opened by an exchange before its first segment.
    pub handshake: bool,
    /// The window of an algorithm before the first ACK.
    pub initial_window: Bytes,
    /// The most segments by which one ACK may let a window grow in slow start (RFC 3465's L).
    pub slow_start_limit: u32,
    /// The most payload that is sent and not acknowledged; [`None`] grows as the path needs.
    pub send_buffer: Option<Bytes>,
    /// The most payload that the receiver keeps beyond a gap, which is its window; [`None`] grows
    /// until it limits nothing. Both ends have the same: the application takes data in order at
    /// once, so no ACK needs to advertise it.
    pub receive_buffer: Option<Bytes>,
    /// The most payload of a burst, which neither the pacer nor the window interrupts (TSO).
    pub tso: Bytes,
    /// The payload of a connection that may wait in its own NIC before the connection gives it no
    /// more (TCP small queues).
    pub small_queue: Bytes,
    /// The pace of windows that their algorithm does not pace, in percent of window over RTT;
    /// [`None`] leaves them to the clock of ACKs.
    pub pace_windows_percent: Option<u32>,
    /// Whether segments say that switches may mark them (ECN-capable transport).
    pub ect: bool,
    /// The receiver's echo of marks.
    pub echo: EcnEcho,
    /// Whether senders keep a record of each segment from the start, as they do after a loss.
    /// Nothing but their speed depends on it: tests compare the two.
    pub record_all: bool,
}

impl Config {
    /// The largest payload of a segment, in bytes: the MSS, or a buffer that is smaller.
    pub(crate) fn largest_segment(&self) -> u32 {
        let buffers = [self.send_buffer, self.receive_buffer].into_iter().flatten();
        u32::try_from(buffers.fold(self.mss, Bytes::min).get()).unwrap_or(u32::MAX)
    }

    /// The send buffer of a connection over a path of `base_rtt` from a NIC of `line_rate`. A
    /// buffer that grows holds twice the bandwidth-delay product: the path, and as much in queues.
    /// Linux lets it grow to twice the window.
    pub(crate) fn send_buffer(&self, line_rate: Rate, base_rtt: Option<Span>) -> Bytes {
        self.send_buffer.unwrap_or_else(|| {
            let path = base_rtt.map_or(Bytes::ZERO, |rtt| line_rate.bytes_in(rtt));
            (path * 2).clamp(LEAST_GROWN, LARGEST_WINDOW)
        })
    }

    /// The window of receivers.
    pub(crate) fn window(&self) -> Bytes {
        self.receive_buffer.unwrap_or(LARGEST_WINDOW)
    }
}

/// A receiver's echo of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// From a mark until the sender has answered it, every ACK carries the echo (RFC 3168).
    Classic,
    /// ACKs count the marked bytes, and a change from marked to unmarked or back is acknowledged at
    /// once (RFC 8257).
    Exact,
}

impl Default for Config {
    /// Linux between hosts of a datacenter, without TSO, pacing and rate reduction.
    fn default() -> Self {
        Self {
            mss: Bytes::new(1_460),
            sack: true,
            tail_loss_probe: true,
            rate_reduction: false,
            delayed_ack: 2,
            delayed_ack_timeout: Span::from_us(500),
            ack_delay: true,
            handshake: false,
            initial_window: Bytes::new(14_600),
            slow_start_limit: u32::MAX,
            send_buffer: None,
            receive_buffer: None,
            tso: Bytes::new(1_460),
            small_queue: Bytes::MAX,
            pace_windows_percent: None,
            ect: false,
            echo: EcnEcho::Exact,
            record_all: false,
        }
    }
}
