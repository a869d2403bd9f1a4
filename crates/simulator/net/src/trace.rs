//! Full traces, kept only when asked for.

use incast_cc::{Bytes, Rate, Span, Time};
use incast_transport::Packet;

use super::frame::{Frame, Packets};

/// The choice of traces to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceConfig {
    /// Whether to keep every change of every queue.
    pub queues: bool,
    /// Whether to keep every RTT sample, with rate, window and bytes in flight after it, and the
    /// algorithm's gauges.
    pub flows: bool,
    /// Whether to keep every packet that a port sends, drops or cuts, and every pause of PFC.
    pub packets: bool,
}

impl TraceConfig {
    /// The names of the traces.
    pub const NAMES: [&str; 3] = ["queues", "flows", "packets"];

    /// Adds the trace of this name to those kept; returns whether there is one.
    pub fn keep(&mut self, name: &str) -> bool {
        match name {
            "queues" => self.queues = true,
            "flows" => self.flows = true,
            "packets" => self.packets = true,
            _ => return false,
        }
        true
    }
}

/// The traces of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    config: TraceConfig,
    pub(crate) queues: Vec<QueueRow>,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) gauges: Vec<GaugeRow>,
    pub(crate) packets: Vec<PacketRow>,
    pub(crate) pauses: Vec<PauseRow>,
}

/// A change of the queues of a port.
#[derive(Clone, Copy, Debug)]
pub struct QueueRow {
    /// The moment of the change.
    pub at: Time,
    /// The number of the port.
    pub port: u16,
    /// Bytes that wait from then on.
    pub bytes: u64,
}

/// An RTT sample of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// The moment of the sample.
    pub at: Time,
    /// The number of the flow.
    pub flow: u32,
    /// The sample.
    pub rtt: Span,
    /// The sending rate after the sample.
    pub rate: Rate,
    /// The congestion window after the sample; none where the algorithm sets a rate alone.
    pub window: Option<Bytes>,
    /// The payload in flight after the sample; none where the connection has gone.
    pub in_flight: Option<Bytes>,
}

/// A gauge of a flow's algorithm at an RTT sample.
#[derive(Clone, Copy, Debug)]
pub struct GaugeRow {
    /// The moment of the sample.
    pub at: Time,
    /// The number of the flow.
    pub flow: u32,
    /// The name of the gauge.
    pub gauge: &'static str,
    /// The value after the sample.
    pub value: f64,
}

/// A packet that began to leave, was dropped or was cut to its header.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// The moment of the event.
    pub at: Time,
    /// The number of the port; 0 at a host.
    pub port: u16,
    pub(crate) frame: Frame,
    /// The packet.
    pub packet: Packet,
    /// The event.
    pub event: PacketEvent,
    /// Bytes that wait at the port then, without the packet; none at a host, whose packets wait in
    /// their connections.
    pub queue: Option<u64>,
}

/// A PFC frame that began to leave a switch.
#[derive(Clone, Copy, Debug)]
pub struct PauseRow {
    /// The moment at which it began to leave.
    pub at: Time,
    /// The number of the port.
    pub port: u16,
    /// The traffic class that the far end is to pause or to resume.
    pub class: u8,
    /// Whether the far end is to pause (XOFF); otherwise to resume (XON).
    pub pause: bool,
}

/// The event of a traced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// The packet began to leave.
    Sent,
    /// The packet was dropped.
    Dropped,
    /// The packet was cut to its header. The row has the whole packet.
    Trimmed,
}

impl PacketEvent {
    /// The name of the event in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Dropped => "dropped",
            Self::Trimmed => "trimmed",
        }
    }
}

impl PacketRow {
    /// The packet's ECN field when it left or was dropped (RFC 3168): "ce" once a switch or a NIC
    /// has marked it.
    pub fn ecn(&self) -> &'static str {
        match (self.frame.is_marked(), self.packet.is_ect()) {
            (true, _) => "ce",
            (false, true) => "ect",
            (false, false) => "not-ect",
        }
    }

    /// The host that the packet goes to.
    pub const fn destination(&self) -> u32 {
        self.frame.destination()
    }

    /// The size on the wire, in bytes.
    pub const fn wire(&self) -> u16 {
        self.frame.wire
    }

    /// The number of the packet's traffic class, from 0 for the lowest.
    pub const fn class(&self) -> u8 {
        self.frame.class()
    }

    /// The kind of the packet: "data", "ack", "nack", "trimmed", "cnp" or "credit".
    pub fn kind(&self) -> &'static str {
        self.packet.body.name()
    }

    /// The packet's place within its connection:
    ///
    /// * data, and the header that is left of it: the number of the packet; in a stream, its first
    ///   byte;
    /// * ACK: the segment; in a stream, the next missing byte;
    /// * NACK: the first packet of its list;
    /// * CNP: 0.
    pub fn sequence(&self) -> u64 {
        self.packet.body.sequence()
    }
}

impl Trace {
    pub(crate) fn new(config: TraceConfig) -> Self {
        Self { config, ..Self::default() }
    }

    #[inline]
    pub(crate) fn queue(&mut self, at: Time, port: u16, bytes: u64) {
        if self.config.queues {
            self.queues.push(QueueRow { at, port, bytes });
        }
    }

    /// Whether the samples of flows are recorded.
    #[inline]
    pub(crate) fn has_flows(&self) -> bool {
        self.config.flows
    }

    #[inline]
    pub(crate) fn flow(&mut self, row: impl FnOnce() -> FlowRow) {
        if self.config.flows {
            self.flows.push(row());
        }
    }

    /// Records the gauges of a flow's algorithm.
    #[inline]
    pub(crate) fn gauges(
        &mut self,
        at: Time,
        flow: u32,
        emit: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        if self.config.flows {
            emit(&mut |gauge, value| self.gauges.push(GaugeRow { at, flow, gauge, value }));
        }
    }

    #[inline]
    pub(crate) fn packet(
        &mut self,
        at: Time,
        port: u16,
        frame: &Frame,
        (event, queue): (PacketEvent, Option<u64>),
        packets: &Packets,
    ) {
        if self.config.packets {
            // Hosts of a traced network send packets in the full form.
            let (frame, packet) = (*frame, packets.stored(frame).packet(0));
            self.packets.push(PacketRow { at, port, frame, packet, event, queue });
        }
    }

    /// Records a PFC frame.
    #[inline]
    pub(crate) fn pause(&mut self, at: Time, port: u16, frame: &Frame) {
        if self.config.packets {
            let (class, pause) = (frame.class(), frame.is_pause());
            self.pauses.push(PauseRow { at, port, class, pause });
        }
    }
}
