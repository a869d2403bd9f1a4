//! What a stream must be told.

use incast_cc::{Bytes, Rate, Span};

/// What buffers that grow have room for at least.
const LEAST_GROWN: Bytes = Bytes::from_kb(4_000);
/// The largest window that TCP can advertise: 1 GiB (RFC 7323, section 2.3).
pub const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// How a TCP behaves; what it shares with the message transport is in [`crate::Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches of TCP, independent of each other")]
pub struct Config {
    /// Largest payload of a segment.
    pub mss: Bytes,
    /// Selective acknowledgements with RACK (RFC 2018, RFC 8985), or recovery by duplicate ACKs alone
    /// (RFC 6582, `NewReno`).
    pub sack: bool,
    /// Tail-loss probe (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Windows that ACKs clock send in fast recovery no more than in proportion to what arrives (RFC 9937).
    pub rate_reduction: bool,
    /// Segments that one ACK waits for: 1 acknowledges each.
    pub delayed_ack: u32,
    /// How long it waits at most.
    pub delayed_ack_timeout: Span,
    /// Whether ACKs tell how long they were held, and RTTs are without that (QUIC's ACK Delay; TCP has no
    /// such option).
    pub ack_delay: bool,
    /// Whether a connection is opened by an exchange before its first segment.
    pub handshake: bool,
    /// What an algorithm may send before the first ACK.
    pub initial_window: Bytes,
    /// Segments by which one ACK may let a window grow in slow start (RFC 3465's L).
    pub slow_start_limit: u32,
    /// Most payload that is sent and not acknowledged; none grows as the path needs.
    pub send_buffer: Option<Bytes>,
    /// Most payload that the receiver keeps beyond a gap: the window that it advertises; none grows until
    /// it limits nothing.
    pub receive_buffer: Option<Bytes>,
    /// Most payload of a burst, which leaves without the pacer or the window coming between (TSO).
    pub tso: Bytes,
    /// A connection gives its own NIC no more while so much of its payload waits there (TCP small
    /// queues).
    pub small_queue: Bytes,
    /// Paces windows that their algorithm does not pace, at so many percent of window over RTT; none
    /// leaves them to the clock of ACKs.
    pub pace_windows_percent: Option<u32>,
    /// Whether segments say that they may be marked.
    pub ect: bool,
    /// How the receiver echoes marks.
    pub echo: EcnEcho,
}

impl Config {
    /// The largest payload of a segment, in bytes: less than the MSS where a buffer is.
    pub(crate) fn largest_segment(&self) -> u32 {
        let buffers = [self.send_buffer, self.receive_buffer].into_iter().flatten();
        u32::try_from(buffers.fold(self.mss, Bytes::min).get()).unwrap_or(u32::MAX)
    }

    /// The send buffer of a connection over a path of `base_rtt` from a NIC of `line_rate`. One that grows
    /// holds twice the bandwidth-delay product, as Linux lets one grow to twice the window: the path, and
    /// as much in queues.
    pub(crate) fn send_buffer(&self, line_rate: Rate, base_rtt: Option<Span>) -> Bytes {
        self.send_buffer.unwrap_or_else(|| {
            let path = base_rtt.map_or(Bytes::ZERO, |rtt| line_rate.bytes_in(rtt));
            (path * 2).clamp(LEAST_GROWN, LARGEST_WINDOW)
        })
    }

    /// The window that receivers advertise.
    pub(crate) fn window(&self) -> Bytes {
        self.receive_buffer.unwrap_or(LARGEST_WINDOW)
    }
}

/// How a receiver echoes marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// Every ACK says so from a mark until the sender has answered it (RFC 3168).
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
        }
    }
}
