//! What is on a link and in a queue.

use incast_transport::message::Packet;

/// Traffic classes; a higher one is served first.
pub(crate) const CLASSES: usize = 2;
/// The class of data, which PFC protects.
pub(crate) const DATA_CLASS: u8 = 0;
/// The class of ACKs when they have one of their own.
pub(crate) const ACK_CLASS: u8 = 1;
/// Size of a PFC frame on the wire.
pub(crate) const PFC_FRAME_BYTES: u16 = 64;

/// One packet on its way. 56 bytes, so that with its time of arrival it fills a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The host it goes to; nothing to a PFC frame, which the next node consumes.
    pub(crate) destination: u32,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    pub(crate) class: u8,
    pub(crate) kind: FrameKind,
    pub(crate) packet: Packet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Packet,
    /// A packet that a switch has marked (ECN CE).
    Marked,
    /// PFC XOFF for the frame's class.
    Pause,
    /// PFC XON for the frame's class.
    Resume,
}

impl Frame {
    pub(crate) fn pfc(class: u8, pause: bool) -> Self {
        use incast_transport::message::{Ack, Body};
        let kind = if pause { FrameKind::Pause } else { FrameKind::Resume };
        let packet = Packet { connection: 0, body: Body::Ack(Ack { segment: 0, ce_bytes: 0 }) };
        Self { destination: 0, wire: PFC_FRAME_BYTES, class, kind, packet }
    }

    #[inline]
    pub(crate) const fn is_pfc(&self) -> bool {
        matches!(self.kind, FrameKind::Pause | FrameKind::Resume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_and_time_fill_a_cache_line() {
        assert!(size_of::<(u64, Frame)>() <= 64, "{} bytes", size_of::<(u64, Frame)>());
    }
}
