//! The transport of a scenario's hosts.

use incast_cc::param::Need;
use incast_cc::{AnyAlgorithm, Bytes, Span};
pub use incast_transport::Transport as TransportKind;
use incast_transport::stream::{self, EcnEcho};
use incast_transport::{InitialTimeout, facts};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::workload::Sizes;
use incast_schema::quantity;

/// The transport of all hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transport {
    /// The kind of transport that carries payload, unless a scheme chooses another. Any algorithm
    /// runs on either.
    #[serde(deserialize_with = "Words::deserialize")]
    #[schemars(with = "Words")]
    pub kind: TransportKind,
    /// Messages: the largest payload of a segment, the unit of pacing and acknowledgement.
    #[serde(with = "quantity::Size")]
    pub segment: Bytes,
    /// Messages: the repair of losses.
    pub recovery: Recovery,
    /// The scheduling of a host's NIC among packets of one class that may leave.
    pub nic: Nic,
    /// The marking threshold of the NIC `fifo`. Packets that find more than this waiting,
    /// themselves counted, are marked; none if absent.
    #[serde(with = "quantity::OptionalSize")]
    pub nic_ecn_threshold: Option<Bytes>,
    /// The largest packet on the wire, headers included.
    #[serde(with = "quantity::Packet")]
    pub mtu: Bytes,
    /// The headers of a data packet.
    #[serde(with = "quantity::Header")]
    pub header: Bytes,
    /// The size of an ACK on the wire.
    #[serde(with = "quantity::Packet")]
    pub ack: Bytes,
    /// Whether ACKs travel in their own class, which is served before data. If absent, the ACKs of
    /// messages do, and the ACKs of streams do not.
    pub ack_priority: Option<bool>,
    /// The receiver's time from the arrival of data to its ACK.
    #[serde(with = "quantity::Time")]
    pub ack_turnaround: Span,
    /// The largest random delay of an ACK on top of `ack_turnaround`, as in software. Without it,
    /// flows with equal delays synchronise, and a drop-tail queue serves one and starves the
    /// others. By default nothing for messages, which NICs acknowledge, and 1 us for streams.
    #[serde(with = "quantity::OptionalTime")]
    pub ack_jitter: Option<Span>,
    /// The retransmission timeout before the first RTT sample, whatever the path. If absent, 16 ms
    /// unless the stream's preset says otherwise, or three base RTTs where these are longer.
    #[serde(with = "quantity::OptionalDuration")]
    pub rto_initial: Option<Span>,
    /// The minimum retransmission timeout; 4 ms, unless the stream's preset says otherwise.
    #[serde(with = "quantity::OptionalDuration")]
    pub rto_min: Option<Span>,
    /// The maximum retransmission timeout after backing off; 1 s, unless the stream's preset says
    /// otherwise. It does not cut the timeout that a long RTT needs, which may double once.
    #[serde(with = "quantity::OptionalDuration")]
    pub rto_max: Option<Span>,
    /// The shortest time between two congestion notifications (CNP) on a connection. Receivers
    /// answer marked packets with CNPs for algorithms that need them (DCQCN).
    #[serde(with = "quantity::Duration")]
    pub cnp_interval: Span,
    /// The settings of streams.
    pub stream: Stream,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            kind: TransportKind::Message,
            segment: Bytes::from_kb(64),
            recovery: Recovery::Selective,
            nic: Nic::Packets,
            nic_ecn_threshold: None,
            mtu: Bytes::new(1_500),
            header: Bytes::new(40),
            ack: Bytes::new(64),
            ack_priority: None,
            ack_turnaround: Span::from_us(1),
            ack_jitter: None,
            rto_initial: None,
            rto_min: None,
            rto_max: None,
            cnp_interval: Span::from_us(50),
            stream: Stream::default(),
        }
    }
}

/// The kind of transport.
#[derive(Deserialize, JsonSchema)]
#[serde(remote = "TransportKind", rename_all = "lowercase")]
#[schemars(rename = "TransportKind")]
enum Words {
    /// Messages in segments that are acknowledged one by one, as in RDMA NICs.
    Message,
    /// A byte stream, as in TCP.
    Stream,
}

/// The repair of messages after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Selective repeat: receivers keep data that arrives out of order, and senders repeat the
    /// missing packets.
    #[default]
    Selective,
    /// Go-back-N, as in the RDMA NICs of 2015: receivers drop packets out of order, and senders
    /// repeat everything from the loss on.
    GoBackN,
}

/// The scheduling of a host's NIC among packets of one class that may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nic {
    /// Round robin over connections, packet by packet: segments that wait together leave
    /// interleaved.
    #[default]
    Packets,
    /// Streams: one queue for all connections of a host and its ACKs, in the order of arrival.
    /// Messages are served as by `packets`.
    Fifo,
    /// Messages, segment by segment: the packets of a segment leave back to back, and the segments
    /// of other connections wait. An RTT then starts when the first packet leaves, and does not
    /// contain the wait for other segments in the NIC. Packets that their algorithm spaces leave
    /// gaps for others.
    Segments,
    /// Packet by packet, the connection with the least payload that is not acknowledged, as the
    /// links of hosts in the simulations of pFabric: of a stream all that was posted, of messages
    /// up to the end of that under way. Of equals that which has waited longest.
    Srpt,
}

/// A model of TCP. Absent settings follow from the preset.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stream {
    /// The preset, which gives the defaults.
    pub preset: StreamPreset,
    /// The largest payload of a segment; if absent, the MTU less the headers.
    #[serde(with = "quantity::OptionalPacket")]
    pub mss: Option<Bytes>,
    /// Selective acknowledgements with RACK; if off, recovery by duplicate ACKs (`NewReno`).
    pub sack: Option<bool>,
    /// Whether there are tail-loss probes.
    pub tail_loss_probe: Option<bool>,
    /// Proportional rate reduction (RFC 9937), as in Linux and ns-3: in fast recovery no more is
    /// sent than in proportion to the data that arrives. On if absent.
    pub rate_reduction: Option<bool>,
    /// The number of segments that one ACK waits for; 1 acknowledges each. If absent 2, or 1 for
    /// algorithms that need an ACK for each packet.
    pub delayed_ack: Option<u32>,
    /// The longest time that an ACK waits.
    #[serde(with = "quantity::OptionalDuration")]
    pub delayed_ack_timeout: Option<Span>,
    /// Whether ACKs tell how long they were held. This time is then subtracted from the RTTs that
    /// algorithms get, since a timer is no congestion. QUIC, Swift and Regulated TCP have a field
    /// for it, TCP has none. If absent, off in the preset `linux` and on in the others.
    pub ack_delay: Option<bool>,
    /// Whether a handshake opens a connection before its first segment. If absent, only in the
    /// preset `ns-3`. Connections of messages are always open: true is warned of there.
    pub handshake: Option<bool>,
    /// The number of segments that may be sent before the first ACK.
    pub initial_window: Option<u32>,
    /// The most segments by which one ACK grows a window in slow start (RFC 3465's L). If absent, 1
    /// in the preset `ns-3`, and no limit in the others.
    pub slow_start_limit: Option<u32>,
    /// The most payload that is sent and not acknowledged. If absent in the preset `datacenter`,
    /// twice the capacity of the connection's path at the rate of its NIC, at least 4 MB and at
    /// most 1 GiB.
    #[serde(with = "quantity::OptionalSize")]
    pub send_buffer: Option<Bytes>,
    /// The window that receivers advertise. If absent in the preset `datacenter`, there is no
    /// limit.
    #[serde(with = "quantity::OptionalSize")]
    pub receive_buffer: Option<Bytes>,
    /// The largest payload of a burst (TSO); one segment if absent.
    #[serde(with = "quantity::OptionalSize")]
    pub tso: Option<Bytes>,
    /// The most payload of a connection that waits in its own NIC (TCP small queues); no limit if
    /// absent.
    #[serde(with = "quantity::OptionalSize")]
    pub small_queue: Option<Bytes>,
    /// Pacing of windows that the algorithm leaves to ACK clocking, in percent of window over RTT.
    /// Linux's fq paces at 120.
    pub pace_windows_percent: Option<u32>,
    /// The ECN mode: whether segments may be marked, and how receivers echo marks.
    pub ecn: Ecn,
}

/// The preset of a stream, which gives its defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum StreamPreset {
    /// Hosts tuned for a datacenter: timeouts from 4 ms, an ACK for two segments or after 500 us,
    /// buffers that grow.
    #[default]
    #[serde(rename = "datacenter")]
    Datacenter,
    /// Linux as installed: timeouts from 200 ms, 40 ms for a delayed ACK, buffers of 4 MB and 6 MB,
    /// bursts of up to 64 KB, at most 128 KB in the NIC.
    #[serde(rename = "linux")]
    Linux,
    /// The defaults of ns-3: timeouts from 1 s, 200 ms for a delayed ACK, buffers of 128 KiB.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// The ECN mode: whether segments may be marked, and how receivers echo marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// `exact` for algorithms that need marks, `off` for the others.
    #[default]
    Auto,
    /// Segments may not be marked.
    Off,
    /// Receivers echo a mark until the sender answers (RFC 3168).
    Classic,
    /// Receivers count marks (RFC 8257).
    Exact,
}

/// The RTT that algorithms get.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Signal {
    /// The kind of RTT.
    pub kind: SignalKind,
    /// For `rtt+noise`: the largest noise.
    #[serde(with = "quantity::OptionalTime")]
    pub noise: Option<Span>,
    /// For `tcp-timestamps`: the length of a clock tick; 1 ms if absent.
    #[serde(with = "quantity::OptionalTime")]
    pub tick: Option<Span>,
    /// For `tcp-timestamps`: the stack that is modelled; `linux` if absent.
    pub stack: Option<Stack>,
}

/// The use of TCP timestamps in a network stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Stack {
    /// ns-3.27: an RTT of zero ticks is discarded, and algorithms get the average of the others.
    #[serde(rename = "ns-3.27")]
    Ns327,
    /// Later ns-3: an RTT of zero ticks is 1 us.
    #[serde(rename = "ns-3")]
    Ns3,
    /// Linux: the sender's own times in microseconds; timestamps only for segments sent more than
    /// once.
    #[serde(rename = "linux")]
    Linux,
}

/// The kind of RTT that algorithms get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum SignalKind {
    /// The RTT as measured.
    #[default]
    #[serde(rename = "rtt")]
    Rtt,
    /// The RTT with uniform noise added, from zero to `signal.noise`.
    #[serde(rename = "rtt+noise")]
    Noise,
    /// The RTT with the delays that software timestamps of an operating system add.
    #[serde(rename = "software-timestamps")]
    SoftwareTimestamps,
    /// The RTT with the delays that stamps of a kernel's network devices add.
    #[serde(rename = "kernel-timestamps")]
    KernelTimestamps,
    /// Streams: the RTT by TCP timestamps, with ticks of `signal.tick`, as in `signal.stack`.
    #[serde(rename = "tcp-timestamps")]
    TcpTimestamps,
    /// The base RTT plus the current true backlog of the bottleneck over its rate.
    #[serde(rename = "oracle")]
    Oracle,
}

impl SignalKind {
    /// The kinds of RTT by name.
    pub(super) const NAMES: [(&'static str, Self); 6] = [
        ("rtt", Self::Rtt),
        ("rtt+noise", Self::Noise),
        ("software-timestamps", Self::SoftwareTimestamps),
        ("kernel-timestamps", Self::KernelTimestamps),
        ("tcp-timestamps", Self::TcpTimestamps),
        ("oracle", Self::Oracle),
    ];
}

impl Stack {
    /// The stacks by name.
    pub(super) const NAMES: [(&'static str, Self); 3] =
        [("ns-3.27", Self::Ns327), ("ns-3", Self::Ns3), ("linux", Self::Linux)];
}

impl Transport {
    /// The initial, minimum and maximum retransmission timeout of `kind`.
    pub fn timeouts(&self, kind: TransportKind) -> (InitialTimeout, Span, Span) {
        let defaults = match self.stream.preset {
            StreamPreset::Linux if facts(kind).is_tcp => [1_000, 200, 120_000],
            StreamPreset::Ns3 if facts(kind).is_tcp => [1_000, 1_000, 60_000],
            StreamPreset::Datacenter | StreamPreset::Linux | StreamPreset::Ns3 => [16, 4, 1_000],
        };
        let [initial, min, max] = defaults.map(Span::from_ms);
        (
            self.rto_initial.map_or(InitialTimeout::AtLeast(initial), InitialTimeout::Fixed),
            self.rto_min.unwrap_or(min),
            self.rto_max.unwrap_or(max),
        )
    }

    /// The repair of messages, as a type of the transport.
    pub const fn recovery(&self) -> incast_transport::Recovery {
        match self.recovery {
            Recovery::Selective => incast_transport::Recovery::Selective,
            Recovery::GoBackN => incast_transport::Recovery::GoBackN,
        }
    }

    /// The scheduling of NICs, as a type of the transport.
    pub const fn nic(&self) -> incast_transport::Nic {
        match self.nic {
            Nic::Packets => incast_transport::Nic::Packets,
            Nic::Fifo => incast_transport::Nic::Fifo,
            Nic::Segments => incast_transport::Nic::Segments,
            Nic::Srpt => incast_transport::Nic::Srpt,
        }
    }

    /// Whether ACKs of `kind` have their own class.
    pub fn prioritises_acks(&self, kind: TransportKind) -> bool {
        self.ack_priority.unwrap_or(facts(kind).answers_first)
    }

    /// The largest random delay of an ACK of `kind` on top of `ack_turnaround`.
    pub fn jitter(&self, kind: TransportKind) -> Span {
        self.ack_jitter.unwrap_or(facts(kind).jitter)
    }

    /// The largest payload of a stream's segment.
    pub fn mss(&self) -> Bytes {
        self.stream.mss.unwrap_or_else(|| self.mtu.saturating_sub(self.header))
    }

    /// The largest payload of a packet of `kind`.
    pub fn payload(&self, kind: TransportKind) -> Bytes {
        if facts(kind).is_tcp { self.mss() } else { self.mtu.saturating_sub(self.header) }
    }

    /// The bytes on the wire for a byte of payload, in messages of these sizes.
    pub(crate) fn wire(&self, sizes: &Sizes) -> f64 {
        let packets = sizes.packets(self.payload(self.kind));
        1.0 + packets * self.header.get() as f64 / sizes.mean()
    }

    /// The fixed send buffer and receive buffer of streams; [`None`] where there is no fixed size.
    pub fn buffers(&self) -> [Option<Bytes>; 2] {
        let kib = |n: u64| Some(Bytes::new(n * 1_024));
        let [send, receive] = match self.stream.preset {
            StreamPreset::Datacenter => [None, None],
            StreamPreset::Linux => [kib(4_096), kib(6_144)],
            StreamPreset::Ns3 => [kib(128), kib(128)],
        };
        [self.stream.send_buffer.or(send), self.stream.receive_buffer.or(receive)]
    }

    /// The configuration of streams under `algorithm`.
    pub fn stream_config(&self, algorithm: &AnyAlgorithm) -> stream::Config {
        let (stream, mss) = (&self.stream, self.mss());
        let kib = |n: u64| Bytes::new(n * 1_024);
        // Delayed ACK, burst, small queue, tail-loss probe.
        let (ack_us, tso, small, probe) = match stream.preset {
            StreamPreset::Datacenter => (500, mss, Bytes::MAX, true),
            StreamPreset::Linux => (40_000, Bytes::new(65_160), kib(128), true),
            StreamPreset::Ns3 => (200_000, mss, Bytes::MAX, false),
        };
        let [send_buffer, receive_buffer] = self.buffers();
        let needs_marks = algorithm.info().needs.contains(&Need::Ecn);
        let needs_each = algorithm.info().needs.contains(&Need::EachAcknowledged);
        let (ect, echo) = match stream.ecn {
            Ecn::Auto => (needs_marks, EcnEcho::Exact),
            Ecn::Off => (false, EcnEcho::Exact),
            Ecn::Classic => (true, EcnEcho::Classic),
            Ecn::Exact => (true, EcnEcho::Exact),
        };
        stream::Config {
            mss,
            sack: stream.sack.unwrap_or(true),
            tail_loss_probe: stream.tail_loss_probe.unwrap_or(probe),
            rate_reduction: stream.rate_reduction.unwrap_or(true),
            delayed_ack: stream.delayed_ack.unwrap_or(if needs_each { 1 } else { 2 }),
            delayed_ack_timeout: stream.delayed_ack_timeout.unwrap_or(Span::from_us(ack_us)),
            ack_delay: stream.ack_delay.unwrap_or(stream.preset != StreamPreset::Linux),
            handshake: stream.handshake.unwrap_or(stream.preset == StreamPreset::Ns3),
            initial_window: mss * u64::from(stream.initial_window.unwrap_or(10)),
            slow_start_limit: stream.slow_start_limit.unwrap_or(match stream.preset {
                StreamPreset::Datacenter | StreamPreset::Linux => u32::MAX,
                StreamPreset::Ns3 => 1,
            }),
            send_buffer,
            receive_buffer,
            tso: stream.tso.unwrap_or(tso).max(mss),
            small_queue: stream.small_queue.unwrap_or(small),
            pace_windows_percent: stream.pace_windows_percent,
            ect,
            echo,
            record_all: false,
        }
    }
}
