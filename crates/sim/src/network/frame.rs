//! What is on a link and in a queue.

use incast_cc::Hop;
use incast_transport::{Body, Packet};

/// Size of a PFC frame on the wire.
pub(crate) const PFC_FRAME_BYTES: u16 = 64;

/// What switches have stamped into a packet. It travels beside its frame, in a queue of its own wherever
/// frames queue, so that frames without it, nearly all, stay small and cost nothing.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "one word where there are none")]
pub(crate) struct Stamps(Option<Box<Vec<Hop>>>);

impl Stamps {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn push(&mut self, hop: Hop) {
        self.0.get_or_insert_default().push(hop);
    }

    #[inline]
    pub(crate) fn hops(&self) -> &[Hop] {
        self.0.as_ref().map_or(&[], |hops| hops)
    }
}

impl From<Box<[Hop]>> for Stamps {
    fn from(hops: Box<[Hop]>) -> Self {
        if hops.is_empty() { Self::NONE } else { Self(Some(Box::new(hops.into()))) }
    }
}

/// One packet on its way. 56 bytes, so that with its time of arrival it fills a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The host it goes to; nothing to a PFC frame, which the next node consumes.
    pub(crate) destination: u32,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    /// Its traffic class, from 0 for the lowest.
    pub(crate) class: u8,
    flags: u8,
    pub(crate) packet: Packet,
}

/// A switch has marked it (ECN CE).
const MARKED: u8 = 1;
/// Its arrival at a host does no more than count.
const QUIET: u8 = 2;
/// PFC XOFF for the frame's class.
const PAUSE: u8 = 4;
/// PFC XON.
const RESUME: u8 = 8;
/// Stamps travel beside it.
const STAMPED: u8 = 16;
/// The link that it is on fails before it arrives.
const CUT: u8 = 32;

impl Frame {
    pub(crate) fn new(destination: u32, wire: u16, class: u8, packet: Packet) -> Self {
        let quiet =
            matches!(&packet.body, Body::Data(data) if data.attempt == 0 && !data.ack_request);
        Self { destination, wire, class, flags: if quiet { QUIET } else { 0 }, packet }
    }

    pub(crate) fn pfc(class: u8, pause: bool) -> Self {
        let packet = Packet { connection: 0, sent_ns: 0, body: Body::Notification };
        let flags = if pause { PAUSE } else { RESUME };
        Self { destination: 0, wire: PFC_FRAME_BYTES, class, flags, packet }
    }

    #[inline]
    pub(crate) const fn is_pfc(&self) -> bool {
        self.flags & (PAUSE | RESUME) != 0
    }

    pub(crate) const fn is_pause(&self) -> bool {
        self.flags & PAUSE != 0
    }

    #[inline]
    pub(crate) const fn is_marked(&self) -> bool {
        self.flags & MARKED != 0
    }

    /// Congestion was seen. The receiver may have to answer at once, with a notification.
    pub(crate) const fn mark(&mut self) {
        self.flags = (self.flags | MARKED) & !QUIET;
    }

    /// Stamps travel beside it from now on.
    pub(crate) const fn stamp(&mut self) {
        self.flags |= STAMPED;
    }

    #[inline]
    pub(crate) const fn is_stamped(&self) -> bool {
        self.flags & STAMPED != 0
    }

    /// The link that it is on will have failed when it arrives.
    pub(crate) const fn cut(&mut self) {
        self.flags |= CUT;
    }

    #[inline]
    pub(crate) const fn is_cut(&self) -> bool {
        self.flags & CUT != 0
    }

    /// Whether its arrival at a host changes nothing but counters: it is neither the last packet of
    /// a burst nor a retransmission, and nothing before it can be missing. So nobody need hear of
    /// it before the next frame that is not quiet arrives.
    #[inline]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.flags & QUIET != 0
    }

    /// Something before it may be missing: the receiver must look at it when it arrives.
    #[inline]
    pub(crate) const fn disquiet(&mut self) {
        self.flags &= !QUIET;
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
