//! The transport of a scenario's hosts.

use incast_cc::param::Need;
use incast_cc::{AnyAlgorithm, Bytes, Span};
use incast_transport::InitialTimeout;
use incast_transport::stream::{self, EcnEcho};
use schemars::JsonSchema;
use serde::Deserialize;

use incast_schema::quantity;

/// The transport of all hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transport {
    /// What carries payload, unless a scheme says otherwise. Any algorithm runs on either.
    pub kind: TransportKind,
    /// Messages: most payload of a segment, the unit of pacing and acknowledgement.
    #[serde(deserialize_with = "quantity::size")]
    #[schemars(with = "String")]
    pub segment: Bytes,
    /// Messages: how losses are repaired.
    pub recovery: Recovery,
    /// Whose packets a host's NIC sends next, of those that may leave and are of one class.
    pub nic: Nic,
    /// The threshold of marks in the NIC `fifo`: packets that wait behind more, themselves counted, are marked; none if
    /// absent.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub nic_ecn_threshold: Option<Bytes>,
    /// Largest packet on the wire, headers included.
    #[serde(deserialize_with = "quantity::packet")]
    #[schemars(with = "String")]
    pub mtu: Bytes,
    /// Headers of a data packet.
    #[serde(deserialize_with = "quantity::header")]
    #[schemars(with = "String")]
    pub header: Bytes,
    /// Size of an ACK on the wire.
    #[serde(deserialize_with = "quantity::packet")]
    #[schemars(with = "String")]
    pub ack: Bytes,
    /// Whether ACKs travel in a class of their own, served before data. If absent, those of messages do and those of
    /// streams do not.
    pub ack_priority: Option<bool>,
    /// From the arrival of what an ACK answers to the ACK, in the receiver.
    #[serde(deserialize_with = "quantity::time")]
    #[schemars(with = "String")]
    pub ack_turnaround: Span,
    /// And up to this much more, at random, as software takes: without it, flows with equal delays fall
    /// into step, and a drop-tail queue serves one and starves the others. Nothing for messages,
    /// which NICs acknowledge, 1 us for streams, unless set.
    #[serde(deserialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>")]
    pub ack_jitter: Option<Span>,
    /// Retransmission timeout before the first RTT sample, whatever the path. If absent, 16 ms, unless
    /// the stream's preset says otherwise, or three base RTTs where these are longer.
    #[serde(deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub rto_initial: Option<Span>,
    /// Least retransmission timeout; 4 ms, unless the stream's preset says otherwise.
    #[serde(deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub rto_min: Option<Span>,
    /// Longest retransmission timeout that backing off leads to; 1 s, unless the stream's preset says
    /// otherwise. It does not cut what a long RTT asks for, which may double once.
    #[serde(deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub rto_max: Option<Span>,
    /// Receivers answer marked packets with at most one notification (CNP) per connection in this
    /// time, to algorithms that need them (DCQCN).
    #[serde(deserialize_with = "quantity::duration")]
    #[schemars(with = "String")]
    pub cnp_interval: Span,
    /// Streams.
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

/// What carries payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// Messages in segments, acknowledged one by one, as RDMA NICs send them.
    #[default]
    Message,
    /// A byte stream, as TCP.
    Stream,
}

/// How messages are repaired after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Selective repeat: receivers keep what arrives out of order, and senders repeat what is missing.
    #[default]
    Selective,
    /// Going back N, as the RDMA NICs of 2015: receivers drop what is out of order, and senders repeat
    /// all from the loss on.
    GoBackN,
}

/// Whose packets a host's NIC sends next, of those that may leave and are of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nic {
    /// Round robin over connections, packet by packet: segments that wait together leave interleaved.
    #[default]
    Packets,
    /// Streams: one queue for all connections of a host and its ACKs, in the order in which they were given to it.
    /// Messages are served as by `packets`.
    Fifo,
    /// Messages, segment by segment: a segment's packets leave back to back, and the segments of other
    /// connections wait. An RTT is then from when the first packet leaves; what the segment waited for others in
    /// the NIC is no part of it. Packets that their algorithm spaces leave room for those of others.
    Segments,
}

/// A model of TCP. What is absent follows from the preset.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stream {
    /// Whose defaults.
    pub preset: StreamPreset,
    /// Largest payload of a segment; what the MTU leaves to headers.
    #[serde(deserialize_with = "quantity::optional_packet")]
    #[schemars(with = "Option<String>")]
    pub mss: Option<Bytes>,
    /// Selective acknowledgements with RACK; without, recovery by duplicate ACKs (`NewReno`).
    pub sack: Option<bool>,
    /// Tail-loss probes.
    pub tail_loss_probe: Option<bool>,
    /// In fast recovery no more is sent than in proportion to what arrives (the restraint of RFC 9937,
    /// proportional rate reduction, which Linux and ns-3 have); on if absent.
    pub rate_reduction: Option<bool>,
    /// Segments that one ACK waits for; 1 acknowledges each. 2, but 1 for algorithms that need an ACK for each
    /// packet.
    pub delayed_ack: Option<u32>,
    /// How long an ACK waits at most.
    #[serde(deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub delayed_ack_timeout: Option<Span>,
    /// ACKs tell how long they were held, and the RTTs that algorithms get are without that: a timer is no
    /// congestion. QUIC, Swift and Regulated TCP have a field for it, TCP has none; so it is off in the
    /// preset `linux` if absent, and on in the others.
    pub ack_delay: Option<bool>,
    /// Whether a connection is opened by an exchange before its first segment; only in the preset `ns-3`
    /// if absent.
    pub handshake: Option<bool>,
    /// Segments that may be sent before the first ACK.
    pub initial_window: Option<u32>,
    /// Segments by which one ACK lets a window grow in slow start at most (RFC 3465's L): 1 in the preset
    /// `ns-3`, no limit in the others.
    pub slow_start_limit: Option<u32>,
    /// Most payload that is sent and not acknowledged; if absent in the preset `datacenter`, twice what the
    /// connection's path holds at the rate of its NIC, at least 4 MB and at most 1 GiB.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub send_buffer: Option<Bytes>,
    /// The window that receivers advertise; if absent in the preset `datacenter`, it limits nothing.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub receive_buffer: Option<Bytes>,
    /// Most payload of a burst (TSO); one segment if absent.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub tso: Option<Bytes>,
    /// Most payload of a connection that waits in its own NIC (TCP small queues); absent is no limit.
    #[serde(deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub small_queue: Option<Bytes>,
    /// Paces windows that their algorithm leaves to the clock of ACKs, at so many percent of window
    /// over RTT; Linux's fq paces at 120.
    pub pace_windows_percent: Option<u32>,
    /// Whether segments may be marked, and how receivers echo marks.
    pub ecn: Ecn,
}

/// Whose defaults a stream has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum StreamPreset {
    /// Hosts tuned for a datacenter: timeouts from 4 ms, an ACK for two segments or after 500 us,
    /// buffers that grow.
    #[default]
    #[serde(rename = "datacenter")]
    Datacenter,
    /// Linux as it is installed: timeouts from 200 ms, 40 ms for a delayed ACK, buffers of 4 MB and
    /// 6 MB, bursts of up to 64 KB, at most 128 KB in the NIC.
    #[serde(rename = "linux")]
    Linux,
    /// The defaults of ns-3: timeouts from 1 s, 200 ms for a delayed ACK, buffers of 128 KiB.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// Whether segments may be marked, and how receivers echo marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// `exact` for algorithms that need marks, `off` for the others.
    #[default]
    Auto,
    /// They may not.
    Off,
    /// Marks are echoed until the sender answers (RFC 3168).
    Classic,
    /// Marks are counted (RFC 8257).
    Exact,
}

/// What algorithms get as their RTT.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Signal {
    /// Which.
    pub kind: SignalKind,
    /// Of `rtt+noise`: the most that is added.
    #[serde(deserialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>")]
    pub noise: Option<Span>,
    /// Of `tcp-timestamps`: the step in which they tick; 1 ms if absent.
    #[serde(deserialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>")]
    pub tick: Option<Span>,
    /// Of `tcp-timestamps`: whose way with them; `linux` if absent.
    pub stack: Option<Stack>,
}

/// Whose way with TCP timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Stack {
    /// ns-3.27: an RTT of no tick is thrown away, and algorithms get the average of the others.
    #[serde(rename = "ns-3.27")]
    Ns327,
    /// Later ns-3: an RTT of no tick is 1 us.
    #[serde(rename = "ns-3")]
    Ns3,
    /// Linux: send times of its own, in microseconds; stamps only for what was sent more than once.
    #[serde(rename = "linux")]
    Linux,
}

/// The signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum SignalKind {
    /// As measured.
    #[default]
    #[serde(rename = "rtt")]
    Rtt,
    /// With uniform noise added, from zero to `signal.noise`.
    #[serde(rename = "rtt+noise")]
    Noise,
    /// With what the timestamps of an operating system add.
    #[serde(rename = "software-timestamps")]
    SoftwareTimestamps,
    /// Streams: by TCP timestamps, which tick in steps of `signal.tick`, in the way of `signal.stack`.
    #[serde(rename = "tcp-timestamps")]
    TcpTimestamps,
    /// The base RTT and the true backlog of the bottleneck at that instant over its rate.
    #[serde(rename = "oracle")]
    Oracle,
}

impl SignalKind {
    /// The signals by name.
    pub(super) const NAMES: [(&'static str, Self); 5] = [
        ("rtt", Self::Rtt),
        ("rtt+noise", Self::Noise),
        ("software-timestamps", Self::SoftwareTimestamps),
        ("tcp-timestamps", Self::TcpTimestamps),
        ("oracle", Self::Oracle),
    ];
}

impl Stack {
    /// The stacks by name.
    pub(super) const NAMES: [(&'static str, Self); 3] =
        [("ns-3.27", Self::Ns327), ("ns-3", Self::Ns3), ("linux", Self::Linux)];
}

impl TransportKind {
    /// The kinds by name.
    pub(super) const NAMES: [(&'static str, Self); 2] =
        [("message", Self::Message), ("stream", Self::Stream)];
}

impl Transport {
    /// Initial, least and most retransmission timeout of `kind`.
    pub fn timeouts(&self, kind: TransportKind) -> (InitialTimeout, Span, Span) {
        let defaults = match (kind, self.stream.preset) {
            (TransportKind::Message, _) | (_, StreamPreset::Datacenter) => [16, 4, 1_000],
            (_, StreamPreset::Linux) => [1_000, 200, 120_000],
            (_, StreamPreset::Ns3) => [1_000, 1_000, 60_000],
        };
        let [initial, min, max] = defaults.map(Span::from_ms);
        (
            self.rto_initial.map_or(InitialTimeout::AtLeast(initial), InitialTimeout::Fixed),
            self.rto_min.unwrap_or(min),
            self.rto_max.unwrap_or(max),
        )
    }

    /// How messages are repaired, in the transport's own words.
    pub const fn recovery(&self) -> incast_transport::Recovery {
        match self.recovery {
            Recovery::Selective => incast_transport::Recovery::Selective,
            Recovery::GoBackN => incast_transport::Recovery::GoBackN,
        }
    }

    /// Whose packets NICs send next, in the transport's own words.
    pub const fn nic(&self) -> incast_transport::Nic {
        match self.nic {
            Nic::Packets => incast_transport::Nic::Packets,
            Nic::Fifo => incast_transport::Nic::Fifo,
            Nic::Segments => incast_transport::Nic::Segments,
        }
    }

    /// Whether ACKs of `kind` have a class of their own.
    pub fn prioritises_acks(&self, kind: TransportKind) -> bool {
        self.ack_priority.unwrap_or(kind == TransportKind::Message)
    }

    /// The most that an ACK of `kind` takes beyond `ack_turnaround`.
    pub fn jitter(&self, kind: TransportKind) -> Span {
        self.ack_jitter.unwrap_or(match kind {
            TransportKind::Message => Span::ZERO,
            TransportKind::Stream => Span::from_us(1),
        })
    }

    /// The largest payload of a stream's segment.
    pub fn mss(&self) -> Bytes {
        self.stream.mss.unwrap_or_else(|| self.mtu.saturating_sub(self.header))
    }

    /// What streams may have sent and not acknowledged, and may advertise; none grows.
    pub fn buffers(&self) -> [Option<Bytes>; 2] {
        let kib = |n: u64| Some(Bytes::new(n * 1_024));
        let [send, receive] = match self.stream.preset {
            StreamPreset::Datacenter => [None, None],
            StreamPreset::Linux => [kib(4_096), kib(6_144)],
            StreamPreset::Ns3 => [kib(128), kib(128)],
        };
        [self.stream.send_buffer.or(send), self.stream.receive_buffer.or(receive)]
    }

    /// Streams under `algorithm`.
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
        }
    }
}
