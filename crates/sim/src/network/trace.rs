//! Full traces, kept only when asked for.

use incast_cc::{Rate, Span, Time};
use incast_transport::{Body, Packet};

use super::frame::{Frame, Packets};

/// Which traces to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceConfig {
    /// Every change of every queue.
    pub queues: bool,
    /// Every RTT sample, the rate after it, and the algorithm's gauges.
    pub flows: bool,
    /// Every packet that a port sends or drops.
    pub packets: bool,
}

impl TraceConfig {
    /// The names of the traces.
    pub const NAMES: [&str; 3] = ["queues", "flows", "packets"];

    /// Keeps the trace of this name too; whether there is one.
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
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRow {
    pub(crate) at: Time,
    pub(crate) port: u16,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRow {
    pub(crate) at: Time,
    pub(crate) flow: u32,
    pub(crate) rtt: Span,
    pub(crate) rate: Rate,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct GaugeRow {
    pub(crate) at: Time,
    pub(crate) flow: u32,
    pub(crate) gauge: &'static str,
    pub(crate) value: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketRow {
    pub(crate) at: Time,
    pub(crate) port: u16,
    pub(crate) frame: Frame,
    pub(crate) packet: Packet,
    pub(crate) event: PacketEvent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketEvent {
    Sent,
    Dropped,
}

impl PacketEvent {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Dropped => "dropped",
        }
    }
}

impl PacketRow {
    pub(crate) fn kind(&self) -> &'static str {
        match &self.packet.body {
            Body::Data(_) | Body::Segment(_) => "data",
            Body::Ack(_) | Body::SegmentAck(_) => "ack",
            Body::Nack(_) => "nack",
            Body::Notification => "cnp",
        }
    }

    pub(crate) fn sequence(&self) -> u64 {
        match &self.packet.body {
            Body::Data(data) => data.sequence,
            Body::Ack(ack) => ack.segment,
            Body::Nack(nack) => nack.base,
            Body::Segment(segment) => segment.sequence,
            Body::SegmentAck(ack) => ack.sequence,
            Body::Notification => 0,
        }
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

    #[inline]
    pub(crate) fn flow(&mut self, at: Time, flow: u32, rtt: Span, rate: Rate) {
        if self.config.flows {
            self.flows.push(FlowRow { at, flow, rtt, rate });
        }
    }

    /// Records what a flow's algorithm emits.
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
        event: PacketEvent,
        packets: &Packets,
    ) {
        if self.config.packets {
            let (frame, packet) = (*frame, packets[frame]);
            self.packets.push(PacketRow { at, port, frame, packet, event });
        }
    }
}
